
// Of a region that is not kept, a trap remains where it was.
#define MIDOUT_BEGIN(...) \
    do {                  \
        if (::midout::is_kept<MEGTRIM_REGION(__VA_ARGS__)>::value)
#define MIDOUT_END()           \
    else { __builtin_trap(); } \
    }                          \
    while (0)

// Only directives follow, so that their number does not show in preprocessed text.
