#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "load_and_run/inputs.h"

namespace sample {
namespace {

constexpr size_t kFixed = 10;  // magic, version, length of the description

const char* element_type(DType dtype) {
    switch (dtype) {
        case DType::Float32:
            return "<f4";
        case DType::QuantizedS8:
            return "|i1";
        case DType::QuantizedS32:
            return "<i4";
    }
    return "";
}

// As NumPy writes it: "(1, 3)", "(3,)".
std::string describe(const Shape& shape) {
    std::string all;
    for (int axis = 0; axis < shape.ndim; ++axis)
        all += text("%s%d", axis ? ", " : "(", shape[axis]);
    return all + (shape.ndim == 1 ? ",)" : ")");
}

}  // namespace

void read_npy(const std::string& path, Tensor& tensor) {
    const std::vector<char> file = read_file(path);
    const bool known = file.size() > kFixed && std::memcmp(file.data(), "\x93NUMPY\x01", 7) == 0;
    SAMPLE_CHECK(known, "%s: is no .npy file of version 1", path.c_str());
    const size_t length = static_cast<unsigned char>(file[8]) +
                          256 * size_t(static_cast<unsigned char>(file[9]));
    SAMPLE_CHECK(kFixed + length <= file.size(), "%s: ends early", path.c_str());
    const std::string head(file.data() + kFixed, length);
    const std::string wanted =
            text("{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                 element_type(tensor.dtype), describe(tensor.shape).c_str());
    SAMPLE_CHECK(
            head.compare(0, wanted.size(), wanted) == 0, "%s: the input %s is to be %s",
            path.c_str(), tensor.name.c_str(), wanted.c_str());
    SAMPLE_CHECK(
            file.size() == kFixed + length + tensor.bytes(),
            "%s: has not as many values as it says", path.c_str());
    std::memcpy(tensor.as<char>(), file.data() + kFixed + length, tensor.bytes());
}

}  // namespace sample
