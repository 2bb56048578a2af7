// Elemwise: a function of one to three tensors, element by element. The mode is its name. A later
// operand may be a single value, or (of two) one value per channel.
#include "graph/operator.h"
#include "kernels/elemwise/elemwise.h"

namespace mgb {
namespace opr {

using sample::BlockedPlan;
using sample::Broadcast;
using sample::DType;

class Elemwise final : public sample::Operator {
public:
    using Operator::Operator;

    void check() override {
        m_mode = sample::find_elemwise_mode(record().mode);
        check_that(m_mode, "mode, or one that is not in this build");
        check_counts(m_mode->arity, m_mode->arity, 0);
        for (const sample::Tensor* tensor : inputs())
            check_that(tensor->dtype == input(0).dtype, "data type");
        check_output(input(0).dtype, input(0).shape);
        m_broadcast = m_mode->arity == 1 ? Broadcast::Same : relation(1);
        if (m_mode->arity == 3)
            check_that(m_broadcast != Broadcast::Channel && relation(2) == m_broadcast, "operand");
        if (input(0).dtype != DType::Float32) {
            const bool known = input(0).dtype == DType::QuantizedS8 &&
                               m_broadcast == Broadcast::Same &&
                               sample::elemwise_quantised_usable(m_mode->mode);
            check_that(known, "data type for this mode");
        }
    }

    void execute(sample::Context& context) override {
        sample::ElemwiseProblem problem{
                m_mode->mode, {inputs().begin(), inputs().end()}, &output(), m_broadcast,
                &context.pool};
        if (input(0).dtype != DType::Float32)
            sample::elemwise_quantised(problem);
        else if (m_mode->arity == 1)
            sample::elemwise_unary(problem);
        else if (m_mode->arity == 2)
            sample::elemwise_binary(problem);
        else
            sample::elemwise_ternary(problem);
    }

    // Element by element, the order of elements does not matter.
    BlockedPlan blocked_plan() const override {
        for (const sample::Tensor* tensor : inputs()) {
            if (!tensor->nchw44 || m_broadcast != Broadcast::Same)
                return BlockedPlan::Plain;
        }
        return BlockedPlan::AsIs;
    }

private:
    Broadcast relation(size_t index) const {
        const sample::Shape &whole = input(0).shape, &other = input(index).shape;
        if (other == whole)
            return Broadcast::Same;
        if (other.total() == 1)
            return Broadcast::Scalar;
        const bool per_channel = whole.ndim >= 2 && other.ndim == whole.ndim &&
                                 other[1] == whole[1] && other.total() == size_t(whole[1]);
        check_that(per_channel, "shape of an operand");
        return Broadcast::Channel;
    }

    const sample::ElemwiseModeInfo* m_mode = nullptr;
    Broadcast m_broadcast = Broadcast::Same;
};

}  // namespace opr
}  // namespace mgb

SAMPLE_REGISTER_OPERATOR(Elemwise)
