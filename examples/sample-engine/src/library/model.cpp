#include "public/sample_engine/model.h"

#include <stdexcept>

#include "base/error.h"
#include "graph/executor.h"
#include "load_and_run/inputs.h"

namespace sample_engine {
namespace {

// The engine's own error is nothing that an application knows.
template <class Work>
auto told(const Work& work) {
#if SAMPLE_NO_EXCEPTIONS
    return work();
#else
    try {
        return work();
    } catch (const sample::Error& error) {
        throw std::runtime_error(error.message);
    }
#endif
}

Type type_of(sample::DType dtype) {
    switch (dtype) {
        case sample::DType::QuantizedS8:
            return Type::Int8;
        case sample::DType::QuantizedS32:
            return Type::Int32;
        default:
            return Type::Float32;
    }
}

Output describe(const sample::GraphOutput& output) {
    const sample::Tensor& tensor = *output.tensor;
    const auto& dims = tensor.shape.dims;
    return {tensor.name, type_of(tensor.dtype),
            std::vector<int>(dims.begin(), dims.begin() + tensor.shape.ndim), tensor.as<char>(),
            tensor.bytes()};
}

}  // namespace

struct Model::Parts {
    Parts(const std::string& path, int threads)
            : pool(threads), chooser(sample::Search::Off), graph(sample::read_model(path)) {}

    sample::ThreadPool pool;
    sample::AlgoChooser chooser;
    sample::Graph graph;
    std::unique_ptr<sample::Executor> executor;
};

Model::Model(const std::string& path, int threads, const std::string& algo_cache) {
    m_parts = told([&] { return std::make_unique<Parts>(path, threads); });
    if (!algo_cache.empty())
        told([&] { m_parts->chooser.cache().read(algo_cache); });
}

Model::~Model() = default;

void Model::set_input(const std::string& name, const std::string& npy) {
    told([&] { sample::feed_inputs(name + ":" + npy, m_parts->graph); });
}

void Model::use_nchw44() {
    told([&] { m_parts->graph.block_channels(); });
}

void Model::run() {
    told([&] {
        if (!m_parts->executor) {
            m_parts->executor = std::make_unique<sample::Executor>(
                    m_parts->graph, sample::Context{m_parts->pool, m_parts->chooser, false}, false);
        }
        m_parts->executor->run();
    });
}

std::vector<Output> Model::outputs() const {
    std::vector<Output> all;
    for (const sample::GraphOutput& output : m_parts->graph.outputs())
        all.push_back(describe(output));
    return all;
}

}  // namespace sample_engine
