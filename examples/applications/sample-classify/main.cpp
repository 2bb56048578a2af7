// sample-classify MODEL INPUT=FILE.npy [threads=N] [cache=FILE] [write=FOLDER] [nchw44=yes]
//
// Runs a model once and prints the largest values of each output. With write=, every output also
// becomes FOLDER/NAME.npy.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "sample_engine/model.h"

namespace {

using sample_engine::Output;
using sample_engine::Type;

constexpr size_t kShown = 3;

struct Options {
    std::string model, input, file, cache, folder;
    int threads = 1;
    bool nchw44 = false;
};

Options read_options(int argc, char** argv) {
    Options options;
    options.model = argv[1];
    for (int i = 2; i < argc; ++i) {
        const std::string word = argv[i];
        const size_t equals = std::min(word.find('='), word.size());
        const std::string name = word.substr(0, equals);
        const std::string value = word.substr(std::min(equals + 1, word.size()));
        if (name == "threads")
            options.threads = std::atoi(value.c_str());
        else if (name == "cache")
            options.cache = value;
        else if (name == "write")
            options.folder = value;
        else if (name == "nchw44")
            options.nchw44 = value == "yes";
        else
            options.input = name, options.file = value;
    }
    return options;
}

size_t element_bytes(Type type) {
    return type == Type::Int8 ? 1 : 4;
}

double value(const Output& output, size_t index) {
    switch (output.type) {
        case Type::Int8:
            return static_cast<const int8_t*>(output.data)[index];
        case Type::Int32:
            return static_cast<const int32_t*>(output.data)[index];
        default:
            return static_cast<const float*>(output.data)[index];
    }
}

void print_largest(const Output& output) {
    std::vector<size_t> order(output.size_bytes / element_bytes(output.type));
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    const size_t shown = std::min(kShown, order.size());
    std::partial_sort(
            order.begin(), order.begin() + shown, order.end(), [&](size_t left, size_t right) {
                const double a = value(output, left), b = value(output, right);
                return a > b || (a == b && left < right);
            });
    std::printf("%s:", output.name.c_str());
    for (size_t i = 0; i < shown; ++i)
        std::printf(" %zu (%.6f)", order[i], value(output, order[i]));
    std::printf("\n");
}

// As NumPy's format 1.0 has it: a text whose end lies on a multiple of 64 bytes.
bool write_npy(const Output& output, const std::string& path) {
    static const char* const kTypes[] = {"<f4", "|i1", "<i4"};
    std::string shape;
    for (int size : output.shape)
        shape += std::to_string(size) + ", ";
    std::string head = std::string("{'descr': '") + kTypes[static_cast<int>(output.type)] +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
    head.append(63 - (10 + head.size()) % 64, ' ') += '\n';
    const unsigned char size[2] = {
            static_cast<unsigned char>(head.size() & 255),
            static_cast<unsigned char>(head.size() >> 8)};
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (!file)
        return false;
    const bool written = std::fwrite("\x93NUMPY\x01\x00", 1, 8, file) == 8 &&
                         std::fwrite(size, 1, 2, file) == 2 &&
                         std::fwrite(head.data(), 1, head.size(), file) == head.size() &&
                         std::fwrite(output.data, 1, output.size_bytes, file) == output.size_bytes;
    return std::fclose(file) == 0 && written;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fputs("which model, and which input?\n", stderr);
        return 2;
    }
    const Options options = read_options(argc, argv);
    sample_engine::Model model(options.model, options.threads, options.cache);
    model.set_input(options.input, options.file);
    if (options.nchw44)
        model.use_nchw44();
    model.run();
    for (const Output& output : model.outputs()) {
        print_largest(output);
        if (options.folder.empty())
            continue;
        const std::string path = options.folder + "/" + output.name + ".npy";
        if (!write_npy(output, path)) {
            std::fprintf(stderr, "cannot write %s\n", path.c_str());
            return 1;
        }
    }
    return 0;
}
