// Convolution as one matrix product: every window becomes a column.
#include <algorithm>

#include "kernels/conv/conv.h"
#include "kernels/matmul/matmul.h"

MIDOUT_DECL(sample_conv_im2col)

namespace sample {
namespace {

// Where the values come from for one row of the matrix: a channel and a place in the window.
struct Source {
    int channel, ky, kx;
};

// Rows of windows that lie side by side (stride 1) are copied, not gathered.
template <class In>
void fill_row_adjacent(const ConvShape& s, const In* plane, Source from, In* out) {
    for (int y = 0; y < s.out_height; ++y, out += s.out_width) {
        const int iy = y + from.ky - s.pad_h, shift = from.kx - s.pad_w;
        std::fill_n(out, s.out_width, In(0));
        if (iy < 0 || iy >= s.in_height)
            continue;
        const int first = std::max(0, -shift);
        const int last = std::min(s.out_width, s.in_width - shift);
        if (first < last)
            std::copy_n(plane + iy * s.in_width + first + shift, last - first, out + first);
    }
}

template <class In>
void fill_row_strided(const ConvShape& s, const In* plane, Source from, In* out) {
    for (int y = 0; y < s.out_height; ++y) {
        const int iy = y * s.stride_h + from.ky - s.pad_h;
        for (int x = 0; x < s.out_width; ++x) {
            const int ix = x * s.stride_w + from.kx - s.pad_w;
            const bool inside = iy >= 0 && iy < s.in_height && ix >= 0 && ix < s.in_width;
            *out++ = inside ? plane[iy * s.in_width + ix] : In(0);
        }
    }
}

template <class In, class Acc>
std::vector<In> columns_of(const ConvProblem<In, Acc>& p) {
    const int rows = p.in_channels * p.kernel_plane();
    std::vector<In> columns(size_t(rows) * p.out_plane());
    const auto fill = [&](auto fill_row) {
        p.pool->parallel_for(rows, [&](int row) {
            const int tap = row % p.kernel_plane();
            const Source from{row / p.kernel_plane(), tap / p.kernel_w, tap % p.kernel_w};
            const In* plane = p.input + size_t(from.channel) * p.in_plane();
            fill_row(p, plane, from, &columns[size_t(row) * p.out_plane()]);
        });
    };
    if (p.stride_h == 1 && p.stride_w == 1) {
        MIDOUT_BEGIN(sample_conv_im2col, In, midout_iv("Im2col::adjacent"_hash)) {
            fill(fill_row_adjacent<In>);
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(sample_conv_im2col, In, midout_iv("Im2col::strided"_hash)) {
            fill(fill_row_strided<In>);
        }
        MIDOUT_END();
    }
    return columns;
}

template <class In, class Acc, class Multiply>
void run(const ConvProblem<In, Acc>& problem, Multiply multiply) {
    for_each_group(problem, [&](const ConvProblem<In, Acc>& p, int) {
        const std::vector<In> columns = columns_of(p);
        MatmulProblem<In, Acc> product{};
        product.m = p.out_channels;
        product.n = p.out_plane();
        product.k = p.in_channels * p.kernel_plane();
        product.a = p.filter;
        product.b = columns.data();
        product.c = p.output;
        product.pool = p.pool;
        multiply(product);
    });
}

}  // namespace

template <class In, class Acc>
void conv_im2col_4x8(const ConvProblem<In, Acc>& problem) {
    MIDOUT_BEGIN(sample_conv_im2col, In, midout_iv("Im2col::by_4x8"_hash)) {
        run(problem, [](const MatmulProblem<In, Acc>& p) { matmul_blocked_4x8(p); });
    }
    MIDOUT_END();
}

template void conv_im2col_4x8(const ConvF32&);
template void conv_im2col_4x8(const ConvS8&);

void conv_im2col_8x8(const ConvF32& problem) {
    MIDOUT_BEGIN(sample_conv_im2col, float, midout_iv("Im2col::by_8x8"_hash)) {
        run(problem, [](const MatmulF32& p) { matmul_blocked_8x8(p); });
    }
    MIDOUT_END();
}

}  // namespace sample
