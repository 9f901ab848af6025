#include "cnntrain/base/memory.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/base/size_text.h"

namespace cnntrain {
namespace {

struct MappedBytes {
    std::uint64_t all = 0;
    std::uint64_t data = 0;  // private and writable
};

std::uint64_t page_bytes() {
    return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

MappedBytes mapped_bytes() {
    std::ifstream file("/proc/self/statm");  // counts pages
    std::uint64_t all = 0;
    std::uint64_t data = 0;
    std::uint64_t other = 0;
    file >> all >> other >> other >> other >> other >> data;
    return {all * page_bytes(), data * page_bytes()};
}

std::optional<std::uint64_t> limit_of(decltype(RLIMIT_AS) resource) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    return limit.rlim_cur;
}

std::uint64_t rest(std::uint64_t limit, std::uint64_t used) {
    return limit - std::min(limit, used);
}

}  // namespace

std::uint64_t machine_memory_bytes() {
    return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
}

std::optional<std::uint64_t> memory_left_bytes() {
    const auto addresses = limit_of(RLIMIT_AS);
    const auto data = limit_of(RLIMIT_DATA);
    if (!addresses && !data) return std::nullopt;
    const MappedBytes mapped = mapped_bytes();
    return std::min(addresses ? rest(*addresses, mapped.all) : UINT64_MAX,
                    data ? rest(*data, mapped.data) : UINT64_MAX);
}

void require_memory(std::uint64_t bytes, std::string_view who) {
    const std::optional<std::uint64_t> left = memory_left_bytes();
    if (!left || bytes <= *left) return;
    throw Error(ErrorKind::unsupported, std::string(who) + " needs about " + size_text(bytes) + " more memory, has " +
                                            size_text(*left) +
                                            "; raise the limit of the process (ulimit -v), or use a smaller "
                                            "--micro-batch-size or fewer --threads and --input-threads");
}

std::uint64_t thread_stack_bytes() {
    pthread_attr_t attributes;
    std::size_t bytes = 0;
    if (pthread_getattr_default_np(&attributes) != 0) return 0;
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
    return bytes;
}

void require_stack() {
    constexpr std::uint64_t kLeastKib = 512;
    const std::optional<std::uint64_t> limit = limit_of(RLIMIT_STACK);
    if (!limit || *limit / 1024 >= kLeastKib) return;
    throw Error(ErrorKind::unsupported, "stacks are limited to " + std::to_string(*limit / 1024) +
                                            " KiB (ulimit -s), and at least " + std::to_string(kLeastKib) +
                                            " are needed; 'ulimit -s 8192' sets the usual limit");
}

void give_large_memory_back() {
    constexpr int kBytes = 1 << 20;
    mallopt(M_MMAP_THRESHOLD, kBytes);
}

}  // namespace cnntrain
