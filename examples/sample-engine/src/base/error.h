// How the engine gives up. Every check ends here, so that a build without exceptions can turn
// all of them into a trap without a word.
#pragma once

#if SAMPLE_NO_EXCEPTIONS

#define SAMPLE_FAIL(...) __builtin_trap()

#else

#include <string>

namespace sample {

struct Error {
    std::string message;
};

[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace sample

#define SAMPLE_FAIL(...) ::sample::fail(__VA_ARGS__)

#endif

#define SAMPLE_CHECK(condition, ...)   \
    do {                               \
        if (!(condition))              \
            SAMPLE_FAIL(__VA_ARGS__);  \
    } while (false)
