#include "cnntrain/insight/run_record.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/profile.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::report {
namespace {

using nlohmann::json;
using Numbers = std::vector<std::int64_t>;

Sample sample_of(const json& row) {
    Sample sample;
    sample.name = row.at(0).get<std::string>();
    sample.label = row.at(1).get<std::int64_t>();
    sample.own = row.at(2).get<double>();
    sample.classes = row.at(3).get<Numbers>();
    sample.probabilities = row.at(4).get<std::vector<double>>();
    sample.probabilities.resize(sample.classes.size());
    return sample;
}

metrics::Calibration calibration_of(const json& document) {
    metrics::Calibration result{document.at("loss").get<double>(), document.at("error").get<double>(), {}};
    for (const json& bin : document.at("bins")) {
        result.bins.push_back({bin.at(0).get<std::int64_t>(), bin.at(1).get<std::int64_t>(), bin.at(2).get<double>()});
    }
    return result;
}

Sequence sequence_of(const json& document) {
    Sequence sequence;
    sequence.tokens = document.at("tokens").get<Numbers>();
    for (const json& one : document.at("masked")) {
        MaskedWord word;
        word.at = one.at("at").get<std::size_t>();
        word.id = one.at("id").get<std::int64_t>();
        word.guesses = one.at("guesses").get<Numbers>();
        word.probabilities = one.at("probabilities").get<std::vector<double>>();
        word.probabilities.resize(word.guesses.size());
        if (word.at < sequence.tokens.size()) sequence.masked.push_back(std::move(word));
    }
    return sequence;
}

/// True for base 64, so that nothing else becomes part of a page.
bool is_base64(const std::string& text) {
    return text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") ==
           std::string::npos;
}

void add_rows(Predictions& result, const json& document) {
    const auto classes = static_cast<std::int64_t>(result.classes.size());
    for (const json& row : document.at("rows")) {
        result.rows.push_back(sample_of(row));
        const Sample& sample = result.rows.back();
        const auto is_known = [&](std::int64_t label) { return label >= 0 && (classes == 0 || label < classes); };
        if (!is_known(sample.label) || !std::ranges::all_of(sample.classes, is_known))
            throw Error(ErrorKind::data, "a class that has no name");
    }
    const auto add_pictures = [&](const json& pictures, std::string Sample::*member) {
        for (const auto& [row, picture] : pictures.items()) {
            std::string text = picture.get<std::string>();
            if (is_base64(text)) result.rows.at(std::stoul(row)).*member = std::move(text);
        }
    };
    add_pictures(document.at("pictures"), &Sample::picture);
    add_pictures(document.value("maps", json::object()), &Sample::map);
    for (const auto& [row, tokens] : document.at("texts").items())
        result.rows.at(std::stoul(row)).tokens = tokens.get<Numbers>();
}

Predictions predictions_of(const json& document) {
    Predictions result;
    result.key = document.at("key").get<std::map<std::string, std::string>>();
    result.split = document.at("split").get<std::string>();
    result.unit_one = document.at("unit").at(0).get<std::string>();
    result.unit_many = document.at("unit").at(1).get<std::string>();
    result.is_real = document.at("real").get<bool>();
    result.samples = document.at("samples").get<std::int64_t>();
    result.seen = document.at("seen").get<std::int64_t>();
    result.left_out = document.value("left_out", std::int64_t{0});
    result.classes = document.at("classes").get<std::vector<std::string>>();
    result.temperature = document.value("temperature", 1.0);
    for (const json& one : document.value("calibration", json::array()))
        result.calibration.push_back(calibration_of(one));
    if (document.contains("rows")) add_rows(result, document);
    if (document.contains("sequences")) {
        for (const json& sequence : document.at("sequences"))
            result.sequences.push_back(sequence_of(sequence));
    }
    return result;
}

}  // namespace

std::optional<Predictions> read_predictions(std::string_view text) {
    try {
        check_json(text);
        return predictions_of(json::parse(text));
    } catch (const Error&) {
        return std::nullopt;
    } catch (const json::exception&) {
        return std::nullopt;
    } catch (const std::out_of_range&) {
        return std::nullopt;
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
}

// Weights of a checkpoint, in groups of adjacent layers.

namespace {

constexpr std::size_t kMostGroups = 24;
constexpr std::int64_t kValuesOfTensor = 4096;

/// The first `parts` parts of a name, without the last part, which names the variable in its layer.
std::string begin_of(const std::string& name, std::size_t parts) {
    const std::string layer = name.substr(0, name.rfind('/'));
    std::size_t end = 0;
    for (std::size_t i = 0; i < parts && end != std::string::npos; ++i)
        end = layer.find('/', end == 0 ? 0 : end + 1);
    return layer.substr(0, end);
}

std::size_t group_count(const std::vector<std::string>& names, std::size_t parts) {
    std::set<std::string> groups;
    for (const std::string& name : names)
        groups.insert(begin_of(name, parts));
    return groups.size();
}

/// Number of parts of the names that distinguish as many groups as a page can show.
std::size_t parts_of_groups(const std::vector<std::string>& names) {
    constexpr std::size_t kMostParts = 8;
    std::size_t parts = 1;
    for (std::size_t more = 2; more <= kMostParts && group_count(names, more) <= kMostGroups; ++more)
        parts = more;
    return parts;
}

/// "all/" if every name begins with it; else "".
std::string shared_begin(const std::vector<std::string>& names) {
    if (names.empty()) return "";
    const std::string begin = names.front().substr(0, names.front().find('/') + 1);
    const bool is_shared = std::ranges::all_of(names, [&](const std::string& name) { return name.starts_with(begin); });
    return is_shared ? begin : "";
}

/// Matrices and kernels; not the optimiser's slots, which are named after their variable plus one part.
std::vector<std::string> weight_names(const weights::CheckpointFile& file) {
    const std::set<std::string> all(file.names().begin(), file.names().end());
    std::vector<std::string> names;
    for (const std::string& name : file.names()) {
        const std::size_t slash = name.rfind('/');
        const bool is_slot = slash != std::string::npos && all.contains(name.substr(0, slash));
        if (!is_slot && file.desc(name).shape.size() >= 2) names.push_back(name);
    }
    return names;
}

/// Numbers in names count as numbers: "layer_2" comes before "layer_10".
struct NaturalOrder {
    bool operator()(const std::string& a, const std::string& b) const {
        const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
        std::size_t i = 0;
        std::size_t k = 0;
        while (i < a.size() && k < b.size()) {
            if (!is_digit(a[i]) || !is_digit(b[k])) {
                if (a[i] != b[k]) return a[i] < b[k];
                ++i, ++k;
                continue;
            }
            const std::size_t from_a = i;
            const std::size_t from_b = k;
            while (i < a.size() && is_digit(a[i]))
                ++i;
            while (k < b.size() && is_digit(b[k]))
                ++k;
            if (i - from_a != k - from_b) return i - from_a < k - from_b;
            if (const int order = a.compare(from_a, i - from_a, b, from_b, k - from_b); order != 0) return order < 0;
        }
        return a.size() - i < b.size() - k;
    }
};

void add_tensor(WeightGroup& group, const HostTensor& tensor) {
    ++group.tensors;
    group.elements += tensor.desc().elements();
    const std::int64_t step = std::max<std::int64_t>(1, tensor.elements() / kValuesOfTensor);
    for (std::int64_t i = 0; i < tensor.elements(); i += step) {
        const double value = tensor.at(i);
        if (std::isfinite(value)) {
            group.values.push_back(value);
        } else {
            ++group.not_finite;
        }
    }
}

}  // namespace

std::vector<WeightGroup> read_weights(const FileSystem& files, const std::string& checkpoint_path) {
    const weights::CheckpointFile file(files, checkpoint_path);
    const std::vector<std::string> names = weight_names(file);
    const std::size_t parts = parts_of_groups(names);
    const std::string shared = shared_begin(names);
    std::map<std::string, WeightGroup, NaturalOrder> groups;
    for (const std::string& name : names) {
        WeightGroup& group = groups[begin_of(name, parts)];
        group.name = begin_of(name, parts);
        if (group.name.starts_with(shared)) group.name.erase(0, shared.size());
        add_tensor(group, file.read(name));
    }
    std::vector<WeightGroup> result;
    for (auto& [name, group] : groups)
        result.push_back(std::move(group));
    return result;
}

namespace {

// Reads a run's log.txt.

/// Removes the date of lines such as "2022-10-03 11:38:35.000123: I step: ...".
std::string_view undated(std::string_view line) {
    constexpr std::string_view kForm = "dddd-dd-dd dd:dd:dd.dddddd: I ";
    if (line.size() < kForm.size()) return line;
    for (std::size_t i = 0; i < kForm.size(); ++i) {
        const bool is_digit = line[i] >= '0' && line[i] <= '9';
        if (kForm[i] == 'd' ? !is_digit : line[i] != kForm[i]) return line;
    }
    return line.substr(kForm.size());
}

/// The number that follows the last `word` of a line; kUnknown if there is none.
double number_behind(std::string_view line, std::string_view word) {
    const std::size_t at = line.rfind(word);
    if (at == std::string_view::npos) return kUnknown;
    const char* const begin = line.data() + at + word.size();
    double value = 0;
    return std::from_chars(begin, line.data() + line.size(), value).ec == std::errc() ? value : kUnknown;
}

/// The number before `word`; 0 if there is none.
int count_before(const std::string& line, const std::string& word) {
    const std::size_t end = line.find(word);
    if (end == std::string::npos) return 0;
    const std::size_t space = line.rfind(' ', end - std::min<std::size_t>(end, 1));
    const std::size_t begin = space == std::string::npos ? 0 : space + 1;
    int value = 0;
    std::from_chars(line.data() + begin, line.data() + end, value);
    return value;
}

/// "4 cores with 8 hyper-threads, a quota of 1.5 processors; threads: 2 compute, 4 prepare input".
void read_cores(LogFacts& facts) {
    facts.core_count = count_before(facts.cores, " core");
    facts.processor_count = std::max(facts.core_count, count_before(facts.cores, " hyper-threads"));
    facts.compute_threads = count_before(facts.cores, " compute");
    const double quota = number_behind(facts.cores, "a quota of ");
    if (!(quota > 0)) return;
    const int granted = std::max(1, static_cast<int>(std::min(quota, 1e6)));
    facts.core_count = std::min(facts.core_count, granted);
    facts.processor_count = std::min(facts.processor_count, granted);
}

double known(double value) {
    return value == value ? value : 0;
}

/// Begins a process: its predecessor's messages about an end do not count any more.
void begin_process(LogFacts& facts, std::string command_line) {
    facts.command_line = std::move(command_line);
    facts.was_stopped = facts.ended_early = facts.finished = false;
    facts.error.clear();
    facts.stages.clear();
    facts.stage_count = 0;
}

/// Lines of the introduction that are kept as they are.
struct Fact {
    std::string_view begin;
    std::string LogFacts::*text;
};
constexpr Fact kFacts[] = {{"Processor: ", &LogFacts::processor},
                           {"Cores: ", &LogFacts::cores},
                           {"Backend: ", &LogFacts::backend},
                           {" Arithmetic: ", &LogFacts::arithmetic},
                           {"error: ", &LogFacts::error}};

/// Lines before the training. Returns false for others.
bool read_introduction(LogFacts& facts, std::string_view line) {
    constexpr std::string_view kCommand = "Command line: ";
    if (line.starts_with(kCommand)) {
        begin_process(facts, std::string(line.substr(kCommand.size())));
        return true;
    }
    for (const Fact& fact : kFacts) {
        if (!line.starts_with(fact.begin)) continue;
        facts.*fact.text = line.substr(fact.begin.size());
        if (fact.text == &LogFacts::cores) read_cores(facts);
        return true;
    }
    if (!line.starts_with("  stage ") || line.find(": weights and states ") == std::string_view::npos) return false;
    facts.stages += std::string(line.substr(2)) + "\n";
    ++facts.stage_count;
    return true;
}

void read_line(LogFacts& facts, std::string_view line) {
    if (read_introduction(facts, line)) return;
    if (line.starts_with("Compilation time: ")) {
        facts.compile_seconds += known(number_behind(line, ": "));
        ++facts.processes;
    } else if (line.starts_with("Saved checkpoint to ")) {
        facts.save_seconds += known(number_behind(line, " in "));
        ++facts.saves;
    } else if (line.starts_with("Training loop completed in ")) {
        facts.finished = true;
    } else if (line.starts_with("Training ends early")) {
        facts.ended_early = true;
    } else if (line.starts_with("Stopped by a signal") || line.starts_with("Validation stopped by a signal")) {
        facts.was_stopped = true;
    } else if (line.starts_with("Gradients of ")) {
        facts.exchange = line;
    }
}

LogFacts read_log(std::string_view text) {
    LogFacts facts;
    for (const std::string_view line : lines_of(text))
        read_line(facts, undated(line));
    return facts;
}

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
    } catch (const json::exception& error) {
        missing.push_back(std::string("arguments.json: damaged, ") + error.what());
    } catch (const Error& error) {  // of check_json()
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

CheckpointFacts facts_of(const FileSystem& files, const weights::Found& found) {
    CheckpointFacts facts;
    facts.path = found.path;
    facts.name = found.name;
    const weights::CheckpointFile file(files, found.path, weights::Edited::refused);
    facts.iteration = file.iteration();
    facts.epoch = file.epoch();
    facts.header_crc = header_crc(files, found.path);
    facts.classes = weights::class_names(file.metadata());
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
        return facts_of(files, weights::best_or_latest(files, "RUN", folder));
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
    if (!has_records && run.checkpoint && folder_of(run.checkpoint->path) != run.folder) {
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

namespace {

constexpr std::size_t kMostColumns = 10'000;

/// Reads one row of RFC 4180 from `text` at `at`: appends at most `most` cells to `cells` and their ends to `ends`.
/// Returns the number of cells in the row; 0 if its line end is missing.
std::size_t read_row(std::string_view text, std::size_t& at, std::size_t most, std::string& cells,
                     std::vector<std::size_t>& ends) {
    std::size_t count = 1;
    bool quoted = false;
    const auto add = [&](char c) {
        if (count <= most) cells += c;
    };
    const auto end_cell = [&] {
        if (count <= most) ends.push_back(cells.size());
    };
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (quoted) {
            const bool doubled = c == '"' && at + 1 < text.size() && text[at + 1] == '"';
            if (c == '"' && !doubled) {
                quoted = false;
            } else {
                add(c);
                if (doubled) ++at;
            }
        } else if (c == '"') {
            quoted = true;
        } else if (c == ',') {
            end_cell();
            ++count;
        } else if (c == '\n') {
            ++at;
            end_cell();
            return count;
        } else if (c != '\r') {
            add(c);
        }
    }
    return 0;
}

}  // namespace

Table::Table(std::string_view csv) {
    std::size_t at = 0;
    std::string head;
    std::vector<std::size_t> head_ends;
    const std::size_t columns = read_row(csv, at, kMostColumns, head, head_ends);
    if (columns > kMostColumns) return;
    for (std::size_t i = 0, begin = 0; i < columns; begin = head_ends[i++])
        columns_.push_back(head.substr(begin, head_ends[i] - begin));
    std::size_t complete = 0;
    while (columns > 0 && read_row(csv, at, columns, cells_, ends_) > 0) {
        complete += columns;
        ends_.resize(complete, cells_.size());  // cells that the row lacks are empty
    }
    ends_.resize(complete);
}

std::ptrdiff_t Table::place(std::string_view column) const {
    const auto found = std::ranges::find(columns_, column);
    return found == columns_.end() ? -1 : found - columns_.begin();
}

std::string_view Table::text(std::size_t row, std::string_view column) const {
    const std::ptrdiff_t found = place(column);
    if (found < 0) return {};
    const std::size_t cell = row * columns_.size() + static_cast<std::size_t>(found);
    const std::size_t begin = cell == 0 ? 0 : ends_.at(cell - 1);
    return std::string_view(cells_).substr(begin, ends_.at(cell) - begin);
}

double Table::number(std::size_t row, std::string_view column) const {
    return as_number<double>(text(row, column)).value_or(kUnknown);
}

std::vector<double> Table::numbers(std::string_view column) const {
    std::vector<double> numbers;
    for (std::size_t row = 0; row < rows(); ++row) {
        const double value = number(row, column);
        if (std::isfinite(value)) numbers.push_back(value);
    }
    return numbers;
}

}  // namespace cnntrain::report
