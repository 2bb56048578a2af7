#include "base/file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace sample {

std::vector<char> read_file(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    SAMPLE_CHECK(file, "%s: cannot be read: %s", path.c_str(), std::strerror(errno));
    std::vector<char> content;
    char block[4096];
    size_t got;
    while (content.size() <= kMaxFileBytes && (got = std::fread(block, 1, sizeof block, file)) > 0)
        content.insert(content.end(), block, block + got);
    const bool failed = std::ferror(file) != 0;
    std::fclose(file);
    SAMPLE_CHECK(!failed, "%s: cannot be read", path.c_str());
    SAMPLE_CHECK(content.size() <= kMaxFileBytes, "%s: is too large", path.c_str());
    return content;
}

void write_file(const std::string& path, const std::string& content) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    SAMPLE_CHECK(file, "%s: cannot be written: %s", path.c_str(), std::strerror(errno));
    const size_t written = std::fwrite(content.data(), 1, content.size(), file);
    const bool closed = std::fclose(file) == 0;
    SAMPLE_CHECK(written == content.size() && closed, "%s: cannot be written", path.c_str());
}

bool file_exists(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file)
        std::fclose(file);
    return file != nullptr;
}

}  // namespace sample
