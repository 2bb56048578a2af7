/* A program that does what it is told, to see what a device makes of it.
 * Static, of C alone: built for this machine and for arm64. Each verb is a behaviour of the
 * contract suite; several can be given, separated by a word that is one comma. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char* need(char** words, int at) {
    if (!words[at]) {
        fprintf(stderr, "deed: %s lacks a word\n", words[0]);
        exit(99);
    }
    return words[at];
}

static void hex(const char* text) {
    for (; *text; ++text)
        printf("%02x", (unsigned char)*text);
    printf("\n");
}

static void fill(FILE* file, long bytes, unsigned seed) {
    while (bytes-- > 0) {
        seed = seed * 1103515245u + 12345u;
        fputc((seed >> 16) & 255, file);
    }
}

static void letters(FILE* file, long bytes) {
    for (long i = 1; i <= bytes; ++i)
        fputc(i % 64 ? 'a' + i % 23 : '\n', file);
}

static void copy(const char* from, const char* to, const char* mode) {
    FILE* source = fopen(from, "rb");
    FILE* target = fopen(to, mode);
    if (!source || !target) {
        perror(source ? to : from);
        exit(98);
    }
    for (int each; (each = fgetc(source)) != EOF;)
        fputc(each, target);
    if (fclose(source) || fclose(target))
        exit(97);
}

static void cpus(void) {
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine))
        exit(96);
    for (int each = 0; each < CPU_SETSIZE; ++each)
        if (CPU_ISSET(each, &mine))
            printf("%d\n", each);
}

static void list(const char* folder) {
    struct dirent** found;
    int count = scandir(folder, &found, NULL, alphasort);
    for (int i = 0; i < count; ++i)
        if (strcmp(found[i]->d_name, ".") && strcmp(found[i]->d_name, ".."))
            printf("%s\n", found[i]->d_name);
}

/* Overwrite every file of a folder that can be reached: an evil program of an earlier job. */
static void spoil(const char* folder) {
    struct dirent** found;
    if (chdir(folder))
        return;
    int count = scandir(".", &found, NULL, alphasort);
    for (int i = 0; i < count; ++i) {
        FILE* file = fopen(found[i]->d_name, "r+b");
        if (!file)
            continue;
        fputs("spoilt", file);
        fclose(file);
    }
}

/* A child that would live for a minute; its own session is out of reach of a group's end. */
static void child(int own_session) {
    if (fork())
        return;
    if (own_session)
        setsid();
    sleep(60);
    _exit(0);
}

static int deed(char** words) {
    const char* verb = words[0];
    struct rlimit none = {0, 0};
    if (!strcmp(verb, "exit")) {
        exit(atoi(need(words, 1)));
    } else if (!strcmp(verb, "kill")) {
        setrlimit(RLIMIT_CORE, &none);
        raise(atoi(need(words, 1)));
    } else if (!strcmp(verb, "trap")) {
        setrlimit(RLIMIT_CORE, &none);
        __builtin_trap();
    } else if (!strcmp(verb, "out") || !strcmp(verb, "err")) {
        fputs(need(words, 1), *verb == 'o' ? stdout : stderr);
        fflush(NULL);
    } else if (!strcmp(verb, "print")) {
        letters(stdout, atol(need(words, 1)));
        letters(stderr, atol(need(words, 2)));
    } else if (!strcmp(verb, "bytes")) {
        for (int i = 0; i < 256; ++i)
            putchar(i);
    } else if (!strcmp(verb, "hex")) {
        for (int i = 1; words[i]; ++i)
            hex(words[i]);
    } else if (!strcmp(verb, "variable")) {
        const char* value = getenv(need(words, 1));
        hex(value ? value : "unset");
    } else if (!strcmp(verb, "copy")) {
        copy(need(words, 1), need(words, 2), "wb");
    } else if (!strcmp(verb, "write")) {
        FILE* file = fopen(need(words, 1), "wb");
        if (!file)
            exit(98);
        fputs(need(words, 2), file);
        fclose(file);
    } else if (!strcmp(verb, "fill")) {
        FILE* file = fopen(need(words, 1), "wb");
        fill(file, atol(need(words, 2)), 7);
        fclose(file);
    } else if (!strcmp(verb, "list")) {
        list(need(words, 1));
    } else if (!strcmp(verb, "spoil")) {
        spoil(need(words, 1));
    } else if (!strcmp(verb, "link")) {
        if (symlink(need(words, 1), need(words, 2)))
            exit(98);
    } else if (!strcmp(verb, "folder")) {
        mkdir(need(words, 1), 0755);
    } else if (!strcmp(verb, "pipe")) {
        mkfifo(need(words, 1), 0644);
    } else if (!strcmp(verb, "remove")) {
        remove(need(words, 1));
    } else if (!strcmp(verb, "mode")) {
        chmod(need(words, 2), strtol(need(words, 1), NULL, 8));
    } else if (!strcmp(verb, "read")) {
        printf("%d\n", getchar() == EOF);
    } else if (!strcmp(verb, "nap")) {
        sleep(60);
    } else if (!strcmp(verb, "sleep")) {
        usleep(atol(need(words, 1)) * 1000);
    } else if (!strcmp(verb, "child") || !strcmp(verb, "daemon")) {
        need(words, 1); /* by which it is found among all processes */
        child(*verb == 'd');
    } else if (!strcmp(verb, "cpus")) {
        cpus();
    } else if (!strcmp(verb, "machine")) {
        struct utsname name;
        uname(&name);
        printf("%s %d\n", name.machine, (int)sizeof(void*));
    } else {
        fprintf(stderr, "deed: no verb %s\n", verb);
        return 99;
    }
    fflush(NULL);
    return 0;
}

int main(int count, char** words) {
    int status = 0, first = 1;
    for (int i = 1; i <= count && !status; ++i) {
        if (words[i] && strcmp(words[i], ","))
            continue;
        words[i] = NULL;
        if (words[first])
            status = deed(words + first);
        first = i + 1;
    }
    return status;
}
