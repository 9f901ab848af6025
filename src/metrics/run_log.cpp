#include "cnntrain/metrics/run_log.h"

#include "cnntrain/base/error.h"

namespace cnntrain::metrics {
namespace {

constexpr const char* kLog = "log.txt";
constexpr const char* kTrainingCsv = "training.csv";
constexpr const char* kValidationCsv = "validation.csv";
constexpr std::string_view kCsvLineEnd = "\r\n";

}  // namespace

RunLog::RunLog(FileSystem& files, std::ostream& console, RunLogSettings settings)
    : files_(files),
      console_(console),
      settings_(std::move(settings)),
      progress_(console, settings_.terminal ? settings_.terminal_width : 0) {
    if (!settings_.folder.empty() && !settings_.folder.ends_with('/')) settings_.folder += '/';
}

void RunLog::line(std::string_view text) {
    console_line(text);
    if (!settings_.folder.empty()) files_.append(settings_.folder + kLog, std::string(text) + "\n");
}

void RunLog::console_line(std::string_view text) {
    progress_.erase();
    // Flushed, so that a pipe or a file shows it at once.
    console_ << text << std::endl;
}

void RunLog::training(const TrainingRow& row) {
    line(printed(row));
    append_csv(kTrainingCsv, record(row));
    pass_on(record(row));
}

void RunLog::validation(const ValidationRow& row) {
    line(printed(row));
    append_csv(kValidationCsv, record(row));
    pass_on(record(row));
}

void RunLog::inference(const InferenceRow& row) {
    console_line(printed(row.latencies));
    line(printed(row));
    append_csv(kValidationCsv, record(row));
    pass_on(record(row));
}

void RunLog::expect_validations(const Record& row) const {
    if (!settings_.folder.empty()) check_columns(kValidationCsv, row);
}

void RunLog::add_sink(std::unique_ptr<Sink> sink) {
    sinks_.push_back(std::move(sink));
}

void RunLog::nans(const NanRow& row) {
    pass_on(record(row));
}

void RunLog::status(std::string_view key, std::string_view value) {
    for (const auto& sink : sinks_)
        sink->status(key, value);
}

bool RunLog::has_validation(std::string_view name) const {
    const std::string path = settings_.folder + kValidationCsv;
    if (settings_.folder.empty() || !files_.exists(path)) return false;
    const std::string text = files_.read_text(path);
    return text.find("\n" + std::string(name) + ",") != std::string::npos;
}

bool RunLog::check_columns(const std::string& name, const Record& record) const {
    const std::string path = settings_.folder + name;
    if (!files_.exists(path)) return false;
    const std::unique_ptr<InputFile> file = files_.open(path);
    if (file->size_bytes() == 0) return false;
    const std::string expected = csv_header(record).append(kCsvLineEnd);
    std::string there(std::min<std::uint64_t>(file->size_bytes(), expected.size()), '\0');
    file->read_at(0, std::as_writable_bytes(std::span(there)));
    if (there == expected) return true;
    throw Error(ErrorKind::usage,
                path + ": is there with other columns than " + csv_header(record) + "; choose another --logs-path");
}

void RunLog::append_csv(const std::string& name, const Record& record) {
    if (settings_.folder.empty()) return;
    const std::string path = settings_.folder + name;
    std::string text;
    if (!check_columns(name, record)) text.append(csv_header(record)).append(kCsvLineEnd);
    files_.append(path, text.append(csv_row(record)).append(kCsvLineEnd));
}

void RunLog::pass_on(const Record& record) {
    for (const auto& sink : sinks_)
        sink->add(record);
}

}  // namespace cnntrain::metrics
