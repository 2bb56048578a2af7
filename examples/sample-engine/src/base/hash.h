// XXH64 at compile time, and the names of regions that are made with it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sample {

namespace xxh64 {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u, kPrime2 = 0xC2B2AE3D27D4EB4Fu;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9u, kPrime4 = 0x85EBCA77C2B2AE63u;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5u;

constexpr uint64_t rotate(uint64_t value, int bits) {
    return (value << bits) | (value >> (64 - bits));
}

constexpr uint64_t read(const char* text, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i)
        value |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    return value;
}

constexpr uint64_t round(uint64_t lane, uint64_t input) {
    return rotate(lane + input * kPrime2, 31) * kPrime1;
}

constexpr uint64_t merge(uint64_t hash, uint64_t lane) {
    return (hash ^ round(0, lane)) * kPrime1 + kPrime4;
}

constexpr uint64_t stripes(const char* text, size_t length, uint64_t seed) {
    uint64_t a = seed + kPrime1 + kPrime2, b = seed + kPrime2, c = seed, d = seed - kPrime1;
    for (; length >= 32; text += 32, length -= 32) {
        a = round(a, read(text, 8));
        b = round(b, read(text + 8, 8));
        c = round(c, read(text + 16, 8));
        d = round(d, read(text + 24, 8));
    }
    const uint64_t hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
    return merge(merge(merge(merge(hash, a), b), c), d);
}

constexpr uint64_t tail(uint64_t hash, const char* text, size_t length) {
    for (; length >= 8; text += 8, length -= 8)
        hash = rotate(hash ^ round(0, read(text, 8)), 27) * kPrime1 + kPrime4;
    for (; length >= 4; text += 4, length -= 4)
        hash = rotate(hash ^ (read(text, 4) * kPrime1), 23) * kPrime2 + kPrime3;
    for (; length > 0; ++text, --length)
        hash = rotate(hash ^ (read(text, 1) * kPrime5), 11) * kPrime1;
    return hash;
}

constexpr uint64_t hash(const char* text, size_t length, uint64_t seed) {
    uint64_t value = (length >= 32 ? stripes(text, length, seed) : seed + kPrime5) + length;
    value = tail(value, text + length / 32 * 32, length % 32);
    value = (value ^ (value >> 33)) * kPrime2;
    value = (value ^ (value >> 29)) * kPrime3;
    return value ^ (value >> 32);
}

}  // namespace xxh64

// "Winograd::filter"_hash: a number that a region can carry and that tools can read back,
// because they find the literal in the source. Same rule as MegEngine's.
constexpr int operator""_hash(const char* text, size_t length) {
    return static_cast<int>(static_cast<uint32_t>(xxh64::hash(text, length, 20160701)));
}

}  // namespace sample
