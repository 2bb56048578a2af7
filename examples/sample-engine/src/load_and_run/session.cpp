#include "load_and_run/session.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "load_and_run/inputs.h"
#include "load_and_run/outputs.h"

namespace sample {
namespace {

Search search_of(const Options& options) {
    if (options.full_run)
        return Search::Full;
    return options.fast_run ? Search::Fast : Search::Off;
}

void tell_options(const Options& options) {
    SAMPLE_LOG("sample-engine/load_and_run:\nusing sample engine 1.0\n");
    if (options.full_run)
        SAMPLE_LOG("enable full-run strategy for algo profile");
    else if (options.fast_run)
        SAMPLE_LOG("enable fast-run strategy for algo profile");
    if (options.enable_nchw44)
        SAMPLE_LOG("enable nchw44 optimization");
    if (options.weight_preprocess)
        SAMPLE_LOG("enable weight-preprocess optimization");
    if (options.multithread > 1)
        SAMPLE_LOG("using multithread(threads number:%d) device\n", options.multithread);
    else
        SAMPLE_LOG("using cpu device\n");
    if (options.fake_first)
        SAMPLE_LOG("enable fake-first optimization");
    if (options.record_comp_seq)
        SAMPLE_LOG("set record_comp_seq_level to 1");
}

// What the summary of the iterations tells, in milliseconds.
class Times {
public:
    void add(double ms) {
        m_sum += ms;
        m_squares += ms * ms;
        m_least = m_count ? std::min(m_least, ms) : ms;
        m_most = std::max(m_most, ms);
        ++m_count;
    }

    double sum() const { return m_sum; }

    void tell() const {
        SAMPLE_LOG(
                "=== finished test #0: time=%.3f ms avg_time=%.3f ms standard_deviation=%.3f ms "
                "min=%.3f ms max=%.3f ms",
                m_sum, m_sum / m_count, deviation(), m_least, m_most);
    }

private:
    double deviation() const {
        if (m_count < 2)
            return 0;
        const double spread = m_squares * m_count - m_sum * m_sum;
        return std::sqrt(std::max(spread, 0.) / (double(m_count) * (m_count - 1)));
    }

    int m_count = 0;
    double m_sum = 0, m_squares = 0, m_least = 0, m_most = 0;
};

}  // namespace

Session::Session(const Options& options)
        : m_options(options),
          m_pool(options.cpu_default ? 1 : options.multithread),
          m_chooser(search_of(options)) {}

void Session::run() {
    tell_options(m_options);
    load();
    SAMPLE_LOG("run testcase: 0 ");
    warm_up();
    const double total_ms = iterate();
    SAMPLE_LOG("=== total time: %.3fms\n", total_ms);
    static_cast<void>(total_ms);
    if (search_of(m_options) != Search::Off && !m_options.fast_run_algo_policy.empty())
        m_chooser.cache().write(m_options.fast_run_algo_policy);
}

void Session::load() {
    const Clock clock;
    const std::string& policy = m_options.fast_run_algo_policy;
    // A search may begin with nothing, or go on from what is recorded.
    if (!policy.empty() && (search_of(m_options) == Search::Off || file_exists(policy)))
        m_chooser.cache().read(policy);
    m_graph = std::make_unique<Graph>(read_model(m_options.model));
    SAMPLE_LOG("load model: %.3fms\n", clock.elapsed_ms());
    feed_inputs(m_options.input, *m_graph);
    if (m_options.model_info)
        tell_model(*m_graph);
    if (m_options.enable_nchw44)
        m_graph->block_channels();
    m_executor = std::make_unique<Executor>(
            *m_graph, Context{m_pool, m_chooser, m_options.weight_preprocess},
            m_options.record_comp_seq);
}

void Session::warm_up() {
    for (int i = 0; i < m_options.warmup_iter; ++i) {
        const Clock clock;
        SAMPLE_LOG("=== prepare: %.3fms; going to warmup", clock.elapsed_ms());
        if (m_options.fake_first && i == 0)
            m_executor->fake_run();
        else
            run_once();
        SAMPLE_LOG("warm up %d  %.3fms", i, clock.elapsed_ms());
    }
}

double Session::iterate() {
    Times times;
    for (int i = 0; i < m_options.iter; ++i) {
        const Clock clock;
        run_once();
        const double ms = clock.elapsed_ms();
        // Everything runs on the host, so both times are the same.
        SAMPLE_LOG("iter %d/%d: e2e=%.3f ms (host=%.3f ms)", i, m_options.iter, ms, ms);
        times.add(ms);
    }
    if (m_options.iter > 0)
        times.tell();
    return times.sum();
}

void Session::run_once() {
    const Clock clock;
    m_executor->run();
    const double until_ms = clock.elapsed_ms() * (100 + m_options.slow_down) / 100;
    while (m_options.slow_down > 0 && clock.elapsed_ms() < until_ms) {
    }
    if (!m_options.bin_out_dump.empty())
        dump_outputs(*m_graph, m_options.bin_out_dump, m_runs);
    ++m_runs;
}

}  // namespace sample
