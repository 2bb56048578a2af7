/* Traps, one for each function that is left out, each with a number of its own, so that no linker
   folds two of them, and a section of its own, so that those that nothing refers to are dropped.
   They follow below, each by its number. */

#if defined(__aarch64__)
/* Compilers trap with 1 and 1000. */
#define TRAP(number) brk #(0x400 + (number) % 0xfc00)
#elif defined(__thumb__)
    .syntax unified
    .thumb
#define TRAP(number) udf.w #(0x400 + (number) % 0xf900)
#elif defined(__arm__)
    .syntax unified
/* Without compilers' 65006. */
#define TRAP(number) udf #(0x400 + (number) % 0xf900)
#elif defined(__x86_64__)
/* ud1 eax, [rax + number], spelled out: not every assembler knows it. */
#define TRAP(number) .byte 0x0f, 0xb9, 0x80; .long number
#else
#error "functions are trimmed on aarch64, armv7 and x86_64"
#endif
#define STUB(number) \
    .section .text.megtrim_stub_##number, "ax", %progbits; \
    .globl megtrim_stub_##number; \
    .hidden megtrim_stub_##number; \
    .type megtrim_stub_##number, %function; \
    .p2align 2; \
    megtrim_stub_##number: TRAP(number); \
    .size megtrim_stub_##number, . - megtrim_stub_##number;

    .section .note.GNU-stack, "", %progbits
