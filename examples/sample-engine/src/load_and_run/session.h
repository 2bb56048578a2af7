// One model, loaded and run as the options say.
#pragma once

#include <memory>

#include "graph/executor.h"
#include "load_and_run/options.h"

namespace sample {

class Session {
public:
    explicit Session(const Options& options);

    void run();

private:
    void load();
    void warm_up();
    double iterate();
    void run_once();

    const Options m_options;
    ThreadPool m_pool;
    AlgoChooser m_chooser;
    std::unique_ptr<Graph> m_graph;
    std::unique_ptr<Executor> m_executor;
    int m_runs = 0;
};

}  // namespace sample
