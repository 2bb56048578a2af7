// MatrixMul: the product of two matrices. Parameters: is the first, is the second transposed?
// Float32, or QuantizedS8 with an output of QuantizedS32.
#include "base/text.h"
#include "graph/operator.h"
#include "kernels/matmul/matmul.h"

namespace mgb {
namespace opr {

using sample::Context;
using sample::DType;
using sample::MatmulF32;
using sample::MatmulS8;

class MatrixMul final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        check_counts(2, 2, 2);
        check_parameter(0, 0, 1);
        check_parameter(1, 0, 1);
        const sample::Shape &a = input(0).shape, &b = input(1).shape;
        check_that(a.ndim == 2 && b.ndim == 2, "dimensions");
        m_m = a[parameter(0)];
        m_k = a[1 - parameter(0)];
        m_n = b[1 - parameter(1)];
        check_that(b[parameter(1)] == m_k, "inner dimension");
        const DType type = input(0).dtype;
        check_that(type != DType::QuantizedS32 && input(1).dtype == type, "data type");
        check_output(quantised() ? DType::QuantizedS32 : type, {2, {m_m, m_n}});
    }

    void execute(Context& context) override {
        if (quantised())
            m_integer->run(problem<int8_t, int32_t>(context));
        else
            m_real->run(problem<float, float>(context));
    }

private:
    void plan(Context& context) override {
        if (quantised()) {
            m_integer = &context.chooser.choose<sample::MatmulInt8Forward>(
                    key(), sample::matmul_algorithms(MatmulS8{}),
                    problem<int8_t, int32_t>(context));
        } else {
            m_real = &context.chooser.choose<sample::MatmulForward>(
                    key(), sample::matmul_algorithms(MatmulF32{}), problem<float, float>(context));
        }
    }

    bool quantised() const { return input(0).dtype == DType::QuantizedS8; }

    std::string key() const {
        return sample::text(
                "matmul %s %dx%dx%d%s%s", quantised() ? "int8" : "float", m_m,
                m_n, m_k, parameter(0) ? " ta" : "", parameter(1) ? " tb" : "");
    }

    template <class In, class Acc>
    sample::MatmulProblem<In, Acc> problem(Context& context) const {
        sample::MatmulProblem<In, Acc> problem{};
        problem.m = m_m;
        problem.n = m_n;
        problem.k = m_k;
        problem.a = input(0).as<In>();
        problem.b = input(1).as<In>();
        problem.c = output().as<Acc>();
        problem.transpose_a = parameter(0);
        problem.transpose_b = parameter(1);
        problem.pool = &context.pool;
        return problem;
    }

    int m_m = 0, m_n = 0, m_k = 0;
    const sample::Algorithm<MatmulF32>* m_real = nullptr;
    const sample::Algorithm<MatmulS8>* m_integer = nullptr;
};

}  // namespace opr
}  // namespace mgb

SAMPLE_REGISTER_OPERATOR(MatrixMul)
