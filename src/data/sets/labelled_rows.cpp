#include "data/sets/labelled_rows.h"

#include <algorithm>
#include <iterator>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "data/text/table.h"
#include "data/text/tokeniser.h"

namespace cnntrain::data {
namespace {

struct TextNames {
    std::string_view text;
    std::string_view pair;  // empty: one text
};

/// Names of columns in lower case; the first match in a header is used.
constexpr TextNames kTextNames[] = {{"text", "text_pair"},
                                    {"text_a", "text_b"},
                                    {"text1", "text2"},
                                    {"sentence1", "sentence2"},
                                    {"question1", "question2"},
                                    {"premise", "hypothesis"},
                                    {"question", "sentence"},
                                    {"#1 string", "#2 string"},
                                    {"text", ""},
                                    {"sentence", ""},
                                    {"review", ""},
                                    {"question", ""}};
constexpr std::string_view kLabelNames[] = {"label",    "labels",       "gold_label", "class",
                                            "category", "is_duplicate", "quality"};
constexpr std::string_view kScoreNames[] = {"score", "similarity"};
/// A first line whose last column has one of these names is a header.
constexpr std::string_view kSureLabelNames[] = {"label", "labels", "gold_label"};

/// The cells of a first row, as column names.
class HeaderRow {
public:
    explicit HeaderRow(const std::vector<std::string_view>& cells) {
        for (const std::string_view cell : cells) {
            cells_.push_back(stripped(cell));
            names_.push_back(in_lower_case(stripped(cell)));
        }
    }

    std::size_t size() const { return names_.size(); }
    std::optional<std::size_t> find(std::string_view name) const { return place(names_, name); }
    /// Case-sensitive, for columns named by the user.
    std::optional<std::size_t> find_exactly(std::string_view name) const { return place(cells_, name); }
    bool is_any(std::size_t column, auto&& names) const {
        return column < size() && std::ranges::find(names, names_[column]) != std::ranges::end(names);
    }
    std::string text() const { return quoted_cells(cells_); }

private:
    static std::optional<std::size_t> place(const std::vector<std::string>& names, std::string_view name) {
        const auto found = std::ranges::find(names, name);
        if (found == names.end()) return std::nullopt;
        return static_cast<std::size_t>(found - names.begin());
    }

    std::vector<std::string> cells_;
    std::vector<std::string> names_;
};

/// Finds the columns from the first row. Throws Error(data), with a message that starts with `place`, if one is
/// missing.
class ColumnFinder {
public:
    ColumnFinder(const std::vector<std::string_view>& first_row, const LabelledTextSettings& settings,
                 const std::string& place)
        : header_(first_row), settings_(settings), place_(place) {}

    LabelledColumns run() {
        columns_.count = header_.size();
        const bool names_texts = !settings_.text_column.empty() || !settings_.pair_column.empty();
        const bool finds_texts = names_texts ? take_named_texts() : take_known_texts();
        const bool finds_label = take_label() || !settings_.needs_labels;
        columns_.has_header = finds_texts && finds_label;
        if (columns_.has_header) return columns_;
        check_no_half_header(finds_texts);
        return by_place();
    }

private:
    std::size_t named(const std::string& name) const {
        if (const auto column = header_.find_exactly(name)) return *column;
        fail("expected a header line with the column '" + name + "', found " + header_.text());
    }

    bool take_named_texts() {
        if (settings_.text_column.empty()) {
            throw Error(ErrorKind::usage, "a column of second texts is named ('" + settings_.pair_column +
                                              "'), but none of first texts; name both");
        }
        columns_.text = named(settings_.text_column);
        if (!settings_.pair_column.empty()) columns_.pair = named(settings_.pair_column);
        return true;
    }

    bool take_known_texts() {
        for (const TextNames& names : kTextNames) {
            const auto text = header_.find(names.text);
            const auto pair = names.pair.empty() ? std::nullopt : header_.find(names.pair);
            if (!text || (!names.pair.empty() && !pair)) continue;
            columns_.text = *text;
            columns_.pair = pair;
            return true;
        }
        return false;
    }

    bool take_label() {
        if (!settings_.label_column.empty()) {
            columns_.label =
                settings_.needs_labels ? named(settings_.label_column) : header_.find_exactly(settings_.label_column);
            return columns_.label.has_value();
        }
        for (const std::string_view name : kLabelNames) {
            columns_.label = header_.find(name);
            if (columns_.label) return true;
        }
        for (const std::string_view name : kScoreNames) {
            if (settings_.labels == nn::LabelKind::score) columns_.label = header_.find(name);
            if (columns_.label) return true;
        }
        return false;
    }

    /// Refuses a header that lacks a column: it would be read as a sample, with its names as text and class.
    void check_no_half_header(bool finds_texts) const {
        const bool user_names = !settings_.text_column.empty() || !settings_.label_column.empty();
        const bool begins_with_text = finds_texts && columns_.text == 0;
        if (settings_.needs_labels && (begins_with_text || (user_names && finds_texts)))
            fail("expected a column named label besides the text, found " + header_.text());
        if (user_names || (settings_.needs_labels && header_.is_any(header_.size() - 1, kSureLabelNames))) {
            fail("expected a column named text (and text_pair for second texts) besides the label, found " +
                 header_.text());
        }
    }

    LabelledColumns by_place() {
        columns_.text = 0;
        columns_.pair = columns_.label = std::nullopt;
        const bool single = header_.size() == 1 && !settings_.needs_labels;
        if (!single && header_.size() != 2 && header_.size() != 3) {
            fail(
                "expected two columns (text, label) or three (text, second text, label), or a header line that names "
                "them text, text_pair and label; found " +
                std::to_string(header_.size()) + (header_.size() == 1 ? " column" : " columns"));
        }
        if (header_.size() == 3) columns_.pair = 1;
        if (!single) columns_.label = header_.size() - 1;
        return columns_;
    }

    [[noreturn]] void fail(const std::string& what) const { throw Error(ErrorKind::data, place_ + ": " + what); }

    HeaderRow header_;
    const LabelledTextSettings& settings_;
    std::string place_;
    LabelledColumns columns_;
};

LabelledColumns numbered_columns(const TextColumns& columns) {
    LabelledColumns result{.text = columns.text, .pair = columns.pair, .label = columns.label};
    result.has_header = columns.has_header;
    const std::size_t texts = std::max(columns.text, columns.pair.value_or(0)) + 1;
    const std::size_t with_label = columns.label == kLastColumn ? texts + 1 : columns.label.value_or(0) + 1;
    result.count = std::max(texts, with_label);
    return result;
}

}  // namespace

LabelledRows::LabelledRows(const FileSystem& files, const LabelledTextSettings& settings) {
    const std::string& path = settings.file;
    text_ = read_text(files, path);
    const std::size_t mark = text_.size() - checked_utf8(text_, path).size();
    text_.erase(0, mark);
    const TableFormat format = table_format(path, text_);
    if (format == TableFormat::tsv) std::erase(text_, '\r');
    const bool several = settings.labels == nn::LabelKind::several && !settings.columns;
    TableReader reader(text_, format, path, several ? settings.label_separator.front() : '\0');
    TableRow row;
    if (!reader.next(row)) throw Error(ErrorKind::data, path + " is empty; expected rows of a text and a label");
    const TableRow header = row;
    LabelledTextSettings wanted = settings;
    wanted.needs_labels = settings.needs_labels && !several;  // each label may have a column
    columns_ = settings.columns ? numbered_columns(*settings.columns)
                                : ColumnFinder(row.cells, wanted, place_in(path, row.line)).run();
    const bool in_columns = several && !columns_.label;
    std::vector<TableRow> rows;  // whose labels are in columns
    for (bool more = !columns_.has_header || reader.next(row); more; more = reader.next(row)) {
        add(row.cells, row.line, settings);
        if (in_columns) rows.push_back(row);
    }
    if (rows_.empty()) throw Error(ErrorKind::data, path + " has a header line, but no row behind it");
    if (in_columns) read_flags(rows, header, settings);
}

void LabelledRows::read_flags(const std::vector<TableRow>& rows, const TableRow& header,
                              const LabelledTextSettings& settings) {
    std::vector<std::size_t> used = {columns_.text};
    if (columns_.pair) used.push_back(*columns_.pair);
    const std::vector<std::size_t> flags = columns_.has_header ? flag_columns(rows, used) : std::vector<std::size_t>();
    const std::vector<std::string> names(header.cells.begin(), header.cells.end());
    if (flags.empty() && settings.needs_labels) {
        throw Error(ErrorKind::data, place_in(settings.file, header.line) +
                                         ": expected a column named label, or a column of 0 and 1 for each label, "
                                         "besides the text; found " +
                                         quoted_cells(names));
    }
    for (std::size_t i = 0; i < rows.size() && !flags.empty(); ++i) {
        flags_.push_back(names_of_flags(rows[i], flags, names, settings.label_separator.front()));
        rows_[i].label = flags_.back();
    }
}

void LabelledRows::add(const std::vector<std::string_view>& cells, std::int64_t line,
                       const LabelledTextSettings& settings) {
    const auto fail = [&](const std::string& what) {
        throw Error(ErrorKind::data, place_in(settings.file, line) + ": " + what);
    };
    if (settings.columns && cells.size() < columns_.count) {
        if (settings.columns->skips_short_rows) return;
        fail("expected at least " + std::to_string(columns_.count) + " cells, found " + std::to_string(cells.size()) +
             "; is the row damaged, or is it the file of another task?");
    }
    if (!settings.columns && cells.size() != columns_.count) {
        fail("expected " + std::to_string(columns_.count) + " cells as in the first row, found " +
             std::to_string(cells.size()));
    }
    const auto sound = [&](std::size_t column, const std::string& what) {
        if (!settings.columns && is_blank(cells[column]))
            fail(what + " is empty (column " + std::to_string(column + 1) + ")");
        return cells[column];
    };
    LabelledRow row;
    row.line = line;
    row.text = sound(columns_.text, "the text");
    if (columns_.pair) row.pair = sound(*columns_.pair, "the second text");
    if (columns_.label) {
        const std::size_t column = *columns_.label == kLastColumn ? cells.size() - 1 : *columns_.label;
        const bool may_be_empty = !settings.needs_labels || settings.labels == nn::LabelKind::several;
        row.label = may_be_empty ? cells[column] : sound(column, "the label");
    }
    rows_.push_back(row);
}

}  // namespace cnntrain::data
