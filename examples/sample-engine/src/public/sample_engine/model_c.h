/* The engine as a library for C, and for whatever calls C: see model.h for what the parts mean.
 *
 * A function that returns an int returns 0, or -1 if it did not succeed. In a build without
 * exceptions an error is a trap. */
#ifndef SAMPLE_ENGINE_MODEL_C_H
#define SAMPLE_ENGINE_MODEL_C_H

#include <stddef.h>

#define SAMPLE_ENGINE_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SampleModel SampleModel;

enum SampleType { SAMPLE_FLOAT32, SAMPLE_INT8, SAMPLE_INT32 };

/* Of the last run, until the next one. */
typedef struct SampleOutput {
    const char* name;
    enum SampleType type;
    const void* data;
    size_t size_bytes;
} SampleOutput;

/* NULL if it did not succeed. */
SAMPLE_ENGINE_C_API SampleModel* sample_model_open(const char* path, int threads);
SAMPLE_ENGINE_C_API void sample_model_close(SampleModel* model);
SAMPLE_ENGINE_C_API int sample_model_set_input(
        SampleModel* model, const char* name, const char* npy);
SAMPLE_ENGINE_C_API int sample_model_run(SampleModel* model);
SAMPLE_ENGINE_C_API size_t sample_model_count_outputs(const SampleModel* model);
SAMPLE_ENGINE_C_API int sample_model_get_output(
        const SampleModel* model, size_t index, SampleOutput* output);
/* Why the last call of this thread did not succeed. */
SAMPLE_ENGINE_C_API const char* sample_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
