// A fixed number of threads that share the iterations of a loop.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sample {

class ThreadPool {
public:
    // With one thread, everything runs in the caller.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    // Runs body(0) ... body(count - 1), in any order. They must not write to the same place:
    // then results do not depend on the number of threads.
    void parallel_for(int count, const std::function<void(int)>& body);

private:
    void worker();
    void take_iterations(std::unique_lock<std::mutex>& lock);

    std::mutex m_mutex;
    std::condition_variable m_work, m_done;
    std::vector<std::thread> m_workers;
    const std::function<void(int)>* m_body = nullptr;
    int m_next = 0, m_count = 0, m_running = 0;
    bool m_stop = false;
};

}  // namespace sample
