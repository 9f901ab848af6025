#include "run/resume.h"

#include <algorithm>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/ranks.h"
#include "run/reports/describe.h"
#include "run/run_files.h"

namespace cnntrain::run {
namespace {

weights::Found latest_checkpoint(const FileSystem& files, const std::string& flag, const std::string& folder) {
    if (files.kind(folder) != FileKind::directory)
        throw Error(ErrorKind::not_found, flag + " " + folder + ": no such folder; give the folder of the run");
    const auto latest = weights::latest(files, folder);
    if (latest) return *latest;
    const bool has_results =
        !results_in(files, folder).empty() && !holds_begun_run(files, folder) && !holds_killed_run(files, folder);
    throw Error(ErrorKind::not_found, flag + " " + folder +
                                          ": no ckpt-<iteration>.safetensors in it to resume from; a run that has "
                                          "saved none is begun anew by its own line with --logs-path " +
                                          folder + (has_results ? " --overwrite" : ""));
}

std::optional<std::int64_t> recorded_seed(const weights::Checkpoint& checkpoint) {
    return as_number<std::int64_t>(metadata(checkpoint, kSeedKey));
}

/// A random seed, short enough to type.
std::int64_t drawn_seed() {
    return static_cast<std::int64_t>(std::random_device{}() & 0x7fffffffU);
}

options::ParseResult completed(const options::ParseResult& arguments, const std::optional<ResumePoint>& resume) {
    options::ParseResult complete = with_absolute_paths(arguments);
    if (arguments.settings.device.seed) return complete;
    const std::optional<std::int64_t> recorded = resume ? recorded_seed(resume->checkpoint) : std::nullopt;
    return with_seed(std::move(complete), recorded ? *recorded : drawn_seed());
}

std::string instead_of(std::int64_t now, std::int64_t before) {
    return std::to_string(now) + (now == before ? "" : " instead of " + std::to_string(before));
}

/// The effect of other data on the rest of the run.
std::string changes_of_run(const RunStart& start, const DataOrigin& expected, const DataOrigin& found,
                           const Task& task) {
    if (!expected.training || !found.training || *expected.training == *found.training)
        return "results of validations before and after cannot be compared";
    // The order matters, because tasks keep the plan that was requested last.
    const schedule::RunPlan before = task.plan(expected.training->samples);
    const schedule::RunPlan now = task.plan(found.training->samples);
    const std::string updates = task.description().update + "s";
    const std::int64_t done = start.resume->checkpoint.iteration;
    std::string text = "an epoch has " + instead_of(now.images, before.images) + " samples (" +
                       instead_of(now.iterations_per_epoch, before.iterations_per_epoch) + " " + updates +
                       "), in another order; the run and its learning rates end after " +
                       instead_of(now.iterations, before.iterations) + " " + updates;
    const double epoch = now.epoch_at(done);
    if (epoch != before.epoch_at(done)) {
        text += "; the " + std::to_string(done) + " that are done are " + short_text(epoch) + " epochs instead of " +
                short_text(before.epoch_at(done));
    }
    return text;
}

/// Locks the run's folder. Checks for a checkpoint first, so that no lock file is created in another folder.
std::shared_ptr<FileLock> lock_run(const std::string& flag, const std::string& folder, const Host& host) {
    latest_checkpoint(*host.files, flag, folder);
    return lock_folder(*host.files, folder, host.command_line);
}

RunStart start_at_latest(const options::ParseResult& arguments, const std::string& folder,
                         std::shared_ptr<FileLock> lock, const FileSystem& files) {
    weights::Found found = latest_checkpoint(files, restore_flag(arguments), folder);
    weights::Checkpoint checkpoint =
        weights::load(files, found.path, weights::edited_if(arguments.settings.checkpoint.trust_edited));
    std::optional<ResumePoint> resume = ResumePoint{std::move(found), std::move(checkpoint)};
    options::ParseResult complete = completed(arguments, resume);
    return {std::move(complete), std::move(resume), std::move(lock)};
}

}  // namespace

std::string restore_flag(const options::ParseResult& arguments) {
    return arguments.flag_of_shared("--restore-path");
}

std::string init_flag(const options::ParseResult& arguments) {
    return arguments.flag_of_shared("--init-path");
}

std::string how_to_continue(const RunFolder& folder, const options::ParseResult& arguments) {
    const std::string how = "continue with ";
    if (!arguments.settings.logging.no_logs) return how + "cnntrain restore --restore-path " + folder.checkpoints;
    // A run without logs has no arguments.json for `restore` to read.
    return how + "the same options and " + restore_flag(arguments) + " " + folder.checkpoints;
}

RunStart run_start(const options::ParseResult& arguments, const Host& host) {
    const std::optional<std::string>& folder = arguments.settings.main.restore_path;
    if (!folder) return {completed(arguments, {}), {}, {}};
    return start_at_latest(arguments, *folder, lock_run(restore_flag(arguments), *folder, host), *host.files);
}

RunStart restored_run_start(const TaskRow& task, const options::ParseResult& restore_line, const Host& host) {
    const std::string folder = without_trailing_slashes(*restore_line.settings.main.restore_path);
    std::shared_ptr<FileLock> lock = lock_run(restore_flag(restore_line), folder, host);
    return start_at_latest(restored_arguments(task, restore_line, *host.files), folder, std::move(lock), *host.files);
}

options::ParseResult restored_arguments(const TaskRow& task, const options::ParseResult& restore_line,
                                        const FileSystem& files) {
    const std::string folder = without_trailing_slashes(*restore_line.settings.main.restore_path);
    return options::resume_from_arguments_json(task.options, read_text(files, folder + "/" + kArgumentsFile),
                                               restore_line);
}

std::uint64_t seed_of(const RunStart& start) {
    return static_cast<std::uint64_t>(*start.arguments.settings.device.seed);
}

OpenedData open_data(const Task& task, const options::Settings& settings) {
    OpenedData data;
    data.training = task.open(data::Split::train);
    data.plan = task.plan(data.training->rows());
    // Opened before training, so that missing files are reported at once rather than after training.
    const bool validates = (data.plan.validate || settings.validation.any()) && !settings.device.dataset_benchmark;
    if (validates) data.validation = task.open(data::Split::validation);
    DataOrigin origin{data.training->origin(), {}};
    if (data.validation) origin.validation = data.validation->origin();
    data.origin = origin_of(to_text(origin));  // as a checkpoint gives it back
    return data;
}

std::map<std::string, std::string> run_metadata(const options::ParseResult& arguments,
                                                const backend::Arithmetic& arithmetic, const DataOrigin& origin,
                                                const std::vector<std::string>& class_names) {
    std::map<std::string, std::string> result = {{kSeedKey, std::to_string(*arguments.settings.device.seed)},
                                                 {kArithmeticKey, std::string(name(arithmetic.type))},
                                                 {kFingerprintKey, options::numerics_fingerprint(arguments)},
                                                 {kDataKey, to_text(origin)},
                                                 {kThreadsKey, std::to_string(compute_threads(arguments.settings.run))},
                                                 {weights::kRunOptionsKey, options::evaluation_json(arguments)}};
    weights::set_class_names(result, class_names);
    return result;
}

std::string metadata(const weights::Checkpoint& checkpoint, const char* key) {
    const auto found = checkpoint.metadata.find(key);
    return found == checkpoint.metadata.end() ? "" : found->second;
}

void check_data(const RunStart& start, const DataOrigin& found, const Task& task, bool told) {
    if (!start.resume) return;
    const std::string& path = start.resume->found.path;
    const std::string recorded = metadata(start.resume->checkpoint, kDataKey);
    if (recorded.empty()) {
        if (told) {
            log::info(path +
                      " was written by an earlier version and does not say which data the run began with; that "
                      "they are the same is not checked");
        }
        return;
    }
    DataOrigin expected;
    try {
        expected = origin_of(recorded);
    } catch (const Error& error) {
        throw error.within(path);
    }
    const std::string other = other_data(expected, found);
    if (other.empty()) return;
    const std::string changes = changes_of_run(start, expected, found, task);
    if (!start.arguments.settings.main.accept_other_data) {
        throw Error(ErrorKind::data,
                    path + ": the run was on other data. " + other +
                        ". Give it the data that it had, or go on with these by --accept-other-data: " + changes);
    }
    if (told) log::warning(path + ": the run goes on with other data. " + other + ". Now " + changes);
}

void refuse_shorter_run(const RunStart& start, const schedule::RunPlan& plan) {
    if (!start.resume || start.resume->checkpoint.iteration <= plan.iterations) return;
    throw Error(ErrorKind::usage, start.resume->found.path + ": the run has done " +
                                      std::to_string(start.resume->checkpoint.iteration) +
                                      " iterations, more than the " + std::to_string(plan.iterations) +
                                      " that are asked for; ask for at least as many, or begin a new run with " +
                                      init_flag(start.arguments) + " " + start.resume->found.path);
}

std::int64_t check_resumption(const Task& task, const options::ParseResult& arguments, const FileSystem& files) {
    const options::Settings& settings = arguments.settings;
    if (!settings.main.trains || !settings.main.restore_path) return 0;
    const RunStart start = start_at_latest(arguments, *settings.main.restore_path, {}, files);
    const OpenedData data = open_data(task, settings);
    check_data(start, data.origin, task, arguments.launch.index == 0);
    refuse_shorter_run(start, data.plan);
    return start.resume->checkpoint.iteration;
}

void warn_of_other_numbers(const ResumePoint& resume, const options::ParseResult& arguments) {
    const std::string fingerprint = metadata(resume.checkpoint, kFingerprintKey);
    if (!fingerprint.empty() && fingerprint != options::numerics_fingerprint(arguments)) {
        log::warning(resume.found.path +
                     " was written with other options: the run does not continue exactly as it would have; `restore` "
                     "without other options takes those of the run");
    }
    if (arguments.settings.run.thread_independent) return;
    const std::string threads = metadata(resume.checkpoint, kThreadsKey);
    const std::string now = std::to_string(compute_threads(arguments.settings.run));
    if (threads.empty() || threads == now) return;
    log::warning(resume.found.path + " was trained with " + threads + " compute threads and goes on with " + now +
                 ": sums are rounded in another order, so the run does not continue exactly as it would have; with "
                 "--threads " +
                 threads + " it does");
}

void compare_arithmetic(const ResumePoint& resume, const backend::Arithmetic& arithmetic) {
    const std::string before = metadata(resume.checkpoint, kArithmeticKey);
    if (before.empty() || before == name(arithmetic.type)) return;
    log::warning(resume.found.path + " was computed in " + before + "; the run goes on in " +
                 std::string(name(arithmetic.type)) + " (" + arithmetic.reason +
                 "), with the same weights but not with the numbers that it would have had; --compute-type " + before +
                 " keeps to the old arithmetic");
}

namespace {

using nlohmann::json;
using weights::Checkpoint;

constexpr std::string_view kBegin = "update-";
constexpr std::string_view kEnd = ".sums";
constexpr std::string_view kWhat = "sums of a stopped update";

// Keys of the file's metadata.
constexpr const char* kPartKey = "part";
constexpr const char* kWeightsKey = "weights";
constexpr const char* kFormKey = "form";
constexpr const char* kSharesKey = "shares";  // micro-batches of each rank

/// Digest of the variables in the order of their names, one at a time. All ranks call it together.
std::string weights_digest(const backend::Executable& executable) {
    std::vector<std::string> names = executable.variable_names();
    std::ranges::sort(names);
    Digest digest;
    for (const std::string& name : names) {
        digest.add(name);
        digest.add(std::uint64_t{crc32c(executable.store(name).bytes())});
    }
    return digest.text();
}

/// The sums in 17 digits, which give every double back as it was.
Checkpoint to_file(KeptUpdate kept, std::int64_t iteration, const std::string& form) {
    json sums = json::object();
    for (const auto& [name, sum] : kept.part.sums)
        sums[name] = formatted("%.17g", sum);
    Checkpoint file;
    file.iteration = iteration;
    const json part = {{"micro_batches", kept.part.micro_batches},
                       {"samples", kept.part.samples},
                       {"sums", std::move(sums)},
                       {"seconds", kept.seconds}};
    file.metadata = {{kPartKey, part.dump()}, {kFormKey, form}};
    file.tensors = std::move(kept.part.accumulators);
    return file;
}

/// Reads all but the accumulators. Error(data) if the metadata lack something or have another form.
KeptUpdate facts_in(const Checkpoint& file) try {
    const json part = json::parse(metadata(file, kPartKey));
    KeptUpdate kept;
    kept.part.iteration = file.iteration;
    kept.part.micro_batches = part.at("micro_batches");
    kept.part.samples = part.at("samples");
    for (const auto& [name, sum] : part.at("sums").items())
        kept.part.sums.emplace(name, std::stod(sum.get<std::string>()));
    kept.seconds = part.at("seconds");
    return kept;
} catch (const std::bad_alloc&) {
    throw;  // says nothing of the file
} catch (const std::exception& error) {
    throw Error(ErrorKind::data, std::string("it does not say what it holds: ") + error.what());
}

/// Rank `from`'s file on rank `to`; the other ranks call it, too, and get nothing.
Checkpoint passed(comm::Communicator& all, Checkpoint file, int from, int to) {
    if (from == to) return file;
    json tensors = json::array();
    for (const auto& [name, tensor] : file.tensors)
        tensors.push_back({{"name", name}, {"type", static_cast<int>(tensor.dtype())}, {"shape", tensor.shape()}});
    const json mine = {{"iteration", file.iteration}, {"metadata", file.metadata}, {"tensors", std::move(tensors)}};
    const json head = json::parse(broadcast_text(all, all.rank() == from ? mine.dump() : "", kWhat, from));
    Checkpoint result;
    result.iteration = head.at("iteration");
    result.metadata = head.at("metadata").get<std::map<std::string, std::string>>();
    for (const json& entry : head.at("tensors")) {
        const std::string name = entry.at("name");
        HostTensor tensor;
        if (all.rank() == from) {
            tensor = std::move(file.tensors.at(name));
        } else {
            tensor = HostTensor({static_cast<DType>(entry.at("type").get<int>()), entry.at("shape").get<Shape>()});
        }
        all.broadcast(tensor.bytes(), from, kWhat);
        if (all.rank() == to) result.tensors.emplace(name, std::move(tensor));
    }
    return all.rank() == to ? result : Checkpoint();
}

/// A fact that differs, in messages.
std::string another(const std::string& fact) {
    if (fact == kFingerprintKey) return "other options that change the numbers";
    if (fact == kThreadsKey) return "another number of compute threads";
    if (fact == kDataKey) return "other data";
    return "another " + fact;
}

/// Empty if the file belongs to these facts; otherwise the difference.
std::string other_facts(const Checkpoint& file, const Belonging& belonging) {
    const auto has = [&](const std::string& key) { return metadata(file, key.c_str()) == belonging.at(key); };
    if (!has(kWeightsKey)) return "its weights are not those of the checkpoint";
    const auto other = std::ranges::find_if(belonging, [&](const auto& fact) { return !has(fact.first); });
    return other == belonging.end() ? "" : "it was written with " + another(other->first);
}

/// Reads the files of the ranks, one after another.
class Reader {
public:
    Reader(const FileSystem& files, const std::string& folder, std::int64_t iteration, const Belonging& belonging)
        : files_(files), folder_(folder), iteration_(iteration), belonging_(belonging) {}

    /// Reads the file of a rank; empty once a file cannot be used.
    Checkpoint read(int rank, int ranks) {
        const std::string path = path_in(folder_, kept_name(iteration_, rank, ranks));
        if (!why_.empty()) return {};
        if (!exists(files_, path)) {
            why_ = path + " is missing; the run had another number of processes, or the file was removed";
            return {};
        }
        Checkpoint file;
        try {
            file = weights::load(files_, path);
            facts_in(file);
            why_ = other_facts(file, belonging_);
            if (file.iteration != iteration_) why_ = "it is of another update";
            if (rank == 0) shares_ = metadata(file, kSharesKey);
            if (why_.empty() && metadata(file, kSharesKey) != shares_)
                why_ = "it is of another stop than that of rank 0";
        } catch (const Error& error) {
            why_ = error.what();
        }
        if (why_.empty()) return file;
        if (why_.find(path) == std::string::npos) why_.insert(0, path + ": ");
        return {};
    }
    const std::string& why() const { return why_; }

private:
    const FileSystem& files_;
    std::string folder_;
    std::int64_t iteration_;
    const Belonging& belonging_;
    std::string shares_;
    std::string why_;  // a file cannot be used
};

/// True if there are files of any number of processes.
bool has_kept_update(const FileSystem& files, const std::string& folder, std::int64_t iteration) {
    if (!is_directory(files, folder)) return false;
    const std::string begin = std::string(kBegin) + std::to_string(iteration);
    return std::ranges::any_of(files.list(folder), [&](const std::string& name) {
        return is_kept_update(name) && (name.starts_with(begin + ".") || name.starts_with(begin + "-"));
    });
}

}  // namespace

KeptShare kept_share(comm::Communicator& communicator, const KeptUpdate& mine) {
    const std::vector<std::uint64_t> words =
        communicator.all_gather(static_cast<std::uint64_t>(mine.part.micro_batches), "kept micro-batches");
    const auto [least, most] = std::ranges::minmax(words);
    return {static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
}

std::string share_text(const KeptShare& share, std::int64_t micro_batches) {
    const std::string most = std::to_string(share.most);
    return (share.least == share.most ? most : std::to_string(share.least) + " to " + most) + " of " +
           std::to_string(micro_batches) + " micro-batches";
}

std::string kept_name(std::int64_t iteration, int rank, int ranks) {
    const std::string number = std::string(kBegin) + std::to_string(iteration);
    return number + (ranks == 1 ? "" : "-rank" + std::to_string(rank)) + std::string(kEnd);
}

bool is_kept_update(std::string_view name) {
    constexpr std::string_view kRank = "-rank";
    name = framed(name, kBegin, kEnd);
    const std::size_t rank = name.find(kRank);
    if (rank == std::string_view::npos) return is_number(name);
    return is_number(name.substr(0, rank)) && is_number(name.substr(rank + kRank.size()));
}

void remove_kept_updates(FileSystem& files, const std::string& folder) {
    if (!is_directory(files, folder)) return;
    for (const std::string& name : files.list(folder)) {
        if (is_kept_update(finished_name(name).value_or(name))) files.remove(path_in(folder, name));
    }
}

std::string save_kept_update(FileSystem& files, const std::string& folder, std::int64_t iteration,
                             const KeptUpdate& mine, Belonging belonging, const backend::Executable& executable,
                             comm::Communicator& communicator) {
    belonging[kWeightsKey] = weights_digest(executable);
    belonging[kSharesKey] = joined(communicator.all_gather(static_cast<std::uint64_t>(mine.part.micro_batches), kWhat),
                                   ",", [](std::uint64_t share) { return std::to_string(share); });
    std::string failure;
    for (int rank = 0; rank < communicator.size(); ++rank) {
        Checkpoint file;
        if (communicator.rank() == rank) file = to_file(mine, iteration, executable.report().partial_form);
        file = passed(communicator, std::move(file), rank, 0);
        if (communicator.rank() != 0 || !failure.empty()) continue;
        file.metadata.insert(belonging.begin(), belonging.end());
        try {
            weights::save(files, path_in(folder, kept_name(iteration, rank, communicator.size())), file);
        } catch (const Error& error) {
            failure = error.what();
        }
    }
    return failure;
}

KeptUpdate load_kept_update(const FileSystem& files, const std::string& folder, std::int64_t iteration,
                            Belonging belonging, const backend::Executable& executable,
                            comm::Communicator& communicator, const std::function<void(const std::string&)>& tell) {
    const bool first = communicator.rank() == 0;
    if (broadcast_text(communicator, first && has_kept_update(files, folder, iteration) ? "1" : "", kWhat).empty())
        return {};
    belonging[kWeightsKey] = weights_digest(executable);
    Reader reader(files, folder, iteration, belonging);
    KeptUpdate mine;
    bool fits = true;
    for (int rank = 0; rank < communicator.size(); ++rank) {
        Checkpoint file = first ? reader.read(rank, communicator.size()) : Checkpoint();
        file = passed(communicator, std::move(file), 0, rank);
        if (communicator.rank() != rank) continue;
        const std::string& form = executable.report().partial_form;
        fits = !form.empty() && metadata(file, kFormKey) == form;
        if (!fits) continue;
        mine = facts_in(file);
        mine.part.accumulators = std::move(file.tensors);
    }
    const std::vector<std::uint64_t> all = communicator.all_gather(fits ? 1 : 0, kWhat);
    if (std::ranges::find(all, std::uint64_t{0}) == all.end()) return mine;
    std::string why = reader.why();
    if (why.empty()) why = folder + ": its sums are of another processor, library or division of the work";
    if (first) tell(why);
    return {};
}

}  // namespace cnntrain::run
