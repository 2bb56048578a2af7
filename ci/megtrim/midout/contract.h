#pragma once

// midout's macro contract for a reduced build. A region that the keep set names is compiled,
// any other becomes a trap. MIDOUT_DECL(tag) declares which regions of that tag are kept, so
// that a file sees the regions of its own tags and no others.

#define MIDOUT_GENERATED

#include <type_traits>

namespace midout {
namespace tags {}

template <class Tag, class... Args>
struct Region;

// A declaration may be repeated, so a tag may be declared by several headers of one file.
std::false_type kept(...);

namespace details {
template <int value>
using iv = std::integral_constant<int, value>;

template <class T>
struct Argument {
    using type = T;
};

// An argument of a region is a type or a number: overloads tell them apart.
template <class T>
Argument<T> argument();
template <int value>
Argument<iv<value>> argument();
}  // namespace details
}  // namespace midout

#define midout_iv(value) ::midout::details::iv<static_cast<int>(value)>

#define MEGTRIM_ARG(x) typename decltype(::midout::details::argument<x>())::type
#define MEGTRIM_ARGS_1(a) MEGTRIM_ARG(a)
#define MEGTRIM_ARGS_2(a, ...) MEGTRIM_ARG(a), MEGTRIM_ARGS_1(__VA_ARGS__)
#define MEGTRIM_ARGS_3(a, ...) MEGTRIM_ARG(a), MEGTRIM_ARGS_2(__VA_ARGS__)
#define MEGTRIM_ARGS_4(a, ...) MEGTRIM_ARG(a), MEGTRIM_ARGS_3(__VA_ARGS__)
#define MEGTRIM_ARGS_5(a, ...) MEGTRIM_ARG(a), MEGTRIM_ARGS_4(__VA_ARGS__)
#define MEGTRIM_ARGS_6(a, ...) MEGTRIM_ARG(a), MEGTRIM_ARGS_5(__VA_ARGS__)
#define MEGTRIM_ARGS_7(a, ...) MEGTRIM_ARG(a), MEGTRIM_ARGS_6(__VA_ARGS__)
#define MEGTRIM_ARGS_8(a, ...) MEGTRIM_ARG(a), MEGTRIM_ARGS_7(__VA_ARGS__)
#define MEGTRIM_NINTH(a, b, c, d, e, f, g, h, i, ...) i
#define MEGTRIM_ARGS_OF(...)                                                              \
    MEGTRIM_NINTH(__VA_ARGS__, MEGTRIM_ARGS_8, MEGTRIM_ARGS_7, MEGTRIM_ARGS_6,            \
                  MEGTRIM_ARGS_5, MEGTRIM_ARGS_4, MEGTRIM_ARGS_3, MEGTRIM_ARGS_2,         \
                  MEGTRIM_ARGS_1, ~)                                                      \
    (__VA_ARGS__)

#define MIDOUT_BEGIN(tag, ...)                                                            \
    do {                                                                                  \
        if (decltype(::midout::kept(                                                      \
                    static_cast<::midout::Region<MEGTRIM_ARGS_OF(                         \
                            ::midout::tags::tag, ##__VA_ARGS__)>*>(nullptr)))::value)
#define MIDOUT_END()              \
    else { __builtin_trap(); }    \
    }                             \
    while (0)

// A kept tag is defined below as "~, declarations": what follows the comma is brought in. Of a
// tag that is not, nothing follows.
#define MEGTRIM_REST_OF(first, ...) __VA_ARGS__
#define MEGTRIM_REST(...) MEGTRIM_REST_OF(__VA_ARGS__)
#define MIDOUT_DECL(tag)              \
    namespace midout {                \
    namespace tags {                  \
    class tag;                        \
    }                                 \
    MEGTRIM_REST(MEGTRIM_TAG_##tag)   \
    }

// @REGIONS@
