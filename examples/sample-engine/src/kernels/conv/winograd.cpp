// Winograd's minimal filtering for 3 x 3 windows at stride 1: an output tile costs fewer products.
//
// For each tile: output = A^T ((G filter G^T) * (B^T input B)) A, with * by element. Summing over
// input channels makes each of the (Tile + 2)^2 elements a matrix product of its own.
#include <algorithm>

#include "kernels/conv/window.h"
#include "kernels/matmul/matmul.h"

MIDOUT_DECL(sample_conv_winograd)

namespace sample {
namespace {

template <int Rows, int Columns>
using Matrix = float[Rows][Columns];

template <int Tile>
struct Coefficients;

template <>
struct Coefficients<2> {
    static constexpr Matrix<4, 3> G = {{1, 0, 0}, {.5f, .5f, .5f}, {.5f, -.5f, .5f}, {0, 0, 1}};
    static constexpr Matrix<4, 4> BT = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
    static constexpr Matrix<2, 4> AT = {{1, 1, 1, 0}, {0, 1, -1, -1}};
};

template <>
struct Coefficients<4> {
    static constexpr float k6 = 1.f / 6, k12 = 1.f / 12, k24 = 1.f / 24;
    static constexpr Matrix<6, 3> G = {{.25f, 0, 0},    {-k6, -k6, -k6}, {-k6, k6, -k6},
                                       {k24, k12, k6}, {k24, -k12, k6}, {0, 0, 1}};
    static constexpr Matrix<6, 6> BT = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0},
                                        {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0},
                                        {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
    static constexpr Matrix<4, 6> AT = {{1, 1, 1, 1, 1, 0},
                                        {0, 1, -1, 2, -2, 0},
                                        {0, 1, 1, 4, 4, 0},
                                        {0, 1, -1, 8, -8, 1}};
};

// out = left x middle x left^T; element (i, j) goes to out[(i * Rows + j) * step].
template <int Rows, int Inner>
void sandwich(const Matrix<Rows, Inner>& left, const float* middle, float* out, size_t step) {
    float half[Rows][Inner] = {};
    for (int i = 0; i < Rows; ++i) {
        for (int j = 0; j < Inner; ++j) {
            for (int k = 0; k < Inner; ++k)
                half[i][j] += left[i][k] * middle[k * Inner + j];
        }
    }
    for (int i = 0; i < Rows; ++i) {
        for (int j = 0; j < Rows; ++j) {
            float sum = 0;
            for (int k = 0; k < Inner; ++k)
                sum += half[i][k] * left[j][k];
            out[(i * Rows + j) * step] = sum;
        }
    }
}

template <int Tile>
class Winograd {
public:
    static constexpr int kIn = Tile + 2;
    static constexpr int kElements = kIn * kIn;

    explicit Winograd(const ConvF32& problem)
            : p(problem),
              m_tiles_x((p.out_width + Tile - 1) / Tile),
              m_tiles((p.out_height + Tile - 1) / Tile * m_tiles_x) {}

    size_t filter_size() const { return size_t(kElements) * p.out_channels * p.in_channels; }

    // To [element][oc][ic].
    void transform_filter(float* out) const {
        MIDOUT_BEGIN(sample_conv_winograd, midout_iv("Winograd::filter"_hash), midout_iv(Tile)) {
            const size_t pairs = size_t(p.out_channels) * p.in_channels;
            for (size_t pair = 0; pair < pairs; ++pair)
                sandwich(Coefficients<Tile>::G, p.filter + pair * 9, out + pair, pairs);
        }
        MIDOUT_END();
    }

    void run(const float* filter) const {
        std::vector<float> input(size_t(kElements) * p.in_channels * m_tiles);
        std::vector<float> output(size_t(kElements) * p.out_channels * m_tiles);
        transform_input(input.data());
        for (int element = 0; element < kElements; ++element) {
            MatmulF32 product{};
            product.m = p.out_channels;
            product.n = m_tiles;
            product.k = p.in_channels;
            product.a = filter + size_t(element) * p.out_channels * p.in_channels;
            product.b = &input[size_t(element) * p.in_channels * m_tiles];
            product.c = &output[size_t(element) * p.out_channels * m_tiles];
            product.pool = p.pool;
            matmul_blocked_4x8(product);
        }
        transform_output(output.data());
    }

private:
    // To [element][ic][tile].
    void transform_input(float* out) const {
        MIDOUT_BEGIN(sample_conv_winograd, midout_iv("Winograd::input"_hash), midout_iv(Tile)) {
            const size_t step = size_t(p.in_channels) * m_tiles;
            p.pool->parallel_for(p.in_channels, [&](int c) {
                for (int tile = 0; tile < m_tiles; ++tile) {
                    float window[kElements];
                    read_window(c, tile, window);
                    float* first = out + size_t(c) * m_tiles + tile;
                    sandwich(Coefficients<Tile>::BT, window, first, step);
                }
            });
        }
        MIDOUT_END();
    }

    void read_window(int channel, int tile, float* window) const {
        const float* plane = p.input + size_t(channel) * p.in_plane();
        const int top = tile / m_tiles_x * Tile - p.pad_h, left = tile % m_tiles_x * Tile - p.pad_w;
        for (int y = top; y < top + kIn; ++y) {
            for (int x = left; x < left + kIn; ++x) {
                const bool inside = y >= 0 && y < p.in_height && x >= 0 && x < p.in_width;
                *window++ = inside ? plane[y * p.in_width + x] : 0.f;
            }
        }
    }

    void transform_output(const float* products) const {
        MIDOUT_BEGIN(sample_conv_winograd, midout_iv("Winograd::output"_hash), midout_iv(Tile)) {
            const size_t step = size_t(p.out_channels) * m_tiles;
            p.pool->parallel_for(p.out_channels, [&](int c) {
                for (int tile = 0; tile < m_tiles; ++tile) {
                    float element[kElements], result[Tile * Tile];
                    for (int i = 0; i < kElements; ++i)
                        element[i] = products[i * step + size_t(c) * m_tiles + tile];
                    sandwich(Coefficients<Tile>::AT, element, result, 1);
                    write_tile(c, tile, result);
                }
            });
        }
        MIDOUT_END();
    }

    void write_tile(int channel, int tile, const float* result) const {
        float* plane = p.output + size_t(channel) * p.out_plane();
        const int top = tile / m_tiles_x * Tile, left = tile % m_tiles_x * Tile;
        const int rows = std::min(Tile, p.out_height - top);
        const int columns = std::min(Tile, p.out_width - left);
        for (int y = 0; y < rows; ++y)
            std::copy_n(result + y * Tile, columns, plane + (top + y) * p.out_width + left);
    }

    const ConvF32& p;
    const int m_tiles_x, m_tiles;
};

}  // namespace

template <int Tile>
std::vector<float> conv_winograd_prepare(const ConvF32& problem) {
    std::vector<float> filters;
    for (int group = 0; group < problem.groups; ++group) {
        const ConvF32 part = conv_group(problem, 0, group);
        const Winograd<Tile> winograd(part);
        filters.resize(filters.size() + winograd.filter_size());
        winograd.transform_filter(&filters[filters.size() - winograd.filter_size()]);
    }
    return filters;
}

template <int Tile>
void conv_winograd(const ConvF32& problem) {
    std::vector<float> own;
    const float* filters = problem.prepared;
    if (!filters) {
        own = conv_winograd_prepare<Tile>(problem);
        filters = own.data();
    }
    for_each_group(problem, [&](const ConvF32& part, int group) {
        const Winograd<Tile> winograd(part);
        winograd.run(filters + group * winograd.filter_size());
    });
}

template void conv_winograd<2>(const ConvF32&);
template void conv_winograd<4>(const ConvF32&);
template std::vector<float> conv_winograd_prepare<2>(const ConvF32&);
template std::vector<float> conv_winograd_prepare<4>(const ConvF32&);

}  // namespace sample
