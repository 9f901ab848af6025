#include "run/profile/session.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "cnntrain/base/memory.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/profile.h"

namespace cnntrain::profile {

namespace {

constexpr std::string_view kTraceFile = "profile.trace.json";
constexpr std::string_view kStacksFile = "profile.folded";
constexpr std::string_view kJsonFile = "profile.json";
constexpr std::string_view kRankBegin = "profile.rank";  // the other ranks' profiles: profile.rank1.json
constexpr std::string_view kRankEnd = ".json";

double seconds_between(Timeline::Clock::time_point begin, Timeline::Clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
}

/// The texts of all ranks, on rank 0.
std::vector<std::string> gathered(comm::Communicator& communicator, const std::string& mine, std::string_view what) {
    std::vector<std::string> all;
    for (int rank = 0; rank < communicator.size(); ++rank) {
        std::string text = broadcast_text(communicator, rank == communicator.rank() ? mine : "", what, rank);
        if (communicator.rank() == 0) all.push_back(std::move(text));
    }
    return all;
}

/// Sums by the roles of variables. The names of other persistent tensors begin with a variable's.
struct VariableBytes {
    std::uint64_t weights = 0, slots = 0, averages = 0, copies = 0;
};

VariableBytes variable_bytes(const graph::Graph& graph, const backend::CompileReport& report) {
    std::map<std::string, graph::Role> roles;
    for (const graph::ValueId id : graph.variables())
        roles[graph.value(id).name] = graph.value(id).role;
    VariableBytes sums;
    for (const backend::NamedBytes& tensor : report.persistent) {
        const auto found = roles.find(tensor.name);
        if (found == roles.end()) {
            sums.copies += tensor.bytes;
        } else if (found->second == graph::Role::parameter) {
            sums.weights += tensor.bytes;
        } else if (found->second == graph::Role::slot) {
            sums.slots += tensor.bytes;
        } else {
            sums.averages += tensor.bytes;
        }
    }
    return sums;
}

}  // namespace

Session::Session(const Subject& subject, Profile facts) : subject_(subject), profile_(std::move(facts)) {
    profile_.layout_changes = std::ssize(subject_.executable.report().reorders);
    profile_.rank = subject_.communicator.rank();
}

void Session::begin() {
    if (subject_.communicator.size() > 1) subject_.communicator.barrier("begin of the profile");
    subject_.executable.set_profiling(true, &subject_.timeline);
    stream_ = subject_.stream.stats();
    processors_ = processor_times();
    page_loads_ = page_loads();
    subject_.timeline.set_on(true);
    begin_ = Timeline::Clock::now();
}

void Session::measure(std::int64_t steps, std::int64_t samples) {
    const auto end = Timeline::Clock::now();
    subject_.timeline.set_on(false);
    const ProcessorTimes processors = processor_times();
    const std::int64_t loads = page_loads() - page_loads_;
    const data::StreamStats stream = subject_.stream.stats();
    const backend::StepTimes times = subject_.executable.profile();
    const auto count = static_cast<double>(steps);
    profile_.steps = steps;
    profile_.samples = samples;
    profile_.step_seconds = seconds_between(begin_, end) / count;
    profile_.page_loads_per_second = static_cast<double>(loads) / seconds_between(begin_, end);
    profile_.rows = rows_per_step(times.rows, steps);
    profile_.waits = {times.waits.input / count, times.waits.lanes / count, times.waits.ranks / count};
    subject_.executable.set_profiling(false);
    measure_input(stream, steps);
    // Ranks of a host take processors from each other.
    if (subject_.communicator.local_size() == 1) profile_.competition = competition(processors_, processors);
    profile_.memory = memory_owners(stream);
    profile_.resident_bytes = resident_bytes();
}

void Session::measure_input(const data::StreamStats& end, std::int64_t steps) {
    const auto count = static_cast<double>(steps);
    const auto filled = static_cast<double>(end.filled - stream_.filled);
    InputWork work{.threads = end.workers, .seconds = (end.work_seconds - stream_.work_seconds) / count};
    work.stages = end.stages;
    work.stages -= stream_.stages;
    for (const auto& stage : data::StageSeconds::kAll)
        work.stages.*stage.seconds /= count;
    work.samples = filled / count;
    if (filled > 0) work.megapixels = 1e-6 * static_cast<double>(end.stored_pixels - stream_.stored_pixels) / filled;
    profile_.input = work;
}

std::vector<Owner> Session::memory_owners(const data::StreamStats& stats) const {
    const backend::CompileReport& report = subject_.executable.report();
    const VariableBytes variables = variable_bytes(subject_.graph, report);
    const std::uint64_t named = variables.weights + variables.slots + variables.averages + variables.copies;
    std::vector<Owner> owners = {
        {"weights", variables.weights},
        {"optimiser states", variables.slots},
        {"moving averages", variables.averages},
        {"gradient sums and copies of weights", variables.copies},
        {"scratch", report.parameter_bytes - std::min(report.parameter_bytes, named)},
        {"activations and gradients", report.arena_bytes},
        {"batches ahead", stats.ring_bytes},
        {"loader threads", stats.worker_bytes},
        {"data set", stats.dataset_bytes},
    };
    std::uint64_t sum = 0;
    for (const Owner& owner : owners)
        sum += owner.bytes;
    const std::uint64_t resident = resident_bytes();
    owners.push_back({"program, libraries and others", resident - std::min(resident, sum)});
    return owners;
}

void Session::share_times() {
    if (subject_.communicator.size() == 1) return;
    profile_.ranks = subject_.communicator.all_gather_numbers(RankTimes{profile_.step_seconds, profile_.waits},
                                                              "times of the profile");
}

Report Session::end(std::int64_t steps, std::int64_t samples, int longest) {
    measure(steps, samples);
    comm::Communicator& all = subject_.communicator;
    if (all.size() > 1) all.barrier("end of the profile");  // so that no rank computes while others measure peaks
    const DType type = profile_.type == name(DType::f32) ? DType::f32 : DType::bf16;
    if (const auto products = subject_.backend.measure_products(type, profile_.threads))
        profile_.peaks = {*products, measured_memory_levels(profile_.threads)};
    if (profile_.peaks.are_known() && std::ranges::any_of(profile_.rows, multiplies_bytes)) {
        profile_.peaks.byte_operations_per_second =
            subject_.backend.measure_products(DType::u8, profile_.threads).value_or(0);
    }
    share_times();
    const Verdict verdict = judge(profile_);
    Report report;
    report.json = gathered(all, to_json(profile_, verdict), "profile");
    const std::string process = "rank " + std::to_string(profile_.rank) + ": " + profile_.title;
    const std::vector<std::string> traces =
        gathered(all, trace_events(subject_.timeline, begin_, profile_.rank, process), "trace");
    const std::vector<std::string> stacks = gathered(all, folded_stacks(profile_), "stacks");
    if (all.rank() != 0) return {};
    report.table = table(profile_, verdict, longest);
    report.trace = trace_of(traces);
    for (const std::string& rank : stacks)
        report.stacks += rank;
    return report;
}

std::vector<std::string> profile_files(const std::string& folder, std::size_t ranks) {
    std::vector<std::string> paths;
    for (const std::string_view name : {kTraceFile, kStacksFile, kJsonFile})
        paths.push_back(folder + "/" + std::string(name));
    for (std::size_t rank = 1; rank < ranks; ++rank)
        paths.push_back(folder + "/" + std::string(kRankBegin) + std::to_string(rank) + std::string(kRankEnd));
    return paths;
}

void write_report(FileSystem& files, const std::string& folder, const Report& report) {
    const std::vector<std::string> paths = profile_files(folder, report.json.size());
    write_text(files, paths[0], report.trace);
    write_text(files, paths[1], report.stacks);
    for (std::size_t rank = 0; rank < report.json.size(); ++rank)
        write_text(files, paths[2 + rank], report.json[rank]);
}

bool is_profile_name(std::string_view name) {
    return name == kTraceFile || name == kStacksFile || name == kJsonFile ||
           is_number(framed(name, kRankBegin, kRankEnd));
}

/// A trace and stacks are recognised by their first bytes, which others hardly have.
bool is_profile_file(const FileSystem& files, const std::string& path) {
    const std::string head = beginning_of(files, path, 64);
    return head.starts_with("{\n \"cnntrain_profile\": ") || head.starts_with("{\"displayTimeUnit\":\"ms\",") ||
           head.starts_with("rank 0;");
}

}  // namespace cnntrain::profile
