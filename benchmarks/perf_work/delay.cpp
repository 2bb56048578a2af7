// Preloaded into load_and_run: each time that its main thread reads its clock, DELAY_US
// microseconds pass first. Busy, as work of the program would be.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {
using Read = int (*)(timeval*, void*);

double read_us() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}
}  // namespace

extern "C" int gettimeofday(timeval* time, void* zone) noexcept {
    static const Read original = reinterpret_cast<Read>(dlsym(RTLD_NEXT, "gettimeofday"));
    static const char* const given = std::getenv("DELAY_US");
    static const double delay = given ? std::atof(given) : 0;
    if (delay > 0 && gettid() == getpid())
        for (const double end = read_us() + delay; read_us() < end;) {
        }
    return original(time, zone);
}
