// The sliding window that the direct algorithms share, and the padded copy it slides over.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/conv/conv.h"

namespace sample {

template <class In>
struct PaddedPlane {
    std::vector<In> data;
    int height, width;
};

// A copy of channels [C][H][W] with zeros around each, so that the window needs no tests.
template <class In>
PaddedPlane<In> pad_channels(const In* input, int channels, const ConvShape& shape) {
    PaddedPlane<In> padded;
    padded.height = shape.in_height + 2 * shape.pad_h;
    padded.width = shape.in_width + 2 * shape.pad_w;
    padded.data.assign(size_t(channels) * padded.height * padded.width, In(0));
    for (int c = 0; c < channels; ++c) {
        for (int y = 0; y < shape.in_height; ++y) {
            const In* row = input + (size_t(c) * shape.in_height + y) * shape.in_width;
            const size_t to = (size_t(c) * padded.height + y + shape.pad_h) * padded.width;
            std::copy_n(row, shape.in_width, &padded.data[to + shape.pad_w]);
        }
    }
    return padded;
}

// Adds the products of one filter plane to one output plane. With Kernel and Stride known, the
// compiler unrolls the window.
template <int Kernel, int Stride, class In, class Acc>
void slide(const In* plane, int width, const In* filter, Acc* out, int out_height, int out_width) {
    for (int y = 0; y < out_height; ++y) {
        const In* top = plane + size_t(y) * Stride * width;
        for (int x = 0; x < out_width; ++x) {
            Acc sum = out[size_t(y) * out_width + x];
            for (int ky = 0; ky < Kernel; ++ky) {
                for (int kx = 0; kx < Kernel; ++kx)
                    sum += Acc(top[ky * width + x * Stride + kx]) * Acc(filter[ky * Kernel + kx]);
            }
            out[size_t(y) * out_width + x] = sum;
        }
    }
}

}  // namespace sample
