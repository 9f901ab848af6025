#include "tasks/bert/reports.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "cnntrain/optim/learning_rate.h"
#include "cnntrain/train/texts.h"

namespace cnntrain::tasks {

std::string bert_name(const nn::BertSettings& model) {
    return "bert" + std::to_string(model.layers) + "x" + std::to_string(model.hidden);
}

std::string bert_title(const nn::BertSettings& model) {
    return "BERT of " + std::to_string(model.layers) + (model.layers == 1 ? " layer" : " layers");
}

std::string bert_sizes(const nn::BertSettings& model) {
    std::ostringstream text;
    text << " " << model.layers << " layers, " << model.hidden << " wide, " << model.heads
         << " attention heads, vocabulary of " << model.vocabulary;
    return text.str();
}

std::map<std::string, std::string> bert_work(const nn::BertSettings& model, std::int64_t sequence_length) {
    return {{"sequence length", std::to_string(sequence_length)},
            {"dropout", train::text(model.hidden_dropout) + " and " + train::text(model.attention_dropout)}};
}

std::function<double(std::int64_t)> bert_learning_rate(const BertTaskSettings& settings,
                                                       const schedule::RunPlan& plan) {
    const optim::StepRate rate(settings.learning_rate, plan.iterations);
    return [rate](std::int64_t step) { return rate.at(step); };
}

std::vector<train::Topic> bert_rate_topics(const config::ParseResult& arguments, const schedule::RunPlan& plan) {
    const BertTaskSettings& own = arguments.settings.task.as<BertTaskSettings>();
    std::vector<train::Topic> topics = {{"Optimiser", train::optimiser_text(arguments.settings.optimiser)}};
    if (plan.iterations == 0) return topics;
    const auto rate = bert_learning_rate(own, plan);
    topics.push_back({"Learning rate", config::to_string(arguments.at("lr_schedule").value) + ", base " +
                                           train::text(own.learning_rate.base) + ", warm-up " +
                                           train::text(own.learning_rate.warmup)});
    std::string values;
    std::int64_t last = -1;
    for (const int quarter : {0, 1, 2, 3, 4}) {
        const std::int64_t at = std::min(plan.iterations - 1, plan.iterations * quarter / 4);
        const std::int64_t step = plan.host_step(at).lr_iteration;
        if (std::exchange(last, step) == step) continue;  // a run of few steps
        values += (values.empty() ? "" : ", ") + train::short_text(rate(step)) + " at " + std::to_string(step);
    }
    topics.push_back({"Rates", values});
    return topics;
}

}  // namespace cnntrain::tasks
