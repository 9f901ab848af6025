#include <algorithm>
#include <charconv>

#include "cnntrain/report/run_record.h"

namespace cnntrain::report {

namespace {

/// Reads one row of RFC 4180 from `text` at `at`. Returns false if its line end is missing.
bool read_row(std::string_view text, std::size_t& at, std::vector<std::string>& row) {
    row.assign(1, "");
    bool quoted = false;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (quoted) {
            const bool doubled = c == '"' && at + 1 < text.size() && text[at + 1] == '"';
            if (c == '"' && !doubled) {
                quoted = false;
            } else {
                row.back() += c;
                if (doubled) ++at;
            }
        } else if (c == '"') {
            quoted = true;
        } else if (c == ',') {
            row.emplace_back();
        } else if (c == '\n') {
            ++at;
            return true;
        } else if (c != '\r') {
            row.back() += c;
        }
    }
    return false;
}

}  // namespace

Table::Table(std::string_view csv) {
    std::size_t at = 0;
    if (!read_row(csv, at, columns_)) {
        columns_.clear();
        return;
    }
    for (std::vector<std::string> row; read_row(csv, at, row);)
        rows_.push_back(std::move(row));
}

std::ptrdiff_t Table::place(std::string_view column) const {
    const auto found = std::ranges::find(columns_, column);
    return found == columns_.end() ? -1 : found - columns_.begin();
}

std::string_view Table::text(std::size_t row, std::string_view column) const {
    const std::ptrdiff_t found = place(column);
    const std::vector<std::string>& fields = rows_.at(row);
    return found < 0 || found >= std::ssize(fields) ? std::string_view() : fields[static_cast<std::size_t>(found)];
}

double Table::number(std::size_t row, std::string_view column) const {
    const std::string_view word = text(row, column);
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() ? value : kUnknown;
}

}  // namespace cnntrain::report
