#include <cstdint>

#include "base/regions.h"
#include "kernels/quantise.h"
#include "kernels/shape/shape.h"

MIDOUT_DECL(sample_typecvt)

namespace sample {
namespace {

void store(float real, float, float& out) {
    out = real;
}

void store(float real, float scale, int8_t& out) {
    out = saturate_s8(real / scale);
}

void store(float real, float scale, int32_t& out) {
    out = saturate_s32(real / scale);
}

template <class From, class To>
void run(const Tensor& input, Tensor& output) {
    MIDOUT_BEGIN(sample_typecvt, From, To) {
        const From* in = input.as<From>();
        To* out = output.as<To>();
        const size_t count = input.shape.total();
        for (size_t i = 0; i < count; ++i)
            store(float(in[i]) * input.scale, output.scale, out[i]);
    }
    MIDOUT_END();
}

template <class From>
void run_from(const Tensor& input, Tensor& output) {
    switch (output.dtype) {
        case DType::Float32:
            return run<From, float>(input, output);
        case DType::QuantizedS8:
            return run<From, int8_t>(input, output);
        case DType::QuantizedS32:
            return run<From, int32_t>(input, output);
    }
}

}  // namespace

void convert(const Tensor& input, Tensor& output) {
    switch (input.dtype) {
        case DType::Float32:
            return run_from<float>(input, output);
        case DType::QuantizedS8:
            return run_from<int8_t>(input, output);
        case DType::QuantizedS32:
            return run_from<int32_t>(input, output);
    }
}

}  // namespace sample
