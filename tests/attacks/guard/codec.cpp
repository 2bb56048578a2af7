// A library of which some functions are left out: see test_guard.py.
#include "codec.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline, noclone, noipa))
#define OWN __attribute__((visibility("hidden"))) APART
#ifdef __clang__
#undef APART
#define APART __attribute__((noinline, optnone))
#endif
struct codec {
    int number;
    pthread_mutex_t lock;
};
static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;
extern "C" {
OWN int left_out_one(codec* of, int number) { return of ? of->number * number : number; }
OWN int left_out_two(codec* of, int number) { return left_out_one(of, number + 1) * 2; }
OWN int left_out_order(const void* one, const void* two) { return *(const int*)one - *(const int*)two; }
codec* codec_open(void) {
    codec* made = (codec*)calloc(1, sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    return made;
}
void codec_close(codec* of) { free(of); }
int codec_version(void) { return 12; }
/* How it refuses. */
OWN __attribute__((noreturn)) void gives_up(void) { abort(); }
OWN __attribute__((noreturn)) void gives_up_with(int code, const char* said) {
    if (code != 7 || *said) abort();
    for (;;) {}
}
OWN __attribute__((noreturn)) void gives_up_like_printf(codec* of, const char* format, ...) {
    (void)of;
    if (*format) abort();
    for (;;) {}
}
}
namespace engine {
OWN __attribute__((noreturn)) void check_failed(const char* file, int line, const char* said) {
    if (line && *file && said) abort();
    for (;;) {}
}
}  // namespace engine
namespace std {
void __throw_length_error(const char*) __attribute__((noreturn));
}
extern "C" {
static APART __attribute__((noreturn)) void gives_up_alone(int code, const char* said) {
    volatile int number = code;
    if (number && *said) abort();
    for (;;) {}
}
int codec_refuses(codec* of, int how, const char* said) {
    pthread_mutex_lock(&all);
    of->number = how;
    switch (how) {
        case 1: gives_up();
        case 2: gives_up_with(7, said);
        case 3:
            gives_up_like_printf(of, "%s: %d %d %d %d %d %d %d %d %d %.2f", said, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1.25);
        case 4: engine::check_failed("codec.cpp", 12, said);
        case 5: gives_up_alone(how, said);
        case 6: std::__throw_length_error(said);
        case 7: *(volatile int*)8 = how; break;
        case 8: abort();
    }
    pthread_mutex_unlock(&all);
    return how;
}
int codec_works(codec* of, int number) {
    pthread_mutex_lock(&all);
    of->number = number;
    pthread_mutex_unlock(&all);
    return number + 1;
}
pair codec_pair(codec* of, int number) {
    pair made = {number, number * 2L + !of};
    return made;
}
double codec_half(codec* of, double number) { return number / 2 + !of; }
int codec_first(codec* of, int number) { return left_out_one(of, number) + 1; }
int codec_middle(codec* of, int number) {
    of->number += number;
    void* held = malloc(64);
    int got = number > 1000 ? number : left_out_two(of, number) * 2;
    free(held);
    return got;
}
static APART int left_out_alone(codec* of, int number) {
    volatile int sum = 0;
    for (int i = 0; i < number; ++i) sum = sum + i * of->number;
    return sum;
}
int codec_local(codec* of, int number) { return left_out_alone(of, number) + 1; }
static APART int deep(codec* of, int number) {
    volatile char used[256];
    memset((void*)used, number, sizeof used);
    if (number == 0) return left_out_one(of, number) + used[3];
    return deep(of, number - 1) + used[1];
}
int codec_deep(codec* of, int number) { return deep(of, 100) + number; }
int codec_locked(codec* of, int number) {
    pthread_mutex_lock(&all);
    int got = left_out_two(of, number);
    pthread_mutex_unlock(&all);
    return got + 1;
}
int codec_twice_locked(codec* of, int number) {
    pthread_mutex_lock(&all);
    pthread_mutex_lock(&of->lock);
    int got = left_out_two(of, number);
    pthread_mutex_unlock(&of->lock);
    pthread_mutex_unlock(&all);
    return got + 1;
}
static pthread_mutex_t many[40];
int codec_many_locked(codec* of, int number) {
    for (pthread_mutex_t& each : many) pthread_mutex_lock(&each);
    int got = left_out_two(of, number);
    for (pthread_mutex_t& each : many) pthread_mutex_unlock(&each);
    return got + 1;
}
int codec_static(codec* of, int number) {
    static int made = left_out_one(of, number);
    return made + 1;
}
static int times_made;
static APART int throw_once(void) {
    if (++times_made == 1) throw 3;
    return times_made;
}
static APART int make_once(void) {
    static int made = throw_once();
    return made;
}
/* Its static throws, is made by the second try, and must not be made once more. */
int codec_throws(codec* of, int number) {
    try {
        make_once();
    } catch (int) {
        make_once();
    }
    return number == 0 ? make_once() * 10 + times_made : left_out_one(of, number);
}
int codec_sorts(codec* of, int number) {
    int numbers[64];
    for (int i = 0; i < 64; ++i) numbers[i] = number * i % 7;
    qsort(numbers, 64, sizeof *numbers, left_out_order);
    return numbers[0] + of->number;
}
int codec_calls(codec* of, codec_call call, void* with, int number) {
    pthread_mutex_lock(&all);
    pthread_mutex_unlock(&all);
    return call(with, of, number) + left_out_one(of, number);
}
int codec_asks(codec* of, codec_call call, void* with, int number) { return call(with, of, number) + 1; }
int codec_many(codec* of, int b, int c, int d, int e, int f, int g, int h, int i, int j) {
    if (b + c + d + e + f + g + h + i + j == 45 && of) return 4500;
    return left_out_two(of, j);
}
int codec_sums(codec* of, int count, ...) {
    va_list list;
    va_start(list, count);
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += va_arg(list, double);
    va_end(list);
    return (int)sum + !of;
}
int codec_numbers(codec* of, double a, double b, float c) {
    return a * b * c == 24 ? 2400 : left_out_one(of, (int)a);
}
int codec_wide(codec* of, int number) {
    volatile double a = number, b = a * 2, c = b * 2, d = c * 2;
    int got = left_out_one(of, number);
    return (int)(a + b + c + d) + got;
}
int codec_large(codec* of, int number) {
    volatile char large[100000];
    large[number] = 1;
    return left_out_two(of, number) + large[number];
}
int codec_rounds(codec* of, int number) {
#if defined(__x86_64__)
    unsigned way = 0x7f80;
    __asm__ volatile("ldmxcsr %0" : : "m"(way));
#else
    unsigned long way = 3ul << 22;
    __asm__ volatile("msr fpcr, %0" : : "r"(way));
#endif
    return left_out_one(of, number) + 1;
}
int codec_joins(int number, codec* one, codec* two) { return left_out_one(one, number) + two->number; }
codec* codec_made(int number) {
    codec* made = codec_open();
    made->number = left_out_two(made, number);
    return made;
}
}
