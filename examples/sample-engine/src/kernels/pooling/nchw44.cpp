#include "base/regions.h"
#include "kernels/pooling/window.h"

MIDOUT_DECL(sample_pooling_nchw44)

namespace sample {
namespace {

template <PoolMode Mode, int Window, int Stride>
bool run_if_square(const PoolProblem<float>& problem) {
    if (!problem.square(Window, Stride))
        return false;
    MIDOUT_BEGIN(sample_pooling_nchw44, midout_iv(Mode), midout_iv(Window), midout_iv(Stride)) {
        pool_planes<PoolFunction<float, Mode>, Window, 4>(problem);
    }
    MIDOUT_END();
    return true;
}

template <PoolMode Mode>
void run(const PoolProblem<float>& problem) {
    if (run_if_square<Mode, 2, 2>(problem) || run_if_square<Mode, 3, 2>(problem))
        return;
    MIDOUT_BEGIN(
            sample_pooling_nchw44, midout_iv(Mode), midout_iv("Pooling::any_window"_hash)) {
        pool_planes<PoolFunction<float, Mode>, 0, 4>(problem);
    }
    MIDOUT_END();
}

}  // namespace

void pool_nchw44(const PoolProblem<float>& problem) {
    switch (problem.mode) {
        case PoolMode::Max:
            return run<PoolMode::Max>(problem);
        case PoolMode::Average:
            return run<PoolMode::Average>(problem);
        case PoolMode::AverageInside:
            return run<PoolMode::AverageInside>(problem);
    }
}

}  // namespace sample
