#include "load_and_run/outputs.h"

#include "base/file.h"
#include "base/log.h"
#include "base/regions.h"
#include "base/text.h"

MIDOUT_DECL(sample_output)

namespace sample {
namespace {

constexpr int kDumpedDims = 7;

// The numbers that MegEngine's dumps have for these types, so that one tool reads both.
uint32_t dumped_dtype(DType dtype) {
    switch (dtype) {
        case DType::Float32:
            return 0;
        case DType::QuantizedS32:
            return 100001;
        case DType::QuantizedS8:
            return 100002;
    }
    return 0;
}

std::string dims(const Shape& shape) {
    std::string text;
    for (int axis = 0; axis < shape.ndim; ++axis)
        text += sample::text("%c%d", axis ? ',' : '{', shape[axis]);
    return text + "}";
}

// Types have names only where there is type information, so this text differs between builds.
const char* type_of(const Operator& each) {
#if SAMPLE_NO_RTTI
    return "";
#else
    return each.record().type.c_str();
#endif
}

std::string describe(const GraphOutput& output) {
    std::string inputs;
    for (const Tensor* tensor : output.producer->inputs())
        inputs += text(" %s", tensor->name.c_str());
    return text("var=%s %s{%s} owner_opr_inputs= [", output.tensor->name.c_str(),
                dims(output.tensor->shape).c_str(), type_of(*output.producer)) +
           inputs + "]";
}

void append(std::string& out, uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8)
        out += static_cast<char>(number >> shift & 255);
}

std::string serialise(const GraphOutput& output) {
    const Tensor& tensor = *output.tensor;
    const std::string description = describe(output);
    std::string out;
    append(out, static_cast<uint32_t>(description.size()));
    append(out, dumped_dtype(tensor.dtype));
    append(out, kDumpedDims);
    for (int axis = 0; axis < kDumpedDims; ++axis)
        append(out, axis < tensor.shape.ndim ? static_cast<uint32_t>(tensor.shape[axis]) : 0);
    out += description;
    return out.append(tensor.as<char>(), tensor.bytes());
}

}  // namespace

void dump_outputs(const Graph& graph, const std::string& folder, int run) {
    MIDOUT_BEGIN(sample_output, midout_iv("Output::dump"_hash)) {
        for (const GraphOutput& output : graph.outputs()) {
            write_file(folder + text("/run%d-var%u", run, output.id), serialise(output));
        }
    }
    MIDOUT_END();
}

void tell_model(const Graph& graph) {
    MIDOUT_BEGIN(sample_output, midout_iv("Output::tell_model"_hash)) {
        for (const auto& each : graph.operators()) {
            SAMPLE_LOG(
                    "=== %s %s %s: %s %s", each->record().type.c_str(),
                    each->record().mode.c_str(), each->record().name.c_str(),
                    each->output().name.c_str(), dims(each->output().shape).c_str());
        }
        for (const GraphOutput& output : graph.outputs())
            SAMPLE_LOG("=== output var%u: %s", output.id, output.tensor->name.c_str());
    }
    MIDOUT_END();
}

}  // namespace sample
