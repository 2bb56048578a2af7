#include "base/error.h"

#if !SAMPLE_NO_EXCEPTIONS

#include <cstdarg>
#include <cstdio>

void sample::fail(const char* format, ...) {
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    throw Error{message};
}

#endif
