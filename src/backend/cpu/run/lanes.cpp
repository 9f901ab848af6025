#include "backend/cpu/run/lanes.h"

#include <immintrin.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "cnntrain/base/log.h"

namespace cnntrain::cpu {

namespace {

/// Number of polls before a lane sleeps: about the time that waking it takes.
constexpr int kLooks = 2000;

}  // namespace

void set_threads(int count) {
    omp_set_dynamic(0);
    omp_set_num_threads(std::min(count, omp_get_thread_limit()));
}

Threads::Threads(int count) : before_(omp_get_max_threads()) {
    set_threads(count);
}

Threads::~Threads() {
    omp_set_num_threads(before_);
}

void prepare_team() {
    constexpr unsigned int kFlushToZeroDenormalsAreZero = 0x8040;
#pragma omp parallel
    _mm_setcsr(_mm_getcsr() | kFlushToZeroDenormalsAreZero);
}

std::vector<int> threads_of_lanes(int threads, std::int32_t lanes) {
    std::vector<int> shares;
    shares.reserve(static_cast<std::size_t>(lanes));
    for (std::int32_t lane = 0; lane < lanes; ++lane)
        shares.push_back(std::max(1, threads / lanes + (lane < threads % lanes ? 1 : 0)));
    return shares;
}

int WorkingThreads::now() {
    if (!forced_.empty()) return std::min(forced_[next_++ % forced_.size()], all_);
    constexpr double kWindowSeconds = 0.2;
    if (since_ && seconds_since(read_) < kWindowSeconds) return working_;
    read_ = std::chrono::steady_clock::now();
    const ProcessorTimes times = processor_times();
    const int before = working_;
    if (since_) after(competition(*since_, times));
    since_ = times;
    static std::atomic<bool> is_said = false;  // of all executables: a run may have many
    if (working_ < before && !is_said.exchange(true)) {
        log::info("other programs use the processors: " + std::to_string(working_) + " of " + std::to_string(all_) +
                  " compute threads work until they end");
    }
    return working_;
}

/// Others take whole processors once this process has given way. Threads come back after two windows in a row.
int WorkingThreads::after(const Competition& found) {
    const int room = std::min(found.room(processors_), all_);
    if (working_ == all_) {
        if (found.is_felt()) working_ = std::min(room, all_ - 1);
    } else if (room < working_ || rises_) {
        working_ = room;
    }
    rises_ = room > working_;
    return working_;
}

Lanes::Lanes(std::vector<int> threads) : threads_(std::move(threads)) {
    if (count() == 1) return;
    try {
        for (std::int32_t lane = 0; lane < count(); ++lane)
            workers_.emplace_back([this, lane] { work(lane); });
    } catch (...) {
        end();  // a thread that was not joined would end the process
        throw;
    }
}

Lanes::~Lanes() {
    end();
}

void Lanes::end() {
    {
        const std::lock_guard lock(mutex_);
        leaving_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_)
        worker.join();
}

void Lanes::run(const std::function<void(std::int32_t)>& task) {
    if (workers_.empty()) {
        const Threads team(threads(0));
        task(0);
        return;
    }
    std::unique_lock lock(mutex_);
    task_ = &task;
    working_ = count();
    ++round_;
    wake_.notify_all();
    ended_.wait(lock, [&] { return working_ == 0; });
}

void Lanes::work(std::int32_t lane) {
    const Threads team(threads(lane));
    prepare_team();
    std::int64_t done = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [&] { return leaving_ || round_ > done; });
        if (leaving_) return;
        done = round_;
        const std::function<void(std::int32_t)>& task = *task_;
        lock.unlock();
        task(lane);
        lock.lock();
        if (--working_ == 0) ended_.notify_all();
    }
}

void Progress::reset(std::int64_t count) {
    for (std::atomic<std::int64_t>& finished : finished_)
        finished.store(count, std::memory_order_relaxed);
    stopped_.store(false, std::memory_order_release);
}

void Progress::finish(std::size_t number) {
    {
        const std::lock_guard lock(mutex_);
        finished_[number].fetch_add(1, std::memory_order_release);
    }
    changed_.notify_all();
}

bool Progress::wait_for(std::size_t number, std::int64_t count) {
    for (int look = 0; look < kLooks; ++look) {
        if (stopped()) return false;
        if (is_finished(number, count)) return true;
        _mm_pause();
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped() || is_finished(number, count); });
    return !stopped();
}

void Progress::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_.store(true, std::memory_order_release);
    }
    changed_.notify_all();
}

}  // namespace cnntrain::cpu
