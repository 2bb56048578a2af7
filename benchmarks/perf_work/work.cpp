// Prints the milliseconds of each iteration of a fixed amount of work.
// work ITERATIONS PERCENT: PERCENT of the work is done, so 103 is 3% slower.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
    const int iterations = argc > 1 ? std::atoi(argv[1]) : 5;
    const double percent = argc > 2 ? std::atof(argv[2]) : 100.0;
    const long steps = static_cast<long>(percent * 20000);
    std::vector<uint32_t> table(1 << 16);
    for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint32_t>(i * 2654435761u);
    uint32_t state = 1;
    for (int i = 0; i <= iterations; ++i) {  // iteration 0 is the warm-up
        const auto start = std::chrono::steady_clock::now();
        for (long step = 0; step < steps; ++step)
            state = state * 1664525u + table[(state >> 8) & 0xffff];
        const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
        std::printf("%.4f\n", taken.count());
    }
    return state == 42 ? 1 : 0;
}
