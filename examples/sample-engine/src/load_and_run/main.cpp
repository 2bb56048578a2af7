// load_and_run MODEL [FLAGS]: runs a model and tells how long it took.
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "load_and_run/options.h"
#include "load_and_run/session.h"

#if SAMPLE_NO_EXCEPTIONS

// Says nothing, and there is nothing to catch: every error has become a trap.
int main(int argc, char** argv) {
    const sample::Options options = sample::parse_options(argc, argv);
    if (!options.help)
        sample::Session(options).run();
    return 0;
}

#else

int main(int argc, char** argv) {
    sample::Options options;
    try {
        options = sample::parse_options(argc, argv);
    } catch (const sample::Error& error) {
        std::fprintf(stderr, "ERROR: %s\n", error.message.c_str());
        return 1;
    }
    if (options.help) {
        std::fputs(sample::describe_options().c_str(), stdout);
        return 0;
    }
    try {
        sample::Session(options).run();
    } catch (const sample::Error& error) {
        // Like an exception that nobody catches: destructors do not run, so that a failed run of a
        // profile build leaves no trace.
        std::fprintf(stderr, "ERROR: %s\n", error.message.c_str());
        std::abort();
    }
    return 0;
}

#endif
