// What only a build without exceptions has.
#if SAMPLE_NO_EXCEPTIONS

// The C++ runtime makes the names in its last words readable, with code that is larger than the
// rest of a trimmed engine. This build has no last words. (-1: out of memory, no result.)
extern "C" char* __cxa_demangle(const char*, char*, unsigned long*, int* status) {
    if (status)
        *status = -1;
    return nullptr;
}

#endif
