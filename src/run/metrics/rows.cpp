#include "cnntrain/run/rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "run/metrics/csv_files.h"

namespace cnntrain::metrics {
namespace {

// Values as cells of a CSV file.

std::string csv_text(std::int64_t value) {
    return std::to_string(value);
}

/// A number as Python prints it: 0.0005, but 5e-05.
std::string csv_text(double value) {
    const double size = std::fabs(value);
    const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                   plain ? std::chars_format::fixed : std::chars_format::scientific)
                         .ptr;
    return {text.data(), end};
}

std::string csv_text(const std::string& value) {
    return csv_field(value);
}

/// The shortest decimal number that rounds to this float32, which is the type in which the learning rate enters the
/// graph: 0.0005 instead of 0.0005000000000000001.
double in_32_bits(double value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(value)).ptr;
    double result = value;
    std::from_chars(text.data(), end, result);
    return result;
}

std::string rate_name(const Unit& unit) {
    return unit.brief + "_per_sec";
}

/// A field for a number that not every run measures.
Field optional_field(std::string name, double value) {
    return {std::move(name), value, value != kNotMeasured};
}

void label(Field& field, const Column& column) {
    field.label = column.label;
    field.percent = column.scale == 100;
}

/// Adds the columns whose `at_end` equals the argument.
void add_results(std::vector<Field>& fields, const std::vector<Column>& columns, const std::vector<double>& results,
                 bool at_end = false) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].at_end != at_end) continue;
        fields.push_back(optional_field(columns[i].name, results.at(i)));
        label(fields.back(), columns[i]);
    }
}

/// A run's checkpoints are points of one curve. A weight average ends at the iteration of one of them and is none: it
/// has a curve of its own, which it shares with its rows at other iterations, "<average>-<iteration>". Empty for
/// checkpoints.
std::string_view own_curve(std::string_view validated) {
    if (!validated.starts_with("weight_avg")) return {};
    const std::size_t dash = validated.rfind('-');
    const bool numbered = dash != std::string_view::npos && is_number(validated.substr(dash + 1));
    return numbered ? validated.substr(0, dash) : validated;
}

}  // namespace

Record record(const TrainingRow& row, const Columns& columns) {
    Record result{kTraining, row.iteration, {}};
    Position at{row.step, row.epoch};
    if (columns.position) {
        at = columns.position(row);
        result.curve_step = at.step;
    }
    std::vector<Field>& fields = result.fields;
    fields = {{"step", at.step}, {"iteration", row.iteration}, {"epoch", at.epoch}, {"lr", in_32_bits(row.lr)}};
    for (std::size_t i = 0; i < columns.training.size(); ++i) {
        fields.push_back({columns.training[i].name + "_batch", row.results.at(i).batch});
        fields.push_back({columns.training[i].name + "_avg", row.results.at(i).average});
        label(fields.back(), columns.training[i]);
    }
    fields.push_back({"it_time", row.it_time});
    fields.push_back({rate_name(columns.unit), row.samples_per_second});
    fields.push_back({"total_time", row.total_time});
    for (const PlannedColumn& column : columns.planned)
        fields.push_back({column.name, column.value(row.iteration)});
    result.later_fields = columns.planned.size();
    result.is_curve_point = !columns.curves.every_host_step;
    for (Field& field : fields) {
        const auto tag = columns.tags.find(field.name);
        if (tag != columns.tags.end()) field.tag = tag->second;
    }
    return result;
}

Record curve_point(const TrainingRow& row, const Columns& columns) {
    Record result = record(row, columns);
    for (const PlannedColumn& column : columns.curves.planned)
        result.fields.push_back({.name = column.name, .value = column.value(row.iteration), .tag = column.name});
    result.is_curve_point = true;
    return result;
}

Record compile_time_point(double seconds, std::int64_t iteration, const Columns& columns) {
    return {kTraining, iteration, {{.name = "compile_time", .value = seconds, .tag = columns.curves.compile_time}}};
}

Record record(const ValidationRow& row, const Columns& columns) {
    Record result{kValidation, row.iteration, {}};
    std::vector<Field>& fields = result.fields;
    fields = {{"name", row.name}, {"iteration", row.iteration}, {"epoch", row.epoch}};
    add_results(fields, columns.validation, row.results);
    fields.push_back({"val_time", row.val_time});
    fields.push_back({"val_size", row.val_size});
    fields.push_back({rate_name(columns.unit), row.samples_per_second});
    fields.push_back(optional_field("latency", row.latency));
    const std::size_t documented = fields.size();
    add_results(fields, columns.validation, row.results, /*at_end=*/true);
    result.later_fields = fields.size() - documented;
    result.more_columns = columns.more_validation;
    if (const std::string_view curve = own_curve(row.name); !curve.empty()) {
        for (Field& field : fields)
            field.tag = "validation/" + std::string(curve) + "/" + field.name;
    }
    return result;
}

std::optional<double> result_of(const ValidationRow& row, const Columns& columns, std::string_view name) {
    const auto found = std::ranges::find(columns.validation, name, &Column::name);
    if (found == columns.validation.end()) return std::nullopt;
    return row.results.at(static_cast<std::size_t>(found - columns.validation.begin()));
}

Record record(const InferenceRow& row, const Columns& columns) {
    Record result{kInference, row.iteration, {}};
    std::vector<Field>& fields = result.fields;
    fields = {{"name", row.name}, {"iteration", row.iteration}, {"epoch", row.epoch}};
    add_results(fields, columns.inference, row.results);
    fields.push_back({"inference_time", row.inference_time});
    fields.push_back({"num_processed_samples", row.num_processed_samples});
    fields.push_back({rate_name(columns.unit), row.samples_per_second});
    fields.push_back({"latency", row.latencies.mean});
    return result;
}

Record record(const NanRow& row) {
    return {kNans,
            row.iteration,
            {{"iteration", row.iteration}, {"nan_count", row.nan_count}, {"nan_variables", row.nan_variables}}};
}

namespace {

void add_times(std::vector<Field>& fields, const UpdateTimes& times) {
    fields.push_back({"update_seconds", times.seconds});
    fields.push_back({"input_wait_seconds", times.input_wait});
    fields.push_back({"exchange_seconds", times.exchange});
    fields.push_back({"exposed_exchange_seconds", times.exposed_exchange});
    fields.push_back({"processor_seconds", times.processor});
    fields.push_back({"queued_seconds", times.queued});
    fields.push_back({"other_programs_seconds", times.others});
    fields.push_back({"page_loads", times.page_loads});
}

}  // namespace

UpdateTimes& UpdateTimes::operator+=(const UpdateTimes& more) {
    updates += more.updates;
    seconds += more.seconds;
    input_wait += more.input_wait;
    exchange += more.exchange;
    exposed_exchange += more.exposed_exchange;
    processor += more.processor;
    queued += more.queued;
    others += more.others;
    page_loads += more.page_loads;
    return *this;
}

Record record(const UpdateTimes& times, std::int64_t iteration) {
    Record result{kTimes, iteration, {{"updates", times.updates}, {"iteration", iteration}}};
    add_times(result.fields, times);
    return result;
}

Record record(const RankTimes& row) {
    Record result{
        kRanks, row.iteration, {{"rank", row.rank}, {"iteration", row.iteration}, {"updates", row.times.updates}}};
    add_times(result.fields, row.times);
    return result;
}

std::string csv_header(const Record& record) {
    return joined(record.fields, ",", [](const Field& field) { return field.name; });
}

std::string csv_row(const Record& record) {
    return joined(record.fields, ",", [](const Field& field) {
        return std::visit([](const auto& value) { return csv_text(value); }, field.value);
    });
}

std::string printed(const Latencies& latencies) {
    return formatted("latency avg: %8.4f ms, latency 99p: %8.4f ms, latency 99p9: %8.4f ms, latency max: %8.4f ms",
                     latencies.mean, latencies.p99, latencies.p99_9, latencies.max);
}

std::string compilation_line(double seconds) {
    return formatted("Compilation time: %.3fs.", seconds);
}

std::string initial_checkpoint_line(std::string_view prefix) {
    return "Saved initial checkpoint to " + std::string(prefix);
}

std::string checkpoint_line(std::string_view prefix, double seconds) {
    return "Saved checkpoint to " + std::string(prefix) + formatted(" in %.3fs", seconds);
}

std::string restoring_line(std::string_view prefix) {
    return "Restoring training from latest checkpoint: " + std::string(prefix);
}

std::string skipped_validation_line(std::string_view name) {
    return "Skipping validation run on checkpoint: " + std::string(name);
}

std::string loop_completed_line(double seconds) {
    return formatted("Training loop completed in %.3fs.", seconds);
}

std::string time_to_train_line(double seconds) {
    return formatted("Time to train: %.3fs.", seconds);
}

namespace {

constexpr std::string_view kLineEnd = "\r\n";

std::string validation_path(const std::string& folder) {
    return folder + "/validation.csv";
}

/// "" for a row that is not stored in a file.
std::string path_of(const Record& row, const std::string& folder) {
    if (row.table == kTraining) return folder + "/training.csv";
    if (row.table == kValidation || row.table == kInference) return validation_path(folder);
    if (row.table == kTimes) return folder + "/" + std::string(kTimesFile);
    if (row.table == kRanks) return folder + "/" + std::string(kRanksFile);
    return "";
}

/// The header line of a file with its line end; empty if there is none yet. Reads at most the length of `longest` and
/// of columns that files of longer rows have in addition.
std::string columns_there(const FileSystem& files, const std::string& path, const std::string& longest) {
    constexpr std::uint64_t kMoreColumns = 1024;
    if (!exists(files, path)) return "";
    const std::string there = beginning_of(files, path, longest.size() + kMoreColumns);
    const std::size_t end = there.find(kLineEnd);
    return end == std::string::npos ? there : there.substr(0, end + kLineEnd.size());
}

/// The columns in the line `there` after those of `header`; none if it does not begin with them.
std::vector<std::string> more_columns(const std::string& there, const std::string& header) {
    std::vector<std::string> columns;
    if (!there.starts_with(header + ",")) return columns;
    std::istringstream rest(there.substr(header.size() + 1, there.find_last_not_of(kLineEnd) - header.size()));
    for (std::string column; std::getline(rest, column, ',');)
        columns.push_back(column);
    return columns;
}

/// The row with the file's columns. The last columns are newer; a file that was started without them continues without
/// them. Columns that the file has after those of the row, and that the row knows, stay empty. Throws Error(usage) if
/// the columns differ otherwise.
Record fitted(const Record& row, const std::string& there, const std::string& path) {
    Record result = row;
    for (const std::string& column : more_columns(there, csv_header(row))) {
        if (std::ranges::find(row.more_columns, column) == row.more_columns.end()) break;
        result.fields.push_back({.name = column, .value = std::string()});
    }
    for (std::size_t left_out = 0; left_out <= row.later_fields; ++left_out) {
        if (csv_header(result).append(kLineEnd) == there) return result;
        result.fields.pop_back();
    }
    throw Error(ErrorKind::usage,
                path + ": is there with other columns than " + csv_header(row) + "; choose another --logs-path");
}

}  // namespace

void CsvFiles::handle(const Row& row) {
    const std::string path = path_of(row.record, folder_);
    if (path.empty() || row.use == Row::Use::drawn) return;
    const Record fitting = begin(row.record, path);
    if (row.use != Row::Use::announced) files_.append(path, csv_row(fitting).append(kLineEnd));
}

Record CsvFiles::begin(const Record& row, const std::string& path) {
    const std::string header = csv_header(row);
    const std::string there = columns_there(files_, path, header);
    if (!there.empty()) return fitted(row, there, path);
    files_.append(path, std::string(header).append(kLineEnd));
    return row;
}

bool is_validated(const FileSystem& files, const std::string& folder, std::string_view name) {
    const std::string path = validation_path(without_trailing_slashes(folder));
    if (!exists(files, path)) return false;
    return read_text(files, path).find("\n" + std::string(name) + ",") != std::string::npos;
}

}  // namespace cnntrain::metrics
