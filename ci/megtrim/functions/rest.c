// The runtime of a file whose deferred functions lie in another one, its rest. Their addresses are
// reserved. The first access to a block of them ends up here: it is read into memory of the
// process's own, checked there, where nobody can change it any more, and moved to its place in one
// step: what runs was linked so.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define LOCAL __attribute__((visibility("hidden")))
enum { MAX_PATH_BYTES = 4096, HASH_BYTES = 32, FILL_BYTES = 128, MOST_RETRIES = 10000 };

// Written by megtrim into the linked file: all numbers are 0 here.
struct megtrim_rest_table {
    char magic[32];
    uint64_t here;         // the table's own address in the file, for the distance to memory
    uint64_t start, end;   // what the rest holds: addresses in the file
    uint64_t code;         // the first address that is in the rest alone
    uint64_t block_bytes;  // of each block from there on; what lies before it is block 0
    uint64_t blocks;       // 0: nothing is deferred
    char head[64];         // what the rest's file begins with
    char name[64];         // of that file
    uint8_t hashes[MEGTRIM_BLOCKS][HASH_BYTES];
};

LOCAL __attribute__((used, aligned(16), section(".rodata.megtrim_rest")))
const struct megtrim_rest_table megtrim_rest_table = {.magic = "megtrim: the table of a rest, 1"};

static const struct megtrim_rest_table* table;
static uintptr_t distance;
static struct sigaction before;  // what meets other faults
static const struct sigaction none = {.sa_handler = SIG_DFL};
static volatile uint16_t faults[MEGTRIM_BLOCKS];  // 0: the block is not there
static volatile int misses, holder;  // the process that takes a block; a child has another number
static char asked[MAX_PATH_BYTES], path[MAX_PATH_BYTES];
static long given = -1, given_at;

#define REAL(name) extern __attribute__((weak)) __typeof__(name) __real_##name
REAL(sigaction); REAL(sigprocmask); REAL(pthread_sigmask);

static const uint32_t megtrim_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

#define TURN(word, bits) ((word) >> (bits) | (word) << (32 - (bits)))
static void megtrim_mix(uint32_t state[8], const uint8_t* chunk) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; ++i)
        w[i] = (uint32_t)chunk[4 * i] << 24 | chunk[4 * i + 1] << 16 | chunk[4 * i + 2] << 8 |
               chunk[4 * i + 3];
    for (int i = 16; i < 64; ++i)
        w[i] = w[i - 16] + w[i - 7] +
               (TURN(w[i - 15], 7) ^ TURN(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (TURN(w[i - 2], 17) ^ TURN(w[i - 2], 19) ^ w[i - 2] >> 10);
    for (int i = 0; i < 8; ++i) v[i] = state[i];
    for (int i = 0; i < 64; ++i) {
        uint32_t e = v[4], a = v[0];
        uint32_t one = v[7] + (TURN(e, 6) ^ TURN(e, 11) ^ TURN(e, 25)) +
                       ((e & v[5]) ^ (~e & v[6])) + megtrim_k[i] + w[i];
        uint32_t two = (TURN(a, 2) ^ TURN(a, 13) ^ TURN(a, 22)) +
                       ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        for (int j = 7; j > 0; --j) v[j] = v[j - 1];
        v[4] += one, v[0] = one + two;
    }
    for (int i = 0; i < 8; ++i) state[i] += v[i];
}

// SHA-256 of a block in memory that has room for 128 bytes more, which it fills.
static int megtrim_fits(uint8_t* block, uint64_t bytes, const uint8_t* expected) {
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint64_t whole = ((bytes + 8) & ~63UL) + 64, differs = 0;
    block[bytes] = 0x80;
    for (int i = 0; i < 8; ++i) block[whole - 1 - i] = (uint8_t)(bytes * 8 >> 8 * i);
    for (uint64_t at = 0; at < whole; at += 64) megtrim_mix(state, block + at);
    for (uint64_t at = bytes; at < whole; ++at) block[at] = 0;
    for (int i = 0; i < HASH_BYTES; ++i)
        differs |= expected[i] ^ (state[i / 4] >> (24 - i % 4 * 8) & 255);
    return !differs;
}

// 1 once all bytes were read.
static int megtrim_read(int file, void* to, size_t bytes, uint64_t at) {
    ssize_t got = 1;
    for (size_t done = 0; done < bytes && got; done += got > 0 ? (size_t)got : 0)
        if ((got = pread(file, (char*)to + done, bytes - done, (off_t)(at + done))) < 0)
            got = errno == EINTR ? -1 : 0;
    return got != 0;
}

static char* megtrim_copy(char* to, const char* text, const char* end) {
    while (to < end && *text) *to++ = *text++;
    *to = 0;
    return to;
}

// The rest's path: next to the file that this code is in, which the kernel names.
static void megtrim_find(void) {
    char chunk[512], *to = path, *end = path + sizeof path - sizeof table->name;
    uint64_t low = 0, high = 0, number = 0;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), field = 0, found = 0;
    for (ssize_t got; !found && (got = read(file, chunk, sizeof chunk)) > 0;)
        for (const char* c = chunk; !found && c < chunk + got; ++c) {
            if (*c == '\n') {
                found = (uintptr_t)table - low < high - low;
                field = 0, number = 0, to = found ? to : path;
            } else if (field < 2 && (*c == '-' || *c == ' ')) {
                low = high, high = number, number = 0, ++field;
            } else if (field < 2) {
                number = number << 4 | (uint64_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
            } else if ((*c == '/' || to > path) && to < end) {
                *to++ = *c;
            }
        }
    if (file >= 0) close(file);
    while (to > path && to[-1] != '/') --to;
    megtrim_copy(to, table->name, path + sizeof path - 1);
}

// What is wrong; NULL: the block is in its place.
static const char* megtrim_take(int file, uint64_t number) {
    uint64_t at = number ? table->code + (number - 1) * table->block_bytes : table->start;
    size_t room = number ? table->block_bytes : table->code - table->start;
    size_t bytes = room < table->end - at ? room : table->end - at;
    uint64_t from = (uint64_t)given_at + sizeof table->head + at - table->start;
    const char* wrong = NULL;
    int kind = MAP_PRIVATE | MAP_ANONYMOUS;
    char* own = mmap(NULL, room + FILL_BYTES, PROT_READ | PROT_WRITE, kind, -1, 0);
    if (own == MAP_FAILED) return "cannot be taken: there is no memory";
    if (!megtrim_read(file, own, bytes, from))
        wrong = "is incomplete, or cannot be read";
    else if (!megtrim_fits((uint8_t*)own, bytes, table->hashes[number]))
        wrong = "is damaged: it holds other bytes than were linked";
#if defined(__aarch64__)
    for (char* line = own; line < own + bytes; line += 16)
        __asm__ volatile("dc cvau, %0\n dsb ish\n ic ivau, %0" :: "r"(line) : "memory");
    __asm__ volatile("dsb ish\n isb" ::: "memory");
#endif
    if (!wrong && (mprotect(own, room, PROT_READ | PROT_EXEC) < 0 ||
                   mremap(own, room, room, MREMAP_MAYMOVE | MREMAP_FIXED,
                          (void*)(at + distance)) == MAP_FAILED))
        wrong = "cannot be taken: this system lets no memory become code";
    else if (!wrong)
        own += room, room = 0;
    munmap(own, room + FILL_BYTES);
    return wrong;
}

// What is wrong; NULL: all blocks up to `last`, or only that one, are there.
static const char* megtrim_provide(uint64_t last, int all) {
    static const struct timespec pause = {.tv_nsec = 100000};
    int process = getpid(), other, file = (int)given;
    const char* wrong = NULL;
    char head[sizeof table->head];
    while ((other = holder) == process || !__sync_bool_compare_and_swap(&holder, other, process))
        nanosleep(&pause, NULL);
    if (!all && faults[last]) return holder = 0, wrong;  // by another thread, meanwhile
    if (file < 0 && !asked[0]) megtrim_find();
    if (file < 0) file = open(asked[0] ? asked : path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        wrong = errno == ENOENT ? "is not there" : "cannot be opened";
    else if (!megtrim_read(file, head, sizeof head, (uint64_t)given_at))
        wrong = "is incomplete, or cannot be read";
    else if (memcmp(head, table->head, sizeof head))
        wrong = memcmp(head, table->head, 16) ? "is no rest" : "is of another build";
    // The tables of the first block come before code, which needs them when it throws.
    for (uint64_t i = 0; !wrong && i <= last; i = i || all ? i + 1 : last)
        if (!faults[i] && !(wrong = megtrim_take(file, i))) faults[i] = 1;
    if (file >= 0 && file != given) close(file);
    __sync_synchronize();
    holder = 0;
    return wrong;
}

static int megtrim_miss(uint64_t address, const char* wrong) {
    char line[MAX_PATH_BYTES + 256], *to = line, *end = line + sizeof line - 2;
    int before_it = __sync_fetch_and_add(&misses, 1);
    if (before_it) return before_it;
    to = megtrim_copy(to, "megtrim: the code at 0x", end);
    for (int at = 28; at >= 0; at -= 4) *to++ = "0123456789abcdef"[address >> at & 15];
    to = megtrim_copy(to, " is in ", end);
    to = megtrim_copy(to, given >= 0 ? table->name : asked[0] ? asked : path, end);
    to = megtrim_copy(megtrim_copy(to, ", which ", end), wrong, end);
    *to++ = '\n';
    return write(2, line, (size_t)(to - line)) < 0;
}

static void megtrim_pass_on(int number, siginfo_t* info, ucontext_t* context) {
    sigset_t mask = before.sa_mask;
    if (before.sa_handler == SIG_IGN && info->si_code <= 0) return;
    if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
        __real_sigaction(number, &none, NULL);  // it faults again, and ends the program
        if (info->si_code <= 0) raise(number);
        return;
    }
    // Its own code may be deferred, and must not fault while it holds the signal back.
    megtrim_provide(table->blocks - 1, 1);
    *(uint64_t*)&mask |= *(uint64_t*)&context->uc_sigmask;
    if (!(before.sa_flags & SA_NODEFER)) sigaddset(&mask, number);
    __real_pthread_sigmask(SIG_SETMASK, &mask, NULL);
    before.sa_sigaction(number, info, context);
}

static void megtrim_fault(int number, siginfo_t* info, void* context) {
    uint64_t address = (uintptr_t)info->si_addr - distance;
    int ours = info->si_code > 0 && address >= table->code && address < table->end, saved = errno;
    uint64_t block = ours ? (address - table->code) / table->block_bytes + 1 : 0;
    const char* wrong;
    // Another thread may have brought it meanwhile; a fault that stays is of another kind.
    if (!ours || faults[block] > MOST_RETRIES) {
        megtrim_pass_on(number, info, context);
    } else if (faults[block]) {
        ++faults[block];
    } else if ((wrong = megtrim_provide(block, 0))) {
        // A trap at the very place, once this handler has returned: reports of crashes name it.
        if (megtrim_miss(address, wrong) > 2) __real_sigaction(SIGTRAP, &none, NULL);
        sigdelset(&((ucontext_t*)context)->uc_sigmask, SIGTRAP);
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGTRAP);
    }
    errno = saved;
}

// For the application: 0 once the whole rest is there. It is at a path, or in an open file from
// `offset` on, which stays open, or (NULL, -1, 0) where it always is looked for.
__attribute__((visibility("default"), used))
int megtrim_rest(const char* at, int file, long offset) {
    megtrim_copy(asked, at ? at : "", asked + sizeof asked - 1);
    given_at = offset, given = file;
    return table && megtrim_provide(table->blocks - 1, 1) ? -1 : 0;
}

static void megtrim_begin(void) {
    const struct megtrim_rest_table* found = &megtrim_rest_table;
    struct sigaction ours = {.sa_sigaction = megtrim_fault};
    const char *setting = getenv("MEGTRIM_REST"), *wrong;
    int eager = setting && !strcmp(setting, "eager");
    sigset_t fault = {0};
    // What the compiler sees in the table is not what stands there.
    __asm__ volatile("" : "+r"(found));
    if (table || !found->blocks) return;
    distance = (uintptr_t)found - found->here;
    table = found;
    faults[0] = found->start == found->code;
    // A kernel may have let it be read, as zeros.
    mprotect((void*)(found->code + distance), (found->blocks - 1) * found->block_bytes, PROT_NONE);
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;
    sigfillset(&ours.sa_mask);
    sigdelset(&ours.sa_mask, SIGSEGV);
    __real_sigaction(SIGSEGV, &ours, &before);
    sigaddset(&fault, SIGSEGV);
    __real_pthread_sigmask(SIG_UNBLOCK, &fault, NULL);
    if (setting && !eager) megtrim_copy(asked, setting, asked + sizeof asked - 1);
    if (eager && (wrong = megtrim_provide(found->blocks - 1, 1)))
        megtrim_miss(found->code, wrong), __builtin_trap();
}
__attribute__((used, section(".init_array.00000")))
static void (*const megtrim_first)(void) = megtrim_begin;

// What the program itself does with the signal comes here (the linker's --wrap): its handler is
// the next one, and no thread holds the signal back.
static const sigset_t* megtrim_without(const sigset_t* set, sigset_t* copy) {
    if (!set || !table) return set;
    *copy = *set;
    sigdelset(copy, SIGSEGV);
    return copy;
}

LOCAL int __wrap_sigprocmask(int how, const sigset_t* set, sigset_t* old) {
    return __real_sigprocmask(how, megtrim_without(set, &(sigset_t){0}), old);
}
LOCAL int __wrap_pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
    return __real_pthread_sigmask(how, megtrim_without(set, &(sigset_t){0}), old);
}
LOCAL int __wrap_sigaction(int number, const struct sigaction* action, struct sigaction* old) {
    struct sigaction copy = action ? *action : before, was = before;
    if (action) megtrim_without(&action->sa_mask, &copy.sa_mask);
    if (number != SIGSEGV || !table) return __real_sigaction(number, action ? &copy : NULL, old);
    before = copy;
    if (old) *old = was;
    return 0;
}
LOCAL void (*__wrap_signal(int number, void (*handler)(int)))(int) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    return __wrap_sigaction(number, &action, &old) < 0 ? SIG_ERR : old.sa_handler;
}
