#include "cnntrain/report/run_record.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/json_check.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/text.h"
#include "cnntrain/checkpoint/file.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/checkpoint/weights_file.h"
#include "cnntrain/profile/output.h"
#include "report/read/log_text.h"

namespace cnntrain::report {

namespace {

using nlohmann::json;

constexpr const char* kDataKey = "data";  // of a checkpoint's metadata: what the data come from

/// The text of a file in the folder; "" and a note if it is not there or cannot be read.
class Reader {
public:
    Reader(const FileSystem& files, RunRecord& run) : files_(files), run_(run) {}

    /// `without`: what the page lacks without the file; "": nothing worth a note.
    std::string text(const std::string& name, const std::string& without) {
        constexpr std::uint64_t kShareOfMemory = 4;  // what is made of the text takes as much again
        const std::string path = run_.folder + "/" + name;
        try {
            if (files_.kind(path) == FileKind::file)
                return read_text(files_, path, memory_left().bytes / kShareOfMemory);
            if (!without.empty()) run_.missing.push_back(name + ": not there; " + without);
        } catch (const Error& error) {
            run_.missing.push_back(name + ": " + error.what());
        }
        return "";
    }

    Table table(const std::string& name, const std::string& without) {
        const std::string csv = text(name, without);
        Table table(csv);
        if (!csv.empty() && !table.has_columns()) run_.missing.push_back(name + ": its first line names no columns");
        return table;
    }

private:
    const FileSystem& files_;
    RunRecord& run_;
};

std::map<std::string, std::string> arguments_in(const std::string& text, std::vector<std::string>& missing) {
    std::map<std::string, std::string> result;
    if (text.empty()) return result;
    try {
        check_json(text);
        const json document = json::parse(text);
        for (const auto& [key, value] : document.items())
            result[key] = value.is_string() ? value.get<std::string>() : value.dump();
    } catch (const std::exception& error) {  // Error of check_json(), json::exception
        missing.push_back(std::string("arguments.json: damaged, ") + error.what());
    }
    return result;
}

std::optional<profile::Profile> profile_in(Reader& reader, std::vector<std::string>& missing) {
    const std::string text = reader.text("profile.json", "");
    if (text.empty()) return {};
    std::optional<profile::Profile> profile = profile::from_json(text);
    if (!profile) missing.push_back("profile.json: damaged, or no profile");
    return profile;
}

std::int64_t samples_in(const json& origins, const char* split) {
    const auto found = origins.find(split);
    if (found == origins.end() || !found->is_object()) return 0;
    return found->value("samples", std::int64_t{0});
}

std::string header_crc(const FileSystem& files, const std::string& path) {
    constexpr std::uint64_t kMost = 1 << 26;
    const auto file = files.open(path);
    std::uint64_t length = 0;
    if (file->size_bytes() < sizeof(length)) return "";
    file->read_at(0, std::as_writable_bytes(std::span(&length, 1)));
    std::string header(std::min({length, kMost, file->size_bytes() - sizeof(length)}), '\0');
    file->read_at(sizeof(length), std::as_writable_bytes(std::span(header)));
    return hex_text(crc32c(std::as_bytes(std::span(header))));
}

CheckpointFacts facts_of(const FileSystem& files, const checkpoint::Found& found) {
    CheckpointFacts facts;
    facts.path = found.path;
    facts.name = found.name;
    const checkpoint::CheckpointFile file(files, found.path, checkpoint::Edited::refused);
    facts.iteration = file.iteration();
    facts.epoch = file.epoch();
    facts.header_crc = header_crc(files, found.path);
    facts.classes = checkpoint::class_names(file.metadata());
    const auto data = file.metadata().find(kDataKey);
    if (data == file.metadata().end()) return facts;
    facts.data_crc = hex_text(crc32c(std::as_bytes(std::span(data->second))));
    const json origins = json::parse(data->second, nullptr, /*allow_exceptions=*/false);
    if (!origins.is_object()) return facts;
    facts.training_samples = samples_in(origins, "training");
    facts.validation_samples = samples_in(origins, "validation");
    return facts;
}

/// The last iteration of the training's table; -1 if it has no rows.
double last_iteration(const Table& training) {
    return training.rows() == 0 ? -1 : training.number(training.rows() - 1, "iteration");
}

bool is_planned_end(const RunRecord& run) {
    const std::string planned = run.argument("planned_iterations");
    return !planned.empty() && last_iteration(run.training) >= std::atof(planned.c_str());
}

std::string folder_of(const std::string& path) {
    return path.substr(0, path.find_last_of('/'));
}

bool is_directly_in(const std::string& path, const std::string& folder) {
    return folder_of(path) == folder;
}

/// Tables of other programs have other columns.
bool has_iterations(const Table& table) {
    return table.rows() > 0 && table.has("iteration");
}

End end_of(const RunRecord& run, bool is_going) {
    if (is_going) return End::going;
    if (run.log.ended_early && run.log.finished) return End::early;
    if (run.log.finished || is_planned_end(run)) return End::finished;
    if (!run.log.error.empty()) return End::diverged;
    if (run.log.was_stopped) return End::stopped;
    const bool knows = !run.log.command_line.empty() || !run.argument("planned_iterations").empty();
    return knows ? End::killed : End::unknown;
}

}  // namespace

std::string RunRecord::argument(std::string_view key) const {
    const auto found = arguments.find(std::string(key));
    return found == arguments.end() || found->second == "null" ? "" : found->second;
}

bool RunRecord::has_trained_weights() const {
    if (!checkpoint) return false;
    return checkpoint->iteration > 0 || argument("head_only") == "true" || argument("head_first") == "true";
}

void name_apart(std::vector<RunRecord>& runs) {
    std::map<std::string, int> counts;
    for (const RunRecord& run : runs)
        ++counts[run.name];
    for (RunRecord& run : runs) {
        if (counts.at(run.name) > 1) run.name = run.folder;
    }
}

std::optional<CheckpointFacts> read_checkpoint(const FileSystem& files, const std::string& folder) {
    try {
        return facts_of(files, checkpoint::best_or_latest(files, "RUN", folder));
    } catch (const Error&) {
        return std::nullopt;
    }
}

RunRecord read_run(const FileSystem& files, const std::string& folder, bool is_going) {
    RunRecord run;
    run.folder = without_trailing_slashes(folder);
    if (files.kind(run.folder) != FileKind::directory) {
        throw Error(ErrorKind::not_found, folder + ": there is no such folder; give the folder of a run, which holds " +
                                              "arguments.json and training.csv");
    }
    Reader reader(files, run);
    run.arguments = arguments_in(reader.text("arguments.json", "options are unknown"), run.missing);
    run.training = reader.table("training.csv", "there are no curves of the training");
    run.validation = reader.table("validation.csv", "nothing was validated");
    run.classes = reader.table("validation_classes.csv", "");
    run.times = reader.table("time_split.csv",
                             "what limited the speed is not recorded (the run is of an earlier "
                             "version, or has no log line yet)");
    run.ranks = reader.table("ranks.csv", "");
    run.profile = profile_in(reader, run.missing);
    run.log = read_log(reader.text("log.txt", "the command line and the processor are unknown"));
    run.checkpoint = read_checkpoint(files, run.folder);
    const bool has_records = run.arguments.contains("checkpoint_path") || has_iterations(run.training) ||
                             has_iterations(run.validation) || !run.log.command_line.empty();
    if (!has_records && run.checkpoint && !is_directly_in(run.checkpoint->path, run.folder)) {
        throw Error(ErrorKind::not_found, folder + ": holds no run itself; give the folder of a run in it, such as " +
                                              folder_of(run.checkpoint->path));
    }
    if (!has_records && !run.checkpoint) {
        throw Error(ErrorKind::not_found,
                    folder + ": holds no run: no arguments.json, table, log.txt or checkpoint of cnntrain is there");
    }
    if (!run.checkpoint) run.missing.emplace_back("checkpoint: none that can be read; there are no predictions");
    run.name = std::string(last_part(run.folder));
    run.log.host = run.argument("hostname");
    run.log.date = run.argument("datetime");
    run.end = end_of(run, is_going);
    return run;
}

}  // namespace cnntrain::report
