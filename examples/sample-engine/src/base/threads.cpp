#include "base/threads.h"

#include "base/regions.h"

MIDOUT_DECL(sample_thread_pool)

namespace sample {

ThreadPool::ThreadPool(int threads) {
    if (threads <= 1)
        return;
    MIDOUT_BEGIN(sample_thread_pool, midout_iv("ThreadPool::start"_hash)) {
        for (int i = 1; i < threads; ++i)
            m_workers.emplace_back(&ThreadPool::worker, this);
    }
    MIDOUT_END();
}

ThreadPool::~ThreadPool() {
    {
        std::lock_guard<std::mutex> guard(m_mutex);
        m_stop = true;
    }
    m_work.notify_all();
    for (std::thread& worker : m_workers)
        worker.join();
}

void ThreadPool::parallel_for(int count, const std::function<void(int)>& body) {
    if (m_workers.empty() || count < 2) {
        MIDOUT_BEGIN(sample_thread_pool, midout_iv("ThreadPool::in_caller"_hash)) {
            for (int i = 0; i < count; ++i)
                body(i);
        }
        MIDOUT_END();
        return;
    }
    MIDOUT_BEGIN(sample_thread_pool, midout_iv("ThreadPool::shared"_hash)) {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_body = &body;
        m_next = 0;
        m_count = count;
        m_work.notify_all();
        take_iterations(lock);
        m_done.wait(lock, [this] { return m_running == 0; });
    }
    MIDOUT_END();
}

void ThreadPool::worker() {
    std::unique_lock<std::mutex> lock(m_mutex);
    for (;;) {
        m_work.wait(lock, [this] { return m_stop || m_next < m_count; });
        if (m_stop)
            return;
        take_iterations(lock);
        m_done.notify_one();
    }
}

void ThreadPool::take_iterations(std::unique_lock<std::mutex>& lock) {
    while (m_next < m_count) {
        const int mine = m_next++;
        ++m_running;
        lock.unlock();
        (*m_body)(mine);
        lock.lock();
        --m_running;
    }
}

}  // namespace sample
