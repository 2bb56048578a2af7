// write-model NETWORK MODEL [v1|v2]
//
// Writes a network through the engine's own dump interface, and MODEL.json, the list of its
// operators that the engine's Python package writes beside a dump. Most are of full size (float32,
// input "data" of 1 x 3 x 224 x 224, 1000 outputs); those of int8 are small. Weights are noise of a
// fixed seed: the same engine writes the same bytes again. The outputs mean nothing, but they
// depend on every layer.
#include <cstdio>
#include <string>

#include "int8_networks.h"
#include "megbrain/serialization/serializer.h"
#include "network.h"
#include "operators.h"

namespace {

namespace serialization = mgb::serialization;
using PoolMode = opr::Pooling::Param::Mode;

constexpr std::size_t kExpansion = 4;
constexpr std::size_t kStem = 64;
constexpr std::size_t kStages[] = {3, 4, 6, 3};
// What a block adds is small beside what it adds to, or 16 blocks would grow without bounds.
constexpr float kResidual = 0.25f;

// 1 x 1, 3 x 3, 1 x 1, and what came in is added, through a convolution where it must change.
SymbolVar bottleneck(
        Network& network, SymbolVar image, std::size_t in, std::size_t width,
        std::size_t stride) {
    const std::size_t out = kExpansion * width;
    SymbolVar kept = image;
    if (in != out || stride != 1)
        kept = network.conv(image, in, out, 1, stride, false);
    SymbolVar added = network.conv(image, in, width, 1, 1, true);
    added = network.conv(added, width, width, 3, stride, true);
    added = network.conv(added, width, out, 1, 1, false, kResidual);
    return opr::Elemwise::make({kept, added}, opr::Elemwise::Mode::FUSE_ADD_RELU);
}

SymbolVar resnet50(Network& network) {
    SymbolVar image = network.conv(network.input("data"), 3, kStem, 7, 2, true);
    image = network.pool(image, PoolMode::MAX, 3, 2, 1);
    std::size_t channels = kStem, width = kStem, side = kSide / 4;
    for (const std::size_t blocks : kStages) {
        for (std::size_t i = 0; i < blocks; ++i) {
            const std::size_t stride = i == 0 && width != kStem ? 2 : 1;
            image = bottleneck(network, image, channels, width, stride);
            channels = kExpansion * width;
            side /= stride;
        }
        width *= 2;
    }
    image = network.pool(image, PoolMode::AVERAGE, side, side, 0);
    return network.classify(image, channels);
}

// MobileNet v1, as it leaves training: nothing is fused.
SymbolVar mobilenet(Network& network) {
    constexpr Pair kPairs[] = {
            {64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
            {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
    return pairs_of_convs(network, network, kPairs, 32, kSide / 2);
}

// 1 x 1 to few channels, then 1 x 1 and 3 x 3 side by side to `out` channels each.
SymbolVar fire(
        Network& network, SymbolVar image, std::size_t in, std::size_t few, std::size_t out) {
    const SymbolVar squeezed = network.conv(image, in, few, 1, 1, true);
    const SymbolVar left = network.conv(squeezed, few, out, 1, 1, true);
    const SymbolVar right = network.conv(squeezed, few, out, 3, 1, true);
    return opr::Concat::make({left, right}, 1);
}

// SqueezeNet 1.1: small convolutions, and copies.
SymbolVar squeezenet(Network& network) {
    constexpr std::size_t kFew[] = {16, 32, 48, 64};
    SymbolVar image = network.conv(network.input("data"), 3, kStem, 3, 2, true);
    std::size_t channels = kStem, side = kSide / 2;
    for (const std::size_t few : kFew) {
        // The last two pairs work on the same size.
        if (few != kFew[3]) {
            image = network.pool(image, PoolMode::MAX, 3, 2, 1);
            side /= 2;
        }
        for (int i = 0; i < 2; ++i) {
            image = fire(network, image, channels, few, 4 * few);
            channels = 8 * few;
        }
    }
    image = network.conv(image, channels, kClasses, 1, 1, true);
    image = network.pool(image, PoolMode::AVERAGE, side, side, 0);
    return image.reshape(TensorShape{1, kClasses});
}

struct Named {
    const char* name;
    SymbolVar (*make)(Network&);
};

constexpr Named kNetworks[] = {
        {"resnet50", resnet50},
        {"mobilenet", mobilenet},
        {"squeezenet", squeezenet},
        {"resnet-int8", resnet_int8},
        {"mobilenet-int8", mobilenet_int8}};

const Named* find(const std::string& name) {
    for (const Named& each : kNetworks)
        if (name == each.name)
            return &each;
    return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
    const Named* named = argc > 2 ? find(argv[1]) : nullptr;
    const std::string format = argc == 4 ? argv[3] : "v1";
    if (named == nullptr || argc > 4 || (format != "v1" && format != "v2")) {
        std::fputs("write-model NETWORK MODEL [v1|v2], where NETWORK is one of:", stderr);
        for (const Named& each : kNetworks)
            std::fprintf(stderr, " %s", each.name);
        std::fputc('\n', stderr);
        return 2;
    }
    using Format = serialization::GraphDumpFormat;
    Network network;
    const SymbolVar output = named->make(network).rename("logits");
    const auto dumper = serialization::GraphDumper::make(
            serialization::OutputFile::make_fs(argv[2]),
            format == "v2" ? Format::FLATBUFFERS_V2 : Format::FLATBUFFERS);
    const auto written = dumper->dump({output});
    if (!write_operators(std::string(argv[2]) + ".json", output, written.content_hash))
        return 1;
    std::printf("%zu operators, %zu bytes\n", written.nr_opr, written.tot_bytes);
    return 0;
}
