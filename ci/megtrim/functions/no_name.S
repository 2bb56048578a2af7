/* Stands for a demangler that is left out: it says that a name cannot be made readable (status
   -2, no text). What ends a program after an uncaught exception then prints the name as linkers
   know it, and the message behind it. */

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
#elif defined(__x86_64__)
    xorl %eax, %eax
    testq %rcx, %rcx
    je 1f
    movl $-2, (%rcx)
1:  ret
#else
#error "functions are trimmed on aarch64 and x86_64"
#endif
    .size megtrim_no_name, . - megtrim_no_name
    .section .note.GNU-stack, "", %progbits
