// From real numbers to 8-bit integers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sample {

// Rounds half away from zero and keeps within -127 ... 127, so that a value can be negated.
// A number that is none becomes 0: converting it would be undefined.
inline int8_t saturate_s8(float value) {
    if (std::isnan(value))
        return 0;
    return static_cast<int8_t>(std::round(std::min(127.f, std::max(-127.f, value))));
}

inline int32_t saturate_s32(float value) {
    if (std::isnan(value))
        return 0;
    // The largest float below 2^31.
    constexpr float kLimit = 2147483520.f;
    return static_cast<int32_t>(std::round(std::min(kLimit, std::max(-kLimit, value))));
}

}  // namespace sample
