// The rows of a file of labelled texts, and the columns to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/sets.h"
#include "data/text/table.h"

namespace cnntrain::data {

struct LabelledRow {
    std::string_view text;
    std::string_view pair;   // empty: the file has no second texts
    std::string_view label;  // empty: the file has none, or none is needed
    std::int64_t line = 0;
};

/// Columns by number.
struct LabelledColumns {
    std::size_t count = 0;  // number of columns in the file; by number: those that a row needs
    std::size_t text = 0;
    std::optional<std::size_t> pair;
    std::optional<std::size_t> label;  // may be kLastColumn
    bool has_header = false;
};

/// Checks that texts and labels are not empty and that all rows have the same number of cells, or, with columns by
/// number, enough of them.
class LabelledRows {
public:
    /// Throws Error(data) like open_labelled_text().
    LabelledRows(const FileSystem& files, const LabelledTextSettings& settings);
    LabelledRows(const LabelledRows&) = delete;
    LabelledRows& operator=(const LabelledRows&) = delete;

    const std::vector<LabelledRow>& rows() const { return rows_; }
    const LabelledColumns& columns() const { return columns_; }

private:
    void add(const std::vector<std::string_view>& cells, std::int64_t line, const LabelledTextSettings& settings);
    /// The labels of rows with a column of 0 and 1 for each.
    void read_flags(const std::vector<TableRow>& rows, const TableRow& header, const LabelledTextSettings& settings);

    std::string text_;
    LabelledColumns columns_;
    std::vector<LabelledRow> rows_;
    std::deque<std::string> flags_;  // labels that are not in the text as they are in rows_
};

}  // namespace cnntrain::data
