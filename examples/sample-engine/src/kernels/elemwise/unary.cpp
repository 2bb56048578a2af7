#include "base/regions.h"
#include "kernels/elemwise/elemwise.h"
#include "kernels/elemwise/functors.h"

// The first number of this tag is the mode: a generated header keeps the modes that it finds here.
MIDOUT_DECL(megdnn_common_elemwise_mode)
MIDOUT_DECL(sample_elemwise_unary)

namespace sample {
namespace {

template <class Function, ElemwiseMode Mode>
void run(const ElemwiseProblem& problem) {
    MIDOUT_BEGIN(sample_elemwise_unary, float, midout_iv(Mode)) {
        const float* in = problem.inputs[0]->as<float>();
        float* out = problem.output->as<float>();
        const size_t count = problem.output->shape.total();
        for (size_t i = 0; i < count; ++i)
            out[i] = Function::apply(in[i]);
    }
    MIDOUT_END();
}

}  // namespace

void elemwise_unary(const ElemwiseProblem& problem) {
#define SAMPLE_RUN(name)                                                             \
    if (problem.mode == ElemwiseMode::name) {                                        \
        MIDOUT_BEGIN(megdnn_common_elemwise_mode, midout_iv(ElemwiseMode::name)) {   \
            run<functor::name, ElemwiseMode::name>(problem);                         \
        }                                                                            \
        MIDOUT_END();                                                                \
    }
#define SAMPLE_MODE(name, number) MEGDNN_ELEMWISE_MODE_ENABLE(name, SAMPLE_RUN)
    SAMPLE_UNARY_MODES(SAMPLE_MODE)
#undef SAMPLE_MODE
#undef SAMPLE_RUN
}

}  // namespace sample
