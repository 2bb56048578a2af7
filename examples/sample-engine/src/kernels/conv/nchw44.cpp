#include "kernels/conv/nchw44.h"

#include <algorithm>
#include <initializer_list>

MIDOUT_DECL(sample_conv_nchw44)

namespace sample {
namespace {

constexpr int kBlock = 4;

// A padded copy of `channels` groups of `Lanes` interleaved values.
template <int Lanes>
std::vector<float> pad(const float* input, int channels, const ConvShape& s) {
    const int height = s.in_height + 2 * s.pad_h, width = s.in_width + 2 * s.pad_w;
    std::vector<float> padded(size_t(channels) * height * width * Lanes);
    for (int row = 0; row < channels * s.in_height; ++row) {
        const int y = row / s.in_height * height + row % s.in_height + s.pad_h;
        float* to = &padded[(size_t(y) * width + s.pad_w) * Lanes];
        std::copy_n(input + size_t(row) * s.in_width * Lanes, s.in_width * Lanes, to);
    }
    return padded;
}

// Adds one window to four output channels. `InLanes` input channels are interleaved and each has
// a filter of its own per output channel; for depthwise the lanes of both sides go together.
template <int Kernel, int InLanes, bool ChannelWise>
void add_window(const float* top, int width, const float* filter, float* sums) {
    for (int ky = 0; ky < Kernel; ++ky) {
        for (int kx = 0; kx < Kernel; ++kx) {
            const float* pixel = top + (size_t(ky) * width + kx) * InLanes;
            if (ChannelWise) {
                for (int lane = 0; lane < kBlock; ++lane)
                    sums[lane] += pixel[lane] * filter[lane];
                filter += kBlock;
                continue;
            }
            for (int in = 0; in < InLanes; ++in, filter += kBlock) {
                for (int lane = 0; lane < kBlock; ++lane)
                    sums[lane] += pixel[in] * filter[lane];
            }
        }
    }
}

template <int Kernel, int Stride, int InLanes, bool ChannelWise>
void run_image(const ConvF32& p, const float* input, float* output) {
    const int width = p.in_width + 2 * p.pad_w, height = p.in_height + 2 * p.pad_h;
    const int in_blocks = p.in_channels / InLanes, depth = ChannelWise ? 1 : in_blocks;
    const std::vector<float> padded = pad<InLanes>(input, in_blocks, p);
    const size_t plane = size_t(height) * width * InLanes;
    const size_t taps = size_t(Kernel) * Kernel * kBlock * (ChannelWise ? 1 : InLanes);

    p.pool->parallel_for(p.out_channels / kBlock, [&](int block) {
        const float* filter = p.prepared + block * depth * taps;
        const float* first = &padded[ChannelWise ? block * plane : 0];
        float* out = output + size_t(block) * p.out_plane() * kBlock;
        for (int y = 0; y < p.out_height; ++y) {
            for (int x = 0; x < p.out_width; ++x, out += kBlock) {
                float sums[kBlock] = {};
                const float* top = first + (size_t(y) * width + x) * Stride * InLanes;
                for (int c = 0; c < depth; ++c) {
                    add_window<Kernel, InLanes, ChannelWise>(
                            top + c * plane, width, filter + c * taps, sums);
                }
                std::copy_n(sums, kBlock, out);
            }
        }
    });
}

template <Nchw44 Kind, int Kernel, int Stride>
bool run_if_square(const ConvF32& p) {
    if (!p.square(Kernel, Stride))
        return false;
    MIDOUT_BEGIN(sample_conv_nchw44, midout_iv(Kind), midout_iv(Kernel), midout_iv(Stride)) {
        constexpr int kInLanes = Kind == Nchw44::Hybrid ? 1 : kBlock;
        for (int image = 0; image < p.batch; ++image) {
            run_image<Kernel, Stride, kInLanes, Kind == Nchw44::ChannelWise>(
                    p, p.input + size_t(image) * p.in_channels * p.in_plane(),
                    p.output + size_t(image) * p.out_channels * p.out_plane());
        }
    }
    MIDOUT_END();
    return true;
}

bool known_size(const ConvShape& shape, std::initializer_list<int> kernels) {
    return std::any_of(kernels.begin(), kernels.end(), [&](int kernel) {
        return shape.square(kernel, 1) || shape.square(kernel, 2);
    });
}

}  // namespace

Nchw44 conv_nchw44_kind(const ConvShape& shape, bool blocked_input) {
    if (shape.out_channels % kBlock != 0)
        return Nchw44::None;
    if (shape.depthwise())
        return blocked_input && known_size(shape, {3, 5}) ? Nchw44::ChannelWise : Nchw44::None;
    if (shape.groups != 1)
        return Nchw44::None;
    if (blocked_input)
        return known_size(shape, {1, 3, 5}) ? Nchw44::Dense : Nchw44::None;
    return known_size(shape, {3, 5, 7}) ? Nchw44::Hybrid : Nchw44::None;
}

std::vector<float> conv_nchw44_filter(Nchw44 kind, const ConvF32& p) {
    std::vector<float> filter;
    const int taps = p.kernel_plane(), depth = p.group_in();
    const int in_lanes = kind == Nchw44::Dense ? kBlock : 1;
    for (int oc = 0; oc < p.out_channels; oc += kBlock) {
        for (int ic = 0; ic < depth; ic += in_lanes) {
            for (int tap = 0; tap < taps; ++tap) {
                for (int in = ic; in < ic + in_lanes; ++in) {
                    for (int lane = oc; lane < oc + kBlock; ++lane)
                        filter.push_back(p.filter[(size_t(lane) * depth + in) * taps + tap]);
                }
            }
        }
    }
    return filter;
}

void conv_nchw44(Nchw44 kind, const ConvF32& p) {
    switch (kind) {
        case Nchw44::None:
            break;
        case Nchw44::Hybrid:
            static_cast<void>(
                    run_if_square<Nchw44::Hybrid, 3, 1>(p) ||
                    run_if_square<Nchw44::Hybrid, 3, 2>(p) ||
                    run_if_square<Nchw44::Hybrid, 5, 1>(p) ||
                    run_if_square<Nchw44::Hybrid, 5, 2>(p) ||
                    run_if_square<Nchw44::Hybrid, 7, 1>(p) ||
                    run_if_square<Nchw44::Hybrid, 7, 2>(p));
            break;
        case Nchw44::Dense:
            static_cast<void>(
                    run_if_square<Nchw44::Dense, 1, 1>(p) ||
                    run_if_square<Nchw44::Dense, 1, 2>(p) ||
                    run_if_square<Nchw44::Dense, 3, 1>(p) ||
                    run_if_square<Nchw44::Dense, 3, 2>(p) ||
                    run_if_square<Nchw44::Dense, 5, 1>(p) ||
                    run_if_square<Nchw44::Dense, 5, 2>(p));
            break;
        case Nchw44::ChannelWise:
            static_cast<void>(
                    run_if_square<Nchw44::ChannelWise, 3, 1>(p) ||
                    run_if_square<Nchw44::ChannelWise, 3, 2>(p) ||
                    run_if_square<Nchw44::ChannelWise, 5, 1>(p) ||
                    run_if_square<Nchw44::ChannelWise, 5, 2>(p));
            break;
    }
}

}  // namespace sample
