// What is probed in tests. Its argument says what runs; a function that is named after an
// argument runs with that one alone, `always_` with each and `never_` with none.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define APART __attribute__((noinline, used))
// In a program of Thumb code some functions are Arm code.
#if defined(__thumb__)
#define IN_ARM __attribute__((target("arm")))
#else
#define IN_ARM
#endif

static volatile int sink, one = 1;

// Two functions of one body: the second is entered within the first, and left behind it again.
#if defined(__aarch64__)
__asm__(".text\n.globl share_outer, share_inner\n"
        ".type share_outer, %function\n.type share_inner, %function\n"
        "share_outer: cbz w0, 1f\n nop\nshare_inner: add w0, w0, #1\n1: ret\n"
        ".size share_inner, .-share_inner\n.size share_outer, .-share_outer\n");
#elif defined(__arm__)
__asm__(".text\n.arm\n.p2align 2\n.globl share_outer, share_inner\n"
        ".type share_outer, %function\n.type share_inner, %function\n"
        "share_outer: cmp r0, #0\n beq 1f\nshare_inner: add r0, r0, #1\n1: bx lr\n"
        ".size share_inner, .-share_inner\n.size share_outer, .-share_outer\n"
#if defined(__thumb__)
        ".thumb\n"
#endif
);
#else
__asm__(".text\n.globl share_outer, share_inner\n"
        ".type share_outer, @function\n.type share_inner, @function\n"
        "share_outer: movl %edi, %eax\n testl %edi, %edi\n je 1f\n"
        "share_inner: leal 1(%rdi), %eax\n1: ret\n"
        ".size share_inner, .-share_inner\n.size share_outer, .-share_outer\n");
#endif
extern "C" int share_outer(int), share_inner(int);

extern "C" {
APART int always_before_main(int x) { return x + 1; }
APART IN_ARM int always_in_main(int x) { return x + 2; }
APART int never_one(int x) { return x * 3; }
APART IN_ARM int never_two(int x) { return never_one(x) * 5; }
APART IN_ARM int threads_each(int x) { return x + 3; }
APART int signals_blocked(int x) { return x + 4; }
APART int signals_in_handler(int x) { return x + 5; }
APART int signals_behind_another(int x) { return x + 6; }
APART int fork_in_child(int x) { return x + 7; }
APART int alias_of_one(int) __attribute__((alias("always_in_main")));
APART void always_at_exit() { sink = 8; }
APART void never_empty() { __builtin_unreachable(); }
APART void crash_at_last() { abort(); }
APART void trap_at_last() { __builtin_trap(); }
APART IN_ARM void signals_handler(int) { sink = signals_in_handler(1); }
}

namespace {
const int at_start = always_before_main(one);

struct Shape {
    virtual ~Shape() = default;
    virtual int area() const { return 1; }
    virtual int edge() const { return 2; }
};
struct Square : Shape {
    int area() const override { return 4; }
    int edge() const override { return 8; }
};

APART IN_ARM void throwing(const std::string& what) {
    if (what != "quiet") throw std::runtime_error("thrown and caught");
}

template <int N>
APART int numbered(int x) {
    return N ? numbered<(N > 0 ? N - 1 : 0)>(x + N) + 1 : x;
}

// Many threads come to the same first instructions at the same time.
void threads() {
    std::vector<std::thread> all;
    static volatile bool go = false;
    for (int i = 0; i < 8; ++i)
        all.emplace_back([i] {
            while (!go) {}
            sink = numbered<100>(threads_each(i));
        });
    go = true;
    for (auto& each : all) each.join();
}

void signals() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    sink = signals_blocked(1);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    struct sigaction action = {};
    action.sa_handler = signals_handler;
    action.sa_mask = all;
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
    signal(SIGTRAP, SIG_IGN);
    sink = signals_behind_another(1);
}

void forks() {
    const pid_t child = fork();
    if (!child) _exit(fork_in_child(1));
    int status = 0;
    waitpid(child, &status, 0);
}
}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "none";
    const Shape* shape = argc > 5 ? new Shape : new Square;
    sink = shape->area() + always_in_main(at_start);
    if (argc > 5) sink = never_two(1) + shape->edge();
    try {
        throwing(what);
    } catch (const std::exception& error) {
        printf("%s\n", error.what());
        fflush(stdout);
    }
    atexit(always_at_exit);
    if (what == "outer") sink = share_outer(0);
    if (what == "inner") sink = share_inner(1);
    if (what == "threads") threads();
    if (what == "signals") signals();
    if (what == "fork") forks();
    if (what == "crash") crash_at_last();
    if (what == "trap") trap_at_last();
    delete shape;
    return 0;
}
