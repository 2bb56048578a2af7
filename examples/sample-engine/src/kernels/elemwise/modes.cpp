#include "kernels/elemwise/elemwise.h"

namespace sample {
namespace {

constexpr ElemwiseModeInfo kModes[] = {
#define SAMPLE_UNARY(name) {#name, ElemwiseMode::name, 1},
#define SAMPLE_BINARY(name) {#name, ElemwiseMode::name, 2},
#define SAMPLE_TERNARY(name) {#name, ElemwiseMode::name, 3},
#define SAMPLE_MODE(name, number) MEGDNN_ELEMWISE_MODE_ENABLE(name, SAMPLE_UNARY)
        SAMPLE_UNARY_MODES(SAMPLE_MODE)
#undef SAMPLE_MODE
#define SAMPLE_MODE(name, number) MEGDNN_ELEMWISE_MODE_ENABLE(name, SAMPLE_BINARY)
        SAMPLE_BINARY_MODES(SAMPLE_MODE)
#undef SAMPLE_MODE
#define SAMPLE_MODE(name, number) MEGDNN_ELEMWISE_MODE_ENABLE(name, SAMPLE_TERNARY)
        SAMPLE_TERNARY_MODES(SAMPLE_MODE)
#undef SAMPLE_MODE
        // Ends the table, which would be empty when every mode is dropped.
        {nullptr, ElemwiseMode::RELU, 0},
};

}  // namespace

const ElemwiseModeInfo* find_elemwise_mode(const std::string& name) {
    for (const ElemwiseModeInfo* info = kModes; info->name; ++info) {
        if (name == info->name)
            return info;
    }
    return nullptr;
}

}  // namespace sample
