#include "train/external_logs.h"

#include <cmath>
#include <utility>

#include "cnntrain/metrics/tensorboard.h"
#include "cnntrain/metrics/wandb.h"

namespace cnntrain::train {

namespace {

constexpr const char* kSummary = "summary_str";

std::int64_t nans_in(const HostTensor& tensor) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        if (std::isnan(tensor.at(i))) ++count;
    }
    return count;
}

}  // namespace

void open_external_logs(metrics::RunLog& log, const config::ParseResult& arguments, const RunFacts& facts,
                        const std::string& arguments_json, FileSystem& files, std::optional<std::int64_t> resumed_at) {
    const LoggingSettings& logging = arguments.settings.logging;
    if (logging.wandb) {
        metrics::WandbSettings settings;
        settings.project = logging.wandb_project;
        settings.name = facts.folder.name;
        settings.id = logging.wandb_id.value_or("");
        settings.config = option_dictionary(arguments_json);
        auto wandb = std::make_unique<metrics::Wandb>(settings);
        log.line("Weights & Biases: " + wandb->description());
        log.add_sink(std::move(wandb));
        log.status("compilation_status", "not started");
    }
    if (logging.tensorboard && !facts.folder.logs.empty()) {
        metrics::TensorBoardSettings settings;
        settings.folder = facts.folder.logs;
        settings.host = facts.hostname;
        if (resumed_at) settings.resumed_at = *resumed_at + 1;
        log.add_sink(std::make_unique<metrics::TensorBoard>(files, settings));
    }
}

std::unique_ptr<metrics::RunLog> open_evaluation_log(const config::ParseResult& arguments, const RunFolder& folder,
                                                     const Host& host) {
    FileSystem& files = *host.files;
    const RunFacts facts = gather_facts(folder, false);
    auto derived = derived_arguments(arguments, facts);
    const std::string summary = summary_block(arguments, facts, nullptr);
    derived[kSummary] = summary;
    const std::string json = config::arguments_json(arguments, derived);

    if (!folder.logs.empty()) files.make_directories(folder.logs);
    auto log = std::make_unique<metrics::RunLog>(
        files, *host.console, metrics::RunLogSettings{folder.logs, host.terminal_width > 0, host.terminal_width});
    log->line("Command line: " + host.command_line);
    open_external_logs(*log, arguments, facts, json, files);
    write_arguments(folder, json, files);
    log->line(summary);
    log->line(option_dictionary(json));
    return log;
}

metrics::NanRow count_nans(std::int64_t iteration, const std::map<std::string, HostTensor>& tensors) {
    metrics::NanRow row;
    row.iteration = iteration;
    for (const auto& [name, tensor] : tensors) {
        const std::int64_t count = nans_in(tensor);
        row.nan_count += count;
        if (count > 0) ++row.nan_variables;
    }
    return row;
}

}  // namespace cnntrain::train
