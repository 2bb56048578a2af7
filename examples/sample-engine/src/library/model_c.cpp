#include "public/sample_engine/model_c.h"

#include <exception>

#include "public/sample_engine/model.h"

struct SampleModel {
    SampleModel(const char* path, int threads) : model(path, threads) {}

    sample_engine::Model model;
    std::vector<sample_engine::Output> outputs;
};

namespace {

std::string& last_error() {
    thread_local std::string text;
    return text;
}

// No exception may reach a caller in C.
template <class Work>
int attempt(const Work& work) {
#if SAMPLE_NO_EXCEPTIONS
    work();
    return 0;
#else
    try {
        work();
        return 0;
    } catch (const std::exception& error) {
        last_error() = error.what();
        return -1;
    }
#endif
}

}  // namespace

SampleModel* sample_model_open(const char* path, int threads) {
    SampleModel* model = nullptr;
    attempt([&] { model = new SampleModel(path, threads); });
    return model;
}

void sample_model_close(SampleModel* model) {
    delete model;
}

int sample_model_set_input(SampleModel* model, const char* name, const char* npy) {
    return attempt([&] { model->model.set_input(name, npy); });
}

int sample_model_run(SampleModel* model) {
    return attempt([&] {
        model->model.run();
        model->outputs = model->model.outputs();
    });
}

size_t sample_model_count_outputs(const SampleModel* model) {
    return model->outputs.size();
}

int sample_model_get_output(const SampleModel* model, size_t index, SampleOutput* output) {
    if (index >= model->outputs.size()) {
        last_error() = "there is no output of that number";
        return -1;
    }
    const sample_engine::Output& found = model->outputs[index];
    const auto type = static_cast<SampleType>(found.type);
    *output = {found.name.c_str(), type, found.data, found.size_bytes};
    return 0;
}

const char* sample_last_error() {
    return last_error().c_str();
}
