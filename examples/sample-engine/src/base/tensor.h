// Tensors: a data type, a shape and bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace sample {

// The numbers are those of the model file.
enum class DType : uint8_t { Float32 = 0, QuantizedS8 = 1, QuantizedS32 = 2 };

size_t size_bytes(DType dtype);

struct Shape {
    static constexpr int kMaxDims = 4;

    int ndim = 0;
    std::array<int, kMaxDims> dims{};

    int operator[](int axis) const { return dims[axis]; }
    int& operator[](int axis) { return dims[axis]; }

    size_t total() const { return product(0, ndim); }
    // Product of the dimensions from one axis to before another.
    size_t product(int from, int to) const;
};

bool operator==(const Shape& left, const Shape& right);
inline bool operator!=(const Shape& left, const Shape& right) { return !(left == right); }

struct Tensor {
    std::string name;
    DType dtype = DType::Float32;
    // A quantised tensor's real value is scale times the integer that is stored.
    float scale = 1.f;
    Shape shape;
    // Float32 images only: channels lie in blocks of four, [N][C/4][H][W][4].
    bool nchw44 = false;
    // Inputs and weights hold their bytes for good, all others only while somebody needs them.
    bool persistent = false;
    // How many operators read it, and how many of them have not yet in the current run. A graph's
    // output counts one more, so that it stays.
    int readers = 0, pending = 0;

    size_t bytes() const { return shape.total() * size_bytes(dtype); }

    template <class T>
    T* as() {
        return reinterpret_cast<T*>(m_storage.get());
    }
    template <class T>
    const T* as() const {
        return reinterpret_cast<const T*>(m_storage.get());
    }

    void allocate();
    void release() { m_storage.reset(); }
    bool allocated() const { return m_storage != nullptr; }

private:
    std::unique_ptr<char[]> m_storage;
};

}  // namespace sample
