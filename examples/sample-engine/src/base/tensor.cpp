#include "base/tensor.h"

#include <algorithm>

namespace sample {

size_t size_bytes(DType dtype) {
    return dtype == DType::QuantizedS8 ? 1 : 4;
}

size_t Shape::product(int from, int to) const {
    size_t result = 1;
    for (int axis = from; axis < to; ++axis)
        result *= static_cast<size_t>(dims[axis]);
    return result;
}

bool operator==(const Shape& left, const Shape& right) {
    return left.ndim == right.ndim &&
           std::equal(left.dims.begin(), left.dims.begin() + left.ndim, right.dims.begin());
}

void Tensor::allocate() {
    if (!m_storage)
        m_storage.reset(new char[bytes()]());
}

}  // namespace sample
