// The blocked matrix product: both operands are packed into panels that a small kernel reads from
// front to back, Rows x Columns results at a time.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/matmul/matmul.h"

namespace sample {

// Packs a panel of `Width` lanes, `count` of which exist; the others become zeros, so that the
// kernel needs no special case. `Adjacent`: do lanes lie side by side in memory, or k values?
template <int Width, bool Adjacent, class In>
void pack_panel(const In* source, int stride, int count, int k, In* panel) {
    for (int p = 0; p < k; ++p) {
        for (int lane = 0; lane < Width; ++lane) {
            const size_t at = Adjacent ? size_t(p) * stride + lane : size_t(lane) * stride + p;
            panel[size_t(p) * Width + lane] = lane < count ? source[at] : In(0);
        }
    }
}

template <int Rows, int Columns, class In, class Acc>
void multiply_panels(
        const In* a, const In* b, int k, Acc* c, int c_stride, int rows, int columns) {
    Acc sums[Rows][Columns] = {};
    for (int p = 0; p < k; ++p) {
        for (int i = 0; i < Rows; ++i) {
            for (int j = 0; j < Columns; ++j)
                sums[i][j] += Acc(a[p * Rows + i]) * Acc(b[p * Columns + j]);
        }
    }
    for (int i = 0; i < rows; ++i)
        std::copy_n(sums[i], columns, c + size_t(i) * c_stride);
}

template <int Rows, int Columns, class In, class Acc>
class BlockedMatmul {
public:
    explicit BlockedMatmul(const MatmulProblem<In, Acc>& problem) : p(problem) {}

    void run() const {
        std::vector<In> packed_b(size_t(panels(p.n, Columns)) * Columns * p.k);
        for (int j = 0; j < p.n; j += Columns)
            pack_b(j, std::min(Columns, p.n - j), &packed_b[size_t(j) * p.k]);
        p.pool->parallel_for(
                panels(p.m, Rows), [&](int panel) { row_panel(panel * Rows, packed_b.data()); });
    }

private:
    static int panels(int count, int width) { return (count + width - 1) / width; }

    void row_panel(int i, const In* packed_b) const {
        const int rows = std::min(Rows, p.m - i);
        std::vector<In> packed_a(static_cast<size_t>(Rows) * p.k);
        pack_a(i, rows, packed_a.data());
        for (int j = 0; j < p.n; j += Columns)
            multiply(packed_a.data(), packed_b + size_t(j) * p.k, i, j, rows);
    }

    void pack_a(int i, int rows, In* out) const {
        if (p.transpose_a) {
            MIDOUT_BEGIN(
                    sample_matmul, In, midout_iv("Blocked::pack_a_transposed"_hash),
                    midout_iv(Rows), midout_iv(Columns)) {
                pack_panel<Rows, true>(p.a + i, p.m, rows, p.k, out);
            }
            MIDOUT_END();
        } else {
            MIDOUT_BEGIN(
                    sample_matmul, In, midout_iv("Blocked::pack_a"_hash), midout_iv(Rows),
                    midout_iv(Columns)) {
                pack_panel<Rows, false>(p.a + size_t(i) * p.k, p.k, rows, p.k, out);
            }
            MIDOUT_END();
        }
    }

    void pack_b(int j, int columns, In* out) const {
        if (p.transpose_b) {
            MIDOUT_BEGIN(
                    sample_matmul, In, midout_iv("Blocked::pack_b_transposed"_hash),
                    midout_iv(Rows), midout_iv(Columns)) {
                pack_panel<Columns, false>(p.b + size_t(j) * p.k, p.k, columns, p.k, out);
            }
            MIDOUT_END();
        } else {
            MIDOUT_BEGIN(
                    sample_matmul, In, midout_iv("Blocked::pack_b"_hash), midout_iv(Rows),
                    midout_iv(Columns)) {
                pack_panel<Columns, true>(p.b + j, p.n, columns, p.k, out);
            }
            MIDOUT_END();
        }
    }

    void multiply(const In* a, const In* b, int i, int j, int rows) const {
        MIDOUT_BEGIN(
                sample_matmul, In, midout_iv("Blocked::multiply"_hash), midout_iv(Rows),
                midout_iv(Columns)) {
            const int columns = std::min(Columns, p.n - j);
            Acc* c = p.c + size_t(i) * p.n + j;
            multiply_panels<Rows, Columns>(a, b, p.k, c, p.n, rows, columns);
        }
        MIDOUT_END();
    }

    const MatmulProblem<In, Acc>& p;
};

}  // namespace sample
