// A model file as it was read: tensors, operators and weights, checked for form but not for sense.
//
// The format, all numbers little endian (models/FORMAT.md tells it at more length):
//
//     "SAMPLENN"  u32 version = 1  u64 hash: FNV-1a of every byte behind it
//     u32 count, then per tensor:    name  u8 dtype  f32 scale  u8 ndim  u32 dims[ndim]
//     u32 count, then per operator:  type  name  mode  u8 n  i32 parameters[n]
//                                    u8 n  u32 inputs[n]  u8 n  u32 outputs[n]  u32 n  weights[n]
//     u32 count, then per output:    u32 tensor
//
// A name, type or mode is u8 length and that many ASCII characters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace sample {

struct OperatorRecord {
    std::string type, name, mode;
    std::vector<int32_t> parameters;
    std::vector<uint32_t> inputs, outputs;
    std::vector<char> weights;
};

struct Model {
    uint64_t hash = 0;
    std::vector<Tensor> tensors;
    std::vector<OperatorRecord> operators;
    std::vector<uint32_t> outputs;
};

Model read_model(const std::string& path);

}  // namespace sample
