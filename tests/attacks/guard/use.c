// One way to need what was left out; it prints what came of it, and ends with 0 if all is well.
#include "codec.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef BY_DLOPEN
#define BY_POINTER(name, result, arguments) static __typeof__(name)* p_##name;
CODEC_ALL(BY_POINTER)
#define codec_open p_codec_open
#define codec_close p_codec_close
#define codec_works p_codec_works
#define codec_asks p_codec_asks
#define codec_sums p_codec_sums
#define codec_pair p_codec_pair
#define codec_half p_codec_half
#define codec_version p_codec_version
#define codec_first p_codec_first
#define codec_middle p_codec_middle
#define codec_local p_codec_local
#define codec_deep p_codec_deep
#define codec_locked p_codec_locked
#define codec_twice_locked p_codec_twice_locked
#define codec_many_locked p_codec_many_locked
#define codec_static p_codec_static
#define codec_throws p_codec_throws
#define codec_sorts p_codec_sorts
#define codec_calls p_codec_calls
#define codec_many p_codec_many
#define codec_numbers p_codec_numbers
#define codec_wide p_codec_wide
#define codec_large p_codec_large
#define codec_rounds p_codec_rounds
#define codec_joins p_codec_joins
#define codec_made p_codec_made
#define codec_refuses p_codec_refuses
#endif
typedef const char* (*names_it)(void);
typedef int (*asks_it)(codec*, codec_call, void*, int);
typedef int (*fails_it)(codec*, int);
static names_it megtrim_missing;
static void* library;
static void load(void) {
#ifdef BY_DLOPEN
    library = dlopen("./libcodec.so", RTLD_NOW);
    if (!library) puts(dlerror()), exit(9);
#define FIND(name, result, arguments) p_##name = (__typeof__(p_##name))dlsym(library, #name);
    CODEC_ALL(FIND)
    megtrim_missing = (names_it)dlsym(library, "megtrim_missing");
#else
    megtrim_missing = (names_it)dlsym(RTLD_DEFAULT, "megtrim_missing");
#endif
    if (!megtrim_missing) puts("it has no guards"), exit(9);
}
static int bad;
static void expect(int holds, const char* what) {
    if (holds) return;
    printf("BAD %s (%s)\n", what, megtrim_missing());
    bad = 1;
}
/* What each failed call must look like: an error, its name, an unusable handle; the next works. */
static void failed(int got, codec* of, const char* name) {
    expect(got == CODEC_ERROR, "no error");
    expect(strstr(megtrim_missing(), name) != NULL, name);
    expect(codec_works(of, 1) == CODEC_ERROR, "the handle is usable");
    expect(strstr(megtrim_missing(), "not usable") != NULL, "does not say so");
    codec_close(of);
    codec* next = codec_open();
    expect(next && next != of, "the handle is used again");
    expect(codec_works(next, 41) == 42, "the next does not work");
    expect(!*megtrim_missing(), "an old name");
    codec_close(next);
}
static int inner(void* with, codec* of, int number) {
    codec* own = codec_open();
    (void)with, (void)of;
    failed(codec_first(own, number), own, "left_out_one");
    return 5;
}
static int working(void* with, codec* of, int number) {
    (void)with;
    return codec_works(of, number);
}

static void nothing(codec* of) {
    for (int i = 0; i < 1000; ++i) expect(codec_works(of, i) == i + 1, "it fails");
    pair got = codec_pair(of, 21);
    expect(got.first == 21 && got.second == 42, "a pair is lost");
    expect(codec_half(of, 5) == 2.5, "a number is lost");
    expect(codec_sums(of, 9, 1., 2., 3., 4., 5., 6., 7., 8., 9.) == 45, "arguments are lost");
    expect(codec_version() == 12, "an export without a guard");
}
static void first(codec* of) { failed(codec_first(of, 3), of, "left_out_one"); }
static void middle(codec* of) { failed(codec_middle(of, 3), of, "left_out_two"); }
static void local(codec* of) { failed(codec_local(of, 3), of, "left_out_alone"); }
static void deep(codec* of) { failed(codec_deep(of, 3), of, "left_out_one"); }
static void locked(codec* of) { failed(codec_locked(of, 3), of, "left_out_two"); }
static void two_locks(codec* of) { failed(codec_twice_locked(of, 3), of, "left_out_two"); }
static void forty_locks(codec* of) {
    failed(codec_many_locked(of, 3), of, "left_out_two");
    codec* other = codec_open();
    failed(codec_many_locked(other, 3), other, "left_out_two");
}
static void in_static(codec* of) {
    failed(codec_static(of, 3), of, "left_out_one");
    codec* other = codec_open();
    failed(codec_static(other, 3), other, "left_out_one");
}
static void throws(codec* of) {
    failed(codec_throws(of, 3), of, "left_out_one");
    codec* other = codec_open();
    expect(codec_throws(other, 0) == 22, "a static was made twice");
}
static void sorts(codec* of) { failed(codec_sorts(of, 3), of, "left_out_order"); }
static void behind_callback(codec* of) {
    failed(codec_calls(of, working, NULL, 3), of, "left_out_one");
}
static void in_callback(codec* of) {
    expect(codec_asks(of, inner, NULL, 3) == 6, "the outer call failed");
    expect(codec_works(of, 6) == 7, "the outer handle failed");
}
static void in_callback_and_itself(codec* of) {
    failed(codec_calls(of, inner, NULL, 3), of, "left_out_one");
}
static int nested(void* with, codec* of, int number) {
    if (number == 0) return inner(with, of, number);
    return codec_asks(of, nested, with, number - 1);
}
static void hundreds_nested(codec* of) {
    expect(codec_asks(of, nested, NULL, 300) == 306, "an outer call failed");
}
static void many_arguments(codec* of) {
    expect(codec_many(of, 1, 2, 3, 4, 5, 6, 7, 8, 9) == 4500, "arguments are lost");
    failed(codec_many(of, 1, 2, 3, 4, 5, 6, 7, 8, 10), of, "left_out_two");
}
static void numbers(codec* of) {
    expect(codec_numbers(of, 2, 3, 4) == 2400, "arguments are lost");
    failed(codec_numbers(of, 1, 1, 1), of, "left_out_one");
}
static void wide(codec* of) { failed(codec_wide(of, 3), of, "left_out_one"); }
static void large(codec* of) { failed(codec_large(of, 3), of, "left_out_two"); }
static void rounds(codec* of) {
    volatile double one = 1;
    volatile double before = one / 3;
    failed(codec_rounds(of, 3), of, "left_out_one");
    expect(one / 3 == before, "it rounds another way");
}
static void joins(codec* of) {
    codec* other = codec_open();
    failed(codec_joins(3, of, other), of, "left_out_one");
    expect(codec_works(other, 1) == CODEC_ERROR, "the second handle is usable");
}
static void makes(codec* of) {
    expect(codec_made(3) == NULL, "no error");
    expect(!strcmp(megtrim_missing(), "left_out_two"), "left_out_two");
    expect(codec_works(of, 3) == 4, "it does not work");
}
static void twice(codec* of) {
    failed(codec_first(of, 3), of, "left_out_one");
    codec* other = codec_open();
    failed(codec_middle(other, 3), other, "left_out_two");
}
static void two_handles(codec* of) {
    codec* other = codec_open();
    failed(codec_first(of, 3), of, "left_out_one");
    expect(codec_works(other, 6) == 7, "the other handle fails");
}
static void hundreds(codec* of) {
    (void)of;
    for (int i = 0; i < 200; ++i) {
        codec* each = codec_open();
        if (i % 2) failed(codec_locked(each, i), each, "left_out_two");
        else failed(codec_deep(each, i), each, "left_out_one");
    }
}
static void too_many(codec* of) {
    for (int i = 0; i < 512; ++i) codec_first(codec_open(), i);
    expect(codec_works(of, 6) == 7, "a handle fails too early");
    expect(codec_first(of, 6) == CODEC_ERROR, "no error");
    expect(codec_works(codec_open(), 6) == CODEC_ERROR, "it is not known which handle is usable");
    expect(strstr(megtrim_missing(), "too many") != NULL, "does not say so");
}
static void* in_thread(void* with) {
    for (int i = 0; i < 50; ++i) {
        codec* of = codec_open();
        if (with) failed(codec_locked(of, i), of, "left_out_two");
        else failed(codec_first(of, i), of, "left_out_one");
    }
    return NULL;
}
static void in_threads(void* with) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) pthread_create(threads + i, NULL, in_thread, with);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}
static void threads(codec* of) { (void)of, in_threads(NULL); }
static void locked_threads(codec* of) { in_threads(of); }
static void* exits(void* with) {
    codec* of = codec_open();
    (void)with;
    if (codec_asks(of, working, NULL, 3) != 5) return NULL;
    failed(codec_first(of, 3), of, "left_out_one");
    pthread_exit((void*)1);
}
static void forty_threads(codec* of) {
    for (int i = 0; i < 40; ++i) {
        pthread_t thread;
        void* well = NULL;
        pthread_create(&thread, NULL, exits, NULL);
        pthread_join(thread, &well);
        expect(well != NULL, "a thread failed");
    }
    expect(codec_works(of, 6) == 7, "it does not work");
}

static volatile sig_atomic_t handled;
static void handler(int number) {
    (void)number;
    codec* of = codec_open();
    failed(codec_deep(of, 1), of, "left_out_one");
    ++handled;
}
static void counting(int number) {
    (void)number;
    ++handled;
}
static void in_handler(codec* of) {
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    expect(handled == 1, "it was not handled");
    failed(codec_first(of, 3), of, "left_out_one");
}
static void on_own_stack(codec* of) {
    static char stack[1 << 16];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    stack_t after;
    struct sigaction action = {.sa_flags = SA_ONSTACK};
    action.sa_handler = handler;
    sigaltstack(&own, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    failed(codec_locked(of, 3), of, "left_out_two");
    raise(SIGUSR1);
    sigaltstack(NULL, &after);
    expect(handled == 2, "it was not handled");
    expect(after.ss_sp == stack && !after.ss_flags, "the signal stack changed");
}
static const int FATAL[] = {SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGABRT};
/* No signal is involved: a crash reporter's handlers are never called, and stay. */
static void expect_unused(void) {
    for (unsigned at = 0; at < sizeof FATAL / sizeof *FATAL; ++at) {
        struct sigaction now;
        sigaction(FATAL[at], NULL, &now);
        expect(now.sa_handler == counting, "the handler changed");
    }
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    expect(!sigismember(&blocked, SIGSEGV), "a signal is blocked");
    expect(handled == 0, "a handler was called");
}
static void take_signals(void) {
    for (unsigned at = 0; at < sizeof FATAL / sizeof *FATAL; ++at) signal(FATAL[at], counting);
}
static void handlers_before(codec* of) {
    failed(codec_locked(of, 3), of, "left_out_two");
    expect_unused();
}
static void handlers_after(codec* of) {
    failed(codec_first(of, 3), of, "left_out_one");
    take_signals();
    codec* other = codec_open();
    failed(codec_locked(other, 3), other, "left_out_two");
    expect_unused();
}
static void in_child(codec* of) {
    int status = 0;
    int child = fork();
    if (!child) {
        failed(codec_locked(of, 3), of, "left_out_two");
        _exit(bad);
    }
    waitpid(child, &status, 0);
    expect(status == 0, "the child died");
    failed(codec_first(of, 3), of, "left_out_one");
}
static int forks(void* with, codec* of, int number) {
    int status = 0;
    int child = fork();
    (void)with;
    if (!child) {
        codec* own = codec_open();
        failed(codec_first(own, number), own, "left_out_one");
        expect(codec_works(of, 1) == 2, "the outer handle fails");
        return 5;
    }
    waitpid(child, &status, 0);
    expect(status == 0, "the child died");
    return 5;
}
static void fork_in_callback(codec* of) { expect(codec_asks(of, forks, NULL, 3) == 6, "it failed"); }
static void closes(codec* of) {
    failed(codec_locked(of, 3), of, "left_out_two");
    for (int i = 0; i < 20; ++i) {
        if (library) dlclose(library);
        load();
        codec* own = codec_open();
        failed(codec_locked(own, 3), own, "left_out_two");
    }
}
/* The other library's codec calls this one: each names its own. */
static int into_this(void* with, codec* of, int number) {
    (void)of;
    int got = codec_first((codec*)with, number);
    expect(got == CODEC_ERROR, "no error");
    expect(!strcmp(megtrim_missing(), "left_out_one"), "left_out_one");
    return 5;
}
static void two_libraries(codec* of) {
    void* other = dlopen("./libother.so", RTLD_NOW | RTLD_LOCAL);
    expect(other != NULL, "there is no other library");
    if (!other) return;
    names_it names = (names_it)dlsym(other, "megtrim_missing");
    codec* (*opens)(void) = (codec * (*)(void)) dlsym(other, "codec_open");
    asks_it asks = (asks_it)dlsym(other, "codec_asks");
    fails_it fails = (fails_it)dlsym(other, "codec_locked");
    codec* theirs = opens();
    expect(asks(theirs, into_this, of, 3) == 6, "the outer library failed");
    expect(fails(theirs, 3) == CODEC_ERROR, "no error");
    expect(!strcmp(names(), "left_out_two"), "the other library's name");
    expect(codec_works(codec_open(), 41) == 42, "this library fails");
}
/* How the library refuses by itself. */
static void refuses(codec* of, int how, const char* said, const char* text) {
    int got = codec_refuses(of, how, said);
    expect(!strcmp(megtrim_missing(), text), text);
    failed(got, of, text);
}
static void gives_up(codec* of) { refuses(of, 1, "", "refused by gives_up"); }
static void with_message(codec* of) {
    refuses(of, 2, "the header is damaged", "refused by gives_up_with: the header is damaged");
}
static void with_format(codec* of) {
    refuses(of, 3, "sizes", "refused by gives_up_like_printf: sizes: 1 2 3 4 5 6 7 8 9 1.25");
}
static void in_cxx(codec* of) {
    refuses(of, 4, "size > 3", "refused by engine::check_failed: size > 3");
}
static void by_local(codec* of) { refuses(of, 5, "so", "refused by gives_up_alone"); }
static void by_library(codec* of) {
    refuses(of, 6, "vector", "refused by std::__throw_length_error: vector");
}
static void no_text(codec* of) {
    const char* said = "a\033]0;b\007\nc\r\xe2\x80\xae" "d\xc2\x9b";
    refuses(of, 2, said, "refused by gives_up_with: a?]0;b? c????d??");
}
static void no_end(codec* of) {
    char* said = (char*)malloc(100001);
    memset(said, 'x', 100000);
    said[100000] = 0;
    expect(codec_refuses(of, 2, said) == CODEC_ERROR, "no error");
    expect(strlen(megtrim_missing()) == 255, "its length");
    codec* other = codec_open();
    expect(codec_refuses(other, 3, said) == CODEC_ERROR, "no error");
    expect(strlen(megtrim_missing()) == 255, "its length");
    free(said);
}
static void percents(codec* of) {
    refuses(of, 2, "%s%n%s%n%1000d", "refused by gives_up_with: %s%n%s%n%1000d");
    codec* other = codec_open();
    refuses(other, 3, "%s%n", "refused by gives_up_like_printf: %s%n: 1 2 3 4 5 6 7 8 9 1.25");
}
static void null_message(codec* of) { refuses(of, 2, NULL, "refused by gives_up_with"); }
static void crashes(codec* of) {
    const int ends[] = {SIGSEGV, SIGABRT};
    for (int how = 7; how <= 8; ++how) {
        int status = 0;
        int child = fork();
        if (!child) {
            codec_refuses(of, how, "");
            _exit(0);
        }
        waitpid(child, &status, 0);
        expect(WIFSIGNALED(status) && WTERMSIG(status) == ends[how - 7], "it lives");
    }
}
static void* refuses_often(void* with) {
    char said[32];
    char text[64];
    for (int i = 0; i < 200; ++i) {
        snprintf(said, sizeof said, "%d of %p", i, with);
        snprintf(text, sizeof text, "refused by gives_up_with: %s", said);
        codec* of = codec_open();
        expect(codec_refuses(of, 2, said) == CODEC_ERROR, "no error");
        expect(!strcmp(megtrim_missing(), text), text);
    }
    return NULL;
}
static void hundreds_refuse(codec* of) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) pthread_create(threads + i, NULL, refuses_often, threads + i);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    expect(codec_works(of, 6) == 7, "it does not work");
}
static struct {
    const char* name;
    void (*run)(codec* of);
} ways[] = {
    {"gives_up", gives_up},
    {"with_message", with_message},
    {"with_format", with_format},
    {"in_cxx", in_cxx},
    {"by_local", by_local},
    {"by_library", by_library},
    {"no_text", no_text},
    {"no_end", no_end},
    {"percents", percents},
    {"null_message", null_message},
    {"crashes", crashes},
    {"hundreds_refuse", hundreds_refuse},
    {"nothing", nothing},
    {"first", first},
    {"middle", middle},
    {"local", local},
    {"deep", deep},
    {"locked", locked},
    {"two_locks", two_locks},
    {"forty_locks", forty_locks},
    {"static", in_static},
    {"throws", throws},
    {"sorts", sorts},
    {"behind_callback", behind_callback},
    {"in_callback", in_callback},
    {"in_callback_and_itself", in_callback_and_itself},
    {"hundreds_nested", hundreds_nested},
    {"many_arguments", many_arguments},
    {"numbers", numbers},
    {"wide", wide},
    {"large", large},
    {"rounds", rounds},
    {"joins", joins},
    {"makes", makes},
    {"twice", twice},
    {"two_handles", two_handles},
    {"hundreds", hundreds},
    {"too_many", too_many},
    {"threads", threads},
    {"locked_threads", locked_threads},
    {"forty_threads", forty_threads},
    {"in_handler", in_handler},
    {"on_own_stack", on_own_stack},
    {"handlers_before", handlers_before},
    {"handlers_after", handlers_after},
    {"in_child", in_child},
    {"fork_in_callback", fork_in_callback},
    {"closes", closes},
    {"two_libraries", two_libraries},
};
int main(int count, char** words) {
    const char* way = count > 1 ? words[1] : "";
    volatile int kept = 77;
    volatile double number = 2.5;
    int ran = 0;
    int started = getpid();
    alarm(30); /* a hang is a death */
    if (!strcmp(way, "handlers_before")) take_signals();
    load();
    codec* of = codec_open();
    for (unsigned at = 0; at < sizeof ways / sizeof *ways; ++at)
        if (!strcmp(way, ways[at].name)) ways[at].run(of), ran = 1;
    expect(ran, "no such way");
    expect(kept == 77 && number == 2.5, "the caller's own is lost");
    if (getpid() == started) puts(bad ? "bad" : "good");
    return bad;
}
