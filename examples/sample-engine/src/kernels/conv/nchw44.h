// Convolutions whose output lies in blocks of four channels, [N][C/4][H][W][4].
#pragma once

#include "kernels/conv/conv.h"

namespace sample {

enum class Nchw44 {
    None,         // cannot be done in this layout
    Hybrid,       // plain input, blocked output: the first layer
    Dense,        // blocked input and output
    ChannelWise,  // depthwise
};

// Which kernel fits, given how the input lies.
Nchw44 conv_nchw44_kind(const ConvShape& shape, bool blocked_input);

// Reorders the filter as that kernel wants it: blocks of four output channels innermost.
std::vector<float> conv_nchw44_filter(Nchw44 kind, const ConvF32& problem);

// `problem.prepared` is the reordered filter.
void conv_nchw44(Nchw44 kind, const ConvF32& problem);

}  // namespace sample
