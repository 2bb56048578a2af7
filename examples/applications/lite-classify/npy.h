// Tensors in files, as NumPy's format 1.0 has them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

struct Array {
    std::string type;  // such as "<f4"
    std::vector<std::size_t> shape;
    std::vector<char> bytes;
};

// False where the file cannot be read, or is none.
bool read_npy(const std::string& path, Array& array);
bool write_npy(const std::string& path, const Array& array);
