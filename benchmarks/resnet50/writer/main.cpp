// write-resnet50 MODEL [v1|v2]
//
// Writes a full-size ResNet-50 (float32, input "data" of 1 x 3 x 224 x 224, 1000 outputs) through
// the engine's own dump interface. Weights are noise of a fixed seed: the same engine writes the
// same bytes again. The outputs mean nothing, but they depend on every layer.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "megbrain/opr/basic_arith.h"
#include "megbrain/opr/blas.h"
#include "megbrain/opr/dnn/convolution.h"
#include "megbrain/opr/dnn/pooling.h"
#include "megbrain/opr/io.h"
#include "megbrain/opr/tensor_manip.h"
#include "megbrain/serialization/serializer.h"

namespace {

using mgb::SymbolVar;
using mgb::TensorShape;
namespace opr = mgb::opr;
namespace serialization = mgb::serialization;

constexpr std::size_t kSide = 224;
constexpr std::size_t kClasses = 1000;
constexpr std::size_t kExpansion = 4;
constexpr std::size_t kStem = 64;
constexpr std::size_t kStages[] = {3, 4, 6, 3};
constexpr float kBias = 0.1f;
// What a block adds is small beside what it adds to, or 16 blocks would grow without bounds.
constexpr float kResidual = 0.25f;

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

class Network {
public:
    Network() : m_node(mgb::CompNode::load("xpux")), m_graph(mgb::ComputingGraph::make()) {}

    SymbolVar input(const char* name) {
        const auto value = std::make_shared<mgb::HostTensorND>(
                m_node, TensorShape{1, 3, kSide, kSide}, mgb::dtype::Float32());
        // Unused memory must not get into the file.
        std::memset(value->raw_ptr(), 0, value->layout().span().dist_byte());
        return opr::Host2DeviceCopy::make(*m_graph, value, {name});
    }

    // Convolution with bias, "same" padding, and ReLU where `relu` says so.
    SymbolVar conv(
            SymbolVar image, std::size_t in, std::size_t out, std::size_t size,
            std::size_t stride, bool relu, float scale = 1.0f) {
        using Param = opr::ConvBias::Param;
        Param param;
        param.nonlineMode = relu ? Param::NonlineMode::RELU : Param::NonlineMode::IDENTITY;
        param.pad_h = param.pad_w = size / 2;
        param.stride_h = param.stride_w = stride;
        const float range = scale * std::sqrt(6.0f / (in * size * size));
        const SymbolVar filter = weight({out, in, size, size}, range);
        return opr::ConvBias::make(image, filter, weight({1, out, 1, 1}, kBias), param);
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

    // 1 x 1, 3 x 3, 1 x 1, and what came in is added, through a convolution where it must change.
    SymbolVar block(SymbolVar image, std::size_t in, std::size_t width, std::size_t stride) {
        const std::size_t out = kExpansion * width;
        SymbolVar kept = image;
        if (in != out || stride != 1)
            kept = conv(image, in, out, 1, stride, false);
        SymbolVar added = conv(image, in, width, 1, 1, true);
        added = conv(added, width, width, 3, stride, true);
        added = conv(added, width, out, 1, 1, false, kResidual);
        return opr::Elemwise::make({kept, added}, opr::Elemwise::Mode::FUSE_ADD_RELU);
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

private:
    SymbolVar weight(const TensorShape& shape, float range) {
        mgb::HostTensorND value(m_node, shape, mgb::dtype::Float32());
        float* numbers = value.ptr<float>();
        for (std::size_t i = 0; i < shape.total_nr_elems(); ++i)
            numbers[i] = range * m_noise.next();
        return opr::SharedDeviceTensor::make(*m_graph, value);
    }

    mgb::CompNode m_node;
    std::shared_ptr<mgb::ComputingGraph> m_graph;
    Noise m_noise;
};

SymbolVar resnet50(Network& network) {
    using Mode = opr::Pooling::Param::Mode;
    SymbolVar image = network.conv(network.input("data"), 3, kStem, 7, 2, true);
    image = network.pool(image, Mode::MAX, 3, 2, 1);
    std::size_t channels = kStem, width = kStem, side = kSide / 4;
    for (const std::size_t blocks : kStages) {
        for (std::size_t i = 0; i < blocks; ++i) {
            const std::size_t stride = i == 0 && width != kStem ? 2 : 1;
            image = network.block(image, channels, width, stride);
            channels = kExpansion * width;
            side /= stride;
        }
        width *= 2;
    }
    image = network.pool(image, Mode::AVERAGE, side, side, 0);
    return network.classify(image, channels).rename("logits");
}

}  // namespace

int main(int argc, char** argv) {
    const std::string format = argc == 3 ? argv[2] : "v1";
    if (argc < 2 || argc > 3 || (format != "v1" && format != "v2")) {
        std::fputs("write-resnet50 MODEL [v1|v2]\n", stderr);
        return 2;
    }
    using Format = serialization::GraphDumpFormat;
    Network network;
    const SymbolVar output = resnet50(network);
    const auto dumper = serialization::GraphDumper::make(
            serialization::OutputFile::make_fs(argv[1]),
            format == "v2" ? Format::FLATBUFFERS_V2 : Format::FLATBUFFERS);
    const auto written = dumper->dump({output});
    std::printf("%zu operators, %zu bytes\n", written.nr_opr, written.tot_bytes);
    return 0;
}
