#include "graph/model.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/file.h"

namespace sample {
namespace {

constexpr char kMagic[] = "SAMPLENN";
constexpr size_t kHashed = 20;
constexpr uint32_t kMaxCount = 4096, kMaxDim = 1 << 16;
constexpr size_t kMaxElements = size_t(1) << 24;

uint64_t fnv1a(const char* data, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; ++i)
        hash = (hash ^ static_cast<unsigned char>(data[i])) * 0x100000001b3u;
    return hash;
}

// Takes values from the front of the file. No count is believed before the bytes are there.
class Reader {
public:
    explicit Reader(const std::string& path) : m_path(path), m_data(read_file(path)) {}

    Model model() {
        Model model;
        model.hash = header();
        for (uint32_t left = count(); left > 0; --left)
            model.tensors.push_back(tensor());
        for (uint32_t left = count(); left > 0; --left)
            model.operators.push_back(record());
        model.outputs = ids(count());
        SAMPLE_CHECK(m_at == m_data.size(), "%s: bytes behind the end", m_path.c_str());
        return model;
    }

private:
    uint64_t header() {
        const char* magic = take(8);
        SAMPLE_CHECK(
                std::memcmp(magic, kMagic, 8) == 0, "read model failed: %s is no model",
                m_path.c_str());
        const uint32_t version = number<uint32_t>();
        SAMPLE_CHECK(version == 1, "%s: unknown version %u", m_path.c_str(), version);
        const uint64_t hash = number<uint64_t>();
        SAMPLE_CHECK(
                hash == fnv1a(m_data.data() + kHashed, m_data.size() - kHashed),
                "read model failed: %s is damaged", m_path.c_str());
        return hash;
    }

    Tensor tensor() {
        Tensor tensor;
        tensor.name = text();
        const uint8_t dtype = number<uint8_t>();
        SAMPLE_CHECK(dtype <= 2, "%s: data type %d", m_path.c_str(), dtype);
        tensor.dtype = static_cast<DType>(dtype);
        tensor.scale = number<float>();
        const bool sane = std::isfinite(tensor.scale) && tensor.scale > 0;
        SAMPLE_CHECK(
                sane && (tensor.dtype != DType::Float32 || tensor.scale == 1.f),
                "%s: the scale of %s", m_path.c_str(), tensor.name.c_str());
        tensor.shape.ndim = number<uint8_t>();
        const bool few = tensor.shape.ndim >= 1 && tensor.shape.ndim <= Shape::kMaxDims;
        SAMPLE_CHECK(few, "%s: %d dimensions", m_path.c_str(), tensor.shape.ndim);
        for (int axis = 0; axis < tensor.shape.ndim; ++axis) {
            const uint32_t dim = number<uint32_t>();
            SAMPLE_CHECK(dim >= 1 && dim <= kMaxDim, "%s: dimension %u", m_path.c_str(), dim);
            tensor.shape[axis] = static_cast<int>(dim);
        }
        SAMPLE_CHECK(
                tensor.shape.total() <= kMaxElements, "%s: %s is too large", m_path.c_str(),
                tensor.name.c_str());
        return tensor;
    }

    OperatorRecord record() {
        OperatorRecord record;
        record.type = text();
        record.name = text();
        record.mode = text();
        for (int left = number<uint8_t>(); left > 0; --left)
            record.parameters.push_back(number<int32_t>());
        record.inputs = ids(number<uint8_t>());
        record.outputs = ids(number<uint8_t>());
        const uint32_t size = number<uint32_t>();
        const char* weights = take(size);
        record.weights.assign(weights, weights + size);
        return record;
    }

    std::vector<uint32_t> ids(uint32_t size) {
        std::vector<uint32_t> ids;
        for (; size > 0; --size)
            ids.push_back(number<uint32_t>());
        return ids;
    }

    uint32_t count() {
        const uint32_t value = number<uint32_t>();
        SAMPLE_CHECK(value <= kMaxCount, "%s: a count of %u", m_path.c_str(), value);
        return value;
    }

    std::string text() {
        const size_t size = number<uint8_t>();
        return std::string(take(size), size);
    }

    template <class T>
    T number() {
        // Every machine that this engine is built for is little endian.
        T value;
        std::memcpy(&value, take(sizeof value), sizeof value);
        return value;
    }

    const char* take(size_t size) {
        SAMPLE_CHECK(
                size <= m_data.size() - m_at, "read model failed: %s ends early", m_path.c_str());
        const char* taken = m_data.data() + m_at;
        m_at += size;
        return taken;
    }

    [[maybe_unused]] const std::string& m_path;  // for messages
    const std::vector<char> m_data;
    size_t m_at = 0;
};

}  // namespace

Model read_model(const std::string& path) {
    return Reader(path).model();
}

}  // namespace sample
