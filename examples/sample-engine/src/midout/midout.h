// Marks regions of code, so that a build can learn which of them run and drop the others.
//
//     MIDOUT_DECL(sample_pooling)                        // once, at global scope
//     ...
//     MIDOUT_BEGIN(sample_pooling, midout_iv(3), float) {
//         code;
//     }
//     MIDOUT_END();
//
// A region is a type: Region<tags::sample_pooling, integral_constant<int, 3>, float>. Three modes:
//   plain                the macros vanish
//   MIDOUT_PROFILING     each region that runs is recorded, and written to a trace at exit
//   MIDOUT_GENERATED     a force-included header names the regions to keep, by specialising
//                        Region; every other region becomes a trap and its body is not compiled in
//
// This file lies in a folder of its own: a generated midout.h can then take its place by being
// first in the search path.
#pragma once

#if defined(MIDOUT_PROFILING) || defined(MIDOUT_GENERATED)

#include <type_traits>

// The two namespaces and the class template are what generated headers are written against.
#define MIDOUT_DECL(tag) \
    namespace midout {   \
    namespace tags {     \
    class tag;           \
    }                    \
    }

#define midout_iv(value) ::std::integral_constant<int, static_cast<int>(value)>

// The tag is the first of the arguments, so that a region may have no other.
#define MIDOUT_REGION_(...) ::midout::Region<::midout::tags::__VA_ARGS__>

#endif

#if defined(MIDOUT_GENERATED)

namespace midout {
template <class Tag, class... Args>
struct Region {
    static constexpr bool enable = false;
};
}  // namespace midout

MIDOUT_GENERATED

#define MIDOUT_BEGIN(...) \
    do {                  \
        if (MIDOUT_REGION_(__VA_ARGS__)::enable)
#define MIDOUT_END()           \
    else { __builtin_trap(); } \
    }                          \
    while (false)

#elif defined(MIDOUT_PROFILING)

#include <typeinfo>

namespace midout {

void record(const std::type_info& region);

template <class Tag, class... Args>
struct Region {
    static void on_used() { record(typeid(Region)); }
};

}  // namespace midout

#define MIDOUT_BEGIN(...)                     \
    do {                                      \
        MIDOUT_REGION_(__VA_ARGS__)::on_used();
#define MIDOUT_END() \
    }                \
    while (false)

#else

#define MIDOUT_DECL(tag)
#define midout_iv(value)
#define MIDOUT_BEGIN(...) do
#define MIDOUT_END() while (false)

#endif
