/* One call for each function that is left out, so that the place it returns to tells which one
   it is. MEGTRIM_STUBS says how many; each takes 4 bytes on aarch64 and 5 on x86_64. */

    .section .text.megtrim_stubs, "ax", %progbits
    .globl megtrim_stubs
    .hidden megtrim_stubs
    .globl megtrim_stub_bytes
    .hidden megtrim_stub_bytes
    .type megtrim_stubs, %function
    .p2align 2
megtrim_stubs:
    .rept MEGTRIM_STUBS
#if defined(__aarch64__)
    bl megtrim_stub_ran
#elif defined(__x86_64__)
    call megtrim_stub_ran
#else
#error "functions are trimmed on aarch64 and x86_64"
#endif
    .endr
#if defined(__aarch64__)
    .set megtrim_stub_bytes, 4
#else
    .set megtrim_stub_bytes, 5
#endif
    .size megtrim_stubs, . - megtrim_stubs
    .section .note.GNU-stack, "", %progbits
