// Elementwise functions of one, two or three tensors.
#pragma once

#include <string>
#include <vector>

#include "base/bin_reduce.h"
#include "base/tensor.h"
#include "base/threads.h"

// Every mode with its number, by arity. The numbers stand in regions, so they never change;
// elemwise_modes.txt tells them to tools.
#define SAMPLE_UNARY_MODES(cb)                                                                    \
    cb(RELU, 0) cb(ABS, 1) cb(CEIL, 2) cb(COS, 3) cb(EXP, 4) cb(FLOOR, 5) cb(LOG, 6)              \
    cb(NEGATE, 7) cb(ROUND, 8) cb(SIGMOID, 9) cb(SIN, 10) cb(SQRT, 11) cb(SQUARE, 12)             \
    cb(TANH, 13) cb(H_SWISH, 14) cb(RELU6, 15) cb(SILU, 16) cb(GELU, 17)
#define SAMPLE_BINARY_MODES(cb)                                                                   \
    cb(ADD, 18) cb(SUB, 19) cb(MUL, 20) cb(TRUE_DIV, 21) cb(MAX, 22) cb(MIN, 23) cb(POW, 24)      \
    cb(LT, 25) cb(FUSE_ADD_RELU, 26) cb(FUSE_ADD_SIGMOID, 27) cb(FUSE_ADD_TANH, 28)               \
    cb(FUSE_ADD_H_SWISH, 29)
#define SAMPLE_TERNARY_MODES(cb) cb(FUSE_MUL_ADD3, 30) cb(COND_LEQ_MOV, 31) cb(CLIP, 32)

namespace sample {

enum class ElemwiseMode {
#define SAMPLE_MODE(name, number) name = number,
    SAMPLE_UNARY_MODES(SAMPLE_MODE) SAMPLE_BINARY_MODES(SAMPLE_MODE)
            SAMPLE_TERNARY_MODES(SAMPLE_MODE)
#undef SAMPLE_MODE
};

struct ElemwiseModeInfo {
    const char* name;
    ElemwiseMode mode;
    int arity;
};

// Null for a name that is unknown, or dropped by the generated header.
const ElemwiseModeInfo* find_elemwise_mode(const std::string& name);

// How a second or third operand relates to the first.
enum class Broadcast {
    Same,     // the same shape
    Scalar,   // a single value
    Channel,  // one value per channel: axis 1
};

struct ElemwiseProblem {
    ElemwiseMode mode;
    std::vector<const Tensor*> inputs;
    Tensor* output;
    Broadcast broadcast;  // of all operands after the first alike
    ThreadPool* pool;
};

void elemwise_unary(const ElemwiseProblem& problem);
void elemwise_binary(const ElemwiseProblem& problem);
void elemwise_ternary(const ElemwiseProblem& problem);
// One or two quantised inputs of the same shape: computed as real numbers.
void elemwise_quantised(const ElemwiseProblem& problem);

// Whether elemwise_quantised() knows the mode.
bool elemwise_quantised_usable(ElemwiseMode mode);

}  // namespace sample
