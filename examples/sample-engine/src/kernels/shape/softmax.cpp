#include <algorithm>
#include <cmath>

#include "base/regions.h"
#include "kernels/shape/shape.h"

MIDOUT_DECL(sample_softmax)

namespace sample {
namespace {

// The largest value is taken off first: exp() then cannot overflow.
void along(const float* in, float* out, size_t count, size_t step) {
    float largest = in[0];
    for (size_t i = 1; i < count; ++i)
        largest = std::max(largest, in[i * step]);
    float sum = 0;
    for (size_t i = 0; i < count; ++i) {
        out[i * step] = std::exp(in[i * step] - largest);
        sum += out[i * step];
    }
    for (size_t i = 0; i < count; ++i)
        out[i * step] /= sum;
}

}  // namespace

void softmax(const Tensor& input, Tensor& output, AxisView view) {
    const float* in = input.as<float>();
    float* out = output.as<float>();
    if (view.inner == 1) {
        MIDOUT_BEGIN(sample_softmax, float, midout_iv("Softmax::last"_hash)) {
            for (size_t o = 0; o < view.outer; ++o)
                along(in + o * view.axis, out + o * view.axis, view.axis, 1);
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(sample_softmax, float, midout_iv("Softmax::strided"_hash)) {
            for (size_t o = 0; o < view.outer; ++o) {
                for (size_t i = 0; i < view.inner; ++i) {
                    const size_t at = o * view.axis * view.inner + i;
                    along(in + at, out + at, view.axis, view.inner);
                }
            }
        }
        MIDOUT_END();
    }
}

}  // namespace sample
