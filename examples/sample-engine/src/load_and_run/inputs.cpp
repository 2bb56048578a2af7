#include "load_and_run/inputs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/regions.h"
#include "kernels/quantise.h"

MIDOUT_DECL(sample_input)

namespace sample {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.npos, end) == 0;
}

// The numbers in a text; brackets, braces, commas and spaces stand between them.
std::vector<double> numbers(const std::string& text) {
    std::vector<double> found;
    const char* at = text.c_str();
    while (*at) {
        if (std::strchr("[]{}, ", *at)) {
            ++at;
            continue;
        }
        char* end = nullptr;
        found.push_back(std::strtod(at, &end));
        SAMPLE_CHECK(end != at, "--input: not a number: %s", at);
        at = end;
    }
    return found;
}

void store(const std::vector<double>& values, Tensor& tensor) {
    for (size_t i = 0; i < values.size(); ++i) {
        const float value = static_cast<float>(values[i]);
        if (tensor.dtype == DType::Float32)
            tensor.as<float>()[i] = value;
        else if (tensor.dtype == DType::QuantizedS8)
            tensor.as<int8_t>()[i] = saturate_s8(value);
        else
            tensor.as<int32_t>()[i] = saturate_s32(value);
    }
}

void feed(const std::string& data, Tensor& tensor) {
    const char* name = tensor.name.c_str();
    if (ends_with(data, ".npy")) {
        MIDOUT_BEGIN(sample_input, midout_iv("Input::npy"_hash)) {
            read_npy(data, tensor);
        }
        MIDOUT_END();
    } else if (!data.empty() && data[0] == '{') {
        MIDOUT_BEGIN(sample_input, midout_iv("Input::shape"_hash)) {
            const std::vector<double> dims = numbers(data);
            bool same = int(dims.size()) == tensor.shape.ndim;
            for (int axis = 0; same && axis < tensor.shape.ndim; ++axis)
                same = dims[axis] == tensor.shape[axis];
            SAMPLE_CHECK(same, "--input: the shape of %s is another", name);
            std::memset(tensor.as<char>(), 1, tensor.bytes());
        }
        MIDOUT_END();
    } else {
        MIDOUT_BEGIN(sample_input, midout_iv("Input::numbers"_hash)) {
            const std::vector<double> values = numbers(data);
            SAMPLE_CHECK(
                    values.size() == tensor.shape.total(), "--input: %s has %zu values, not %zu",
                    name, tensor.shape.total(), values.size());
            store(values, tensor);
        }
        MIDOUT_END();
    }
}

}  // namespace

void feed_inputs(const std::string& description, const Graph& graph) {
    size_t start = 0;
    while (start < description.size()) {
        const size_t end = std::min(description.find(';', start), description.size());
        const std::string part = description.substr(start, end - start);
        const size_t colon = part.find(':');
        const std::string name = colon == part.npos ? "data" : part.substr(0, colon);
        Tensor* tensor = graph.find_input(name);
        SAMPLE_CHECK(tensor, "can't find an input named %s", name.c_str());
        feed(colon == part.npos ? part : part.substr(colon + 1), *tensor);
        start = end + 1;
    }
}

}  // namespace sample
