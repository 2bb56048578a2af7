// Convolution straight from the padded image, for square windows of known size.
#include "kernels/conv/window.h"

MIDOUT_DECL(sample_conv_direct)

namespace sample {
namespace {

template <int Kernel, int Stride, class In, class Acc>
void run_group(const ConvProblem<In, Acc>& p) {
    const PaddedPlane<In> padded = pad_channels(p.input, p.in_channels, p);
    const size_t plane = size_t(padded.height) * padded.width;
    p.pool->parallel_for(p.out_channels, [&](int oc) {
        Acc* out = p.output + size_t(oc) * p.out_plane();
        std::fill_n(out, p.out_plane(), Acc(0));
        for (int c = 0; c < p.in_channels; ++c) {
            const In* filter = p.filter + (size_t(oc) * p.in_channels + c) * Kernel * Kernel;
            slide<Kernel, Stride>(
                    &padded.data[c * plane], padded.width, filter, out, p.out_height, p.out_width);
        }
    });
}

template <int Kernel, int Stride, class In, class Acc>
bool run_if_square(const ConvProblem<In, Acc>& problem) {
    if (!problem.square(Kernel, Stride))
        return false;
    MIDOUT_BEGIN(sample_conv_direct, In, midout_iv(Kernel), midout_iv(Stride)) {
        for_each_group(problem, [](const ConvProblem<In, Acc>& part, int) {
            run_group<Kernel, Stride>(part);
        });
    }
    MIDOUT_END();
    return true;
}

}  // namespace

bool conv_direct_usable(const ConvShape& shape) {
    for (int kernel : {2, 3, 5, 7}) {
        if (shape.square(kernel, 1) || shape.square(kernel, 2))
            return true;
    }
    return false;
}

template <class In, class Acc>
void conv_direct(const ConvProblem<In, Acc>& p) {
    static_cast<void>(
            run_if_square<2, 1>(p) || run_if_square<2, 2>(p) || run_if_square<3, 1>(p) ||
            run_if_square<3, 2>(p) || run_if_square<5, 1>(p) || run_if_square<5, 2>(p) ||
            run_if_square<7, 1>(p) || run_if_square<7, 2>(p));
}

template void conv_direct(const ConvF32&);
template void conv_direct(const ConvS8&);

}  // namespace sample
