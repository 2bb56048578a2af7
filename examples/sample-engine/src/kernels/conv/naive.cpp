// Convolution by definition: slow, and right for every shape.
#include "kernels/conv/conv.h"

MIDOUT_DECL(sample_conv_naive)

namespace sample {
namespace {

template <class In, class Acc>
Acc window(const ConvProblem<In, Acc>& p, int oc, int y, int x) {
    Acc sum = 0;
    for (int c = 0; c < p.in_channels; ++c) {
        for (int ky = 0; ky < p.kernel_h; ++ky) {
            const int iy = y * p.stride_h + ky - p.pad_h;
            if (iy < 0 || iy >= p.in_height)
                continue;
            for (int kx = 0; kx < p.kernel_w; ++kx) {
                const int ix = x * p.stride_w + kx - p.pad_w;
                if (ix < 0 || ix >= p.in_width)
                    continue;
                const In value = p.input[(size_t(c) * p.in_height + iy) * p.in_width + ix];
                const size_t at = (size_t(oc) * p.in_channels + c) * p.kernel_h + ky;
                sum += Acc(value) * Acc(p.filter[at * p.kernel_w + kx]);
            }
        }
    }
    return sum;
}

}  // namespace

template <class In, class Acc>
void conv_naive(const ConvProblem<In, Acc>& problem) {
    MIDOUT_BEGIN(sample_conv_naive, In) {
        for_each_group(problem, [](const ConvProblem<In, Acc>& p, int) {
            p.pool->parallel_for(p.out_channels, [&](int oc) {
                Acc* out = p.output + size_t(oc) * p.out_plane();
                for (int y = 0; y < p.out_height; ++y) {
                    for (int x = 0; x < p.out_width; ++x)
                        *out++ = window(p, oc, y, x);
                }
            });
        });
    }
    MIDOUT_END();
}

template void conv_naive(const ConvF32&);
template void conv_naive(const ConvS8&);

}  // namespace sample
