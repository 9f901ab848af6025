// Implements benchmark.h: runs the processes of a request one after the other and writes their results to disk.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/launch/benchmark.h"
#include "cnntrain/launch/poprun.h"
#include "launch/benchmark/command.h"
#include "launch/benchmark/measure.h"
#include "launch/benchmark/spec.h"
#include "launch/process.h"

namespace cnntrain::benchmark {
namespace {

namespace fs = std::filesystem;
using launch::ProcessEnd;
using launch::ProcessRequest;
using launch::ProcessResult;
using launch::quoted;
using launch::Stream;

std::string now_text() {
    return clock_text("%Y-%m-%d %H:%M:%S");
}

/// Name of a new log folder: "log_2026-01-31-12.34.56.123456".
std::string new_log_folder() {
    const Moment now = std::chrono::system_clock::now();
    return "log_" + clock_text("%Y-%m-%d-%H.%M.%S", now) +
           formatted(".%06lld", below_second<std::chrono::microseconds>(now));
}

/// The runner's own log, on the terminal and in console.log, with a progress line below it on the terminal.
constexpr const char* kJsonResults = "benchmark_results.json";
constexpr const char* kCsvResults = "benchmark_results.csv";
constexpr const char* kXmlResults = "benchmark_results.xml";

class Notes {
public:
    Notes(const Host& host, LogLevel least, std::string file) : host_(host), least_(least), file_(std::move(file)) {}
    ~Notes() { erase(); }
    Notes(const Notes&) = delete;
    Notes& operator=(const Notes&) = delete;

    void info(const std::string& text) { line(LogLevel::info, "INFO", text); }
    void warning(const std::string& text) { line(LogLevel::warning, "WARNING", text); }
    void error(const std::string& text) { line(LogLevel::error, "ERROR", text); }

    void progress(const std::string& text) {
        if (host_.terminal_width < 1) return;
        erase();
        const std::string shown = text.substr(0, static_cast<std::size_t>(host_.terminal_width - 1));
        *host_.notes << shown << std::flush;
        length_ = shown.size();
    }
    void erase() {
        if (length_ > 0) *host_.notes << '\r' << std::string(length_, ' ') << '\r' << std::flush;
        length_ = 0;
    }

private:
    void line(LogLevel level, const char* name, const std::string& text) {
        if (level < least_) return;
        erase();
        const std::string whole = std::string("[") + name + "] " + now_text() + ": " + text + "\n";
        *host_.notes << whole << std::flush;
        if (!file_.empty()) host_.files->append(file_, whole);
    }

    const Host& host_;
    LogLevel least_;
    std::string file_;
    std::size_t length_ = 0;
};

/// Replaces a missing spec file by the shipped spec of the same name.
std::vector<std::string> found_specs(const Request& request, const Host& host, std::vector<std::string>& notices) {
    std::vector<std::string> found;
    for (const std::string& file : request.spec_files) {
        std::string path = file;
        for (const std::string& folder : host.spec_folders) {
            const fs::path shipped = fs::path(folder) / fs::path(file).filename();
            if (fs::exists(path) || !fs::exists(shipped)) continue;
            path = shipped;
            notices.push_back("--spec " + file + " is not there: using the shipped " + path);
        }
        found.push_back(path);
    }
    return found;
}

struct Job {
    const Entry* entry = nullptr;
    Variant variant;
    std::string name;
    PlannedCommand command;
};

struct Plan {
    Spec spec;
    std::vector<Job> jobs;
    std::vector<std::string> notices;  // without duplicates
    std::vector<std::string> warnings;
};

Plan make_plan(const Request& request, const Host& host) {
    Plan plan;
    plan.spec = read_spec(found_specs(request, host, plan.notices));
    plan.warnings = plan.spec.warnings;
    for (const Entry* entry : select(plan.spec, request.benchmarks, request.include_convergence)) {
        for (const Metric& metric : entry->metrics) {
            if (metric.regexp.find('"') == std::string::npos) continue;
            plan.warnings.push_back(entry->name + ": the pattern of " + metric.name + ", " + metric.regexp +
                                    ", holds a quote, which no program prints: it will never match");
        }
        for (const Variant& variant : entry->variants) {
            Job job{entry, variant, variant_name(*entry, variant), plan_command(*entry, variant, request, host)};
            for (const std::string& notice : job.command.notices) {
                const std::string text = entry->name + ": " + notice;
                if (std::ranges::find(plan.notices, text) == plan.notices.end()) plan.notices.push_back(text);
            }
            plan.jobs.push_back(std::move(job));
        }
    }
    return plan;
}

struct Hint {
    std::string_view variable;
    std::string_view meaning;
};

constexpr Hint kHints[] = {
    {"DATASETS_DIR", "the folder in which the data sets are, the parent of imagenet-data and tf_wikipedia"},
    {"HOSTS", "comma-separated names or addresses of the hosts to run on"},
    {"TCP_IF_INCLUDE", "the subnet in which all hosts are, for example 10.1.2.0/24"},
};

/// A message about unset variables and the benchmarks that need them; "" if all are set.
std::string unset_variables(const Plan& plan) {
    std::map<std::string, std::vector<std::string>> users;
    for (const Job& job : plan.jobs) {
        for (const std::string& variable : job.command.unset) {
            auto& names = users[variable];
            if (names.empty() || names.back() != job.entry->name) names.push_back(job.entry->name);
        }
    }
    std::string message;
    for (const auto& [variable, names] : users) {
        message += "\n  " + variable;
        const auto* hint = std::ranges::find(kHints, variable, &Hint::variable);
        if (hint != std::end(kHints)) message += ": " + std::string(hint->meaning);
        message += " (needed by " + names.front();
        if (names.size() > 1) message += " and " + std::to_string(names.size() - 1) + " more";
        message += ")";
    }
    return message;
}

constexpr std::size_t kMostLogBytes = std::size_t{16} << 20;  // maximum size of output.log for one variant

constexpr std::string_view kStopped = "stopped";  // reason of a variant that a signal has stopped

std::string one_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

/// The line in which a program reports its error, from the error on; without one, the last line.
std::string error_message(std::string_view text) {
    constexpr std::string_view kMark = "error: ";
    constexpr std::size_t kLongest = 300;
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
        text.remove_suffix(1);
    const std::size_t mark = text.find(kMark);
    const std::size_t begin = mark != std::string_view::npos ? mark + kMark.size() : text.find_last_of("\r\n") + 1;
    text.remove_prefix(std::min(begin, text.size()));
    const std::string message(text.substr(0, text.find_first_of("\r\n")));
    return message.size() <= kLongest ? message : message.substr(0, kLongest) + "...";
}

/// Programs that only say what they would do, or compile, print no metrics.
bool measures_nothing(const Request& request) {
    return request.compile_only || std::ranges::any_of(request.overrides, [](const Override& override) {
               return override.name == "dry-run" || override.name == "print-config";
           });
}

class Runner {
public:
    Runner(const Request& request, const Host& host)
        : request_(request),
          host_(host),
          plan_(make_plan(request, host)),
          folder_(fs::absolute(request.log_folder ? *request.log_folder : new_log_folder())),
          notes_(host, request.log_level, folder_ / "console.log") {}

    int run() {
        const std::string unset = unset_variables(plan_);
        if (!unset.empty()) throw Error(ErrorKind::data, "variables of the environment that are not set:" + unset);
        check_results();
        host_.files->make_directories(folder_);
        introduce();
        for (const Job& job : plan_.jobs) {
            if (stop_requested()) break;
            run_variant(job);
            write_results();
            if (request_.stop_on_error && results_.back().status == Status::failed) break;
        }
        return conclude();
    }

private:
    /// Results of an earlier call, whose log is beside them, are replaced.
    void check_results() const {
        const auto is_own = [&](const FileSystem& files, const std::string&) {
            return exists(files, folder_ / "console.log");
        };
        std::vector<cnntrain::Output> outputs;
        for (const char* name : {kJsonResults, kCsvResults, kXmlResults})
            outputs.push_back({{"--log-dir:", (folder_ / name).string()}, false, "", is_own});
        check_outputs(*host_.files, outputs);
    }

    bool stop_requested() const { return host_.stop_requested && host_.stop_requested(); }

    void introduce() {
        notes_.info("Logs at: " + folder_.string());
        for (const std::string& file : plan_.spec.files)
            notes_.info("Spec: " + file);
        notes_.info("Output of all processes: " + (folder_ / "output.log").string());
        for (const std::string& notice : plan_.notices)
            notes_.info(notice);
        for (const std::string& warning : plan_.warnings)
            notes_.warning(warning);
        for (const Job& job : plan_.jobs) {
            if (!job.command.skip_reason.empty())
                notes_.warning(job.name + " cannot run here: " + job.command.skip_reason);
        }
    }

    void announce(const Job& job, const VariantResult& result) {
        notes_.info("Benchmark: " + job.entry->name + ", variant " + job.name + " (" +
                    std::to_string(results_.size() + 1) + " of " + std::to_string(plan_.jobs.size()) + ")");
        notes_.info("   command = " + job.command.shown);
        notes_.info("   started as = " + quoted(job.command.words));
        for (const auto& [name, value] : job.command.added)
            notes_.info("   environment: " + name + "=" + value);
        notes_.info("   folder = " + job.command.folder);
        const auto data = job.command.environment.find("DATASETS_DIR");
        if (data != job.command.environment.end()) notes_.info("   data sets = " + data->second);
        notes_.info("   start = " + result.start_time);
    }

    ProcessResult start(const Job& job) {
        ProcessRequest process;
        process.words = job.command.words;
        process.environment = job.command.environment;
        process.folder = job.command.folder;
        process.patience = host_.patience;
        process.stop_requested = host_.stop_requested;
        process.timeout_seconds = request_.timeout_seconds;
        if (job.entry->timeout_seconds &&
            (!process.timeout_seconds || *job.entry->timeout_seconds < *process.timeout_seconds))
            process.timeout_seconds = job.entry->timeout_seconds;
        const std::string log = folder_ / "output.log";
        std::string last_line;
        std::size_t room = kMostLogBytes;
        bool cut = false;
        process.on_output = [&](Stream, std::string_view chunk) {
            if (room > 0) host_.files->append(log, chunk.substr(0, room));
            cut = cut || chunk.size() > room;
            room -= std::min(room, chunk.size());
            while (chunk.ends_with('\n'))
                chunk.remove_suffix(1);
            last_line = chunk.substr(chunk.find_last_of("\r\n") + 1);
        };
        const auto begin = std::chrono::steady_clock::now();
        double shown = 0;
        process.on_tick = [&] {
            const double age = seconds_since(begin);
            if (age - shown < request_.progress_seconds) return;
            shown = age;
            const std::string time = duration_text(age);
            notes_.progress("\t" + time.substr(0, time.find('.')) + "  " + last_line);
        };
        ProcessResult result = run_process(process);
        notes_.erase();
        if (cut) host_.files->append(log, "\n[the rest of the output of " + job.name + " is left out]\n");
        if (result.end == ProcessEnd::timed_out) {
            result.err += "Timeout (" + duration_text(*process.timeout_seconds) + ")\n";
            constexpr int kKilled = -9;
            result.exit_code = kKilled;
        }
        return result;
    }

    /// The variant's own folder. The variant's name may contain slashes, exceed the limit of file names, or occur
    /// twice.
    fs::path variant_folder(const Job& job) {
        constexpr std::size_t kLongest = 200;
        std::string name = job.name.substr(0, kLongest);
        std::ranges::replace(name, '/', '_');
        if (name != job.name) name += "_" + hex_text(hash_text(job.name));
        while (!taken_folders_.insert(name).second)
            name += "_again";
        return folder_ / name;
    }

    void run_variant(const Job& job) {
        VariantResult result;
        result.entry = job.entry;
        result.variant = job.variant;
        result.name = job.name;
        result.command = job.command.shown;
        result.environment = job.command.added;
        result.start_time = now_text();
        if (!job.command.skip_reason.empty()) {
            result.status = Status::skipped;
            result.reason = job.command.skip_reason;
            notes_.info("Benchmark: " + job.entry->name + ", variant " + job.name + " skipped: " + result.reason);
        } else {
            announce(job, result);
            execute(job, result);
        }
        if (result.end_time.empty()) result.end_time = now_text();
        results_.push_back(std::move(result));
    }

    void execute(const Job& job, VariantResult& result) {
        ProcessResult process;
        try {
            process = start(job);
        } catch (const Error& error) {
            result.reason = error.what();
            result.exit_code = 127;
            notes_.error("   " + result.reason);
            return;
        }
        const fs::path folder = variant_folder(job);
        host_.files->make_directories(folder);
        result.out_path = folder / "stdout";
        result.err_path = folder / "stderr";
        write_text(*host_.files, result.out_path, process.out);
        write_text(*host_.files, result.err_path, process.err);
        result.exit_code = process.exit_code;
        result.seconds = process.seconds;
        result.end_time = now_text();
        notes_.info("   end = " + result.end_time + ", " + duration_text(process.seconds));
        if (process.left_out_bytes > 0) {
            notes_.warning("   " + std::to_string(process.left_out_bytes) +
                           " bytes of its output are left out of its files and of the metrics");
        }
        judge(job, process, result);
        write_text(*host_.files, folder / "variant_result.json", variant_json(result));
    }

    void judge(const Job& job, const ProcessResult& process, VariantResult& result) {
        const Output output{process.out, process.err};
        if (process.end != ProcessEnd::stopped) result.compile_seconds = compile_seconds(output);
        if (process.end == ProcessEnd::stopped) {
            result.reason = kStopped;
        } else if (process.end == ProcessEnd::timed_out) {
            result.reason = "it took longer than its time limit";
        } else if (process.exit_code < 0) {
            result.reason = "ended by signal " + std::to_string(-process.exit_code);
        } else if (process.exit_code > 0) {
            result.reason = "exit code " + std::to_string(process.exit_code);
            const std::string message = error_message(process.err.empty() ? process.out : process.err);
            if (!message.empty()) result.reason += ": " + message;
        }
        if (!result.reason.empty()) {
            constexpr int kTail = 100;
            const std::string last = tail(process.err.empty() ? process.out : process.err, kTail);
            notes_.error("   " + result.reason + "; last lines of its output:\n" + last);
            return;
        }
        result.status = Status::passed;
        if (measures_nothing(request_)) return;
        measure_all(job, output, result);
        if (result.status == Status::failed && result.exit_code == 0) result.exit_code = 1;
    }

    void measure_all(const Job& job, const Output& output, VariantResult& result) {
        std::map<std::string, std::string> values(job.variant.begin(), job.variant.end());
        const auto note = [&](const std::string& name, Measured measured) {
            if (measured.value) {
                values[name] = number_text(*measured.value);
                notes_.info("   " + name + " = '" + values[name] + "'");
            } else {
                notes_.error("   " + name + " = VALUE_NOT_FOUND: " + measured.failure);
                if (result.reason.empty()) result.reason = one_line(measured.failure);
                result.status = Status::failed;
            }
            result.metrics[name] = std::move(measured);
        };
        const double processes = printed_processes(job.command.words);
        for (const Metric& metric : job.entry->metrics)
            note(metric.name, measure(metric, output, processes));
        for (const DerivedMetric& metric : job.entry->derived)
            note(metric.name, derive(metric, values));
        if (result.compile_seconds)
            notes_.info("   total_compiling_time = '" + number_text(*result.compile_seconds) + "'");
    }

    void write_results() {
        write_text(*host_.files, folder_ / kJsonResults, results_json(results_));
        write_text(*host_.files, folder_ / kCsvResults,
                   results_csv(results_, request_.additional_metrics, request_.csv_metrics));
        write_text(*host_.files, folder_ / kXmlResults, results_xml(results_));
    }

    int conclude() {
        if (!results_.empty())
            notes_.info("Results: " + (folder_ / kCsvResults).string() + " and " + (folder_ / kJsonResults).string());
        *host_.output << tables(results_) << summary(results_) << std::flush;
        if (stop_requested()) {
            const auto stopped = std::ranges::count(results_, kStopped, &VariantResult::reason);
            notes_.warning("stopped by a signal; " +
                           std::to_string(static_cast<std::ptrdiff_t>(results_.size()) - stopped) + " of " +
                           std::to_string(plan_.jobs.size()) + " variants had ended before");
            return kInterruptedExitCode;
        }
        const bool failed =
            std::ranges::any_of(results_, [](const VariantResult& result) { return result.status == Status::failed; });
        return failed ? 1 : 0;
    }

    const Request& request_;
    const Host& host_;
    Plan plan_;
    fs::path folder_;
    Notes notes_;
    std::vector<VariantResult> results_;
    std::set<std::string> taken_folders_;
};

}  // namespace

int run(const Request& request, const Host& host) {
    return Runner(request, host).run();
}

std::string planned_commands(const Request& request, const Host& host) {
    const Plan plan = make_plan(request, host);
    std::string text;
    for (const std::string& warning : plan.warnings)
        text += "warning: " + warning + "\n";
    for (const std::string& notice : plan.notices)
        text += "note: " + notice + "\n";
    const std::string unset = unset_variables(plan);
    if (!unset.empty()) text += "variables of the environment that are not set:" + unset + "\n";
    for (const Job& job : plan.jobs) {
        text += job.name + "\n";
        if (!job.command.skip_reason.empty()) {
            text += "  skipped: " + job.command.skip_reason + "\n";
            continue;
        }
        text += "  folder:  " + job.command.folder + "\n";
        for (const auto& [name, value] : job.command.added)
            text += "  set:     " + name + "=" + value + "\n";
        text += "  command: " + quoted(job.command.words) + "\n";
    }
    return text;
}

std::string list_text(const Request& request, const Host& host) {
    std::vector<std::string> notices;
    const Spec spec = read_spec(found_specs(request, host, notices));
    std::string text;
    for (const std::string& warning : spec.warnings)
        text += "warning: " + warning + "\n";
    std::size_t variants = 0;
    std::size_t entries = 0;
    for (const Entry& entry : spec.entries) {
        if (entry.is_block) continue;
        ++entries;
        variants += entry.variants.size();
        text += entry.name + ": " + std::to_string(entry.variants.size()) +
                (entry.variants.size() == 1 ? " variant" : " variants");
        if (entry.needs_dataset) text += ", needs DATASETS_DIR";
        if (entry.is_convergence) text += ", only when named or with --include-convergence";
        text += "\n";
    }
    return text + std::to_string(entries) + " benchmarks, " + std::to_string(variants) + " variants\n";
}

}  // namespace cnntrain::benchmark
