// The host threads that execute programs.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace ipu_emulator {

/// Threads that share a loop. A loop inside of a loop, and one of a second caller meanwhile, runs on its caller's
/// thread.
class ThreadPool {
public:
    explicit ThreadPool(unsigned threads);
    ~ThreadPool();

    unsigned threads() const;

    /// body(i) for each i below count, in any order. The first exception is thrown again.
    template <class Body> void run(std::size_t count, Body&& body) {
        run(
            count, [](void* context, std::size_t i) { (*static_cast<std::remove_reference_t<Body>*>(context))(i); },
            const_cast<void*>(static_cast<const void*>(&body)));
    }

    /// body() once on each thread of the pool, the caller's included.
    template <class Body> void each(Body&& body) {
        each([](void* context, std::size_t) { (*static_cast<std::remove_reference_t<Body>*>(context))(); },
             const_cast<void*>(static_cast<const void*>(&body)));
    }

private:
    using Call = void (*)(void*, std::size_t);
    void run(std::size_t count, Call call, void* context);
    void each(Call call, void* context);
    void share(std::size_t count, bool once, Call call, void* context);

    struct State;
    std::unique_ptr<State> state_;
};

/// The pool of all engines. Never destroyed before the program ends.
ThreadPool& host_threads();
/// Sets the size of the pool, for tests and programs with a core budget; 0: one thread per core. No engine may be
/// running.
void set_host_threads(unsigned threads);
/// Number of times the pool was replaced: its threads are then new ones.
unsigned long host_pool_changes();

}  // namespace ipu_emulator
