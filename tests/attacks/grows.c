/* A program that does more, or needs more memory, in one of many ways.
 * Its first argument is the way, the second how often a loop goes round.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, EVERYTHING = PROT_READ | PROT_WRITE | PROT_EXEC };

extern char **environ;
static long rounds;
static char *again[] = {NULL, "loop", NULL, NULL};
static char room[3 * PAGE] = {1};

__attribute__((noinline)) static void work(void) {
    for (volatile long i = 0; i < rounds; i++) {
    }
}

/* Processes. */

static void wait_for(pid_t child) { waitpid(child, NULL, 0); }

static void work_in_child(pid_t child) {
    if (child == 0) {
        work();
        _exit(0);
    }
    wait_for(child);
}

static void run_in_child(pid_t child) {
    if (child == 0) {
        execv(again[0], again);
        _exit(1);
    }
    wait_for(child);
}

static int work_in_clone(void *unused) {
    work();
    return 0;
}

static void do_fork(void) { work_in_child(fork()); }
static void do_fork_exec(void) { run_in_child(fork()); }
static void do_vfork(void) { run_in_child(vfork()); }
static void do_exec(void) { execl("/bin/true", "true", NULL); }
static void do_system(void) { (void)!system("exit 0"); }
static void do_popen(void) { pclose(popen("exit 0", "r")); }
static void do_clone(void) { wait_for(clone(work_in_clone, room + sizeof room, SIGCHLD, NULL)); }

static void do_posix_spawn(void) {
    pid_t child;
    posix_spawn(&child, again[0], NULL, NULL, again, environ);
    wait_for(child);
}

static void do_grandchild(void) {
    pid_t child = fork();
    if (child == 0) {
        work_in_child(fork());
        _exit(0);
    }
    wait_for(child);
}

static void do_daemon(void) {
    if (fork() != 0) return;
    setsid();
    if (fork() == 0) {
        (void)!chdir("/");
        work();
    }
    _exit(0);
}

/* Threads, signals, and the end. */

static void *work_in_thread(void *unused) {
    work();
    return unused;
}

static void work_on_signal(int unused) { work(); }

static void do_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work_in_thread, NULL);
    pthread_join(thread, NULL);
}

static void do_threads_in_turn(void) {
    rounds /= 20;
    for (int i = 0; i < 20; i++) do_thread();
}

static void do_signal(void) {
    signal(SIGUSR1, work_on_signal);
    raise(SIGUSR1);
}

static void do_atexit(void) { atexit(work); }

static void do_end_at_once(void) {
    work();
    _exit(0);
}

static void do_end_with_a_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work_in_thread, NULL);
    work();
    syscall(SYS_exit_group, 0);
}

/* Code that is no function of the program. */

static const unsigned code[] = {
    0xf1000400, /* subs x0, x0, #1 */
    0x54ffffe1, /* b.ne, back to it */
    0xd65f03c0, /* ret */
};

__attribute__((noinline, aligned(4096))) static void patched(void) {
    asm volatile(".rept 16\n nop\n .endr");
}

static void call(void *place) {
    __builtin___clear_cache(place, (char *)place + sizeof code);
    ((void (*)(long))place)(3 * rounds + 1);
}

static void call_a_copy(void *place) {
    memcpy(place, code, sizeof code);
    call(place);
}

static void call_in_file(int file) {
    (void)!write(file, code, sizeof code);
    call(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0));
}

static void do_generated(void) {
    void *place = mmap(NULL, PAGE, EVERYTHING, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    call_a_copy(place);
    munmap(place, PAGE);
}

static void do_generated_shared(void) {
    call_a_copy(mmap(NULL, PAGE, EVERYTHING, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

static void do_generated_in_data(void) {
    char *page = (char *)(((unsigned long)room + PAGE - 1) / PAGE * PAGE);
    mprotect(page, PAGE, EVERYTHING);
    call_a_copy(page);
}

static void do_generated_in_text(void) {
    mprotect((void *)patched, PAGE, EVERYTHING);
    call_a_copy((void *)patched);
}

static void do_memfd(void) { call_in_file(syscall(SYS_memfd_create, "x", 0)); }
static void do_code_in_a_file(void) { call_in_file(open("code.bin", O_RDWR | O_CREAT, 0700)); }

static void do_code_in_a_removed_file(void) {
    int file = open("gone.bin", O_RDWR | O_CREAT, 0700);
    unlink("gone.bin");
    call_in_file(file);
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static void do_sort_in_the_library(void) {
    long count = rounds + 2;
    int *numbers = malloc(count * sizeof *numbers);
    for (long i = 0; i < count; i++) numbers[i] = i * 7919 % 10007;
    qsort(numbers, count, sizeof *numbers, compare);
    free(numbers);
}

static void do_move_in_the_library(void) {
    static char from[1 << 16], to[1 << 16];
    for (long i = 0; i < rounds / 100; i++) memmove(to, from, sizeof to - (size_t)(i & 1));
}

/* What is written of it. */

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

/* What measures it names the file on its command line, after this text. */
static char *find_measuring_file(const char *of, const char *before, const char *after) {
    static char line[1 << 16];
    int file = open(of, O_RDONLY);
    ssize_t length = read(file, line, sizeof line - 1);
    close(file);
    for (char *at = line; at < line + length; at += strlen(at) + 1) {
        char *found = strstr(at, before);
        if (!found) continue;
        return *after ? at + strlen(at) + 1 : found + strlen(before);
    }
    return "nowhere";
}

static char *find_counts(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/cmdline", (long)syscall(SYS_gettid));
    return find_measuring_file(path, "out=", "");
}

#define FORGED "0 1 0\n1 blocks, 0 processes\n"

static void do_write_counts(void) {
    write_text("counts.txt", FORGED);
    work();
}

static void do_forge_counts(void) {
    write_text(find_counts(), FORGED);
    work();
}

static void do_replace_counts(void) {
    unlink(find_counts());
    write_text(find_counts(), FORGED);
    work();
}

static void do_close_every_descriptor(void) {
    for (int i = 3; i < 1024; i++) close(i);
    work();
}

/* Memory. */

static void use_memory(void) {
    volatile char *memory = malloc(rounds);
    for (long i = 0; i < rounds; i += PAGE) memory[i] = 1;
}

static char *find_peak(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)getppid());
    return find_measuring_file(path, "-o", "next");
}

static void do_memory(void) { use_memory(); }

static void do_write_peak(void) {
    use_memory();
    write_text("peak.txt", "1\n");
}

static void do_forge_peak(void) {
    use_memory();
    write_text(find_peak(), "1\n");
}

static void do_forge_a_long_peak(void) {
    use_memory();
    write_text(find_peak(), "1\n1\n1\n1\n1\n1\n1\n1\n1\n");
}

static void do_replace_peak(void) {
    use_memory();
    unlink(find_peak());
    write_text(find_peak(), "1\n");
}

static void do_give_memory_back(void) {
    char *memory = mmap(NULL, rounds, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, rounds);
    munmap(memory, rounds);
}

static void do_shared_memory(void) {
    memset(mmap(NULL, rounds, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, rounds);
}

static void do_mapped_memfd(void) {
    int file = syscall(SYS_memfd_create, "x", 0);
    (void)!ftruncate(file, rounds);
    memset(mmap(NULL, rounds, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), 1, rounds);
}

static void do_loop(void) { work(); }

static void do_by_environment(void) {
    if (!getenv("NOT_THERE")) work();
}

static void do_by_auxv(void) {
    if (getauxval(AT_HWCAP)) work();
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"loop", do_loop},
    {"by environment", do_by_environment},
    {"by auxiliary vector", do_by_auxv},
    {"fork", do_fork},
    {"fork and exec", do_fork_exec},
    {"vfork", do_vfork},
    {"posix_spawn", do_posix_spawn},
    {"system", do_system},
    {"popen", do_popen},
    {"exec", do_exec},
    {"clone", do_clone},
    {"grandchild", do_grandchild},
    {"daemon", do_daemon},
    {"thread", do_thread},
    {"threads in turn", do_threads_in_turn},
    {"signal", do_signal},
    {"atexit", do_atexit},
    {"end at once", do_end_at_once},
    {"end with a thread", do_end_with_a_thread},
    {"generated", do_generated},
    {"generated, shared", do_generated_shared},
    {"generated in data", do_generated_in_data},
    {"generated in text", do_generated_in_text},
    {"memfd", do_memfd},
    {"code in a file", do_code_in_a_file},
    {"code in a removed file", do_code_in_a_removed_file},
    {"sort in the library", do_sort_in_the_library},
    {"move in the library", do_move_in_the_library},
    {"write counts", do_write_counts},
    {"forge counts", do_forge_counts},
    {"replace counts", do_replace_counts},
    {"close every descriptor", do_close_every_descriptor},
    {"memory", do_memory},
    {"memory, given back", do_give_memory_back},
    {"memory, shared", do_shared_memory},
    {"memory, a mapped memfd", do_mapped_memfd},
    {"memory, write peak", do_write_peak},
    {"memory, forge peak", do_forge_peak},
    {"memory, forge a long peak", do_forge_a_long_peak},
    {"memory, replace peak", do_replace_peak},
};

int main(int argc, char **argv) {
    again[0] = argv[0];
    again[2] = argv[2];
    rounds = argc > 2 ? atol(argv[2]) : 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(argv[1], ways[i].name)) continue;
        ways[i].run();
        return 0;
    }
    return 2;
}
