/* Says which function is not kept, and stops the program: the build for diagnosis only.
   It may run before main and in a signal handler, so it calls write and nothing else. */

#include <stddef.h>
#include <unistd.h>

#if defined(__aarch64__) || defined(__arm__)
#define STUB_BYTES 4
#define ALIGNED
#else
#define STUB_BYTES 6
/* Two calls without a frame between them leave the stack where no compiler expects it. */
#define ALIGNED __attribute__((force_align_arg_pointer))
#endif

/* Whoever traces the process finds the number in a register: what it writes may be lost. */
static __attribute__((noreturn, always_inline)) inline void megtrim_trap(size_t missing) {
#if defined(__x86_64__)
    __asm__ volatile("ud2" : : "D"(missing));
#elif defined(__aarch64__)
    register size_t x0 __asm__("x0") = missing;
    __asm__ volatile("brk #1" : : "r"(x0));
#else
    (void)missing;
#endif
    __builtin_trap();
}

extern const char megtrim_stubs[] __attribute__((visibility("hidden")));

__attribute__((used, noinline, visibility("hidden"))) ALIGNED void megtrim_stub_ran(void) {
    /* The lowest bit of an address of Thumb code says so. */
    const char* after = (const char*)__builtin_return_address(0);
    size_t number = (((size_t)after & ~(size_t)1) - (size_t)megtrim_stubs - 1) / STUB_BYTES;
    size_t missing = number;
    char said[64];
    size_t at = sizeof said;
    const char* words = " is not kept\n";
    size_t left = 13;
    while (left > 0)
        said[--at] = words[--left];
    do {
        said[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    words = "megtrim: function #";
    left = 19;
    while (left > 0)
        said[--at] = words[--left];
    if (write(2, said + at, sizeof said - at) < 0) {
        /* Nobody listens; the trap says that something is missing. */
    }
    megtrim_trap(missing);
}
