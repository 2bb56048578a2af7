#include "base/regions.h"
#include "kernels/elemwise/elemwise.h"
#include "kernels/elemwise/functors.h"
#include "kernels/quantise.h"

MIDOUT_DECL(megdnn_common_elemwise_mode)
MIDOUT_DECL(sample_elemwise_quantised)

// The modes that quantised networks use.
#define SAMPLE_QUANTISED_UNARY(cb) cb(RELU, 0) cb(ABS, 1) cb(NEGATE, 7) cb(H_SWISH, 14)
#define SAMPLE_QUANTISED_BINARY(cb) \
    cb(ADD, 18) cb(SUB, 19) cb(MUL, 20) cb(MAX, 22) cb(MIN, 23) cb(FUSE_ADD_RELU, 26)

namespace sample {
namespace {

template <class Function>
void unary(const Tensor& x, Tensor& output) {
    const int8_t* in = x.as<int8_t>();
    int8_t* out = output.as<int8_t>();
    const size_t count = output.shape.total();
    for (size_t i = 0; i < count; ++i)
        out[i] = saturate_s8(Function::apply(float(in[i]) * x.scale) / output.scale);
}

template <class Function>
void binary(const Tensor& x, const Tensor& y, Tensor& output) {
    const int8_t *left = x.as<int8_t>(), *right = y.as<int8_t>();
    int8_t* out = output.as<int8_t>();
    const size_t count = output.shape.total();
    for (size_t i = 0; i < count; ++i) {
        const float value = Function::apply(float(left[i]) * x.scale, float(right[i]) * y.scale);
        out[i] = saturate_s8(value / output.scale);
    }
}

}  // namespace

bool elemwise_quantised_usable(ElemwiseMode mode) {
#define SAMPLE_MODE(name, number) \
    if (mode == ElemwiseMode::name) \
        return true;
    SAMPLE_QUANTISED_UNARY(SAMPLE_MODE)
    SAMPLE_QUANTISED_BINARY(SAMPLE_MODE)
#undef SAMPLE_MODE
    return false;
}

void elemwise_quantised(const ElemwiseProblem& problem) {
    const Tensor& x = *problem.inputs[0];
    Tensor& output = *problem.output;
#define SAMPLE_GUARDED(name, call)                                                           \
    if (problem.mode == ElemwiseMode::name) {                                                \
        MIDOUT_BEGIN(megdnn_common_elemwise_mode, midout_iv(ElemwiseMode::name)) {           \
            MIDOUT_BEGIN(sample_elemwise_quantised, int8_t, midout_iv(ElemwiseMode::name)) { \
                call;                                                                        \
            }                                                                                \
            MIDOUT_END();                                                                    \
        }                                                                                    \
        MIDOUT_END();                                                                        \
    }
#define SAMPLE_RUN(name) SAMPLE_GUARDED(name, unary<functor::name>(x, output))
#define SAMPLE_MODE(name, number) MEGDNN_ELEMWISE_MODE_ENABLE(name, SAMPLE_RUN)
    SAMPLE_QUANTISED_UNARY(SAMPLE_MODE)
#undef SAMPLE_RUN
#define SAMPLE_RUN(name) SAMPLE_GUARDED(name, binary<functor::name>(x, *problem.inputs[1], output))
    SAMPLE_QUANTISED_BINARY(SAMPLE_MODE)
#undef SAMPLE_RUN
#undef SAMPLE_MODE
#undef SAMPLE_GUARDED
}

}  // namespace sample
