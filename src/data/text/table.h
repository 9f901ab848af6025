// Tables in text files: rows of cells that are separated by tabs (TSV: a cell is any text without a tab and a line end,
// quotes are part of it) or by commas (CSV as RFC 4180 describes it: a quoted cell may have commas, line ends and
// doubled quotes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::data {

enum class TableFormat : std::uint8_t { tsv, csv };

/// Longer rows are an error: a quote is missing, or the file is no table.
inline constexpr std::size_t kLongestRow = std::size_t{1} << 20;  // bytes

/// By the ending of the file's name; else CSV unless the first line has a tab.
TableFormat table_format(std::string_view path, std::string_view text);

/// Without a byte order mark. Error(data) says in which line `text` has bytes that are no UTF-8, or a zero byte.
std::string_view checked_utf8(std::string_view text, const std::string& path);

/// "FILE:12".
std::string place_in(const std::string& path, std::int64_t line);

struct TableRow {
    std::vector<std::string_view> cells;
    std::int64_t line = 0;  // where it begins, from 1
};

class TableReader {
public:
    /// Cells are views of `text`, which outlives them; those that are quoted are rewritten in place, without their
    /// quotes.
    TableReader(std::string& text, TableFormat format, std::string path);

    /// The next row that is not an empty line; false behind the last one. Error(data) says in which line a quote is not
    /// closed, a closing quote is followed by text, or a row is too long.
    bool next(TableRow& row);

private:
    void read_row(TableRow& row);
    std::string_view read_plain_cell();
    std::string_view read_quoted_cell();
    bool at_line_end() const;
    [[noreturn]] void fail(const std::string& what) const;

    std::string& text_;
    char separator_;
    bool has_quotes_;
    std::string path_;
    std::size_t at_ = 0;
    std::int64_t line_ = 1;  // of `at_`
    std::int64_t row_line_ = 1;
    std::size_t row_begin_ = 0;
};

}  // namespace cnntrain::data
