#include "train/trainer.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/data/image_fields.h"
#include "cnntrain/metrics/rows.h"
#include "cnntrain/nn/model.h"
#include "cnntrain/train/assemble.h"
#include "train/describe.h"
#include "train/evaluator.h"
#include "train/external_logs.h"
#include "train/input_benchmark.h"
#include "train/masters.h"
#include "train/weights.h"

namespace cnntrain::train {

namespace {

// Keys of a checkpoint's metadata.
constexpr const char* kSeed = "seed";
constexpr const char* kSamples = "samples";
constexpr const char* kFingerprint = "arguments_fingerprint";
constexpr const char* kMeters = "meters";

std::string metadata(const checkpoint::Checkpoint& checkpoint, const char* key) {
    const auto found = checkpoint.metadata.find(key);
    return found == checkpoint.metadata.end() ? "" : found->second;
}

}  // namespace

ResumePoint find_resume_point(const FileSystem& files, const std::string& folder) {
    if (!files.is_directory(folder)) {
        throw Error(ErrorKind::not_found, "--restore-path " + folder + ": no such folder; give the folder of the run");
    }
    const auto latest = checkpoint::latest(files, folder);
    if (!latest) {
        throw Error(ErrorKind::not_found,
                    "--restore-path " + folder + ": no ckpt-<iteration>.safetensors in it to resume from");
    }
    return {*latest, checkpoint::load(files, latest->path)};
}

std::optional<std::int64_t> recorded_seed(const checkpoint::Checkpoint& checkpoint) {
    const std::string text = metadata(checkpoint, kSeed);
    std::int64_t seed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return seed;
}

Trainer::Trainer(const config::ParseResult& arguments, const Host& host, RunFolder folder,
                 std::optional<ResumePoint> resume)
    : arguments_(arguments),
      settings_(arguments_.settings),
      host_(host),
      files_(*host.files),
      folder_(std::move(folder)),
      resume_(std::move(resume)),
      log_(files_, *host.console, {folder_.logs, host.terminal_width > 0, host.terminal_width}),
      mlperf_(arguments_, folder_.logs, files_, log_),
      backend_(make_backend(settings_.run.backend)) {}

int Trainer::run() {
    open_data();
    introduce();
    if (settings_.device.dataset_benchmark) {
        stream_ = train_data_->stream(loader_settings(settings_, 0));
        const std::int64_t batches = plan_.iterations_per_host_step * settings_.training.gradient_accumulation_count;
        benchmark_input(*stream_, batches, log_, host_.stop_requested);
        return 0;
    }
    compile();
    load_weights();
    log_.line(metrics::compilation_line(since_start_.seconds()));
    if (settings_.device.compile_only) {
        log_.line("Compilation successful; stopping because of --compile-only.");
        return 0;
    }
    mlperf_.training_begins(plan_, iteration_);
    const int exit_code = train_and_validate();
    mlperf_.run_ends();
    return exit_code;
}

int Trainer::train_and_validate() {
    if (loop() == LoopEnd::stopped) return kInterruptedExitCode;
    mlperf_.training_ends();
    average();
    if (!plan_.validate) return 0;
    const int exit_code = validate();
    if (exit_code == 0) log_.line(metrics::time_to_train_line(loop_watch_.seconds()));
    return exit_code;
}

void Trainer::open_data() {
    const data::InputSettings data = data_settings(settings_, backend_->half_type(), seed());
    train_data_.emplace(data, data::Split::train);
    plan_ = run_plan(settings_, train_data_->samples());
    const double base = optim::base_learning_rate(settings_.learning_rate, plan_.global_batch);
    learning_rate_.emplace(settings_.learning_rate, base, plan_.iterations, plan_.epochs);
    // Opened now, so that missing files are reported before the training and not after it.
    if (plan_.validate && !settings_.device.dataset_benchmark) validation_data_.emplace(data, data::Split::validation);
    const std::int64_t published = data::dataset_info(settings_.data.dataset).validation_images;
    mlperf_.prepared(plan_, train_data_->samples(), validation_data_ ? validation_data_->samples() : published);
}

void Trainer::introduce() {
    const RunFacts facts = gather_facts(folder_, resume_.has_value());
    auto derived = derived_arguments(arguments_, facts);
    if (validation_data_) {
        derived["validation_iterations"] = std::int64_t{1};
        derived["validation_device_iterations"] =
            schedule::make_validation_plan(validation_data_->samples(), settings_.training.micro_batch_size).batches;
    }
    const std::string summary = summary_block(arguments_, facts, &plan_);
    derived["summary_str"] = summary;
    const std::string json = config::arguments_json(arguments_, derived);
    if (!folder_.logs.empty()) files_.make_directories(folder_.logs);
    log_.line("Command line: " + host_.command_line);
    open_external_logs(log_, arguments_, facts, json, files_,
                       resume_ ? std::optional(resume_->checkpoint.iteration) : std::nullopt);
    if (!resume_) write_arguments(folder_, json, files_);
    log_.line(summary);
    log_.line(option_dictionary(json));
}

void Trainer::compile() {
    const std::vector<data::Field> fields = train_data_->fields(settings_.training.micro_batch_size);
    log_.status("compilation_status", "in progress");
    graph_.emplace(training_graph(settings_, *backend_, data::field_desc(fields, data::kImages)));
    executable_ = backend_->compile(
        compile_request(*graph_, settings_, fields, settings_.training.gradient_accumulation_count, seed()));
    log_.status("compilation_status", "compiled");
    log_.line(variable_list(*graph_));
    const TrainingSettings& training = settings_.training;
    meters_.emplace(plan_.global_batch, plan_.averaging_window(),
                    training.pipeline ? 1 : training.gradient_accumulation_count);
}

void Trainer::load_weights() {
    if (resume_) {
        resume();
    } else {
        initialise(*executable_, *graph_, seed());
        initialise_masters(*executable_, *graph_, seed());
        mlperf_.weights_initialised(*graph_);
        if (settings_.training.init_path) load_initial_weights(*settings_.training.init_path);
    }
    stream_ = train_data_->stream(loader_settings(settings_, iteration_ * plan_.global_batch));
}

void Trainer::load_initial_weights(const std::string& init_path) {
    const checkpoint::Found found = checkpoint::find_checkpoint(files_, "--init-path", init_path);
    const checkpoint::Checkpoint checkpoint = checkpoint::load(files_, found.path);
    load_model(*executable_, *graph_, checkpoint, found.path);
    load_masters(*executable_, *graph_, checkpoint);
}

void Trainer::resume() {
    const checkpoint::Checkpoint& checkpoint = resume_->checkpoint;
    log_.line(metrics::restoring_line(checkpoint::checkpoint_prefix(folder_.checkpoints, checkpoint.iteration)));
    load_all(*executable_, *graph_, checkpoint, resume_->found.path);
    const std::string meters = metadata(checkpoint, kMeters);
    if (!meters.empty()) meters_->restore(meters);
    const std::string fingerprint = metadata(checkpoint, kFingerprint);
    if (!fingerprint.empty() && fingerprint != config::numerics_fingerprint(arguments_)) {
        log::warning(resume_->found.path +
                     " was written with other options: the run does not continue exactly as it "
                     "would have; `restore` takes the options of the run itself");
    }
    drop_rows_after(folder_, checkpoint.iteration, files_);
    first_iteration_ = checkpoint.iteration;
    iteration_ = checkpoint.iteration;
    last_saved_ = checkpoint.iteration;
    resume_->checkpoint.tensors.clear();
}

Trainer::LoopEnd Trainer::loop() {
    const bool wants_checkpoints = settings_.checkpoint.ckpts_per_epoch > 0 || settings_.checkpoint.epochs_per_ckpt > 0;
    if (!resume_ && wants_checkpoints) save();
    loop_watch_ = Stopwatch();
    while (iteration_ < plan_.iterations) {
        const schedule::HostStep step = plan_.host_step(iteration_);
        const double learning_rate = learning_rate_->at(step.lr_iteration);
        run_host_step(step, learning_rate);
        if (iteration_ == step.end()) {
            meters_->finish_host_step();
            const metrics::HostStepFacts facts{iteration_, step.epoch_after, learning_rate, loop_watch_.seconds()};
            if (step.log) log_.training(meters_->log_row(facts));
            if (step.checkpoint) save();
            mlperf_.trained(plan_, iteration_);
        }
        if (stop_requested()) {
            if (last_saved_ != iteration_) save();
            log_.line("Stopped by a signal after iteration " + std::to_string(iteration_) + " of " +
                      std::to_string(plan_.iterations) + "; " + how_to_continue());
            return LoopEnd::stopped;
        }
    }
    log_.line(metrics::loop_completed_line(loop_watch_.seconds()));
    if (const std::int64_t damaged = stream_->stats().damaged; damaged > 0) {
        log_.line(std::to_string(damaged) + " training images could not be decoded; each time the next one was taken");
    }
    return LoopEnd::finished;
}

void Trainer::run_host_step(const schedule::HostStep& step, double learning_rate) {
    while (iteration_ < step.end()) {
        const Stopwatch watch;
        const backend::StepResult result = executable_->train_step(*stream_, {learning_rate, iteration_});
        ++iteration_;
        meters_->add({result.sums.at(std::string(nn::kLoss)), result.sums.at(std::string(nn::kCorrect)), result.samples,
                      watch.seconds()});
        check_loss(result, step, learning_rate);
        log_.progress({iteration_, first_iteration_, plan_.iterations, meters_->recent_images_per_second(),
                       loop_watch_.seconds()});
        if (stop_requested()) return;
    }
}

void Trainer::check_loss(const backend::StepResult& result, const schedule::HostStep& step, double learning_rate) {
    const double loss = result.sums.at(std::string(nn::kLoss));
    if (std::isfinite(loss)) return;
    const std::optional<std::string> where = executable_->inspection().first_non_finite();
    std::string message = "training diverged: the loss of iteration " + std::to_string(iteration_) +
                          " (host step of iterations " + std::to_string(step.first_iteration + 1) + " to " +
                          std::to_string(step.end()) + ") is " + config::to_string(config::Value{loss}) +
                          ", learning rate " + config::to_string(config::Value{learning_rate});
    if (where) message += "; first tensor that is not finite: " + *where;
    if (!settings_.run.stop_on_nan) {
        if (!warned_of_nan_) log::warning(message + "; continuing because of --no-stop-on-nan");
        warned_of_nan_ = true;
        return;
    }
    message += last_saved_
                   ? "; last good checkpoint: " + checkpoint::checkpoint_prefix(folder_.checkpoints, *last_saved_)
                   : "; no checkpoint has been written";
    mlperf_.run_ends();
    throw Error(ErrorKind::diverged, message + "; lower the learning rate, lengthen the warm-up or use more precision");
}

void Trainer::save() {
    const Stopwatch watch;
    checkpoint::Checkpoint checkpoint;
    checkpoint.iteration = iteration_;
    checkpoint.epoch = plan_.epoch_at(iteration_);
    checkpoint.metadata[kSeed] = std::to_string(*settings_.device.seed);
    checkpoint.metadata[kSamples] = std::to_string(iteration_ * plan_.global_batch);
    checkpoint.metadata[kFingerprint] = config::numerics_fingerprint(arguments_);
    checkpoint.metadata[kMeters] = meters_->state();
    checkpoint.tensors = stored_variables(*executable_);
    if (settings_.device.analyse_nans) log_.nans(count_nans(iteration_, checkpoint.tensors));
    files_.make_directories(folder_.checkpoints);
    checkpoint::save(files_, checkpoint::checkpoint_path(folder_.checkpoints, iteration_), checkpoint);
    last_saved_ = iteration_;
    checkpoint::retain(files_, folder_.checkpoints, settings_.checkpoint.keep);

    const std::string prefix = checkpoint::checkpoint_prefix(folder_.checkpoints, iteration_);
    if (iteration_ == 0) {
        log_.console_line(metrics::initial_checkpoint_line(prefix));
    } else {
        log_.line(metrics::checkpoint_line(prefix, watch.seconds()));
    }
}

std::string Trainer::how_to_continue() const {
    const std::string how = "continue with ";
    if (!folder_.logs.empty()) return how + "cnntrain restore --restore-path " + folder_.checkpoints;
    return how + "--restore-path " + folder_.checkpoints;  // no arguments.json: the line's own options are needed
}

void Trainer::average() {
    averages_ = average_checkpoints(files_, folder_.checkpoints, plan_, settings_.checkpoint);
    for (const AveragedCheckpoint& average : averages_) {
        log_.line("Saved weight average to " + average.path);
    }
}

std::optional<metrics::ValidationRow> Trainer::evaluate(const metrics::ValidationRow& point, const std::string& path,
                                                        Evaluator& evaluator) {
    evaluator.load(checkpoint::load(files_, path), path);
    mlperf_.evaluation_begins(point.epoch);
    auto result = evaluator.run(point, log_, host_.stop_requested);
    if (result) mlperf_.evaluation_ends(point.epoch, result->val_acc);
    return result;
}

int Trainer::validate() {
    struct Point {
        metrics::ValidationRow row;
        std::string path;
    };
    std::vector<Point> points;
    const auto add = [&](const std::string& name, const std::string& path, std::int64_t iteration) {
        metrics::ValidationRow row;
        row.name = name;
        row.iteration = iteration;
        row.epoch = plan_.epoch_at(iteration);
        points.push_back({row, path});
    };
    // Those that the plan asks for and that have been kept: checkpoints of a stop on the way are not among them.
    for (const schedule::HostStep& step : plan_.checkpoint_steps()) {
        const std::string path = checkpoint::checkpoint_path(folder_.checkpoints, step.end());
        if (step.validate && files_.exists(path))
            add(checkpoint::checkpoint_prefix("", step.end()).substr(1), path, step.end());
    }
    for (const AveragedCheckpoint& average : averages_)
        add(average.name, average.path, plan_.iterations);
    if (points.empty()) return 0;

    stream_.reset();
    executable_.reset();  // its memory goes to the evaluation
    Evaluator evaluator(settings_, *backend_, *validation_data_, seed());
    mlperf_.validation_begins();
    for (const Point& point : points) {
        if (log_.has_validation(point.row.name)) {
            log_.line(metrics::skipped_validation_line(point.row.name));
            continue;
        }
        const auto result = evaluate(point.row, point.path, evaluator);
        if (!result) {
            log_.line("Validation stopped by a signal; " + how_to_continue());
            return kInterruptedExitCode;
        }
        log_.validation(*result);
    }
    mlperf_.validation_ends();
    return 0;
}

}  // namespace cnntrain::train
