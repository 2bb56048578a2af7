#include "graph/graph.h"

#include "base/log.h"

namespace sample {
namespace {

// A generated header knows which models the engine was trimmed for.
void warn_of_strangers(uint64_t hash) {
#if defined(MGB_BINREDUCE_GRAPH_HASHES)
    for (uint64_t known : {MGB_BINREDUCE_GRAPH_HASHES}) {
        if (known == hash)
            return;
    }
    // Only a warning: another model may well get by with what was kept.
    SAMPLE_WARN(
            "Graph (with hash %llu) is not among the graphs fed to midout",
            static_cast<unsigned long long>(hash));
#endif
    static_cast<void>(hash);
}

}  // namespace

Graph::Graph(Model model) : m_hash(model.hash) {
    warn_of_strangers(m_hash);
    for (Tensor& tensor : model.tensors)
        m_tensors.push_back(std::make_unique<Tensor>(std::move(tensor)));
    std::vector<bool> made(m_tensors.size());
    for (OperatorRecord& record : model.operators)
        add_operator(std::move(record), made);
    for (uint32_t id : model.outputs) {
        SAMPLE_CHECK(id < made.size() && made[id], "output %u is never computed", id);
        Tensor* tensor = m_tensors[id].get();
        for (const auto& each : m_operators) {
            if (&each->output() == tensor)
                m_outputs.push_back({id, tensor, each.get()});
        }
    }
    SAMPLE_CHECK(!m_outputs.empty(), "the model has no output");
}

void Graph::add_operator(OperatorRecord record, std::vector<bool>& made) {
    const OperatorMaker maker = find_operator(record.type);
    SAMPLE_CHECK(maker, "operator %s is not in this build", record.type.c_str());
    std::vector<Tensor*> inputs;
    for (uint32_t id : record.inputs) {
        SAMPLE_CHECK(
                id < made.size() && made[id], "%s: input %u is not computed before",
                record.name.c_str(), id);
        inputs.push_back(m_tensors[id].get());
    }
    SAMPLE_CHECK(record.outputs.size() == 1, "%s: not one output", record.name.c_str());
    const uint32_t id = record.outputs[0];
    SAMPLE_CHECK(
            id < made.size() && !made[id], "%s: output %u is computed twice or not at all",
            record.name.c_str(), id);
    made[id] = true;
    m_operators.push_back(maker(std::move(record), std::move(inputs), m_tensors[id].get()));
    m_operators.back()->check();
}

Tensor* Graph::find_input(const std::string& name) const {
    for (const auto& each : m_operators) {
        if (each->record().type == "Input" && each->output().name == name)
            return &each->output();
    }
    return nullptr;
}

}  // namespace sample
