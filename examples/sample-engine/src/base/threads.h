// A fixed number of threads that share the iterations of a loop.
#pragma once

#include <memory>

namespace sample {

// Refers to what is to be done in each iteration, and must not outlive it. std::function would do,
// but most files see this one, and its header is a quarter of their compilation.
class LoopBody {
public:
    template <class Callable>
    LoopBody(const Callable& callable)
            : m_callable(&callable), m_call([](const void* self, int iteration) {
                  (*static_cast<const Callable*>(self))(iteration);
              }) {}
    void operator()(int iteration) const { m_call(m_callable, iteration); }

private:
    const void* m_callable;
    void (*m_call)(const void*, int);
};

class ThreadPool {
public:
    // With one thread, everything runs in the caller.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    // Runs body(0) ... body(count - 1), in any order. They must not write to the same place:
    // then results do not depend on the number of threads.
    void parallel_for(int count, const LoopBody& body);

private:
    struct Workers;
    std::unique_ptr<Workers> m_workers;
};

}  // namespace sample
