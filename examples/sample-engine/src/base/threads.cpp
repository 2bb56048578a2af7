#include "base/threads.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/regions.h"

MIDOUT_DECL(sample_thread_pool)

namespace sample {

struct ThreadPool::Workers {
    std::mutex mutex;
    std::condition_variable work, done;
    std::vector<std::thread> threads;
    const LoopBody* body = nullptr;
    int next = 0, count = 0, running = 0;
    bool stop = false;

    void wait_for_work() {
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            work.wait(lock, [this] { return stop || next < count; });
            if (stop)
                return;
            take_iterations(lock);
            done.notify_one();
        }
    }

    void take_iterations(std::unique_lock<std::mutex>& lock) {
        while (next < count) {
            const int mine = next++;
            ++running;
            lock.unlock();
            (*body)(mine);
            lock.lock();
            --running;
        }
    }
};

ThreadPool::ThreadPool(int threads) : m_workers(std::make_unique<Workers>()) {
    if (threads <= 1)
        return;
    MIDOUT_BEGIN(sample_thread_pool, midout_iv("ThreadPool::start"_hash)) {
        for (int i = 1; i < threads; ++i)
            m_workers->threads.emplace_back(&Workers::wait_for_work, m_workers.get());
    }
    MIDOUT_END();
}

ThreadPool::~ThreadPool() {
    {
        std::lock_guard<std::mutex> guard(m_workers->mutex);
        m_workers->stop = true;
    }
    m_workers->work.notify_all();
    for (std::thread& worker : m_workers->threads)
        worker.join();
}

void ThreadPool::parallel_for(int count, const LoopBody& body) {
    if (m_workers->threads.empty() || count < 2) {
        MIDOUT_BEGIN(sample_thread_pool, midout_iv("ThreadPool::in_caller"_hash)) {
            for (int i = 0; i < count; ++i)
                body(i);
        }
        MIDOUT_END();
        return;
    }
    MIDOUT_BEGIN(sample_thread_pool, midout_iv("ThreadPool::shared"_hash)) {
        Workers& all = *m_workers;
        std::unique_lock<std::mutex> lock(all.mutex);
        all.body = &body;
        all.next = 0;
        all.count = count;
        all.work.notify_all();
        all.take_iterations(lock);
        all.done.wait(lock, [&all] { return all.running == 0; });
    }
    MIDOUT_END();
}

}  // namespace sample
