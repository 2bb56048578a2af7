// Layers of networks, on the engine's inner interface. Weights are noise of a fixed seed.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "megbrain/opr/basic_arith.h"
#include "megbrain/opr/blas.h"
#include "megbrain/opr/dnn/convolution.h"
#include "megbrain/opr/dnn/pooling.h"
#include "megbrain/opr/io.h"
#include "megbrain/opr/tensor_manip.h"

using mgb::SymbolVar;
using mgb::TensorShape;
namespace opr = mgb::opr;

constexpr std::size_t kSide = 224;
constexpr std::size_t kClasses = 1000;
constexpr float kBias = 0.1f;

// Uniform noise between -1 and 1 by SplitMix64: the same with every C++ library.
class Noise {
public:
    float next() {
        m_state += 0x9E3779B97F4A7C15u;
        std::uint64_t value = m_state;
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
        value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
        value ^= value >> 31;
        // 24 bits are what a float holds exactly.
        return static_cast<float>(value >> 40) / (1 << 23) - 1.0f;
    }

private:
    std::uint64_t m_state = 0;
};

// A network with an input of 1 x 3 x 224 x 224. Its layers are float32; int8_networks.h has others.
class Network {
public:
    Network() : m_node(mgb::CompNode::load("xpux")), m_graph(mgb::ComputingGraph::make()) {}

    SymbolVar input(const char* name, std::size_t side = kSide) {
        const auto value = std::make_shared<mgb::HostTensorND>(
                m_node, TensorShape{1, 3, side, side}, mgb::dtype::Float32());
        // Unused memory must not get into the file.
        std::memset(value->raw_ptr(), 0, value->layout().span().dist_byte());
        return opr::Host2DeviceCopy::make(*m_graph, value, {name});
    }

    // One operator: convolution with bias, "same" padding, and ReLU where `relu` says so.
    SymbolVar conv(
            SymbolVar image, std::size_t in, std::size_t out, std::size_t size,
            std::size_t stride, bool relu, float scale = 1.0f) {
        using Param = opr::ConvBias::Param;
        Param param = same<Param>(size, stride);
        param.nonlineMode = relu ? Param::NonlineMode::RELU : Param::NonlineMode::IDENTITY;
        const SymbolVar filter = weight({out, in, size, size}, scale * range(in * size * size));
        return opr::ConvBias::make(image, filter, weight({1, out, 1, 1}, kBias), param);
    }

    // The same with ReLU as the three operators of training, for the engine to fuse.
    SymbolVar unfused_conv(
            SymbolVar image, std::size_t in, std::size_t out, std::size_t size,
            std::size_t stride) {
        const auto param = same<opr::Convolution::Param>(size, stride);
        const SymbolVar filter = weight({out, in, size, size}, range(in * size * size));
        return biased_relu(opr::Convolution::make(image, filter, param), out);
    }

    // Each channel by a filter of its own.
    SymbolVar unfused_depthwise(
            SymbolVar image, std::size_t channels, std::size_t size, std::size_t stride) {
        using Param = opr::Convolution::Param;
        Param param = same<Param>(size, stride);
        param.sparse = Param::Sparse::GROUP;
        const SymbolVar filter = weight({channels, 1, 1, size, size}, range(size * size));
        return biased_relu(opr::Convolution::make(image, filter, param), channels);
    }

    SymbolVar pool(
            SymbolVar image, opr::Pooling::Param::Mode mode, std::size_t size,
            std::size_t stride, std::size_t pad) {
        opr::Pooling::Param param;
        param.mode = mode;
        param.window_h = param.window_w = size;
        param.stride_h = param.stride_w = stride;
        param.pad_h = param.pad_w = pad;
        return opr::Pooling::make(image, param);
    }

    SymbolVar classify(SymbolVar features, std::size_t count) {
        opr::MatrixMul::Param param;
        param.transposeB = true;
        const SymbolVar flat = features.reshape(TensorShape{1, count});
        const SymbolVar matrix = weight({kClasses, count}, std::sqrt(3.0f / count));
        const SymbolVar product = opr::MatrixMul::make(flat, matrix, param);
        const SymbolVar bias = weight({1, kClasses}, kBias);
        return opr::Elemwise::make({product, bias}, opr::Elemwise::Mode::ADD);
    }

    // What a convolution needs so that its output has the size of its input, divided by `stride`.
    template <typename Param>
    static Param same(std::size_t size, std::size_t stride) {
        Param param;
        param.pad_h = param.pad_w = size / 2;
        param.stride_h = param.stride_w = stride;
        return param;
    }

    // Of weights that keep the magnitude of what goes through them, by the summands of a number.
    static float range(std::size_t summands) { return std::sqrt(6.0f / summands); }

    float next_noise() { return m_noise.next(); }

    mgb::CompNode node() const { return m_node; }

    SymbolVar constant(const mgb::HostTensorND& value) {
        return opr::SharedDeviceTensor::make(*m_graph, value);
    }

private:
    SymbolVar biased_relu(SymbolVar image, std::size_t channels) {
        using Mode = opr::Elemwise::Mode;
        const SymbolVar bias = weight({1, channels, 1, 1}, kBias);
        return opr::Elemwise::make({opr::Elemwise::make({image, bias}, Mode::ADD)}, Mode::RELU);
    }

    SymbolVar weight(const TensorShape& shape, float range) {
        mgb::HostTensorND value(m_node, shape, mgb::dtype::Float32());
        float* numbers = value.ptr<float>();
        for (std::size_t i = 0; i < shape.total_nr_elems(); ++i)
            numbers[i] = range * m_noise.next();
        return constant(value);
    }

    mgb::CompNode m_node;
    std::shared_ptr<mgb::ComputingGraph> m_graph;
    Noise m_noise;
};

// Of a MobileNet: a depthwise convolution, then one of 1 x 1.
struct Pair {
    std::size_t out, stride;
};

// A MobileNet whose layers are float's or int8's. `channels` and `side` are those of the first pair.
template <typename Layers, std::size_t kCount>
SymbolVar pairs_of_convs(
        Network& network, Layers& layers, const Pair (&pairs)[kCount], std::size_t channels,
        std::size_t side) {
    SymbolVar image = layers.unfused_conv(layers.input("data"), 3, channels, 3, 2);
    for (const Pair& pair : pairs) {
        image = layers.unfused_depthwise(image, channels, 3, pair.stride);
        image = layers.unfused_conv(image, channels, pair.out, 1, 1);
        channels = pair.out;
        side /= pair.stride;
    }
    image = network.pool(image, opr::Pooling::Param::Mode::AVERAGE, side, side, 0);
    return layers.classify(image, channels);
}
