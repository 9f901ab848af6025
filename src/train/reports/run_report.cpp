#include "train/reports/run_report.h"

#include <memory>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/metrics/csv_files.h"
#include "cnntrain/metrics/json_lines.h"
#include "cnntrain/metrics/tensorboard.h"
#include "cnntrain/metrics/text_reports.h"
#include "cnntrain/metrics/wandb.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/machine.h"
#include "train/reports/estimator_log.h"
#include "train/reports/mlperf_log.h"
#include "train/reports/screen_topics.h"
#include "train/runs/run_files.h"

namespace cnntrain::train {
namespace {

constexpr const char* kSummary = "summary_str";

metrics::LinePrefix line_prefix(const Task& task) {
    return task.description().dated_log ? metrics::dated_prefix : nullptr;
}

/// Rates of an emulated device say so. Those of the input are always this machine's.
bool marks_rates(const config::Settings& settings) {
    return is_emulated(settings.run) && !settings.device.dataset_benchmark;
}

metrics::Extent extent_of(const LoggingSettings& logging, const Terminal& terminal) {
    if (logging.quiet) return metrics::Extent::results;
    return terminal.is_there() && !logging.verbose ? metrics::Extent::brief : metrics::Extent::all;
}

/// The report on the standard output.
std::unique_ptr<metrics::Observer> console_of(const Task& task, const config::Settings& settings, const Host& host) {
    const metrics::Extent extent = extent_of(settings.logging, host.terminal);
    if (settings.logging.format == LogFormat::json) return std::make_unique<metrics::JsonLines>(*host.console, extent);
    auto console = std::make_unique<metrics::Console>(
        *host.console, metrics::Console::Settings{host.terminal, extent, line_prefix(task)});
    if (marks_rates(settings)) console->mark_rates_as_emulated();
    return console;
}

/// Console, log.txt and the CSV files.
void add_local_reports(metrics::Observers& observers, std::unique_ptr<metrics::Observer> console, const Task& task,
                       const config::Settings& settings, const RunFolder& folder, const Host& host) {
    if (host.reports) observers.add(std::move(console));
    if (folder.logs.empty()) return;
    auto log = std::make_unique<metrics::LogFile>(*host.files, folder.logs, line_prefix(task));
    if (marks_rates(settings)) log->mark_rates_as_emulated();
    observers.add(std::move(log));
    observers.add(std::make_unique<metrics::CsvFiles>(*host.files, folder.logs));
}

/// `arguments_json` becomes the run's configuration in Weights & Biases.
void add_wandb(metrics::Observers& observers, const LoggingSettings& logging, const std::string& run_name,
               const std::string& arguments_json) {
    metrics::WandbSettings settings;
    settings.project = logging.wandb_project;
    settings.name = run_name;
    settings.id = logging.wandb_id.value_or("");
    settings.config = option_dictionary(arguments_json);
    auto wandb = std::make_unique<metrics::Wandb>(settings);
    observers.line("Weights & Biases: " + wandb->description());
    observers.add(std::move(wandb));
    observers.status(metrics::kCompilationStatus, "not started");
}

void add_tensorboard(metrics::Observers& observers, const RunFacts& facts, const std::string& events_folder,
                     std::optional<std::int64_t> resumed_at, FileSystem& files) {
    metrics::TensorBoardSettings settings;
    settings.folder = facts.folder.logs;
    if (!events_folder.empty()) settings.folder += "/" + events_folder;
    settings.host = facts.hostname;
    if (resumed_at) settings.resumed_at = *resumed_at + 1;
    observers.add(std::make_unique<metrics::TensorBoard>(files, settings));
}

/// Training records its options as the only run in its folder; other runs add to existing files.
void begin_records(const config::ParseResult& arguments, const std::string& folder, const std::string& arguments_text,
                   const Host& host) {
    if (arguments.settings.main.trains) {
        record_arguments(*host.files, folder, arguments_text, config::arguments_json(arguments, {}), false);
    } else {
        add_arguments(*host.files, folder, arguments_text);
    }
}

/// The local reports, with an EstimatorLog where the host asks for one.
metrics::Observers report_estimator(const Task& task, const config::ParseResult& arguments, const RunFolder& folder,
                                    const Host& host) {
    const config::Settings& settings = arguments.settings;
    metrics::Observers observers;
    auto console = console_of(task, arguments.settings, host);
    if (host.estimator && settings.main.restore_path && is_first(host)) {
        observers.add(std::make_unique<EstimatorLog>(
            host.estimator->weight_decay, checkpoint::find_checkpoints(*host.files, *settings.main.restore_path),
            checkpoint::edited_if(settings.checkpoint.trust_edited), *host.files, *console));
    }
    add_local_reports(observers, std::move(console), task, arguments.settings, folder, host);
    return observers;
}

metrics::RunDescription described(const Introduction& introduction, const std::string& arguments_text,
                                  const Host& host) {
    const RunFolder& folder = introduction.facts.folder;
    metrics::RunDescription run;
    run.version = CNNTRAIN_VERSION;
    run.name = folder.name;
    run.folder = folder.logs;
    run.command_line = host.command_line;
    run.machine = introduction.machine;
    if (introduction.io_bits > 0 && introduction.facts.names_ipus)
        run.io_line = "Using " + std::to_string(introduction.io_bits) + "-bit IO between the IPU and host";
    run.title = introduction.title;
    for (const Topic& topic : introduction.topics)
        run.topics.emplace_back(topic.name, topic.text);
    run.topics.emplace_back("Folder", folder.logs.empty()
                                          ? "none (--no-logs); --verbose prints all settings and variables"
                                          : folder.logs + " (all settings and variables are in log.txt)");
    run.summary = introduction.summary;
    run.settings = option_dictionary(arguments_text);
    return run;
}

}  // namespace

metrics::Observers report_training(const Task& task, const config::ParseResult& arguments, const RunFolder& folder,
                                   const Host& host) {
    metrics::Observers observers;
    auto console = console_of(task, arguments.settings, host);
    if (arguments.settings.logging.mlperf && !folder.logs.empty() && is_first(host)) {
        const std::optional<MlperfBenchmark> benchmark = task.description().mlperf;
        if (!benchmark) throw Error(ErrorKind::unsupported, "--mlperf-logging: MLPerf has no benchmark of this kind");
        // First in the list, so that the events a row causes are printed before the row.
        observers.add(std::make_unique<MlperfLog>(*benchmark, arguments, folder.logs, *host.files, *console));
    }
    add_local_reports(observers, std::move(console), task, arguments.settings, folder, host);
    return observers;
}

std::string introduce(metrics::Observers& observers, const config::ParseResult& arguments, Introduction introduction,
                      const Host& host) {
    const LoggingSettings& logging = arguments.settings.logging;
    const RunFacts& facts = introduction.facts;
    introduction.derived[kSummary] = introduction.summary;
    std::string arguments_text = config::arguments_json(arguments, introduction.derived);
    if (is_emulated(arguments.settings.run)) observers.line(std::string(kEmulatorNotice));
    observers.run_described(described(introduction, arguments_text, host));
    if (logging.wandb && is_first(host)) add_wandb(observers, logging, facts.folder.name, arguments_text);
    if (logging.tensorboard && !facts.folder.logs.empty())
        add_tensorboard(observers, facts, introduction.events_folder, introduction.resumed_at, *host.files);
    if (!introduction.resumed_at && !facts.folder.logs.empty())
        begin_records(arguments, facts.folder.logs, arguments_text, host);
    return arguments_text;
}

metrics::Observers report_evaluation(const Task& task, const backend::Backend& backend,
                                     const config::ParseResult& arguments, const RunFolder& folder,
                                     std::int64_t samples, const Host& host) {
    const TaskDescription description = task.description();
    Introduction introduction;
    introduction.facts = gather_facts(folder, false);
    introduction.facts.names_ipus = names_ipus(arguments.settings, host);
    introduction.machine = machine_lines(backend, arguments.settings.run);
    introduction.derived = derived_arguments(arguments, description, introduction.facts, samples);
    introduction.summary = summary_block(arguments, description, introduction.facts, nullptr);
    introduction.title = network_title(description);
    introduction.topics = evaluation_topics(task, arguments.settings, samples);
    introduction.io_bits = description.io_bits;
    introduction.events_folder = description.events_folder;
    metrics::Observers observers = report_estimator(task, arguments, folder, host);
    introduce(observers, with_absolute_paths(arguments), std::move(introduction), host);
    return observers;
}

}  // namespace cnntrain::train
