#include "tasks/image_classification/task.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cnntrain/base/text.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/text_reports.h"
#include "tasks/image_classification/options.h"

namespace cnntrain::tasks {

using run::kShown;
using run::short_text;
using run::some_of;
using run::text;

namespace {

std::string model_title(const nn::ModelSettings& model) {
    return nn::family_info(model.family).title(model);
}

std::string list_text(const std::vector<double>& values) {
    return "[" + joined(values, ", ", text) + "]";
}

std::string list_text(const std::vector<std::string>& values) {
    return "[" + joined(values, ", ", [](const std::string& value) { return "'" + value + "'"; }) + "]";
}

void write_warmup(std::ostream& out, double epochs) {
    if (epochs > 0) {
        out << " Warmup: " << text(epochs) << " epochs\n";
    } else {
        out << " No warmup\n";
    }
}

void write_learning_rate(std::ostream& out, const optim::LearningRateSettings& settings) {
    switch (settings.schedule) {
        case optim::LrSchedule::stepped:
            out << "Stepped LR schedule\n";
            write_warmup(out, settings.warmup_epochs);
            out << " Drops at " << list_text(settings.stepped_fractions) << '\n';
            out << " Decay factor " << text(settings.stepped_decay) << '\n';
            return;
        case optim::LrSchedule::cosine:
            out << "Cosine LR schedule\n";
            write_warmup(out, settings.warmup_epochs);
            return;
        case optim::LrSchedule::exponential:
            out << "Exponential LR schedule\n";
            write_warmup(out, settings.warmup_epochs);
            out << " Decay Rate: " << text(settings.exponential_decay_rate) << '\n';
            out << " Decayed " << settings.exponential_drops << " times)\n";
            return;
        case optim::LrSchedule::polynomial:
            out << "Polynomial LR schedule\n";
            out << " Decay Exponent: " << text(settings.polynomial_power) << '\n';
            if (settings.polynomial_end) {
                out << " End LR: " << text(*settings.polynomial_end) << '\n';
            } else {
                out << " End LR ratio: " << text(settings.polynomial_end_ratio) << '\n';
            }
            out << " Warmup: " << text(settings.warmup_epochs) << " epochs\n";
            return;
        case optim::LrSchedule::gradual:
            out << "Gradual warmup, then linear LR schedule\n";
            out << " Warmup: " << settings.warmup_iterations << " iterations from " << text(settings.warmup_start)
                << '\n';
            out << " End LR: " << text(settings.polynomial_end.value_or(0)) << '\n';
            return;
    }
}

double base_exponent(const options::Settings& settings) {
    const std::int64_t batch = run::batch_plan(settings).global_batch();
    return std::log2(optim::base_learning_rate(image_settings(settings).learning_rate, batch) /
                     static_cast<double>(batch));
}

/// The name of an optimiser in the summary.
std::string_view summary_name(graph::UpdateRule rule) {
    if (rule == graph::UpdateRule::momentum) return "SGD with Momentum";
    if (rule == graph::UpdateRule::nesterov) return "SGD with Nesterov Momentum";
    return spelling(rule);
}

void write_optimiser(std::ostream& out, const optim::OptimiserSettings& settings, std::int64_t global_batch) {
    const graph::UpdateRule rule = settings.rule;
    out << summary_name(rule) << '\n';
    if (optim::keeps_moments(rule)) {
        out << " Betas: " << text(settings.adam.beta1) << ' ' << text(settings.adam.beta2) << '\n';
        out << " Epsilon: " << text(settings.adam.epsilon) << '\n';
    } else if (graph::facts_of(rule).slots > 0) {
        out << " Momentum: " << text(settings.momentum) << '\n';
    }
    if (rule == graph::UpdateRule::rmsprop) {
        out << " Decay: " << text(optim::rmsprop_decay(settings, global_batch)) << '\n';
        out << " Epsilon: " << text(settings.rmsprop_epsilon) << '\n';
    } else if (rule == graph::UpdateRule::lars) {
        out << " Epsilon: " << text(settings.lars.epsilon) << '\n';
        out << " Skip List: " << list_text(settings.lars.skip) << '\n';
    }
}

void write_training(std::ostream& out, const options::Settings& settings) {
    const schedule::ScheduleSettings& training = settings.training;
    const schedule::BatchPlan batch = run::batch_plan(settings);
    out << "Training\n Batch Size: " << batch.global_batch() << '\n';
    if (training.pipeline) out << "  Pipelined over " << batch.stages << " stages\n";
    if (batch.accumulation > 1) out << "  Gradients accumulated over " << batch.accumulation << " fwds/bwds passes \n";
    const std::int64_t replicas = batch.replicas * batch.processes;
    if (replicas > 1) out << "  Training on " << replicas << " replicas \n";
    out << " Base Learning Rate: 2**" << text(base_exponent(settings)) << '\n';
    out << " Weight Decay: " << text(settings.optimiser.weight_decay) << '\n';
    out << " Loss Scaling: " << text(settings.optimiser.loss_scaling) << '\n';
    if (training.iterations) {
        out << " Iterations: " << *training.iterations << '\n';
    } else {
        out << " Epochs: " << text(training.epochs) << '\n';
    }
    write_optimiser(out, settings.optimiser, batch.global_batch());
    write_learning_rate(out, image_settings(settings).learning_rate);
}

/// Describes the drops of the rate: " after iterations 3, 6"; empty if there are none.
std::string drops(const std::vector<double>& fractions, const schedule::RunPlan& plan) {
    const auto at = [&](double fraction) {
        return static_cast<std::int64_t>(fraction * static_cast<double>(plan.iterations));
    };
    std::vector<std::int64_t> first;
    for (std::size_t i = 0; i < fractions.size() && i < kShown; ++i)
        first.push_back(at(fractions[i]));
    if (first.empty()) return "";
    return " after iterations " + some_of(first, std::ssize(fractions), at(fractions.back()));
}

/// 0 for schedules without an end rate.
double end_learning_rate(const optim::LearningRateSettings& rate, double base) {
    if (rate.schedule == optim::LrSchedule::polynomial)
        return rate.polynomial_end.value_or(rate.polynomial_end_ratio * base);
    return rate.schedule == optim::LrSchedule::gradual ? rate.polynomial_end.value_or(0) : 0;
}

/// Exponent of the decay after warm-up; 0 if the decay is not a power.
double decay_power(const optim::LearningRateSettings& rate) {
    if (rate.schedule == optim::LrSchedule::polynomial) return rate.polynomial_power;
    return rate.schedule == optim::LrSchedule::gradual ? 1 : 0;
}

/// If the schedule counts iterations, converted to epochs of the published set.
double warmup_epochs(const options::Settings& settings) {
    const optim::LearningRateSettings& rate = image_settings(settings).learning_rate;
    if (rate.schedule != optim::LrSchedule::gradual) return rate.warmup_epochs;
    const auto images = static_cast<double>(data::dataset_info(image_settings(settings).data.dataset).train_images);
    const auto global_batch = static_cast<double>(run::batch_plan(settings).global_batch());
    return static_cast<double>(rate.warmup_iterations) * global_batch / images;
}

double warmup_iterations(const optim::LearningRateSettings& rate, const metrics::TrainingSize& size) {
    if (rate.schedule == optim::LrSchedule::gradual) return static_cast<double>(rate.warmup_iterations);
    return std::floor(static_cast<double>(size.iterations) * rate.warmup_epochs /
                      std::max(1.0, std::round(size.epochs)));
}

}  // namespace

std::string summary_head(const options::ParseResult& arguments) {
    constexpr double kUsualDecay = 0.97;
    const options::Settings& settings = arguments.settings;
    const bool parallel_given = arguments.at("pipeline_num_parallel").source != options::Source::default_value;
    std::ostringstream out;
    out << spelling(image_settings(settings).data.dataset) << '\n';
    if (parallel_given)
        out << " Pipeline Num Parallel: " << image_settings(settings).data.pipeline_num_parallel << '\n';
    if (image_settings(settings).data.kind == data::DataKind::generated) out << " Generated random Data\n";
    if (image_settings(settings).data.kind == data::DataKind::synthetic) out << " Synthetic Data\n";
    out << model_title(image_settings(settings).model) << '\n';
    if (image_settings(settings).model.norm == nn::NormKind::group) {
        out << " Group Norm\n  " << image_settings(settings).model.groups << " groups\n";
        return out.str();
    }
    out << " Batch Norm\n";
    const bool always_shown = nn::family_info(image_settings(settings).model.family).always_tells_decay;
    if (always_shown || image_settings(settings).model.bn_decay != kUsualDecay)
        out << "  Decay: " << options::to_string(options::Value{image_settings(settings).model.bn_decay}) << '\n';
    return out.str();
}

std::string summary_tail(const options::Settings& settings) {
    if (!data::dataset_info(image_settings(settings).data.dataset).any_image_size) return "";
    const std::string side = std::to_string(image_settings(settings).data.image_size);
    return "Image Size: " + side + "x" + side + "\n";
}

std::string summary_training(const options::Settings& settings) {
    std::ostringstream out;
    write_training(out, settings);
    return out.str();
}

std::string image_run_name(const options::Settings& settings) {
    const run::TrainingSettings& training = settings.training;
    const nn::FamilyInfo family = nn::family_info(image_settings(settings).model.family);
    const bool replicas_first = family.run_name == nn::RunNameStyle::replicas_first;
    std::string replicas;
    if (training.replicas > 1) replicas = "x" + std::to_string(training.replicas) + "r";
    std::string accumulation;
    if (training.pipeline || training.gradient_accumulation_count > 1)
        accumulation = "x" + std::to_string(training.gradient_accumulation_count) + (training.pipeline ? "p" : "a");
    std::string result(family.run_prefix);
    result += image_settings(settings).model.size + "_bs" + std::to_string(training.micro_batch_size);
    result += replicas_first ? replicas + accumulation : accumulation + replicas;
    result += image_settings(settings).model.norm == nn::NormKind::group
                  ? "_GN" + std::to_string(image_settings(settings).model.groups)
                  : "_BN";
    if (replicas_first) {
        result += "_" + std::string(spelling(settings.device.precision));
        if (settings.device.stochastic_rounding == backend::StochasticRounding::off) result += "_noSR";
    }
    if (settings.logging.name_suffix) result += "_" + *settings.logging.name_suffix;
    return result;
}

std::vector<run::Topic> image_rate_topics(const options::Settings& settings, const schedule::RunPlan& plan) {
    std::vector<run::Topic> topics;
    topics.push_back({"Optimiser", run::optimiser_text(settings.optimiser) + ", label smoothing " +
                                       run::text(image_settings(settings).label_smoothing)});
    const optim::LearningRateSettings& schedule = image_settings(settings).learning_rate;
    const double base = optim::base_learning_rate(schedule, plan.global_batch);
    const optim::LearningRate rate(schedule, base, plan.iterations, plan.epochs);
    std::string what = std::string(spelling(schedule.schedule)) + ", base " + text(base) + ", warm-up " +
                       short_text(rate.warmup_iterations()) + " iterations";
    what +=
        schedule.schedule == optim::LrSchedule::gradual
            ? " from " + text(schedule.warmup_start) + ", then linear to " + text(schedule.polynomial_end.value_or(0))
            : " (" + text(schedule.warmup_epochs) + " epochs)";
    if (rate.warmup_iterations() > static_cast<double>(plan.iterations)) what += ", longer than the run";
    if (schedule.schedule == optim::LrSchedule::stepped)
        what += ", times " + text(schedule.stepped_decay) + drops(schedule.stepped_fractions, plan);
    if (schedule.schedule == optim::LrSchedule::exponential) {
        what += ", times " + text(schedule.exponential_decay_rate) + " at each of " +
                std::to_string(schedule.exponential_drops) + " drops";
    }
    topics.push_back({"Learning rate", what});
    std::vector<std::string> values;
    for (const int quarter : {0, 1, 2, 3, 4}) {
        const std::int64_t at = quarter < 4 ? plan.iterations * quarter / 4 : plan.iterations - 1;
        const std::int64_t step = plan.host_step(at).lr_iteration;
        values.push_back(short_text(rate.at(step)) + " at " + std::to_string(step));
    }
    topics.push_back({"Rates", joined(values)});
    return topics;
}

std::optional<run::MlperfBenchmark> mlperf_benchmark(const options::ParseResult& arguments) {
    if (data::dataset_info(image_settings(arguments.settings).data.dataset).train_images == 0) return std::nullopt;
    const schedule::BatchPlan batch = run::batch_plan(arguments.settings);
    const optim::LearningRateSettings& rate = image_settings(arguments.settings).learning_rate;
    return run::MlperfBenchmark{.name = "resnet",
                                .quality = run::kTop1Column,
                                .target = 75.9,
                                .facts = {{"model_bn_span", batch.norm_samples()}},
                                .warmup_epochs = warmup_epochs(arguments.settings),
                                .rate = [rate](const metrics::TrainingSize& size) {
                                    const double base = optim::base_learning_rate(rate, size.global_batch);
                                    return run::MlperfRate{.warmup_iterations = warmup_iterations(rate, size),
                                                           .base = base,
                                                           .end = end_learning_rate(rate, base),
                                                           .decay_power = decay_power(rate)};
                                }};
}

}  // namespace cnntrain::tasks
