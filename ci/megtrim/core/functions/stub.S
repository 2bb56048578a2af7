/* The one function that stands for all those that a build leaves out: it stops the program.
   Written in assembler so that it is the same under every compiler, flag and kind of linking. */

#if defined(__thumb__)
    .syntax unified
    .thumb
#elif defined(__arm__)
    .syntax unified
#endif
    .section .text.megtrim_stub, "ax", %progbits
    .globl megtrim_stub
    .hidden megtrim_stub
    .type megtrim_stub, %function
    .p2align 2
megtrim_stub:
#if defined(__aarch64__)
    brk #1
#elif defined(__thumb__)
    udf #254
#elif defined(__arm__)
    udf #65006
#elif defined(__x86_64__)
    ud2
#else
#error "functions are trimmed on aarch64, armv7 and x86_64"
#endif
    .size megtrim_stub, . - megtrim_stub
    .section .note.GNU-stack, "", %progbits
