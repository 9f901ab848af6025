#include "ipu_emulator/numerics/threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ipu_emulator {
namespace {

thread_local bool inside_loop = false;

}  // namespace

struct ThreadPool::State {
    std::mutex owner;  // held by the caller whose loop runs
    std::mutex mutex;
    std::condition_variable start;
    std::condition_variable finish;
    std::vector<std::thread> threads;
    unsigned long generation = 0;
    unsigned busy = 0;
    bool stop = false;

    Call call = nullptr;
    void* context = nullptr;
    std::size_t count = 0;
    bool once = false;  // each thread calls once
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;

    void work() {
        inside_loop = true;
        try {
            if (once) call(context, 0);
            for (std::size_t i = next++; i < count; i = next++)
                call(context, i);
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
            next = count;
        }
        inside_loop = false;
    }

    void serve() {
        unsigned long seen = 0;
        std::unique_lock lock(mutex);
        while (true) {
            start.wait(lock, [&] { return stop || generation != seen; });
            if (stop) return;
            seen = generation;
            lock.unlock();
            work();
            lock.lock();
            if (--busy == 0) finish.notify_all();
        }
    }
};

ThreadPool::ThreadPool(unsigned threads) : state_(std::make_unique<State>()) {
    for (unsigned i = 1; i < threads; ++i)
        state_->threads.emplace_back([state = state_.get()] { state->serve(); });
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->stop = true;
    }
    state_->start.notify_all();
    for (std::thread& thread : state_->threads)
        thread.join();
}

unsigned ThreadPool::threads() const {
    return static_cast<unsigned>(state_->threads.size()) + 1;
}

void ThreadPool::run(std::size_t count, Call call, void* context) {
    std::unique_lock owner(state_->owner, std::defer_lock);
    if (inside_loop || count <= 1 || state_->threads.empty() || !owner.try_lock()) {
        for (std::size_t i = 0; i < count; ++i)
            call(context, i);
        return;
    }
    share(count, false, call, context);
}

void ThreadPool::each(Call call, void* context) {
    const std::lock_guard owner(state_->owner);
    share(0, true, call, context);
}

void ThreadPool::share(std::size_t count, bool once, Call call, void* context) {
    State& state = *state_;
    {
        const std::lock_guard lock(state.mutex);
        state.call = call;
        state.context = context;
        state.count = count;
        state.once = once;
        state.next = 0;
        state.failure = nullptr;
        state.busy = static_cast<unsigned>(state.threads.size());
        ++state.generation;
    }
    state.start.notify_all();
    state.work();
    std::unique_lock lock(state.mutex);
    state.finish.wait(lock, [&] { return state.busy == 0; });
    if (state.failure) std::rethrow_exception(state.failure);
}

namespace {

std::atomic<unsigned long> pool_changes{0};

std::unique_ptr<ThreadPool>& shared_pool() {
    static std::unique_ptr<ThreadPool> pool =
        std::make_unique<ThreadPool>(std::max(1u, std::thread::hardware_concurrency()));
    return pool;
}

}  // namespace

ThreadPool& host_threads() {
    return *shared_pool();
}

void set_host_threads(unsigned threads) {
    shared_pool() =
        std::make_unique<ThreadPool>(threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency()));
    ++pool_changes;
}

unsigned long host_pool_changes() {
    return pool_changes;
}

}  // namespace ipu_emulator
