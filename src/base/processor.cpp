#include "cnntrain/base/processor.h"

#include <cpuid.h>
#include <sched.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "base/cpuid.h"
#include "base/system_files.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain {
namespace {

constexpr std::uint32_t kIdentity = 0, kVersion = 1, kFeatures = 7, kFirstName = 0x80000002, kLastName = 0x80000004;

constexpr std::uint64_t kAvxRegisters = 0x6;      // XMM and YMM
constexpr std::uint64_t kAvx512Registers = 0xe6;  // and opmask, upper ZMM, ZMM 16 to 31
constexpr std::uint64_t kAmxRegisters = 0x60000;  // tile configuration and data

bool bit(std::uint32_t word, int number) {
    return (word >> number & 1u) != 0;
}

bool all(std::uint64_t word, std::uint64_t bits) {
    return (word & bits) == bits;
}

std::string text_of(const CpuidAnswer& answer) {
    std::array<char, sizeof answer> letters{};
    std::memcpy(letters.data(), &answer, sizeof answer);
    return {letters.begin(), std::find(letters.begin(), letters.end(), '\0')};
}

std::string vendor_of(const ReadCpuid& cpuid) {
    const CpuidAnswer identity = cpuid(kIdentity, 0);
    return text_of({identity.ebx, identity.edx, identity.ecx, 0});
}

/// Returns the processor's name without the blanks that fill it up.
std::string name_of(const ReadCpuid& cpuid) {
    std::string name;
    for (std::uint32_t leaf = kFirstName; leaf <= kLastName; ++leaf)
        name += text_of(cpuid(leaf, 0));
    const std::string shown(trimmed(name));
    return shown.empty() ? "unnamed processor" : shown;
}

void set_family_and_model(std::uint32_t version, Processor& processor) {
    const std::uint32_t family = version >> 8 & 0xf;
    const std::uint32_t model = version >> 4 & 0xf;
    const bool extended = family == 6 || family == 15;
    processor.family = static_cast<int>(family == 15 ? family + (version >> 20 & 0xff) : family);
    processor.model = static_cast<int>(extended ? model + (version >> 16 & 0xf) * 16 : model);
}

std::uint64_t saved_registers() {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return std::uint64_t{high} << 32 | low;
}

CpuidAnswer ask_processor(std::uint32_t leaf, std::uint32_t subleaf) {
    CpuidAnswer answer;
    __get_cpuid_count(leaf, subleaf, &answer.eax, &answer.ebx, &answer.ecx, &answer.edx);
    return answer;
}

bool is_one_of(int model, std::initializer_list<int> models) {
    return std::find(models.begin(), models.end(), model) != models.end();
}

/// Sapphire, Emerald and Granite Rapids, which all have AMX. A virtual machine may give itself another model, but
/// AVX512-FP16 came with them.
bool is_of_amx_generation(const Processor& processor) {
    if (processor.vendor != "GenuineIntel") return false;
    return processor.avx512_fp16 || (processor.family == 6 && is_one_of(processor.model, {0x8f, 0xcf, 0xad, 0xae}));
}

/// Zen 4 and later.
bool is_amd_with_avx512(const Processor& processor) {
    if (processor.vendor != "AuthenticAMD") return false;
    const int block = processor.model >> 4;
    return processor.family >= 26 || (processor.family == 25 && is_one_of(block, {0x1, 0x6, 0x7, 0xa}));
}

}  // namespace

Processor describe_processor(const ReadCpuid& cpuid, const std::function<std::uint64_t()>& saved) {
    Processor processor;
    processor.vendor = vendor_of(cpuid);
    processor.name = name_of(cpuid);
    const CpuidAnswer version = cpuid(kVersion, 0);
    set_family_and_model(version.eax, processor);
    const CpuidAnswer features = cpuid(kFeatures, 0);
    const CpuidAnswer more_features = features.eax >= 1 ? cpuid(kFeatures, 1) : CpuidAnswer{};
    const bool tells_saved = bit(version.ecx, 27);
    const std::uint64_t registers = tells_saved ? saved() : 0;

    const bool avx = all(registers, kAvxRegisters);
    processor.avx2 = avx && bit(features.ebx, 5);
    processor.fma = avx && bit(version.ecx, 12);
    processor.avx512 = all(registers, kAvx512Registers) && bit(features.ebx, 16) && bit(features.ebx, 17) &&
                       bit(features.ebx, 30) && bit(features.ebx, 31);
    processor.avx512_vnni = processor.avx512 && bit(features.ecx, 11);
    processor.avx512_bf16 = processor.avx512 && bit(more_features.eax, 5);
    processor.avx512_fp16 = processor.avx512 && bit(features.edx, 23);
    processor.amx_bf16 = all(registers, kAmxRegisters) && bit(features.edx, 24) && bit(features.edx, 22);
    return processor;
}

Processor this_processor() {
    return describe_processor(ask_processor, saved_registers);
}

std::string to_string(const Processor& processor) {
    std::string features;
    const auto add = [&](bool has, const char* name) {
        if (has) features += (features.empty() ? "" : ", ") + std::string(name);
    };
    add(processor.avx2, "AVX2");
    add(processor.fma, "FMA");
    add(processor.avx512, "AVX-512");
    add(processor.avx512_vnni, "AVX512-VNNI");
    add(processor.avx512_bf16, "AVX512-BF16");
    add(processor.avx512_fp16, "AVX512-FP16");
    add(processor.amx_bf16, "AMX-BF16");
    return processor.name + " (" + processor.vendor + ", family " + std::to_string(processor.family) + ", model " +
           std::to_string(processor.model) + "): " + (features.empty() ? "no AVX2" : features);
}

void require_kernel_instructions(const Processor& processor) {
    if (processor.avx2 && processor.fma) return;
    throw Error(ErrorKind::unsupported,
                "cnntrain needs a processor with AVX2 and FMA (Intel since 2013, AMD since 2015); this one is " +
                    to_string(processor) +
                    "; a virtual machine may hide instructions: choose another CPU model for it");
}

std::string hidden_instructions(const Processor& processor) {
    if (is_of_amx_generation(processor) && !processor.amx_bf16) {
        return "AMX is masked on this machine: processors of this kind have it, and 16 bits are more than twice "
               "as fast with it.";
    }
    if ((is_of_amx_generation(processor) || is_amd_with_avx512(processor)) && !processor.avx512)
        return "AVX-512 is masked on this machine: processors of this kind have it.";
    return "";
}

namespace {

std::optional<double> ratio(const std::string& quota_and_period) {
    std::istringstream text(quota_and_period);
    double quota = 0;
    double period = 0;
    if (!(text >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;  // "max" or -1: no limit
    return quota / period;
}

std::optional<double> group_quota(const ReadText& read, const ControlGroup& group) {
    if (group.version2) return ratio(read(group.folder + "/cpu.max"));
    return ratio(read(group.folder + "/cpu.cfs_quota_us") + " " + read(group.folder + "/cpu.cfs_period_us"));
}

std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
    if (!a || !b) return a ? a : b;
    return std::min(*a, *b);
}

}  // namespace

std::vector<int> allowed_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> processors;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int i = 0; i < CPU_SETSIZE; ++i) {
            if (CPU_ISSET(i, &set)) processors.push_back(i);
        }
        return processors;
    }
    processors.resize(std::thread::hardware_concurrency());
    std::iota(processors.begin(), processors.end(), 0);
    return processors;
}

std::optional<double> cpu_quota(const ReadText& read) {
    std::optional<double> quota;
    for (const ControlGroup& group : control_groups(read, "cpu"))
        quota = smaller(quota, group_quota(read, group));
    return quota;
}

int cores_of(const std::vector<int>& processors, const ReadText& read) {
    std::set<std::string> cores;
    for (const int number : processors) {
        const std::string text = std::to_string(number);
        const std::string siblings = read("/sys/devices/system/cpu/cpu" + text + "/topology/thread_siblings_list");
        cores.insert(siblings.empty() ? "only " + text : siblings);
    }
    return static_cast<int>(cores.size());
}

CoreCount count_of(const std::vector<int>& processors, int sharers, const ReadText& read) {
    std::optional<double> quota = cpu_quota(read);
    if (quota) *quota /= sharers;
    return {static_cast<int>(processors.size()), cores_of(processors, read), quota};
}

CoreCount count_cores() {
    const TakenShare& share = taken_share();
    if (!share.counted) return count_of(allowed_processors(), share.sharers, read_small_file);
    std::vector<int> processors;
    for (const ProcessorPlace& place : *share.counted)
        processors.push_back(place.number);
    return count_of(processors, share.sharers, read_small_file);
}

std::string to_string(const CoreCount& count) {
    std::ostringstream text;
    text << count.cores << (count.cores == 1 ? " core" : " cores");
    if (count.processors > count.cores) text << " with " << count.processors << " hyper-threads";
    if (count.quota) text << ", a quota of " << *count.quota << " processors";
    return text.str();
}

int within_quota(int count, const std::optional<double>& quota) {
    // Rounded down: a throttled thread would keep all others waiting at the next barrier.
    const int granted = quota ? static_cast<int>(std::floor(std::min<double>(*quota, count))) : count;
    return std::max(granted, 1);
}

int available_cores() {
    const CoreCount count = count_cores();
    return within_quota(count.cores, count.quota);
}

int available_processors() {
    const CoreCount count = count_cores();
    return within_quota(count.processors, count.quota);
}

int most_threads() {
    constexpr int kOnAnyMachine = 64;
    constexpr int kPerProcessor = 4;
    return std::max(kOnAnyMachine, kPerProcessor * available_processors());
}

CoreBudget plan_cores(int cores, int processors, int compute_threads, int input_threads) {
    CNNTRAIN_CHECK(cores >= 1 && processors >= cores && compute_threads >= 0 && input_threads >= 0,
                   "thread counts must not be negative");
    return {compute_threads > 0 ? compute_threads : cores, input_threads > 0 ? input_threads : processors};
}

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

// Several processes on one machine divide its cores.

namespace {

TakenShare& share_of_this_process() {
    static TakenShare share;
    return share;
}

/// The processors of a control group (versions 2 and 1), or "" if it has no list of its own.
std::string group_processors(const ReadText& read, const ControlGroup& group) {
    if (group.version2) return read(group.folder + "/cpuset.cpus.effective");
    const std::string effective = read(group.folder + "/cpuset.effective_cpus");
    return effective.empty() ? read(group.folder + "/cpuset.cpus") : effective;
}

bool set_mask(const std::vector<ProcessorPlace>& places) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const ProcessorPlace& place : places)
        CPU_SET(place.number, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

std::string core_text(const std::vector<ProcessorPlace>& places) {
    std::set<int> cores;
    for (const ProcessorPlace& place : places)
        cores.insert(place.core);
    return (cores.size() == 1 ? "core " : "cores ") + processor_list({cores.begin(), cores.end()});
}

}  // namespace

std::vector<int> processors_in(const std::string& list) {
    constexpr int kMost = 1 << 16;
    std::vector<int> numbers;
    std::istringstream ranges(list);
    for (std::string range; std::getline(ranges, range, ',');) {
        int first = 0;
        const char* end = range.data() + range.size();
        const auto [read, error] = std::from_chars(range.data(), end, first);
        int last = first;
        if (error != std::errc{} || first < 0) return {};
        if (read != end && *read == '-' && std::from_chars(read + 1, end, last).ec != std::errc{}) return {};
        if (last < first || last > kMost) return {};
        for (int i = first; i <= last; ++i)
            numbers.push_back(i);
    }
    return numbers;
}

std::string processor_list(const std::vector<int>& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t end = i + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
            ++end;
        text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
        if (end > i + 1) text += "-" + std::to_string(numbers[end - 1]);
        i = end;
    }
    return text;
}

std::vector<int> machine_processors(const ReadText& read) {
    for (const ControlGroup& group : control_groups(read, "cpuset")) {
        std::vector<int> found = processors_in(group_processors(read, group));
        if (!found.empty()) return found;
    }
    return processors_in(read("/sys/devices/system/cpu/online"));
}

std::vector<ProcessorPlace> places_of(const std::vector<int>& processors, const ReadText& read) {
    std::map<int, int> nodes;
    for (const int node : processors_in(read("/sys/devices/system/node/online"))) {
        for (const int number :
             processors_in(read("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist")))
            nodes[number] = node;
    }
    std::vector<ProcessorPlace> places;
    for (const int number : processors) {
        const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(number);
        const std::vector<int> siblings = processors_in(read(folder + "/topology/thread_siblings_list"));
        const auto node = nodes.find(number);
        places.push_back({number, siblings.empty() ? number : *std::ranges::min_element(siblings),
                          node == nodes.end() ? 0 : node->second});
    }
    std::ranges::sort(places, [](const ProcessorPlace& a, const ProcessorPlace& b) {
        return std::tie(a.node, a.core, a.number) < std::tie(b.node, b.core, b.number);
    });
    return places;
}

std::vector<ProcessorPlace> share_of(const std::vector<ProcessorPlace>& machine, int index, int count) {
    CNNTRAIN_CHECK(!machine.empty() && index >= 0 && index < count, "a share of something");
    std::vector<int> cores;
    for (const ProcessorPlace& place : machine) {
        if (cores.empty() || cores.back() != place.core) cores.push_back(place.core);
    }
    // Slices of one length that begin at equal distances end at node boundaries wherever nodes divide shares or shares
    // nodes.
    const std::size_t length = std::max<std::size_t>(1, cores.size() / static_cast<std::size_t>(count));
    const std::size_t begin = cores.size() * static_cast<std::size_t>(index) / static_cast<std::size_t>(count);
    const auto first = cores.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(length);
    std::vector<ProcessorPlace> share;
    for (const ProcessorPlace& place : machine) {
        if (std::find(first, last, place.core) != last) share.push_back(place);
    }
    return share;
}

const TakenShare& taken_share() {
    return share_of_this_process();
}

std::string take_share(const MachineShare& share) {
    CNNTRAIN_CHECK(share.count >= 1 && share.index >= 0 && share.index < share.count, "a share of a machine");
    TakenShare& taken = share_of_this_process();
    const std::string who = "instance " + std::to_string(share.index) + " of " + std::to_string(share.count) + ": ";
    const std::vector<int> allowed = allowed_processors();
    const std::vector<ProcessorPlace> places = places_of(allowed, read_small_file);
    taken.sharers = share.count;
    if (places.empty() || !std::ranges::includes(allowed, machine_processors(read_small_file)))
        return who + core_text(places) + ", as its launcher has bound it";
    const std::vector<ProcessorPlace> own = share_of(places, share.index, share.count);
    if (share.bound && set_mask(own)) return who + core_text(own);
    taken.counted = own;
    std::set<int> cores;
    for (const ProcessorPlace& place : own)
        cores.insert(place.core);
    return who + "all cores, threads for " + std::to_string(cores.size()) + " of them" +
           (share.bound ? ", as the system does not let it be bound" : "");
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kSpinCount = "GOMP_SPINCOUNT";
/// Holds the number of the process that has started itself once more: its children do not take it for theirs.
constexpr const char* kStartedAgain = "CNNTRAIN_STARTED_AGAIN";

/// Longer than the gaps between the parallel parts of a step and than waking a thread takes; short compared with the
/// time slices that the system gives to processes.
constexpr std::chrono::microseconds kSpinTime{200};

/// libgomp counts pauses, which take from 10 to 140 cycles, depending on the processor.
std::int64_t pauses_in(std::chrono::nanoseconds time) {
    constexpr std::int64_t kPauses = 256;
    constexpr int kTries = 4;
    auto least = Clock::duration::max();
    for (int i = 0; i < kTries; ++i) {
        const Clock::time_point start = Clock::now();
        for (std::int64_t k = 0; k < kPauses; ++k)
            __builtin_ia32_pause();
        least = std::min(least, Clock::now() - start);
    }
    return time.count() * kPauses / std::max<std::int64_t>(1, std::chrono::nanoseconds(least).count());
}

bool is_set(const char* variable) {
    return std::getenv(variable) != nullptr;
}

/// Would starting the file of this process be starting this program in the same way?
bool can_start_again() {
    if (getauxval(AT_BASE) == 0) return false;  // it is an argument of ld.so, whose file it would be
    const char* preloaded = std::getenv("LD_PRELOAD");
    return preloaded == nullptr || std::string_view(preloaded).find("vgpreload") == std::string_view::npos;
}

}  // namespace

void limit_spinning(char** argv) {
    const std::string number = std::to_string(getpid());
    if (const char* started = std::getenv(kStartedAgain); started != nullptr && number == started) {
        // libgomp has read it; programs that this one starts are to wait as they like.
        unsetenv(kSpinCount);
        unsetenv(kStartedAgain);
        return;
    }
    if (is_set(kSpinCount) || is_set("OMP_WAIT_POLICY") || !can_start_again()) return;
    setenv(kSpinCount, std::to_string(pauses_in(kSpinTime)).c_str(), 1);
    setenv(kStartedAgain, number.c_str(), 1);
    std::error_code no_proc;
    execv(std::filesystem::read_symlink("/proc/self/exe", no_proc).c_str(), argv);
    unsetenv(kSpinCount);
    unsetenv(kStartedAgain);
}

}  // namespace cnntrain
