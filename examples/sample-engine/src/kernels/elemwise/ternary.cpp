#include "base/regions.h"
#include "kernels/elemwise/elemwise.h"
#include "kernels/elemwise/functors.h"

MIDOUT_DECL(megdnn_common_elemwise_mode)
MIDOUT_DECL(sample_elemwise_ternary)

namespace sample {
namespace {

// `step` is 1 where the second and third operand have the shape of the first, 0 for single values.
template <class Function>
void loop(const ElemwiseProblem& problem, size_t step) {
    const float* x = problem.inputs[0]->as<float>();
    const float* y = problem.inputs[1]->as<float>();
    const float* z = problem.inputs[2]->as<float>();
    float* out = problem.output->as<float>();
    const size_t count = problem.output->shape.total();
    for (size_t i = 0; i < count; ++i)
        out[i] = Function::apply(x[i], y[i * step], z[i * step]);
}

template <class Function, ElemwiseMode Mode>
void run(const ElemwiseProblem& problem) {
    if (problem.broadcast == Broadcast::Same) {
        MIDOUT_BEGIN(
                sample_elemwise_ternary, float, midout_iv(Mode), midout_iv(Broadcast::Same)) {
            loop<Function>(problem, 1);
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(
                sample_elemwise_ternary, float, midout_iv(Mode), midout_iv(Broadcast::Scalar)) {
            loop<Function>(problem, 0);
        }
        MIDOUT_END();
    }
}

}  // namespace

void elemwise_ternary(const ElemwiseProblem& problem) {
#define SAMPLE_RUN(name)                                                             \
    if (problem.mode == ElemwiseMode::name) {                                        \
        MIDOUT_BEGIN(megdnn_common_elemwise_mode, midout_iv(ElemwiseMode::name)) {   \
            run<functor::name, ElemwiseMode::name>(problem);                         \
        }                                                                            \
        MIDOUT_END();                                                                \
    }
#define SAMPLE_MODE(name, number) MEGDNN_ELEMWISE_MODE_ENABLE(name, SAMPLE_RUN)
    SAMPLE_TERNARY_MODES(SAMPLE_MODE)
#undef SAMPLE_MODE
#undef SAMPLE_RUN
}

}  // namespace sample
