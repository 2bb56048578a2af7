// Recording: empty in every other mode.
#if defined(MIDOUT_PROFILING)

#include "midout.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

namespace {

// Keeps the mangled names of the regions that ran; its end, at exit, is what writes the trace.
// A run that is killed or aborts therefore leaves none, rather than half of one.
class Recorder {
public:
    ~Recorder() { write(output_file()); }

    void add(const char* mangled) {
        std::lock_guard<std::mutex> guard(m_mutex);
        m_names.insert(mangled);
    }

private:
    static std::string output_file() {
        const char* chosen = std::getenv("MIDOUT_OUTPUT");
        return chosen ? chosen : "midout_trace." + std::to_string(getpid());
    }

    void write(const std::string& path) const {
        FILE* file = std::fopen(path.c_str(), "w");
        if (!file) {
            std::fprintf(stderr, "midout: cannot write %s: %s\n", path.c_str(), strerror(errno));
            return;
        }
        std::fputs("midout_trace v1\n", file);
        for (const std::string& name : m_names)
            std::fprintf(file, "%s\n", name.c_str());
        std::fclose(file);
        std::fprintf(stderr, "midout: %zu items written to %s\n", m_names.size(), path.c_str());
    }

    std::mutex m_mutex;
    std::set<std::string> m_names;
};

}  // namespace

void midout::record(const std::type_info& region) {
    static Recorder recorder;
    recorder.add(region.name());
}

#endif
