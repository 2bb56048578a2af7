// Which convolution algorithms exist, what each can do, and which is taken without measuring.
#include "kernels/conv/conv.h"

namespace sample {
namespace {

template <class P>
bool can_direct(const P& p) {
    return conv_direct_usable(p);
}

template <class P>
bool can_depthwise(const P& p) {
    return conv_depthwise_usable(p);
}

template <class P>
bool can_pointwise(const P& p) {
    return p.kernel_h == 1 && p.kernel_w == 1 && p.pad_h == 0 && p.pad_w == 0;
}

bool can_winograd(const ConvF32& p) {
    return p.square(3, 1);
}

// Transforming tiles pays when many channels share them and they are mostly whole.
bool many_large_tiles(const ConvF32& p) {
    return p.group_in() >= 16 && p.group_out() >= 16 && p.out_height >= 12 && p.out_width >= 12;
}

bool many_small_tiles(const ConvF32& p) {
    return p.group_in() >= 8 && p.group_out() >= 8 && p.out_height >= 6 && p.out_width >= 6;
}

// With few input channels there is little to gain from making columns first.
template <class P>
bool few_channels(const P& p) {
    return p.group_in() <= 4;
}

bool wide_product(const ConvF32& p) {
    return p.group_out() >= 16 && p.out_plane() >= 16;
}

}  // namespace

const Algorithms<ConvF32>& conv_algorithms(const ConvF32&) {
    using P = ConvF32;
    static const Algorithms<P> algorithms{
            {"DEPTHWISE", false, can_depthwise<P>, always<P>, conv_depthwise, nullptr},
            {"POINTWISE", false, can_pointwise<P>, always<P>, conv_pointwise, nullptr},
            {"WINOGRAD_F43", false, can_winograd, many_large_tiles, conv_winograd<4>,
             conv_winograd_prepare<4>},
            {"WINOGRAD_F23", false, can_winograd, many_small_tiles, conv_winograd<2>,
             conv_winograd_prepare<2>},
            {"DIRECT", false, can_direct<P>, few_channels<P>, conv_direct, nullptr},
            {"IM2COL_8X8", false, always<P>, wide_product, conv_im2col_8x8, nullptr},
            {"IM2COL_4X8", false, always<P>, always<P>, conv_im2col_4x8, nullptr},
            {"NAIVE", true, always<P>, always<P>, conv_naive, nullptr},
    };
    return algorithms;
}

const Algorithms<ConvS8>& conv_algorithms(const ConvS8&) {
    using P = ConvS8;
    static const Algorithms<P> algorithms{
            {"DEPTHWISE", false, can_depthwise<P>, always<P>, conv_depthwise, nullptr},
            {"POINTWISE", false, can_pointwise<P>, always<P>, conv_pointwise, nullptr},
            {"DIRECT", false, can_direct<P>, few_channels<P>, conv_direct, nullptr},
            {"IM2COL_4X8", false, always<P>, always<P>, conv_im2col_4x8, nullptr},
            {"NAIVE", true, always<P>, always<P>, conv_naive, nullptr},
    };
    return algorithms;
}

}  // namespace sample
