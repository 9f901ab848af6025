// training.csv, validation.csv, time_split.csv and ranks.csv in the run's folder. Inference measurements go into
// validation.csv with their own columns.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "cnntrain/base/io.h"
#include "cnntrain/run/observer.h"

namespace cnntrain::metrics {

// Tables of where the time went: of the updates since the last row, and of each rank.
inline constexpr std::string_view kTimesFile = "time_split.csv";
inline constexpr std::string_view kRanksFile = "ranks.csv";

/// Writes a new file's header as soon as rows are expected. A resumed run appends to existing files, including files of
/// earlier versions without Record::later_fields.
class CsvFiles final : public Handles<CsvFiles> {
public:
    CsvFiles(FileSystem& files, std::string folder)
        : files_(files), folder_(without_trailing_slashes(std::move(folder))) {}

    /// Announced rows make the files' headers; points of curves have no file.
    void handle(const Row& row);

private:
    /// Writes the header of a new file. Returns the row in the form that the file accepts.
    Record begin(const Record& row, const std::string& path);

    FileSystem& files_;
    std::string folder_;
};

/// True if the folder's validation.csv has a row with this name.
bool is_validated(const FileSystem& files, const std::string& folder, std::string_view name);

}  // namespace cnntrain::metrics
