// 1 x 1 convolution: the image already is the matrix, unless the stride leaves pixels out.
#include "kernels/conv/conv.h"
#include "kernels/matmul/matmul.h"

MIDOUT_DECL(sample_conv_pointwise)

namespace sample {
namespace {

template <class In, class Acc>
void multiply(const ConvProblem<In, Acc>& p, const In* pixels) {
    MatmulProblem<In, Acc> product{};
    product.m = p.out_channels;
    product.n = p.out_plane();
    product.k = p.in_channels;
    product.a = p.filter;
    product.b = pixels;
    product.c = p.output;
    product.pool = p.pool;
    matmul_blocked_4x8(product);
}

template <class In, class Acc>
std::vector<In> gather(const ConvProblem<In, Acc>& p) {
    std::vector<In> pixels;
    pixels.reserve(size_t(p.in_channels) * p.out_plane());
    for (int c = 0; c < p.in_channels; ++c) {
        const In* plane = p.input + size_t(c) * p.in_plane();
        for (int y = 0; y < p.out_height; ++y) {
            for (int x = 0; x < p.out_width; ++x)
                pixels.push_back(plane[y * p.stride_h * p.in_width + x * p.stride_w]);
        }
    }
    return pixels;
}

}  // namespace

template <class In, class Acc>
void conv_pointwise(const ConvProblem<In, Acc>& problem) {
    if (problem.stride_h == 1 && problem.stride_w == 1) {
        MIDOUT_BEGIN(sample_conv_pointwise, In, midout_iv("Pointwise::in_place"_hash)) {
            for_each_group(problem, [](const ConvProblem<In, Acc>& p, int) {
                multiply(p, p.input);
            });
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(sample_conv_pointwise, In, midout_iv("Pointwise::gathered"_hash)) {
            for_each_group(problem, [](const ConvProblem<In, Acc>& p, int) {
                multiply(p, gather(p).data());
            });
        }
        MIDOUT_END();
    }
}

template void conv_pointwise(const ConvF32&);
template void conv_pointwise(const ConvS8&);

}  // namespace sample
