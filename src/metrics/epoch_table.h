// A training on a screen: a table with a row for each validation, or for each epoch without one.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/metrics/progress.h"
#include "cnntrain/metrics/rows.h"

namespace cnntrain::metrics {

class EpochTable {
public:
    /// A log line of the training, which becomes part of the next row.
    void add_training(const Record& row);
    /// The results of a validation; of several before a row, the last ones are shown.
    void add_validation(const Record& row);
    /// True from the first log line an epoch behind the last row until the next row.
    bool is_due() const { return is_due_; }
    /// True if there are log lines behind the last row.
    bool has_news() const { return epoch_ > shown_; }
    /// The row, below the head where the columns changed since the row before. `progress` is the
    /// training's; without an update yet, there is no rate.
    std::string row(const Progress& progress, bool is_best);

private:
    struct Cell {
        std::string head;
        std::string text;
    };

    double epoch_ = 0;
    double shown_ = 0;  // epoch of the last row
    bool is_due_ = false;
    std::string head_;  // of the last row
    std::vector<Cell> training_;
    std::vector<Cell> validation_;
};

/// A validation that is no part of a table: "ckpt-12 (epoch 3.00): loss 1.8021, accuracy 35.20 %, 812.0 img/s".
std::string validation_text(const Record& row);

}  // namespace cnntrain::metrics
