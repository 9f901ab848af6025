#include "run/metrics/csv_files.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <sstream>
#include <vector>

#include "cnntrain/base/error.h"

namespace cnntrain::metrics {
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
    const std::unique_ptr<InputFile> file = files.open(path);
    std::string there(std::min<std::uint64_t>(file->size_bytes(), longest.size() + kMoreColumns), '\0');
    file->read_at(0, std::as_writable_bytes(std::span(there)));
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
