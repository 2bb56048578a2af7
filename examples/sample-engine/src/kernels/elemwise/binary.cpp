#include "base/regions.h"
#include "kernels/elemwise/elemwise.h"
#include "kernels/elemwise/functors.h"

MIDOUT_DECL(megdnn_common_elemwise_mode)
MIDOUT_DECL(sample_elemwise_binary)

namespace sample {
namespace {

template <class Function>
void same(const float* x, const float* y, float* out, const Shape& shape) {
    const size_t count = shape.total();
    for (size_t i = 0; i < count; ++i)
        out[i] = Function::apply(x[i], y[i]);
}

template <class Function>
void scalar(const float* x, float y, float* out, const Shape& shape) {
    const size_t count = shape.total();
    for (size_t i = 0; i < count; ++i)
        out[i] = Function::apply(x[i], y);
}

template <class Function>
void channel(const float* x, const float* y, float* out, const Shape& shape) {
    const int planes = shape[0] * shape[1];
    const size_t plane = shape.product(2, shape.ndim);
    for (int p = 0; p < planes; ++p) {
        for (size_t i = p * plane; i < (p + 1) * plane; ++i)
            out[i] = Function::apply(x[i], y[p % shape[1]]);
    }
}

template <class Function, ElemwiseMode Mode>
void run(const ElemwiseProblem& problem) {
    const float* x = problem.inputs[0]->as<float>();
    const float* y = problem.inputs[1]->as<float>();
    float* out = problem.output->as<float>();
    const Shape& shape = problem.output->shape;
    if (problem.broadcast == Broadcast::Same) {
        MIDOUT_BEGIN(
                sample_elemwise_binary, float, midout_iv(Mode), midout_iv(Broadcast::Same)) {
            same<Function>(x, y, out, shape);
        }
        MIDOUT_END();
    } else if (problem.broadcast == Broadcast::Scalar) {
        MIDOUT_BEGIN(
                sample_elemwise_binary, float, midout_iv(Mode), midout_iv(Broadcast::Scalar)) {
            scalar<Function>(x, *y, out, shape);
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(
                sample_elemwise_binary, float, midout_iv(Mode), midout_iv(Broadcast::Channel)) {
            channel<Function>(x, y, out, shape);
        }
        MIDOUT_END();
    }
}

}  // namespace

void elemwise_binary(const ElemwiseProblem& problem) {
#define SAMPLE_RUN(name)                                                             \
    if (problem.mode == ElemwiseMode::name) {                                        \
        MIDOUT_BEGIN(megdnn_common_elemwise_mode, midout_iv(ElemwiseMode::name)) {   \
            run<functor::name, ElemwiseMode::name>(problem);                         \
        }                                                                            \
        MIDOUT_END();                                                                \
    }
#define SAMPLE_MODE(name, number) MEGDNN_ELEMWISE_MODE_ENABLE(name, SAMPLE_RUN)
    SAMPLE_BINARY_MODES(SAMPLE_MODE)
#undef SAMPLE_MODE
#undef SAMPLE_RUN
}

}  // namespace sample
