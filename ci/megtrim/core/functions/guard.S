/* Guards: one for each export, by which callers reach it. Their table, and what was left out,
   follow below. All arguments are kept, in registers and on the stack. */

    .section .note.GNU-stack, "", %progbits
    .text
    .hidden megtrim_enter, megtrim_leave, megtrim_missed, megtrim_exports

#if defined(__aarch64__)

/* Code enters a function by an indirect call: bti c, where it is looked at. */
#define GUARD(number, export) \
    hint 34; \
    mov w17, number; \
    b megtrim_guard; \
    b export
#define JUMP_AT 12

    .globl megtrim_guard
    .hidden megtrim_guard
    .type megtrim_guard, %function
    .p2align 2
megtrim_guard: /* w17: the number of the export */
    stp x29, x30, [sp, #-224]!
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    stp x8, x17, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov w0, w17
    add x1, sp, #16
    bl megtrim_enter
    ldp x8, x17, [sp, #80]
    cbz x0, 1f
    ldp x29, x30, [sp]
    add x9, sp, #224
    mrs x10, fpcr
    stp x19, x20, [x0]
    stp x21, x22, [x0, #16]
    stp x23, x24, [x0, #32]
    stp x25, x26, [x0, #48]
    stp x27, x28, [x0, #64]
    stp x29, x9, [x0, #80]
    str x30, [x0, #96]
    str d8, [x0, #104]
    str d9, [x0, #112]
    str d10, [x0, #120]
    str d11, [x0, #128]
    str d12, [x0, #136]
    str d13, [x0, #144]
    str d14, [x0, #152]
    str d15, [x0, #160]
    str x18, [x0, #168]
    str x10, [x0, #176]
    mov x19, x0
    adrp x16, megtrim_guards
    add x16, x16, :lo12:megtrim_guards
    add x16, x16, x17, lsl #4
    add x16, x16, #JUMP_AT
    adr x30, 2f
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    add sp, sp, #224
    br x16
1:  adrp x9, megtrim_exports
    add x9, x9, :lo12:megtrim_exports
    add x9, x9, x17, lsl #3
    ldrsw x0, [x9]
    ldp x29, x30, [sp], #224
    ret
2:  hint 36 /* bti j */
    ldr x16, [x19, #96]
    ldr x17, [x19]
    stp x29, x16, [sp, #-112]!
    stp x0, x1, [sp, #16]
    str x17, [sp, #32]
    stp q0, q1, [sp, #48]
    stp q2, q3, [sp, #80]
    mov x0, x19
    bl megtrim_leave
    ldp x0, x1, [sp, #16]
    ldr x19, [sp, #32]
    ldp q0, q1, [sp, #48]
    ldp q2, q3, [sp, #80]
    ldp x29, x30, [sp], #112
    ret
    .size megtrim_guard, . - megtrim_guard

    .globl megtrim_restore
    .hidden megtrim_restore
    .type megtrim_restore, %function
megtrim_restore:
    ldp x19, x20, [x0]
    ldp x21, x22, [x0, #16]
    ldp x23, x24, [x0, #32]
    ldp x25, x26, [x0, #48]
    ldp x27, x28, [x0, #64]
    ldp x29, x9, [x0, #80]
    ldr x30, [x0, #96]
    ldr d8, [x0, #104]
    ldr d9, [x0, #112]
    ldr d10, [x0, #120]
    ldr d11, [x0, #128]
    ldr d12, [x0, #136]
    ldr d13, [x0, #144]
    ldr d14, [x0, #152]
    ldr d15, [x0, #160]
    ldr x18, [x0, #168]
    ldr x10, [x0, #176]
    msr fpcr, x10
    mov sp, x9
    mov x0, x1
    ret
    .size megtrim_restore, . - megtrim_restore

#define MISSING(number, name) \
    .section .text.megtrim_stub_##number, "ax", %progbits; \
    .globl megtrim_stub_##number; \
    .hidden megtrim_stub_##number; \
    .type megtrim_stub_##number, %function; \
    .p2align 2; \
    megtrim_stub_##number: \
    hint 34; \
    bl megtrim_miss; \
    .asciz name; \
    .size megtrim_stub_##number, . - megtrim_stub_##number;

    .text
    .globl megtrim_miss
    .hidden megtrim_miss
    .type megtrim_miss, %function
    .p2align 2
megtrim_miss: /* the name follows the call */
    mov x0, x30
    b megtrim_missed
    .size megtrim_miss, . - megtrim_miss

#elif defined(__x86_64__)

#define GUARD(number, export) \
    movl $number, %r11d; \
    .byte 0xe9; .long megtrim_guard - . - 4; \
    jmp export@PLT; \
    .p2align 4
#define JUMP_AT 11

    .globl megtrim_guard
    .hidden megtrim_guard
    .type megtrim_guard, @function
megtrim_guard: /* r11: the number of the export; rax: how many arguments are in vectors */
    subq $216, %rsp
    movq %rdi, (%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
    movq %r11, 56(%rsp)
    movq %r10, 64(%rsp)
    movups %xmm0, 80(%rsp)
    movups %xmm1, 96(%rsp)
    movups %xmm2, 112(%rsp)
    movups %xmm3, 128(%rsp)
    movups %xmm4, 144(%rsp)
    movups %xmm5, 160(%rsp)
    movups %xmm6, 176(%rsp)
    movups %xmm7, 192(%rsp)
    movl %r11d, %edi
    movq %rsp, %rsi
    call megtrim_enter
    movq 56(%rsp), %r11
    testq %rax, %rax
    je 1f
    movq %rbx, (%rax)
    movq %rbp, 8(%rax)
    movq %r12, 16(%rax)
    movq %r13, 24(%rax)
    movq %r14, 32(%rax)
    movq %r15, 40(%rax)
    leaq 224(%rsp), %rdx
    movq %rdx, 48(%rax)
    movq 216(%rsp), %rdx
    movq %rdx, 56(%rax)
    stmxcsr 64(%rax)
    fnstcw 68(%rax)
    movq %rax, %rbx
    leaq 2f(%rip), %rdx
    movq %rdx, 216(%rsp)
    shlq $4, %r11
    leaq megtrim_guards+JUMP_AT(%rip), %rdx
    addq %rdx, %r11
    movq (%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movq 48(%rsp), %rax
    movq 64(%rsp), %r10
    movups 80(%rsp), %xmm0
    movups 96(%rsp), %xmm1
    movups 112(%rsp), %xmm2
    movups 128(%rsp), %xmm3
    movups 144(%rsp), %xmm4
    movups 160(%rsp), %xmm5
    movups 176(%rsp), %xmm6
    movups 192(%rsp), %xmm7
    addq $216, %rsp
    jmp *%r11
1:  leaq megtrim_exports(%rip), %rdx
    movslq (%rdx,%r11,8), %rax
    addq $216, %rsp
    ret
2:  subq $64, %rsp
    movq %rax, (%rsp)
    movq %rdx, 8(%rsp)
    movups %xmm0, 16(%rsp)
    movups %xmm1, 32(%rsp)
    movq (%rbx), %rax
    movq %rax, 48(%rsp)
    movq 56(%rbx), %rax
    movq %rax, 56(%rsp)
    movq %rbx, %rdi
    call megtrim_leave
    movq (%rsp), %rax
    movq 8(%rsp), %rdx
    movups 16(%rsp), %xmm0
    movups 32(%rsp), %xmm1
    movq 48(%rsp), %rbx
    movq 56(%rsp), %rcx
    addq $64, %rsp
    jmp *%rcx
    .size megtrim_guard, . - megtrim_guard

    .globl megtrim_restore
    .hidden megtrim_restore
    .type megtrim_restore, @function
megtrim_restore:
    movq (%rdi), %rbx
    movq 8(%rdi), %rbp
    movq 16(%rdi), %r12
    movq 24(%rdi), %r13
    movq 32(%rdi), %r14
    movq 40(%rdi), %r15
    movq 56(%rdi), %rcx
    ldmxcsr 64(%rdi)
    fninit
    fldcw 68(%rdi)
    movq %rsi, %rax
    movq 48(%rdi), %rsp
    cld
    jmp *%rcx
    .size megtrim_restore, . - megtrim_restore

#define MISSING(number, name) \
    .section .text.megtrim_stub_##number, "ax", %progbits; \
    .globl megtrim_stub_##number; \
    .hidden megtrim_stub_##number; \
    .type megtrim_stub_##number, @function; \
    .p2align 1; \
    megtrim_stub_##number: \
    call megtrim_miss; \
    .asciz name; \
    .size megtrim_stub_##number, . - megtrim_stub_##number;

    .text
    .globl megtrim_miss
    .hidden megtrim_miss
    .type megtrim_miss, @function
megtrim_miss: /* the name follows the call */
    popq %rdi
    andq $-16, %rsp
    call megtrim_missed
    .size megtrim_miss, . - megtrim_miss

#else
#error "exports are guarded on aarch64 and x86_64"
#endif
