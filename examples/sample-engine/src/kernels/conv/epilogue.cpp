#include "kernels/conv/epilogue.h"

#include "base/error.h"
#include "base/regions.h"
#include "kernels/elemwise/functors.h"
#include "kernels/quantise.h"

MIDOUT_DECL(sample_conv_epilogue)

namespace sample {
namespace {

struct Identity {
    template <class T>
    static T apply(T value) {
        return value;
    }
};

// Calls body(first index, channel of it) for every run of values that share a channel or block.
template <class Body>
void for_each_plane(EpilogueShape s, Body body) {
    const int blocks = s.channels / s.block;
    for (int i = 0; i < s.images * blocks; ++i)
        body(size_t(i) * s.plane * s.block, i % blocks * s.block);
}

template <class Function>
void activate(float* sums, EpilogueShape s) {
    const size_t count = size_t(s.images) * s.channels * s.plane;
    for (size_t i = 0; i < count; ++i)
        sums[i] = Function::apply(sums[i]);
}

template <class Function>
void add_and_activate(float* sums, const float* bias, EpilogueShape s) {
    for_each_plane(s, [&](size_t first, int channel) {
        for (int i = 0; i < s.plane; ++i) {
            for (int lane = 0; lane < s.block; ++lane) {
                float& value = sums[first + size_t(i) * s.block + lane];
                value = Function::apply(value + bias[channel + lane]);
            }
        }
    });
}

template <class Function, Activation Which>
void finish(float* sums, const float* bias, EpilogueShape shape) {
    if (bias) {
        MIDOUT_BEGIN(
                sample_conv_epilogue, float, midout_iv("Epilogue::bias"_hash), midout_iv(Which)) {
            add_and_activate<Function>(sums, bias, shape);
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(
                sample_conv_epilogue, float, midout_iv("Epilogue::no_bias"_hash),
                midout_iv(Which)) {
            activate<Function>(sums, shape);
        }
        MIDOUT_END();
    }
}

template <class Function, Activation Which>
void requantise(
        const int32_t* sums, const int32_t* bias, float scale, int8_t* output, EpilogueShape s) {
    MIDOUT_BEGIN(sample_conv_epilogue, int8_t, midout_iv(Which)) {
        for_each_plane(s, [&](size_t first, int channel) {
            const int32_t offset = bias ? bias[channel] : 0;
            for (int i = 0; i < s.plane; ++i) {
                const int32_t value = Function::apply(sums[first + i] + offset);
                output[first + i] = saturate_s8(float(value) * scale);
            }
        });
    }
    MIDOUT_END();
}

}  // namespace

void conv_epilogue(float* sums, const float* bias, Activation activation, EpilogueShape shape) {
    switch (activation) {
        case Activation::Identity:
            return finish<Identity, Activation::Identity>(sums, bias, shape);
        case Activation::Relu:
            return finish<functor::RELU, Activation::Relu>(sums, bias, shape);
        case Activation::Sigmoid:
            return finish<functor::SIGMOID, Activation::Sigmoid>(sums, bias, shape);
        case Activation::HSwish:
            return finish<functor::H_SWISH, Activation::HSwish>(sums, bias, shape);
    }
}

void conv_requantise(
        const int32_t* sums, const int32_t* bias, Activation activation, float scale,
        int8_t* output, EpilogueShape shape) {
    if (activation == Activation::Relu)
        requantise<functor::RELU, Activation::Relu>(sums, bias, scale, output, shape);
    else
        requantise<Identity, Activation::Identity>(sums, bias, scale, output, shape);
}

}  // namespace sample
