#include "cnntrain/metrics/csv_files.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "cnntrain/base/error.h"

namespace cnntrain::metrics {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

std::string validation_path(const std::string& folder) {
    return folder + "/validation.csv";
}

/// "" for a row that no file keeps.
std::string path_of(const Record& row, const std::string& folder) {
    if (row.table == kTraining) return folder + "/training.csv";
    if (row.table == kValidation || row.table == kInference) return validation_path(folder);
    return "";
}

/// False when the file has no columns yet; Error(usage) when it has others.
bool check_columns(const FileSystem& files, const std::string& path, const Record& row) {
    if (!files.exists(path)) return false;
    const std::unique_ptr<InputFile> file = files.open(path);
    if (file->size_bytes() == 0) return false;
    const std::string expected = csv_header(row).append(kLineEnd);
    std::string there(std::min<std::uint64_t>(file->size_bytes(), expected.size()), '\0');
    file->read_at(0, std::as_writable_bytes(std::span(there)));
    if (there == expected) return true;
    throw Error(ErrorKind::usage,
                path + ": is there with other columns than " + csv_header(row) + "; choose another --logs-path");
}

}  // namespace

void CsvFiles::expect(const Record& row) {
    const std::string path = path_of(row, folder_);
    if (path.empty() || check_columns(files_, path, row)) return;
    files_.append(path, csv_header(row).append(kLineEnd));
}

void CsvFiles::row(const Record& row) {
    const std::string path = path_of(row, folder_);
    if (path.empty()) return;
    expect(row);
    files_.append(path, csv_row(row).append(kLineEnd));
}

bool is_validated(const FileSystem& files, const std::string& folder, std::string_view name) {
    const std::string path = validation_path(without_trailing_slashes(folder));
    if (!files.exists(path)) return false;
    return files.read_text(path).find("\n" + std::string(name) + ",") != std::string::npos;
}

}  // namespace cnntrain::metrics
