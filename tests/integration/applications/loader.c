// Loads the engine while it runs: `loader MODEL data=FILE` runs a model and prints what comes out,
// `loader use NAME` calls one function.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample_engine/model_c.h"

static void* library;

static void* find(const char* name) {
    void* found = dlsym(library, name);
    if (found) return found;
    fprintf(stderr, "%s\n", dlerror());
    exit(3);
}

#define FIND(name) ((__typeof__(&name))find(#name))

int main(int argc, char** argv) {
    char* equals = argc < 3 ? NULL : strchr(argv[2], '=');
    library = dlopen("libsample_engine.so", RTLD_NOW | RTLD_LOCAL);
    if (!library || argc < 3) {
        fprintf(stderr, "%s\n", library ? "which model?" : dlerror());
        return 2;
    }
    if (!equals) {
        printf("%d came back\n", ((int (*)(int))find(argv[2]))(1));
        return 0;
    }
    *equals = '\0';
    SampleOutput output;
    SampleModel* model = FIND(sample_model_open)(argv[1], 1);
    if (FIND(sample_model_set_input)(model, argv[2], equals + 1) != 0) return 1;
    if (FIND(sample_model_run)(model) != 0) return 1;
    if (FIND(sample_model_get_output)(model, 0, &output) != 0) return 1;
    for (size_t i = 0; i < output.size_bytes / sizeof(float); ++i)
        printf("%a\n", ((const float*)output.data)[i]);
    FIND(sample_model_close)(model);
    return dlclose(library);
}
