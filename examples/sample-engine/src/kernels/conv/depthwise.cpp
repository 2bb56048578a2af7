// Depthwise convolution: each channel has one filter of its own.
#include "kernels/conv/window.h"

MIDOUT_DECL(sample_conv_depthwise)

namespace sample {
namespace {

template <int Kernel, int Stride, class In, class Acc>
void run_channel(const ConvProblem<In, Acc>& p, int channel) {
    const In* input = p.input + size_t(channel) * p.in_plane();
    const In* filter = p.filter + size_t(channel % p.in_channels) * Kernel * Kernel;
    Acc* output = p.output + size_t(channel) * p.out_plane();
    const PaddedPlane<In> padded = pad_channels(input, 1, p);
    std::fill_n(output, p.out_plane(), Acc(0));
    slide<Kernel, Stride>(
            padded.data.data(), padded.width, filter, output, p.out_height, p.out_width);
}

template <int Kernel, int Stride, class In, class Acc>
bool run_if_square(const ConvProblem<In, Acc>& p) {
    if (!p.square(Kernel, Stride))
        return false;
    MIDOUT_BEGIN(sample_conv_depthwise, In, midout_iv(Kernel), midout_iv(Stride)) {
        p.pool->parallel_for(p.batch * p.in_channels, [&](int channel) {
            run_channel<Kernel, Stride>(p, channel);
        });
    }
    MIDOUT_END();
    return true;
}

}  // namespace

bool conv_depthwise_usable(const ConvShape& shape) {
    const bool known = shape.square(3, 1) || shape.square(3, 2) || shape.square(5, 1) ||
                       shape.square(5, 2);
    return shape.depthwise() && known;
}

template <class In, class Acc>
void conv_depthwise(const ConvProblem<In, Acc>& p) {
    static_cast<void>(
            run_if_square<3, 1>(p) || run_if_square<3, 2>(p) || run_if_square<5, 1>(p) ||
            run_if_square<5, 2>(p));
}

template void conv_depthwise(const ConvF32&);
template void conv_depthwise(const ConvS8&);

}  // namespace sample
