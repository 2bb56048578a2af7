// A program that reaches its deferred functions, later_*, as its first argument says. Each way
// prints what it did; nothing of the runtime is known here but its one function.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" int megtrim_rest(const char* path, int file, long offset) __attribute__((weak));

#ifndef SYS_mmap
#define SYS_mmap SYS_mmap2
#endif
#define LATER extern "C" __attribute__((noinline))

static volatile int two = 2;
static int* volatile nothing;

LATER int later_one(int number) {
    return number * 3 + 1;
}

// Longer than a block, so that what follows lies in others.
LATER int later_far(int number) {
    __asm__ volatile(".rept 70000\n nop\n .endr");
    return number * 5 + 2;
}

LATER int later_last(int number) {
    __asm__ volatile(".rept 70001\n nop\n .endr");
    return number * 7 + 3;
}

LATER void later_store(int* to) {
    *to = 1;
}

LATER void later_throw(int number) {
    std::string text = "later " + std::to_string(number);
    throw std::runtime_error(text);
}

struct Later : std::exception {
    const char* what() const noexcept override { return "own class"; }
};

static const char text[] = "own text\n";
static const char* const texts[] = {nullptr, nullptr, text};

// What only this function refers to is deferred with it: text, pointers, a class's tables.
LATER void later_data(int number) {
    (void)!write(1, texts[number], sizeof text - 1);  // a fault in the kernel would be EFAULT
    try {
        throw Later();
    } catch (const std::exception& error) {
        std::printf("%s\n", error.what());
        std::fflush(stdout);
    }
}

LATER void later_write(int number) {
    const_cast<volatile char*>(text)[number] = 0;
}

LATER void later_handler(int) {
    std::printf("handled later\n");
    std::fflush(stdout);
    _exit(7);
}

static void handler(int) {
    (void)!write(1, "handled\n", 8);
    _exit(7);
}

static void say(const char* what, int number) {
    std::printf("%s %d\n", what, number);
    std::fflush(stdout);
}

// Until there is a file "go"; "ready" shows that it waits.
static void wait_for_go() {
    if (std::FILE* ready = std::fopen("ready", "w")) std::fclose(ready);
    while (access("go", F_OK)) usleep(1000);
}


static int deny(long call) {
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 13),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter = {4, steps};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

// Opening a file as the runtime opens /proc/self/maps, and no other.
static int hide_proc() {
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 32),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_RDONLY | O_CLOEXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 2),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter = {6, steps};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

// Behind a page that no one may touch.
static void make_small_signal_stack() {
    const size_t page = 65536, bytes = 8192;
    char* all = static_cast<char*>(
        mmap(nullptr, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(all + page, page, PROT_READ | PROT_WRITE);
    stack_t stack = {};
    stack.ss_sp = all + page;
    stack.ss_size = bytes;
    sigaltstack(&stack, nullptr);
}

static void tick(int) {
    if (later_one(two) != 7) _exit(9);
}

static void take_while_a_timer_ticks(const char* given) {
    struct sigaction mine = {};
    mine.sa_handler = tick;
    sigaction(SIGALRM, &mine, nullptr);
    // Before the first call, what a tick calls would be looked for where it is not.
    int wrong = megtrim_rest(given, -1, 0) != 0;
    itimerval each = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &each, nullptr);
    for (int at = 1; at < 100; ++at) wrong += megtrim_rest(given, -1, 0) != 0;
    each = {};
    setitimer(ITIMER_REAL, &each, nullptr);
    say("timer", wrong);
}

static void close_standard_error() {
    int ends[2];
    if (pipe(ends)) return;
    close(ends[0]);
    dup2(ends[1], 2);
}

static void threads() {
    std::vector<std::thread> all;
    int sums[4] = {};
    for (int at = 0; at < 4; ++at)
        all.emplace_back([at, &sums] {
            sums[at] = later_one(two) + later_far(two) + later_last(two);
        });
    for (auto& each : all) each.join();
    say("threads", sums[0] + sums[1] + sums[2] + sums[3]);
}

static void fork_first() {
    pid_t child = fork();
    if (!child) {
        say("child", later_one(two));
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    say("parent", later_one(two));
}

static void caught() {
    try {
        later_throw(two);
    } catch (const std::exception& error) {
        std::printf("caught %s\n", error.what());
    }
}

static void blocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    say("blocked", later_one(two));
}

int main(int count, char** arguments) {
    std::string way = count > 1 ? arguments[1] : "now";
    const char* given = count > 2 ? arguments[2] : "";
    if (way == "now") {
        try {
            throw std::runtime_error("thrown");
        } catch (const std::exception& error) {
            std::printf("now %s\n", error.what());
        }
    }
    if (way == "one") say("one", later_one(two));
    if (way == "all") say("all", later_one(two) + later_far(two) + later_last(two));
    if (way == "throw") caught();
    if (way == "data" || way == "change") later_data(two);
    if (way == "change") later_write(two);
    if (way == "threads") threads();
    if (way == "fork") fork_first();
    if (way == "blocked") blocked();
    if (way == "wait") {
        say("ready", later_one(two));
        wait_for_go();
        say("still", later_one(two));
        say("last", later_last(two));
    }
    if (way == "begin") {
        say("ready", 0);
        wait_for_go();
        say("one", later_one(two));
    }
    if (way == "given") say("given", megtrim_rest ? megtrim_rest(given, -1, 0) : 9);
    if (way == "folder") {
        if (!chdir("/")) say("one", later_one(two));
    }
    if (way == "proc") say("all", hide_proc() + later_one(two) + later_far(two) + later_last(two));
    if (way == "proc-folder") say("all", chdir("/") + hide_proc() + later_one(two) + later_far(two) + later_last(two));
    if (way == "stack") {
        make_small_signal_stack();
        say("one", later_one(two));
    }
    if (way == "timer") take_while_a_timer_ticks(given);
    if (way == "refused") {
        int failed = megtrim_rest("/nothing", -1, 0);
        say("refused", failed + later_one(two));
    }
    if (way == "limit") {
        rlimit few = {20, 20};
        setrlimit(RLIMIT_FSIZE, &few);
        say("one", later_one(two));
    }
    if (way == "deaf") {
        close_standard_error();
        say("one", later_one(two));
    }
    if (way == "files") {
        rlimit none = {0, 0};
        setrlimit(RLIMIT_NOFILE, &none);
        say("one", later_one(two));
    }
    if (way == "mprotect" || way == "mremap" || way == "mmap") {
        say("denied", deny(way == "mprotect" ? SYS_mprotect : way == "mmap" ? SYS_mmap : SYS_mremap));
        say("one", later_one(two));
    }
    if (way == "own" || way == "signal" || way == "late") {
        struct sigaction mine = {};
        mine.sa_handler = way == "late" ? later_handler : handler;
        if (way == "signal")
            signal(SIGSEGV, handler);
        else
            sigaction(SIGSEGV, &mine, nullptr);
        say("one", way == "late" ? 0 : later_one(two));
        *nothing = 1;
    }
    if (way == "store") later_store(nothing);
    if (way == "null") *nothing = later_one(two);
    if (way == "write") *reinterpret_cast<volatile char*>(&later_one) = static_cast<char>(later_one(two));
    if (way == "raise") {
        say("one", later_one(two));
        raise(SIGSEGV);
    }
    std::fflush(stdout);
}
