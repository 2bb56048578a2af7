#include "base/file.h"
#include "graph/algo_chooser.h"

MIDOUT_DECL(sample_algo_cache)

namespace sample {
namespace {

constexpr char kHeading[] = "sample algorithm cache v1";
constexpr char kArrow[] = " -> ";

}  // namespace

void AlgoCache::read(const std::string& path) {
    MIDOUT_BEGIN(sample_algo_cache, midout_iv("AlgoCache::read"_hash)) {
        const std::vector<char> content = read_file(path);
        std::string line;
        int number = 0;
        for (char character : content) {
            if (character != '\n') {
                line += character;
                continue;
            }
            const size_t arrow = line.find(kArrow);
            if (++number == 1) {
                SAMPLE_CHECK(line == kHeading, "%s: is no algorithm cache", path.c_str());
            } else {
                SAMPLE_CHECK(arrow != line.npos, "%s:%d: no algorithm", path.c_str(), number);
                put(line.substr(0, arrow), line.substr(arrow + sizeof kArrow - 1));
            }
            line.clear();
        }
        SAMPLE_CHECK(number > 0 && line.empty(), "%s: ends early", path.c_str());
    }
    MIDOUT_END();
}

void AlgoCache::write(const std::string& path) const {
    MIDOUT_BEGIN(sample_algo_cache, midout_iv("AlgoCache::write"_hash)) {
        std::string content = std::string(kHeading) + "\n";
        for (const auto& entry : m_names)
            content += entry.first + kArrow + entry.second + "\n";
        write_file(path, content);
    }
    MIDOUT_END();
}

const std::string* AlgoCache::find(const std::string& key) const {
    const auto found = m_names.find(key);
    return found == m_names.end() ? nullptr : &found->second;
}

}  // namespace sample
