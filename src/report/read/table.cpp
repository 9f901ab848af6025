#include <algorithm>
#include <charconv>

#include "cnntrain/report/run_record.h"

namespace cnntrain::report {

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
    const std::string_view word = text(row, column);
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() ? value : kUnknown;
}

}  // namespace cnntrain::report
