// Two small networks of int8 (input "data" of 1 x 3 x 64 x 64 in float32, 10 outputs), on the
// engine's inner interface. Each convolution multiplies QuantizedS8 with QuantizedS8 and sums up in
// QuantizedS32, whose scale is the product of the two. Weights are noise of a fixed seed.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "megbrain/opr/nn_int.h"
#include "network.h"

constexpr std::size_t kSmallSide = 64;
constexpr std::size_t kSmallClasses = 10;
constexpr int kInt8Max = 127;
// What an activation of the largest int8 stands for: the noise of the weights keeps all below it.
constexpr float kActivationMax = 4.0f;
constexpr float kActivationScale = kActivationMax / kInt8Max;

class Int8Layers {
public:
    explicit Int8Layers(Network& network) : m_network(network) {}

    SymbolVar input(const char* name) {
        return opr::TypeCvt::make(m_network.input(name, kSmallSide), activation());
    }

    // One operator, as the engine's own quantised modules leave training: QuantizedS8 comes out.
    SymbolVar fused_conv(
            SymbolVar image, std::size_t in, std::size_t out, std::size_t size,
            std::size_t stride, bool relu) {
        using Param = opr::ConvBias::Param;
        Param param = Network::same<Param>(size, stride);
        param.nonlineMode = relu ? Param::NonlineMode::RELU : Param::NonlineMode::IDENTITY;
        const std::size_t summands = in * size * size;
        return conv(image, {out, in, size, size}, summands, out, param, activation());
    }

    // The sums themselves come out, as QuantizedS32. Two more operators make int8 of them.
    SymbolVar unfused_conv(
            SymbolVar image, std::size_t in, std::size_t out, std::size_t size,
            std::size_t stride) {
        const auto param = Network::same<opr::ConvBias::Param>(size, stride);
        const std::size_t summands = in * size * size;
        return rounded_relu(sums(image, {out, in, size, size}, summands, out, param));
    }

    // Each channel by a filter of its own.
    SymbolVar unfused_depthwise(
            SymbolVar image, std::size_t channels, std::size_t size, std::size_t stride) {
        using Param = opr::ConvBias::Param;
        Param param = Network::same<Param>(size, stride);
        param.sparse = Param::Sparse::GROUP;
        const TensorShape filter{channels, 1, 1, size, size};
        return rounded_relu(sums(image, filter, size * size, channels, param));
    }

    SymbolVar add_relu(SymbolVar left, SymbolVar right) {
        return opr::ElemwiseMultiType::make(
                {left, right}, {opr::ElemwiseMultiType::Mode::QFUSE_ADD_RELU},
                mgb::OperatorNodeConfig{activation()});
    }

    // A convolution of 1 x 1, whose sums are the logits.
    SymbolVar classify(SymbolVar features, std::size_t count) {
        const auto param = Network::same<opr::ConvBias::Param>(1, 1);
        const SymbolVar logits =
                sums(features, {kSmallClasses, count, 1, 1}, count, kSmallClasses, param);
        const SymbolVar numbers = opr::TypeCvt::make(logits, mgb::dtype::Float32());
        return numbers.reshape(TensorShape{1, kSmallClasses});
    }

private:
    static mgb::DType activation() { return mgb::dtype::QuantizedS8(kActivationScale); }

    static mgb::DType sum(float filter_scale) {
        return mgb::dtype::QuantizedS32(kActivationScale * filter_scale);
    }

    static float filter_scale(std::size_t summands) {
        return Network::range(summands) / kInt8Max;
    }

    SymbolVar sums(
            SymbolVar image, const TensorShape& filter, std::size_t summands,
            std::size_t channels, const opr::ConvBias::Param& param) {
        return conv(image, filter, summands, channels, param, sum(filter_scale(summands)));
    }

    SymbolVar conv(
            SymbolVar image, const TensorShape& filter, std::size_t summands,
            std::size_t channels, const opr::ConvBias::Param& param, mgb::DType out) {
        const float scale = filter_scale(summands);
        const SymbolVar weights =
                noise<std::int8_t>(filter, mgb::dtype::QuantizedS8(scale), kInt8Max);
        const float most = kBias / (kActivationScale * scale);
        const SymbolVar bias = noise<std::int32_t>({1, channels, 1, 1}, sum(scale), most);
        return opr::ConvBias::make(
                image, weights, bias, param, {}, mgb::OperatorNodeConfig{out});
    }

    static SymbolVar rounded_relu(SymbolVar sums) {
        const SymbolVar rounded = opr::TypeCvt::make(sums, activation());
        return opr::ElemwiseMultiType::make(
                {rounded}, {opr::ElemwiseMultiType::Mode::QRELU},
                mgb::OperatorNodeConfig{activation()});
    }

    template <typename Number>
    SymbolVar noise(const TensorShape& shape, mgb::DType dtype, float most) {
        mgb::HostTensorND value(m_network.node(), shape, dtype);
        auto* const numbers = reinterpret_cast<Number*>(value.raw_ptr());
        for (std::size_t i = 0; i < shape.total_nr_elems(); ++i)
            numbers[i] = static_cast<Number>(std::lround(most * m_network.next_noise()));
        return m_network.constant(value);
    }

    Network& m_network;
};

// 3 x 3 twice, and what came in is added, through a convolution where it must change.
inline SymbolVar int8_block(
        Int8Layers& layers, SymbolVar image, std::size_t in, std::size_t out) {
    const std::size_t stride = in == out ? 1 : 2;
    const SymbolVar kept = in == out ? image : layers.fused_conv(image, in, out, 1, 2, false);
    const SymbolVar added = layers.fused_conv(image, in, out, 3, stride, true);
    return layers.add_relu(kept, layers.fused_conv(added, out, out, 3, 1, false));
}

// A ResNet of three blocks, fused as the engine's quantised modules are.
inline SymbolVar resnet_int8(Network& network) {
    using Mode = opr::Pooling::Param::Mode;
    constexpr std::size_t kWidths[] = {16, 32, 64};
    Int8Layers layers(network);
    std::size_t channels = kWidths[0], side = kSmallSide / 4;
    SymbolVar image = layers.fused_conv(layers.input("data"), 3, channels, 7, 2, true);
    image = network.pool(image, Mode::MAX, 3, 2, 1);
    for (const std::size_t width : kWidths) {
        image = int8_block(layers, image, channels, width);
        side = channels == width ? side : side / 2;
        channels = width;
    }
    image = network.pool(image, Mode::AVERAGE, side, side, 0);
    return layers.classify(image, channels);
}

// A MobileNet of five pairs. Nothing is fused.
inline SymbolVar mobilenet_int8(Network& network) {
    constexpr Pair kPairs[] = {{32, 1}, {64, 2}, {64, 1}, {128, 2}, {128, 1}};
    Int8Layers layers(network);
    return pairs_of_convs(network, layers, kPairs, 16, kSmallSide / 2);
}
