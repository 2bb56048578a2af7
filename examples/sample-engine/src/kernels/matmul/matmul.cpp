#include "kernels/matmul/matmul.h"

MIDOUT_DECL(sample_matmul)

#include "kernels/matmul/blocked.h"
#include "kernels/matmul/simple.h"

namespace sample {
namespace {

template <class In, class Acc>
void naive(const MatmulProblem<In, Acc>& problem) {
    MIDOUT_BEGIN(sample_matmul, In, midout_iv("Matmul::naive"_hash)) {
        matmul_naive(problem);
    }
    MIDOUT_END();
}

// A is a matrix and B a column.
template <class In, class Acc>
void matrix_vector(const MatmulProblem<In, Acc>& p) {
    if (p.transpose_a) {
        MIDOUT_BEGIN(sample_matmul, In, midout_iv("Gemv::transposed"_hash)) {
            gemv_columns(p.a, p.b, p.m, p.k, p.c);
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(sample_matmul, In, midout_iv("Gemv::plain"_hash)) {
            gemv_rows(p.a, p.b, p.m, p.k, p.c, *p.pool);
        }
        MIDOUT_END();
    }
}

// A is a row and B a matrix.
template <class In, class Acc>
void vector_matrix(const MatmulProblem<In, Acc>& p) {
    if (p.transpose_b) {
        MIDOUT_BEGIN(sample_matmul, In, midout_iv("Gevm::transposed"_hash)) {
            gemv_rows(p.b, p.a, p.n, p.k, p.c, *p.pool);
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(sample_matmul, In, midout_iv("Gevm::plain"_hash)) {
            gemv_columns(p.b, p.a, p.n, p.k, p.c);
        }
        MIDOUT_END();
    }
}

template <class In, class Acc>
void gemv(const MatmulProblem<In, Acc>& problem) {
    problem.n == 1 ? matrix_vector(problem) : vector_matrix(problem);
}

template <class Problem>
bool has_vector(const Problem& p) {
    return p.m == 1 || p.n == 1;
}

template <class Problem>
bool is_large(const Problem& p) {
    return p.m >= 8 && p.n >= 8;
}

}  // namespace

void matmul_blocked_4x8(const MatmulF32& problem) {
    BlockedMatmul<4, 8, float, float>(problem).run();
}

void matmul_blocked_8x8(const MatmulF32& problem) {
    BlockedMatmul<8, 8, float, float>(problem).run();
}

void matmul_blocked_4x8(const MatmulS8& problem) {
    BlockedMatmul<4, 8, int8_t, int32_t>(problem).run();
}

const Algorithms<MatmulF32>& matmul_algorithms(const MatmulF32&) {
    using P = MatmulF32;
    static const Algorithms<P> algorithms{
            {"GEMV", false, has_vector<P>, always<P>, gemv, nullptr},
            {"BLOCKED_8X8", false, always<P>, is_large<P>, matmul_blocked_8x8, nullptr},
            {"BLOCKED_4X8", false, always<P>, always<P>, matmul_blocked_4x8, nullptr},
            {"NAIVE", true, always<P>, always<P>, naive, nullptr},
    };
    return algorithms;
}

const Algorithms<MatmulS8>& matmul_algorithms(const MatmulS8&) {
    using P = MatmulS8;
    static const Algorithms<P> algorithms{
            {"GEMV", false, has_vector<P>, always<P>, gemv, nullptr},
            {"BLOCKED_4X8", false, always<P>, always<P>, matmul_blocked_4x8, nullptr},
            {"NAIVE", true, always<P>, always<P>, naive, nullptr},
    };
    return algorithms;
}

}  // namespace sample
