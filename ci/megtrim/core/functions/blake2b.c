// The digest of a rest's blocks, BLAKE2b (RFC 7693).
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>

enum { HASH_BYTES = 32 };

// 8 words to begin with, and the order of words in its rounds, from the right.
static const uint64_t megtrim_blake[18] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
    0xfedcba9876543210, 0x357b20c16df984ae, 0x491763eadf250c8b, 0x8f04a562ebcd1397,
    0xd386cb1efa427509, 0x91ef57d438b0a6c2, 0xb8293670a4def15c, 0xa2684f05931ce7bd,
    0x5a417d2c803b9ef6, 0x0dc3e9bf5167482a};

// 1 if the digest is the expected one. Behind the bytes are zeros, up to a whole chunk.
#define TURN(word, bits) (word = (word) >> (bits) | (word) << (64 - (bits)))
static int megtrim_fits(const char* block, uint64_t bytes, const uint8_t* expected) {
    uint64_t state[8], v[16], words[16];
    memcpy(state, megtrim_blake, sizeof state);
    state[0] ^= 0x01010000 ^ HASH_BYTES;
    for (uint64_t done = 0; done < bytes;) {
        memcpy(words, block + done, sizeof words);
        memcpy(v, state, sizeof state), memcpy(v + 8, megtrim_blake, sizeof state);
        done += sizeof words;
        v[12] ^= done < bytes ? done : bytes, v[14] ^= done < bytes ? 0 : ~0ULL;
        for (int i = 0; i < 96; ++i) {
            int turn = i / 4 % 2, order = megtrim_blake[8 + i / 8 % 10] >> i % 8 * 8 & 255;
            uint64_t *a = v + i % 4, *b = v + 4 + (i + turn) % 4, *c = v + 8 + (i + turn * 2) % 4;
            uint64_t* d = v + 12 + (i + turn * 3) % 4;
            *a += *b + words[order & 15], *d ^= *a, TURN(*d, 32), *c += *d, *b ^= *c, TURN(*b, 24);
            *a += *b + words[order >> 4], *d ^= *a, TURN(*d, 16), *c += *d, *b ^= *c, TURN(*b, 63);
        }
        for (int i = 0; i < 8; ++i) state[i] ^= v[i] ^ v[i + 8];
    }
    return !memcmp(state, expected, HASH_BYTES);
}
