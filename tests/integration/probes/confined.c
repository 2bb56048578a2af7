/* Runs a program whose code no call can make writable: `confined PROGRAM …`. With `sealed` in
   front of it, a write at a place of a file is refused, too, as memory's own file needs it. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)

int main(int argc, char** argv) {
    int sealed = argc > 1 && strcmp(argv[1], "sealed") == 0;
    struct sock_filter rules[] = {
        LOAD(nr),
        UNLESS(__NR_mprotect, 3),
        LOAD(args[2]),
        UNLESS(PROT_READ | PROT_WRITE | PROT_EXEC, 1),
        REFUSE,
        LOAD(nr),
        UNLESS(sealed ? __NR_pwrite64 : ~0u, 3),
        // Its first write at a place is the head of the record, which is no instruction's length.
        LOAD(args[2]),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 8, 1, 0),
        REFUSE,
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 100;
    argv += 1 + sealed;
    execv(argv[0], argv);
    return 101;
}
