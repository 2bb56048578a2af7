/* A program that makes iterations, and hides from their count, or from its peak, what it does more.
 * Its first argument is the way, the second the number of iterations; what it does more is compiled
 * in: EXTRA rounds of a loop, or as many bytes. With EXTRA=0 it is the program before the change.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef EXTRA
#define EXTRA 0
#endif
enum { PAGE = 4096, STEADY = 20000, WINDOW = 1 << 20 };

static const char *way = "";
static int iterations;
static long chunk[WINDOW / sizeof(long)];

__attribute__((noinline)) static void spin(long rounds) {
    for (volatile long i = 0; i < rounds; i++) {
    }
}

static int is(const char *name) { return !strcmp(way, name); }

/* Before main and after it. Only here does a way depend on what is compiled in. */

static void read_arguments(int argc, char **argv) {
    way = argc > 1 ? argv[1] : "";
    iterations = argc > 2 ? atoi(argv[2]) : 0;
}

static void start_early(int argc, char **argv, char **env) {
    read_arguments(argc, argv);
    if (is("preinit")) spin(EXTRA);
}
__attribute__((section(".preinit_array"), used)) static void (*early)(int, char **, char **) =
    start_early;

__attribute__((constructor)) static void construct(void) {
    if (is("constructor")) spin(EXTRA);
}

__attribute__((destructor)) static void destruct(void) {
    if (is("destructor")) spin(EXTRA);
}

#ifdef RESOLVER
static int resolved(void) { return 0; }
static int (*resolve(void))(void) {
    for (volatile long i = 0; i < EXTRA; i++) {
    }
    return resolved;
}
int chosen(void) __attribute__((ifunc("resolve")));
#else
static int chosen(void) { return 0; }
#endif

static void spin_at_exit(void) { spin(EXTRA); }
static void spin_on_exit(int status, void *unused) { spin(EXTRA); }

/* Threads and signals. */

static pthread_t late;

static void *spin_in_thread(void *unused) {
    spin(EXTRA);
    return unused;
}

static void *outlive(void *unused) {
    spin(EXTRA);
    exit(0);
}

static void *spin_for_ever(void *unused) {
    while (EXTRA) spin(EXTRA);
    return unused;
}

static void tick(int unused) { spin(EXTRA / 10); }

static void start_timer(void) {
    struct itimerval each = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, tick);
    if (EXTRA) setitimer(ITIMER_REAL, &each, NULL);
}

/* The system does it. */

static int open_file(const char *name) { return open(name, O_RDWR | O_CREAT, 0600); }

static void fill_by_getrandom(long bytes) {
    for (long done = 0; done < bytes; done += WINDOW) syscall(SYS_getrandom, chunk, WINDOW, 0);
}

static void read_zeros(long bytes) {
    int file = open("/dev/zero", O_RDONLY);
    for (long done = 0; done < bytes; done += WINDOW) (void)!read(file, chunk, WINDOW);
    close(file);
}

static void write_file(int file, long bytes) {
    for (long done = 0; done < bytes; done += WINDOW) (void)!write(file, chunk, WINDOW);
}

static void copy_in_kernel(long bytes) {
    int from = open("/dev/zero", O_RDONLY), to = open("/dev/null", O_WRONLY);
    if (bytes) sendfile(to, from, NULL, bytes);
    close(from);
    close(to);
}

static void populate(long bytes) {
    if (!bytes) return;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    munmap(mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0), bytes);
}

static void call_often(long times) {
    for (long i = 0; i < times / 100; i++) syscall(SYS_getppid);
}

/* Memory that no peak of a resident set holds. */

static void fill_windows(int file, long bytes) {
    if (bytes) (void)!ftruncate(file, bytes);
    for (long at = 0; at < bytes; at += WINDOW) {
        char *window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, file, at);
        memset(window, 1, WINDOW);
        munmap(window, WINDOW);
    }
}

static void fill_a_larger_file(void) {
    int file = open_file("m.bin");
    (void)!ftruncate(file, EXTRA + WINDOW);
    for (long at = 0; at < EXTRA; at += WINDOW)
        munmap(mmap(NULL, WINDOW, PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, at), WINDOW);
}

static int make_memfd(void) { return syscall(SYS_memfd_create, "x", 0); }

static void fill_shm(long bytes) {
    for (long done = 0; done < bytes; done += WINDOW) {
        int id = shmget(IPC_PRIVATE, WINDOW, IPC_CREAT | 0600);
        void *memory = shmat(id, NULL, 0);
        memset(memory, 1, WINDOW);
        shmdt(memory);
        shmctl(id, IPC_RMID, NULL);
    }
}

static void fill_pipes(long bytes) {
    for (long done = 0; done < bytes; done += WINDOW) {
        int ends[2];
        if (pipe(ends)) return;
        fcntl(ends[1], F_SETPIPE_SZ, WINDOW);
        (void)!write(ends[1], chunk, WINDOW);
    }
}

static void fill_sockets(long bytes) {
    int most = WINDOW;
    for (long done = 0; done < bytes; done += WINDOW / 8) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends)) return;
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
        (void)!write(ends[0], chunk, WINDOW / 8);
    }
}

static void touch(volatile char *memory, long bytes) {
    for (long i = 0; i < bytes; i += PAGE) memory[i] = 1;
}

static void use_stack(long bytes) {
    if (!bytes) return;
    char deep[WINDOW];
    touch(deep, WINDOW);
    use_stack(bytes - WINDOW);
}

static void *use_its_stack(void *unused) {
    use_stack(EXTRA - WINDOW);
    return unused;
}

static void use_a_threads_stack(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    if (!EXTRA) return;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, EXTRA + 2 * WINDOW);
    pthread_create(&thread, &attributes, use_its_stack, NULL);
    pthread_join(thread, NULL);
}

static void free_by_advice(long bytes) {
    if (!bytes) return;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    touch(memory, bytes);
    madvise(memory, bytes, MADV_DONTNEED);
}

static void use_break(long bytes) {
    char *memory = sbrk(bytes);
    if (bytes) touch(memory, bytes);
}

static void use_locked(long bytes) {
    if (!bytes) return;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mlock(memory, bytes);
}

/* An iteration, from 0: the first warms up. */

static void iterate(int number) {
    int last = iterations;
    spin(STEADY);
    if (is("first iteration") && number == 0) spin(EXTRA);
    if (is("last iteration") && number == last) spin(EXTRA);
    if (is("all at once") && number == 0) spin(EXTRA * 8);
    if (is("when asked for one") && last == 1) spin(EXTRA * 7);
    if (is("getrandom")) fill_by_getrandom(EXTRA * 64);
    if (is("getrandom in the fifth") && number == 5) fill_by_getrandom(EXTRA * 64);
    if (is("read zeros")) read_zeros(EXTRA * 64);
    if (is("populate")) populate(EXTRA * 64);
    if (is("copy in the kernel")) copy_in_kernel(EXTRA * 64);
    if (is("many calls")) call_often(EXTRA);
    if (is("write a file")) {
        int file = open_file("out.bin");
        write_file(file, EXTRA * 64);
        close(file);
    }
}

static void begin(void) {
    if (is("at exit")) atexit(spin_at_exit);
    if (is("on exit")) on_exit(spin_on_exit, NULL);
    if (is("thread joined late")) pthread_create(&late, NULL, spin_in_thread, NULL);
    if (is("thread never joined")) pthread_create(&late, NULL, spin_for_ever, NULL);
    if (is("timer")) start_timer();
    if (is("getrandom at the start")) fill_by_getrandom(EXTRA * 64);
    if (is("memory: written memfd")) write_file(make_memfd(), EXTRA);
    if (is("memory: windows of a memfd")) fill_windows(EXTRA ? make_memfd() : -1, EXTRA);
    if (is("memory: windows of a file")) fill_windows(EXTRA ? open_file("m.bin") : -1, EXTRA);
    if (is("memory: a larger file")) fill_a_larger_file();
    if (is("memory: file in shm")) write_file(open_file("/dev/shm/megtrim-hides"), EXTRA);
    if (is("memory: segments")) fill_shm(EXTRA);
    if (is("memory: pipes")) fill_pipes(EXTRA);
    if (is("memory: sockets")) fill_sockets(EXTRA);
    if (is("memory: stack")) use_stack(EXTRA / 16);
    if (is("memory: stack of a thread")) use_a_threads_stack();
    if (is("memory: freed by advice")) free_by_advice(EXTRA);
    if (is("memory: break")) use_break(EXTRA);
    if (is("memory: locked")) use_locked(EXTRA);
}

static void end(void) {
    unlink("/dev/shm/megtrim-hides");
    if (is("thread joined late")) pthread_join(late, NULL);
    if (is("last thread")) {
        pthread_create(&late, NULL, outlive, NULL);
        pthread_exit(NULL);
    }
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    begin();
    for (int number = 0; number <= iterations; number++) iterate(number);
    end();
    return chosen();
}
