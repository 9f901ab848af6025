#include "cnntrain/base/caches.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>

#include "base/core_files.h"

namespace cnntrain {

namespace {

/// "1024K\n", "32M\n" as bytes; 0: it is no size.
std::uint64_t size_of(const std::string& text) {
    std::uint64_t count = 0;
    const char* const end = text.data() + text.size();
    const auto [unit, error] = std::from_chars(text.data(), end, count);
    if (error != std::errc()) return 0;
    if (unit == end || *unit == '\n') return count;
    return *unit == 'K' ? count << 10 : *unit == 'M' ? count << 20 : 0;
}

}  // namespace

std::vector<CacheLevel> caches_of(const std::vector<int>& processors, const ReadText& read) {
    std::map<int, CacheLevel> levels;
    std::map<int, std::set<std::string>> sharers;
    for (const int processor : processors) {
        for (int index = 0;; ++index) {
            const std::string folder =
                "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cache/index" + std::to_string(index);
            const std::string type = read(folder + "/type");
            if (type.empty()) break;
            const auto number = static_cast<int>(size_of(read(folder + "/level")));
            const std::uint64_t bytes = size_of(read(folder + "/size"));
            if (type.starts_with("Instruction") || number == 0 || bytes == 0) continue;
            const std::string list = read(folder + "/shared_cpu_list");
            sharers[number].insert(list.empty() ? "only " + std::to_string(processor) : list);
            levels[number] = {number, bytes, static_cast<int>(sharers[number].size())};
        }
    }
    std::vector<CacheLevel> result;
    for (const auto& [number, level] : levels)
        result.push_back(level);
    return result;
}

std::vector<CacheLevel> data_caches() {
    return caches_of(allowed_processors(), read_small_file);
}

std::uint64_t CacheLevel::bytes_of(int threads) const {
    return bytes * static_cast<std::uint64_t>(std::clamp(threads, 1, std::max(count, 1)));
}

}  // namespace cnntrain
