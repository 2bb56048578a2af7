// The operators along one axis, which is their parameter: Reduce, Softmax, Concat.
#include "graph/operator.h"
#include "kernels/shape/shape.h"

namespace mgb {
namespace opr {

using sample::DType;
using sample::ReduceMode;
using sample::Shape;

// Makes the axis 1 long. Float32, or QuantizedS32 in some modes.
class Reduce final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        check_counts(1, 1, 1);
        check_parameter(0, 0, input(0).shape.ndim - 1);
        Shape shape = input(0).shape;
        shape[parameter(0)] = 1;
        check_output(input(0).dtype, shape);
        m_mode = parse_mode();
    }

    void execute(sample::Context&) override {
        sample::reduce(m_mode, input(0), output(), view_axis(input(0).shape, parameter(0)));
    }

private:
    ReduceMode parse_mode() const {
        constexpr const char* kNames[] = {"SUM", "MEAN", "MAX", "MIN", "PRODUCT", "SUM_SQR"};
        int found = 0;
        while (found < 6 && record().mode != kNames[found])
            ++found;
        const auto mode = static_cast<ReduceMode>(found);
        const bool integer = mode == ReduceMode::Sum || mode == ReduceMode::Max ||
                             mode == ReduceMode::Min;
        const DType type = input(0).dtype;
        check_that(found < 6, "mode");
        check_that(type == DType::Float32 || (type == DType::QuantizedS32 && integer), "data type");
        return mode;
    }

    ReduceMode m_mode = ReduceMode::Sum;
};

class Softmax final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        check_counts(1, 1, 1);
        check_parameter(0, 0, input(0).shape.ndim - 1);
        check_output(DType::Float32, input(0).shape);
        check_that(input(0).dtype == DType::Float32, "data type");
    }

    void execute(sample::Context&) override {
        sample::softmax(input(0), output(), view_axis(input(0).shape, parameter(0)));
    }
};

// Any data type, as long as all have the same, with the same scale.
class Concat final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        check_counts(2, 255, 1);
        check_parameter(0, 0, input(0).shape.ndim - 1);
        Shape joined = input(0).shape;
        joined[parameter(0)] = 0;
        for (const sample::Tensor* tensor : inputs()) {
            Shape shape = tensor->shape;
            check_that(shape.ndim == joined.ndim, "dimensions");
            joined[parameter(0)] += shape[parameter(0)];
            shape[parameter(0)] = joined[parameter(0)];
            check_that(shape == joined, "shape of an input");
            check_that(
                    tensor->dtype == output().dtype && tensor->scale == output().scale,
                    "data type of an input");
        }
        check_output(input(0).dtype, joined);
    }

    void execute(sample::Context&) override {
        sample::concat({inputs().begin(), inputs().end()}, output(), parameter(0));
    }
};

}  // namespace opr
}  // namespace mgb

SAMPLE_REGISTER_OPERATOR(Reduce)
SAMPLE_REGISTER_OPERATOR(Softmax)
SAMPLE_REGISTER_OPERATOR(Concat)
