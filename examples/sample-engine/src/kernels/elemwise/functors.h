// The elementwise modes as functions; each has the name of its mode.
#pragma once

#include <algorithm>
#include <cmath>

namespace sample {
namespace functor {

struct RELU {
    template <class T>
    static T apply(T x) {
        return x > T(0) ? x : T(0);
    }
};

#define SAMPLE_UNARY(NAME, EXPRESSION) \
    struct NAME {                      \
        static float apply(float x) { return EXPRESSION; } \
    }
SAMPLE_UNARY(ABS, std::fabs(x));
SAMPLE_UNARY(CEIL, std::ceil(x));
SAMPLE_UNARY(COS, std::cos(x));
SAMPLE_UNARY(EXP, std::exp(x));
SAMPLE_UNARY(FLOOR, std::floor(x));
SAMPLE_UNARY(LOG, std::log(x));
SAMPLE_UNARY(NEGATE, -x);
SAMPLE_UNARY(ROUND, std::round(x));
SAMPLE_UNARY(SIGMOID, 1.f / (1.f + std::exp(-x)));
SAMPLE_UNARY(SIN, std::sin(x));
SAMPLE_UNARY(SQRT, std::sqrt(x));
SAMPLE_UNARY(SQUARE, x * x);
SAMPLE_UNARY(TANH, std::tanh(x));
SAMPLE_UNARY(H_SWISH, x * std::min(std::max(x + 3.f, 0.f), 6.f) / 6.f);
SAMPLE_UNARY(RELU6, std::min(std::max(x, 0.f), 6.f));
SAMPLE_UNARY(SILU, x / (1.f + std::exp(-x)));
SAMPLE_UNARY(GELU, x * 0.5f * (1.f + std::erf(x * 0.70710678f)));
#undef SAMPLE_UNARY

#define SAMPLE_BINARY(NAME, EXPRESSION) \
    struct NAME {                       \
        static float apply(float x, float y) { return EXPRESSION; } \
    }
SAMPLE_BINARY(ADD, x + y);
SAMPLE_BINARY(SUB, x - y);
SAMPLE_BINARY(MUL, x * y);
SAMPLE_BINARY(TRUE_DIV, x / y);
SAMPLE_BINARY(MAX, std::max(x, y));
SAMPLE_BINARY(MIN, std::min(x, y));
SAMPLE_BINARY(POW, std::pow(x, y));
SAMPLE_BINARY(LT, x < y ? 1.f : 0.f);
SAMPLE_BINARY(FUSE_ADD_RELU, RELU::apply(x + y));
SAMPLE_BINARY(FUSE_ADD_SIGMOID, SIGMOID::apply(x + y));
SAMPLE_BINARY(FUSE_ADD_TANH, TANH::apply(x + y));
SAMPLE_BINARY(FUSE_ADD_H_SWISH, H_SWISH::apply(x + y));
#undef SAMPLE_BINARY

#define SAMPLE_TERNARY(NAME, EXPRESSION) \
    struct NAME {                        \
        static float apply(float x, float y, float z) { return EXPRESSION; } \
    }
SAMPLE_TERNARY(FUSE_MUL_ADD3, x * y + z);
SAMPLE_TERNARY(COND_LEQ_MOV, x <= y ? z : 0.f);
SAMPLE_TERNARY(CLIP, std::min(std::max(x, y), z));
#undef SAMPLE_TERNARY

}  // namespace functor
}  // namespace sample
