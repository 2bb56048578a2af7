// The matrix products that need no packing: by definition, and with a vector on one side.
#pragma once

#include "kernels/matmul/matmul.h"

namespace sample {

template <class In, class Acc>
void matmul_naive(const MatmulProblem<In, Acc>& p) {
    const int a_i = p.transpose_a ? 1 : p.k, a_k = p.transpose_a ? p.m : 1;
    const int b_k = p.transpose_b ? 1 : p.n, b_j = p.transpose_b ? p.k : 1;
    for (int i = 0; i < p.m; ++i) {
        for (int j = 0; j < p.n; ++j) {
            Acc sum = 0;
            for (int k = 0; k < p.k; ++k)
                sum += Acc(p.a[i * a_i + k * a_k]) * Acc(p.b[k * b_k + j * b_j]);
            p.c[size_t(i) * p.n + j] = sum;
        }
    }
}

// One result per row of a matrix [count x k]. Four partial sums keep the processor busy.
template <class In, class Acc>
void gemv_rows(const In* matrix, const In* vector, int count, int k, Acc* out, ThreadPool& pool) {
    pool.parallel_for(count, [=](int i) {
        const In* row = matrix + size_t(i) * k;
        Acc sums[4] = {};
        int p = 0;
        for (; p + 4 <= k; p += 4) {
            for (int lane = 0; lane < 4; ++lane)
                sums[lane] += Acc(row[p + lane]) * Acc(vector[p + lane]);
        }
        for (; p < k; ++p)
            sums[0] += Acc(row[p]) * Acc(vector[p]);
        out[i] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    });
}

// The same for a matrix that is stored [k x count]: row by row, because that is how memory lies.
template <class In, class Acc>
void gemv_columns(const In* matrix, const In* vector, int count, int k, Acc* out) {
    for (int i = 0; i < count; ++i)
        out[i] = 0;
    for (int p = 0; p < k; ++p) {
        for (int i = 0; i < count; ++i)
            out[i] += Acc(vector[p]) * Acc(matrix[size_t(p) * count + i]);
    }
}

}  // namespace sample
