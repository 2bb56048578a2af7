/* Stands for a demangler that is left out: it says that a name cannot be made readable (status
   -2, no text). What ends a program after an uncaught exception then prints the name as linkers
   know it, and the message behind it. */

#if defined(__thumb__)
    .syntax unified
    .thumb
#elif defined(__arm__)
    .syntax unified
#endif
    .section .text.megtrim_no_name, "ax", %progbits
    .globl megtrim_no_name
    .hidden megtrim_no_name
    .type megtrim_no_name, %function
    .p2align 2
megtrim_no_name:
#if defined(__aarch64__)
    cbz x3, 1f
    mov w8, #-2
    str w8, [x3]
1:  mov x0, #0
    ret
#elif defined(__arm__)
    cmp r3, #0
    mvn r2, #1
    it ne
    strne r2, [r3]
    mov r0, #0
    bx lr
#elif defined(__x86_64__)
    xorl %eax, %eax
    testq %rcx, %rcx
    je 1f
    movl $-2, (%rcx)
1:  ret
#else
#error "functions are trimmed on aarch64, armv7 and x86_64"
#endif
    .size megtrim_no_name, . - megtrim_no_name
    .section .note.GNU-stack, "", %progbits
