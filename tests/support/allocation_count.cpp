#include "support/allocation_count.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>

namespace cnntrain::test {
namespace {

using Filter = bool (*)();

std::atomic<std::int64_t> counted = 0;
std::atomic<Filter> filter = nullptr;
thread_local bool inside = false;  // the filter

void note() {
    if (inside) return;
    const Filter counts = filter;
    if (counts != nullptr) {
        inside = true;
        const bool wanted = counts();
        inside = false;
        if (!wanted) return;
    }
    ++counted;
}

}  // namespace

std::int64_t allocations() {
    return counted;
}

void count_allocations_if(bool (*counts)()) {
    filter = counts;
}

bool called_from(std::string_view library) {
    std::array<void*, 24> frames{};
    const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
    return std::any_of(frames.begin(), frames.begin() + count, [&](void* frame) {
        Dl_info info{};
        return dladdr(frame, &info) != 0 && std::string_view(info.dli_fname).find(library) != std::string_view::npos;
    });
}

}  // namespace cnntrain::test

// glibc calls these, from every library, in place of its own; operator new comes here too.
extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc's names
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(std::size_t size) {
    cnntrain::test::note();
    return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
    cnntrain::test::note();
    return __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) {
    cnntrain::test::note();
    return __libc_realloc(block, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    cnntrain::test::note();
    return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
    cnntrain::test::note();
    *block = __libc_memalign(alignment, size);
    return *block == nullptr ? ENOMEM : 0;
}

}  // extern "C"
