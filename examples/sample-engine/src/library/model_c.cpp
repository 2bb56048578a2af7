#include "public/sample_engine/model_c.h"

#include <cstdio>
#include <exception>

#include "public/sample_engine/model.h"

struct SampleModel {
    SampleModel(const char* path, int threads) : model(path, threads) {}

    sample_engine::Model model;
    std::vector<sample_engine::Output> outputs;
};

namespace {

constexpr size_t kLongest = 512;

// Without a destructor: threads need nothing of this library when they end.
thread_local char last_error[kLongest];

void note_error(const char* what) {
    std::snprintf(last_error, kLongest, "%s", what);
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
        note_error(error.what());
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
        note_error("there is no output of that number");
        return -1;
    }
    const sample_engine::Output& found = model->outputs[index];
    const auto type = static_cast<SampleType>(found.type);
    *output = {found.name.c_str(), type, found.data, found.size_bytes};
    return 0;
}

const char* sample_last_error() {
    return last_error;
}
