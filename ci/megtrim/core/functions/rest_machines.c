// What the runtime of a rest has to know of each machine: registers, and how code is marked.
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

// Of a set of signals, what a kernel has; a C library's has room for more.
typedef uint64_t megtrim_signals __attribute__((aligned(4), may_alias));

#if defined(__arm__)
// A place has the lowest bit if the code there is Thumb's, whose instructions have 2 bytes or more.
// None of 2 bytes is a fault of memory whatever the registers hold, so marks are another signal.
#define ALIGNED
typedef uint32_t megtrim_instruction;
#define IS_THUMB(place) ((uintptr_t)(place) & 1)
#define HALF(place) ((uint16_t*)((uintptr_t)(place) - 1))
#define FAULT(place) (IS_THUMB(place) ? 0xde6d : 0xe7f6d6fd)  // udf
#define PC(context) ((context)->uc_mcontext.arm_pc | ((context)->uc_mcontext.arm_cpsr >> 5 & 1))
#define BACK(context) ((context)->uc_mcontext.arm_lr & ~1UL)
#define MARKS SIGILL
#define IS_OF_MARKS(number) ((number) == MARKS)
#define IS_OF_MEMORY(number) ((number) == SIGSEGV)

static megtrim_instruction megtrim_read_code(char* at) {
    return IS_THUMB(at) ? *HALF(at) : *(uint32_t*)at;
}
static megtrim_instruction megtrim_exchange(char* at, megtrim_instruction code) {
    return IS_THUMB(at) ? __sync_lock_test_and_set(HALF(at), (uint16_t)code)
                        : __sync_lock_test_and_set((uint32_t*)at, code);
}
#define WRITE_CODE(at, code) megtrim_exchange(at, code)

// Room in the linked file for the rows by which deferred functions are unwound, behind those of
// all others. The cut gives it its size, and until the rest is there, it is zeros.
__attribute__((used, section(".megtrim_rows"))) static const char megtrim_room[512] = {0};

#ifndef SYS_rt_sigtimedwait  // of musl; the time is 0, in whatever form
#define SYS_rt_sigtimedwait SYS_rt_sigtimedwait_time32
#endif
#else
#if defined(__aarch64__)
#define ALIGNED
typedef uint32_t megtrim_instruction;
#define FAULT(place) 0xd50b743f  // dc zva, xzr
#define PC(context) ((context)->uc_mcontext.pc)
#define BACK(context) ((context)->uc_mcontext.regs[30])  // where a function that begins returns to
#else
// qemu 7.2 calls handlers with a stack that no compiler expects.
#define ALIGNED __attribute__((force_align_arg_pointer))
typedef uint8_t megtrim_instruction;
#define FAULT(place) 0xf4  // hlt
#define PC(context) ((uint64_t)(context)->uc_mcontext.gregs[REG_RIP])
#define BACK(context) (*(uint64_t*)(context)->uc_mcontext.gregs[REG_RSP])
#endif
#define IS_THUMB(place) 0
#define IS_OF_MARKS(number) 1
#define IS_OF_MEMORY(number) 1

static megtrim_instruction megtrim_read_code(char* at) { return *(megtrim_instruction*)at; }
static megtrim_instruction megtrim_exchange(char* at, megtrim_instruction code) {
    return __sync_lock_test_and_set((megtrim_instruction*)at, code);
}
#define WRITE_CODE(at, code) (*(megtrim_instruction*)(at) = (code))
#endif
