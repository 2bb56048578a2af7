#include "graph/executor.h"

#include "base/regions.h"

MIDOUT_DECL(sample_executor)

namespace sample {

Executor::Executor(const Graph& graph, Context context, bool record)
        : m_graph(graph), m_context(context), m_record(record) {
    for (const auto& each : graph.operators()) {
        for (Tensor* tensor : each->inputs())
            ++tensor->readers;
    }
    for (const GraphOutput& output : graph.outputs())
        ++output.tensor->readers;
}

void Executor::fake_run() {
    MIDOUT_BEGIN(sample_executor, midout_iv("Executor::fake_run"_hash)) {
        for (const auto& each : m_graph.operators()) {
            each->output().allocate();
            each->plan_once(m_context);
        }
    }
    MIDOUT_END();
}

void Executor::run() {
    if (!m_record)
        run_eager();
    else if (m_sequence.empty())
        run_recording();
    else
        replay();
}

// Tensors have memory from when they are computed to their last use.
void Executor::run_eager() {
    MIDOUT_BEGIN(sample_executor, midout_iv("Executor::run_eager"_hash)) {
        for (const auto& each : m_graph.operators()) {
            each->output().allocate();
            each->output().pending = each->output().readers;
            each->plan_once(m_context);
            each->execute(m_context);
            for (Tensor* tensor : each->inputs()) {
                if (--tensor->pending == 0 && !tensor->persistent)
                    tensor->release();
            }
        }
    }
    MIDOUT_END();
}

void Executor::run_recording() {
    MIDOUT_BEGIN(sample_executor, midout_iv("Executor::run_recording"_hash)) {
        for (const auto& each : m_graph.operators()) {
            each->output().allocate();
            each->plan_once(m_context);
            each->execute(m_context);
            m_sequence.push_back(each.get());
        }
    }
    MIDOUT_END();
}

void Executor::replay() {
    MIDOUT_BEGIN(sample_executor, midout_iv("Executor::replay"_hash)) {
        for (Operator* each : m_sequence)
            each->execute(m_context);
    }
    MIDOUT_END();
}

}  // namespace sample
