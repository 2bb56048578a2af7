/* Calls, one for each function that is left out, so that the place a call returns to tells which
   one it is. They follow below, each by its number: a linker script that reckons with addresses
   means different things to different linkers, so each call has a name. */

#if defined(__aarch64__) || defined(__arm__)
#define CALL(what) bl what
#elif defined(__x86_64__)
/* 6 bytes: an odd address in a pointer to a member function means a virtual one. */
#define CALL(what) call what; nop
#else
#error "functions are trimmed on aarch64, armv7 and x86_64"
#endif
#if defined(__thumb__)
    .syntax unified
    .thumb
#endif
#define STUB(number) \
    .globl megtrim_stub_##number; \
    .hidden megtrim_stub_##number; \
    .type megtrim_stub_##number, %function; \
    megtrim_stub_##number: CALL(megtrim_stub_ran)

    .section .note.GNU-stack, "", %progbits
    .section .text.megtrim_stubs, "ax", %progbits
    .globl megtrim_stubs
    .hidden megtrim_stubs
    .p2align 2
megtrim_stubs:
