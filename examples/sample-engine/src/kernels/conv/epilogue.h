// What follows the sums of a convolution: bias, activation and, for integers, requantisation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sample {

enum class Activation { Identity, Relu, Sigmoid, HSwish };

// Channels of `plane` adjacent values each (of `block` interleaved channels in a blocked layout).
struct EpilogueShape {
    int images, channels, plane, block;
};

// In place. `bias` has one value per channel, or is null.
void conv_epilogue(float* sums, const float* bias, Activation activation, EpilogueShape shape);

// output = saturate(round(activation(sum + bias) * scale)). Identity and Relu only.
void conv_requantise(
        const int32_t* sums, const int32_t* bias, Activation activation, float scale,
        int8_t* output, EpilogueShape shape);

}  // namespace sample
