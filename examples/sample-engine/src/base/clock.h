// Time that has passed, in milliseconds.
#pragma once

#include <chrono>

namespace sample {

class Clock {
public:
    Clock() : m_start(std::chrono::steady_clock::now()) {}

    double elapsed_ms() const {
        const auto passed = std::chrono::steady_clock::now() - m_start;
        return std::chrono::duration<double, std::milli>(passed).count();
    }

private:
    std::chrono::steady_clock::time_point m_start;
};

}  // namespace sample
