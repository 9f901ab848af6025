#include "train/reports/screen_topics.h"

#include "cnntrain/base/listed.h"
#include "cnntrain/nn/model.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/stages.h"
#include "cnntrain/train/texts.h"

namespace cnntrain::train {
namespace {

Topic precision(const TaskDescription& task, const config::Settings& settings) {
    return {"Precision", std::string(config::name(settings.device.precision)) + ", computed in " +
                             std::string(name(task.arithmetic.type)) + " (" + task.arithmetic.reason + "), backend " +
                             std::string(config::name(settings.run.backend)) + ", " +
                             counted(compute_threads(settings.run), "thread")};
}

std::string batch_text(const config::Settings& settings, const schedule::RunPlan& plan, const metrics::Unit& unit) {
    const schedule::BatchPlan batch = batch_plan(settings);
    std::string text = std::to_string(plan.global_batch) + " " + unit.many;
    std::vector<std::string> factors = {std::to_string(batch.micro_batch)};
    if (batch.accumulation > 1) factors.push_back(std::to_string(batch.accumulation) + " accumulated");
    if (batch.replicas > 1) factors.push_back(counted(batch.replicas, "replica"));
    if (batch.processes > 1) factors.push_back(counted(batch.processes, "process", "es"));
    return factors.size() > 1 ? text + " (" + joined(factors, " x ") + ")" : text;
}

}  // namespace

std::string network_title(const TaskDescription& task, const graph::Graph* graph) {
    std::string title = task.title;
    if (!task.details.empty()) title += ", " + task.details;
    return graph == nullptr ? title : title + ", " + counted(nn::parameter_count(*graph), "parameter");
}

std::vector<Topic> training_topics(const Task& task, const config::Settings& settings, const schedule::RunPlan& plan,
                                   std::int64_t training_samples, std::optional<std::int64_t> validation_samples) {
    const metrics::Unit& unit = task.columns().unit;
    const std::string held_out = validation_samples ? std::to_string(*validation_samples) : "no";
    std::vector<Topic> topics;
    topics.push_back({"Data", std::to_string(training_samples) + " training and " + held_out + " validation " +
                                  unit.many + (task.has_real_data() ? "" : ", generated")});
    topics.push_back({"Length", counted(plan.iterations, task.description().update) + " of " +
                                    batch_text(settings, plan, unit) + ", " + short_text(plan.epochs) + " epochs"});
    if (plan.iterations > 0) {
        for (const Topic& topic : task.rate_topics(plan)) {
            const bool is_table = topic.name == "Rates";
            if (!is_table) topics.push_back(topic);
        }
    }
    topics.push_back(precision(task.description(), settings));
    return topics;
}

std::vector<Topic> evaluation_topics(const Task& task, const config::Settings& settings, std::int64_t samples) {
    std::vector<Topic> topics;
    topics.push_back({"Data", std::to_string(samples) + " " + task.columns().unit.many +
                                  (task.has_real_data() ? "" : ", generated")});
    topics.push_back({"Weights", settings.main.restore_path.value_or("random")});
    topics.push_back(precision(task.description(), settings));
    return topics;
}

}  // namespace cnntrain::train
