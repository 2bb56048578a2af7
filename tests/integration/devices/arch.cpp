#include <sys/auxv.h>
#include <sys/utsname.h>

#include <csignal>
#include <cstdio>
#include <cstring>

// Says which machine it runs on, as its own kernel calls and its own CPU tell it.
int main(int count, char** words) {
    utsname names;
    uname(&names);
    unsigned long id = 0;
    asm("mrs %0, midr_el1" : "=r"(id));  // no other machine has this instruction
    std::printf("%s part %lx\n", names.machine, (id >> 4) & 0xfff);
    if (count > 1 && std::strcmp(words[1], "segfault") == 0) raise(SIGSEGV);
    return 3;
}
