#ifndef __ASSEMBLER__

// The engine's own traps, and the regions that are not kept, call these functions. They trap, but a
// library whose exports return errors replaces them: the call returns an error that says where.
#ifdef __cplusplus
extern "C" {
#endif
#define MEGTRIM_END __attribute__((weak, visibility("hidden"), noinline, noreturn))
MEGTRIM_END void megtrim_refused(const char* function, int line);
MEGTRIM_END void megtrim_lacks(const char* region);
void megtrim_refused(const char* function, int line) {
    (void)function, (void)line;
    __builtin_trap();
}
void megtrim_lacks(const char* region) {
    (void)region;
    __builtin_trap();
}
#ifdef __cplusplus
}
#endif
#define __builtin_trap() megtrim_refused(__func__, __LINE__)

#endif
