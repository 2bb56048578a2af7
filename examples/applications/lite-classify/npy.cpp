#include "npy.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr char kMagic[] = "\x93NUMPY\x01";  // and a minor version of 0
constexpr std::size_t kMagicBytes = 8;
constexpr std::size_t kFixedBytes = kMagicBytes + 2;
constexpr std::size_t kAlignment = 64;

// The text between two marks behind `key`; empty where there is none.
std::string between(const std::string& head, const char* key, char open, char close) {
    const std::size_t at = head.find(key);
    const std::size_t start = at == head.npos ? at : head.find(open, at + std::strlen(key));
    const std::size_t end = start == head.npos ? start : head.find(close, start + 1);
    return end == head.npos ? "" : head.substr(start + 1, end - start - 1);
}

std::vector<std::size_t> numbers(const std::string& text) {
    std::vector<std::size_t> found;
    const char* at = text.c_str();
    while (*at) {
        if (!std::isdigit(static_cast<unsigned char>(*at))) {
            ++at;
            continue;
        }
        char* end = nullptr;
        found.push_back(std::strtoul(at, &end, 10));
        at = end;
    }
    return found;
}

bool read_bytes(std::FILE* file, char* to, std::size_t count) {
    return std::fread(to, 1, count, file) == count;
}

bool read_from(std::FILE* file, Array& array) {
    unsigned char fixed[kFixedBytes];
    if (!read_bytes(file, reinterpret_cast<char*>(fixed), sizeof fixed) ||
        std::memcmp(fixed, kMagic, kMagicBytes) != 0)
        return false;
    std::string head(fixed[8] + 256 * fixed[9], '\0');
    if (!read_bytes(file, &head[0], head.size()))
        return false;
    array.type = between(head, "'descr':", '\'', '\'');
    array.shape = numbers(between(head, "'shape':", '(', ')'));
    char chunk[4096];
    array.bytes.clear();
    while (const std::size_t count = std::fread(chunk, 1, sizeof chunk, file))
        array.bytes.insert(array.bytes.end(), chunk, chunk + count);
    return !array.type.empty();
}

}  // namespace

bool read_npy(const std::string& path, Array& array) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (!file)
        return false;
    const bool whole = read_from(file, array);
    std::fclose(file);
    return whole;
}

bool write_npy(const std::string& path, const Array& array) {
    std::string shape;
    for (const std::size_t size : array.shape)
        shape += std::to_string(size) + ", ";
    std::string head = "{'descr': '" + array.type + "', 'fortran_order': False, 'shape': (" +
                       shape + "), }";
    head.append(kAlignment - 1 - (kFixedBytes + head.size()) % kAlignment, ' ');
    head += '\n';
    std::string all(kMagic, kMagicBytes);
    all += static_cast<char>(head.size() & 255);
    all += static_cast<char>(head.size() >> 8);
    all += head;
    all.append(array.bytes.begin(), array.bytes.end());
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (!file)
        return false;
    const bool written = std::fwrite(all.data(), 1, all.size(), file) == all.size();
    return std::fclose(file) == 0 && written;
}
