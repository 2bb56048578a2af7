
// Of a region that is not kept, a call remains that names it.
#define MIDOUT_BEGIN(...)                                            \
    do {                                                             \
        if (!::midout::is_kept<MEGTRIM_REGION(__VA_ARGS__)>::value)  \
            megtrim_lacks(#__VA_ARGS__);                             \
        if (::midout::is_kept<MEGTRIM_REGION(__VA_ARGS__)>::value)
#define MIDOUT_END()                   \
    else { __builtin_unreachable(); }  \
    }                                  \
    while (0)

// Only directives follow, so that their number does not show in preprocessed text.
