#include "base/log.h"

#if !SAMPLE_NO_LOGGING

#include <cstdarg>
#include <cstdio>
#include <ctime>

void sample::log_line(int line, const char* level, const char* format, ...) {
    const time_t now = std::time(nullptr);
    char when[32];
    std::strftime(when, sizeof when, "%d %H:%M:%S", std::localtime(&now));
    std::fprintf(stderr, "[%s @:%d]%s ", when, line, level);
    va_list arguments;
    va_start(arguments, format);
    std::vfprintf(stderr, format, arguments);
    va_end(arguments);
    std::fputc('\n', stderr);
}

#endif
