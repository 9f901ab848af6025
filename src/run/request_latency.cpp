#include "run/request_latency.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/monitor.h"
#include "run/ranks.h"
#include "run/reports/run_report.h"
#include "run/run_files.h"

namespace cnntrain::run {
namespace {

using Clock = std::chrono::steady_clock;

/// A stream that several threads share.
class SharedStream {
public:
    explicit SharedStream(data::Stream& stream) : stream_(stream) {}

    std::vector<data::Field> fields() const { return stream_.fields(); }
    data::Batch next() {
        const std::lock_guard lock(mutex_);
        return stream_.next();
    }

private:
    data::Stream& stream_;
    std::mutex mutex_;
};

/// Fetches a batch before the call that consumes it.
class Request final : public data::BatchSource {
public:
    explicit Request(SharedStream& stream) : stream_(stream) {}

    void fetch() {
        batch_ = {};  // releases the memory of the previous batch first
        batch_ = stream_.next();
    }
    std::vector<data::Field> fields() const override { return stream_.fields(); }
    data::Batch next() override { return std::move(batch_); }

private:
    SharedStream& stream_;
    data::Batch batch_;
};

/// Results of one thread.
struct Tally {
    std::vector<double> milliseconds;
    metrics::Sums sums;
    std::int64_t samples = 0;
    Clock::time_point ended = {};
    std::exception_ptr error;
};

/// State shared by the threads of one measurement.
struct Round {
    explicit Round(std::int64_t count) : threads(count), ready(count), start(1) {}

    const std::int64_t threads;
    std::latch ready;
    std::latch start;
    std::atomic<bool> cancelled = false;
    std::atomic<std::int64_t> calls = 0;
    std::atomic<std::int64_t> finished = 0;  // number of threads that have finished
};

void send_requests(backend::Executable& executable, SharedStream& stream, std::int64_t iterations, Round& round,
                   Tally& tally) {
    Request request(stream);
    const auto call = [&] {
        request.fetch();
        const Stopwatch watch;
        const backend::StepResult result = executable.evaluate(request, 1);
        tally.milliseconds.push_back(1e3 * watch.seconds());
        metrics::add(tally.sums, result.sums);
        tally.samples += result.samples;
    };
    constexpr std::int64_t kMostReserved = 1 << 20;  // limit for measurements with very many iterations
    bool arrived = false;
    try {
        tally.milliseconds.reserve(static_cast<std::size_t>(std::min(iterations, kMostReserved)) + 1);
        call();  // not timed: starts the thread's helpers and touches all memory
        tally.milliseconds.clear();
        tally.sums.clear();
        tally.samples = 0;
        arrived = true;
        round.ready.count_down();
        round.start.wait();
        for (std::int64_t i = 0; i < iterations && !round.cancelled; ++i) {
            call();
            ++round.calls;
        }
        tally.ended = Clock::now();
    } catch (...) {
        tally.error = std::current_exception();
        round.cancelled = true;
        if (!arrived) round.ready.count_down();
    }
    ++round.finished;
}

struct Measured {
    std::vector<Tally> tallies;
    double seconds = 0;
    bool stopped = false;
};

using Executables = std::vector<std::unique_ptr<backend::Executable>>;

/// Starts the timed calls when all threads are ready, prints progress and passes on a stop until all have finished.
class Watcher {
public:
    Watcher(Round& round, const Host& host, std::function<void(std::int64_t, double)> print)
        : round_(round), host_(host), print_(std::move(print)), thread_([this] { watch(); }) {}

    /// Waits for the end; rethrows an error of printing. Returns the time of the start.
    Clock::time_point began() {
        thread_.join();
        if (error_) std::rethrow_exception(error_);
        return began_;
    }
    bool stopped() const { return stopped_; }

private:
    void watch() {
        constexpr std::chrono::milliseconds kPause(20);
        round_.ready.wait();
        began_ = Clock::now();
        round_.start.count_down();
        try {
            for (; round_.finished < round_.threads; std::this_thread::sleep_for(kPause)) {
                if (host_.stop_requested && host_.stop_requested()) round_.cancelled = stopped_ = true;
                print_(round_.calls, std::chrono::duration<double>(Clock::now() - began_).count());
            }
        } catch (...) {
            error_ = std::current_exception();
            round_.cancelled = true;
        }
    }

    Round& round_;
    const Host& host_;
    std::function<void(std::int64_t, double)> print_;
    Clock::time_point began_ = {};
    bool stopped_ = false;
    std::exception_ptr error_;
    std::jthread thread_;
};

/// The calling thread sends the first executable's requests: it has a team of compute threads from loading the weights.
/// With a second team in the process, OpenMP counts more threads than cores and lets them sleep at every barrier;
/// EfficientNet-B0 with one image then took 1.45 times as long (two cores).
Measured measure(const Executables& executables, data::Stream& stream, const options::Settings& settings,
                 const metrics::Unit& unit, metrics::Observers& observers, const Host& host) {
    const std::int64_t iterations = *settings.training.iterations;
    const auto threads = static_cast<std::int64_t>(executables.size());
    SharedStream shared(stream);
    Round round(threads);
    Measured measured;
    measured.tallies.resize(executables.size());
    Watcher watcher(round, host, [&](std::int64_t calls, double seconds) {
        const double samples = static_cast<double>(calls * stream.micro_batch());
        observers.on(metrics::Progress{calls, 0, threads * iterations, samples / seconds, seconds, "calls", unit.many});
    });
    const auto send = [&](std::size_t i) {
        send_requests(*executables[i], shared, iterations, round, measured.tallies[i]);
    };
    {
        std::vector<std::jthread> workers;
        for (std::size_t i = 1; i < executables.size(); ++i)
            workers.emplace_back(send, i);
        send(0);
    }
    const Clock::time_point began = watcher.began();
    measured.stopped = watcher.stopped();
    Clock::time_point ended = began;
    for (const Tally& tally : measured.tallies) {
        if (tally.error) std::rethrow_exception(tally.error);
        ended = std::max(ended, tally.ended);
    }
    measured.seconds = std::chrono::duration<double>(ended - began).count();
    return measured;
}

metrics::InferenceRow row_of(const Measured& measured, const Task& task, std::int64_t micro_batch,
                             metrics::InferenceRow row) {
    std::vector<double> milliseconds;
    metrics::Sums sums;
    std::int64_t samples = 0;
    for (const Tally& tally : measured.tallies) {
        milliseconds.insert(milliseconds.end(), tally.milliseconds.begin(), tally.milliseconds.end());
        metrics::add(sums, tally.sums);
        samples += tally.samples;
    }
    const std::vector<metrics::Column>& columns = task.columns().inference;
    const bool has_labels = task.has_real_data() && samples > 0;
    row.results = has_labels ? metrics::values_of(columns, sums, samples)
                             : std::vector<double>(columns.size(), metrics::kNotMeasured);
    row.num_processed_samples = static_cast<std::int64_t>(milliseconds.size()) * micro_batch;
    row.inference_time = measured.seconds;
    row.samples_per_second = static_cast<double>(row.num_processed_samples) / measured.seconds;
    row.latencies = summarise(std::move(milliseconds));
    return row;
}

/// The executables of all threads. They divide the compute threads; each gets at least one. Those with as many threads
/// share the weights.
Executables compile_one(const backend::Backend& backend, const graph::Graph& graph, const options::Settings& settings,
                        const std::vector<data::Field>& fields, std::uint64_t seed) {
    backend::CompileRequest request = compile_request(graph, settings, fields, seed);
    const auto count = static_cast<int>(settings.main.inference_threads);
    const int cores = request.cpu.threads;
    Executables executables;
    for (int i = 0; i < count; ++i) {
        const int threads = std::max(1, cores / count + (i < cores % count ? 1 : 0));
        if (threads != request.cpu.threads) request.weights = nullptr;  // of another layout
        request.cpu.threads = threads;
        executables.push_back(backend.compile(request));
        if (request.weights == nullptr) request.weights = executables.back().get();
    }
    return executables;
}

std::string tag_of_file() {
    return std::to_string(std::random_device{}());
}

/// Removes the file when destroyed.
class TemporaryFile {
public:
    TemporaryFile(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
    ~TemporaryFile() {
        try {
            files_.remove(path_);
        } catch (const Error& error) {
            log::warning(error.what());
        }
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

private:
    FileSystem& files_;
    std::string path_;
};

weights::Checkpoint weights_of(const WeightSource& source, const graph::Graph& graph, const FileSystem& files,
                               std::uint64_t seed, const options::Settings& settings) {
    weights::Checkpoint model;
    if (source.path.empty()) {
        model.iteration = 0;
        model.tensors = initial_variables(graph, seed);
        return model;
    }
    if (!source.there) weights::find_checkpoints(files, source.path);  // throws and lists what exists
    weights::Checkpoint checkpoint = checkpoint_weights(files, source.path, settings);
    model.iteration = checkpoint.iteration;
    model.epoch = checkpoint.epoch;
    model.tensors = model_variables(graph, std::move(checkpoint), source.path);
    return model;
}

/// Loads the weights from the compiled model if it can be used; otherwise from the checkpoint, and then writes the
/// compiled model.
weights::Checkpoint compiled_weights(const Task& task, const options::Settings& settings, const graph::Graph& graph,
                                     std::string_view backend, const WeightSource& source, const std::string& path,
                                     metrics::Observers& observers, FileSystem& files, std::uint64_t seed) {
    const auto key = compiled_model_key(task.description(), settings, graph, backend, source, files, seed);
    if (!settings.main.force_recompile) {
        auto model = read_compiled_model(files, path, key);
        if (model) {
            const std::string why = source.there ? "" : "; " + source.path + " itself is not there any more";
            observers.line("Using the compiled model " + path + " (weights: " + source.name + ")" + why);
            return std::move(*model);
        }
    }
    weights::Checkpoint model = weights_of(source, graph, files, seed, settings);
    if (write_compiled_model(files, path, key, model)) observers.line("Saved the compiled model to " + path);
    return model;
}

}  // namespace

int measure_requests(const TaskRow& task_row, const options::ParseResult& arguments, const Host& host) {
    const Stopwatch since_start;
    const options::Settings& settings = arguments.settings;
    FileSystem& files = *host.files;
    const std::uint64_t seed = static_cast<std::uint64_t>(settings.device.seed.value_or(0));
    const auto backend = make_backend(settings.run.backend);
    const std::unique_ptr<Task> made = task_row.make(arguments, *backend, seed);
    const Task& task = *made;
    const auto data = task.open(data::Split::validation);
    const std::vector<data::Field> fields = data->fields(settings.training.micro_batch_size);
    data::LoaderSettings loader = request_loader_settings(settings, fields);
    loader.stop_requested = host.stop_requested;
    const auto stream = data->stream(loader);

    const bool only_input = settings.device.dataset_benchmark;
    const WeightSource source = only_input ? WeightSource{} : weight_source(settings, files);
    const bool temporary = settings.main.temporary_executable;
    const std::string path = compiled_model_name(task, settings, source.name, temporary ? tag_of_file() : "");
    if (!source.there && !exists(files, path)) weights::find_checkpoints(files, source.path);  // throws
    if (!only_input) {
        check_outputs(
            files,
            {{{"the compiled model", path}, settings.main.force_recompile, "--force-recompile", is_compiled_model}});
    }

    const RunFolder folder = results_folder_of_all(task, arguments, host);
    metrics::Observers observers = report_evaluation(task, *backend, arguments, folder, data->count(), host);
    if (only_input) {
        return measure_input_speed(*stream, stream->batches_per_sweep(), task.columns().unit, observers,
                                   host.stop_requested);
    }
    announce<metrics::InferenceRow>(task, &metrics::Columns::inference, observers);

    observers.on(metrics::Status{metrics::kCompilationStatus, metrics::kCompiling});
    const graph::Graph graph = task.graph(GraphUse::evaluation, fields);
    std::optional<TemporaryFile> removed;
    if (temporary) removed.emplace(files, path);
    metrics::InferenceRow row;
    Executables executables;
    {
        const weights::Checkpoint model =
            compiled_weights(task, settings, graph, backend->name(), source, path, observers, files, seed);
        row.name = source.name;
        row.iteration = model.iteration;
        row.epoch = model.epoch;
        executables = compile_one(*backend, graph, settings, fields, seed);
        for (const auto& executable : executables)
            executable->load(model.tensors);
    }
    if (ends_after_compiling(settings, since_start.seconds(), observers)) return 0;
    comm::Communicator& ranks = *host.communicator;
    ranks.barrier("requests");
    for (std::int64_t i = 0; i < settings.main.repeat; ++i) {
        const Measured measured = measure(executables, *stream, settings, task.columns().unit, observers, host);
        if (comm::agree(ranks, {.stop = measured.stopped}).any.stop) {
            observers.on(metrics::Result{"Inference stopped by a signal."});
            return kInterruptedExitCode;
        }
        metrics::InferenceRow result = row_of(measured, task, settings.training.micro_batch_size, row);
        const double counts[] = {static_cast<double>(result.num_processed_samples), result.samples_per_second};
        const std::vector<double> of_all = comm::agree(ranks, {}, counts).sums;
        result.num_processed_samples = std::llround(of_all[0]);
        result.samples_per_second = of_all[1];
        observers.on(metrics::Line{metrics::printed(result.latencies), metrics::Line::To::console});
        observers.on(metrics::Row{reported(task, result)});
    }
    return 0;
}

namespace {

constexpr std::string_view kKeyPrefix = "key.";  // of keys in the file's metadata
constexpr const char* kProgram = "program";
constexpr const char* kCheckpoint = "checkpoint";
constexpr const char* kCheckpointPath = "checkpoint_path";

std::string digest(std::string_view text) {
    return hex_text(crc32c(std::as_bytes(std::span(text))));
}

std::string file_digest(const FileSystem& files, const std::string& path) {
    const FileContent content = content_of(*files.open(path));
    return std::to_string(content.bytes) + " bytes, crc32c " + hex_text(content.checksum);
}

std::string without_suffix(std::string path) {
    using weights::kCheckpointSuffix;
    if (path.ends_with(kCheckpointSuffix)) path.resize(path.size() - kCheckpointSuffix.size());
    return path;
}

/// Describes the first difference between the file's key and the required one; "" if there is none. The checkpoint's
/// path is compared only if the checkpoint cannot be read any more.
std::string difference(const std::map<std::string, std::string>& found,
                       const std::map<std::string, std::string>& wanted) {
    for (const auto& [part, value] : wanted) {
        if (part == kCheckpointPath && wanted.contains(kCheckpoint)) continue;
        const auto other = found.find(std::string(kKeyPrefix) + part);
        if (other == found.end()) return "it is no compiled model of this program";
        if (other->second != value) return "it was made for " + part + " '" + other->second + "', not '" + value + "'";
    }
    return "";
}

}  // namespace

WeightSource weight_source(const options::Settings& settings, const FileSystem& files) {
    if (!settings.main.restore_path) {
        log::warning("no --restore-path: the weights are random");
        return {};
    }
    const std::string& path = *settings.main.restore_path;
    try {
        const weights::Found found = checkpoint_to_evaluate(files, path);
        return {found.name, found.path, true};
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::not_found || is_directory(files, path)) throw;
        const std::string prefix = without_suffix(path);
        return {std::string(last_part(prefix)), path, false};
    }
}

std::string compiled_model_name(const Task& task, const options::Settings& settings, const std::string& weights,
                                const std::string& tag) {
    std::string name = "model_" + task.description().model + "_bs_" +
                       std::to_string(settings.training.micro_batch_size) + "_bps_" +
                       std::to_string(settings.training.device_iterations) + "_" + weights + "_" +
                       (task.has_real_data() ? "withlabels" : "nolabels");
    if (!tag.empty()) name += "_" + tag;
    return name.append(kCompiledModelSuffix);
}

std::map<std::string, std::string> compiled_model_key(const TaskDescription& task, const options::Settings& settings,
                                                      const graph::Graph& graph, std::string_view backend,
                                                      const WeightSource& source, const FileSystem& files,
                                                      std::uint64_t seed) {
    std::map<std::string, std::string> key = {
        {kProgram, CNNTRAIN_VERSION},
        {"backend", std::string(backend)},
        {"micro batch", std::to_string(settings.training.micro_batch_size)},
        {"precision", std::string(spelling(settings.device.precision))},
        {"graph", digest(graph.to_text())},
    };
    key.insert(task.identity.begin(), task.identity.end());
    if (source.path.empty()) {
        key[kCheckpoint] = "none, seed " + std::to_string(seed);
        return key;
    }
    const std::string part = settings.main.averaged_weights ? ", moving averages" : "";
    if (source.there) key[kCheckpoint] = file_digest(files, source.path) + part;
    key[kCheckpointPath] = without_suffix(source.path) + part;
    return key;
}

std::optional<weights::Checkpoint> read_compiled_model(const FileSystem& files, const std::string& path,
                                                       const std::map<std::string, std::string>& key) {
    if (!exists(files, path)) return std::nullopt;
    std::string why;
    try {
        weights::Checkpoint model = weights::load(files, path);
        why = difference(model.metadata, key);
        if (why.empty()) return model;
        why = path + ": " + why;
    } catch (const Error& error) {
        why = error.what();
    }
    log::warning(why + "; it is made anew");
    return std::nullopt;
}

bool is_compiled_model(const FileSystem& files, const std::string& path) {
    constexpr std::uint64_t kMetadataBytes = 64 << 10;  // the header begins with it
    const std::string begin = beginning_of(files, path, kMetadataBytes);
    return begin.find("\"" + std::string(kKeyPrefix) + kProgram + "\"") != std::string::npos;
}

bool write_compiled_model(FileSystem& files, const std::string& path, const std::map<std::string, std::string>& key,
                          weights::Checkpoint model) {
    model.metadata.clear();
    for (const auto& [part, value] : key)
        model.metadata[std::string(kKeyPrefix) + part] = value;
    try {
        weights::save(files, path, model);
        return true;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::storage) throw;
        log::warning(std::string(error.what()) + "; the next run will need the checkpoint again");
        return false;
    }
}

}  // namespace cnntrain::run
