/* Counts, for each block of code that qemu-user translates, how often it ran and how often it
 * accessed memory; at the exit it writes both to a file, in the format of counts/use.py. The file is
 * given by its path, out=PATH, and is opened only then: a program may close what it did not open.
 * Counted is all that runs in this process: the program, by the place in its code; what it loads, by
 * file and place; and code that is of no file, as one. Processes that it starts are numbered, and so
 * are the calls of the system, with the sums of what they returned and of their second arguments,
 * which are sizes for some: what the system does is no code of its own.
 * All that it uses of qemu and of the C library is declared here: it needs no header and no library.
 */
#include <stddef.h>
#include <stdint.h>

/* The C library's. */
void *calloc(size_t, size_t);
void *fopen(const char *, const char *);
char *fgets(char *, int, void *);
int fprintf(void *, const char *, ...);
int fclose(void *);
int getpid(void);
int sscanf(const char *, const char *, ...);
size_t strlen(const char *);
char *strncpy(char *, const char *, size_t);
int strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t);
char *strrchr(const char *, int);
/* Of pthread_atfork, one is there: the C library of GNU exports its part of it alone. */
typedef void handler(void);
__attribute__((weak)) int __register_atfork(handler *, handler *, handler *, void *);
__attribute__((weak)) int pthread_atfork(handler *, handler *, handler *);

/* qemu's: the part of the interface that is the same in all its versions. */
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { NO_REGISTERS = 0, READS_AND_WRITES = 3 };
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t, void (*)(uint64_t, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int,
                                          void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *,
                                      void (*)(unsigned, uint32_t, uint64_t, void *), int, int,
                                      void *);
void qemu_plugin_register_vcpu_syscall_cb(uint64_t,
                                          void (*)(uint64_t, unsigned, int64_t, uint64_t, uint64_t,
                                                   uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                   uint64_t));
void qemu_plugin_register_vcpu_syscall_ret_cb(uint64_t,
                                              void (*)(uint64_t, unsigned, int64_t, int64_t));
void qemu_plugin_register_atexit_cb(uint64_t, void (*)(uint64_t, void *), void *);
uint64_t qemu_plugin_start_code(void);
uint64_t qemu_plugin_end_code(void);

int qemu_plugin_version = 1;

enum { MOST_BLOCKS = 1 << 20, MOST_THREADS = 512, PAGE = 4096, LONGEST = 16 };
enum { MOST_FILES = 256, LONGEST_NAME = 64, LONGEST_LINE = 4400, LONGEST_PATH = 4096 };
enum { THE_PROGRAM, NO_FILE, FIRST_FILE };
enum { MOST_CALLS = 1024 };  /* kinds of them; the last has all that have a larger number */
static const int64_t LARGEST_RETURN = INT64_C(1) << 31, LARGEST_SIZE = INT64_C(1) << 36;
/* Beyond are addresses. */
static struct { uint64_t address, place, instructions, last, crosses; unsigned file; }
    blocks[MOST_BLOCKS];
static struct counter { uint64_t times, accesses; } *threads[MOST_THREADS];
static struct { uint64_t times, returned, asked; } calls[MOST_CALLS];
static uint32_t block_count;
static char files[MOST_FILES][LONGEST_NAME];
static unsigned file_count = FIRST_FILE;
static char out[LONGEST_PATH];
static int own_process;
static unsigned processes, is_incomplete;

/* Of threads that live at once, each has a number of its own. */
static struct counter *find_counter(unsigned thread, void *block) {
    if (thread >= MOST_THREADS) is_incomplete = 1;
    thread %= MOST_THREADS;
    if (!threads[thread]) threads[thread] = calloc(MOST_BLOCKS, sizeof **threads);
    return threads[thread] + (uintptr_t)block;
}

static void count_block(unsigned cpu, void *block) { find_counter(cpu, block)->times++; }

static void count_access(unsigned cpu, uint32_t info, uint64_t address, void *block) {
    find_counter(cpu, block)->accesses++;
}

/* The mapping that was found last, until the next call of the system, which may change it. */
static struct { uint64_t start, end, offset; unsigned file; } mapping;

static unsigned find_call(int64_t number) {
    return number < 0 || number >= MOST_CALLS ? MOST_CALLS - 1 : number;
}

static void note_call(uint64_t id, unsigned cpu, int64_t number, uint64_t a, uint64_t b, uint64_t c,
                      uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
    mapping.end = 0;
    __atomic_fetch_add(&calls[find_call(number)].times, 1, __ATOMIC_RELAXED);
    if (b < LARGEST_SIZE) __atomic_fetch_add(&calls[find_call(number)].asked, b, __ATOMIC_RELAXED);
}

static void note_return(uint64_t id, unsigned cpu, int64_t number, int64_t value) {
    if (value <= 0 || value >= LARGEST_RETURN) return;
    __atomic_fetch_add(&calls[find_call(number)].returned, value, __ATOMIC_RELAXED);
}

/* Names are of printable characters; what was removed, or never was a file of its own, is no file. */
static unsigned find_file(const char *path) {
    static const char removed[] = " (deleted)";
    size_t length = strlen(path);
    if (*path != '/') return NO_FILE;
    if (length >= sizeof removed && !strcmp(path + length - (sizeof removed - 1), removed))
        return NO_FILE;
    char name[LONGEST_NAME] = {0};
    strncpy(name, strrchr(path, '/') + 1, LONGEST_NAME - 1);
    for (char *each = name; *each; each++)
        if (*each <= ' ' || *each > '~') *each = '?';
    for (unsigned file = FIRST_FILE; file < file_count; file++)
        if (!strcmp(files[file], name)) return file;
    if (file_count == MOST_FILES) return NO_FILE;
    strncpy(files[file_count], name, LONGEST_NAME - 1);
    return file_count++;
}

static void find_mapping(uint64_t host) {
    static char line[LONGEST_LINE];
    if (host >= mapping.start && host < mapping.end) return;
    mapping.start = host, mapping.end = 0, mapping.offset = 0, mapping.file = NO_FILE;
    void *maps = fopen("/proc/self/maps", "r");
    if (!maps) return;
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end, offset;
        int path = 0;
        if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &start, &end, &offset, &path) < 3) continue;
        if (host < start || host >= end) continue;
        size_t length = strlen(line);
        if (length && line[length - 1] == '\n') line[length - 1] = 0;
        mapping.start = start, mapping.end = end, mapping.offset = offset;
        mapping.file = path ? find_file(line + path) : NO_FILE;
        break;
    }
    fclose(maps);
}

/* qemu translates one block at a time. */
static void place_block(uintptr_t block, struct qemu_plugin_insn *first) {
    uint64_t start = qemu_plugin_start_code(), end = qemu_plugin_end_code();
    blocks[block].place = blocks[block].address - start;
    blocks[block].file = THE_PROGRAM;
    if (blocks[block].address >= start && blocks[block].address < end) return;
    uint64_t host = (uint64_t)qemu_plugin_insn_haddr(first);
    find_mapping(host);
    blocks[block].file = mapping.file;
    blocks[block].place = mapping.file == NO_FILE ? 0 : host - mapping.start + mapping.offset;
}

static void translate(uint64_t id, struct qemu_plugin_tb *tb) {
    uintptr_t block = __atomic_fetch_add(&block_count, 1, __ATOMIC_RELAXED);
    size_t count = qemu_plugin_tb_n_insns(tb);
    if (block >= MOST_BLOCKS) return;
    blocks[block].address = qemu_plugin_tb_vaddr(tb);
    blocks[block].instructions = count;
    struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
    place_block(block, first);
    uint64_t last = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, count - 1));
    blocks[block].crosses = blocks[block].address % PAGE + qemu_plugin_insn_size(first) > PAGE;
    blocks[block].last = count > 1 && last % PAGE > PAGE - LONGEST ? last : 0;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, count_block, NO_REGISTERS, (void *)block);
    for (size_t i = 0; i < count; i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), count_access,
                                         NO_REGISTERS, READS_AND_WRITES, (void *)block);
}

/* qemu 7.2 has an instruction that goes on in the next page in the block before it, too. */
static uint64_t count_instructions(uint32_t block) {
    for (uint32_t next = 0; blocks[block].last && next < block_count; next++)
        if (blocks[next].crosses && blocks[next].address == blocks[block].last)
            return blocks[block].instructions - 1;
    return blocks[block].instructions;
}

static void write_counts(uint64_t id, void *data) {
    uint32_t lines = 0;
    if (getpid() != own_process) return;  /* one that the program started */
    if (is_incomplete || block_count > MOST_BLOCKS) return;
    void *file = fopen(out, "we");
    if (!file) return;
    for (uint32_t block = 0; block < block_count; block++) {
        struct counter sum = {0, 0};
        for (uint32_t thread = 0; thread < MOST_THREADS; thread++) {
            if (!threads[thread]) continue;
            sum.times += threads[thread][block].times;
            sum.accesses += threads[thread][block].accesses;
        }
        if (!sum.times) continue;
        uint64_t instructions = sum.times * count_instructions(block);
        fprintf(file, "%lx %lu %lu", blocks[block].place, instructions, sum.accesses);
        if (blocks[block].file == NO_FILE) fprintf(file, " -");
        if (blocks[block].file >= FIRST_FILE) fprintf(file, " /%s", files[blocks[block].file]);
        fprintf(file, "\n");
        lines++;
    }
    for (unsigned number = 0; number < MOST_CALLS; number++) {
        if (!calls[number].times) continue;
        fprintf(file, "%x %lu %lu =%lu\n", number, calls[number].times, calls[number].returned,
                calls[number].asked);
        lines++;
    }
    fprintf(file, "%u blocks, %u processes\n", lines, processes);
    fclose(file);
}

static void note_process(void) { __atomic_fetch_add(&processes, 1, __ATOMIC_RELAXED); }

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv) {
    static const char option[] = "out=";
    if (argc != 1 || strncmp(argv[0], option, sizeof option - 1)) return 1;
    strncpy(out, argv[0] + sizeof option - 1, LONGEST_PATH - 1);
    own_process = getpid();
    if (__register_atfork) __register_atfork(NULL, note_process, NULL, NULL);
    else if (pthread_atfork) pthread_atfork(NULL, note_process, NULL);
    else return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_vcpu_syscall_cb(id, note_call);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, note_return);
    qemu_plugin_register_atexit_cb(id, write_counts, NULL);
    return 0;
}
