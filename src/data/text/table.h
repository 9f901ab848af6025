// Tables in text files: rows of cells, separated by tabs or commas. TSV: a cell is any text without tabs and line ends;
// quotes are ordinary characters. CSV: RFC 4180; a quoted cell may contain commas, line ends and doubled quotes. JSON
// lines (https://jsonlines.org): an object in each line, whose keys in the first one are the header, the first row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::data {

enum class TableFormat : std::uint8_t { tsv, csv, json_lines };

/// Longer rows are an error: a closing quote is missing, or the file is not a table.
inline constexpr std::size_t kLongestRow = std::size_t{1} << 20;  // bytes

/// The format by the extension of the file name; otherwise TSV if the first line contains a tab, else CSV.
TableFormat table_format(std::string_view path, std::string_view text);

/// The text without a byte order mark. Error(data) gives the line of bytes that are not UTF-8, or of a zero byte.
std::string_view checked_utf8(std::string_view text, const std::string& path);

/// "FILE:12".
std::string place_in(const std::string& path, std::int64_t line);

/// Cells for a message: "'a', 'b' and 3 more". Long cells are cut; control characters become blanks.
std::string quoted_cells(const std::vector<std::string>& cells);

/// Sorts the names of classes, by value if all are whole numbers, and leaves one of equal names.
void sort_classes(std::vector<std::string>& names);

struct TableRow {
    std::vector<std::string_view> cells;
    std::int64_t line = 0;  // where the row begins, counted from 1
};

class TableReader {
public:
    /// Cells are views of `text`, which must outlive them. Quoted cells and values of JSON are rewritten in place,
    /// without their quotes. `joint`: what joins the elements of a list of JSON to a cell; '\0': lists are refused.
    TableReader(std::string& text, TableFormat format, std::string path, char joint = '\0');

    /// Reads the next non-empty row; returns false at the end. Error(data) gives the line of a quote that is not
    /// closed, of text after a closing quote, of a row that is too long, or of a line that is no object of texts,
    /// numbers, booleans and nulls (an empty cell) with the header's keys.
    bool next(TableRow& row);

private:
    void read_row(TableRow& row);
    bool next_object(TableRow& row);
    std::string_view written(std::string_view text);
    std::string_view read_plain_cell();
    std::string_view read_quoted_cell();
    bool at_line_end() const;
    [[noreturn]] void fail(const std::string& what) const;

    std::string& text_;
    TableFormat format_;
    char separator_;
    bool has_quotes_;
    std::string path_;
    char joint_;
    std::size_t at_ = 0;
    std::int64_t line_ = 1;  // line number at `at_`
    std::int64_t row_line_ = 1;
    std::size_t row_begin_ = 0;
    // JSON lines:
    std::vector<std::string> keys_;              // of the first line
    std::vector<std::string_view> first_cells_;  // its values, which follow the header
    std::size_t written_ = 0;                    // end of the values in the text
};

// Tables of samples with any number of labels, in one cell or in columns of 0 and 1.

/// The columns in which each row has 0 or 1 (or 0.0 and 1.0), but for those in `used`.
std::vector<std::size_t> flag_columns(std::span<const TableRow> rows, std::span<const std::size_t> used);
/// The names of the columns in which this row has 1, joined.
std::string names_of_flags(const TableRow& row, std::span<const std::size_t> columns,
                           std::span<const std::string> header, char joint);
/// The parts of a cell without blanks around them, without empty ones.
std::vector<std::string> split_labels(std::string_view cell, char separator);

}  // namespace cnntrain::data
