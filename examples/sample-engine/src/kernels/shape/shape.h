// Kernels that look at a tensor as [outer][axis][inner], or only move its values.
#pragma once

#include <cstddef>
#include <vector>

#include "base/tensor.h"

namespace sample {

struct AxisView {
    size_t outer, axis, inner;
};

AxisView view_axis(const Shape& shape, int axis);

// The numbers stand in regions, so they never change.
enum class ReduceMode { Sum = 0, Mean = 1, Max = 2, Min = 3, Product = 4, SumSquare = 5 };

// Float32 in every mode; QuantizedS32 in Sum, Max and Min.
void reduce(ReduceMode mode, const Tensor& input, Tensor& output, AxisView view);

// Float32 only.
void softmax(const Tensor& input, Tensor& output, AxisView view);

// Between any two data types, by way of the real value.
void convert(const Tensor& input, Tensor& output);

void concat(const std::vector<const Tensor*>& inputs, Tensor& output, int axis);

// Axis i of the output is axis order[i] of the input.
void transpose(const Tensor& input, Tensor& output, const int* order);

// The numbers stand in regions, so they never change.
enum class ResizeMode { Nearest = 0, Linear = 1 };

// Float32 images [N][C][H][W].
void resize(ResizeMode mode, const Tensor& input, Tensor& output);

// Between [N][C][H][W] and [N][C/4][H][W][4], Float32; the direction is what the output says.
void relayout(const Tensor& input, Tensor& output);

}  // namespace sample
