
// Of a region that is not kept, a call of a function of its own remains, which traps. It holds a
// number of the region's own, so that no linker folds two of them: the address of a crash shows the
// function, whose name shows the region.
namespace midout {

// FNV-1a.
constexpr unsigned number_of(const char* text) {
    unsigned value = 2166136261u;
    for (; *text; ++text)
        value = (value ^ static_cast<unsigned char>(*text)) * 16777619u;
    return value;
}

template <class R>
[[noreturn]] __attribute__((noinline)) void left_out() {
    constexpr unsigned id = number_of(__PRETTY_FUNCTION__);
#if defined(__aarch64__)
    __asm__ volatile("brk %0\n\t.inst %1" ::"i"(id & 0xffff), "i"(id));
    __builtin_unreachable();
#elif defined(__thumb__)
    __asm__ volatile("udf.w %0\n\t.long %c1" ::"i"(id & 0xffff), "i"(id));
    __builtin_unreachable();
#elif defined(__arm__)
    __asm__ volatile("udf %0\n\t.long %c1" ::"i"(id & 0xffff), "i"(id));
    __builtin_unreachable();
#elif defined(__x86_64__)
    __asm__ volatile(".byte 0x0f, 0xb9, 0x80\n\t.long %c0" ::"i"(id));  // ud1
    __builtin_unreachable();
#else
    static_cast<void>(id);
    __builtin_trap();
#endif
}

}  // namespace midout

#define MIDOUT_BEGIN(...)                                   \
    do {                                                    \
        typedef MEGTRIM_REGION(__VA_ARGS__) megtrim_region; \
        if (::midout::is_kept<megtrim_region>::value)
#define MIDOUT_END()                                 \
    else { ::midout::left_out<megtrim_region>(); }   \
    }                                                \
    while (0)

// Only directives follow, so that their number does not show in preprocessed text.
