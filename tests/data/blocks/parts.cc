#include <cstdio>
#include <stdexcept>
#include <string>

static void report(int value)
{
    std::printf("%d is large:", value);
    for (int i = 1; i < value; i += value / 5) std::printf(" %d", i * value);
    std::puts("");
}

int count(const std::string& text)
{
    int found = 0;
    for (char each : text) {
        if (each < '0' || each > '9') throw std::invalid_argument("not a number: " + text);
        found = found * 10 + (each - '0');
    }
    return found;
}

int sum(const char* text)
{
    int value = 0;
    try {
        value = count(text);
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return -1;
    }
    if (value > 50) report(value);
    if (value > 90) std::printf("%d is very large, %d too large\n", value, value - 90);
    int all = 0;
    for (int i = 0; i < value; i++) all += i * i;
    return all;
}
