#include "base/regions.h"
#include "kernels/pooling/window.h"

MIDOUT_DECL(sample_pooling)

namespace sample {
namespace {

template <PoolMode Mode, int Window, int Stride, class T>
bool run_if_square(const PoolProblem<T>& problem) {
    if (!problem.square(Window, Stride))
        return false;
    MIDOUT_BEGIN(sample_pooling, T, midout_iv(Mode), midout_iv(Window), midout_iv(Stride)) {
        pool_planes<PoolFunction<T, Mode>, Window, 1>(problem);
    }
    MIDOUT_END();
    return true;
}

template <PoolMode Mode, class T>
void run(const PoolProblem<T>& problem) {
    if (problem.global()) {
        MIDOUT_BEGIN(sample_pooling, T, midout_iv(Mode), midout_iv("Pooling::global"_hash)) {
            pool_global<PoolFunction<T, Mode>>(problem);
        }
        MIDOUT_END();
        return;
    }
    if (run_if_square<Mode, 2, 2>(problem) || run_if_square<Mode, 3, 1>(problem) ||
        run_if_square<Mode, 3, 2>(problem))
        return;
    MIDOUT_BEGIN(sample_pooling, T, midout_iv(Mode), midout_iv("Pooling::any_window"_hash)) {
        pool_planes<PoolFunction<T, Mode>, 0, 1>(problem);
    }
    MIDOUT_END();
}

template <class T>
void run(const PoolProblem<T>& problem) {
    switch (problem.mode) {
        case PoolMode::Max:
            return run<PoolMode::Max>(problem);
        case PoolMode::Average:
            return run<PoolMode::Average>(problem);
        case PoolMode::AverageInside:
            return run<PoolMode::AverageInside>(problem);
    }
}

}  // namespace

void pool_plain(const PoolProblem<float>& problem) {
    run(problem);
}

void pool_plain(const PoolProblem<int8_t>& problem) {
    run(problem);
}

}  // namespace sample
