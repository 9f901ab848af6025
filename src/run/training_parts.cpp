#include "run/training.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/average.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/averaging.h"
#include "run/evaluator.h"
#include "run/monitor.h"
#include "run/profiling.h"
#include "run/ranks.h"
#include "run/reports/describe.h"
#include "run/resume.h"
#include "run/run_files.h"
#include "run/trainer.h"

namespace cnntrain::run {
namespace {

// Memory that logs and checkpoints take between the start and the first validation.
constexpr std::uint64_t kGrowthBytes = std::uint64_t{8} << 20;

// The weights with which a new training begins.

struct FirstWeightsRun {
    const Task& task;
    const options::Settings& settings;
    std::uint64_t seed;
    const Host& host;
    metrics::Observers& observers;
};

std::vector<std::string> parameter_names(const graph::Graph& graph) {
    std::vector<std::string> names;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter))
        names.push_back(graph.value(id).name);
    return names;
}

/// The first names of a list.
std::string first_of(std::vector<std::string> names) {
    constexpr std::size_t kShown = 10;
    const std::string all = std::to_string(names.size());
    if (names.size() <= kShown) return listed(names);
    names.resize(kShown);
    return joined(names) + ", ... (" + all + ")";
}

void report_mismatches(const FirstWeightsRun& run, const CompletedWeights& first, const std::string& path) {
    std::vector<std::string> missing;
    std::ranges::set_difference(first.drawn, first.replaced, std::back_inserter(missing));
    if (!missing.empty()) run.observers.line("Drawn anew, because " + path + " does not have them: " + joined(missing));
    if (!first.replaced.empty())
        run.observers.line("Drawn anew, because " + path + " has them for other classes: " + joined(first.replaced));
    const std::vector<std::string> theirs = weights::class_names(first.checkpoint.metadata);
    const std::vector<std::string> classes = run.task.class_names();
    if (!theirs.empty() && !classes.empty() && theirs != classes)
        run.observers.line("Classes of " + path + ": " + first_of(theirs) + "; of the data: " + first_of(classes));
    if (!first.extended.empty()) {
        run.observers.line("The last layer keeps what " + path + " has of " +
                           counted(std::ssize(classes) - std::ssize(first.new_classes), "class", "es") +
                           "; drawn anew: " + (first.new_classes.empty() ? "none" : first_of(first.new_classes)));
    }
    if (first.reordered)
        run.observers.line("The last layer of " + path + " has the same classes in another order, and is reordered.");
    if (!first.left_out.empty()) {
        run.observers.line("Not read from " + path +
                           ", because the network does not have them: " + joined(first.left_out));
    }
    const Patterns frozen(run.settings.optimiser.freeze, "--freeze");
    std::vector<std::string> untrained;
    std::ranges::copy_if(first.drawn, std::back_inserter(untrained),
                         [&](const std::string& name) { return frozen.match(name); });
    if (!untrained.empty())
        log::warning("--freeze keeps variables as they were drawn, at random: " + joined(untrained));
}

/// Throws Error(usage) for --init-strict if the weights do not fit the network exactly.
void refuse_differences(const CompletedWeights& first, const std::string& path) {
    if (first.drawn.empty() && first.left_out.empty() && first.extended.empty() && !first.reordered) return;
    std::string what;
    if (!first.drawn.empty()) what += "; they lack, or have for other classes, " + joined(first.drawn);
    if (!first.extended.empty()) what += "; they have other classes in " + joined(first.extended);
    if (first.reordered) what += "; they have the classes in another order";
    if (!first.left_out.empty()) what += "; the network does not have " + joined(first.left_out);
    throw Error(ErrorKind::usage, "--init-strict: the weights in " + path + " do not fit the network" + what +
                                      "; without --init-strict, training begins with what fits");
}

/// Draws all weights. The first process then loads the checkpoint of initial weights over them, if one is given, and
/// says in what it differs from the network; the others receive them. Error(usage) for --init-strict.
void load_first_weights(backend::Executable& executable, const graph::Graph& graph, const FirstWeightsRun& run) {
    initialise(executable, graph, run.seed);
    initialise_masters(executable, graph, run.seed);
    run.observers.on(metrics::WeightsInitialised{parameter_names(graph)});
    if (!run.settings.training.init_path || !is_first(run.host)) return;  // other ranks receive them from rank 0
    const std::string& path = *run.settings.training.init_path;
    const CompletedWeights first =
        completed(in_own_layout(first_checkpoint(*run.host.files, path, run.settings), graph, path), graph,
                  run.task.first_weights(), run.seed, path);
    if (run.settings.training.init_strict) refuse_differences(first, path);
    report_mismatches(run, first, path);
    const weights::Checkpoint& checkpoint = first.checkpoint;
    if (run.task.traits().takes_over_optimiser && holds_slots(graph, checkpoint)) {
        load_all(executable, graph, checkpoint, path);
        return;
    }
    load_model(executable, graph, checkpoint, path, run.settings.run);
    load_masters(executable, graph, checkpoint);
}

void load_resumed_weights(TrainingRun& run, backend::Executable& executable, const graph::Graph& graph,
                          const ResumePoint& resume) {
    run.observers.line(
        metrics::restoring_line(weights::checkpoint_prefix(run.folder.checkpoints, resume.found.iteration)));
    load_all(executable, graph, resume.checkpoint, resume.found.path);
}

metrics::Meters make_meters(const TrainingRun& run, const TrainingData& data,
                            const std::optional<ResumePoint>& resume) {
    const double samples_per_row =
        static_cast<double>(data.training->count()) / static_cast<double>(data.training->rows());
    metrics::Meters meters(run.task.columns().training, samples_per_row * static_cast<double>(data.plan.global_batch),
                           data.plan.averaging_window(),
                           run.settings().training.pipeline ? 1 : data.batch.accumulation);
    const std::string state = resume ? metadata(resume->checkpoint, kMetersKey) : "";
    if (!state.empty()) meters.restore(state);
    return meters;
}

/// Compiles the training graph and loads the run's initial weights.
std::unique_ptr<backend::Executable> make_executable(TrainingRun& run, const std::vector<data::Field>& fields,
                                                     const TrainingData& data,
                                                     const std::optional<ResumePoint>& resume) {
    run.observers.on(metrics::Status{metrics::kCompilationStatus, metrics::kCompiling});
    const graph::Graph& graph = *data.graph;
    backend::CompileRequest request = training_request(graph, run.settings(), fields, run.seed);
    request.plan.updates_per_call = std::max<std::int64_t>(1, data.plan.iterations_per_host_step);
    request.runtime.stop_requested = run.host.stop_requested;
    request.peers = peers(run.settings(), *run.host.communicator);
    auto executable = run.backend.compile(request);
    run.observers.on(metrics::Status{metrics::kCompilationStatus, "compiled"});
    run.observers.on(metrics::VariableList{variable_list(graph), nn::parameter_count(graph)});
    const std::string memory = stage_memory(executable->report(), data.placement);
    if (!memory.empty()) run.observers.detail(memory);
    if (run.host.communicator->size() > 1) run.observers.detail(exchange_line(executable->report(), request));
    if (resume) {
        load_resumed_weights(run, *executable, graph, *resume);
    } else {
        load_first_weights(*executable, graph, {run.task, run.settings(), run.seed, run.host, run.observers});
        share_variables(*run.host.communicator, *executable, "first weights");
    }
    return executable;
}

/// Metadata of all checkpoints and kept updates of this run.
std::map<std::string, std::string> metadata_of(const TrainingRun& run, const TrainingData& data) {
    return run_metadata(run.arguments, run.task.description().arithmetic, data.origin, run.task.class_names());
}

/// This process's part of the update after `iteration`, in which an earlier process was stopped.
KeptUpdate kept_update(TrainingRun& run, const TrainingData& data, std::int64_t iteration,
                       const backend::Executable& executable) {
    const std::string name = run.task.description().update;
    const auto tell = [&](const std::string& why) {
        run.observers.line("The stopped " + name + " is repeated from its first micro-batch: " + why);
    };
    KeptUpdate kept = load_kept_update(run.files(), run.folder.checkpoints, iteration, metadata_of(run, data),
                                       executable, *run.host.communicator, tell);
    const KeptShare share = kept_share(*run.host.communicator, kept);
    if (share.most > 0) {
        run.observers.line("The stopped " + name + " continues after " +
                           share_text(share, data.placement.micro_batches));
    }
    return kept;
}

/// The moving average of the weights; null if none is kept. `there`: the averages in the checkpoint, moved out of it.
std::unique_ptr<WeightAverage> make_average(TrainingRun& run, const TrainingData& data,
                                            const backend::Executable& executable,
                                            const std::optional<ResumePoint>& resume,
                                            std::map<std::string, HostTensor> there) {
    const double decay = run.settings().training.ema_decay;
    if (decay <= 0) return nullptr;
    auto average = std::make_unique<WeightAverage>(averaged_variables(*data.graph), decay);
    if (!there.empty()) {
        average->restore(std::move(there), resume->found.path);
        return average;
    }
    average->start(executable);
    if (resume) run.observers.line("The checkpoint has no moving average of the weights; one starts at its weights");
    return average;
}

/// The validation during training; null if it follows the training.
std::unique_ptr<Monitor> make_monitor(TrainingRun& run, const TrainingData& data,
                                      const std::optional<ResumePoint>& resume) {
    const ValidationSettings& settings = run.settings().validation;
    if (!data.validation || !settings.any() || data.plan.iterations == 0) return nullptr;
    auto evaluator =
        std::make_unique<Evaluator>(run.task, run.backend, *data.validation, run.settings(), run.seed, run.host);
    auto monitor = std::make_unique<Monitor>(run.task, std::move(evaluator), settings, data.plan, run.observers,
                                             run.files(), run.folder.logs);
    const std::string state = resume ? metadata(resume->checkpoint, kValidationsKey) : "";
    if (!state.empty()) monitor->restore(state);
    return monitor;
}

/// The report goes to the log, and its files into the run's folder.
void log_profile(metrics::Observers& observers, const RunFolder& folder, FileSystem& files,
                 const profile::Report& report) {
    if (report.json.empty()) return;  // not the first rank
    observers.line(report.table);
    if (folder.logs.empty()) return;
    profile::write_report(files, folder.logs, report);
    observers.line("Saved " + joined(profile::profile_files(folder.logs, report.json.size())));
}

/// Null if the run is not profiled.
std::unique_ptr<ProfiledWindow> profiled_window(TrainingRun& run, const TrainingData& data,
                                                backend::Executable& executable, const data::Stream& stream,
                                                std::int64_t iteration) {
    if (!run.host.timeline) return nullptr;
    const std::int64_t updates = data.plan.iterations - iteration;
    const Window window = run::profiled_window(updates, updates_before_profile(stream, data.placement),
                                               run.settings().logging.profile_steps);
    if (window.steps == 0) {
        run.observers.line("--profile: the training has too few " + run.task.description().update + "s to measure any");
        return nullptr;
    }
    const profile::Subject subject{run.backend,       executable, *data.graph, stream, *run.host.communicator,
                                   *run.host.timeline};
    profile::Profile facts =
        profile_facts(run.task, run.backend, run.settings(), run.host, true, data.placement, stream.fields());
    return std::make_unique<ProfiledWindow>(
        std::make_unique<profile::Session>(subject, std::move(facts)), window,
        data.placement.samples * data.placement.micro_batches,
        [&run](const profile::Report& report) { log_profile(run.observers, run.folder, run.files(), report); });
}

std::int64_t iterations_per_sync(const run::TrainingSettings& settings, const schedule::RunPlan& plan) {
    const auto epoch = static_cast<double>(plan.iterations_per_epoch);
    double iterations = settings.epochs_per_sync * epoch;
    if (settings.syncs_per_epoch > 0) iterations = epoch / static_cast<double>(settings.syncs_per_epoch);
    return iterations > 0 ? std::max<std::int64_t>(1, std::llround(iterations)) : 0;
}

}  // namespace

TrainingParts training_parts(TrainingRun& run, const TrainingData& data, std::optional<ResumePoint> resume) {
    const std::vector<data::Field> fields = data.training->fields(data.placement.samples);
    std::map<std::string, HostTensor> averages;
    if (resume) averages = weights::take_averages(resume->checkpoint);
    auto executable = make_executable(run, fields, data, resume);
    auto average = make_average(run, data, *executable, resume, std::move(averages));
    auto monitor = make_monitor(run, data, resume);
    std::optional<DescentCheck> descent;
    if (!resume) descent = descent_check(run.task, run.settings(), data.plan);
    metrics::Meters meters = make_meters(run, data, resume);
    std::int64_t iteration = 0;
    std::optional<std::int64_t> last_saved;
    KeptUpdate kept;
    if (resume) {
        if (is_first(run.host)) warn_of_other_numbers(*resume, run.arguments);
        compare_arithmetic(*resume, run.task.description().arithmetic);
        iteration = resume->checkpoint.iteration;
        last_saved = iteration;
        kept = kept_update(run, data, iteration, *executable);
    }
    const std::int64_t round = data.placement.samples * run.host.communicator->size();
    const std::int64_t first_sample = iteration * data.plan.global_batch + kept.part.micro_batches * round;
    data::LoaderSettings loader = for_rank(
        training_loader_settings(run.settings(), data.placement, fields, first_sample), *run.host.communicator);
    loader.stop_requested = run.host.stop_requested;
    loader.timeline = run.host.timeline;
    auto stream = data.training->stream(loader);
    if (monitor) {  // asked for now, so that a run does not end at its first validation
        require_memory(kGrowthBytes + data::loader_bytes(run.task.batch_fields(data::Split::validation, 1),
                                                         validation_loader_settings(run.settings())),
                       "the validation during training");
    }
    auto profiled = profiled_window(run, data, *executable, *stream, iteration);
    return {data.plan,
            run.task.rate(data.plan).at,
            [how = run.settings().optimiser](std::int64_t update) { return optim::loss_scaling_at(how, update); },
            std::move(executable),
            std::move(stream),
            std::move(meters),
            iteration,
            last_saved,
            std::move(kept),
            averaged_variables(*data.graph),
            std::move(average),
            std::move(monitor),
            descent,
            std::move(profiled)};
}

TrainerSettings trainer_settings(const TrainingRun& run, const TrainingData& data) {
    const options::Settings& settings = run.settings();
    const bool saves = is_first(run.host) || (settings.checkpoint.all_instances && run.folder.lock != nullptr);
    return {settings.checkpoint.keep,
            settings.checkpoint.in_f32,
            settings.device.analyse_nans,
            settings.run.stop_on_nan,
            saves,
            wants_checkpoints(settings.checkpoint),
            iterations_per_sync(settings.training, data.plan),
            run.task.traits().checkpoint_lag,
            metadata_of(run, data),
            how_to_continue(run.folder, run.arguments),
            data.placement.micro_batches,
            settings.head.solves(),
            run.host.least_kept_seconds};
}

std::string stage_memory(const backend::CompileReport& report, const schedule::Placement& plan) {
    if (plan.stages == 1 || report.stage_held_bytes.empty()) return "";  // the reference backend has no memory plan
    const bool one_by_one = plan.micro_batches == plan.pipelines;
    std::string text = "Memory of the stages:\n";
    for (std::int32_t stage = 0; stage < plan.stages; ++stage) {
        const auto at = static_cast<std::size_t>(stage);
        const std::int64_t depth = one_by_one ? 1 : schedule::stash_depth(plan.pipeline(), stage);
        const std::uint64_t one = static_cast<std::uint64_t>(plan.pipelines) * report.stash_bytes[at];
        text += "  stage " + std::to_string(stage) + ": weights and states " +
                size_text(report.stage_variable_bytes[at]) + ", kept for the backward pass " + size_text(one) +
                " a micro-batch, of " + std::to_string(depth) + " at a time, with what is sent on " +
                size_text(report.stage_held_bytes[at]);
        if (plan.pipelines > 1) text += ", in " + std::to_string(plan.pipelines) + " copies";
        text += '\n';
    }
    return text + "  activations and gradients of all stages: " + size_text(report.arena_bytes);
}

}  // namespace cnntrain::run
