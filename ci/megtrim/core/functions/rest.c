// The runtime of a file whose deferred functions lie in another one, its rest, at addresses that
// are reserved. The first access to a block of them ends up here: it is read into the process's
// memory, checked where no one can change it any more, and moved to its place in one step. Data
// comes whole, before code that refers to it: no fault in a kernel that reads it would get here.
//
// It runs in handlers of signals, on stacks of 8 KiB: it allocates nothing, and what is long is
// static. Nothing here may be deferred itself.
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOCAL __attribute__((visibility("hidden")))
enum { MOST_RETRIES = 10000, MOST_RECORDED = 1 << 20, MOST_LINKS = 8, SIGNALS_BYTES = 8 };
enum { LINE_BYTES = 59 };  // of a record
enum { MAX_PATH_BYTES = 4097 };  // a path that is cut off here is too long for any system

// Words that hold addresses: those that a bit marks. All are in [first, last), which is only read.
struct megtrim_words { uintptr_t start, count, bits, first, last; };

// Written by megtrim into the linked file: all numbers are 0 here.
struct megtrim_rest_table {
    char magic[32];
    uintptr_t here;        // the table's own address in the file, for the distance to memory
    uintptr_t start, end;  // what the rest holds: addresses in the file
    uintptr_t list;        // of its functions, up to the end
    uintptr_t code;        // the first address that is in the rest alone
    uintptr_t block_bytes; // of each block from there on; what lies before it is block 0
    uintptr_t blocks;      // 0: nothing is deferred
    uintptr_t data, behind; // the first block with data, and the one behind the last
    struct megtrim_words own, late;  // in this file, and in the rest
    char head[64];         // what the rest's file begins with
    char name[64];         // of that file
    uintptr_t imports[MEGTRIM_IMPORTS];  // of other files, filled in by the loader
    uint8_t hashes[MEGTRIM_BLOCKS][HASH_BYTES];
};

LOCAL __attribute__((used, aligned(16), section(".data.rel.ro.megtrim_rest")))
struct megtrim_rest_table megtrim_rest_table = {.magic = "megtrim: the table of a rest, 2"};

// There always is deferred data, and with it a segment of its own.
__attribute__((used, section(".rdat.megtrim"))) static uintptr_t megtrim_datum = 1;

static const struct megtrim_rest_table* table;
static uintptr_t distance;
static struct sigaction before;  // what meets other faults
#if defined(__arm__)
static struct sigaction before_marks;  // what meets other instructions that are none
#endif
static const struct sigaction none = {.sa_handler = SIG_DFL};
static volatile uint16_t faults[MEGTRIM_BLOCKS];  // 0: the block is not there
static volatile int misses, said, marked, late, ready;
static volatile int holder;  // a process that takes a block
static char path[MAX_PATH_BYTES], reached[MAX_PATH_BYTES];
static char renamed[MAX_PATH_BYTES];  // the rest's path if it was renamed with the program
static char loaded[MAX_PATH_BYTES];   // this file's path as the loader knows it
static const char* unknown;           // why there is no path
static int secure;  // set-user-ID or the like: whoever runs it is not whom it runs as

// An open file that has the rest, from the offset on.
struct megtrim_source { int file; uint64_t offset; };

#if defined(__arm__)
#define BEFORE(number) (*((number) == MARKS ? &before_marks : &before))
#define IS_OURS(number) ((number) == SIGSEGV || ((number) == MARKS && *reached))
static void megtrim_let_through(sigset_t* set) {
    sigdelset(set, SIGSEGV);
    if (*reached) sigdelset(set, MARKS);
}
#else
#define BEFORE(number) before
#define IS_OURS(number) ((number) == SIGSEGV)
static void megtrim_let_through(sigset_t* set) { sigdelset(set, SIGSEGV); }
#endif

#define REAL(name) extern __attribute__((weak)) __typeof__(name) __real_##name
REAL(sigaction); REAL(sigprocmask); REAL(pthread_sigmask);

static int megtrim_read(int file, void* to, size_t bytes, uint64_t at) {
    ssize_t got = 1;
    for (size_t done = 0; done < bytes && got; done += got > 0 ? (size_t)got : 0)
        if ((got = pread(file, (char*)to + done, bytes - done, (off_t)(at + done))) < 0)
            got = errno == EINTR ? -1 : 0;
    return got != 0;
}

static char* megtrim_copy(char* to, const char* text, const char* end) {
    while (to < end && *text) *to++ = *text++;
    return *to = 0, to;
}
static char* megtrim_digits(char* to, uintptr_t number, int digits) {
    while (digits--) *to++ = "0123456789abcdef"[number >> 4 * digits & 15];
    return to;
}

// 1 if a whole line was written. All signals are held back here: what a limit of file sizes or a
// closed pipe raises is taken back, and does not end a program that can go on.
static int megtrim_write(int file, const char* line, size_t bytes) {
    const struct timespec at_once = {0};
    const int raised[] = {SIGPIPE, SIGXFSZ};
    sigset_t waiting = {0}, ours = {0};
    ssize_t wrote;
    sigpending(&waiting);
    while ((wrote = write(file, line, bytes)) < 0 && errno == EINTR) {}
    if (wrote == (ssize_t)bytes) return 1;
    for (int i = 0; i < 2; ++i)
        if (!sigismember(&waiting, raised[i])) sigaddset(&ours, raised[i]);
    syscall(SYS_rt_sigtimedwait, &ours, NULL, &at_once, SIGNALS_BYTES);
    return 0;
}

static void megtrim_hold_signals(sigset_t* held) {
    sigset_t all;
    sigfillset(&all);
    __real_pthread_sigmask(SIG_SETMASK, &all, held);
}

// A line for whoever starts the program, before a trap that no missing function explains.
__attribute__((noreturn)) static void megtrim_stop(const char* why) {
    char line[256], *end = line + sizeof line - 2;
    sigset_t held;
    char* to = megtrim_copy(megtrim_copy(line, "megtrim: cannot start: ", end), why, end);
    megtrim_hold_signals(&held);
    megtrim_write(2, line, (size_t)(megtrim_copy(to, "\n", end + 1) - line));
    __builtin_trap();
}

// MEGTRIM_REACHED: each function begins with an instruction that faults, until it is called. What
// the list has of one: the distance from the one before, or from the rest's start, and room.
static struct megtrim_function { uint32_t at, code; } *functions;
static void megtrim_mark(void) {
    char* start = (char*)(table->start + distance);
    int count = marked ? 0 : (int)((table->end - table->list) / sizeof *functions);
    functions = (struct megtrim_function*)(table->list + distance);
    for (uint32_t i = 0, at = 0; (int)i < count; ++i)
        functions[i].code = megtrim_read_code(start + (functions[i].at = at += functions[i].at));
    __sync_fetch_and_add(&marked, count);
    for (int i = 0; i < count; ++i)
        WRITE_CODE(start + functions[i].at, FAULT(start + functions[i].at));
    __builtin___clear_cache((char*)table->code + distance, (char*)functions);
}

// 1 if a function begins there: it is put back, by this thread or, to whom is late, by another.
// Its line has the address that it returns to, too: 0 if that is in no code of this file.
static int megtrim_reach(const ucontext_t* context) {
    char line[64], *to;
    uintptr_t address = PC(context) - distance, caller;
    char* code = (char*)(address + distance);
    megtrim_instruction own;
    int file, at = marked - 1;
    while (at >= 0 && functions[at].at != address - table->start) --at;
    if (at < 0) return 0;
    own = (megtrim_instruction)functions[at].code;
    if (megtrim_exchange(code, own) == own) return ++late < MOST_RETRIES;
    code -= IS_THUMB(code), address -= IS_THUMB(address);
    __builtin___clear_cache(code, code + sizeof own);
    caller = BACK(context) - distance;
    *megtrim_copy(line, table->head + 16, line + 40) = ' ';
    to = megtrim_digits(line + 41, address, 8), *to++ = ' ';
    *megtrim_digits(to, caller < table->end ? caller : 0, 8) = '\n';
    file = open(reached, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
    if (file < 0 || (lseek(file, 0, SEEK_END) < MOST_RECORDED && !megtrim_write(file, line,
        LINE_BYTES)))
        megtrim_write(2, line, LINE_BYTES);
    if (file >= 0) close(file);
    return 1;
}

// A path as it is now, wherever the program goes later.
static void megtrim_settle(char* to, const char* name) {
    char *end = to + MAX_PATH_BYTES - 1, *at = to;
    if (*name && *name != '/' && syscall(SYS_getcwd, to, MAX_PATH_BYTES) > 0 && *to == '/') {
        while (*at) ++at;
        if (at < end) *at++ = '/';
    }
    megtrim_copy(at, name, end);
}

// 1: the path is that of the file that this code is in, as the kernel names it.
static int megtrim_find_mapped(void) {
    static char chunk[512];
    char *to = path, *end = path + sizeof path - 1;
    uintptr_t low = 0, high = 0, number = 0;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), field = 0, found = 0;
    for (ssize_t got; !found && (got = read(file, chunk, sizeof chunk)) > 0;)
        for (const char* c = chunk; !found && c < chunk + got; ++c) {
            if (*c == '\n')
                found = (uintptr_t)table - low < high - low, field = 0, to = found ? to : path;
            else if (field < 2 && (*c == '-' || *c == ' '))
                low = high, high = number, number = 0, ++field;
            else if (field < 2)
                number = number << 4 | (uintptr_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
            else if ((*c == '/' || to > path) && to < end)
                *to++ = *c;
        }
    if (file >= 0) close(file);
    *to = 0;
    return found && to > path;
}

static char* megtrim_name_in(char* of) {
    char* name = of;
    for (char* c = of; *c; ++c)
        if (*c == '/') name = c + 1;
    return name;
}

// 1: the path is that of the file as the loader knows it, and a link leads to where it leads.
static int megtrim_find_loaded(void) {
    ssize_t got;
    megtrim_copy(path, loaded, path + sizeof path - 1);
    for (int i = 0; i < MOST_LINKS && (got = readlink(path, renamed, sizeof renamed - 1)) > 0; ++i) {
        renamed[got] = 0;
        megtrim_copy(*renamed == '/' ? path : megtrim_name_in(path), renamed,
                     path + sizeof path - 1);
    }
    return *path;
}

// The rest's path: by its name, in the folder of the file that this code is in. It may have been
// renamed with it. What the loader knows is what the caller said, who may not be trusted.
static void megtrim_find(void) {
    char* end = path + sizeof path - 1;
    if (!megtrim_find_mapped() && (secure || !megtrim_find_loaded())) {
        megtrim_copy(path, table->name, end);
        unknown = "cannot be looked for: there is no /proc";
        return;
    }
    megtrim_copy(megtrim_copy(renamed, path, renamed + sizeof renamed - 1), ".rest",
                 renamed + sizeof renamed - 1);
    megtrim_copy(megtrim_name_in(path), table->name, end);
}

// What is wrong; NULL: the rest of this program begins there.
static const char* megtrim_check(const struct megtrim_source* source) {
    char head[sizeof table->head];
    if (source->file < 0) return errno == ENOENT ? "is not there" : "cannot be opened";
    if (!megtrim_read(source->file, head, sizeof head, source->offset))
        return "is incomplete, or cannot be read";
    if (memcmp(head, table->head, 16)) return "is no rest";
    return memcmp(head, table->head, sizeof head) ? "is of another build" : NULL;
}

static int megtrim_open_file(const char* at) {
    return open(at, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static const char* megtrim_open(struct megtrim_source* source, const char* at) {
    const char* wrong;
    source->file = megtrim_open_file(at);
    wrong = megtrim_check(source);
    if (wrong && source->file >= 0) {
        close(source->file);
        source->file = -1;
    }
    return wrong;
}

// What is wrong; NULL: the rest is open, from wherever it is looked for.
static const char* megtrim_open_any(struct megtrim_source* source) {
    const char* wrong;
    if (!*path) megtrim_find();
    wrong = unknown ? unknown : megtrim_open(source, path);
    return wrong && *renamed && !megtrim_open(source, renamed) ? NULL : wrong;
}

// What is wrong; NULL: the block is in its place.
static const char* megtrim_take(const struct megtrim_source* source, uintptr_t number) {
    uintptr_t at = number ? table->code + (number - 1) * table->block_bytes : table->start;
    size_t room = number ? table->block_bytes : table->code - table->start;
    size_t bytes = room < table->end - at ? room : table->end - at;
    uint64_t from = source->offset + sizeof table->head + at - table->start;
    int kind = PROT_READ | PROT_EXEC | (*reached ? PROT_WRITE : 0);
    char* own = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const char* wrong =
        own == MAP_FAILED ? "cannot be taken: there is no memory"
        : !megtrim_read(source->file, own, bytes, from) ? "is incomplete, or cannot be read"
        : !megtrim_fits(own, bytes, table->hashes[number])
            ? "is damaged: it holds other bytes than were linked"
        : (__builtin___clear_cache(own, own + room), mprotect(own, room, kind)) < 0 || mremap(own,
          room, room, MREMAP_MAYMOVE | MREMAP_FIXED, (void*)(at + distance)) == MAP_FAILED
            ? "cannot be taken: this system lets no memory become code" : NULL;
    if (wrong && own != MAP_FAILED) munmap(own, room);
    return wrong;
}

// What is wrong; NULL: the words hold what they would, had the loader filled them in.
static const char* megtrim_relocate(const struct megtrim_words* words) {
    uintptr_t page = -(uintptr_t)sysconf(_SC_PAGESIZE), *word = (void*)(words->start + distance);
    uintptr_t first = (words->first + distance) & page, last = words->last + distance;
    const uint8_t* bits = (void*)(words->bits + distance);
    if (!words->count) return NULL;  // some systems refuse to protect nothing
    const uintptr_t imported = (uintptr_t)1 << (8 * sizeof *word - 1);
    if (mprotect((void*)first, ((last + ~page) & page) - first, PROT_READ | PROT_WRITE) < 0)
        return "cannot be taken: this system lets no data change";
    for (uintptr_t i = 0; i < words->count; ++i)
        if (bits[i / 8] >> i % 8 & 1)
            word[i] = word[i] & imported ? table->imports[word[i] & ~imported] : word[i] + distance;
    if ((last & page) > first) mprotect((void*)first, (last & page) - first, PROT_READ);
    return NULL;
}

// What is wrong; NULL: the blocks are in their places.
static const char* megtrim_take_all(
    const struct megtrim_source* source, uintptr_t last, int all
) {
    const char* wrong = NULL;
    for (uintptr_t i = table->data; !wrong && !ready && i < table->behind; ++i)
        wrong = megtrim_take(source, i);
    if (!wrong && !ready && !(wrong = megtrim_relocate(&table->late))) {
        for (uintptr_t i = table->data; i < table->behind; ++i) faults[i] = 1;
        ready = 1;
    }
    // The tables of the first block come before code, which needs them when it throws.
    for (uintptr_t i = 0; !wrong && i <= last; i = i || all ? i + 1 : last)
        if (!faults[i] && !(wrong = megtrim_take(source, i))) faults[i] = 1;
    return wrong;
}

// What is wrong; NULL: all blocks up to `last`, or only that one, are there. `source`: where the
// application has it; NULL: it is looked for. No handler runs here: it could need a block, too.
static const char* megtrim_provide(uintptr_t last, int all, struct megtrim_source* source) {
    struct megtrim_source found = {.file = -1};
    int process = getpid(), other;
    const char* wrong = NULL;
    sigset_t held;
    megtrim_hold_signals(&held);
    while ((other = holder) == process || !__sync_bool_compare_and_swap(&holder, other, process))
        usleep(100);
    if (all || !faults[last]) {  // else it was taken by another thread, meanwhile
        if (*reached) all = 1, last = table->blocks - 1;
        wrong = source ? megtrim_check(source) : megtrim_open_any(&found);
        if (!wrong) wrong = megtrim_take_all(source ? source : &found, last, all);
        if (found.file >= 0) close(found.file);
        if (!wrong && *reached) megtrim_mark();
    }
    __sync_lock_release(&holder);
    __real_pthread_sigmask(SIG_SETMASK, &held, NULL);
    return wrong;
}

// It writes once in a run, so its line is static. Threads that miss something meanwhile wait for it:
// their trap would end the program before it is written.
static int megtrim_miss(uintptr_t address, const char* wrong) {
    static char line[MAX_PATH_BYTES + 256];
    char *to = line, *end = line + sizeof line - 2;
    int before_it = __sync_fetch_and_add(&misses, 1);
    sigset_t held;
    for (int i = 0; before_it && !said && i < MOST_RETRIES; ++i) usleep(100);
    if (before_it) return before_it;
    to = megtrim_digits(megtrim_copy(to, "megtrim: the code at 0x", end), address, 8);
    to = megtrim_copy(megtrim_copy(to, " is in ", end), path, end);
    to = megtrim_copy(megtrim_copy(megtrim_copy(to, ", which ", end), wrong, end), "\n", end + 1);
    megtrim_hold_signals(&held);
    megtrim_write(2, line, (size_t)(to - line));
    said = 1;
    __real_pthread_sigmask(SIG_SETMASK, &held, NULL);
    return 0;
}

static void megtrim_pass_on(int number, siginfo_t* info, ucontext_t* context) {
    sigset_t mask = BEFORE(number).sa_mask;
    if (BEFORE(number).sa_handler == SIG_IGN && info->si_code <= 0) return;
    if (BEFORE(number).sa_handler == SIG_DFL || BEFORE(number).sa_handler == SIG_IGN) {
        __real_sigaction(number, &none, NULL);  // it faults again, and ends the program
        if (info->si_code <= 0) raise(number);
        return;
    }
    // Its own code may be deferred, and must not fault while it holds the signal back.
    megtrim_provide(table->blocks - 1, 1, NULL);
    *(megtrim_signals*)&mask |= *(megtrim_signals*)&context->uc_sigmask;
    if (!(BEFORE(number).sa_flags & SA_NODEFER) && !marked) sigaddset(&mask, number);
    __real_pthread_sigmask(SIG_SETMASK, &mask, NULL);
    struct sigaction next = BEFORE(number);
    if (next.sa_flags & (int)SA_RESETHAND) BEFORE(number) = none;
    next.sa_sigaction(number, info, context);
}

ALIGNED static void megtrim_fault(int number, siginfo_t* info, void* context) {
    uintptr_t address = (uintptr_t)info->si_addr - distance;
    int ours = IS_OF_MEMORY(number) && info->si_code > 0 && address >= table->code && address < table->end, saved = errno;
    uintptr_t block = ours ? (address - table->code) / table->block_bytes + 1 : 0;
    const char* wrong;
    // Another thread may have brought it meanwhile; a fault that stays is of another kind.
    if (IS_OF_MARKS(number) && info->si_code > 0 && megtrim_reach(context)) {
    } else if (!ours || faults[block] > MOST_RETRIES) {
        megtrim_pass_on(number, info, context);
    } else if (faults[block]) {
        ++faults[block];
    } else if ((wrong = megtrim_provide(block, 0, NULL))) {
        // A trap at the very place, once this handler has returned: reports of crashes name it.
        if (megtrim_miss(address, wrong) > 2) __real_sigaction(SIGTRAP, &none, NULL);
        sigdelset(&((ucontext_t*)context)->uc_sigmask, SIGTRAP);
        raise(SIGTRAP);
    }
    errno = saved;
}

// 1: this file; the loader's name of it is kept, and 2 if the rest's addresses are not reserved.
static int megtrim_visit(struct dl_phdr_info* info, size_t bytes, void* reserved) {
    const char *name = info->dlpi_name, *started = (const char*)getauxval(AT_EXECFN);
    int ours = 0;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)* each = info->dlpi_phdr + i;
        uintptr_t from = info->dlpi_addr + each->p_vaddr;
        uintptr_t size = (table->blocks - 1) * table->block_bytes;
        if (each->p_type != PT_LOAD) continue;
        ours |= (uintptr_t)table - from < each->p_memsz;
        *(int*)reserved |= from == table->code + distance && each->p_memsz >= size;
    }
    if (!ours) return 0;
    if (started && info->dlpi_phdr == (void*)getauxval(AT_PHDR)) name = started;
    megtrim_settle(loaded, name ? name : "");
    return 1;
}

static void megtrim_begin(void) {
    const struct megtrim_rest_table* found = &megtrim_rest_table;
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART};
    const char *setting = NULL, *record = NULL, *wrong;
    int eager = 0, reserved = 0;
    sigset_t fault = {0};
    // What the compiler sees in the table is not what stands there.
    __asm__ volatile("" : "+r"(found));
    if (table || !found->blocks) return;
    distance = (uintptr_t)found - found->here, table = found;
    if (megtrim_relocate(&found->own)) megtrim_stop("this system lets no data change");
    if (dl_iterate_phdr(megtrim_visit, &reserved) && !reserved)
        megtrim_stop("it was changed after it was linked, and reserves too little for its rest");
    secure = getauxval(AT_SECURE) != 0;
    if (!secure) {
        setting = getenv("MEGTRIM_REST");
        record = getenv("MEGTRIM_REACHED");
    }
    eager = setting && !strcmp(setting, "eager");
    faults[0] = found->start == found->code;
    // A kernel may have let it be read, as zeros.
    mprotect((void*)(found->code + distance), (found->blocks - 1) * found->block_bytes, PROT_NONE);
    ours.sa_sigaction = megtrim_fault;  // by code: above, data with addresses was not usable yet
    sigfillset(&ours.sa_mask), sigdelset(&ours.sa_mask, SIGSEGV);
    __real_sigaction(SIGSEGV, &ours, &before);
    sigaddset(&fault, SIGSEGV);
    __real_pthread_sigmask(SIG_UNBLOCK, &fault, NULL);
    if (record) megtrim_settle(reached, record);
#if defined(__arm__)
    sigdelset(&ours.sa_mask, MARKS), sigaddset(&fault, MARKS);
    if (*reached) {
        __real_sigaction(MARKS, &ours, &before_marks);
        __real_pthread_sigmask(SIG_UNBLOCK, &fault, NULL);
    }
#endif
    if (setting && !eager) megtrim_settle(path, setting);
    if (eager && (wrong = megtrim_provide(found->blocks - 1, 1, NULL)))
        megtrim_miss(found->code, wrong), __builtin_trap();
}

// For the application: 0 once the whole rest is there. It is at a path, or in an open file from
// `offset` on, which stays open, or (NULL, -1, 0) where it always is looked for.
__attribute__((visibility("default"), used))
int megtrim_rest(const char* at, int file, long offset) {
    struct megtrim_source source = {.file = file, .offset = (uint64_t)offset};
    const char* wrong;
    megtrim_begin();  // another file's code may come before it
    if (!table) return 0;
    if (at) source.file = megtrim_open_file(at);
    wrong = megtrim_provide(table->blocks - 1, 1, at || file >= 0 ? &source : NULL);
    if (at && source.file >= 0) close(source.file);
    return wrong ? -1 : 0;
}

__attribute__((used, section(".init_array.00000")))
static void (*const megtrim_first)(void) = megtrim_begin;

// What the program itself does with the signal comes here (the linker's --wrap): its handler is
// the next one, and no thread holds the signal back.
static const sigset_t* megtrim_without(const sigset_t* set, sigset_t* copy) {
    return set && table ? (*copy = *set, megtrim_let_through(copy), copy) : set;
}

#define WRAP(name) LOCAL int __wrap_##name(int how, const sigset_t* set, sigset_t* old) { \
    return __real_##name(how, megtrim_without(set, &(sigset_t){0}), old); }
WRAP(sigprocmask) WRAP(pthread_sigmask)
LOCAL int __wrap_sigaction(int number, const struct sigaction* action, struct sigaction* old) {
    struct sigaction copy = action ? *action : BEFORE(number);
    if (action) megtrim_without(&action->sa_mask, &copy.sa_mask);
    if (!IS_OURS(number) || !table) return __real_sigaction(number, action ? &copy : NULL, old);
    if (old) *old = BEFORE(number);
    return BEFORE(number) = copy, 0;
}
#define WRAP_SIGNAL(name, flags) LOCAL void (*__wrap_##name(int number, void (*handler)(int)))(int) { \
    struct sigaction action = {.sa_handler = handler, .sa_flags = (flags)}, old; \
    return __wrap_sigaction(number, &action, &old) < 0 ? SIG_ERR : old.sa_handler; }
// Of strict C or POSIX, the C library's headers make another name of signal.
WRAP_SIGNAL(signal, SA_RESTART) WRAP_SIGNAL(bsd_signal, SA_RESTART) WRAP_SIGNAL(ssignal, SA_RESTART)
WRAP_SIGNAL(sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
WRAP_SIGNAL(__sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
