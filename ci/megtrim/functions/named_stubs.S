/* One call for each function that is left out, so that the place it returns to tells which one
   it is. MEGTRIM_STUBS says how many. Each has a name of its own: a linker script that reckons
   with addresses means different things to different linkers. */

    .section .text.megtrim_stubs, "ax", %progbits
    .globl megtrim_stubs
    .hidden megtrim_stubs
    .p2align 2
megtrim_stubs:
    .altmacro
    .macro megtrim_stub_number number
    .globl megtrim_stub_\number
    .hidden megtrim_stub_\number
    .type megtrim_stub_\number, %function
megtrim_stub_\number:
#if defined(__aarch64__)
    bl megtrim_stub_ran
#elif defined(__x86_64__)
    call megtrim_stub_ran
#else
#error "functions are trimmed on aarch64 and x86_64"
#endif
    .endm
    .set megtrim_number, 0
    .rept MEGTRIM_STUBS
    megtrim_stub_number %megtrim_number
    .set megtrim_number, megtrim_number + 1
    .endr
    .noaltmacro
    .section .note.GNU-stack, "", %progbits
