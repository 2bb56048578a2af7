// The operators that keep values and change how they are stored: Reshape, Transpose, TypeCvt,
// Resize.
#include <cstring>

#include "graph/operator.h"
#include "kernels/shape/shape.h"

namespace mgb {
namespace opr {

using sample::DType;
using sample::ResizeMode;
using sample::Shape;

// The new shape is the output's own.
class Reshape final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        check_counts(1, 1, 0);
        check_that(input(0).shape.total() == output().shape.total(), "number of elements");
        check_that(
                input(0).dtype == output().dtype && input(0).scale == output().scale, "data type");
    }

    void execute(sample::Context&) override {
        std::memcpy(output().as<char>(), input(0).as<char>(), output().bytes());
    }
};

// Parameters: which axis of the input becomes axis 0, 1, ... of the output.
class Transpose final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        const Shape& from = input_shape();
        check_counts(1, 1, from.ndim);
        Shape to = from;
        int seen = 0;
        for (int axis = 0; axis < from.ndim; ++axis) {
            check_parameter(axis, 0, from.ndim - 1);
            seen |= 1 << parameter(axis);
            to[axis] = from[parameter(axis)];
        }
        check_that(seen == (1 << from.ndim) - 1, "order of axes");
        check_that(input(0).scale == output().scale, "scale");
        check_output(input(0).dtype, to);
    }

    void execute(sample::Context&) override {
        sample::transpose(input(0), output(), record().parameters.data());
    }

private:
    const Shape& input_shape() const {
        check_that(inputs().size() == 1, "number of inputs");
        return input(0).shape;
    }
};

// Between any two data types; the scales are the tensors' own.
class TypeCvt final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        check_counts(1, 1, 0);
        check_output(output().dtype, input(0).shape);
    }

    void execute(sample::Context&) override { sample::convert(input(0), output()); }
};

// To the height and width of the output.
class Resize final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        check_counts(1, 1, 0);
        Shape shape = output().shape;
        check_that(shape.ndim == 4 && input(0).shape.ndim == 4, "dimensions");
        shape[0] = input(0).shape[0];
        shape[1] = input(0).shape[1];
        check_output(DType::Float32, shape);
        check_that(input(0).dtype == DType::Float32, "data type");
        check_that(record().mode == "NEAREST" || record().mode == "LINEAR", "mode");
    }

    void execute(sample::Context&) override {
        const bool nearest = record().mode == "NEAREST";
        sample::resize(
                nearest ? ResizeMode::Nearest : ResizeMode::Linear, input(0), output());
    }
};

}  // namespace opr
}  // namespace mgb

SAMPLE_REGISTER_OPERATOR(Reshape)
SAMPLE_REGISTER_OPERATOR(Transpose)
SAMPLE_REGISTER_OPERATOR(TypeCvt)
SAMPLE_REGISTER_OPERATOR(Resize)
