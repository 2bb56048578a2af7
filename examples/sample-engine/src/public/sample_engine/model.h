// The engine as a library: load a model, fill its inputs, run it, read its outputs.
//
// An error is a std::runtime_error. In a build without exceptions it is a trap.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#define SAMPLE_ENGINE_API __attribute__((visibility("default")))

namespace sample_engine {

enum class Type { Float32, Int8, Int32 };

struct Output {
    std::string name;
    Type type;
    std::vector<int> shape;
    const void* data;
    std::size_t size_bytes;
};

class SAMPLE_ENGINE_API Model {
public:
    // `algo_cache` names a recorded cache of algorithms; empty: the engine's first choice.
    explicit Model(const std::string& path, int threads = 1, const std::string& algo_cache = "");
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    // Fills an input from a .npy file of its type and shape.
    void set_input(const std::string& name, const std::string& npy);
    // Goes over to blocks of four channels. Before the first run.
    void use_nchw44();
    void run();
    // Of the last run, until the next one.
    std::vector<Output> outputs() const;

private:
    struct Parts;
    std::unique_ptr<Parts> m_parts;
};

}  // namespace sample_engine
