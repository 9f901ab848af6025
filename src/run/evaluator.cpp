#include "run/evaluator.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/options/option.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/monitor.h"
#include "run/ranks.h"
#include "run/reports/run_report.h"
#include "run/run_files.h"

namespace cnntrain::run {
namespace {

/// The counter of classes; null where none is wanted.
const Classifier* counted_classifier(const Task& task, const options::Settings& settings) {
    return settings.validation.any() ? task.classifier() : nullptr;
}

graph::Graph graph_of(const Task& task, const Classifier* classifier, const std::vector<data::Field>& fields,
                      const graph::EightBitPlan* plan = nullptr) {
    const bool reads_logits = classifier != nullptr || task.scorer() != nullptr;
    graph::Graph graph = task.graph(reads_logits ? GraphUse::classes : GraphUse::evaluation, fields);
    return plan != nullptr ? graph::in_eight_bits(graph, *plan) : graph;
}

/// C of the logits; 0 for a graph without them.
std::size_t class_count(const graph::Graph& graph) {
    const auto logits = std::ranges::find(graph.outputs(), kLogits, &graph::Output::name);
    if (logits == graph.outputs().end()) return 0;
    return static_cast<std::size_t>(graph.desc(logits->value).shape.at(1));
}

}  // namespace

graph::Graph validation_graph(const Task& task, const options::Settings& settings,
                              const std::vector<data::Field>& fields) {
    return graph_of(task, counted_classifier(task, settings), fields);
}

Evaluator::Evaluator(const Task& task, const backend::Backend& backend, const Samples& data,
                     const options::Settings& settings, std::uint64_t seed, const Host& host,
                     const graph::EightBitPlan* plan)
    : task_(task),
      host_(host),
      classifier_(counted_classifier(task, settings)),
      scorer_(task.scorer()),
      graph_(graph_of(task, classifier_, data.fields(settings.training.micro_batch_size), plan)),
      executable_(backend.compile(compile_request(graph_, settings, data.fields(settings.training.micro_batch_size),
                                                  seed, host.stop_requested))),
      data_(data),
      loader_(for_rank(validation_loader_settings(settings), *host.communicator)),
      run_settings_(settings.run),
      latency_(settings.device.latency) {}

void Evaluator::load(weights::Checkpoint checkpoint, const std::string& path) {
    load_model(*executable_, graph_, std::move(checkpoint), path, run_settings_);
}

void Evaluator::load_random(std::uint64_t seed) {
    initialise(*executable_, graph_, seed);
}

void Evaluator::load_from(const backend::Executable& training) {
    copy_variables(training, *executable_);
}

void Evaluator::load(const std::map<std::string, HostTensor>& variables) {
    executable_->load(variables);
}

void Evaluator::share_weights() {
    share_variables(*host_.communicator, *executable_, "weights to validate");
}

Evaluator::Seen Evaluator::run_share(data::Stream& stream, std::int64_t batches, metrics::Observers& observers) {
    const Stopwatch watch;
    CreationTap tap(stream);
    std::optional<LabelTap> labels;
    const std::string_view scored = scorer_ != nullptr ? scorer_->labels_read() : "";
    if (classifier_ != nullptr || !scored.empty())
        labels.emplace(tap, classifier_ != nullptr ? classifier_->label_field() : scored);
    data::BatchSource& source = labels ? static_cast<data::BatchSource&>(*labels) : tap;
    Seen seen;
    calls_.clear();
    for (std::int64_t done = 0; done < batches && !seen.stopped;) {
        backend::StepResult result;
        const Stopwatch call;
        try {
            result = executable_->evaluate(source, 1);
        } catch (const Interrupted&) {
            seen.stopped = true;
            return seen;
        }
        calls_.push_back({call.seconds(), result.samples});
        if (latency_) seen.latency_ms += tap.milliseconds_since_creation();
        const std::string logits = scorer_ != nullptr && result.samples > 0 ? kLogits : "";
        if (!seen.not_finite) seen.not_finite = not_finite_in(*executable_, result, logits, done == 0);
        metrics::add(seen.sums, result.sums);
        if (scorer_ != nullptr) append_logits(*executable_, loader_.micro_batch, seen.outputs);
        if (!scored.empty())
            seen.outputs.labels.insert(seen.outputs.labels.end(), labels->labels().begin(), labels->labels().end());
        if (classifier_ != nullptr && result.samples > 0)
            seen.classes.add(executable_->output(kLogits), labels->labels());
        seen.samples += result.samples;
        ++done;
        seen.stopped = result.stopped || stop_requested();
        const double rate = static_cast<double>(seen.samples * host_.communicator->size()) / watch.seconds();
        if (!seen.stopped) {
            observers.on(metrics::Progress{done, 0, batches, rate, watch.seconds(), "validation batches",
                                           task_.columns().unit.many, true});
        }
    }
    seen.left_out = stream.stats().left_out;
    return seen;
}

/// Sums over processes. Adds missing outputs first: a process that was stopped early may not have seen all of them.
Evaluator::Seen Evaluator::of_all(Seen mine) const {
    for (const graph::Output& output : graph_.outputs()) {
        if (graph_.desc(output.value).shape.empty()) mine.sums.try_emplace(output.name, 0.0);
    }
    std::vector<double> values = {static_cast<double>(mine.samples), static_cast<double>(mine.left_out),
                                  mine.latency_ms};
    for (const auto& [name, sum] : mine.sums)
        values.push_back(sum);
    const std::vector<double> classes = mine.classes.numbers(classifier_ != nullptr ? class_count(graph_) : 0);
    values.insert(values.end(), classes.begin(), classes.end());
    const comm::UpdateStatus status{.stop = mine.stopped, .not_finite = mine.not_finite.has_value()};
    const comm::AgreedStatus agreed = comm::agree(*host_.communicator, status, values);
    Seen all;
    if (agreed.any.not_finite) {
        all.not_finite =
            text_of_first(*host_.communicator, agreed, &comm::UpdateStatus::not_finite, mine.not_finite.value_or(""));
    }
    all.samples = static_cast<std::int64_t>(agreed.sums[0]);
    all.left_out = static_cast<std::int64_t>(agreed.sums[1]);
    all.latency_ms = agreed.sums[2];
    all.stopped = agreed.any.stop;
    std::size_t next = 3;
    for (const auto& [name, sum] : mine.sums)
        all.sums[name] = agreed.sums[next++];
    all.classes = ClassCounts::of(std::span(agreed.sums).subspan(next));
    all.outputs = std::move(mine.outputs);
    return all;
}

/// A part of a split, or one with numbers that are not finite, has no scores.
void Evaluator::add_scores(Seen& seen, std::int64_t micro_batch) {
    const bool has_scores = !most_batches_ && !not_finite_;
    scored_ = {};
    if (has_scores) {
        scored_ = scorer_->scores(outputs_of_all(seen.outputs, micro_batch, *host_.communicator), seen.sums);
    }
    for (const metrics::Column& column : task_.columns().validation) {
        if (column.divisor == kScored) seen.sums[column.output] = has_scores ? scored_.values.at(column.output) : 0;
    }
    seen.sums[kScored] = has_scores ? 1 : 0;
}

std::optional<metrics::ValidationRow> Evaluator::run(metrics::ValidationRow row, metrics::Observers& observers) {
    const metrics::Unit& unit = task_.columns().unit;
    data::LoaderSettings loader = loader_;
    loader.stop_requested = host_.stop_requested;
    loader_.checks_memory = false;  // the C library keeps stacks of ended threads, which count as taken
    const Stopwatch watch;          // includes the input: a stream created earlier would already have its first batches
    const std::unique_ptr<data::Stream> stream = data_.stream(loader);
    std::int64_t batches = stream->batches_per_sweep();  // per process
    if (most_batches_) batches = std::min(batches, (*most_batches_ + loader.ranks - 1) / loader.ranks);
    Seen seen = of_all(run_share(*stream, batches, observers));
    if (seen.stopped) return std::nullopt;
    not_finite_ = std::move(seen.not_finite);
    if (classifier_ != nullptr) seen.classes.add_recalls(seen.sums);
    if (scorer_ != nullptr) add_scores(seen, loader.micro_batch);
    class_counts_ = scored_.classes.empty() ? std::move(seen.classes) : ClassCounts(scored_.classes);
    row.val_time = watch.seconds();
    CNNTRAIN_CHECK(
        most_batches_ || seen.samples + seen.left_out == stream->samples(),
        "validation saw " + std::to_string(seen.samples) + " of " + std::to_string(stream->samples()) + " samples");
    if (seen.left_out > 0) {
        observers.line(std::to_string(seen.left_out) + " of " + std::to_string(stream->samples()) + " validation " +
                       unit.many + " could not be decoded and are not counted");
    }
    if (seen.samples == 0) throw Error(ErrorKind::data, "no validation " + unit.one + " could be decoded");
    row.val_size = seen.samples;
    row.results = metrics::values_of(task_.columns().validation, seen.sums, seen.samples);
    row.samples_per_second = static_cast<double>(seen.samples) / row.val_time;
    if (latency_) row.latency = seen.latency_ms / static_cast<double>(batches * loader.ranks);
    return row;
}

namespace {

/// Index of the first element that is not finite, or is below `least`; -1: there is none.
std::int64_t first_bad_index(const HostTensor& tensor, double least) {
    const auto is_bad = [least](double value) { return !std::isfinite(value) || value < least; };
    if (tensor.dtype() == DType::f32) {
        const auto values = tensor.as<float>();
        const auto found = std::ranges::find_if(values, is_bad);
        return found == values.end() ? -1 : found - values.begin();
    }
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        if (is_bad(tensor.at(i))) return i;
    }
    return -1;
}

}  // namespace

std::optional<std::string> first_bad_number(const std::map<std::string, HostTensor>& variables) {
    for (const auto& [name, tensor] : variables) {
        const bool is_variance = name.ends_with(nn::kMovingVariance);
        const std::int64_t index = first_bad_index(tensor, is_variance ? 0 : -INFINITY);
        if (index >= 0)
            return name + "[" + std::to_string(index) + "] is " + options::to_string(options::Value{tensor.at(index)});
    }
    return std::nullopt;
}

std::optional<std::string> not_finite_in(backend::Executable& executable, const backend::StepResult& result,
                                         const std::string& logits, bool looks_inside) {
    const auto sum = std::ranges::find_if(result.sums, [](const auto& one) { return !std::isfinite(one.second); });
    std::string output = sum == result.sums.end() ? "" : "the sum of " + sum->first;
    if (output.empty() && !logits.empty() && first_bad_index(executable.output(logits), -INFINITY) >= 0)
        output = "the output " + logits;
    if (output.empty() && !looks_inside) return std::nullopt;
    std::optional<std::string> where = executable.first_non_finite();
    return where || output.empty() ? where : std::optional(output);
}

void append_logits(const backend::Executable& executable, std::int64_t micro_batch, RowOutputs& outputs) {
    const HostTensor logits = executable.output(kLogits).cast(DType::f32);
    outputs.width = logits.elements() / micro_batch;
    const std::span<const float> values = logits.as<float>();
    outputs.values.insert(outputs.values.end(), values.begin(), values.end());
}

namespace {

/// The values of all ranks in the order of the micro-batches, which the ranks take in turn. `batch`: of a micro-batch.
template <typename T> std::vector<T> in_turn(const std::vector<T>& mine, std::size_t batch, comm::Communicator& ranks) {
    const auto count = static_cast<std::size_t>(ranks.size());
    std::vector<T> gathered(mine.size() * count);
    ranks.all_gather_among({0, ranks.size()}, std::as_bytes(std::span(mine)),
                           std::as_writable_bytes(std::span(gathered)), "results of a validation");
    std::vector<T> all(gathered.size());
    for (std::size_t rank = 0; rank < count; ++rank) {
        for (std::size_t i = 0; i * batch < mine.size(); ++i) {
            const auto from = gathered.begin() + static_cast<std::ptrdiff_t>(rank * mine.size() + i * batch);
            std::copy_n(from, batch, all.begin() + static_cast<std::ptrdiff_t>((i * count + rank) * batch));
        }
    }
    return all;
}

}  // namespace

RowOutputs outputs_of_all(const RowOutputs& mine, std::int64_t micro_batch, comm::Communicator& ranks) {
    const auto batch = static_cast<std::size_t>(micro_batch);
    const auto width = static_cast<std::size_t>(mine.width);
    RowOutputs all{mine.width, in_turn(mine.values, batch * width, ranks)};
    if (mine.labels.empty()) return all;
    const std::size_t rows = mine.values.size() / width;
    all.labels = in_turn(mine.labels, batch * (mine.labels.size() / rows), ranks);
    return all;
}

void report_moment(const Task& task, const Moment& moment, metrics::Observers& observers) {
    if (const std::string lines = task.printed_at(moment); !lines.empty()) observers.detail(lines);
}

void write_result_files(const Scored& scored, const std::string& folder, FileSystem& files,
                        metrics::Observers& observers) {
    for (const auto& [name, text] : scored.files) {
        const std::string path = path_in(folder, name);
        write_text(files, path, text);
        observers.line("Saved " + path);
    }
}

void fail_not_finite(const std::string& what, const std::string& where) {
    throw Error(ErrorKind::diverged, what +
                                         ": the network computes numbers that are not finite; first place: " + where +
                                         "; its answers mean nothing: use weights of a training that has not diverged");
}

// `cnntrain validation`: evaluates existing checkpoints.

namespace {

/// The checkpoint's recorded epoch, or, if the user gives the global batch, the epoch computed from it.
double epoch_of(const weights::Checkpoint& checkpoint, const Task& task, const options::Settings& settings) {
    if (!settings.main.total_batch_size) return checkpoint.epoch;
    const std::int64_t samples = task.samples(data::Split::train, Counted::published);
    const double seen =
        static_cast<double>(*settings.main.total_batch_size) * static_cast<double>(checkpoint.iteration);
    return seen / static_cast<double>(samples);
}

/// A validation and everything it needs.
class Validation {
public:
    /// `logs`: folder of the results; "" for none.
    Validation(const Task& task, Evaluator& evaluator, const options::Settings& settings, const Host& host,
               metrics::Observers& observers, std::string logs)
        : task_(task),
          evaluator_(evaluator),
          settings_(settings),
          host_(host),
          observers_(observers),
          logs_(std::move(logs)) {}

    /// Both functions return the exit code.
    int of_random_weights(std::uint64_t seed) {
        if (is_first(host_)) log::warning("no --restore-path: the weights are random, and so is the accuracy");
        evaluator_.load_random(seed);
        metrics::ValidationRow row;
        row.name = "random";
        return run_repeatedly(row) ? 0 : kInterruptedExitCode;
    }
    int of_checkpoints(const std::vector<weights::Found>& points) {
        for (const weights::Found& point : points) {
            metrics::ValidationRow row;
            row.name = point.name;
            if (is_first(host_)) load(point, row);
            log_position(row);
            evaluator_.share_weights();
            if (!run_repeatedly(row)) return kInterruptedExitCode;
        }
        return 0;
    }

private:
    void load(const weights::Found& point, metrics::ValidationRow& row) {
        weights::Checkpoint checkpoint = checkpoint_weights(*host_.files, point.path, settings_);
        row.iteration = checkpoint.iteration;
        row.epoch = epoch_of(checkpoint, task_, settings_);
        if (settings_.device.analyse_nans) {
            observers_.on(metrics::Row{
                metrics::record(count_nans(checkpoint.iteration, weights::source_of(checkpoint.tensors)))});
        }
        evaluator_.load(std::move(checkpoint), point.path);
    }

    /// Sends the checkpoint's place in its run from rank 0 to the ranks that have not read it.
    void log_position(metrics::ValidationRow& row) const {
        comm::Communicator& all = *host_.communicator;
        row.iteration = std::stoll(broadcast_text(all, std::to_string(row.iteration), "checkpoint to validate"));
        row.epoch = std::stod(broadcast_text(all, formatted("%.17g", row.epoch), "checkpoint to validate"));
    }

    /// Evaluates the loaded weights `--repeat` times; returns false if a stop was requested.
    bool run_repeatedly(const metrics::ValidationRow& point) {
        for (std::int64_t i = 0; i < settings_.main.repeat; ++i) {
            const auto row = evaluator_.run(point, observers_);
            if (!row) {
                observers_.on(metrics::Result{"Validation of " + point.name + " stopped by a signal."});
                return false;
            }
            if (evaluator_.not_finite() && settings_.run.stop_on_nan)
                fail_not_finite("validation of " + point.name, *evaluator_.not_finite());
            observers_.on(metrics::Row{reported(task_, *row)});
            if (is_first(host_))
                report_moment(task_, LastCall{evaluator_.calls(), host_.communicator->size()}, observers_);
            if (!logs_.empty()) write_result_files(evaluator_.scored(), logs_, *host_.files, observers_);
        }
        return true;
    }

    const Task& task_;
    Evaluator& evaluator_;
    const options::Settings& settings_;
    const Host& host_;
    metrics::Observers& observers_;
    std::string logs_;
};

/// Rank 0's list, on all ranks.
std::vector<weights::Found> points_to_validate(const options::Settings& settings, const Host& host) {
    std::vector<weights::Found> points;
    if (!settings.main.restore_path) return points;
    if (is_first(host)) points = weights::find_checkpoints(*host.files, *settings.main.restore_path);
    if (points.size() > 1) {
        std::erase_if(points, [&](const weights::Found& point) {
            const bool is_other = eight_bit_plan(*host.files, point.path).has_value();
            if (is_other) log::info(point.path + " is left out: it computes in 8 bits; validate it alone");
            return is_other;
        });
    }
    comm::Communicator& all = *host.communicator;
    points.resize(std::stoul(broadcast_text(all, std::to_string(points.size()), "number of checkpoints")));
    for (weights::Found& point : points)
        point.name = broadcast_text(all, point.name, "checkpoint to validate");
    return points;
}

}  // namespace

int run_validation(const TaskRow& row, const options::ParseResult& arguments, const Host& host) {
    const Stopwatch since_start;
    agree_on_options(arguments, host);
    const options::Settings& settings = arguments.settings;
    const std::uint64_t seed = static_cast<std::uint64_t>(settings.device.seed.value_or(0));
    const std::vector<weights::Found> points = points_to_validate(settings, host);
    const auto backend = make_backend(settings.run.backend);
    const std::unique_ptr<Task> made = row.make(arguments, *backend, seed);
    const Task& task = *made;
    const auto data =
        done_by_all(*host.communicator, "data to validate on", [&] { return task.open(data::Split::validation); });
    agree_on_data({{}, data->origin()}, task.description().arithmetic, host);
    const RunFolder folder = results_folder_of_all(task, arguments, host);
    metrics::Observers observers = report_evaluation(task, *backend, arguments, folder, data->count(), host);
    if (settings.device.dataset_benchmark) {
        data::LoaderSettings loader = for_rank(loader_settings(settings, 0), *host.communicator);
        loader.stop_requested = host.stop_requested;
        const auto stream = data->stream(loader);
        return measure_input_speed(*stream, stream->batches_per_sweep(), task.columns().unit, observers,
                                   host.stop_requested);
    }
    announce<metrics::ValidationRow>(task, &metrics::Columns::validation, observers);

    observers.on(metrics::Status{metrics::kCompilationStatus, metrics::kCompiling});
    Evaluator evaluator(task, *backend, *data, settings, seed, host);
    if (ends_after_compiling(settings, since_start.seconds(), observers)) return 0;
    if (!task.has_real_data() && settings.training.iterations) evaluator.cut_short(*settings.training.iterations);
    Validation validation(task, evaluator, settings, host, observers, folder.logs);
    return points.empty() ? validation.of_random_weights(seed) : validation.of_checkpoints(points);
}

}  // namespace cnntrain::run
