// Convolution of images [N][C][H][W] with filters [OC][C/groups][KH][KW].
#pragma once

#include <cstdint>

#include "base/regions.h"
#include "base/threads.h"
#include "kernels/algorithm.h"

namespace sample {

struct ConvShape {
    int batch, in_channels, in_height, in_width;
    int out_channels, out_height, out_width;
    int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, groups;

    int group_in() const { return in_channels / groups; }
    int group_out() const { return out_channels / groups; }
    int in_plane() const { return in_height * in_width; }
    int out_plane() const { return out_height * out_width; }
    int kernel_plane() const { return kernel_h * kernel_w; }
    bool depthwise() const { return groups > 1 && group_in() == 1 && group_out() == 1; }
    bool square(int kernel, int stride) const {
        return kernel_h == kernel && kernel_w == kernel && stride_h == stride && stride_w == stride;
    }
};

template <class In, class Acc>
struct ConvProblem : ConvShape {
    const In* input;
    const In* filter;
    Acc* output;
    ThreadPool* pool;
    // What the algorithm's own prepare() made of the filter, or null.
    const float* prepared = nullptr;
};

using ConvF32 = ConvProblem<float, float>;
using ConvS8 = ConvProblem<int8_t, int32_t>;

const Algorithms<ConvF32>& conv_algorithms(const ConvF32&);
const Algorithms<ConvS8>& conv_algorithms(const ConvS8&);

// The part of a problem that one group of one image makes up.
template <class In, class Acc>
ConvProblem<In, Acc> conv_group(const ConvProblem<In, Acc>& whole, int image, int group) {
    ConvProblem<In, Acc> part = whole;
    part.batch = part.groups = 1;
    part.in_channels = whole.group_in();
    part.out_channels = whole.group_out();
    const size_t in = size_t(image) * whole.in_channels + size_t(group) * part.in_channels;
    const size_t out = size_t(image) * whole.out_channels + size_t(group) * part.out_channels;
    part.input += in * whole.in_plane();
    part.output += out * whole.out_plane();
    part.filter += size_t(group) * part.out_channels * part.in_channels * whole.kernel_plane();
    return part;
}

template <class In, class Acc, class Body>
void for_each_group(const ConvProblem<In, Acc>& whole, Body body) {
    for (int image = 0; image < whole.batch; ++image) {
        for (int group = 0; group < whole.groups; ++group)
            body(conv_group(whole, image, group), group);
    }
}

// The algorithms, one per file. Each comes for both data types unless it says so.
#define SAMPLE_CONV_ALGORITHM(name)                         \
    template <class In, class Acc>                          \
    void conv_##name(const ConvProblem<In, Acc>& problem);  \
    extern template void conv_##name(const ConvF32&);       \
    extern template void conv_##name(const ConvS8&)
SAMPLE_CONV_ALGORITHM(naive);
SAMPLE_CONV_ALGORITHM(direct);
SAMPLE_CONV_ALGORITHM(depthwise);
SAMPLE_CONV_ALGORITHM(im2col_4x8);
SAMPLE_CONV_ALGORITHM(pointwise);
#undef SAMPLE_CONV_ALGORITHM

void conv_im2col_8x8(const ConvF32& problem);

// Winograd's minimal filtering F(Tile x Tile, 3 x 3), for Tile 2 and 4.
template <int Tile>
void conv_winograd(const ConvF32& problem);
template <int Tile>
std::vector<float> conv_winograd_prepare(const ConvF32& problem);

// Which kernel sizes and strides have code of their own.
bool conv_direct_usable(const ConvShape& shape);
bool conv_depthwise_usable(const ConvShape& shape);

}  // namespace sample
