/* lite-c-functions MODEL INPUT WHAT...
 *
 * Calls each function of MegEngine's C interface, and prints what comes back. WHAT is a function's
 * name or a group: `answered`, `refused` (each needs a build with exceptions, for it returns an
 * error on a CPU) or `timed` (it chooses kernels by the time that they take). INPUT is the name of
 * a float32 input. Files are written to the current folder. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lite-c/global_c.h"
#include "lite-c/network_c.h"
#include "lite-c/tensor_c.h"

#define KEY 0x5a
#define THREADS 2
#define DIMENSIONS 4
#define MAX_NAMES 8
#define MAX_ATTEMPTS 128

static const char *model_path, *input_name;
static char* model;
static size_t model_bytes;
static atomic_int calls;

static void fail(const char* what) {
    fprintf(stderr, "%s: %s\n", what, LITE_get_last_error());
    exit(3);
}

/* What a case needs before its own call. */
#define NEED(call) \
    do { \
        if ((call) != 0) \
            fail(#call); \
    } while (0)

static void read_model(void) {
    FILE* file = fopen(model_path, "rb");
    struct stat about;
    if (!file || fstat(fileno(file), &about) != 0)
        fail(model_path);
    model_bytes = about.st_size;
    model = malloc(model_bytes);
    if (!model || fread(model, 1, model_bytes, file) != model_bytes)
        fail(model_path);
    fclose(file);
}

static LiteNetwork make(void) {
    LiteNetwork network;
    NEED(LITE_make_default_network(&network));
    return network;
}

static LiteNetwork load(LiteNetwork network) {
    NEED(LITE_load_model_from_path(network, model_path));
    return network;
}

static LiteTensor find(LiteNetwork network, const char* name, LiteTensorPhase phase) {
    LiteTensor tensor;
    NEED(LITE_get_io_tensor(network, name, phase, &tensor));
    return tensor;
}

static size_t size_of(LiteTensor tensor) {
    size_t bytes = 0;
    NEED(LITE_get_tensor_total_size_in_byte(tensor, &bytes));
    return bytes;
}

static void* memory_of(LiteTensor tensor) {
    void* memory;
    NEED(LITE_get_tensor_memory(tensor, &memory));
    return memory;
}

static void fill_floats(float* values, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof(float); ++i)
        values[i] = (float)((i * 7) % 23) / 23 - 0.5f;
}

static LiteTensor fill(LiteTensor tensor) {
    fill_floats(memory_of(tensor), size_of(tensor));
    return tensor;
}

static void print_bytes(const void* data, size_t bytes) {
    unsigned long long hash = 14695981039346656037ull;
    for (size_t i = 0; i < bytes; ++i)
        hash = (hash ^ ((const unsigned char*)data)[i]) * 1099511628211ull;
    printf(" %zu bytes %016llx", bytes, hash);
}

static void print_tensor(LiteTensor tensor) {
    print_bytes(memory_of(tensor), size_of(tensor));
}

static LiteTensor output_of(LiteNetwork network) {
    const char* name;
    NEED(LITE_get_output_name(network, 0, &name));
    return find(network, name, LITE_OUTPUT);
}

static void forward(LiteNetwork network) {
    fill(find(network, input_name, LITE_INPUT));
    NEED(LITE_forward(network));
    NEED(LITE_wait(network));
}

/* Runs the network once, prints its output and destroys it. */
static void finish(LiteNetwork network) {
    forward(network);
    print_tensor(output_of(network));
    NEED(LITE_destroy_network(network));
}

/* The same, if what was asked of it succeeded. */
static int finish_after(int result, LiteNetwork network) {
    if (result == 0)
        finish(network);
    return result;
}

static LiteLayout layout_of(size_t first, size_t second) {
    const LiteLayout layout = {.shapes = {first, second}, .ndim = 2, .data_type = LITE_FLOAT};
    return layout;
}

static LiteTensor make_tensor(size_t first, size_t second) {
    const LiteTensorDesc description = {
            .layout = layout_of(first, second), .device_type = LITE_CPU};
    LiteTensor tensor;
    NEED(LITE_make_tensor(description, &tensor));
    return fill(tensor);
}

static int print_new(int result, LiteTensor tensor) {
    if (result == 0) {
        print_tensor(tensor);
        NEED(LITE_destroy_tensor(tensor));
    }
    return result;
}

static void print_file(const char* path) {
    struct stat about;
    printf(" %s %s", path, stat(path, &about) == 0 && about.st_size > 0 ? "written" : "missing");
}

static size_t decrypt(
        const void* from, size_t bytes, const uint8_t* key, size_t key_bytes, const void* to) {
    for (size_t i = 0; to && i < bytes; ++i)
        ((char*)to)[i] = ((const char*)from)[i] ^ key[i % key_bytes];
    return bytes;
}

static void finish_encrypted(const char* method) {
    const uint8_t key = KEY;
    LiteConfig config = *default_config();
    LiteNetwork network;
    char* encrypted = malloc(model_bytes);
    decrypt(model, model_bytes, &key, 1, encrypted);
    config.bare_model_cryption_name = method;
    NEED(LITE_make_network_config(&network, config));
    NEED(LITE_load_model_from_mem(network, encrypted, model_bytes));
    finish(network);
    free(encrypted);
}

static int parse_info(
        const void* info, size_t bytes, const char* name, LiteConfig* config, LiteNetworkIO* io,
        int* device, size_t* threads, int* inplace, int* tensorrt) {
    (void)info, (void)bytes, (void)name, (void)config, (void)io;
    (void)device, (void)threads, (void)inplace, (void)tensorrt;
    return 1;
}

static int on_finish(void) {
    return ++calls;
}

static int on_finish_with(void* data) {
    return ++*(atomic_int*)data;
}

static int on_tensors(const LiteIO* ios, const LiteTensor* tensors, size_t count) {
    for (size_t i = 0; i < count; ++i)
        printf(" %s %zu", ios[i].name, size_of(tensors[i]));
    return on_finish();
}

static int on_tensors_with(
        const LiteIO* ios, const LiteTensor* tensors, size_t count, void* data) {
    on_tensors(ios, tensors, count);
    return on_finish_with(data);
}

static int on_thread(int thread) {
    (void)thread;
    return on_finish();
}

static void* allocate(LiteDeviceType type, int device, size_t bytes, size_t alignment) {
    void* memory = NULL;
    (void)type, (void)device, (void)on_finish();
    return posix_memalign(&memory, alignment < 64 ? 64 : alignment, bytes) ? NULL : memory;
}

static void release(LiteDeviceType type, int device, void* memory) {
    (void)type, (void)device;
    free(memory);
}

static int called(int result) {
    printf(" %s", atomic_exchange(&calls, 0) ? "called" : "not called");
    return result;
}

/* Starts a network that calls back from another thread, and waits for that. */
static int finish_async(int result, LiteNetwork network) {
    if (result != 0)
        return result;
    fill(find(network, input_name, LITE_INPUT));
    NEED(LITE_forward(network));
    for (int i = 0; !calls && i < 10000; ++i)
        usleep(1000);
    print_tensor(output_of(network));
    return called(LITE_destroy_network(network));
}

static int print_ios(int result, const LiteNetworkIO* ios) {
    for (size_t i = 0; result == 0 && i < ios->input_size; ++i)
        printf(" %s %zu", ios->inputs[i].name, ios->inputs[i].config_layout.ndim);
    for (size_t i = 0; result == 0 && i < ios->output_size; ++i)
        printf(" %s %zu", ios->outputs[i].name, ios->outputs[i].config_layout.ndim);
    return result;
}

static int print_names(int result, size_t count, const char* const* names) {
    for (size_t i = 0; result == 0 && i < count; ++i)
        printf(" %s", names[i]);
    return result;
}

static int print_number(int result, long long number) {
    if (result == 0)
        printf(" %lld", number);
    return result;
}

struct attempt {
    const char *name, *group;
    int (*try)(void);
};
static struct attempt attempts[MAX_ATTEMPTS];
static size_t attempt_count;

/* Adds a function to the list, in the order of this file, before main. */
#define IN_GROUP(in, function) \
    static int try_##function(void); \
    __attribute__((constructor)) static void add_##function(void) { \
        attempts[attempt_count++] = (struct attempt){#function, #in, try_##function}; \
    } \
    static int try_##function(void)
#define CASE(function) IN_GROUP(answered, function)
#define REFUSED(function) IN_GROUP(refused, function)
#define TIMED(function) IN_GROUP(timed, function)
#define ASK(function, type, subject) \
    CASE(function) { \
        type found = 0; \
        const int result = function(subject, &found); \
        return print_number(result, (long long)found); \
    }
#define CALL(function, ...) \
    CASE(function) { return function(__VA_ARGS__); }

/* global_c.h */
CASE(LITE_get_version) {
    int major = 0, minor = 0, patch = 0;
    const int result = LITE_get_version(&major, &minor, &patch);
    return print_number(result, major * 1000000 + minor * 1000 + patch);
}
CASE(LITE_get_last_error_code) { return LITE_get_last_error_code(); }
CASE(LITE_clear_last_error) {
    LITE_clear_last_error();
    return LITE_get_last_error_code();
}
CASE(LITE_get_last_error) { return print_number(0, strlen(LITE_get_last_error())); }
ASK(LITE_get_device_count, size_t, LITE_CPU)
CASE(LITE_try_coalesce_all_free_memory) { return LITE_try_coalesce_all_free_memory(); }
CASE(LITE_register_decryption_and_key) {
    const uint8_t key = KEY;
    const int result = LITE_register_decryption_and_key("registered", decrypt, &key, 1);
    if (result == 0)
        finish_encrypted("registered");
    return result;
}
CASE(LITE_update_decryption_or_key) {
    const uint8_t key = KEY, other = KEY + 1;
    NEED(LITE_register_decryption_and_key("updated", decrypt, &other, 1));
    const int result = LITE_update_decryption_or_key("updated", NULL, &key, 1);
    if (result == 0)
        finish_encrypted("updated");
    return result;
}
CALL(LITE_register_parse_info_func, "ours", parse_info)
REFUSED(LITE_set_loader_lib_path) { return LITE_set_loader_lib_path("./no-such-loader.so"); }
CALL(LITE_set_persistent_cache, "set.cache", 0)
REFUSED(LITE_set_tensor_rt_cache) { return LITE_set_tensor_rt_cache("tensorrt.cache"); }
CALL(LITE_set_log_level, ERROR)
CASE(LITE_get_log_level) {
    LiteLogLevel level = DEBUG;
    const int result = LITE_get_log_level(&level);
    return print_number(result, level);
}
CASE(LITE_dump_persistent_cache) {
    NEED(LITE_set_persistent_cache("dump.cache", 0));
    const int result = LITE_dump_persistent_cache("dumped.cache");
    print_file("dumped.cache");
    return result;
}
REFUSED(LITE_dump_tensor_rt_cache) { return LITE_dump_tensor_rt_cache(); }
REFUSED(LITE_register_memory_pair) { return LITE_register_memory_pair(model, model, 1, LITE_CPU, LITE_DEFAULT); }
REFUSED(LITE_clear_memory_pair) { return LITE_clear_memory_pair(model, model, LITE_CPU, LITE_DEFAULT); }
REFUSED(LITE_lookup_physic_ptr) {
    void* found;
    return LITE_lookup_physic_ptr(model, &found, LITE_CPU, LITE_DEFAULT);
}

/* network_c.h */
CASE(default_config) { return print_number(0, default_config()->options.graph_opt_level); }
CASE(default_network_io) { return print_number(0, default_network_io()->input_size); }
CASE(LITE_make_default_network) {
    LiteNetwork network;
    const int result = LITE_make_default_network(&network);
    return finish_after(result, result ? NULL : load(network));
}
CASE(LITE_make_network) {
    LiteIO input = {.name = input_name, .is_host = 1};
    LiteNetworkIO ios = *default_network_io();
    LiteNetwork network;
    ios.inputs = &input;
    ios.input_size = 1;
    const int result = LITE_make_network(&network, *default_config(), ios);
    return finish_after(result, result ? NULL : load(network));
}
CASE(LITE_make_network_config) {
    LiteNetwork network;
    LiteConfig config = *default_config();
    config.options.weight_preprocess = 1;
    const int result = LITE_make_network_config(&network, config);
    return finish_after(result, result ? NULL : load(network));
}
CASE(LITE_load_model_from_mem) {
    LiteNetwork network = make();
    return finish_after(LITE_load_model_from_mem(network, model, model_bytes), network);
}
CASE(LITE_load_model_from_path) {
    LiteNetwork network = make();
    return finish_after(LITE_load_model_from_path(network, model_path), network);
}
CASE(LITE_shared_weight_with_network) {
    LiteNetwork from = load(make()), to = make();
    const int result = finish_after(LITE_shared_weight_with_network(to, from), to);
    NEED(LITE_destroy_network(from));
    return result;
}
CALL(LITE_destroy_network, load(make()))
CASE(LITE_forward) {
    LiteNetwork network = load(make());
    fill(find(network, input_name, LITE_INPUT));
    const int result = LITE_forward(network);
    NEED(LITE_wait(network));
    print_tensor(output_of(network));
    return result;
}
CASE(LITE_wait) {
    LiteNetwork network = load(make());
    fill(find(network, input_name, LITE_INPUT));
    NEED(LITE_forward(network));
    const int result = LITE_wait(network);
    print_tensor(output_of(network));
    return result;
}
CASE(LITE_get_io_tensor) {
    LiteTensor tensor;
    const int result = LITE_get_io_tensor(load(make()), input_name, LITE_IO, &tensor);
    return print_number(result, result ? 0 : (long long)size_of(tensor));
}
CASE(LITE_get_discrete_tensor) {
    LiteConfig config = *default_config();
    LiteNetwork network;
    LiteTensor tensor;
    config.discrete_input_name = input_name;
    NEED(LITE_make_network_config(&network, config));
    load(network);
    const int result =
            LITE_get_discrete_tensor(network, input_name, 0, LITE_INPUT, &tensor);
    if (result == 0) {
        fill(tensor);
        NEED(LITE_forward(network));
        NEED(LITE_wait(network));
        print_tensor(output_of(network));
    }
    return result;
}
CASE(LITE_get_input_name) {
    const char* name;
    return print_names(LITE_get_input_name(load(make()), 0, &name), 1, &name);
}
CASE(LITE_get_output_name) {
    const char* name;
    return print_names(LITE_get_output_name(load(make()), 0, &name), 1, &name);
}
CASE(LITE_get_all_input_name) {
    const char* names[MAX_NAMES];
    size_t count = 0;
    const int result = LITE_get_all_input_name(load(make()), &count, names);
    return print_names(result, count, names);
}
CASE(LITE_get_all_output_name) {
    const char* names[MAX_NAMES];
    size_t count = 0;
    const int result = LITE_get_all_output_name(load(make()), &count, names);
    return print_names(result, count, names);
}
ASK(LITE_is_cpu_inplace_mode, int, make())
ASK(LITE_get_cpu_threads_number, size_t, make())
ASK(LITE_get_device_id, int, load(make()))
ASK(LITE_get_stream_id, int, load(make()))
ASK(LITE_get_device_type, LiteDeviceType, load(make()))
CASE(LITE_get_model_extra_info) {
    const char* info;
    int bytes = 0;
    const int result = LITE_get_model_extra_info(load(make()), &info, &bytes);
    return print_number(result, bytes);
}
#define SET(function, ...) \
    CASE(function) { \
        LiteNetwork network = make(); \
        const int result = function(network, ##__VA_ARGS__); \
        return finish_after(result, result ? NULL : load(network)); \
    }
#define SET_LOADED(function, ...) \
    CASE(function) { \
        LiteNetwork network = load(make()); \
        return finish_after(function(network, ##__VA_ARGS__), network); \
    }
SET(LITE_set_cpu_inplace_mode)
SET(LITE_set_cpu_threads_number, THREADS)
SET(LITE_set_device_id, 0)
SET(LITE_set_stream_id, 1)
SET(LITE_use_tensorrt)
SET(LITE_set_network_algo_policy, LITE_ALGO_HEURISTIC | LITE_ALGO_REPRODUCIBLE)
SET(LITE_set_network_algo_fastrun_config, 1, 1)
SET_LOADED(LITE_set_network_algo_workspace_limit, 1 << 20)
CASE(LITE_set_async_callback) {
    LiteNetwork network = load(make());
    return finish_async(LITE_set_async_callback(network, on_finish), network);
}
CASE(LITE_set_async_callback_with_userdata) {
    LiteNetwork network = load(make());
    return finish_async(
            LITE_set_async_callback_with_userdata(network, on_finish_with, &calls), network);
}
#define CALLED_BACK(function, ...) \
    CASE(function) { \
        LiteNetwork network = load(make()); \
        return called(finish_after(function(network, __VA_ARGS__), network)); \
    }
CALLED_BACK(LITE_set_start_callback, on_tensors)
CALLED_BACK(LITE_set_start_callback_with_userdata, on_tensors_with, &calls)
CALLED_BACK(LITE_set_finish_callback, on_tensors)
CALLED_BACK(LITE_set_finish_callback_with_userdata, on_tensors_with, &calls)
CALLED_BACK(LITE_set_runtime_thread_affinity, on_thread)
CASE(LITE_set_memory_allocator) {
    LiteNetwork network = make();
    const int result = LITE_set_memory_allocator(network, allocate, release);
    return called(finish_after(result, result ? NULL : load(network)));
}
CASE(LITE_share_runtime_memroy) {
    LiteNetwork from = load(make()), to = make();
    /* The header names them the other way round. */
    const int result = LITE_share_runtime_memroy(to, from);
    return finish_after(result, result ? NULL : load(to));
}
CASE(LITE_enable_profile_performance) {
    LiteNetwork network = load(make());
    const int result =
            finish_after(LITE_enable_profile_performance(network, "profile.json"), network);
    print_file("profile.json");
    return result;
}
CASE(LITE_enable_io_txt_dump) {
    LiteNetwork network = load(make());
    const int result = finish_after(LITE_enable_io_txt_dump(network, "dump.txt"), network);
    print_file("dump.txt");
    return result;
}
CASE(LITE_enable_io_bin_dump) {
    LiteNetwork network = load(make());
    mkdir("dump", 0755);
    const int result = finish_after(LITE_enable_io_bin_dump(network, "dump"), network);
    print_file("dump");
    return result;
}
REFUSED(LITE_get_static_memory_alloc_info) {
    LiteNetwork network = load(make());
    forward(network);
    mkdir("memory", 0755);
    const int result = LITE_get_static_memory_alloc_info(network, "memory");
    print_file("memory");
    return result;
}
TIMED(LITE_enable_global_layout_transform) {
    LiteNetwork network = make();
    const int result = LITE_enable_global_layout_transform(network);
    return finish_after(result, result ? NULL : load(network));
}
TIMED(LITE_dump_layout_transform_model) {
    LiteNetwork network = make();
    NEED(LITE_enable_global_layout_transform(network));
    const int result = LITE_dump_layout_transform_model(load(network), "transformed.mge");
    print_file("transformed.mge");
    return result;
}
CASE(LITE_get_model_io_info_by_path) {
    LiteNetworkIO ios = *default_network_io();
    return print_ios(LITE_get_model_io_info_by_path(model_path, *default_config(), &ios), &ios);
}
CASE(LITE_get_model_io_info_by_memory) {
    LiteNetworkIO ios = *default_network_io();
    const int result =
            LITE_get_model_io_info_by_memory(model, model_bytes, *default_config(), &ios);
    return print_ios(result, &ios);
}
SET(LITE_extra_configure, (LiteExtraConfig){.disable_configure_by_model_info = 1})

/* tensor_c.h */
CASE(LITE_make_tensor) {
    const LiteTensorDesc description = {.layout = layout_of(2, 3), .device_type = LITE_CPU};
    LiteTensor tensor;
    const int result = LITE_make_tensor(description, &tensor);
    return print_number(result, result ? 0 : (long long)size_of(tensor));
}
CALL(LITE_destroy_tensor, make_tensor(2, 3))
CASE(LITE_set_tensor_layout) {
    LiteTensor tensor = make_tensor(2, 3);
    const int result = LITE_set_tensor_layout(tensor, layout_of(4, 5));
    return print_new(result, result ? tensor : fill(tensor));
}
CASE(LITE_reset_tensor_memory) {
    static float memory[6];
    LiteTensor tensor = make_tensor(2, 3);
    return print_new(LITE_reset_tensor_memory(tensor, memory, sizeof memory), tensor);
}
CASE(LITE_reset_tensor) {
    static float memory[20];
    LiteTensor tensor = make_tensor(2, 3);
    fill_floats(memory, sizeof memory);
    return print_new(LITE_reset_tensor(tensor, layout_of(4, 5), memory), tensor);
}
CASE(LITE_tensor_reshape) {
    const int shape[] = {3, -1};
    LiteTensor tensor = make_tensor(2, 3);
    return print_new(LITE_tensor_reshape(tensor, shape, 2), tensor);
}
CASE(LITE_tensor_slice) {
    const size_t start[] = {1, 0}, end[] = {4, 5}, step[] = {2, 1};
    LiteTensor slice, all = make_tensor(4, 5), whole = make_tensor(2, 5);
    const int result = LITE_tensor_slice(all, start, end, step, 2, &slice);
    if (result == 0)
        NEED(LITE_tensor_copy(whole, slice));
    return print_new(result, whole);
}
CASE(LITE_tensor_fill_zero) {
    LiteTensor tensor = make_tensor(2, 3);
    return print_new(LITE_tensor_fill_zero(tensor), tensor);
}
CASE(LITE_tensor_copy) {
    LiteTensor from = make_tensor(4, 5), to = make_tensor(2, 3);
    return print_new(LITE_tensor_copy(to, from), to);
}
CASE(LITE_tensor_share_memory_with) {
    LiteTensor from = make_tensor(4, 5), to = make_tensor(2, 3);
    const int result = LITE_tensor_share_memory_with(to, from);
    return print_number(print_new(result, to), size_of(from));
}
CASE(LITE_get_tensor_memory) {
    void* memory;
    LiteTensor tensor = make_tensor(2, 3);
    const int result = LITE_get_tensor_memory(tensor, &memory);
    if (result == 0)
        print_bytes(memory, 6 * sizeof(float));
    return result;
}
CASE(LITE_get_tensor_memory_with_index) {
    const size_t index[] = {1, 1};
    LiteTensor tensor = make_tensor(2, 3);
    void* memory;
    const int result = LITE_get_tensor_memory_with_index(tensor, index, 2, &memory);
    if (result == 0)
        print_bytes(memory, sizeof(float));
    return result;
}
ASK(LITE_get_tensor_total_size_in_byte, size_t, make_tensor(2, 3))
CASE(LITE_get_tensor_layout) {
    LiteLayout layout;
    const int result = LITE_get_tensor_layout(make_tensor(2, 3), &layout);
    return print_number(result, (long long)(layout.shapes[0] * 10 + layout.shapes[1]));
}
ASK(LITE_get_tensor_device_type, LiteDeviceType, make_tensor(2, 3))
ASK(LITE_get_tensor_device_id, int, make_tensor(2, 3))
ASK(LITE_is_pinned_host, int, make_tensor(2, 3))
ASK(LITE_is_memory_continue, int, make_tensor(2, 3))
CASE(LITE_tensor_concat) {
    LiteTensor parts[] = {make_tensor(2, 3), make_tensor(4, 3)}, whole;
    const int result = LITE_tensor_concat(parts, 2, 0, LITE_CPU, 0, &whole);
    return print_new(result, whole);
}

int main(int argc, char** argv) {
    int tried = 0;
    if (argc < 4) {
        fputs("which model, which input, and which functions?\n", stderr);
        return 2;
    }
    model_path = argv[1];
    input_name = argv[2];
    read_model();
    for (size_t i = 0; i < attempt_count; ++i)
        for (int word = 3; word < argc; ++word) {
            const struct attempt* each = &attempts[i];
            if (strcmp(argv[word], each->name) != 0 && strcmp(argv[word], each->group) != 0)
                continue;
            printf("%s:", each->name);
            fflush(stdout);
            const int result = each->try();
            printf(" returned %d%s%s\n", result, result ? ": " : "",
                   result ? LITE_get_last_error() : "");
            ++tried;
        }
    return tried ? 0 : 2;
}
