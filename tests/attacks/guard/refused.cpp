// Libraries whose exports cannot be guarded.
#include <link.h>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>
extern "C" {
__attribute__((visibility("hidden"), noinline)) int left_out(int number) { return number * 3; }
#if defined(REFUSED_thread)
static void* work(void* with) { return (void*)(long)left_out((int)(long)with); }
int refused_call(int number) {
    pthread_t worker;
    void* made = nullptr;
    pthread_create(&worker, nullptr, work, (void*)(long)number);
    pthread_join(worker, &made);
    return (int)(long)made;
}
#elif defined(REFUSED_std_thread)
int refused_call(int number) {
    int made = 0;
    std::thread worker([&made, number] { made = left_out(number); });
    worker.join();
    return made;
}
#elif defined(REFUSED_once) || defined(REFUSED_throws)
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_once_t other = PTHREAD_ONCE_INIT;
static int made, times;
static void make(void) {
    usleep(1000);
#if defined(REFUSED_throws)
    if (times) throw times;
#endif
    made = left_out(2);
}
static void make_other(void) {
    usleep(200000);
    ++times;
}
int refused_call(int number) { return pthread_once(&once, make) + made + number; }
int refused_other(int number) { return pthread_once(&other, make_other) + times * number; }
#elif defined(REFUSED_readers)
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int refused_call(int number) {
    pthread_rwlock_rdlock(&lock);
    int made = left_out(number);
    pthread_rwlock_unlock(&lock);
    return made;
}
#elif defined(REFUSED_lister)
static int each(struct dl_phdr_info*, size_t, void* with) { return left_out(*(int*)with); }
int refused_call(int number) { return dl_iterate_phdr(each, &number); }
#else
int refused_call(int number) { return left_out(number); }
#endif
}
#if defined(REFUSED_refuser)
#include <exception>
#define APART __attribute__((noinline, noclone, noipa))
extern "C" {
void __stack_chk_fail(void);
void __cxa_pure_virtual(void);
__attribute__((visibility("hidden"))) APART void __asan_report_load1(void) { abort(); }
__attribute__((visibility("hidden"))) APART void gives_up_anew(void) { abort(); }
static APART void gives_up_there(int code, const char* said) {
    volatile int number = code;
    for (const char* each = said; *each; ++each) number = number * 31 + *each;
    if (number) abort();
}
int refused_refuses(int number) { return number + 1; }
}
namespace inside {
static APART void gives_up(const char* said) {
    if (*said) abort();
}
}  // namespace inside
namespace engine {
__attribute__((visibility("hidden"))) APART void check(const char* said) {
    if (*said) abort();
}
}  // namespace engine
extern "C" int refused_why(int number, const char* said) {
    if (number > 3) throw number;
    switch (number) {
        case 1: __stack_chk_fail(); break;
        case 2: std::terminate();
        case 3: __cxa_pure_virtual(); break;
        case 0: __asan_report_load1(); break;
        case -1: gives_up_anew(); break;
        case -2: gives_up_there(number, said); break;
        case -3: inside::gives_up(said); break;
        case -4: engine::check(said); break;
        case -5: return refused_refuses(number);
    }
    return number;
}
#elif defined(REFUSED_thrower)
int refused_member(int number) {
    if (number > 3) throw std::runtime_error("it is too large");
    return left_out(number);
}
#endif
