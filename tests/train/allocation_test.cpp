// A training step allocates only the few sums that it returns. An executable of its own, because it counts every malloc.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "cnntrain/data/input.h"
#include "cnntrain/train/assemble.h"
#include "train/fixtures.h"

namespace {

std::atomic<bool> counting = false;
std::atomic<int> own_allocations = 0;
thread_local bool inside = false;

/// oneDNN makes an execution context for every primitive that it runs; that is its own affair.
bool by_onednn() {
    std::array<void*, 24> frames{};
    const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
    return std::any_of(frames.begin(), frames.begin() + count, [](void* frame) {
        Dl_info info{};
        return dladdr(frame, &info) != 0 && std::string_view(info.dli_fname).find("libdnnl") != std::string_view::npos;
    });
}

void note() {
    if (!counting || inside) return;
    inside = true;
    if (!by_onednn()) ++own_allocations;
    inside = false;
}

}  // namespace

// glibc calls these, from every library, in place of its own; operator new comes here too.
extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
    note();
    return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
    note();
    return __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) {
    note();
    return __libc_realloc(block, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    note();
    return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
    note();
    *block = __libc_memalign(alignment, size);
    return *block == nullptr ? ENOMEM : 0;
}

}  // extern "C"

namespace cnntrain::train::testing {
namespace {

/// Over `steps` steps, after some that may.
int allocations_per_step(const std::string& precision, int steps) {
    const config::Settings settings =
        parse(
            "--dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 4 --optimiser momentum --threads 1 "
            "--precision " +
            precision)
            .settings;
    const auto backend = make_backend(settings.run.backend);
    const data::InputData data(data_settings(settings, backend->half_type(), 1), data::Split::train);
    const graph::Graph graph = training_graph(settings, backend->half_type(), data.image_desc(4));
    const auto executable = backend->compile({&graph, 1, runtime_settings(settings, 1)});
    const auto stream = data.stream(loader_settings(settings, 0));
    for (std::int64_t i = 0; i < 3; ++i) {
        executable->train_step(*stream, {0.01, i});
    }
    by_onednn();  // loads what backtrace() needs
    own_allocations = 0;
    counting = true;
    for (std::int64_t i = 0; i < steps; ++i) {
        executable->train_step(*stream, {0.01, 3 + i});
    }
    counting = false;
    return own_allocations / steps;
}

TEST(Allocation, AStepAllocatesOnlyTheSumsItReturns) {
    // Two sums, loss and correct: a map node each, as they are found by name.
    EXPECT_LE(allocations_per_step("16.32", 20), 2);
    EXPECT_LE(allocations_per_step("32.32", 20), 2);
}

}  // namespace
}  // namespace cnntrain::train::testing
