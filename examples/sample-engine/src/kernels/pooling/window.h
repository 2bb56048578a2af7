// The loops that all pooling kernels share: `Lanes` interleaved channels, a window of fixed or of
// run-time size, and what is done with its values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/pooling/pooling.h"
#include "kernels/quantise.h"

namespace sample {

inline float pool_average(float sum, int count) {
    return sum / float(count);
}

inline int8_t pool_average(int32_t sum, int count) {
    return saturate_s8(float(sum) / float(count));
}

// A mode starts a window, takes its values, and ends it, given how many there were: inside the
// image, and in the window altogether.
template <class T, PoolMode Mode>
struct PoolFunction {
    using Sum = decltype(T() + T());
    static Sum start() { return 0; }
    static Sum take(Sum sum, T value) { return sum + value; }
    static T end(Sum sum, int inside, int all) {
        return pool_average(sum, Mode == PoolMode::Average ? all : std::max(inside, 1));
    }
};

template <class T>
struct PoolFunction<T, PoolMode::Max> {
    using Sum = T;
    static Sum start() { return std::numeric_limits<T>::lowest(); }
    static Sum take(Sum best, T value) { return std::max(best, value); }
    static T end(Sum best, int, int) { return best; }
};

// A window of Height x Width, or of the problem's own size where they are 0.
template <class Function, int Size, int Lanes, class T>
void pool_window(const PoolProblem<T>& p, const T* plane, int oy, int ox, T* out) {
    const int height = Size ? Size : p.window_h, width = Size ? Size : p.window_w;
    const int top = oy * p.stride_h - p.pad_h, left = ox * p.stride_w - p.pad_w;
    for (int lane = 0; lane < Lanes; ++lane) {
        auto sum = Function::start();
        int inside = 0;
        for (int y = std::max(top, 0); y < std::min(top + height, p.in_height); ++y) {
            for (int x = std::max(left, 0); x < std::min(left + width, p.in_width); ++x) {
                sum = Function::take(sum, plane[(y * p.in_width + x) * Lanes + lane]);
                ++inside;
            }
        }
        out[lane] = Function::end(sum, inside, height * width);
    }
}

// The same where no part of the window can lie outside.
template <class Function, int Size, int Lanes, class T>
void pool_inner_window(const PoolProblem<T>& p, const T* plane, int oy, int ox, T* out) {
    const T* first = plane + (size_t(oy) * p.stride_h * p.in_width + ox * p.stride_w) * Lanes;
    for (int lane = 0; lane < Lanes; ++lane) {
        auto sum = Function::start();
        for (int y = 0; y < Size; ++y) {
            for (int x = 0; x < Size; ++x)
                sum = Function::take(sum, first[(y * p.in_width + x) * Lanes + lane]);
        }
        out[lane] = Function::end(sum, Size * Size, Size * Size);
    }
}

template <class Function, int Size, int Lanes, class T>
void pool_planes(const PoolProblem<T>& p) {
    const bool inner = Size && p.pad_h == 0 && p.pad_w == 0;
    p.pool->parallel_for(p.planes, [&](int i) {
        const T* plane = p.input + size_t(i) * p.in_height * p.in_width * Lanes;
        T* out = p.output + size_t(i) * p.out_height * p.out_width * Lanes;
        for (int y = 0; y < p.out_height; ++y) {
            for (int x = 0; x < p.out_width; ++x, out += Lanes) {
                inner ? pool_inner_window<Function, Size, Lanes>(p, plane, y, x, out)
                      : pool_window<Function, Size, Lanes>(p, plane, y, x, out);
            }
        }
    });
}

// One value per plane: a single pass over adjacent memory.
template <class Function, class T>
void pool_global(const PoolProblem<T>& p) {
    const int count = p.in_height * p.in_width;
    p.pool->parallel_for(p.planes, [&](int i) {
        const T* plane = p.input + size_t(i) * count;
        auto sum = Function::start();
        for (int k = 0; k < count; ++k)
            sum = Function::take(sum, plane[k]);
        p.output[i] = Function::end(sum, count, count);
    });
}

}  // namespace sample
