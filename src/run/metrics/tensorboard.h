// TensorBoard event files: `events.out.tfevents.<seconds>.<host>` in the run's folder.
//
// A file of TFRecords: u64 little-endian length, its masked CRC-32C, the record, its masked CRC-32C. Each record is an
// Event message of tensorflow/core/util/event.proto, of which these fields are written:
//
//   Event       1 double wall_time, 2 int64 step, 3 string file_version, 5 Summary summary, 7 SessionLog session_log
//   Summary     1 repeated Value value        Value  1 string tag, 2 float simple_value, 5 HistogramProto histo
//   HistogramProto  1 double min, 2 double max, 3 double num, 4 double sum, 5 double sum_squares, 6 repeated double
//                   bucket_limit, 7 repeated double bucket (6 and 7 packed)
//   SessionLog  1 enum status (1: START)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cnntrain/base/io.h"
#include "cnntrain/run/observer.h"

namespace cnntrain::metrics {

struct TensorBoardSettings {
    std::string folder;
    std::string host;
    /// The first new iteration of a resumed run. TensorBoard discards what an earlier, killed process logged from there
    /// on.
    std::optional<std::int64_t> resumed_at = {};
    /// Seconds since 1970; empty: the system's clock.
    std::function<double()> clock = {};
};

/// Writes one scalar for every number of a row, named `<table>/<column>` ("training/loss_avg"), at the row's iteration.
/// Rows whose curves have separate points write those instead. Starts a new file at the first row; every row is in the
/// file when row() returns. A distribution becomes a histogram with the variable's name, and its norm the scalar
/// L2/<name>.
class TensorBoard final : public Handles<TensorBoard> {
public:
    TensorBoard(FileSystem& files, TensorBoardSettings settings);

    /// Draws the points of logged rows and of curves.
    void handle(const Row& row);
    void handle(const Distribution& distribution);

private:
    /// Starts the file if necessary.
    void add_summary(std::int64_t iteration, const std::string& summary);
    /// `iteration`: of the first event.
    void begin_file(std::int64_t iteration);
    void append(const std::string& event);

    FileSystem& files_;
    TensorBoardSettings settings_;
    std::string path_;  // empty until the first row
};

}  // namespace cnntrain::metrics
