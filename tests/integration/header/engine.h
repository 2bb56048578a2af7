// A tag that two headers of one file declare, and classes that stand in names of regions.
#pragma once

namespace engine {

struct Conv {};
class Pool;
enum class Kind { first = 0, seventh = 7 };

template <class T, int width>
struct Kernel {};

template <Kind kind>
struct ByKind {};

namespace inner {
struct Conv {};
}  // namespace inner

// 32-bit FNV-1a, read as a signed number: a name as a constant.
constexpr unsigned mix(const char* text, unsigned hash) {
    return *text ? mix(text + 1, (hash ^ static_cast<unsigned char>(*text)) * 16777619u) : hash;
}
constexpr int named(const char* text) {
    return static_cast<int>(mix(text, 2166136261u));
}

void say(const char* what);

}  // namespace engine

// The upstream layout names classes where midout.h is included, so they are declared before it.
#include "midout.h"

MIDOUT_DECL(shared)

inline void shared_in_header() {
    MIDOUT_BEGIN(shared, midout_iv(1)) {
        engine::say("ran shared-1");
    }
    MIDOUT_END();
}
