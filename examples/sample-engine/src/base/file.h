// Whole files, of bounded size.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sample {

constexpr size_t kMaxFileBytes = size_t(64) << 20;

std::vector<char> read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);
bool file_exists(const std::string& path);

}  // namespace sample
