/* sample-in-c MODEL INPUT=FILE.npy [threads=N]
 *
 * Runs a model once through the engine's C interface and prints the size of each output, and the
 * sum of its bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample_engine/model_c.h"

static int fail(const char* what) {
    fprintf(stderr, "%s: %s\n", what, sample_last_error());
    return 1;
}

static void print_output(const SampleOutput* output) {
    unsigned long sum = 0;
    for (size_t i = 0; i < output->size_bytes; ++i)
        sum += ((const unsigned char*)output->data)[i];
    printf("%s: %zu bytes, sum %lu\n", output->name, output->size_bytes, sum);
}

int main(int argc, char** argv) {
    char* equals = argc < 3 ? NULL : strchr(argv[2], '=');
    if (!equals) {
        fputs("which model, and which input?\n", stderr);
        return 2;
    }
    *equals = '\0';
    const int named = argc > 3 && strncmp(argv[3], "threads=", 8) == 0;
    SampleModel* model = sample_model_open(argv[1], named ? atoi(argv[3] + 8) : 1);
    if (!model)
        return fail(argv[1]);
    if (sample_model_set_input(model, argv[2], equals + 1) != 0)
        return fail(argv[2]);
    if (sample_model_run(model) != 0)
        return fail("run");
    SampleOutput output;
    for (size_t i = 0; i < sample_model_count_outputs(model); ++i) {
        if (sample_model_get_output(model, i, &output) != 0)
            return fail("output");
        print_output(&output);
    }
    sample_model_close(model);
    return 0;
}
