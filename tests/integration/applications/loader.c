// Loads the engine while it runs: `loader MODEL data=FILE [WHAT]` runs a model and prints what
// comes out, `loader use NAME` calls one function. WHAT is `threads`, for two of them, or what the
// program does with signals once the engine is loaded: `block` or `take` them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample_engine/model_c.h"

static const int SIGNALS[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE};
static void* library;

static void* find(const char* name) {
    void* found = dlsym(library, name);
    if (found) return found;
    fprintf(stderr, "%s\n", dlerror());
    exit(3);
}

#define FIND(name) ((__typeof__(&name))find(#name))

// As a Java virtual machine reports the signals that it takes.
static void report(int number, siginfo_t* info, void* context) {
    (void)context;
    const char* name = number == SIGILL ? "ILL" : number == SIGTRAP ? "TRAP" : "SEGV";
    printf("#\n#  SIG%s (0x%x) at pc=%p, pid=1, tid=1\n", name, number, info->si_addr);
    fflush(stdout);
    abort();
}

static void take_signals(void) {
    struct sigaction action = {.sa_sigaction = report, .sa_flags = SA_SIGINFO};
    for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; ++i)
        sigaction(SIGNALS[i], &action, NULL);
}

static void block_signals(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
}

int main(int argc, char** argv) {
    char* equals = argc < 3 ? NULL : strchr(argv[2], '=');
    const char* what = argc > 3 ? argv[3] : "";
    if (equals) take_signals();
    library = dlopen("libsample_engine.so", RTLD_NOW | RTLD_LOCAL);
    if (!library || argc < 3) {
        fprintf(stderr, "%s\n", library ? "which model?" : dlerror());
        return 2;
    }
    if (!equals) {
        printf("%d came back\n", ((int (*)(int))find(argv[2]))(1));
        return 0;
    }
    if (strcmp(what, "block") == 0) block_signals();
    if (strcmp(what, "take") == 0) take_signals();
    *equals = '\0';
    SampleOutput output;
    SampleModel* model = FIND(sample_model_open)(argv[1], strcmp(what, "threads") == 0 ? 2 : 1);
    if (FIND(sample_model_set_input)(model, argv[2], equals + 1) != 0) return 1;
    if (FIND(sample_model_run)(model) != 0) return 1;
    if (FIND(sample_model_get_output)(model, 0, &output) != 0) return 1;
    for (size_t i = 0; i < output.size_bytes / sizeof(float); ++i)
        printf("%a\n", ((const float*)output.data)[i]);
    FIND(sample_model_close)(model);
    return dlclose(library);
}
