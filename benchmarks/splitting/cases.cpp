// What must work in functions that a compiler cuts in two: exceptions, jumps, signals, threads.
// Its argument is a case; without one, it prints the names of all. splitting.py builds it whole and
// split: each case must print the same, and end alike.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#endif

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#define CUT __attribute__((noinline))

namespace {

volatile int one = 1;
volatile int seven = 7;
volatile double half = 0.5;
jmp_buf back;
sigjmp_buf signal_back;
volatile sig_atomic_t seen = 0;

struct Noted {
    const char* name;
    explicit Noted(const char* text) : name(text) { std::printf("+%s\n", name); }
    ~Noted() { std::printf("-%s\n", name); }
};

struct Base {
    virtual ~Base() = default;
    virtual int work(int x) = 0;
};

struct Derived : Base {
    CUT int work(int x) override {
        if (x > 3) {
            std::puts("virtual");
            if (x > 5) {
                throw std::out_of_range("virtual");
            }
            return 2;
        }
        return 1;
    }
};

CUT int leaf(int x) {
    if (x > 3) {
        std::printf("large %d\n", x);
        if (x > 6) {
            throw std::runtime_error("leaf");
        }
        return x * 3;
    }
    return x + 1;
}

CUT int middle(int x) {
    int a = x * 3;
    int b = x ^ 0x55;
    if (x > 3) {
        a += leaf(x);
        std::printf("middle %d %d\n", a, b);
    }
    return a + b;
}

CUT int cleaning(int x) {
    Noted outer("outer");
    if (x > 3) {
        Noted inner("inner");
        int got = middle(x);
        std::printf("cleaning %d\n", got);
        return got;
    }
    return 0;
}

int throw_in_it() {
    try {
        return leaf(seven);
    } catch (const std::runtime_error& error) {
        std::puts(error.what());
        return 9;
    }
}

int throw_through_it() {
    try {
        return middle(seven);
    } catch (const std::exception& error) {
        std::puts(error.what());
        return 9;
    }
}

int throw_through_cleanups() {
    try {
        return cleaning(seven);
    } catch (const std::exception& error) {
        std::puts(error.what());
        return 9;
    }
}

CUT int caught_inside(int x) {
    if (x > 3) {
        try {
            throw x;
        } catch (int found) {
            std::printf("own %d\n", found);
            return found + 1;
        }
    }
    return 0;
}

int throw_into_it() { return caught_inside(seven); }

CUT int lands_in_it(int x) {
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
        try {
            sum += middle(x + i);
        } catch (const std::runtime_error&) {
            sum += 100;
        } catch (...) {
            sum += 1000;
        }
    }
    return sum;
}

int land_again_and_again() {
    std::printf("%d\n", lands_in_it(seven - 2));
    return 0;
}

CUT int deep(int n) {
    Noted note("frame");
    if (n > 0) {
        int got = deep(n - 1);
        std::printf("back %d\n", got);
        return got + 1;
    }
    return leaf(seven);
}

int throw_through_many() {
    try {
        return deep(12);
    } catch (const std::exception&) {
        return 9;
    }
}

CUT void throws_again(int x) {
    try {
        leaf(x);
    } catch (const std::runtime_error&) {
        std::puts("once");
        if (x > 3) {
            throw;
        }
    }
}

int throw_again() {
    try {
        throws_again(seven);
    } catch (const std::runtime_error& error) {
        std::printf("twice %s\n", error.what());
        return 9;
    }
    return 0;
}

CUT void nests(int x) {
    try {
        leaf(x);
    } catch (...) {
        std::throw_with_nested(std::logic_error("around"));
    }
}

int throw_nested() {
    try {
        nests(seven);
    } catch (const std::logic_error& error) {
        std::puts(error.what());
        try {
            std::rethrow_if_nested(error);
        } catch (const std::runtime_error& inner) {
            std::puts(inner.what());
            return 9;
        }
    }
    return 0;
}

CUT int replaces(int x) {
    try {
        return middle(x);
    } catch (const std::runtime_error&) {
        Noted note("handler");
        throw std::logic_error("another");
    }
}

int throw_in_a_handler() {
    try {
        return replaces(seven);
    } catch (const std::logic_error& error) {
        std::puts(error.what());
        return 9;
    }
}

int catch_by_base() {
    try {
        Derived made;
        Base* base = &made;
        return base->work(seven);
    } catch (const std::logic_error& error) {
        std::puts(error.what());
        return 9;
    }
}

int catch_anything() {
    try {
        caught_inside(1);
        if (seven > 3) {
            throw 2.5;
        }
    } catch (int) {
        return 1;
    } catch (...) {
        return 9;
    }
    return 0;
}

int catch_a_pointer() {
    static Derived made;
    try {
        if (seven > 3) {
            throw static_cast<Base*>(&made);
        }
    } catch (Base* found) {
        return found == &made ? 9 : 1;
    }
    return 0;
}

struct Partial {
    Noted first{"first"};
    Noted second{"second"};
    int value;
    CUT explicit Partial(int x) try : value(leaf(x)) {
        std::puts("made");
    } catch (const std::exception& error) {
        std::printf("constructor %s\n", error.what());
    }
};

int constructor_throws() {
    try {
        Partial made(seven);
        return made.value;
    } catch (const std::exception&) {
        return 9;
    }
}

struct Counting {
    static int alive;
    CUT Counting() {
        if (++alive > 3) {
            --alive;
            throw std::runtime_error("fourth");
        }
    }
    ~Counting() {
        --alive;
        std::puts("gone");
    }
};
int Counting::alive = 0;

int array_throws() {
    try {
        delete[] new Counting[static_cast<size_t>(seven)];
    } catch (const std::exception& error) {
        std::printf("%s %d\n", error.what(), Counting::alive);
        return 9;
    }
    return 0;
}

struct Throwing {
    CUT ~Throwing() noexcept(false) {
        if (seven > 3) {
            throw std::runtime_error("destructor");
        }
    }
};

int destructor_throws() {
    try {
        Noted note("beside");
        Throwing made;
    } catch (const std::exception& error) {
        std::puts(error.what());
        return 9;
    }
    return 0;
}

struct Watching {
    CUT ~Watching() { std::printf("unwinding %d\n", std::uncaught_exceptions()); }
};

int counts_what_is_thrown() {
    try {
        Watching watch;
        leaf(seven);
    } catch (const std::exception&) {
        std::printf("caught %d\n", std::uncaught_exceptions());
    }
    return 0;
}

CUT void promises(int x) noexcept {
    Noted note("promise");
    middle(x);
}

int breaks_a_promise() {
    std::fflush(stdout);
    promises(seven);
    return 0;
}

int breaks_a_promise_and_says_so() {
    std::set_terminate([] {
        std::puts("terminated");
        std::fflush(stdout);
        std::_Exit(8);
    });
    promises(seven);
    return 0;
}

int nobody_catches() {
    middle(seven);
    return 0;
}

CUT int table(int x) {
    switch (x) {
        case 0: return 5;
        case 1: std::puts("one"); return leaf(2);
        case 2: std::puts("two"); return leaf(4);
        case 3: return middle(1);
        case 4: std::puts("four"); return 17;
        case 5: throw std::runtime_error("five");
        case 6: return x * one;
        case 7: std::puts("seven"); return leaf(x);
        case 8: return caught_inside(x);
        default: return -1;
    }
}

int jumps_by_a_table() {
    int sum = 0;
    for (int i = -1; i < 10; ++i) {
        try {
            sum += table(i) * (i + 2);
        } catch (const std::exception& error) {
            std::printf("%d %s\n", i, error.what());
            sum += 1000;
        }
    }
    std::printf("%d\n", sum);
    return 0;
}

int throw_from_a_lambda() {
    std::function<int(int)> call = [](int x) { return x > 3 ? leaf(x) : 0; };
    try {
        return call(seven);
    } catch (const std::exception& error) {
        std::puts(error.what());
        return 9;
    }
}

CUT int compare(const void* a, const void* b) {
    int left = *static_cast<const int*>(a);
    int right = *static_cast<const int*>(b);
    if (left == 7 || right == 7) {
        throw std::runtime_error("compared");
    }
    return left - right;
}

int throw_through_c() {
    int values[] = {3, 1, 7, 2};
    try {
        qsort(values, 4, sizeof *values, compare);
    } catch (const std::exception& error) {
        std::puts(error.what());
        return 9;
    }
    return 0;
}

CUT int of_a_vector(size_t n) {
    std::vector<int> values(3, int{one});
    if (n > 2) {
        std::puts("beyond");
        return values.at(n);
    }
    return values[n];
}

int library_throws() {
    try {
        return of_a_vector(static_cast<size_t>(seven));
    } catch (const std::out_of_range&) {
        return 9;
    }
}

struct Other : Base {
    int work(int x) override { return x; }
};

CUT int casts(Base& base) {
    if (dynamic_cast<Other*>(&base) == nullptr) {
        std::puts("not one");
        return dynamic_cast<Other&>(base).work(one);
    }
    return 1;
}

int cast_throws() {
    Derived made;
    try {
        return casts(made);
    } catch (const std::bad_cast&) {
        return 9;
    }
}

CUT char* takes_memory(size_t n) {
    if (n > 1000) {
        std::puts("much");
        return new char[n];
    }
    return nullptr;
}

int no_memory() {
    try {
        return takes_memory(~size_t{0} / 2 - static_cast<size_t>(seven)) != nullptr;
    } catch (const std::bad_alloc&) {
        return 9;
    }
}

CUT std::string text_of(int x) {
    std::string made("a text that no short string holds, ");
    if (x > 3) {
        made += std::to_string(middle(x - 2));
        if (x > 8) {
            throw std::runtime_error(made);
        }
    }
    return made;
}

int texts() {
    std::puts(text_of(seven).c_str());
    try {
        text_of(seven + 2);
    } catch (const std::exception& error) {
        std::puts(error.what());
        return 9;
    }
    return 0;
}

// The registers that a function must leave as they were: unwinding reads them back by the rows.
CUT long keeps_registers(int x) {
    long a = x * 3L, b = x * 5L, c = x * 7L, d = x * 11L, e = x * 13L, f = x * 17L, g = x * 19L;
    long h = x * 23L, i = x * 29L, j = x * 31L, k = x * 37L, l = x * 41L;
    for (int round = 0; round < 4; ++round) {
        try {
            a += middle(x + round - 2) + b;
            b ^= c + d;
        } catch (const std::exception&) {
            c += d - e;
            d += f * g;
        }
        asm volatile("" : "+r"(e), "+r"(f), "+r"(g), "+r"(h));
        asm volatile("" : "+r"(i), "+r"(j), "+r"(k), "+r"(l));
        h += i ^ j;
        k -= l + a;
    }
    return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l;
}

int registers_come_back() {
    std::printf("%ld\n", keeps_registers(seven));
    return 0;
}

CUT double keeps_numbers(int x) {
    double a = x * half, b = a * 3, c = a * 5, d = a * 7, e = a * 9, f = a * 11, g = a * 13;
    for (int round = 0; round < 4; ++round) {
        try {
            a += middle(x + round - 2);
        } catch (const std::exception&) {
            b += c * d;
        }
        c += e - f;
        g -= a;
    }
    return a + b + c + d + e + f + g;
}

int numbers_come_back() {
    std::printf("%.17g\n", keeps_numbers(seven));
    return 0;
}

CUT int moves_its_stack(int n) {
    char* room = static_cast<char*>(__builtin_alloca(static_cast<size_t>(n) * 100));
    std::memset(room, n, static_cast<size_t>(n) * 100);
    Noted note("room");
    if (n > 3) {
        return middle(n) + room[n];
    }
    return room[0];
}

int throw_past_a_moved_stack() {
    int got = moves_its_stack(2);
    try {
        got += moves_its_stack(seven);
    } catch (const std::exception&) {
        got += 9;
    }
    return got;
}

struct alignas(64) Aligned {
    int values[64];
};

CUT int aligns_its_stack(int x) {
    Aligned made{};
    made.values[x] = x;
    asm volatile("" : : "r"(&made) : "memory");
    if (x > 3) {
        Noted note("aligned");
        return middle(x) + made.values[x];
    }
    return made.values[x];
}

int throw_past_an_aligned_stack() {
    int got = aligns_its_stack(2);
    try {
        got += aligns_its_stack(seven);
    } catch (const std::exception&) {
        got += 9;
    }
    return got;
}

struct Large {
    int values[200];
};

CUT Large large(int x) {
    Large made{};
    made.values[3] = x;
    if (x > 3) {
        made.values[4] = middle(x);
        std::puts("large");
    }
    return made;
}

int throw_while_returning() {
    int got = large(2).values[3];
    try {
        got += large(seven).values[4];
    } catch (const std::exception&) {
        got += 9;
    }
    return got;
}

CUT int sums(int count, ...) {
    va_list list;
    va_start(list, count);
    int sum = 0;
    for (int i = 0; i < count; ++i) {
        sum += va_arg(list, int);
    }
    if (sum > 20) {
        std::puts("much");
        sum += va_arg(list, int) + static_cast<int>(va_arg(list, double));
    }
    va_end(list);
    return sum;
}

int any_number_of_arguments() {
    return sums(2, 1, 2, 3, 1.5) + sums(4, 5, 6, 7, 8, 9, 2.5);
}

CUT int calls_last(int x) {
    if (x > 3) {
        std::puts("last");
        return middle(x - 3);
    }
    return leaf(x);
}

int tail_calls() { return calls_last(seven) + calls_last(one); }

CUT int goes_to(int x) {
    static void* const places[] = {&&a, &&b, &&c, &&d};
    int sum = 0;
    goto* places[x & 3];
a:
    std::puts("a");
    sum += 1;
b:
    sum += 2;
    goto* places[(x >> 2) & 3];
c:
    std::puts("c");
    sum += 4;
d:
    return sum;
}

int computed_jumps() {
    int sum = 0;
    for (int x = 0; x < 4; ++x) {
        sum = sum * 10 + goes_to(x | 8);
    }
    std::printf("%d\n", sum);
    return 0;
}

CUT void leaves(int x) {
    Derived local;
    if (x > 3) {
        std::puts("leaving");
        longjmp(back, x);
    }
}

int longjmp_out_of_it() {
    int got = setjmp(back);
    if (got == 0) {
        leaves(one);
        leaves(seven);
    }
    return got;
}

CUT int marks(int x) {
    if (x > 3) {
        std::puts("marked");
        int got = setjmp(back);
        if (got == 0) {
            leaves(x);
            return 1;
        }
        return got + 1;
    }
    return 0;
}

int longjmp_into_it() { return marks(seven); }

CUT int passes(int x) {
    int got = one;
    if (x > 3) {
        leaves(x);
        std::puts("not here");
    }
    return got;
}

int longjmp_past_it() {
    int got = setjmp(back);
    return got == 0 ? passes(seven) : got;
}

CUT int jumps_and_throws(int x) {
    int got = setjmp(back);
    if (got == 0) {
        leaves(x);
    }
    return middle(got);
}

int throw_after_longjmp() {
    try {
        return jumps_and_throws(seven);
    } catch (const std::exception&) {
        return 9;
    }
}

CUT void on_signal(int number) {
    if (number != SIGUSR2) {
        seen = seen + number;
    }
}

CUT int raises(int x) {
    if (x > 3) {
        raise(SIGUSR1);
        return seen;
    }
    return 0;
}

void catch_signal(int number, void (*handler)(int), int flags = 0) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, nullptr);
}

int signal_in_it() {
    catch_signal(SIGUSR1, on_signal);
    return raises(seven);
}

CUT void jump_back(int number) {
    if (number == SIGSEGV || number == SIGUSR1) {
        siglongjmp(signal_back, number);
    }
}

CUT int faults(int x) {
    if (x > 3) {
        std::puts("fault");
        std::fflush(stdout);
        int* volatile nowhere = nullptr;
        return *const_cast<volatile int*>(nowhere);
    }
    return 0;
}

int jump_out_of_a_fault() {
    catch_signal(SIGSEGV, jump_back);
    int got = sigsetjmp(signal_back, 1);
    return got == 0 ? faults(seven) : got;
}

int die_of_a_fault() { return faults(seven); }

int jump_out_of_a_signal() {
    catch_signal(SIGUSR1, jump_back);
    int got = sigsetjmp(signal_back, 1);
    return got == 0 ? raises(seven) : got;
}

CUT long spins(int x) {
    long sum = 0;
    if (x > 3) {
        while (seen < 3) {
            sum += leaf(one);
        }
    }
    return sum > 0;
}

CUT void tick(int) {
    if (one > 0) {
        seen = seen + 1;
    }
}

int signals_by_a_timer() {
    catch_signal(SIGALRM, tick);
    timer_t timer;
    struct sigevent event {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    struct itimerspec each {{0, 2000000}, {0, 2000000}};
    timer_settime(timer, 0, &each, nullptr);
    long got = spins(seven);
    timer_delete(timer);
    return static_cast<int>(got);
}

_Unwind_Reason_Code count_frame(_Unwind_Context* context, void* count) {
    if (_Unwind_GetIP(context) != 0) {
        ++*static_cast<int*>(count);
    }
    return _URC_NO_REASON;
}

CUT int frames() {
#if __has_include(<execinfo.h>)
    void* found[64];
    return backtrace(found, 64);
#else
    int count = 0;
    _Unwind_Backtrace(count_frame, &count);
    return count;
#endif
}

CUT int shows(int x) {
    int got = frames();
    if (x > 3) {
        int inner = frames();
        std::printf("frames %d\n", inner - got);
        return inner;
    }
    return got;
}

int backtrace_from_it() {
    int here = frames();
    std::printf("%d\n", shows(seven) - here);
    return 0;
}

CUT int shows_below(int n) {
    if (n > 0) {
        int got = shows_below(n - 1);
        asm volatile("" : "+r"(got));
        return got;
    }
    return shows(seven);
}

int backtrace_through_it() {
    int here = frames();
    std::printf("%d\n", shows_below(9) - here);
    return 0;
}

volatile int frames_in_signal = 0;

CUT void count_frames(int) {
    int count = 0;
    _Unwind_Backtrace(count_frame, &count);
    frames_in_signal = count;
}

int unwind_out_of_a_signal() {
    catch_signal(SIGUSR1, count_frames);
    raise(SIGUSR1);
    int here = frames_in_signal;
    raises(seven);
    std::printf("%d\n", frames_in_signal - here);
    return 0;
}

int unwind_from_another_stack() {
    static char room[65536];
    stack_t stack{};
    stack.ss_sp = room;
    stack.ss_size = sizeof room;
    sigaltstack(&stack, nullptr);
    catch_signal(SIGUSR1, count_frames, SA_ONSTACK);
    raise(SIGUSR1);
    int here = frames_in_signal;
    raises(seven);
    std::printf("%d\n", frames_in_signal - here);
    return 0;
}

CUT int many_throws(int rounds) {
    int caught = 0;
    for (int i = 0; i < rounds; ++i) {
        try {
            if (i % 3 == 0) {
                throw i;
            }
            caught_inside(2);
        } catch (int) {
            ++caught;
        }
    }
    return caught;
}

int threads_throw_at_once() {
    std::atomic<int> sum{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&sum] { sum += many_throws(300); });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    std::printf("%d\n", sum.load());
    return 0;
}

int throw_across_threads() {
    std::exception_ptr kept;
    std::thread worker([&kept] {
        try {
            middle(seven);
        } catch (...) {
            kept = std::current_exception();
        }
    });
    worker.join();
    try {
        std::rethrow_exception(kept);
    } catch (const std::exception& error) {
        std::puts(error.what());
        return 9;
    }
}

struct AtEnd {
    CUT ~AtEnd() {
        if (seven > 3) {
            std::puts("thread ends");
        }
    }
};

CUT void* ends_itself(void*) {
    static thread_local AtEnd at_end;
    asm volatile("" : : "r"(&at_end));
    Noted note("thread");
    if (seven > 3) {
        pthread_exit(reinterpret_cast<void*>(9));
    }
    return nullptr;
}

int thread_ends_in_it() {
    pthread_t thread;
    void* got = nullptr;
    pthread_create(&thread, nullptr, ends_itself, nullptr);
    pthread_join(thread, &got);
    return static_cast<int>(reinterpret_cast<long>(got));
}

std::atomic<bool> is_waiting{false};

CUT void* waits(void*) {
    Noted note("waiting");
    if (seven > 3) {
        is_waiting = true;
        for (;;) {
            pause();
        }
    }
    return nullptr;
}

int thread_is_cancelled_in_it() {
    pthread_t thread;
    void* got = nullptr;
    pthread_create(&thread, nullptr, waits, nullptr);
    while (!is_waiting) {
        sched_yield();
    }
    pthread_cancel(thread);
    pthread_join(thread, &got);
    return got == PTHREAD_CANCELED ? 9 : 1;
}

CUT int guarded(int x) {
    static int value = leaf(x);
    return value;
}

int static_value_throws() {
    for (int i = 0; i < 2; ++i) {
        try {
            guarded(seven);
        } catch (const std::exception& error) {
            std::puts(error.what());
        }
    }
    return guarded(2);
}

int once_and_for_all() {
    static std::once_flag flag;
    int tries = 0;
    auto work = [&tries] {
        if (++tries < 3) {
            leaf(seven);
        }
    };
    for (int i = 0; i < 5; ++i) {
        try {
            std::call_once(flag, work);
        } catch (const std::exception& error) {
            std::puts(error.what());
        }
    }
    return tries;
}

CUT int waits_for_another(int x) {
    std::mutex mutex;
    std::condition_variable changed;
    bool ready = false;
    if (x > 3) {
        std::thread other([&] {
            std::lock_guard<std::mutex> lock(mutex);
            ready = true;
            changed.notify_one();
        });
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&ready] { return ready; });
        lock.unlock();
        other.join();
        return 9;
    }
    return 0;
}

int threads_wait_in_it() { return waits_for_another(seven); }

void at_exit() { std::printf("at exit %d\n", middle(5)); }

int exit_in_it() {
    std::atexit(at_exit);
    if (seven > 3) {
        std::puts("leaving");
        std::exit(middle(2) & 63);
    }
    return 0;
}

struct Case {
    const char* name;
    int (*run)();
};

#define CASE(name) {#name, name}

const Case cases[] = {
    CASE(throw_in_it),
    CASE(throw_through_it),
    CASE(throw_through_cleanups),
    CASE(throw_into_it),
    CASE(land_again_and_again),
    CASE(throw_through_many),
    CASE(throw_again),
    CASE(throw_nested),
    CASE(throw_in_a_handler),
    CASE(catch_by_base),
    CASE(catch_anything),
    CASE(catch_a_pointer),
    CASE(constructor_throws),
    CASE(array_throws),
    CASE(destructor_throws),
    CASE(counts_what_is_thrown),
    CASE(breaks_a_promise),
    CASE(breaks_a_promise_and_says_so),
    CASE(nobody_catches),
    CASE(jumps_by_a_table),
    CASE(throw_from_a_lambda),
    CASE(throw_through_c),
    CASE(library_throws),
    CASE(cast_throws),
    CASE(no_memory),
    CASE(texts),
    CASE(registers_come_back),
    CASE(numbers_come_back),
    CASE(throw_past_a_moved_stack),
    CASE(throw_past_an_aligned_stack),
    CASE(throw_while_returning),
    CASE(any_number_of_arguments),
    CASE(tail_calls),
    CASE(computed_jumps),
    CASE(longjmp_out_of_it),
    CASE(longjmp_into_it),
    CASE(longjmp_past_it),
    CASE(throw_after_longjmp),
    CASE(signal_in_it),
    CASE(jump_out_of_a_fault),
    CASE(die_of_a_fault),
    CASE(jump_out_of_a_signal),
    CASE(signals_by_a_timer),
    CASE(backtrace_from_it),
    CASE(backtrace_through_it),
    CASE(unwind_out_of_a_signal),
    CASE(unwind_from_another_stack),
    CASE(threads_throw_at_once),
    CASE(throw_across_threads),
    CASE(thread_ends_in_it),
    CASE(thread_is_cancelled_in_it),
    CASE(static_value_throws),
    CASE(once_and_for_all),
    CASE(threads_wait_in_it),
    CASE(exit_in_it),
};

}  // namespace

int main(int count, char** arguments) {
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    for (const Case& each : cases) {
        if (count < 2) {
            std::puts(each.name);
        } else if (std::strcmp(each.name, arguments[1]) == 0) {
            return each.run();
        }
    }
    return count < 2 ? 0 : 100;
}
