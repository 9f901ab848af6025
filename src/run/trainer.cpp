#include "run/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/averaging.h"
#include "run/evaluator.h"
#include "run/ranks.h"
#include "run/resume.h"

namespace cnntrain::run {

Trainer::Trainer(const Task& task, TrainingParts parts, TrainerSettings settings, RunFolder folder, FileSystem& files,
                 metrics::Observers& observers, std::function<bool()> stop_requested, comm::Communicator& communicator)
    : task_(task),
      parts_(std::move(parts)),
      settings_(std::move(settings)),
      folder_(std::move(folder)),
      files_(files),
      observers_(observers),
      stop_requested_(std::move(stop_requested)),
      communicator_(communicator),
      source_(*parts_.stream, observers,
              {settings_.micro_batches, communicator.size(), task.description().update, task.columns().unit.many}),
      iteration_(parts_.iteration) {}

Trainer::End Trainer::run() {
    const schedule::RunPlan& plan = parts_.plan;
    loop_watch_ = Stopwatch();
    catch_up();
    processors_ = processor_times();
    page_loads_ = page_loads();
    bool stopped = stop_agreed_;
    while (!stopped && iteration_ < plan.iterations && !ends_early()) {
        const schedule::HostStep step = plan.host_step(iteration_);
        const double learning_rate = parts_.learning_rate(step.lr_iteration);
        run_host_step(step, learning_rate);
        if (iteration_ == step.end()) finish(step, learning_rate);
        stopped = stop_requested();
    }
    if (stopped) {
        stop();
        return End::stopped;
    }
    save_results();
    if (settings_.saves) remove_kept_updates(files_, folder_.checkpoints);
    const double seconds = loop_watch_.seconds();
    observers_.on(metrics::Duration{metrics::kTrainingLoop, seconds, metrics::loop_completed_line(seconds)});
    report_moment(task_, LastUpdate{seconds}, observers_);
    log_exchange();
    log_rank_times();
    if (const std::int64_t damaged = parts_.stream->stats().damaged; damaged > 0) {
        const metrics::Unit& unit = task_.columns().unit;
        observers_.line(std::to_string(damaged) + " training " + (damaged == 1 ? unit.one : unit.many) +
                        " could not be decoded; each time the next one was taken");
    }
    return End::finished;
}

void Trainer::stop() {
    if (parts_.last_saved != iteration_) save();
    const std::string kept = stopped_inside_ ? keep_update() : "";
    observers_.on(metrics::Result{"Stopped by a signal after iteration " + std::to_string(iteration_) + " of " +
                                  std::to_string(parts_.plan.iterations) + kept + "; " + settings_.how_to_continue});
}

std::string Trainer::keep_update() {
    const KeptShare share = kept_share(communicator_, parts_.kept);
    if (share.most == 0) return "";
    const std::string text = ", " + share_text(share, settings_.micro_batches) + " of the next one are ";
    const bool is_worth_it = parts_.kept.seconds >= settings_.least_kept_seconds;
    if (broadcast_text(communicator_, is_worth_it ? "1" : "", "whether to keep them").empty()) return text + "repeated";
    if (communicator_.rank() == 0) files_.make_directories(folder_.checkpoints);
    const std::string failure = save_kept_update(files_, folder_.checkpoints, iteration_, parts_.kept,
                                                 settings_.metadata, *parts_.executable, communicator_);
    return failure.empty() ? text + "kept" : text + "repeated, because they could not be kept: " + failure;
}

std::int64_t Trainer::displayed_iteration(std::int64_t iteration) const {
    const metrics::Columns& columns = task_.columns();
    return columns.position ? columns.position({.iteration = iteration}).step : iteration;
}

void Trainer::finish(const schedule::HostStep& step, double learning_rate) {
    if (step.ends_host_step) {
        parts_.meters.finish_host_step();
        const metrics::HostStepFacts facts{iteration_, step.epoch_after, learning_rate, loop_watch_.seconds()};
        if (task_.columns().curves.every_host_step) {
            observers_.on(metrics::Row{metrics::curve_point(parts_.meters.host_step_row(facts), task_.columns()),
                                       metrics::Row::Use::drawn});
        }
        if (step.log) {
            observers_.on(metrics::Row{reported(task_, parts_.meters.log_row(facts))});
            log_times();
        }
    }
    validate();
    if (step.checkpoint) save(checkpoint_number(iteration_));
    if (step.histograms) report_distributions();
    observers_.on(metrics::HostStepEnded{iteration_});
}

void Trainer::run_host_step(const schedule::HostStep& step, double learning_rate) {
    while (iteration_ < step.end()) {
        Stopwatch watch;
        const auto done = [&](const backend::StepResult& result) {
            stop_agreed_ = result.stopped || result.stop_requested;
            stopped_inside_ = result.stopped;
            parts_.kept.seconds += watch.seconds();
            if (stopped_inside_) return;
            finish_update(result, std::exchange(parts_.kept.seconds, 0.0), step, learning_rate);
            watch = Stopwatch();
            source_.begin(displayed_iteration(iteration_ + 1), 0);
        };
        source_.begin(displayed_iteration(iteration_ + 1), parts_.kept.part.micro_batches);
        const std::int64_t before = iteration_;
        parts_.executable->train(source_, next_updates(step, learning_rate), done, &parts_.kept.part);
        if (stopped_inside_) return;  // this update did not happen
        if (settings_.iterations_per_sync > 0 && iteration_ % settings_.iterations_per_sync == 0)
            share_variables(communicator_, *parts_.executable, "weights of a sync");
        if (parts_.average && iteration_ > before) parts_.average->update(*parts_.executable);
        if (stop_requested()) return;
        if (iteration_ < step.end()) validate();
        if (stop_agreed_ || ends_early()) return;
    }
}

void Trainer::validate() {
    if (parts_.monitor && parts_.monitor->is_due(iteration_)) compare();
}

void Trainer::compare() {
    Monitor* const monitor = parts_.monitor.get();
    Monitor::Outcome outcome{};
    try {
        outcome = monitor->validate(iteration_, *parts_.executable, parts_.average.get());
    } catch (const Error&) {
        if (communicator_.size() == 1 && parts_.last_saved != iteration_) save();  // `restore` validates again
        throw;
    }
    if (outcome == Monitor::Outcome::stopped) stop_agreed_ = true;
    if (outcome == Monitor::Outcome::better && monitor->keeps_best()) save_best();
}

/// Validates the solved last layer of a run that begins with one, or validates what a resumed run's checkpoint lacks.
/// Rewrites the checkpoint so that it includes this validation.
void Trainer::catch_up() {
    if (!parts_.monitor) return;
    const bool is_new = iteration_ == 0 && !parts_.monitor->result().best();
    if (iteration_ == 0 ? !is_new || !settings_.validates_start : !parts_.monitor->is_due(iteration_)) return;
    compare();
    if (!stop_agreed_ && parts_.last_saved) save();
}

std::string Trainer::average_cost() const {
    const std::int64_t updates = iteration_ - parts_.iteration;
    if (updates == 0) return "";
    return formatted("; it took %.1f ms of each update",
                     1e3 * parts_.average->seconds() / static_cast<double>(updates));
}

void Trainer::save_results() {
    if (iteration_ < parts_.plan.iterations) {
        observers_.line("Training ends early, after " + task_.description().update + " " + std::to_string(iteration_) +
                        " of " + std::to_string(parts_.plan.iterations) + ": " + parts_.monitor->end_text() +
                        "; to train on, restore with a larger --early-stop, or with 0");
        if (settings_.saves_at_end && parts_.last_saved != iteration_) save();
    }
    if (parts_.monitor && parts_.monitor->keeps_best() && parts_.monitor->result().best()) {
        observers_.on(metrics::Result{"Best weights: " + parts_.monitor->best_text() + ", in " +
                                      weights::best_prefix(folder_.checkpoints)});
    }
    if (!parts_.average || !settings_.saves) return;
    const std::string path = weights::average_path(folder_.checkpoints, std::string(kAverageName));
    files_.make_directories(path.substr(0, path.rfind('/')));
    weights::save(files_, path, described(), weights::source_of(parts_.average->values()));
    observers_.line("Saved the moving average of the weights to " + path + average_cost());
}

std::span<const backend::StepScalars> Trainer::next_updates(const schedule::HostStep& step, double learning_rate) {
    std::int64_t end = step.end();
    if (parts_.monitor) end = std::min(end, parts_.monitor->next(iteration_));
    if (parts_.average) end = iteration_ + 1;
    if (const std::int64_t period = settings_.iterations_per_sync; period > 0)
        end = std::min(end, (iteration_ / period + 1) * period);
    const double loss_scaling = parts_.loss_scaling(step.lr_iteration);
    updates_.clear();
    for (std::int64_t iteration = iteration_; iteration < end; ++iteration)
        updates_.push_back({learning_rate, iteration, loss_scaling});
    return updates_;
}

void Trainer::finish_update(const backend::StepResult& result, double seconds, const schedule::HostStep& step,
                            double learning_rate) {
    ++iteration_;
    ++times_.updates;
    times_.seconds += seconds;
    times_.input_wait += result.input_wait_seconds;
    times_.exchange += result.exchange_seconds;
    times_.exposed_exchange += result.exposed_exchange_seconds;
    parts_.meters.add(result.sums, result.samples, seconds);
    const double loss = metrics::sum_of(result.sums, task_.traits().loss);
    check_loss(loss, step, learning_rate);
    if (parts_.descent && result.samples > 0) {
        const std::string warning = parts_.descent->add(loss / static_cast<double>(result.samples), learning_rate,
                                                        iteration_ == parts_.plan.iterations);
        if (!warning.empty()) observers_.line(warning);
    }
    observers_.on(metrics::Progress{iteration_, parts_.iteration, parts_.plan.iterations,
                                    parts_.meters.recent_samples_per_second(), loop_watch_.seconds(), "iterations",
                                    task_.columns().unit.many, false, parts_.meters.recent_readings()});
    if (parts_.profiled) parts_.profiled->update_done();
}

void Trainer::check_loss(double loss, const schedule::HostStep& step, double learning_rate) {
    if (std::isfinite(loss)) return;
    std::string message = divergence(loss, step, learning_rate);
    if (!settings_.stop_on_nan) {
        if (!warned_of_nan_) log::warning(message + "; continuing because of --no-stop-on-nan");
        warned_of_nan_ = true;
        return;
    }
    message += parts_.last_saved
                   ? "; last checkpoint: " +
                         weights::checkpoint_prefix(folder_.checkpoints, checkpoint_number(*parts_.last_saved))
                   : "; no checkpoint has been written";
    message += "; lower the learning rate, lengthen the warm-up or use more precision";
    observers_.on(metrics::Line{"error: " + message, metrics::Line::To::file});
    observers_.on(metrics::RunEnded{});
    throw Error(ErrorKind::diverged, message);
}

std::string Trainer::divergence(double loss, const schedule::HostStep& step, double learning_rate) const {
    std::string message = "training diverged: the loss of iteration " + std::to_string(iteration_) +
                          " (host step of iterations " + std::to_string(step.first_iteration + 1) + " to " +
                          std::to_string(step.end()) + ") is " + options::to_string(options::Value{loss}) +
                          ", learning rate " + options::to_string(options::Value{learning_rate});
    const std::optional<std::string> where = parts_.executable->first_non_finite();
    if (where) message += "; first tensor that is not finite: " + *where;
    return message;
}

void Trainer::log_exchange() {
    const std::int64_t updates = iteration_ - parts_.iteration;
    if (communicator_.size() == 1 || updates == 0) return;
    metrics::UpdateTimes all = all_times_;
    all += times_;
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << "Gradients of " << communicator_.size()
         << " processes: " << 1e3 * all.exchange / static_cast<double>(updates) << " ms in each update, of which "
         << 1e3 * all.exposed_exchange / static_cast<double>(updates) << " ms after the backward pass";
    observers_.line(text.str());
}

void Trainer::read_processors() {
    const ProcessorTimes now = processor_times();
    const double own = std::max(0.0, now.own_seconds - processors_.own_seconds);  // ended threads took theirs along
    times_.processor += own;
    times_.queued += std::max(0.0, now.queued_seconds - processors_.queued_seconds);
    times_.others += std::max(0.0, now.busy_seconds - processors_.busy_seconds - own);
    processors_ = now;
    const std::int64_t loads = page_loads();
    times_.page_loads += loads - page_loads_;
    page_loads_ = loads;
}

void Trainer::log_times() {
    read_processors();
    observers_.on(metrics::Row{metrics::record(times_, iteration_), metrics::Row::Use::filed});
    all_times_ += times_;
    times_ = {};
}

void Trainer::log_rank_times() {
    if (communicator_.size() == 1) return;
    read_processors();
    metrics::UpdateTimes all = all_times_;
    all += times_;
    std::int64_t rank = 0;
    for (const metrics::UpdateTimes& times : communicator_.all_gather_numbers(all, "times of the ranks")) {
        observers_.on(
            metrics::Row{metrics::record(metrics::RankTimes{rank++, iteration_, times}), metrics::Row::Use::filed});
    }
}

/// Several processes hold all variables in full at once, because parts of them must be gathered.
weights::TensorSource Trainer::variables() const {
    if (communicator_.size() == 1) return variable_source(*parts_.executable);
    const auto held = std::make_shared<const std::map<std::string, HostTensor>>(stored_variables(*parts_.executable));
    comm::check_same(communicator_, checksum(*held), "weights at iteration " + std::to_string(iteration_));
    weights::TensorSource source = weights::source_of(*held);
    source.tensor = [held](const std::string& name) { return held->at(name); };
    return source;
}

std::int64_t Trainer::checkpoint_number(std::int64_t iteration) const {
    return std::max<std::int64_t>(0, iteration - settings_.checkpoint_lag);
}

weights::Checkpoint Trainer::described() const {
    weights::Checkpoint checkpoint;
    checkpoint.iteration = iteration_;
    checkpoint.epoch = parts_.plan.epoch_at(iteration_);
    checkpoint.metadata = settings_.metadata;
    checkpoint.metadata[kSamplesKey] = std::to_string(iteration_ * parts_.plan.global_batch);
    return checkpoint;
}

/// The weights that were compared: the average if there is one. All processes store variables together.
void Trainer::save_best() {
    std::map<std::string, HostTensor> weights;
    if (!parts_.average) weights = stored_model(*parts_.executable, parts_.model);
    if (!settings_.saves) return;
    const weights::TensorSource tensors = weights::source_of(parts_.average ? parts_.average->values() : weights);
    weights::Checkpoint checkpoint = described();
    checkpoint.metadata[kBestKey] = parts_.monitor->best_text();
    for (const auto& [key, value] : parts_.monitor->metadata())
        checkpoint.metadata[key] = value;
    files_.make_directories(folder_.checkpoints);
    weights::save(files_, weights::best_path(folder_.checkpoints), checkpoint,
                  settings_.in_f32 ? in_f32(tensors) : tensors);
    observers_.detail("Saved the best weights so far to " + weights::best_prefix(folder_.checkpoints) + ": " +
                      parts_.monitor->best_text());
}

void Trainer::save() {
    save(std::max<std::int64_t>(checkpoint_number(iteration_), iteration_ > 0 ? 1 : 0));
}

void Trainer::save(std::int64_t number) {
    const Stopwatch watch;
    weights::TensorSource tensors = variables();
    if (parts_.average) tensors = with_averages(std::move(tensors), parts_.average->values());
    if (!settings_.saves) {
        parts_.last_saved = iteration_;
        return;
    }
    weights::Checkpoint checkpoint = described();
    checkpoint.metadata[kMetersKey] = parts_.meters.state();
    if (parts_.monitor) checkpoint.metadata[kValidationsKey] = parts_.monitor->result().state();
    if (settings_.count_nans) observers_.on(metrics::Row{metrics::record(count_nans(iteration_, tensors))});
    files_.make_directories(folder_.checkpoints);
    weights::save(files_, weights::checkpoint_path(folder_.checkpoints, number), checkpoint,
                  settings_.in_f32 ? weights::in_f32(tensors) : tensors);
    parts_.last_saved = iteration_;
    remove_kept_updates(files_, folder_.checkpoints);
    weights::retain(files_, folder_.checkpoints, settings_.keep_checkpoints);
    observers_.on(
        metrics::SavedCheckpoint{iteration_, weights::checkpoint_prefix(folder_.checkpoints, number), watch.seconds()});
}

void Trainer::report_distributions() {
    const weights::TensorSource tensors = variables();
    if (!settings_.saves) return;
    const std::int64_t step = displayed_iteration(iteration_);
    for (const auto& [name, desc] : tensors.descs) {
        if (auto histogram = metrics::histogram_of(tensors.tensor(name)))
            observers_.on(metrics::Distribution{step, name, std::move(*histogram)});
    }
}

UpdateProgress::UpdateProgress(data::BatchSource& source, metrics::Observer& observer, Facts facts,
                               std::function<double()> seconds)
    : source_(source), observer_(observer), facts_(std::move(facts)), seconds_(std::move(seconds)) {
    if (seconds_) return;
    seconds_ = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
}

void UpdateProgress::begin(std::int64_t iteration, std::int64_t done) {
    unit_ = "micro-batches of " + facts_.update + " " + std::to_string(iteration);
    start_ = seconds_();
    first_ = taken_ = done;
    samples_ = 0;
}

data::Batch UpdateProgress::next() {
    report();
    data::Batch batch = source_.next();
    ++taken_;
    samples_ += batch.valid_count;
    return batch;
}

/// Reports before a micro-batch is taken, so that the micro-batches before it are done.
void UpdateProgress::report() const {
    const double elapsed = seconds_() - start_;
    if (elapsed < kLongUpdateSeconds) return;
    observer_.on(metrics::Progress{.done = taken_,
                                   .first = first_,
                                   .total = facts_.micro_batches,
                                   .rate = static_cast<double>(samples_ * facts_.ranks) / elapsed,
                                   .elapsed_seconds = elapsed,
                                   .unit = unit_,
                                   .rate_unit = facts_.samples,
                                   .is_silent = true});
}

namespace {

constexpr double kMostOfStart = 0.6;  // share of the start in an average that is pointed out
constexpr double kLittleOfStart = 0.05;

constexpr std::size_t kFirst = 10;        // updates that are the start
constexpr std::size_t kRecent = 40;       // updates that are compared with it
constexpr double kFullUpdates = 200;      // after which they are compared
constexpr double kLeastFullUpdates = 60;  // ... at the end of a shorter run
constexpr double kErrors = 2;             // standard errors of the difference that are noise
constexpr double kRise = 1.1;             // of the loss that trained weights begin with

/// The decay of the moving averages of statistics that a training graph updates; empty if it has none.
std::optional<double> statistics_decay(const graph::Graph& graph) {
    for (const graph::Node& node : graph.nodes()) {
        if (node.kind == graph::OpKind::moving_average_update) return node.as<graph::MovingAverageAttrs>().decay;
    }
    return std::nullopt;
}

/// The number of updates before the first validation of weights; empty without validations.
std::optional<std::int64_t> first_validation(const ValidationSettings& settings, const schedule::RunPlan& plan) {
    if (plan.iterations == 0) return std::nullopt;
    if (settings.any()) return schedule::PlannedValidations(settings, plan).next(0);
    const auto saved = plan.validate ? plan.next_checkpoint(0) : std::nullopt;
    return saved ? std::optional(saved->end()) : std::nullopt;
}

/// The highest learning rate of the run, of those at many places.
double peak_learning_rate(const Task& task, const schedule::RunPlan& plan) {
    constexpr std::int64_t kPlaces = 256;
    const auto rate = task.rate(plan).at;
    const std::int64_t places = std::min(kPlaces, plan.iterations);
    double peak = 0;
    for (std::int64_t i = 0; i < places; ++i) {
        const auto share = static_cast<double>(i) / static_cast<double>(places);
        const auto iteration = static_cast<std::int64_t>(share * static_cast<double>(plan.iterations));
        peak = std::max(peak, rate(plan.host_step(iteration).lr_iteration));
    }
    return peak;
}

}  // namespace

std::string statistics_warning(double decay, std::int64_t updates) {
    if (updates <= 0 || decay <= 0 || decay >= 1) return "";
    const double start = std::pow(decay, static_cast<double>(updates));
    if (start <= kMostOfStart) return "";
    const double better = std::floor(100 * std::pow(kLittleOfStart, 1 / static_cast<double>(updates))) / 100;
    const auto enough = static_cast<std::int64_t>(std::ceil(std::log(kLittleOfStart) / std::log(decay)));
    return formatted("Warning: batch norm's moving averages still have %.0f %% of their start after the ",
                     100 * start) +
           counted(updates, "update") + formatted(" before the first validation (--BN-decay %g): until about ", decay) +
           counted(enough, "update") + " are done, validations say little; " +
           formatted("--BN-decay %g leaves %.0f %%, and a smaller batch makes more updates", better,
                     100 * kLittleOfStart);
}

std::string slow_statistics(const Task& task, const options::Settings& settings, const schedule::RunPlan& plan,
                            const graph::Graph& training_graph) {
    if (settings.training.init_path) return "";
    const std::optional<double> decay = statistics_decay(training_graph);
    const std::optional<std::int64_t> updates = first_validation(settings.validation, plan);
    return decay && updates && task.has_real_data() ? statistics_warning(*decay, *updates) : "";
}

std::optional<DescentCheck> descent_check(const Task& task, const options::Settings& settings,
                                          const schedule::RunPlan& plan) {
    if (!task.has_real_data()) return std::nullopt;
    return DescentCheck(peak_learning_rate(task, plan), settings.training.init_path.has_value());
}

template <typename Losses> DescentCheck::Mean DescentCheck::mean_of(const Losses& losses) {
    const auto count = static_cast<double>(losses.size());
    double sum = 0;
    for (const double loss : losses)
        sum += loss;
    const double mean = sum / count;
    double squares = 0;
    for (const double loss : losses)
        squares += (loss - mean) * (loss - mean);
    return {mean, std::sqrt(squares / (count - 1) / count)};
}

std::string DescentCheck::add(double loss, double learning_rate, bool last) {
    if (done_ || !std::isfinite(loss) || peak_rate_ <= 0) return "";
    ++updates_;
    full_updates_ += learning_rate / peak_rate_;
    if (first_.size() < kFirst) {
        first_.push_back(loss);
        return "";
    }
    recent_.push_back(loss);
    if (recent_.size() > kRecent) recent_.pop_front();
    if (recent_.size() < kRecent) return "";
    if (full_updates_ < (last ? kLeastFullUpdates : kFullUpdates)) return "";
    done_ = true;
    return judge(learning_rate);
}

std::string DescentCheck::judge(double learning_rate) const {
    const Mean before = mean_of(first_);
    const Mean now = mean_of(recent_);
    const double noise = kErrors * std::hypot(before.error, now.error);
    const bool rises = now.value > before.value + noise;
    const bool is_sign = from_weights_ ? rises && now.value > kRise * before.value : now.value > before.value - noise;
    if (!is_sign) return "";
    const std::string text =
        formatted("Warning: the training loss does not fall: %.4g in the first %zu updates, %.4g in ", before.value,
                  kFirst, now.value) +
        "the last " + std::to_string(kRecent) + " of " + std::to_string(updates_) +
        formatted(" (learning rate %.3g)", learning_rate);
    if (rises) return text + formatted("; try a lower one, such as %.3g, or a longer warm-up", peak_rate_ / 10);
    return text +
           formatted("; try others, such as %.3g or %.3g, and look at the labels", peak_rate_ / 10, peak_rate_ * 10);
}

}  // namespace cnntrain::run
