#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/regions.h"
#include "kernels/shape/shape.h"

MIDOUT_DECL(sample_concat)
MIDOUT_DECL(sample_transpose)
MIDOUT_DECL(sample_relayout)

namespace sample {
namespace {

constexpr int kBlock = 4;

template <class T>
void transpose_matrix(const T* in, T* out, int rows, int columns) {
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j)
            out[size_t(j) * rows + i] = in[size_t(i) * columns + j];
    }
}

template <class T>
void transpose_any(const Tensor& input, Tensor& output, const int* order) {
    const int ndim = input.shape.ndim;
    const T* in = input.as<T>();
    T* out = output.as<T>();
    const size_t count = output.shape.total();
    for (size_t to = 0; to < count; ++to) {
        size_t rest = to, from = 0;
        for (int axis = ndim - 1; axis >= 0; --axis) {
            const int at = int(rest % output.shape[axis]);
            rest /= output.shape[axis];
            from += size_t(at) * input.shape.product(order[axis] + 1, ndim);
        }
        out[to] = in[from];
    }
}

template <class T>
void run_transpose(const Tensor& input, Tensor& output, const int* order) {
    if (input.shape.ndim == 2 && order[0] == 1) {
        MIDOUT_BEGIN(sample_transpose, T, midout_iv("Transpose::matrix"_hash)) {
            transpose_matrix(input.as<T>(), output.as<T>(), input.shape[0], input.shape[1]);
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(sample_transpose, T, midout_iv("Transpose::any_order"_hash)) {
            transpose_any<T>(input, output, order);
        }
        MIDOUT_END();
    }
}

// Calls body(place in the plain layout, place in the blocked one) for every value.
template <class Body>
void for_each_place(const Shape& shape, Body body) {
    const size_t plane = shape.product(2, 4);
    const int planes = shape[0] * shape[1];
    for (int p = 0; p < planes; ++p) {
        for (size_t i = 0; i < plane; ++i)
            body(p * plane + i, (p / kBlock * plane + i) * kBlock + p % kBlock);
    }
}

}  // namespace

void concat(const std::vector<const Tensor*>& inputs, Tensor& output, int axis) {
    const size_t outer = output.shape.product(0, axis);
    const size_t out_row = output.bytes() / outer;
    char* out = output.as<char>();
    if (outer == 1) {
        MIDOUT_BEGIN(sample_concat, midout_iv("Concat::whole_tensors"_hash)) {
            for (const Tensor* input : inputs) {
                std::memcpy(out, input->as<char>(), input->bytes());
                out += input->bytes();
            }
        }
        MIDOUT_END();
        return;
    }
    MIDOUT_BEGIN(sample_concat, midout_iv("Concat::rows"_hash)) {
        for (const Tensor* input : inputs) {
            const size_t row = input->bytes() / outer;
            for (size_t o = 0; o < outer; ++o)
                std::memcpy(out + o * out_row, input->as<char>() + o * row, row);
            out += row;
        }
    }
    MIDOUT_END();
}

void transpose(const Tensor& input, Tensor& output, const int* order) {
    if (size_bytes(input.dtype) == 1)
        run_transpose<int8_t>(input, output, order);
    else
        run_transpose<int32_t>(input, output, order);
}

void relayout(const Tensor& input, Tensor& output) {
    const float* in = input.as<float>();
    float* out = output.as<float>();
    if (output.nchw44) {
        MIDOUT_BEGIN(sample_relayout, midout_iv("Relayout::to_nchw44"_hash)) {
            for_each_place(input.shape, [=](size_t plain, size_t blocked) {
                out[blocked] = in[plain];
            });
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(sample_relayout, midout_iv("Relayout::to_nchw"_hash)) {
            for_each_place(input.shape, [=](size_t plain, size_t blocked) {
                out[plain] = in[blocked];
            });
        }
        MIDOUT_END();
    }
}

}  // namespace sample
