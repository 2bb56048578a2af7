#include <algorithm>
#include <cstdint>

#include "base/regions.h"
#include "kernels/shape/shape.h"

MIDOUT_DECL(sample_reduce)

namespace sample {

AxisView view_axis(const Shape& shape, int axis) {
    return {shape.product(0, axis), size_t(shape[axis]), shape.product(axis + 1, shape.ndim)};
}

namespace {

template <ReduceMode Mode, class T>
T first(T value) {
    return Mode == ReduceMode::SumSquare ? value * value : value;
}

template <ReduceMode Mode, class T>
T join(T left, T right) {
    switch (Mode) {
        case ReduceMode::Max:
            return std::max(left, right);
        case ReduceMode::Min:
            return std::min(left, right);
        case ReduceMode::Product:
            return left * right;
        case ReduceMode::SumSquare:
            return left + right * right;
        default:
            return left + right;
    }
}

template <ReduceMode Mode, class T>
T finish(T value, size_t count) {
    return Mode == ReduceMode::Mean ? value / T(count) : value;
}

// The axis lies adjacent in memory.
template <ReduceMode Mode, class T>
void reduce_last(const T* in, T* out, AxisView view) {
    for (size_t o = 0; o < view.outer; ++o, in += view.axis) {
        T value = first<Mode>(in[0]);
        for (size_t a = 1; a < view.axis; ++a)
            value = join<Mode>(value, in[a]);
        out[o] = finish<Mode>(value, view.axis);
    }
}

// Rows of `inner` values are joined one after the other.
template <ReduceMode Mode, class T>
void reduce_rows(const T* in, T* out, AxisView view) {
    for (size_t o = 0; o < view.outer; ++o, out += view.inner) {
        for (size_t i = 0; i < view.inner; ++i)
            out[i] = first<Mode>(in[i]);
        in += view.inner;
        for (size_t a = 1; a < view.axis; ++a, in += view.inner) {
            for (size_t i = 0; i < view.inner; ++i)
                out[i] = join<Mode>(out[i], in[i]);
        }
        for (size_t i = 0; i < view.inner; ++i)
            out[i] = finish<Mode>(out[i], view.axis);
    }
}

template <ReduceMode Mode, class T>
void run(const Tensor& input, Tensor& output, AxisView view) {
    if (view.inner == 1) {
        MIDOUT_BEGIN(sample_reduce, T, midout_iv(Mode), midout_iv("Reduce::last"_hash)) {
            reduce_last<Mode>(input.as<T>(), output.as<T>(), view);
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(sample_reduce, T, midout_iv(Mode), midout_iv("Reduce::rows"_hash)) {
            reduce_rows<Mode>(input.as<T>(), output.as<T>(), view);
        }
        MIDOUT_END();
    }
}

void run_s32(ReduceMode mode, const Tensor& input, Tensor& output, AxisView view) {
    if (mode == ReduceMode::Max)
        run<ReduceMode::Max, int32_t>(input, output, view);
    else if (mode == ReduceMode::Min)
        run<ReduceMode::Min, int32_t>(input, output, view);
    else
        run<ReduceMode::Sum, int32_t>(input, output, view);
}

}  // namespace

void reduce(ReduceMode mode, const Tensor& input, Tensor& output, AxisView view) {
    if (input.dtype == DType::QuantizedS32)
        return run_s32(mode, input, output, view);
    switch (mode) {
        case ReduceMode::Sum:
            return run<ReduceMode::Sum, float>(input, output, view);
        case ReduceMode::Mean:
            return run<ReduceMode::Mean, float>(input, output, view);
        case ReduceMode::Max:
            return run<ReduceMode::Max, float>(input, output, view);
        case ReduceMode::Min:
            return run<ReduceMode::Min, float>(input, output, view);
        case ReduceMode::Product:
            return run<ReduceMode::Product, float>(input, output, view);
        case ReduceMode::SumSquare:
            return run<ReduceMode::SumSquare, float>(input, output, view);
    }
}

}  // namespace sample
