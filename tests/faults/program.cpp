// Stands in for load_and_run: reads a model, works for a while, dumps an output, writes a trace.
//
//     program MODEL --bin-out-dump FOLDER        with the trace's name in MIDOUT_OUTPUT
//
// Which build it is, and what is wrong with it, stands in `role`, which is written into the
// compiled file: one compilation gives all builds. Like the real thing it does not look at how
// a write went: a full disk tears its files, and it still promises all of them.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <type_traits>
#include <typeinfo>

namespace midout {
template <class... Args>
struct Region {};
namespace tags {
class fault_suite;
}
}  // namespace midout

namespace {

volatile char role[48] = "megtrim-role:plain:sound:------------------";

constexpr int kRegions = 60;
constexpr int kPlanted = 41;
// More than one packet of a link, so that a fault can come between two.
constexpr int kFloats = 600000;

template <int N>
const char* name_of() {
    return typeid(midout::Region<midout::tags::fault_suite, std::integral_constant<int, N>>).name();
}

template <int N>
void write_names(FILE* file, int first, int last) {
    if constexpr (N < kRegions) {
        if (N >= first && N < last) {
            fprintf(file, "%s\n", name_of<N>());
        }
        write_names<N + 1>(file, first, last);
    }
}

bool is(const char* word) {
    char held[sizeof role];
    for (size_t i = 0; i < sizeof role; ++i) {
        held[i] = role[i];
    }
    return strstr(held, word) != nullptr;
}

unsigned long long digest_of(const unsigned char* data, size_t size) {
    unsigned long long value = 1469598103934665603ull;
    for (size_t i = 0; i < size; ++i) {
        value = (value ^ data[i]) * 1099511628211ull;
    }
    return value;
}

// A model is tenths of a second to work for (1 byte), anything, and 8 bytes of digest.
unsigned long long read_model(const char* path, int* tenths) {
    static unsigned char data[16 << 20];
    FILE* file = fopen(path, "rb");
    size_t size = file ? fread(data, 1, sizeof data, file) : 0;
    unsigned long long promised = 0;
    if (size > 8) {
        memcpy(&promised, data + size - 8, 8);
    }
    if (size <= 8 || digest_of(data, size - 8) != promised) {
        fprintf(stderr, "the model is torn: %zu bytes\n", size);
        exit(1);
    }
    *tenths = data[0];
    return promised;
}

void work(int tenths) {
    timespec tenth = {0, 100000000};
    for (int i = 0; i < tenths; ++i) {
        nanosleep(&tenth, nullptr);
        printf("iter %d\n", i);
        fflush(stdout);
    }
}

void dump(const char* folder, unsigned long long seed) {
    char path[4096];
    snprintf(path, sizeof path, "%s/run0-var1", folder);
    static float values[kFloats];
    for (int i = 0; i < kFloats; ++i) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        values[i] = static_cast<float>(seed >> 40);
    }
    if (is(":reduced:parity")) {
        values[kFloats - 1] += 1.0f;
    }
    const char* text = "var1";
    unsigned header[4] = {static_cast<unsigned>(strlen(text)), 0, 1, kFloats};
    FILE* file = fopen(path, "wb");
    if (file) {
        fwrite(header, sizeof header, 1, file);
        fwrite(text, strlen(text), 1, file);
        fwrite(values, sizeof values, 1, file);
        fclose(file);
    }
}

void write_trace() {
    const char* path = getenv("MIDOUT_OUTPUT");
    FILE* file = path ? fopen(path, "wb") : nullptr;
    if (file) {
        fprintf(file, "midout_trace v1\n");
        write_names<0>(file, 0, is(":profile:torn") ? kPlanted : kRegions);
        fclose(file);
    }
    fprintf(stderr, "midout: %d items written to %s\n", kRegions, path ? path : "");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4 || strcmp(argv[2], "--bin-out-dump") != 0) {
        fprintf(stderr, "expected MODEL --bin-out-dump FOLDER\n");
        return 1;
    }
    // There is no core to be kept of a planted end.
    signal(SIGPIPE, SIG_DFL);
    int tenths = 0;
    unsigned long long seed = read_model(argv[1], &tenths);
    work(tenths);
    if (is(":reduced:trap")) {
        __builtin_trap();
    }
    dump(argv[3], seed);
    if (is(":profile")) {
        write_trace();
    }
    return 0;
}
