// Log lines on stderr: [DAY HOUR:MINUTE:SECOND @:LINE] text. A build without logging has none.
#pragma once

#if SAMPLE_NO_LOGGING

#define SAMPLE_LOG(...) static_cast<void>(0)
#define SAMPLE_WARN(...) static_cast<void>(0)

#else

namespace sample {
void log_line(int line, const char* level, const char* format, ...)
        __attribute__((format(printf, 3, 4)));
}

#define SAMPLE_LOG(...) ::sample::log_line(__LINE__, "", __VA_ARGS__)
#define SAMPLE_WARN(...) ::sample::log_line(__LINE__, "[WARN]", __VA_ARGS__)

#endif
