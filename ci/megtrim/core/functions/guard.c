/* Guards around the exports of a library from which functions were left out: a call that reaches
   one of these returns an error of the interface, and the process lives.

   A guard saves what a caller expects to find again in a frame, and lets the export return to the
   guard: arguments on the stack stay where they are. What was left out ends in a jump to the
   innermost guard of its thread, so no signal is involved: handlers, masks and signal stacks of the
   application are neither used nor changed. Frames between are dropped: no destructor runs. */

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LOCAL __attribute__((visibility("hidden")))

#if defined(__aarch64__)
enum { SAVED = 23 }; /* x19-x29, sp, lr, d8-d15, x18, fpcr */
#elif defined(__x86_64__)
enum { SAVED = 9 }; /* rbx, rbp, r12-r15, rsp, return address, mxcsr and the x87's control word */
#else
#error "exports are guarded on aarch64 and x86_64"
#endif
enum {
    ARGUMENTS = 6,
    INLINE_LOCKS = 8,
    FRAMES = 64,
    SLOTS = 1024, /* a power of two */
    MOST_FAILED = 512,
    SAID_BYTES = 256,
};

struct export {
    int32_t value;    /* what stands for an error */
    uint32_t handles; /* bit N: argument N is a handle */
};
extern LOCAL const struct export megtrim_exports[];

enum kind { LOCK, STATIC, ONCE };
struct held {
    void* lock;
    enum kind kind;
};
/* Of one thread. */
struct own {
    struct frame* top;
    const char* missing;
#ifdef MEGTRIM_REFUSALS
    char said[SAID_BYTES];
#endif
};
static __thread struct own mine;

/* Of one call through an export. */
struct frame {
    uint64_t saved[SAVED]; /* first: the guard reads it */
    struct own* own;
    const struct export* export;
    struct frame* outer;
    uintptr_t given[ARGUMENTS];
    struct held* held;
    unsigned count, room, lost;
    int slot; /* in the pool; -1: it is allocated */
    struct held few[INLINE_LOCKS];
};

/* Frames that threads share. More are allocated. */
static struct frame pool[FRAMES];
static _Atomic uint64_t used;

static struct frame* take_frame(void) {
    uint64_t seen = atomic_load_explicit(&used, memory_order_relaxed);
    while (~seen) {
        int at = __builtin_ctzll(~seen);
        if (atomic_compare_exchange_weak(&used, &seen, seen | UINT64_C(1) << at)) {
            pool[at].slot = at;
            return pool + at;
        }
    }
    struct frame* frame = malloc(sizeof *frame);
    if (frame)
        frame->slot = -1;
    return frame;
}

static void give_frame(struct frame* frame) {
    if (frame->held != frame->few)
        free(frame->held);
    if (frame->slot >= 0)
        atomic_fetch_and(&used, ~(UINT64_C(1) << frame->slot));
    else
        free(frame);
}

/* Handles that a failed call left half changed. None is freed, so no new one gets its address. */
static _Atomic uintptr_t failed[SLOTS];
static _Atomic unsigned failures;

static unsigned find_slot(uintptr_t handle) {
    unsigned at = (unsigned)(handle >> 4 ^ handle >> 14) % SLOTS;
    while (failed[at] && failed[at] != handle)
        at = (at + 1) % SLOTS;
    return at;
}

static void fail(uintptr_t handle) {
    if (!handle)
        return;
    if (++failures > MOST_FAILED)
        return; /* there is no telling them apart any more */
    unsigned at = find_slot(handle);
    uintptr_t none = 0;
    while (!failed[at] && !atomic_compare_exchange_strong(&failed[at], &none, handle)) {
        at = find_slot(handle);
        none = 0;
    }
}

/* For the application: the function that the last call of this thread lacked, what it refused, or
   what else its guard has to say; empty if there is nothing to say. */
__attribute__((visibility("default"))) const char* megtrim_missing(void) {
    return mine.missing ? mine.missing : "";
}

static const char* refuse(const struct export* export, const uint64_t* arguments) {
    for (uint32_t handles = export->handles; handles; handles &= handles - 1) {
        uintptr_t handle = arguments[__builtin_ctz(handles)];
        if (!handle)
            continue;
        if (failures > MOST_FAILED)
            return "too many calls failed: no handle is usable any more";
        if (failed[find_slot(handle)])
            return "an earlier call failed: its handle is not usable any more";
    }
    return NULL;
}

/* From a guard. No frame: the error is returned at once. */
LOCAL struct frame* megtrim_enter(uint64_t number, const uint64_t* arguments) {
    const struct export* export = megtrim_exports + number;
    const char* refused = failures ? refuse(export, arguments) : NULL;
    struct frame* frame = refused ? NULL : take_frame();
    struct own* own = &mine;
    own->missing = NULL;
    if (!frame) {
        own->missing = refused ? refused : "there is no memory for a guarded call";
        return NULL;
    }
    frame->export = export;
    for (uint32_t handles = export->handles; handles; handles &= handles - 1) {
        int at = __builtin_ctz(handles);
        frame->given[at] = arguments[at];
    }
    frame->held = frame->few;
    frame->room = INLINE_LOCKS;
    frame->count = 0;
    frame->lost = 0;
    frame->own = own;
    frame->outer = own->top;
    own->top = frame;
    return frame;
}

/* A frame need not be the innermost one: an application may change its stack in a callback. */
LOCAL void megtrim_leave(struct frame* frame) {
    struct frame** place = &frame->own->top;
    while (*place && *place != frame)
        place = &(*place)->outer;
    if (*place)
        *place = frame->outer;
    give_frame(frame);
}

#ifdef MEGTRIM_STATICS
int __real___cxa_guard_acquire(void*);
void __real___cxa_guard_release(void*);
void __real___cxa_guard_abort(void*);
#endif
#ifdef MEGTRIM_LOCKS
int __real_pthread_mutex_lock(void*);
int __real_pthread_mutex_trylock(void*);
int __real_pthread_mutex_unlock(void*);
#endif

static void release(const struct held* held) {
#ifdef MEGTRIM_STATICS
    if (held->kind == STATIC)
        __real___cxa_guard_abort(held->lock);
#endif
#ifdef MEGTRIM_LOCKS
    if (held->kind == LOCK)
        __real_pthread_mutex_unlock(held->lock);
#endif
#ifdef MEGTRIM_ONCE
    if (held->kind == ONCE)
        atomic_store((_Atomic int*)held->lock, 0); /* the next call begins again */
#endif
    (void)held;
}

LOCAL __attribute__((noreturn)) void megtrim_restore(const uint64_t* saved, int64_t result);

/* What was left out leads here, with its name. */
LOCAL __attribute__((noreturn)) void megtrim_missed(const char* name) {
    struct frame* frame = mine.top;
    uint64_t saved[SAVED];
    /* No export to return from, or a lock that would be held for ever. */
    if (!frame || frame->lost)
        __builtin_trap();
    while (frame->count)
        release(frame->held + --frame->count);
    int64_t value = frame->export->value;
    for (uint32_t handles = frame->export->handles; handles; handles &= handles - 1)
        fail(frame->given[__builtin_ctz(handles)]);
    mine.missing = name;
    for (int at = 0; at < SAVED; ++at)
        saved[at] = frame->saved[at];
    megtrim_leave(frame);
    megtrim_restore(saved, value);
}

#if defined(MEGTRIM_LOCKS) || defined(MEGTRIM_STATICS) || defined(MEGTRIM_ONCE)
/* Locks that a call takes are given back where it fails: who waits for one for ever is dead. */
static void note(void* lock, enum kind kind) {
    struct frame* frame = mine.top;
    if (!frame)
        return;
    if (frame->count == frame->room) {
        struct held* more = malloc(2 * frame->room * sizeof *more);
        if (!more) {
            frame->lost = 1;
            return;
        }
        for (unsigned at = 0; at < frame->count; ++at)
            more[at] = frame->held[at];
        if (frame->held != frame->few)
            free(frame->held);
        frame->held = more;
        frame->room *= 2;
    }
    frame->held[frame->count].lock = lock;
    frame->held[frame->count].kind = kind;
    ++frame->count;
}

static void forget(void* lock) {
    for (struct frame* frame = mine.top; frame; frame = frame->outer)
        for (unsigned at = frame->count; at-- > 0;)
            if (frame->held[at].lock == lock) {
                --frame->count;
                for (; at < frame->count; ++at)
                    frame->held[at] = frame->held[at + 1];
                return;
            }
}
#endif

#ifdef MEGTRIM_LOCKS
LOCAL int __wrap_pthread_mutex_lock(void* lock) {
    int status = __real_pthread_mutex_lock(lock);
    if (!status)
        note(lock, LOCK);
    return status;
}
LOCAL int __wrap_pthread_mutex_trylock(void* lock) {
    int status = __real_pthread_mutex_trylock(lock);
    if (!status)
        note(lock, LOCK);
    return status;
}
LOCAL int __wrap_pthread_mutex_unlock(void* lock) {
    forget(lock);
    return __real_pthread_mutex_unlock(lock);
}
#endif

#ifdef MEGTRIM_STATICS
LOCAL int __wrap___cxa_guard_acquire(void* guard) {
    int first = __real___cxa_guard_acquire(guard);
    if (first)
        note(guard, STATIC);
    return first;
}
LOCAL void __wrap___cxa_guard_release(void* guard) {
    forget(guard);
    __real___cxa_guard_release(guard);
}
/* An exception left the static's initializer: the next call begins again. */
LOCAL void __wrap___cxa_guard_abort(void* guard) {
    forget(guard);
    __real___cxa_guard_abort(guard);
}
#endif

#ifdef MEGTRIM_ONCE
/* As in each C library, 0 is not begun, and bit 1 is done. One that was begun holds its process, for
   the child of a fork finds what another thread of its parent has begun, and no one ends that. */
enum { BEGUN = 1, DONE = 2, WAIT_NS = 100000 };
LOCAL int __wrap_pthread_once(_Atomic int* once, void (*make)(void)) {
    int seen;
    while (!((seen = atomic_load_explicit(once, memory_order_acquire)) & DONE)) {
        const int begun = (int)((unsigned)getpid() << 2 | BEGUN);
        const struct timespec pause = {0, WAIT_NS};
        if (seen == begun)
            nanosleep(&pause, NULL);
        else if (atomic_compare_exchange_strong(once, &seen, begun)) {
            note((void*)once, ONCE);
            make();
            forget((void*)once);
            atomic_store(once, DONE);
        }
    }
    return 0;
}
#endif

#ifdef MEGTRIM_REFUSALS
/* Functions by which the library refuses what it is given. One of these takes the place of each,
   with the arguments of that one. A message may hold parts of a damaged file, which need not be
   text: no terminal and no log of the application shall obey it. */
static const char* say(const char* what, const char* format, va_list values) {
    char* said = mine.said;
    int size = snprintf(said, SAID_BYTES, "%s", what);
    if (format && size > 0 && size < SAID_BYTES)
        vsnprintf(said + size, SAID_BYTES - size, format, values);
    for (char* each = said; *each; ++each)
        if (*each < ' ' || *each > '~')
            *each = *each == '\n' ? ' ' : '?';
    return said;
}

static const char* say_plainly(const char* what, const char* format, ...) {
    va_list values;
    va_start(values, format);
    const char* said = say(what, format, values);
    va_end(values);
    return said;
}

#define TEXT(said) said && *said ? ": %.*s" : NULL, SAID_BYTES, said
#define REFUSAL(number, parameters) \
    LOCAL __attribute__((noreturn)) void megtrim_stub_##number parameters
#define REFUSES(number, what, parameters, ...) \
    REFUSAL(number, parameters) { megtrim_missed(say_plainly(what, __VA_ARGS__)); }
#define REFUSES_BY_FORMAT(number, what, parameters) \
    REFUSAL(number, parameters) { \
        va_list values; \
        va_start(values, said); \
        megtrim_missed(say(what, said, values)); \
    }
#endif
