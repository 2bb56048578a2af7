// Pooling of images [N][C][H][W], or [N][C/4][H][W][4].
#pragma once

#include <cstdint>

#include "base/threads.h"

namespace sample {

// The numbers stand in regions, so they never change.
enum class PoolMode {
    Max = 0,
    Average = 1,       // the padding counts as zeros
    AverageInside = 2  // the padding does not count
};

template <class T>
struct PoolProblem {
    PoolMode mode;
    int planes;  // images x channels, or images x blocks of channels
    int in_height, in_width, out_height, out_width;
    int window_h, window_w, stride_h, stride_w, pad_h, pad_w;
    const T* input;
    T* output;
    ThreadPool* pool;

    bool square(int window, int stride) const {
        return window_h == window && window_w == window && stride_h == stride && stride_w == stride;
    }
    bool global() const {
        return out_height == 1 && out_width == 1 && window_h == in_height &&
               window_w == in_width && pad_h == 0 && pad_w == 0;
    }
};

void pool_plain(const PoolProblem<float>& problem);
// Quantised images: input and output have the same scale.
void pool_plain(const PoolProblem<int8_t>& problem);
void pool_nchw44(const PoolProblem<float>& problem);

}  // namespace sample
