// The pass that turns a graph to the blocked layout.
#include <map>

#include "base/regions.h"
#include "graph/graph.h"
#include "kernels/shape/shape.h"

MIDOUT_DECL(sample_blocking)

namespace sample {
namespace {

// Made by this pass only; models know no such operator.
class Relayout final : public Operator {
public:
    using Operator::Operator;
    void check() override {}
    void execute(Context&) override { relayout(input(0), output()); }
};

}  // namespace

Tensor* Graph::relaid_copy(Tensor* tensor, bool nchw44) {
    auto copy = std::make_unique<Tensor>();
    copy->name = tensor->name;
    copy->shape = tensor->shape;
    copy->nchw44 = nchw44;
    m_operators.push_back(std::make_unique<Relayout>(
            OperatorRecord{}, std::vector<Tensor*>{tensor}, copy.get()));
    m_tensors.push_back(std::move(copy));
    return m_tensors.back().get();
}

void Graph::block_channels() {
    MIDOUT_BEGIN(sample_blocking, midout_iv("Graph::block_channels"_hash)) {
        std::vector<std::unique_ptr<Operator>> old;
        old.swap(m_operators);
        std::map<Tensor*, Tensor*> relaid;
        const auto other_layout = [&](Tensor* tensor) {
            Tensor*& copy = relaid[tensor];
            if (!copy)
                copy = relaid_copy(tensor, !tensor->nchw44);
            return copy;
        };
        for (auto& each : old) {
            const BlockedPlan plan = each->blocked_plan();
            for (size_t i = 0; i < each->inputs().size(); ++i) {
                Tensor* tensor = each->inputs()[i];
                const bool wrong = plan == BlockedPlan::Plain ? tensor->nchw44
                                                              : plan == BlockedPlan::BlockFirst &&
                                                                        i == 0;
                if (wrong)
                    each->replace_input(i, other_layout(tensor));
            }
            each->output().nchw44 = plan != BlockedPlan::Plain;
            m_operators.push_back(std::move(each));
        }
        for (GraphOutput& output : m_outputs) {
            if (output.tensor->nchw44)
                output.tensor = other_layout(output.tensor);
        }
    }
    MIDOUT_END();
}

}  // namespace sample
