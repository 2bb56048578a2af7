#pragma once

// midout's macro contract for a reduced build. A region that is kept is compiled; of any other
// only a trap remains. It takes the place of the engine's own midout.h. MIDOUT_DECL(tag) brings
// in the kept regions of that tag alone, so a file's preprocessed text depends on its own tags.

#define MIDOUT_GENERATED

#include <type_traits>

namespace midout {

// A region is kept where a specialisation for it is declared. None is ever defined: a kept
// region is an incomplete type, any other a complete one. Declarations may be repeated, so
// several headers of one file can declare the same tag.
template <class Tag, class... Args>
struct Region {};

template <class R, class = void>
struct is_kept : std::true_type {};
template <class R>
struct is_kept<R, decltype(static_cast<void>(sizeof(R)))> : std::false_type {};

template <int value>
using number = std::integral_constant<int, value>;

// An argument of a region is a type or a number: overloads tell them apart.
template <class T>
struct Argument {
    using type = T;
};
template <class T>
Argument<T> argument();
template <int value>
Argument<number<value>> argument();

}  // namespace midout

#define midout_iv(value) ::midout::number<static_cast<int>(value)>

#define MEGTRIM_ARG(x) typename decltype(::midout::argument<x>())::type
#define MEGTRIM_REGION_1(t) t
#define MEGTRIM_REGION_2(t, a) t, MEGTRIM_ARG(a)
#define MEGTRIM_REGION_3(t, a, b) MEGTRIM_REGION_2(t, a), MEGTRIM_ARG(b)
#define MEGTRIM_REGION_4(t, a, b, c) MEGTRIM_REGION_3(t, a, b), MEGTRIM_ARG(c)
#define MEGTRIM_REGION_5(t, a, b, c, d) MEGTRIM_REGION_4(t, a, b, c), MEGTRIM_ARG(d)
#define MEGTRIM_REGION_6(t, a, b, c, d, e) MEGTRIM_REGION_5(t, a, b, c, d), MEGTRIM_ARG(e)
#define MEGTRIM_REGION_7(t, a, b, c, d, e, f) MEGTRIM_REGION_6(t, a, b, c, d, e), MEGTRIM_ARG(f)
#define MEGTRIM_REGION_8(t, a, b, c, d, e, f, g) \
    MEGTRIM_REGION_7(t, a, b, c, d, e, f), MEGTRIM_ARG(g)
#define MEGTRIM_REGION_9(t, a, b, c, d, e, f, g, h) \
    MEGTRIM_REGION_8(t, a, b, c, d, e, f, g), MEGTRIM_ARG(h)
#define MEGTRIM_TENTH(a, b, c, d, e, f, g, h, i, j, ...) j
#define MEGTRIM_REGION_BY_COUNT(...)                                                    \
    MEGTRIM_TENTH(__VA_ARGS__, MEGTRIM_REGION_9, MEGTRIM_REGION_8, MEGTRIM_REGION_7,    \
                  MEGTRIM_REGION_6, MEGTRIM_REGION_5, MEGTRIM_REGION_4,                 \
                  MEGTRIM_REGION_3, MEGTRIM_REGION_2, MEGTRIM_REGION_1, ~)
#define MEGTRIM_CALL(macro, ...) macro(__VA_ARGS__)
#define MEGTRIM_REGION(...) \
    ::midout::Region<::midout::tags::MEGTRIM_CALL(MEGTRIM_REGION_BY_COUNT(__VA_ARGS__), __VA_ARGS__)>

// The macro of a kept tag is "~, (declarations)"; what is second there is brought in. The macro
// of any other tag does not exist, so that an empty pair of parentheses comes second.
#define MEGTRIM_SECOND(first, second, ...) second
#define MEGTRIM_SECOND_OF(...) MEGTRIM_SECOND(__VA_ARGS__)
#define MEGTRIM_OPEN(...) __VA_ARGS__
#define MEGTRIM_OPENED(list) MEGTRIM_OPEN list
#define MIDOUT_DECL(tag)                                            \
    namespace midout {                                              \
    namespace tags {                                                \
    class tag;                                                      \
    }                                                               \
    MEGTRIM_OPENED(MEGTRIM_SECOND_OF(MEGTRIM_TAG_##tag, (), ~))     \
    }

// A tag that has a file of its own is declared by including that file. Declared in any other way,
// none of its regions would be seen, and all of them would trap.
#define MEGTRIM_ELSEWHERE                                                                \
    static_assert(false,                                                                 \
                  "a tag with a file of its own is declared by MIDOUT_DECL(tag) alone on " \
                  "a line; `trim.layout: upstream` takes declarations of any form");
