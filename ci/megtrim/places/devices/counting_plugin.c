/* Counts, for each block of a program that qemu-user translates, how often it ran and how often it
 * accessed memory; at the exit it writes both to counts.txt, in the format of counts/use.py.
 * All that it uses of qemu and of the C library is declared here: it needs no header and no library.
 */
#include <stddef.h>
#include <stdint.h>

/* The C library's. */
void *calloc(size_t, size_t);
void *fopen(const char *, const char *);
int fprintf(void *, const char *, ...);
int fclose(void *);

/* qemu's: the part of the interface that is the same in all its versions. */
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { NO_REGISTERS = 0, READS_AND_WRITES = 3 };
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t, void (*)(uint64_t, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int,
                                          void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *,
                                      void (*)(unsigned, uint32_t, uint64_t, void *), int, int,
                                      void *);
void qemu_plugin_register_atexit_cb(uint64_t, void (*)(uint64_t, void *), void *);
uint64_t qemu_plugin_start_code(void);
uint64_t qemu_plugin_end_code(void);

int qemu_plugin_version = 1;

enum { MOST_BLOCKS = 1 << 20, MOST_THREADS = 512, PAGE = 4096, LONGEST = 16 };
static struct { uint64_t address, instructions, last, crosses; } blocks[MOST_BLOCKS];
static struct counter { uint64_t times, accesses; } *threads[MOST_THREADS];
static uint32_t block_count;

/* Of threads that live at once, each has a number of its own. */
static struct counter *find_counter(unsigned thread, void *block) {
    thread %= MOST_THREADS;
    if (!threads[thread]) threads[thread] = calloc(MOST_BLOCKS, sizeof **threads);
    return threads[thread] + (uintptr_t)block;
}

static void count_block(unsigned cpu, void *block) { find_counter(cpu, block)->times++; }

static void count_access(unsigned cpu, uint32_t info, uint64_t address, void *block) {
    find_counter(cpu, block)->accesses++;
}

static void translate(uint64_t id, struct qemu_plugin_tb *tb) {
    uintptr_t block = __atomic_fetch_add(&block_count, 1, __ATOMIC_RELAXED);
    size_t count = qemu_plugin_tb_n_insns(tb);
    if (block >= MOST_BLOCKS) return;
    blocks[block].address = qemu_plugin_tb_vaddr(tb);
    blocks[block].instructions = count;
    struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
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
    uint64_t start = qemu_plugin_start_code(), end = qemu_plugin_end_code();
    uint32_t lines = 0;
    void *file = fopen("counts.txt", "w");
    if (!file || block_count > MOST_BLOCKS) return;
    for (uint32_t block = 0; block < block_count; block++) {
        struct counter sum = {0, 0};
        for (uint32_t thread = 0; thread < MOST_THREADS; thread++) {
            if (!threads[thread]) continue;
            sum.times += threads[thread][block].times;
            sum.accesses += threads[thread][block].accesses;
        }
        uint64_t offset = blocks[block].address - start;
        if (!sum.times || offset >= end - start) continue;  /* of a library */
        uint64_t instructions = sum.times * count_instructions(block);
        fprintf(file, "%lx %lu %lu\n", offset, instructions, sum.accesses);
        lines++;
    }
    fprintf(file, "%u blocks\n", lines);
    fclose(file);
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv) {
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, write_counts, NULL);
    return 0;
}
