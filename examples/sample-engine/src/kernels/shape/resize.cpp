#include <algorithm>
#include <cmath>

#include "base/regions.h"
#include "kernels/shape/shape.h"

MIDOUT_DECL(sample_resize)

namespace sample {
namespace {

// Where the centre of an output pixel lies in the input.
float source(int to, int out_size, int in_size) {
    return (float(to) + 0.5f) * float(in_size) / float(out_size) - 0.5f;
}

struct Neighbours {
    int low, high;
    float share_of_high;
};

Neighbours neighbours(int to, int out_size, int in_size) {
    const float at = std::min(std::max(source(to, out_size, in_size), 0.f), float(in_size - 1));
    const int low = int(at);
    return {low, std::min(low + 1, in_size - 1), at - float(low)};
}

float mix(float low, float high, float share_of_high) {
    return low + (high - low) * share_of_high;
}

void nearest_plane(const float* in, int height, int width, float* out, int to_h, int to_w) {
    for (int y = 0; y < to_h; ++y) {
        for (int x = 0; x < to_w; ++x)
            *out++ = in[y * height / to_h * width + x * width / to_w];
    }
}

void linear_plane(const float* in, int height, int width, float* out, int to_h, int to_w) {
    for (int y = 0; y < to_h; ++y) {
        const Neighbours v = neighbours(y, to_h, height);
        for (int x = 0; x < to_w; ++x) {
            const Neighbours h = neighbours(x, to_w, width);
            const float* low = in + v.low * width;
            const float* high = in + v.high * width;
            *out++ = mix(mix(low[h.low], low[h.high], h.share_of_high),
                         mix(high[h.low], high[h.high], h.share_of_high), v.share_of_high);
        }
    }
}

template <class Plane>
void for_each_plane(const Tensor& input, Tensor& output, Plane plane) {
    const Shape &from = input.shape, &to = output.shape;
    for (size_t p = 0; p < from.product(0, 2); ++p) {
        plane(input.as<float>() + p * from.product(2, 4), from[2], from[3],
              output.as<float>() + p * to.product(2, 4), to[2], to[3]);
    }
}

}  // namespace

void resize(ResizeMode mode, const Tensor& input, Tensor& output) {
    if (mode == ResizeMode::Nearest) {
        MIDOUT_BEGIN(sample_resize, midout_iv(ResizeMode::Nearest)) {
            for_each_plane(input, output, nearest_plane);
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(sample_resize, midout_iv(ResizeMode::Linear)) {
            for_each_plane(input, output, linear_plane);
        }
        MIDOUT_END();
    }
}

}  // namespace sample
