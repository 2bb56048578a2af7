// The runtime of a probed twin: records each function's first call, in the program itself.
//
// megtrim put a trap in place of each function's first instruction and the instruction that
// stood there into the table below. At a trap the function is marked in a file that is mapped
// shared, so that no crash loses a mark, and the instruction is put back: each function traps
// once. Nothing outside this file is called: any function may hold a trap, those of a static C
// library too, and a handler may interrupt all of them.
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define REFUSED 96
#define CAPACITY 262144
#define MAX_RANGES 4
#define MAX_PATH_BYTES 4096
#define HEAD_BYTES 64
#define LOCAL __attribute__((visibility("hidden")))

#if defined(__aarch64__)
enum {
    CALL_FTRUNCATE = 46, CALL_FALLOCATE = 47, CALL_OPENAT = 56, CALL_CLOSE = 57, CALL_READ = 63,
    CALL_WRITE = 64, CALL_PREAD = 67, CALL_PWRITE = 68, CALL_EXIT_GROUP = 94,
    CALL_SIGACTION = 134, CALL_SIGPROCMASK = 135, CALL_MMAP = 222, CALL_MPROTECT = 226,
    CALL_TGKILL = 131, CALL_GETPID = 172, CALL_GETTID = 178,
};
typedef uint32_t instruction;
enum { PC_BEHIND_TRAP = 0 };
#define PC(context) ((context)->uc_mcontext.pc)
#define ACTION_FLAGS 4UL
#define RESTORER NULL
#elif defined(__arm__)
enum {
    CALL_FTRUNCATE = 93, CALL_FALLOCATE = 352, CALL_OPENAT = 322, CALL_CLOSE = 6, CALL_READ = 3,
    CALL_WRITE = 4, CALL_PREAD = 180, CALL_PWRITE = 181, CALL_EXIT_GROUP = 248,
    CALL_SIGACTION = 174, CALL_SIGPROCMASK = 175, CALL_MMAP = 192, CALL_MPROTECT = 125,
    CALL_TGKILL = 268, CALL_GETPID = 20, CALL_GETTID = 224, CALL_CACHEFLUSH = 0xf0002,
};
typedef uint32_t instruction;
enum { PC_BEHIND_TRAP = 0, THUMB_STATE = 0x20 };
#define TRAP_BYTES(context) ((context)->uc_mcontext.arm_cpsr & THUMB_STATE ? 2 : 4)
#define PC(context) ((context)->uc_mcontext.arm_pc)
#define ACTION_FLAGS 4UL
#define RESTORER NULL
#elif defined(__x86_64__)
enum {
    CALL_FTRUNCATE = 77, CALL_FALLOCATE = 285, CALL_OPENAT = 257, CALL_CLOSE = 3, CALL_READ = 0,
    CALL_WRITE = 1, CALL_PREAD = 17, CALL_PWRITE = 18, CALL_EXIT_GROUP = 231,
    CALL_SIGACTION = 13, CALL_SIGPROCMASK = 14, CALL_MMAP = 9, CALL_MPROTECT = 10,
    CALL_TGKILL = 234, CALL_GETPID = 39, CALL_GETTID = 186,
};
typedef uint8_t instruction;
enum { PC_BEHIND_TRAP = 1 };
#define PC(context) ((context)->uc_mcontext.gregs[REG_RIP])
// This kernel returns from a handler only by way of a function of the program's.
#define ACTION_FLAGS 0x04000004UL
#define RESTORER megtrim_restorer
LOCAL void megtrim_restorer(void);
__asm__(".text\n.globl megtrim_restorer\n.hidden megtrim_restorer\n"
        ".type megtrim_restorer, @function\n"
        "megtrim_restorer: movl $15, %eax\n syscall\n"
        ".size megtrim_restorer, .-megtrim_restorer\n");
#else
#error "functions are probed on aarch64, armv7 and x86_64"
#endif
#ifndef TRAP_BYTES
#define TRAP_BYTES(context) ((long)sizeof(instruction))
#endif

// 32-bit Arm's kernel reads the instruction again, to tell a probe from another fault: it is SIGILL
// where another thread has put it back meanwhile.
#if defined(__arm__)
#define TRAPS (1UL << (SIGTRAP - 1) | 1UL << (SIGILL - 1))
#else
#define TRAPS (1UL << (SIGTRAP - 1))
#endif

enum { AT_CWD = -100, READ_ONLY = 0, READ_WRITE = 2, CREATE = 0100, CLOSE_ON_EXEC = 02000000 };
enum { READ_WRITE_EXECUTE = 7, MAP_READ_WRITE = 3, MAP_SHARED_FILE = 1 };
enum { UNBLOCK = 1, NO_ROOM = -28, MOST_RETRIES = 10000 };

struct megtrim_range { uint64_t start, bytes; };
struct megtrim_function { uint32_t offset, first; };  // first: 0 without a probe

// Written by megtrim into the linked file: all numbers are 0 here.
struct megtrim_table {
    char magic[32];
    uint64_t here;      // the table's own address in the file, for the distance to memory
    uint64_t base;      // what offsets count from
    uint64_t count;     // of functions; 0: nothing was patched
    uint64_t ranges;
    struct megtrim_range code[MAX_RANGES];
    char head[HEAD_BYTES];  // what the record's file begins with
    struct megtrim_function functions[CAPACITY];
};

LOCAL __attribute__((used, aligned(16), section(".data.megtrim_probes")))
struct megtrim_table megtrim_probes = {.magic = "megtrim: the table of probes, 1"};

// As the kernel wants it, which no libc says.
struct megtrim_action {
    void (*handler)(int, siginfo_t*, void*);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask __attribute__((packed, aligned(4)));
};

static const struct megtrim_table* table;
static uintptr_t distance;
static volatile uint8_t* marks;
static int through_file;
static volatile int retries;
static struct megtrim_action before[2];  // of SIGTRAP and SIGILL

static long megtrim_call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
#elif defined(__arm__)
    register long r0 __asm__("r0") = a;
    register long r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c;
    register long r3 __asm__("r3") = d;
    register long r4 __asm__("r4") = e;
    register long r5 __asm__("r5") = f;
    // The number belongs in r7, which may be the frame's.
    __asm__ volatile("mov r12, r7\n mov r7, %1\n svc #0\n mov r7, r12"
                     : "+r"(r0)
                     : "r"(number), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                     : "r12", "memory", "cc");
    return r0;
#else
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory", "cc");
    return number;
#endif
}

// Offsets in files have 64 bits, on 32-bit Arm in two registers of which the first is an even one.
static long megtrim_call_at(long number, long file, long data, long bytes, uintptr_t offset) {
#if defined(__arm__)
    return megtrim_call(number, file, data, bytes, 0, (long)offset, 0);
#else
    return megtrim_call(number, file, data, bytes, (long)offset, 0, 0);
#endif
}

static long megtrim_take_room(long file, long bytes) {
#if defined(__arm__)
    return megtrim_call(CALL_FALLOCATE, file, 0, 0, 0, bytes, 0);
#else
    return megtrim_call(CALL_FALLOCATE, file, 0, 0, bytes, 0, 0);
#endif
}

static long megtrim_open(const char* path, int flags) {
    return megtrim_call(CALL_OPENAT, AT_CWD, (long)path, flags | CLOSE_ON_EXEC, 0644, 0, 0);
}

static void megtrim_close(long file) {
    megtrim_call(CALL_CLOSE, file, 0, 0, 0, 0, 0);
}

static void megtrim_say(const char* text) {
    size_t length = 0;
    while (((const volatile char*)text)[length]) ++length;
    megtrim_call(CALL_WRITE, 2, (long)text, (long)length, 0, 0, 0);
}

static __attribute__((noreturn)) void megtrim_refuse(const char* why) {
    megtrim_say("megtrim: functions cannot be recorded: ");
    megtrim_say(why);
    megtrim_say("\n");
    for (;;) megtrim_call(CALL_EXIT_GROUP, REFUSED, 0, 0, 0, 0, 0);
}

// 1 once a value was found and copied. The environment is not read from libc: it may not have
// set itself up yet.
static int megtrim_setting(const char* name, char* value) {
    char chunk[512];
    long file = megtrim_open("/proc/self/environ", READ_ONLY), got;
    size_t matched = 0, length = 0;
    int reading = 0, other = 0;
    if (file < 0) megtrim_refuse("/proc/self/environ cannot be read");
    while ((got = megtrim_call(CALL_READ, file, (long)chunk, sizeof chunk, 0, 0, 0)) > 0)
        for (long i = 0; i < got; ++i) {
            if (reading) {
                if (length == MAX_PATH_BYTES) megtrim_refuse("the name of its file is too long");
                value[length++] = chunk[i];
                if (!chunk[i]) {
                    megtrim_close(file);
                    return length > 1;
                }
            } else if (!chunk[i]) {
                matched = 0;
                other = 0;
            } else if (!other && chunk[i] == name[matched]) {
                reading = !name[++matched];
            } else {
                other = 1;
            }
        }
    megtrim_close(file);
    return 0;
}

// 1 if the file is fresh or of this very program.
static int megtrim_is_ours(long file) {
    char found[HEAD_BYTES];
    long got = megtrim_call_at(CALL_PREAD, file, (long)found, HEAD_BYTES, 0);
    if (got == 0) {
        got = megtrim_call_at(CALL_PWRITE, file, (long)table->head, HEAD_BYTES, 0);
        if (got != HEAD_BYTES) megtrim_refuse("its file cannot be written");
        return 1;
    }
    if (got != HEAD_BYTES) return 0;
    for (int i = 0; i < HEAD_BYTES; ++i)
        if (found[i] != table->head[i]) return 0;
    return 1;
}

static void megtrim_map(void) {
    char path[MAX_PATH_BYTES];
    long file, at, taken, bytes = HEAD_BYTES + (long)table->count;
    if (!megtrim_setting("MEGTRIM_FUNCTIONS=", path))
        megtrim_refuse("MEGTRIM_FUNCTIONS names no file");
    file = megtrim_open(path, READ_WRITE | CREATE);
    if (file < 0) megtrim_refuse("the file that MEGTRIM_FUNCTIONS names cannot be opened");
    if (!megtrim_is_ours(file))
        megtrim_refuse("the file that MEGTRIM_FUNCTIONS names is of another program");
    // Room is taken now: on a full disk a mark would end the program. Not all disks can.
    taken = megtrim_take_room(file, bytes);
    if (taken == NO_ROOM || megtrim_call(CALL_FTRUNCATE, file, bytes, 0, 0, 0, 0) < 0)
        megtrim_refuse("there is no room for its file");
    at = megtrim_call(CALL_MMAP, 0, bytes, MAP_READ_WRITE, MAP_SHARED_FILE, file, 0);
    if (at < 0 && at > -4096) megtrim_refuse("its file cannot be mapped");
    marks = (volatile uint8_t*)at + HEAD_BYTES;
    megtrim_close(file);
}

// Through the memory's own file: the kernel writes what pages themselves do not let be written.
// Opened each time, since a process that forked has other memory.
static int megtrim_write_through_file(uintptr_t address, instruction first, long bytes) {
    long file = megtrim_open("/proc/self/mem", READ_WRITE), put;
    if (file < 0) return 0;
    put = megtrim_call_at(CALL_PWRITE, file, (long)&first, bytes, address);
    megtrim_close(file);
    return put == bytes;
}

// Pages are of 4, 16 or 64 KiB: a range that begins within a page is refused.
static int megtrim_make_writable(uintptr_t start, uint64_t bytes) {
    for (uintptr_t page = 4096; page <= 65536; page *= 4) {
        uintptr_t first = start & ~(page - 1);
        if (megtrim_call(CALL_MPROTECT, (long)first, (long)(start + bytes - first),
                         READ_WRITE_EXECUTE, 0, 0, 0) == 0)
            return 1;
    }
    return 0;
}

// All of the code, once: were pages protected again after each trap, a thread could lose its
// right to write between its own two steps.
static void megtrim_open_code(void) {
    for (uint64_t i = 0; i < table->ranges; ++i) {
        uintptr_t start = table->code[i].start + distance;
        if (megtrim_make_writable(start, table->code[i].bytes)) continue;
        through_file = 1;
        if (!megtrim_write_through_file(start, *(const volatile uint8_t*)start, 1))
            megtrim_refuse("the program's code cannot be written on this system");
    }
}

static void megtrim_put_back(uintptr_t address, instruction first, long bytes) {
    if (!through_file && bytes == sizeof first)
        *(volatile instruction*)address = first;
    else if (!through_file)
        *(volatile uint16_t*)address = (uint16_t)first;
    else if (!megtrim_write_through_file(address, first, bytes))
        megtrim_refuse("the program's code cannot be written any more");
#if defined(__aarch64__)
    __asm__ volatile("dc cvau, %0\n dsb ish\n ic ivau, %0\n dsb ish\n isb"
                     :: "r"(address) : "memory");
#elif defined(__arm__)
    megtrim_call(CALL_CACHEFLUSH, (long)address, (long)address + bytes, 0, 0, 0, 0);
#endif
}

static long megtrim_rank(uint64_t offset) {
    uint64_t low = 0, high = table->count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (table->functions[middle].offset < offset) low = middle + 1;
        else high = middle;
    }
    return low < table->count && table->functions[low].offset == offset ? (long)low : -1;
}

// The table tells whether a trap is a probe, and not the code: another thread may have put the
// instruction back since.
static void megtrim_trapped(int signal, siginfo_t* info, void* context) {
    uintptr_t address = PC((ucontext_t*)context) - PC_BEHIND_TRAP;
    long rank = info->si_code > 0 ? megtrim_rank(address - distance - table->base) : -1;
    // The processor may really not know it.
    if (signal == SIGILL && ++retries > MOST_RETRIES) rank = -1;
    // A function may begin with a trap of its own.
    if (rank >= 0) marks[rank] = 1;
    if (rank >= 0 && table->functions[rank].first) {
        megtrim_put_back(address, (instruction)table->functions[rank].first,
                         TRAP_BYTES((ucontext_t*)context));
        PC((ucontext_t*)context) = address;
        return;
    }
    // The program's own: it is met again, and by what would have met it without us.
    megtrim_call(CALL_SIGACTION, signal, (long)&before[signal == SIGILL], 0, sizeof before->mask,
                 0, 0);
    if (info->si_code > 0) {
        PC((ucontext_t*)context) = address;
    } else {
        long process = megtrim_call(CALL_GETPID, 0, 0, 0, 0, 0, 0);
        long thread = megtrim_call(CALL_GETTID, 0, 0, 0, 0, 0, 0);
        megtrim_call(CALL_TGKILL, process, thread, signal, 0, 0, 0);
    }
}

static void megtrim_catch(void) {
    // Everything else waits: a handler of the program's own would meet probes, too.
    struct megtrim_action ours = {
        .handler = megtrim_trapped,
        .flags = ACTION_FLAGS,
        .restorer = RESTORER,
        .mask = ~0ULL,
    };
    uint64_t traps = TRAPS;
    megtrim_call(CALL_SIGACTION, SIGTRAP, (long)&ours, (long)before, sizeof ours.mask, 0, 0);
    if (TRAPS >> (SIGILL - 1) & 1)
        megtrim_call(CALL_SIGACTION, SIGILL, (long)&ours, (long)&before[1], sizeof ours.mask, 0, 0);
    megtrim_call(CALL_SIGPROCMASK, UNBLOCK, (long)&traps, 0, sizeof traps, 0, 0);
}

static void megtrim_begin(void) {
    const struct megtrim_table* found = &megtrim_probes;
    // What the compiler sees in the table is not what stands there.
    __asm__ volatile("" : "+r"(found));
    if (table || !found->count) return;
    table = found;
    distance = (uintptr_t)found - found->here;
    megtrim_map();
    megtrim_open_code();
    megtrim_catch();
}

// Before everything else of the program; musl has no first array, so it is first in the second.
// So it is in a shared object, which may have no first array.
#ifndef MEGTRIM_SHARED_OBJECT
__attribute__((used, section(".preinit_array")))
static void (*const megtrim_first)(void) = megtrim_begin;
#endif
__attribute__((used, section(".init_array.00000")))
static void (*const megtrim_second)(void) = megtrim_begin;

// A probe met while SIGTRAP is blocked would end the program, so what blocks it or takes it over
// does all but that. The linker sends the program's calls here (--wrap).
#define MAYBE __attribute__((weak))
MAYBE int __real_sigaction(int, const struct sigaction*, struct sigaction*);
MAYBE int __real_sigprocmask(int, const sigset_t*, sigset_t*);
MAYBE int __real_pthread_sigmask(int, const sigset_t*, sigset_t*);
MAYBE void (*__real_signal(int, void (*)(int)))(int);

static const sigset_t* megtrim_without_trap(const sigset_t* set, sigset_t* copy) {
    if (!set) return set;
    *copy = *set;
    *(unsigned long*)copy &= ~TRAPS;
    return copy;
}

LOCAL int __wrap_sigprocmask(int how, const sigset_t* set, sigset_t* old) {
    sigset_t copy;
    return __real_sigprocmask(how, megtrim_without_trap(set, &copy), old);
}

LOCAL int __wrap_pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
    sigset_t copy;
    return __real_pthread_sigmask(how, megtrim_without_trap(set, &copy), old);
}

LOCAL int __wrap_sigaction(int number, const struct sigaction* action, struct sigaction* old) {
    struct sigaction copy;
    if (number == SIGTRAP) return __real_sigaction(number, NULL, old);
    if (!action) return __real_sigaction(number, action, old);
    copy = *action;
    megtrim_without_trap(&action->sa_mask, &copy.sa_mask);
    return __real_sigaction(number, &copy, old);
}

LOCAL void (*__wrap_signal(int number, void (*handler)(int)))(int) {
    return number == SIGTRAP ? SIG_DFL : __real_signal(number, handler);
}
