// A model that is ready to run: operators in order, linked by tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/operator.h"

namespace sample {

struct GraphOutput {
    uint32_t id;  // number of the tensor in the model, whatever its layout has become
    Tensor* tensor;
    const Operator* producer;
};

class Graph {
public:
    explicit Graph(Model model);

    uint64_t hash() const { return m_hash; }
    const std::vector<std::unique_ptr<Operator>>& operators() const { return m_operators; }
    const std::vector<GraphOutput>& outputs() const { return m_outputs; }
    // Null where the model has no such input.
    Tensor* find_input(const std::string& name) const;

    // Goes over to blocks of four channels wherever operators have kernels for it.
    void block_channels();

private:
    void add_operator(OperatorRecord record, std::vector<bool>& made);
    Tensor* relaid_copy(Tensor* tensor, bool nchw44);

    uint64_t m_hash;
    std::vector<std::unique_ptr<Tensor>> m_tensors;
    std::vector<std::unique_ptr<Operator>> m_operators;
    std::vector<GraphOutput> m_outputs;
};

}  // namespace sample
