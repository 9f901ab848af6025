// The phases of the original programs, and what their logs have in addition.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/weights/checkpoint.h"
#include "tasks/bert/fine_tuning.h"

namespace cnntrain::tasks {

bool trains_in_phases(const Resolution& run) {
    const FineTuningSettings& own = fine_tuning_settings(run.settings());
    return run.command == Command::train && (own.does_training || !own.has_phases());
}

namespace {

/// The words of a line that evaluates in a phase. The record of the line of the phases has the options of the network
/// and the data; others that this program or the data have are repeated.
std::vector<std::string> phase_words(const options::ParseResult& arguments, const std::string& weights,
                                     const std::string& file, const std::string& output) {
    std::vector<std::string> words = {"--restore-path", weights, "--data-dir", file, "--logs-path", output};
    const std::string_view data_group = arguments.at("data_dir").option->group;
    for (const options::ResolvedOption& entry : arguments.options) {
        const Option& option = *entry.option;
        const bool is_repeated = option.recorded == Recorded::if_numeric && !option.numerics &&
                                 (option.group == kThisProgram || option.group == data_group);
        const bool is_given = entry.source == Source::command_line || entry.source == Source::config;
        const bool is_accepted = (option.commands & (kV | kE)) == (kV | kE);
        if (is_repeated && is_given && is_accepted && key(option) != "task" && key(option) != "data_dir")
            words.push_back(std::string(option.flag) + "=" + options::to_string(entry.value));
    }
    return words;
}

}  // namespace

int run_phases(const run::TaskRow& row, const options::ParseResult& arguments, const run::Host& host,
               const PhaseFiles& files) {
    const FineTuningSettings& own = fine_tuning_settings(arguments.settings);
    const bool measures = arguments.command == Command::inference;
    if (measures) {
        const int code = run::run_inference(row, arguments, host);
        const bool more = own.does_prediction || own.does_evaluation;  // an evaluation is a part of the prediction
        if (code != 0 || !more || !arguments.settings.training.iterations) return code;
    }
    const std::optional<std::string>& given =
        measures ? arguments.settings.main.restore_path : arguments.settings.training.init_path;
    std::string weights = given.value_or("");
    if (arguments.settings.main.trains) {
        run::Host training = host;
        training.run_folder = &weights;
        if (const int code = run::run_training(row, arguments, training); code != 0) return code;
    }
    const bool evaluates = !measures && own.does_evaluation && !files.evaluation.empty();
    const bool predicts = (own.does_prediction || measures) && !files.prediction.empty();
    if (!arguments.settings.main.trains && !evaluates && !predicts)
        log::info("nothing to do: give --do-training, --do-evaluation or --do-predict");
    if (!evaluates && !predicts) return 0;
    weights = weights::find_checkpoint(*host.files, "the trained weights", weights).path;
    const std::string output =
        own.output_dir.empty() ? std::filesystem::path(weights).parent_path().string() : own.output_dir;
    const auto line_of = [&](Command command, const std::vector<std::string>& words) {
        options::Environment environment = options::process_environment();
        environment.launch = arguments.launch;
        options::ParseResult line = options::parse_command_line(
            row.options, command, words, environment, {"this command line", options::arguments_json(arguments, {})});
        line.settings.task.as<FineTuningSettings>().only_phases = true;
        return line;
    };
    if (evaluates) {
        const auto line = line_of(Command::validation, phase_words(arguments, weights, files.evaluation, output));
        if (const int code = run::run_validation(row, line, host); code != 0 || !predicts) return code;
    }
    std::vector<std::string> words = phase_words(arguments, weights, files.prediction, output);
    words.emplace_back("--overwrite");
    return run::run_inference(row, line_of(Command::inference, words), host);
}

metrics::Position FineTuning::position(const metrics::TrainingRow& row) const {
    const run::TrainingSettings& training = settings().training;
    const bool counts_calls = fine_tuned().has_phases() && !training.pipeline;
    return {counts_calls ? row.step / training.gradient_accumulation_count : row.step, row.epoch};
}

std::string FineTuning::printed_at(const run::Moment& moment) const {
    constexpr std::size_t kFirst = 10;  // slower than the others
    const auto* const last = std::get_if<run::LastCall>(&moment);
    if (!fine_tuned().has_phases() || last == nullptr || last->calls.empty()) return "";
    std::span<const run::Call> calls = last->calls;
    if (calls.size() >= 2 * kFirst) {
        calls = calls.subspan(kFirst);
    } else {
        log::warning("the rate of " + std::to_string(calls.size()) + " calls in all includes the first, slow ones");
    }
    double seconds = 0, samples = 0;
    for (const run::Call& call : calls) {
        seconds += call.seconds;
        samples += static_cast<double>(call.samples);
    }
    const auto [least, most] = std::ranges::minmax(calls, {}, &run::Call::seconds);
    return "inference throughput: " + run::text(last->ranks * samples / seconds) +
           " exmples/sec - Latency: " + run::text(seconds / static_cast<double>(calls.size())) + " " +
           run::text(least.seconds) + " " + run::text(most.seconds) + " (mean min max) sec ";  // as it is parsed
}

std::vector<run::Topic> with_phases(std::vector<run::Topic> topics, const FineTuningSettings& settings) {
    std::vector<std::string> phases;
    if (settings.does_training) phases.emplace_back("training");
    if (settings.does_evaluation) phases.emplace_back("evaluation");
    if (settings.does_prediction) phases.emplace_back("prediction");
    if (phases.empty()) return topics;
    const bool has_results = settings.does_evaluation || settings.does_prediction;
    const std::string folder = settings.output_dir.empty() ? "the folder of the weights" : settings.output_dir;
    topics.push_back({"Phases", listed(phases) + (has_results ? "; results in " + folder : "")});
    return topics;
}

}  // namespace cnntrain::tasks
