#include "data/text/table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "data/text/tokeniser.h"

namespace cnntrain::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string quoted_cell(std::string_view cell) {
    constexpr std::size_t kMostShown = 40;
    std::string text;
    CodePoint value = 0;
    while (!cell.empty() && text.size() < kMostShown) {
        const bool is_control = std::iscntrl(static_cast<unsigned char>(cell.front())) != 0;
        if (take_code_point(cell, value)) append_utf8(is_control ? U' ' : value, text);
    }
    return "'" + text + (cell.empty() ? "'" : "...'");
}

/// A number becomes at most two characters longer, which the quotes, colon and comma of its key make up for.
std::string cell_of(const nlohmann::ordered_json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_number_float()) return value.dump();
    std::array<char, 32> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value.get<double>());
    CNNTRAIN_CHECK(error == std::errc(), "a number of more than 32 characters");
    return {text.data(), end};
}

/// Nothing if an element has the joint in it or is no text or number. Never longer than the list: a joint takes the
/// place of a comma.
std::optional<std::string> cell_of_list(const nlohmann::ordered_json& list, char joint) {
    std::string cell;
    for (const nlohmann::ordered_json& element : list) {
        const std::string text = element.is_structured() || element.is_null() ? "" : cell_of(element);
        if (text.empty() || text.find(joint) != std::string::npos) return std::nullopt;
        if (!cell.empty()) cell += joint;
        cell += text;
    }
    return cell;
}

bool is_utf16(std::string_view text) {
    return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
}

}  // namespace

void sort_classes(std::vector<std::string>& names) {
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (!std::ranges::all_of(names, [](const std::string& name) { return as_number<std::int64_t>(name).has_value(); }))
        return;
    std::ranges::stable_sort(names, {}, [](const std::string& name) { return *as_number<std::int64_t>(name); });
}

TableFormat table_format(std::string_view path, std::string_view text) {
    const std::string name = in_lower_case(path);
    if (name.ends_with(".tsv")) return TableFormat::tsv;
    if (name.ends_with(".csv")) return TableFormat::csv;
    if (name.ends_with(".jsonl")) return TableFormat::json_lines;
    const std::string_view first_line = text.substr(0, text.find('\n'));
    return first_line.find('\t') == std::string_view::npos ? TableFormat::csv : TableFormat::tsv;
}

std::string_view checked_utf8(std::string_view text, const std::string& path) {
    if (is_utf16(text)) throw Error(ErrorKind::data, path + " is UTF-16; save it as UTF-8");
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    std::int64_t line = 1;
    CodePoint value = 0;
    for (std::string_view rest = text; !rest.empty();) {
        if (rest.front() == '\n') ++line;
        if (rest.front() == '\0') {
            throw Error(ErrorKind::data,
                        place_in(path, line) + ": expected text, found a zero byte; is it a text file?");
        }
        if (static_cast<unsigned char>(rest.front()) < 0x80) {
            rest.remove_prefix(1);
        } else if (!take_code_point(rest, value)) {
            throw Error(ErrorKind::data,
                        place_in(path, line) + ": expected UTF-8, found bytes of another encoding; save it as UTF-8");
        }
    }
    return text;
}

std::string place_in(const std::string& path, std::int64_t line) {
    return path + ":" + std::to_string(line);
}

std::string quoted_cells(const std::vector<std::string>& cells) {
    constexpr std::size_t kMostCells = 10;
    std::vector<std::string> words;
    std::ranges::transform(cells, std::back_inserter(words), quoted_cell);
    return listed(words, kMostCells);
}

TableReader::TableReader(std::string& text, TableFormat format, std::string path, char joint)
    : text_(text),
      format_(format),
      separator_(format == TableFormat::tsv ? '\t' : ','),
      has_quotes_(format == TableFormat::csv),
      path_(std::move(path)),
      joint_(joint) {}

bool TableReader::next(TableRow& row) {
    if (format_ == TableFormat::json_lines) return next_object(row);
    while (at_ < text_.size()) {
        const std::size_t begin = at_;
        read_row(row);
        const bool is_empty = row.cells.size() == 1 && row.cells[0].empty() && text_[begin] != '"';
        if (!is_empty) return true;
    }
    return false;
}

/// Keys and values without quotes and escapes are never longer than their line, over which they are written.
std::string_view TableReader::written(std::string_view text) {
    CNNTRAIN_CHECK(written_ + text.size() <= at_, "a value is longer than its JSON");
    text_.replace(written_, text.size(), text);
    written_ += text.size();
    return std::string_view(text_).substr(written_ - text.size(), text.size());
}

bool TableReader::next_object(TableRow& row) {
    row.line = row_line_;
    if (!first_cells_.empty()) {
        row.cells = std::exchange(first_cells_, {});
        return true;
    }
    std::string_view line;
    while (at_ < text_.size() && is_blank(line)) {
        written_ = at_;
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        line = std::string_view(text_).substr(at_, end - at_);
        at_ = std::min(end + 1, text_.size());
        row.line = row_line_ = line_++;
    }
    if (is_blank(line)) return false;
    if (line.size() > kLongestRow) fail("the line is longer than 1 MiB");
    nlohmann::ordered_json object;
    try {
        check_json(line);
        object = nlohmann::ordered_json::parse(line);
    } catch (const Error& error) {
        fail(std::string("expected an object of JSON: ") + error.what());
    }
    if (!object.is_object() || object.empty()) fail("expected an object of JSON with a value for each column");
    row.cells.clear();
    const bool is_first = keys_.empty();
    if (is_first) {
        for (const auto& [key, value] : object.items()) {
            keys_.push_back(key);
            row.cells.push_back(written(key));
        }
    }
    std::vector<std::string_view>& cells = is_first ? first_cells_ : row.cells;
    std::size_t known = 0;
    for (const std::string& key : keys_) {
        const auto found = object.find(key);
        known += found == object.end() ? 0 : 1;
        if (found == object.end() || found->is_null()) {
            cells.push_back(written(""));
            continue;
        }
        if (found->is_array() && joint_ != '\0') {
            const std::optional<std::string> cell = cell_of_list(*found, joint_);
            if (!cell) fail("expected a list of texts without '" + std::string(1, joint_) + "' as '" + key + "'");
            cells.push_back(written(*cell));
            continue;
        }
        if (found->is_structured()) fail("expected a text or a number as '" + key + "', got a list or an object");
        cells.push_back(written(cell_of(*found)));
    }
    if (known == object.size()) return true;
    const auto other = std::ranges::find_if(
        object.items(), [&](const auto& item) { return std::ranges::find(keys_, item.key()) == keys_.end(); });
    fail("the first line has no '" + other.key() + "', but " + quoted_cells(keys_));
}

void TableReader::read_row(TableRow& row) {
    row.cells.clear();
    row.line = row_line_ = line_;
    row_begin_ = at_;
    for (;;) {
        const bool quoted = has_quotes_ && at_ < text_.size() && text_[at_] == '"';
        row.cells.push_back(quoted ? read_quoted_cell() : read_plain_cell());
        if (at_ - row_begin_ > kLongestRow) fail("the row is longer than 1 MiB; is it a table of texts and labels?");
        if (at_ == text_.size() || at_line_end()) break;
        ++at_;  // skips the separator
    }
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size()) {
        ++at_;
        ++line_;
    }
}

std::string_view TableReader::read_plain_cell() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && !at_line_end())
        ++at_;
    return std::string_view(text_).substr(begin, at_ - begin);
}

std::string_view TableReader::read_quoted_cell() {
    const std::size_t begin = ++at_;
    std::size_t end = begin;
    for (;; ++at_) {
        if (at_ == text_.size()) fail("the quote that opens a cell is not closed before the end of the file");
        if (at_ - row_begin_ > kLongestRow) fail("the quote that opens a cell is not closed within 1 MiB");
        if (text_[at_] == '"') {
            if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') break;
            ++at_;
        }
        if (text_[at_] == '\n') ++line_;
        text_[end++] = text_[at_];
    }
    ++at_;
    if (at_ < text_.size() && text_[at_] != separator_ && !at_line_end()) {
        fail(
            "expected a comma or the line's end behind a closing quote; a quote inside a quoted cell is written twice");
    }
    return std::string_view(text_).substr(begin, end - begin);
}

bool TableReader::at_line_end() const {
    if (text_[at_] == '\n') return true;
    return text_[at_] == '\r' && (at_ + 1 == text_.size() || text_[at_ + 1] == '\n');
}

void TableReader::fail(const std::string& what) const {
    throw Error(ErrorKind::data, place_in(path_, row_line_) + ": " + what);
}

std::vector<std::size_t> flag_columns(std::span<const TableRow> rows, std::span<const std::size_t> used) {
    std::vector<std::size_t> columns;
    for (std::size_t column = 0; !rows.empty() && column < rows.front().cells.size(); ++column) {
        const bool is_used = std::ranges::find(used, column) != used.end();
        const auto is_flag = [&](const TableRow& row) {
            const std::string_view cell = row.cells[column];
            return cell == "0" || cell == "1" || cell == "0.0" || cell == "1.0";
        };
        if (!is_used && std::ranges::all_of(rows, is_flag)) columns.push_back(column);
    }
    return columns;
}

std::string names_of_flags(const TableRow& row, std::span<const std::size_t> columns,
                           std::span<const std::string> header, char joint) {
    std::string names;
    for (const std::size_t column : columns) {
        if (row.cells[column].starts_with('1')) names += (names.empty() ? "" : std::string(1, joint)) + header[column];
    }
    return names;
}

std::vector<std::string> split_labels(std::string_view cell, char separator) {
    std::vector<std::string> labels;
    for (const std::string_view part : split(cell, separator)) {
        std::string label = stripped(part);
        if (!label.empty()) labels.push_back(std::move(label));
    }
    return labels;
}

}  // namespace cnntrain::data
