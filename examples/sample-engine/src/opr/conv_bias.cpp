// ConvBias: activation(convolution(image, filter) + bias).
//
// Parameters: stride h, stride w, padding h, padding w, groups. Mode: the activation. Inputs:
// image, filter and perhaps bias; all Float32, or image and filter QuantizedS8 and bias
// QuantizedS32.
#include "base/regions.h"
#include "base/text.h"
#include "graph/operator.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/epilogue.h"
#include "kernels/conv/nchw44.h"

MIDOUT_DECL(sample_weight_preprocess)

namespace mgb {
namespace opr {

using sample::Activation;
using sample::operator""_hash;
using sample::BlockedPlan;
using sample::Context;
using sample::ConvF32;
using sample::ConvS8;
using sample::ConvShape;
using sample::DType;
using sample::Nchw44;
using sample::Shape;

class ConvBias final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        check_counts(2, 3, 5);
        for (size_t i = 0; i < 5; ++i)
            check_parameter(i, i == 2 || i == 3 ? 0 : 1, 1 << 16);
        const Shape &image = input(0).shape, &filter = input(1).shape;
        check_that(image.ndim == 4 && filter.ndim == 4 && output().shape.ndim == 4, "dimensions");
        m_shape = {image[0], image[1], image[2], image[3], filter[0], output().shape[2],
                   output().shape[3], filter[2], filter[3], parameter(0), parameter(1),
                   parameter(2), parameter(3), parameter(4)};
        check_sizes(filter);
        check_types();
        m_activation = parse_activation();
    }

    void execute(Context& context) override {
        if (quantised())
            return execute_quantised(context);
        const ConvF32 problem = real_problem(context);
        if (output().nchw44)
            sample::conv_nchw44(blocked_kind(), problem);
        else
            m_real->run(problem);
        const int block = output().nchw44 ? 4 : 1;
        sample::conv_epilogue(
                problem.output, has_bias() ? input(2).as<float>() : nullptr, m_activation,
                {m_shape.batch, m_shape.out_channels, m_shape.out_plane(), block});
    }

    BlockedPlan blocked_plan() const override {
        if (quantised())
            return BlockedPlan::Plain;
        if (conv_nchw44_kind(m_shape, input(0).nchw44) != Nchw44::None)
            return BlockedPlan::AsIs;
        const bool possible = !input(0).nchw44 && m_shape.in_channels % 4 == 0;
        if (possible && conv_nchw44_kind(m_shape, true) != Nchw44::None)
            return BlockedPlan::BlockFirst;
        return BlockedPlan::Plain;
    }

private:
    void plan(Context& context) override {
        if (quantised()) {
            m_integer = &context.chooser.choose<sample::ConvInt8Forward>(
                    key(), sample::conv_algorithms(ConvS8{}), integer_problem(context));
        } else if (output().nchw44) {
            m_prepared = sample::conv_nchw44_filter(blocked_kind(), real_problem(context));
        } else {
            m_real = &context.chooser.choose<sample::ConvForward>(
                    key(), sample::conv_algorithms(ConvF32{}), real_problem(context));
            if (context.preprocess_weights && m_real->prepare)
                preprocess(context);
        }
    }

    bool quantised() const { return input(0).dtype == DType::QuantizedS8; }
    bool has_bias() const { return inputs().size() == 3; }
    Nchw44 blocked_kind() const { return conv_nchw44_kind(m_shape, input(0).nchw44); }

    void check_sizes(const Shape& filter) const {
        const ConvShape& s = m_shape;
        check_that(s.in_channels % s.groups == 0 && s.out_channels % s.groups == 0, "groups");
        check_that(filter[1] == s.group_in(), "channels");
        check_that(s.pad_h < s.kernel_h && s.pad_w < s.kernel_w, "padding");
        const int room_h = s.in_height + 2 * s.pad_h - s.kernel_h;
        const int room_w = s.in_width + 2 * s.pad_w - s.kernel_w;
        check_that(room_h >= 0 && room_w >= 0, "window");
        check_that(
                s.out_height == room_h / s.stride_h + 1 && s.out_width == room_w / s.stride_w + 1,
                "output's size");
        check_that(
                output().shape[0] == s.batch && output().shape[1] == s.out_channels,
                "output's channels");
        // Keeps every index within an int, and the memory of a column matrix within reason.
        check_that(
                double(s.group_in()) * s.kernel_plane() * s.out_plane() < double(1 << 26), "size");
    }

    void check_types() const {
        const DType type = input(0).dtype, sums = quantised() ? DType::QuantizedS32 : type;
        check_that(type != DType::QuantizedS32 && input(1).dtype == type, "data type");
        check_that(output().dtype == type, "data type of the output");
        if (has_bias()) {
            check_that(input(2).dtype == sums, "data type of the bias");
            check_that(int(input(2).shape.total()) == m_shape.out_channels, "size of the bias");
        }
    }

    Activation parse_activation() const {
        const std::string& mode = record().mode;
        if (mode == "IDENTITY")
            return Activation::Identity;
        if (mode == "RELU")
            return Activation::Relu;
        check_that(!quantised() && (mode == "SIGMOID" || mode == "H_SWISH"), "mode");
        return mode == "SIGMOID" ? Activation::Sigmoid : Activation::HSwish;
    }

    // Equal keys are equal work, in whatever model.
    std::string key() const {
        const ConvShape& s = m_shape;
        return sample::text(
                "conv %s %dx%dx%dx%d %dx%dx%d s%dx%d p%dx%d g%d",
                quantised() ? "int8" : "float", s.batch, s.in_channels, s.in_height, s.in_width,
                s.out_channels, s.kernel_h, s.kernel_w, s.stride_h, s.stride_w, s.pad_h, s.pad_w,
                s.groups);
    }

    void preprocess(Context& context) {
        MIDOUT_BEGIN(sample_weight_preprocess, midout_iv("ConvBias::preprocess"_hash)) {
            m_prepared = m_real->prepare(real_problem(context));
        }
        MIDOUT_END();
    }

    template <class In, class Acc>
    sample::ConvProblem<In, Acc> problem(Context& context, Acc* sums) const {
        sample::ConvProblem<In, Acc> problem{};
        static_cast<ConvShape&>(problem) = m_shape;
        problem.input = input(0).as<In>();
        problem.filter = input(1).as<In>();
        problem.output = sums;
        problem.pool = &context.pool;
        problem.prepared = m_prepared.empty() ? nullptr : m_prepared.data();
        return problem;
    }

    ConvF32 real_problem(Context& context) const {
        return problem<float>(context, output().as<float>());
    }

    ConvS8 integer_problem(Context& context) {
        m_sums.resize(output().shape.total());
        return problem<int8_t>(context, m_sums.data());
    }

    void execute_quantised(Context& context) {
        m_integer->run(integer_problem(context));
        const float scale = input(0).scale * input(1).scale / output().scale;
        sample::conv_requantise(
                m_sums.data(), has_bias() ? input(2).as<int32_t>() : nullptr, m_activation, scale,
                output().as<int8_t>(),
                {m_shape.batch, m_shape.out_channels, m_shape.out_plane(), 1});
    }

    ConvShape m_shape{};
    Activation m_activation = Activation::Identity;
    const sample::Algorithm<ConvF32>* m_real = nullptr;
    const sample::Algorithm<ConvS8>* m_integer = nullptr;
    std::vector<float> m_prepared;
    std::vector<int32_t> m_sums;
};

}  // namespace opr
}  // namespace mgb

SAMPLE_REGISTER_OPERATOR(ConvBias)
