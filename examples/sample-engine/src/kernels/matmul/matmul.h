// C = A x B for row-major matrices, either of which may be stored transposed.
#pragma once

#include <cstdint>

#include "base/regions.h"
#include "base/threads.h"
#include "kernels/algorithm.h"

namespace sample {

template <class In, class Acc>
struct MatmulProblem {
    int m, n, k;
    const In* a;  // m x k, or k x m when transposed
    const In* b;  // k x n, or n x k when transposed
    Acc* c;       // m x n
    bool transpose_a, transpose_b;
    ThreadPool* pool;
    const float* prepared = nullptr;  // matrix products have nothing to prepare
};

using MatmulF32 = MatmulProblem<float, float>;
using MatmulS8 = MatmulProblem<int8_t, int32_t>;

const Algorithms<MatmulF32>& matmul_algorithms(const MatmulF32&);
const Algorithms<MatmulS8>& matmul_algorithms(const MatmulS8&);

// The blocked products by themselves, for convolutions that are made of products.
void matmul_blocked_4x8(const MatmulF32& problem);
void matmul_blocked_8x8(const MatmulF32& problem);
void matmul_blocked_4x8(const MatmulS8& problem);

}  // namespace sample
