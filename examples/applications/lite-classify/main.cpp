// lite-classify MODEL NAME=FILE.npy... [threads=N] [cache=FILE] [write=FOLDER]
//
// Runs a MegEngine model once through the engine's lite interface and prints the largest values
// of each output. With write=, output number N also becomes FOLDER/N.npy.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lite/global.h"
#include "lite/network.h"
#include "lite/tensor.h"
#include "npy.h"

namespace {

constexpr std::size_t kShown = 3;

struct Options {
    std::string model, cache, folder;
    std::vector<std::pair<std::string, std::string>> inputs;
    int threads = 1;
};

struct TypeName {
    LiteDataType type;
    const char* name;
};

constexpr TypeName kTypes[] = {
        {LITE_FLOAT, "<f4"}, {LITE_INT, "<i4"},   {LITE_INT16, "<i2"},
        {LITE_INT8, "|i1"},  {LITE_UINT8, "|u1"},
};

Options read_options(int argc, char** argv) {
    Options options;
    options.model = argv[1];
    for (int i = 2; i < argc; ++i) {
        const std::string word = argv[i];
        const std::size_t equals = std::min(word.find('='), word.size());
        const std::string name = word.substr(0, equals);
        const std::string value = word.substr(std::min(equals + 1, word.size()));
        if (name == "threads")
            options.threads = std::atoi(value.c_str());
        else if (name == "cache")
            options.cache = value;
        else if (name == "write")
            options.folder = value;
        else
            options.inputs.emplace_back(name, value);
    }
    return options;
}

[[noreturn]] void give_up(const char* what, const std::string& name) {
    std::fprintf(stderr, "%s: %s\n", what, name.c_str());
    std::exit(1);
}

std::string name_of(LiteDataType type) {
    for (const TypeName& each : kTypes) {
        if (each.type == type)
            return each.name;
    }
    return "";
}

void fill(lite::Network& network, const std::string& name, const std::string& path) {
    Array array;
    if (!read_npy(path, array))
        give_up("no .npy file of version 1", path);
    lite::Layout layout;
    layout.ndim = array.shape.size();
    if (layout.ndim > lite::Layout::MAXDIM)
        give_up("too many dimensions", path);
    std::copy(array.shape.begin(), array.shape.end(), layout.shapes);
    for (const TypeName& each : kTypes) {
        if (array.type == each.name)
            layout.data_type = each.type;
    }
    if (name_of(layout.data_type) != array.type)
        give_up("not a type of an input", path);
    const std::shared_ptr<lite::Tensor> tensor = network.get_io_tensor(name, LITE_INPUT);
    tensor->set_layout(layout);
    if (tensor->get_tensor_total_size_in_byte() != array.bytes.size())
        give_up("not as many values as it says", path);
    std::memcpy(tensor->get_memory_ptr(), array.bytes.data(), array.bytes.size());
}

template <class Element>
void print_largest(const std::string& name, const Element* values, std::size_t count) {
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i)
        order[i] = i;
    const std::size_t shown = std::min(kShown, count);
    std::partial_sort(
            order.begin(), order.begin() + shown, order.end(),
            [values](std::size_t left, std::size_t right) {
                return values[left] > values[right] ||
                       (values[left] == values[right] && left < right);
            });
    std::printf("%s:", name.c_str());
    for (std::size_t i = 0; i < shown; ++i)
        std::printf(" %zu (%.6f)", order[i], static_cast<double>(values[order[i]]));
    std::printf("\n");
}

void tell(lite::Network& network, std::size_t index, const std::string& folder) {
    const std::shared_ptr<lite::Tensor> tensor = network.get_output_tensor(index);
    const lite::Layout layout = tensor->get_layout();
    const std::string name = network.get_output_name(index);
    const std::size_t size_bytes = tensor->get_tensor_total_size_in_byte();
    const char* data = static_cast<const char*>(tensor->get_memory_ptr());
    if (layout.data_type == LITE_FLOAT)
        print_largest(name, reinterpret_cast<const float*>(data), size_bytes / sizeof(float));
    else
        std::printf("%s: %zu bytes\n", name.c_str(), size_bytes);
    if (folder.empty())
        return;
    Array array;
    array.type = name_of(layout.data_type);
    array.shape.assign(layout.shapes, layout.shapes + layout.ndim);
    array.bytes.assign(data, data + size_bytes);
    // A variable's name may hold what no file's name can.
    const std::string path = folder + "/" + std::to_string(index) + ".npy";
    if (array.type.empty() || !write_npy(path, array))
        give_up("cannot write", path);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fputs("which model, and which input?\n", stderr);
        return 2;
    }
    const Options options = read_options(argc, argv);
    lite::set_log_level(LiteLogLevel::WARN);
    if (!options.cache.empty())
        lite::set_persistent_cache(options.cache);
    lite::Config config;
    config.device_type = LiteDeviceType::LITE_CPU;
    const auto network = std::make_shared<lite::Network>(config);
    if (options.threads > 1)
        lite::Runtime::set_cpu_threads_number(network, options.threads);
    if (!options.cache.empty()) {
        // As load_and_run does with a recorded cache: what it knows, and the usual choice else.
        lite::Runtime::set_network_algo_policy(
                network, lite::operator|(LiteAlgoSelectStrategy::LITE_ALGO_PROFILE,
                                         LiteAlgoSelectStrategy::LITE_ALGO_HEURISTIC));
    }
    network->load_model(options.model);
    for (const auto& input : options.inputs)
        fill(*network, input.first, input.second);
    network->forward();
    network->wait();
    const std::size_t outputs = network->get_all_output_name().size();
    for (std::size_t index = 0; index < outputs; ++index)
        tell(*network, index, options.folder);
    return 0;
}
