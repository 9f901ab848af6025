// `cnntrain report`: a run, or several, as one HTML page.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/insight/findings.h"
#include "cnntrain/insight/run_record.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::cli {
namespace {

using report::RunRecord;

/// Another process holds the lock of the folder.
bool is_written_to(FileSystem& files, const std::string& folder) {
    const std::string lock = without_trailing_slashes(folder) + "/" + std::string(kFolderLockName);
    if (!exists(files, lock)) return false;
    try {
        return files.try_lock(lock, "cnntrain report").lock == nullptr;
    } catch (const Error& error) {
        log::debug(std::string("whether the run is going is not known: ") + error.what());
        return false;
    }
}

/// True if the option stands on the run's command line, by one of its names.
bool is_on_line(const options::Option& option, const std::string& line) {
    const auto names = [&](std::string_view flag, const std::string& word) {
        return word == flag || word.starts_with(std::string(flag) + "=");
    };
    std::istringstream words(line);
    for (std::string word; words >> word;) {
        if (names(option.flag, word) || (options::is_boolean(option) && word == options::negated(option.flag)))
            return true;
        if (std::ranges::any_of(option.aliases, [&](const options::Alias& alias) { return names(alias.flag, word); }))
            return true;
    }
    return false;
}

/// Options with another value than their row's default. Options whose default the model or the data set count if they
/// are on the line.
std::vector<report::ChangedOption> changed_options(const options::ParseResult& arguments, const std::string& line) {
    std::vector<report::ChangedOption> result;
    for (const options::ResolvedOption& one : arguments.options) {
        const options::Option& option = *one.option;
        const bool has_default = !std::holds_alternative<options::Unset>(option.fallback);
        const bool is_place = option.shared_flag == "--restore-path" || option.shared_flag == "--logs-path";
        if (is_place || is_action(option) || std::holds_alternative<options::Unset>(one.value)) continue;
        if (has_default ? one.value == option.fallback : !is_on_line(option, line)) continue;
        result.push_back({std::string(option.flag), options::to_string(one.value),
                          has_default ? options::to_string(option.fallback) : ""});
    }
    return result;
}

class ReportCommand {
public:
    ReportCommand(const Flags& flags, const Invocation& invocation, FileSystem& files)
        : flags_(flags), invocation_(invocation), files_(files), folders_(flags.rest()) {
        folders_.insert(folders_.begin(), flags.text("RUN"));
        output_ = flags.given("--output") ? flags.text("--output")
                                          : without_trailing_slashes(folders_.front()) + "/report.html";
        interval_ = flags.number("--interval", 0.1, 86400);
        samples_ = flags.integer("--samples", 0);
    }

    /// Writes the page, and in a watch again and again. Returns the exit code.
    int run() {
        bool going = write();
        if (!flags_.given("--watch")) return 0;
        if (!going) log::info("the run is not going, so its page is not written again");
        while (going) {
            if (!wait()) return kInterruptedExitCode;
            going = write();
        }
        return 0;
    }

private:
    /// Returns false if a stop was requested meanwhile.
    bool wait() const {
        constexpr std::chrono::milliseconds kLook{50};
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(interval_);
        while (std::chrono::steady_clock::now() < end) {
            if (stop_requested()) return false;
            std::this_thread::sleep_for(kLook);
        }
        return !stop_requested();
    }

    /// The files of the runs, which a page must never replace.
    std::vector<NamedPath> inputs() const {
        std::vector<NamedPath> result;
        for (const std::string& folder : folders_) {
            if (!is_directory(files_, folder)) continue;
            for (const std::string& name : files_.list(folder)) {
                const std::string path = without_trailing_slashes(folder) + "/" + name;
                if (!name.ends_with(".html")) result.push_back({"the run's file", path});
            }
        }
        return result;
    }

    /// Returns whether the first run is still going.
    bool write() {
        const std::string data = flags_.given("--data-dir") ? flags_.text("--data-dir") : "";
        if (!data.empty() && !exists(files_, data) && !is_directory(files_, data))
            throw Error(ErrorKind::data, "--data-dir " + data + ": there is no such folder or file");
        weights::refuse_run_checkpoint(files_, "--output", output_);
        check_outputs(files_,
                      {{{"--output", output_},
                        flags_.given("--overwrite"),
                        "--overwrite",
                        [](const FileSystem& files, const std::string& path) { return report::is_page(files, path); }}},
                      inputs());
        std::vector<RunRecord> runs;
        for (const std::string& folder : folders_) {
            runs.push_back(report::read_run(files_, folder, is_written_to(files_, folder)));
            complete(runs.back());
        }
        report::name_apart(runs);
        const bool going = runs.front().end == report::End::going;
        const std::string page =
            report::page_of(runs, {.written = clock_text("%Y-%m-%d %H:%M:%S"),
                                   .version = run::version_line(),
                                   .reload_seconds = going && flags_.given("--watch") ? std::max(2.0, interval_) : 0});
        write_text(files_, output_, page);
        tell(runs.front(), page.size());
        print_differences(runs);
        return going;
    }

    void tell(const RunRecord& run, std::size_t bytes) const {
        for (const std::vector<std::string>& sentences :
             {report::judge_learning(run).sentences, report::judge_speed(run).sentences,
              report::judge_confusion(run).sentences})
            std::cout << printable(sentences.front()) << '\n';
        std::cout << "Saved the page to " << output_ << " (" << size_text(bytes) << ")" << std::endl;
    }

    /// A row for each option that differs, with a column for each run.
    static void print_differences(const std::vector<RunRecord>& runs) {
        std::vector<std::vector<std::string>> rows = {{"option"}};
        for (const RunRecord& run : runs)
            rows.front().push_back(run.name);
        for (const report::Difference& difference : report::compare_runs(runs).options) {
            rows.push_back({difference.key});
            for (const std::string& value : difference.values)
                rows.back().push_back(value.empty() ? "-" : value);
        }
        if (rows.size() == 1) return;
        constexpr std::size_t kWidest = 40;
        std::vector<std::size_t> widths(rows.front().size());
        for (std::vector<std::string>& row : rows) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                row[i] = printable(report::short_path(row[i]));
                widths[i] = std::min(kWidest, std::max(widths[i], row[i].size()));
            }
        }
        for (const std::vector<std::string>& row : rows) {
            std::string line;
            for (std::size_t i = 0; i < row.size(); ++i)
                line += row[i] + std::string(2 + widths[i] - std::min(widths[i], row[i].size()), ' ');
            std::cout << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
        }
        std::cout << std::flush;
    }

    /// Adds to a run the facts that need the program's options, and to the first run those that need its network.
    void complete(RunRecord& run) {
        const bool is_first = run.folder == without_trailing_slashes(folders_.front());
        std::optional<options::ParseResult> arguments;
        try {
            arguments = recorded_arguments(run.folder);
            run.changed_options = changed_options(*arguments, run.log.command_line);
            run.knows_changed_options = true;
        } catch (const Error& error) {
            run.missing.push_back(std::string("the options that differ from the defaults: ") + error.what());
        }
        if (!is_first) return;
        add_vocabulary(run);
        add_weights(run);
        if (flags_.given("--no-predictions")) {
            run.why_no_predictions = "Predictions of samples were left out (--no-predictions).";
        } else if (!run.checkpoint) {
            run.why_no_predictions = "There is no checkpoint, so there are no predictions of samples.";
        } else if (!run.has_trained_weights()) {
            run.why_no_predictions = "The only checkpoint, " + run.checkpoint->name +
                                     ", has the weights before the first update, so there are no predictions of "
                                     "samples.";
        } else if (arguments) {
            add_predictions(run, *arguments);
        }
        add_class_names(run);
    }

    /// Data sets in CIFAR's layout name their classes in a file beside the records, and checkpoints do not.
    void add_class_names(RunRecord& run) const {
        if (!run.predictions || !run.predictions->classes.empty() || run.predictions->rows.empty()) return;
        const std::string data = flags_.given("--data-dir") ? flags_.text("--data-dir") : run.argument("data_dir");
        for (const char* const file : {"batches.meta.txt", "cifar-10-batches-bin/batches.meta.txt",
                                       "fine_label_names.txt", "cifar-100-binary/fine_label_names.txt"}) {
            const std::string path = data + "/" + file;
            if (data.empty() || !exists(files_, path)) continue;
            run.predictions->classes = whole_lines(read_text(files_, path));
            std::erase(run.predictions->classes, "");
            return;
        }
    }

    options::ParseResult recorded_arguments(const std::string& folder) const {
        std::vector<std::string> words = {"--restore-path", folder, "--threads", flags_.text("--threads")};
        if (flags_.given("--data-dir")) words.insert(words.end(), {"--data-dir", flags_.text("--data-dir")});
        const options::ParseResult line =
            tasks::parse_command_line(options::Command::restore, words, options::process_environment());
        return tasks::restored_arguments(line, files_);
    }

    void add_weights(RunRecord& run) const {
        if (!run.checkpoint) return;
        try {
            run.weights = report::read_weights(files_, run.checkpoint->path);
        } catch (const Error& error) {
            run.missing.push_back(std::string("the histograms of weights: ") + error.what());
        }
    }

    void add_vocabulary(RunRecord& run) const {
        std::vector<std::string> places = {run.argument("vocab_file"), run.folder + "/vocab.txt"};
        if (flags_.given("--vocab-file")) places = {flags_.text("--vocab-file")};
        for (const std::string& place : places) {
            const bool asked = flags_.given("--vocab-file");
            if (!asked && (place.empty() || files_.kind(place) != FileKind::file)) continue;
            try {
                if (run.checkpoint) run::is_vocabulary_of(files_, run.checkpoint->path, place);
                run.vocabulary = whole_lines(data::vocabulary_lines(files_, place));
                return;
            } catch (const Error& error) {
                if (asked) throw;
                run.missing.push_back(std::string("the words of the vocabulary: ") + error.what());
            }
        }
    }

    /// The facts that stored predictions must agree with.
    std::map<std::string, std::string> key_of(const RunRecord& run) const {
        return {{"checkpoint", run.checkpoint->name},
                {"checkpoint_header_crc32c", run.checkpoint->header_crc},
                {"data_crc32c", run.checkpoint->data_crc},
                {"data_dir", flags_.given("--data-dir") ? flags_.text("--data-dir") : ""},
                {"samples", flags_.text("--samples")},
                {"program", run::version_line()}};
    }

    void add_predictions(RunRecord& run, const options::ParseResult& arguments) {
        const std::string path = run.folder + "/" + std::string(run::kSamplePredictionsFile);
        const auto key = key_of(run);
        const auto stored = [&](const FileSystem& files, const std::string& at) {
            return report::read_predictions(read_text(files, at));
        };
        try {
            if (exists(files_, path)) run.predictions = stored(files_, path);
            if (run.predictions && run.predictions->key == key) return;
            run.predictions.reset();
            check_outputs(
                files_, {{{"sample predictions", path}, false, "", [&](const FileSystem& files, const std::string& at) {
                              return stored(files, at).has_value();
                          }}});
            const std::string text = compute(run, arguments, key);
            run.predictions = report::read_predictions(text);
            CNNTRAIN_CHECK(run.predictions.has_value(), "predictions that cannot be read");
            keep(path, text);
        } catch (const Error& error) {
            // A page with predictions must not give way to one without because of a wrong --data-dir.
            const bool is_of_run = error.kind() == ErrorKind::diverged;
            if (error.kind() == ErrorKind::internal || (flags_.given("--data-dir") && !is_of_run)) throw;
            run.why_no_predictions = std::string("Predictions of samples could not be computed: ") + error.what();
            log::warning(run.why_no_predictions);
        }
    }

    std::string compute(const RunRecord& run, const options::ParseResult& arguments,
                        const std::map<std::string, std::string>& key) const {
        options::refuse_unavailable(arguments);
        require_run_memory(arguments.settings, options::Command::inference);
        run::SamplePredictionSettings settings;
        settings.checkpoint = run.checkpoint->path;
        settings.key = key;
        settings.most_samples = samples_;
        std::cout << "Predicting validation samples with " << run.checkpoint->name << ": "
                  << (settings.most_samples == 0 ? "all" : "at most " + std::to_string(settings.most_samples))
                  << " (--samples; --no-predictions leaves this out)" << std::endl;
        const run::Host host = process_host(invocation_);
        metrics::Observers observers;
        observers.add(std::make_unique<metrics::Console>(*host.console, metrics::Console::Settings{host.terminal}));
        return run::sample_predictions(tasks::row_of(arguments), arguments, settings, host, observers);
    }

    /// A folder that cannot be written to costs time the next time, no more.
    void keep(const std::string& path, const std::string& text) {
        try {
            write_text(files_, path, text);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::storage) throw;
            log::warning(std::string("the predictions are not kept: ") + error.what());
        }
    }

    const Flags& flags_;
    const Invocation& invocation_;
    FileSystem& files_;
    std::vector<std::string> folders_;
    std::string output_;
    double interval_ = 0;
    std::int64_t samples_ = 0;
};

}  // namespace

CommandFlags report_flags() {
    return {{{"RUN", "", "folder of a run; further folders are of runs to compare it with"},
             {"--output", "", "file of the page (default RUN/report.html)"},
             toggle("--overwrite", "replace a file that this command did not write, or that was changed since"),
             toggle("--watch", "write the page again and again while the run is going"),
             {"--interval", "30", "seconds between two pages of --watch"},
             {"--samples", "1000", "validation samples that are predicted, evenly spread; 0: all"},
             toggle("--no-predictions", "predict no samples: no confusions, no most wrong photos"),
             {"--data-dir", "", "where the data are now; without it, where the run had them"},
             {"--vocab-file", "", "vocabulary of a BERT run, to show words instead of numbers"},
             {"--threads", "0", "threads that compute; 0: one per core"}},
            "\n"
            "One HTML file without scripts, fonts or images from elsewhere: whether the run learned, what\n"
            "limited its speed, what it confuses, what exactly ran, and what differs from other runs.\n"
            "  cnntrain report RUN\n"
            "  cnntrain report RUN EARLIER_RUN --output comparison.html\n"
            "The run may still be going, or have been killed. See cnntrain help run-folders.\n"};
}

int report_command(const Invocation& invocation) {
    bool has_run = false;
    const auto is_another_run = [&](const std::string& word, bool /*follows*/) {
        if (word.starts_with('-')) return false;
        return std::exchange(has_run, true);
    };
    const Flags flags(report_flags(), called(invocation), invocation.arguments, is_another_run);
    if (flags.print_help_if_wanted()) return 0;
    catch_stop_signals();
    return ReportCommand(flags, invocation, posix_files()).run();
}

}  // namespace cnntrain::cli
