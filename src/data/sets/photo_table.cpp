// Tables of photos: a file and its class in each row, and perhaps its split.
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "data/sets/photo_listing.h"
#include "data/sets/raw_files.h"
#include "data/text/table.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

enum Column : std::size_t { file_column, class_column, split_column, column_count };

/// In lower case.
constexpr std::array<std::array<std::string_view, 10>, column_count> kNames = {{
    {"file", "path", "filename", "file_name", "filepath", "file_path", "image", "image_path", "image_name", "photo"},
    {"class", "label", "category", "class_name", "target", "labels", "label_name", "species", "class_id", "breed"},
    {"split", "set", "subset", "fold", "partition", "", "", "", "", ""},
}};

/// Where each column is; `column_count` for none.
using Columns = std::array<std::size_t, column_count>;

/// The columns of a header; nothing if the row is not one.
std::optional<Columns> columns_of_header(const TableRow& row) {
    Columns columns;
    columns.fill(row.cells.size());
    for (std::size_t cell = 0; cell < row.cells.size(); ++cell) {
        const std::string name = in_lower_case(row.cells[cell]);
        for (std::size_t column = 0; column < column_count; ++column) {
            const bool named = !name.empty() && std::ranges::find(kNames[column], name) != kNames[column].end();
            if (named && columns[column] == row.cells.size()) columns[column] = cell;
        }
    }
    const bool whole = columns[file_column] < row.cells.size() && columns[class_column] < row.cells.size();
    return whole ? std::optional(columns) : std::nullopt;
}

[[noreturn]] void fail_row(const std::string& path, std::int64_t line, const std::string& what) {
    throw Error(ErrorKind::data, place_in(path, line) + ": " + what);
}

std::vector<std::string> texts_of(const TableRow& row) {
    return {row.cells.begin(), row.cells.end()};
}

enum class RowSplit { train, validation, test, none };

RowSplit split_of(std::string_view cell, const std::string& path, std::int64_t line) {
    const std::string text = in_lower_case(cell);
    if (text.empty()) return RowSplit::none;
    if (text == "train" || text == "training") return RowSplit::train;
    if (text == "val" || text == "valid" || text == "validation") return RowSplit::validation;
    if (text == "test" || text == "testing") return RowSplit::test;
    fail_row(path, line, "expected the split train, val, valid, validation or test, got '" + std::string(cell) + "'");
}

/// A row that names a file.
struct Row {
    std::string file;
    std::string class_name;
    RowSplit split;
    std::int64_t line;
};

/// A path as Windows writes it, as it is here.
std::string with_slashes(std::string file) {
    std::ranges::replace(file, '\\', '/');
    return file;
}

class TableFile {
public:
    explicit TableFile(const std::string& path) : path_(path), text_(read_text(posix_files(), path)) {
        text_ = std::string(checked_utf8(text_, path));
    }

    std::vector<Row> rows() {
        TableReader reader(text_, table_format(path_, text_), path_);
        std::vector<Row> result;
        std::optional<Columns> columns;
        TableRow row;
        while (reader.next(row)) {
            if (!columns) {
                const std::optional<Columns> header = columns_of_header(row);
                columns = header ? *header : Columns{0, 1, 2};
                cells_ = row.cells.size();
                check_width(row, header.has_value());
                if (header) continue;
            }
            if (row.cells.size() != cells_) {
                fail_row(path_, row.line,
                         "expected " + std::to_string(cells_) + " columns as in the first row, got " +
                             quoted_cells(texts_of(row)));
            }
            result.push_back(read(row, *columns));
        }
        if (result.empty()) throw Error(ErrorKind::data, path_ + " names no file; " + expected());
        return result;
    }

private:
    static std::string expected() { return "expected a file and its class in each row, and perhaps its split"; }

    void check_width(const TableRow& row, bool is_header) const {
        if (is_header || row.cells.size() == 2 || row.cells.size() == 3) return;
        fail_row(
            path_, row.line,
            expected() + ", or a header that names the columns file and class; got " + quoted_cells(texts_of(row)));
    }

    Row read(const TableRow& row, const Columns& columns) const {
        const auto cell = [&](Column column) {
            return columns[column] < row.cells.size() ? row.cells[columns[column]] : std::string_view();
        };
        if (cell(file_column).empty() || cell(class_column).empty())
            fail_row(path_, row.line, expected() + "; got " + quoted_cells(texts_of(row)));
        return {std::string(cell(file_column)), std::string(cell(class_column)),
                split_of(cell(split_column), path_, row.line), row.line};
    }

    std::string path_;
    std::string text_;
    std::size_t cells_ = 0;
};

}  // namespace

bool is_photo_table(const std::string& path) {
    const std::string extension = lower_extension(path);
    return extension == ".csv" || extension == ".tsv";
}

PhotoListing list_photo_table(const std::string& path) {
    std::vector<Row> rows = TableFile(path).rows();
    PhotoListing listing;
    listing.top = fs::absolute(path).lexically_normal().parent_path().string();
    listing.places = {path, path};
    const auto is_there = [&](const std::string& file) {
        std::error_code failed;
        return fs::exists(fs::path(listing.top) / file, failed);
    };
    if (!is_there(rows.front().file) && is_there(with_slashes(rows.front().file))) {
        for (Row& row : rows)
            row.file = with_slashes(row.file);
    }
    if (!is_there(rows.front().file)) {
        fail_row(path, rows.front().line,
                 "there is no file " + rows.front().file + " in " + listing.top +
                     "; paths are relative to the table, and a header names its columns file, class and split");
    }
    for (const Row& row : rows)
        listing.classes.push_back(row.class_name);
    std::ranges::sort(listing.classes);
    listing.classes.erase(std::unique(listing.classes.begin(), listing.classes.end()), listing.classes.end());
    sort_classes(listing.classes);
    std::map<std::string, std::size_t, std::less<>> numbers;
    for (const std::string& name : listing.classes)
        numbers.emplace(name, numbers.size());

    const bool validates = std::ranges::any_of(rows, [](const Row& row) { return row.split == RowSplit::validation; });
    std::map<std::string, const Row*, std::less<>> seen;
    std::int64_t tests = 0;
    for (const Row& row : rows) {
        const std::string file = fs::path(row.file).lexically_normal().string();
        const auto [found, is_new] = seen.emplace(file, &row);
        if (!is_new) {
            const Row& first = *found->second;
            if (first.class_name == row.class_name && first.split == row.split) {
                listing.unused.push_back({file, Unused::repeated, place_in(path, row.line)});
                continue;
            }
            fail_row(path, row.line,
                     "expected each file once, got " + file + " as in line " + std::to_string(first.line) +
                         ", with another class or split");
        }
        if (row.split == RowSplit::test) {
            listing.unused.push_back({file, Unused::test_data});
            ++tests;
            continue;
        }
        std::optional<Split> split;
        if (row.split == RowSplit::validation) split = Split::validation;
        if (row.split == RowSplit::train && validates) split = Split::train;
        if (row.split == RowSplit::none && validates)
            fail_row(path, row.line, "expected a split, as other rows have: train, val, valid, validation or test");
        listing.holds_out = listing.holds_out || !split;
        listing.photos.push_back({file, numbers.find(row.class_name)->second, split});
    }
    if (tests > 0) {
        listing.notices.push_back(counted(tests, "photo") + " of " + path +
                                  " of the split test: used neither for training nor for validation");
    }
    return listing;
}

}  // namespace cnntrain::data
