// Runs a graph, again and again.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace sample {

class Executor {
public:
    // `record`: the first run notes down what is to be done, later ones only repeat it.
    Executor(const Graph& graph, Context context, bool record);

    // Plans every operator without executing any: the first real run is then no slower than others.
    void fake_run();
    void run();

private:
    void run_eager();
    void run_recording();
    void replay();

    const Graph& m_graph;
    Context m_context;
    const bool m_record;
    std::vector<Operator*> m_sequence;
};

}  // namespace sample
