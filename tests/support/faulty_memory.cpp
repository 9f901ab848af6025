#include "support/faulty_memory.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace cnntrain::test {
namespace {

std::atomic<bool> counts = false;
std::atomic<std::int64_t> calls = 0;
Sizes counted_sizes;
std::atomic<bool> has_failed = false;
std::span<const std::string_view> spared_names;
std::int64_t failing_call = 0;

bool is_spared(const Dl_info& info) {
    return std::any_of(spared_names.begin(), spared_names.end(), [&](std::string_view name) {
        const auto has = [&](const char* text) {
            return text != nullptr && std::string_view(text).find(name) != std::string_view::npos;
        };
        return has(info.dli_fname) || has(info.dli_sname);
    });
}

bool is_called_from_spared() {
    std::array<void*, 64> frames{};
    const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
    return std::any_of(frames.begin(), frames.begin() + count, [](void* frame) {
        Dl_info info{};
        return dladdr(frame, &info) != 0 && is_spared(info);
    });
}

void fail_if_due(std::size_t bytes) {
    if (!counts.load(std::memory_order_acquire)) return;
    if (bytes < counted_sizes.least || bytes > counted_sizes.most) return;
    if (++calls < failing_call || has_failed.exchange(true)) return;
    if (!is_called_from_spared()) throw std::bad_alloc();
    has_failed = false;
}

void* checked(void* block) {
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

}  // namespace

FaultyMemory::FaultyMemory(const Sizes& sizes, std::span<const std::string_view> spared, Fault& fault) : fault_(fault) {
    counted_sizes = sizes;
    spared_names = spared;
    has_failed = false;
    failing_call = fault.number() > 0 ? fault.number() : std::numeric_limits<std::int64_t>::max();
    calls = 0;
    counts.store(true, std::memory_order_release);
}

FaultyMemory::~FaultyMemory() {
    counts = false;
    if (calls >= failing_call && has_failed) fault_.strike("allocation");
}

std::int64_t FaultyMemory::counted() const {
    return calls;
}

}  // namespace cnntrain::test

// The forms for arrays and those that do not throw call these two.
void* operator new(std::size_t bytes) {
    cnntrain::test::fail_if_due(bytes);
    return cnntrain::test::checked(std::malloc(bytes == 0 ? 1 : bytes));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    cnntrain::test::fail_if_due(bytes);
    const auto each = static_cast<std::size_t>(alignment);
    return cnntrain::test::checked(std::aligned_alloc(each, (bytes + each) / each * each));
}
void operator delete(void* block) noexcept {
    std::free(block);
}
void operator delete(void* block, std::size_t /*bytes*/) noexcept {
    std::free(block);
}
void operator delete(void* block, std::align_val_t /*alignment*/) noexcept {
    std::free(block);
}
void operator delete(void* block, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
    std::free(block);
}
