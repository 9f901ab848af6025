#include "cnntrain/train/dry_run.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>
#include <vector>

#include "cnntrain/base/size_text.h"
#include "cnntrain/data/input.h"
#include "cnntrain/nn/model.h"
#include "cnntrain/optim/learning_rate.h"
#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/train/assemble.h"

namespace cnntrain::train {

namespace {

using config::Settings;

std::string text(double value) {
    return config::to_string(config::Value{value});
}

std::string short_text(double value) {
    std::array<char, 40> result{};
    std::snprintf(result.data(), result.size(), "%.5g", value);
    return result.data();
}

/// "3, 6, 9, ... 30 (10 in all)"
std::string some_of(const std::vector<std::int64_t>& values) {
    constexpr std::size_t kShown = 6;
    std::string result;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const bool last = i + 1 == values.size();
        if (i >= kShown && !last) continue;
        if (i > kShown) result += ", ...";
        result += (result.empty() ? "" : ", ") + std::to_string(values[i]);
    }
    return values.size() > kShown ? result + " (" + std::to_string(values.size()) + " in all)" : result;
}

class Description {
public:
    explicit Description(const config::ParseResult& arguments)
        : arguments_(arguments),
          settings_(arguments.settings),
          info_(data::dataset_info(config::name(settings_.data.dataset))),
          half_(make_backend(settings_.run.backend)->half_type()) {}

    std::string whole() {
        const config::Command command = arguments_.command;
        line("Dry run", std::string(config::name(command)) + "; no data is read, nothing is written");
        if (settings_.main.config) line("Configuration", *settings_.main.config);
        model();
        data();
        command == config::Command::train ? training() : evaluation(command);
        precision();
        files(command == config::Command::train);
        return out_.str();
    }

private:
    void line(const std::string& topic, const std::string& what) {
        constexpr std::size_t kColumn = 16;
        out_ << topic << ": " << std::string(kColumn - std::min(kColumn, topic.size()), ' ') << what << '\n';
    }

    void model() {
        // The files of real data are not looked for; images of generated data have the same shape.
        Settings settings = settings_;
        settings.data.source = config::DataSource::generated;
        const data::InputData input(data_settings(settings, half_, 0), data::Split::train);
        const std::int64_t batch = settings.training.micro_batch_size;
        const graph::Graph graph = evaluation_graph(settings, half_, input.image_desc(batch));
        const double flops = nn::forward_flops(graph) / static_cast<double>(batch);
        const bool batch_norm = settings.model.norm == config::Norm::batch;
        line("Model", std::string(config::name(settings.model.family)) + " " + settings.model.size + ", " +
                          (batch_norm ? "batch norm" : "group norm of " + std::to_string(settings.model.groups)) +
                          ", " + std::to_string(nn::parameter_count(graph)) + " parameters, " +
                          short_text(flops / 1e9) + " GFLOP forward per image");
    }

    void data() {
        const std::int64_t side = settings_.data.image_size;
        std::string what(config::name(settings_.data.dataset));
        switch (settings_.data.source) {
            case config::DataSource::real:
                what += " from " + settings_.data.data_dir + " (not opened; counts are those of the published set)";
                break;
            case config::DataSource::generated:
                what += ", one generated image";
                break;
            case config::DataSource::synthetic:
                what += ", synthetic images";
                break;
        }
        line("Data", what + ", " + std::to_string(training_images()) + " training and " +
                         std::to_string(info_.validation_images) + " validation images of " + std::to_string(side) +
                         " x " + std::to_string(side));
        if (settings_.data.source == config::DataSource::real) input();
    }

    void input() {
        const data::LoaderSettings loader = loader_settings(settings_, 0);
        const bool trains = arguments_.command == config::Command::train;
        const data::RingSize ring = data::ring_size(data_settings_without_folder(settings_, half_, 0),
                                                    trains ? data::Split::train : data::Split::validation, loader);
        line("Input", std::to_string(ring.ahead) + (ring.ahead == 1 ? " batch" : " batches") + " ahead, ring of " +
                          std::to_string(ring.batches()) + " (" + size_text(ring.bytes) + "), " +
                          std::to_string(loader.threads) + (loader.threads == 1 ? " thread" : " threads"));
    }

    std::int64_t training_images() const {
        constexpr std::int64_t kPercent = 100;
        const bool part = settings_.data.dataset == config::Dataset::imagenet;
        return part ? info_.train_images * settings_.data.percentage_to_use / kPercent : info_.train_images;
    }

    void training() {
        const config::TrainingSettings& training = settings_.training;
        const schedule::RunPlan plan = schedule::make_run_plan(schedule::run_shape(settings_, training_images(), 1));
        line("Batch", std::to_string(training.micro_batch_size) + " (micro-batch) x " +
                          std::to_string(training.gradient_accumulation_count) + " (accumulated) x " +
                          std::to_string(training.replicas) + " (replicas) = " + std::to_string(plan.global_batch));
        if (training.pipeline) line("Pipeline", stages(training));
        line("Length", std::to_string(plan.iterations) + " iterations, " + text(plan.epochs) + " epochs of " +
                           std::to_string(plan.iterations_per_epoch) + " iterations; a log line every " +
                           std::to_string(plan.log_freq) + ", host steps of " +
                           std::to_string(plan.iterations_per_host_step));
        std::string optimiser(config::name(training.optimiser));
        if (training.optimiser != config::Optimiser::sgd) optimiser += ", momentum " + text(training.momentum);
        line("Optimiser", optimiser + ", weight decay " + text(training.weight_decay) + ", loss scaling " +
                              text(training.loss_scaling) + ", label smoothing " + text(training.label_smoothing));
        learning_rate(plan);
        points(plan);
        if (settings_.main.restore_path) line("Resumes", "the latest checkpoint in " + *settings_.main.restore_path);
        if (training.init_path) line("Initial weights", *training.init_path);
    }

    static std::string stages(const config::TrainingSettings& training) {
        std::string what = std::to_string(training.pipeline_splits.size() + 1) + " stages on one device, split before";
        for (const std::string& split : training.pipeline_splits)
            what += (split == training.pipeline_splits.front() ? " " : ", ") + split;
        return what + "; computed as without a pipeline";
    }

    void learning_rate(const schedule::RunPlan& plan) {
        const config::LearningRateSettings& schedule = settings_.learning_rate;
        const double base = config::base_learning_rate(schedule, plan.global_batch);
        const optim::LearningRate rate(schedule, base, plan.iterations, plan.epochs);
        std::string what = std::string(config::name(schedule.schedule)) + ", base " + text(base) + ", warm-up " +
                           short_text(rate.warmup_iterations()) + " iterations (" + text(schedule.warmup_epochs) +
                           " epochs)";
        if (rate.warmup_iterations() > static_cast<double>(plan.iterations)) what += ", longer than the run";
        if (schedule.schedule == config::LrSchedule::stepped) {
            std::vector<std::int64_t> drops;
            for (const double fraction : schedule.stepped_fractions)
                drops.push_back(static_cast<std::int64_t>(fraction * static_cast<double>(plan.iterations)));
            what += ", times " + text(schedule.stepped_decay) + " after iterations " + some_of(drops);
        }
        if (schedule.schedule == config::LrSchedule::exponential) {
            what += ", times " + text(schedule.exponential_decay_rate) + " at each of " +
                    std::to_string(schedule.exponential_drops) + " drops";
        }
        line("Learning rate", what);
        std::string values;
        for (const int quarter : {0, 1, 2, 3}) {
            const schedule::HostStep step = plan.host_step(plan.iterations * quarter / 4);
            values += (values.empty() ? "" : ", ") + short_text(rate.at(step.lr_iteration)) + " at " +
                      std::to_string(step.lr_iteration);
        }
        const schedule::HostStep last = plan.host_step(plan.iterations - 1);
        line("Rates",
             values + ", " + short_text(rate.at(last.lr_iteration)) + " at " + std::to_string(last.lr_iteration));
    }

    void points(const schedule::RunPlan& plan) {
        std::vector<std::int64_t> checkpoints;
        for (const schedule::HostStep& step : plan.checkpoint_steps())
            checkpoints.push_back(step.end());
        const std::string none = "none";
        line("Checkpoints", checkpoints.empty() ? none : "after iterations " + some_of(checkpoints));
        const bool validates = plan.validate && !checkpoints.empty();
        line("Validation", validates ? "of each of them, " + passes() : none);
    }

    std::string passes() const {
        const schedule::ValidationPlan plan =
            schedule::make_validation_plan(info_.validation_images, settings_.training.micro_batch_size);
        return std::to_string(plan.batches) + " batches of " + std::to_string(plan.batch);
    }

    void evaluation(config::Command command) {
        const bool validates = command == config::Command::validation;
        const bool all_alike = settings_.data.source != config::DataSource::real;
        std::string what = passes();
        if (settings_.training.iterations && (all_alike || !validates))
            what = std::to_string(*settings_.training.iterations) + " batches of " +
                   std::to_string(settings_.training.micro_batch_size);
        if (settings_.main.repeat > 1) what += ", " + std::to_string(settings_.main.repeat) + " times";
        line(validates ? "Validation" : "Inference", what);
        line("Weights", settings_.main.restore_path ? *settings_.main.restore_path : "random");
    }

    void precision() {
        std::string what(config::name(settings_.device.precision));
        if (arguments_.command == config::Command::train)
            what += ", stochastic rounding " + std::string(config::name(settings_.device.stochastic_rounding));
        line("Precision", what + ", backend " + std::string(config::name(settings_.run.backend)));
        if (settings_.device.seed) line("Seed", std::to_string(*settings_.device.seed));
    }

    void files(bool trains) {
        const config::LoggingSettings& logging = settings_.logging;
        const bool resumes = trains && settings_.main.restore_path;
        std::string folder = logging.no_logs ? "/tmp" : logging.log_dir;
        if (!folder.ends_with('/')) folder += '/';
        folder += config::run_name(settings_, "???");
        if (!logging.no_logs && logging.logs_path) folder = *logging.logs_path;
        if (resumes) folder = *settings_.main.restore_path;
        if (!folder.ends_with('/')) folder += '/';
        std::string names = trains ? "ckpt-<iteration>.safetensors" : "";
        if (!logging.no_logs)
            names =
                "arguments.json, log.txt" + std::string(trains ? ", training.csv, " + names : "") + ", validation.csv";
        line("Files", names.empty() ? "none" : folder + ": " + names);
    }

    const config::ParseResult& arguments_;
    const Settings& settings_;
    const data::DatasetInfo& info_;
    const DType half_;
    std::ostringstream out_;
};

}  // namespace

std::string dry_run_text(const config::ParseResult& arguments) {
    return Description(arguments).whole();
}

}  // namespace cnntrain::train
