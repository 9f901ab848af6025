#include "cnntrain/data/sets.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "data/sets/labelled_text.h"
#include "data/text/table.h"
#include "data/text/tokeniser.h"

namespace cnntrain::data {
namespace {

// The rows of a file of labelled texts, and the columns to read.

struct LabelledRow {
    std::string_view text;
    std::string_view pair;   // empty: the file has no second texts
    std::string_view label;  // empty: the file has none, or none is needed
    std::int64_t line = 0;
};

/// Columns by number.
struct LabelledColumns {
    std::size_t count = 0;  // number of columns in the file
    std::size_t text = 0;
    std::optional<std::size_t> pair;
    std::optional<std::size_t> label;
    bool has_header = false;
};

/// Checks that texts and labels are not empty and that all rows have the same number of cells.
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

    std::string text_;
    LabelledColumns columns_;
    std::vector<LabelledRow> rows_;
};

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

/// Finds the columns from the first row. Throws Error(data), with a message that starts with `place`, if one is
/// missing.
LabelledColumns find_columns(const std::vector<std::string_view>& first_row, const LabelledTextSettings& settings,
                             const std::string& place) {
    return ColumnFinder(first_row, settings, place).run();
}

LabelledRows::LabelledRows(const FileSystem& files, const LabelledTextSettings& settings) {
    const std::string& path = settings.file;
    text_ = read_text(files, path);
    const std::size_t mark = text_.size() - checked_utf8(text_, path).size();
    text_.erase(0, mark);
    TableReader reader(text_, table_format(path, text_), path);
    TableRow row;
    if (!reader.next(row)) throw Error(ErrorKind::data, path + " is empty; expected rows of a text and a label");
    columns_ = find_columns(row.cells, settings, place_in(path, row.line));
    if (!columns_.has_header) add(row.cells, row.line, settings);
    while (reader.next(row))
        add(row.cells, row.line, settings);
    if (rows_.empty()) throw Error(ErrorKind::data, path + " has a header line, but no row behind it");
}

void LabelledRows::add(const std::vector<std::string_view>& cells, std::int64_t line,
                       const LabelledTextSettings& settings) {
    const auto fail = [&](const std::string& what) {
        throw Error(ErrorKind::data, place_in(settings.file, line) + ": " + what);
    };
    if (cells.size() != columns_.count) {
        fail("expected " + std::to_string(columns_.count) + " cells as in the first row, found " +
             std::to_string(cells.size()));
    }
    const auto sound = [&](std::size_t column, const std::string& what) {
        if (is_blank(cells[column])) fail(what + " is empty (column " + std::to_string(column + 1) + ")");
        return cells[column];
    };
    LabelledRow row;
    row.line = line;
    row.text = sound(columns_.text, "the text");
    if (columns_.pair) row.pair = sound(*columns_.pair, "the second text");
    if (columns_.label)
        row.label = settings.needs_labels ? sound(*columns_.label, "the label") : cells[*columns_.label];
    rows_.push_back(row);
}

}  // namespace

LabelledText::LabelledText(std::shared_ptr<const LabelledTokens> tokens, std::vector<std::uint32_t> rows)
    : tokens_(std::move(tokens)), rows_(std::move(rows)) {}

const std::vector<std::string>& LabelledText::classes() const {
    return tokens_->classes;
}

std::int64_t LabelledText::truncated() const {
    return tokens_->truncated;
}

std::int64_t LabelledText::with_special_tokens() const {
    return tokens_->with_special_tokens;
}

std::string LabelledText::text(std::int64_t index) const {
    return tokens_->texts.empty() ? "" : tokens_->texts.at(rows_.at(static_cast<std::size_t>(index)));
}

std::vector<Field> LabelledText::fields() const {
    const TensorDesc tokens{DType::i32, {tokens_->length}};
    return {{"input_ids", tokens},
            {"segment_ids", tokens},
            {"input_mask", tokens},
            {std::string(kLabels), {DType::i32, {}}}};
}

SampleState LabelledText::read(std::int64_t index, SamplePosition, SampleView out, Workspace&) const {
    if (index == kPaddingSample) return store_empty_text(out);
    tokens_->store(rows_[static_cast<std::size_t>(index)], out);
    return SampleState::counted;
}

DatasetState LabelledText::state() const {
    return {.memory_bytes = rows_.capacity() * sizeof rows_[0] + tokens_->memory_bytes()};
}

Origin LabelledText::origin() const {
    return {.samples = size(), .parts = tokens_->parts};
}

SamplePlace LabelledText::place(std::int64_t index) const {
    return {tokens_->parts.front().name + ", row " + std::to_string(row(index))};
}

LabelledParts LabelledText::parts(double validation_share, std::uint64_t seed) const {
    if (!(validation_share > 0 && validation_share < 1)) {
        throw Error(ErrorKind::usage, "the share of samples for validation is " + std::to_string(validation_share) +
                                          ", not between 0 and 1");
    }
    std::vector<std::vector<std::uint32_t>> of_class(classes().size());
    for (const std::uint32_t row : rows_) {
        if (tokens_->labels[row] >= 0) of_class[static_cast<std::size_t>(tokens_->labels[row])].push_back(row);
    }
    // A separate key, because the loader shuffles with the seed itself.
    const std::uint64_t key = seed ^ hash_text("samples for validation");
    std::vector<std::uint32_t> training;
    std::vector<std::uint32_t> validation;
    double due = 0;  // fraction of a sample carried over from rounding
    for (std::size_t number = 0; number < of_class.size(); ++number) {
        const std::vector<std::uint32_t>& rows = of_class[number];
        if (rows.empty()) continue;
        const auto count = static_cast<std::uint32_t>(rows.size());
        const std::vector<std::uint32_t> order = shuffled_order(key, static_cast<std::uint32_t>(number), count);
        due += validation_share * count;
        const auto taken = static_cast<std::uint32_t>(std::clamp(std::round(due), 0.0, count - 1.0));
        due = std::min(due - taken, 0.5);
        for (std::uint32_t i = 0; i < count; ++i)
            (i < taken ? validation : training).push_back(rows[order[i]]);
    }
    if (training.empty() || validation.empty()) {
        throw Error(ErrorKind::data, formatted("%g %% of ", 100 * validation_share) + std::to_string(size()) +
                                         " samples leaves none for " + (training.empty() ? "training" : "validation") +
                                         "; give a --validation-file, or a " +
                                         (training.empty() ? "smaller" : "larger") + " --validation-fraction");
    }
    std::ranges::sort(training);
    std::ranges::sort(validation);
    return {std::make_shared<LabelledText>(tokens_, std::move(training)),
            std::make_shared<LabelledText>(tokens_, std::move(validation))};
}

std::shared_ptr<const LabelledText> open_labelled_text(const LabelledTextSettings& settings, int threads,
                                                       const std::vector<std::string>& classes,
                                                       const FileSystem& files) {
    auto tokens = std::make_shared<LabelledTokens>(read_labelled_tokens(settings, threads, classes, files));
    std::vector<std::uint32_t> rows(tokens->labels.size());
    std::iota(rows.begin(), rows.end(), 0U);
    return std::make_shared<LabelledText>(std::move(tokens), std::move(rows));
}

namespace {

// ---- classes ----

/// The file's own classes, checked for signs that another column was read as the label.
std::vector<std::string> classes_of(const LabelledRows& table, const std::vector<std::string>& labels,
                                    const std::string& path) {
    constexpr std::size_t kFewRows = 10;
    constexpr std::size_t kManyRows = 100;
    std::map<std::string, std::size_t> counts;
    for (const std::string& label : labels)
        ++counts[label];
    std::vector<std::string> classes;
    for (const auto& [name, count] : counts)
        classes.push_back(name);
    sort_classes(classes);
    const std::string found = std::to_string(labels.size()) + " rows";
    if (classes.size() == 1) {
        throw Error(ErrorKind::data, path + ": expected at least two different labels, found " + quoted_cells(classes) +
                                         " in all of its " + found);
    }
    if (!table.columns().has_header && labels.size() > kFewRows && counts.at(labels.front()) == 1) {
        throw Error(ErrorKind::data, place_in(path, table.rows().front().line) + ": the label " +
                                         quoted_cells({labels.front()}) +
                                         " is in no other row; if this is a header line, name its columns text and "
                                         "label, else leave the row out");
    }
    if (labels.size() > kManyRows && classes.size() > labels.size() / 2) {
        throw Error(ErrorKind::data, path + ": expected few different labels, found " + std::to_string(classes.size()) +
                                         " in its " + found + " (" + quoted_cells(classes) +
                                         "); does another column have the labels?");
    }
    return classes;
}

void number_labels(const LabelledRows& table, const LabelledTextSettings& settings,
                   const std::vector<std::string>& given, LabelledTokens& tokens) {
    tokens.classes = given;
    if (!table.columns().label) {
        tokens.labels.assign(table.rows().size(), kNoLabel);
        return;
    }
    std::vector<std::string> labels;
    for (const LabelledRow& row : table.rows())
        labels.push_back(stripped(row.label));
    if (given.empty()) tokens.classes = classes_of(table, labels, settings.file);
    std::map<std::string_view, std::int32_t> numbers;
    for (std::size_t i = 0; i < tokens.classes.size(); ++i)
        numbers.emplace(tokens.classes[i], static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto known = numbers.find(labels[i]);
        if (known == numbers.end() && settings.needs_labels) {
            throw Error(ErrorKind::data, place_in(settings.file, table.rows()[i].line) +
                                             ": expected a label of the training (" + quoted_cells(tokens.classes) +
                                             "), found " + quoted_cells({labels[i]}));
        }
        tokens.labels.push_back(known == numbers.end() ? kNoLabel : known->second);
    }
}

// ---- tokens ----

/// Tokens of consecutive rows.
struct Chunk {
    std::vector<TokenId> ids;
    std::vector<std::uint32_t> lengths;
    std::vector<std::uint32_t> second_part;
    std::int64_t truncated = 0;
    std::int64_t with_special_tokens = 0;
};

class RowTokeniser {
public:
    RowTokeniser(const Vocabulary& vocabulary, const LabelledTextSettings& settings)
        : vocabulary_(vocabulary),
          tokeniser_(vocabulary, settings.lower_case),
          special_(vocabulary.special_tokens()),
          settings_(settings) {}

    void append(const LabelledRow& row, Chunk& chunk) {
        const bool any = tokenise(row.text, text_);
        if (tokenise(row.pair, pair_) || any) ++chunk.with_special_tokens;
        const bool has_pair = !row.pair.empty();
        if (truncate(settings_.sequence_length - (has_pair ? 3 : 2))) ++chunk.truncated;
        const std::size_t begin = chunk.ids.size();
        chunk.ids.push_back(special_.beginning);
        append_part(text_, chunk.ids);
        chunk.second_part.push_back(static_cast<std::uint32_t>(chunk.ids.size() - begin));
        if (has_pair) append_part(pair_, chunk.ids);
        chunk.lengths.push_back(static_cast<std::uint32_t>(chunk.ids.size() - begin));
    }

private:
    /// Returns true if the text has special tokens in it.
    bool tokenise(std::string_view text, std::vector<TokenId>& ids) {
        ids.clear();
        if (settings_.splits_special_tokens) {
            tokeniser_.append_tokens(text, ids);
        } else {
            tokeniser_.append_with_special_tokens(text, ids);
        }
        return special_piece(vocabulary_, text).has_value();
    }

    /// Shortens the texts to `room` tokens; returns false if both fit already.
    bool truncate(std::int64_t room) {
        const auto most = static_cast<std::size_t>(room);
        if (text_.size() + pair_.size() <= most) return false;
        while (text_.size() + pair_.size() > most)
            (text_.size() > pair_.size() ? text_ : pair_).pop_back();
        return true;
    }

    void append_part(const std::vector<TokenId>& part, std::vector<TokenId>& ids) const {
        ids.insert(ids.end(), part.begin(), part.end());
        ids.push_back(special_.separator);
    }

    const Vocabulary& vocabulary_;
    Tokeniser tokeniser_;
    SpecialTokens special_;
    const LabelledTextSettings& settings_;
    std::vector<TokenId> text_;
    std::vector<TokenId> pair_;
};

/// The tokens of all texts in row order, independent of the number of threads.
std::vector<Chunk> tokenise(const std::vector<LabelledRow>& rows, const Vocabulary& vocabulary,
                            const LabelledTextSettings& settings, int threads) {
    constexpr std::size_t kChunkRows = 512;
    std::vector<Chunk> chunks((rows.size() + kChunkRows - 1) / kChunkRows);
    const auto tokenise_one = [&](std::size_t number) {
        RowTokeniser tokeniser(vocabulary, settings);
        const std::size_t end = std::min(rows.size(), (number + 1) * kChunkRows);
        for (std::size_t i = number * kChunkRows; i < end; ++i)
            tokeniser.append(rows[i], chunks[number]);
    };
    tbb::task_arena arena(std::clamp(threads, 1, tbb::info::default_concurrency()));
    arena.execute([&] { tbb::parallel_for(std::size_t{0}, chunks.size(), tokenise_one); });
    return chunks;
}

void join(std::vector<Chunk> chunks, TokenId vocabulary_size, LabelledTokens& tokens) {
    if (vocabulary_size > std::size_t{1} << 16) tokens.ids.emplace<std::vector<TokenId>>();
    tokens.begins.push_back(0);
    for (Chunk& chunk : chunks) {
        std::visit([&](auto& ids) { ids.insert(ids.end(), chunk.ids.begin(), chunk.ids.end()); }, tokens.ids);
        for (const std::uint32_t length : chunk.lengths)
            tokens.begins.push_back(tokens.begins.back() + length);
        tokens.second_part.insert(tokens.second_part.end(), chunk.second_part.begin(), chunk.second_part.end());
        tokens.truncated += chunk.truncated;
        tokens.with_special_tokens += chunk.with_special_tokens;
        chunk = {};
    }
    std::visit([](auto& ids) { ids.shrink_to_fit(); }, tokens.ids);
}

void check_tokens(const LabelledTextSettings& settings, const std::vector<std::string>& classes) {
    constexpr std::int64_t kShortest = 5;  // [CLS], two [SEP], and one token of each text of a pair
    const auto refuse = [](const std::string& what) { throw Error(ErrorKind::usage, what); };
    if (settings.file.empty()) refuse("there is no file of texts; name one with --data-dir");
    if (settings.vocabulary_file.empty()) refuse("texts are cut into the pieces of a vocabulary; give --vocab-file");
    if (settings.sequence_length < kShortest) {
        refuse("--seq-length is " + std::to_string(settings.sequence_length) + ", not " + std::to_string(kShortest) +
               " or more");
    }
    if (!settings.needs_labels && classes.empty()) refuse("a file without labels needs the classes of a training");
}

void check_ids(const LabelledTokens& tokens, const LabelledRows& table, const LabelledTextSettings& settings) {
    const auto check_row = [&](const auto& ids, std::size_t row) {
        for (std::uint64_t i = tokens.begins[row]; i < tokens.begins[row + 1]; ++i) {
            if (ids[i] < settings.vocabulary_size) continue;
            throw Error(ErrorKind::data, place_in(settings.file, table.rows()[row].line) + ": the text has the token " +
                                             std::to_string(ids[i]) + ", but the model's table of words has " +
                                             std::to_string(settings.vocabulary_size) +
                                             " rows; a model that takes it has --vocab-size " +
                                             std::to_string(ids[i] + 1) + " or more");
        }
    };
    for (std::size_t row = 0; row < table.rows().size(); ++row)
        std::visit([&](const auto& ids) { check_row(ids, row); }, tokens.ids);
}

// ---- samples ----

constexpr std::size_t kIds = 0, kSegments = 1, kMask = 2, kLabel = 3;  // numbers of the fields

void store_ints(std::span<std::byte> out, std::size_t from, std::size_t to, auto&& value_at) {
    for (std::size_t i = from; i < to; ++i) {
        const std::int32_t value = value_at(i);
        std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
    }
}

void store_text_label(std::int32_t label, SampleView out) {
    store_ints(out[kLabel], 0, 1, [&](std::size_t) { return label; });
}

}  // namespace

std::uint64_t LabelledTokens::memory_bytes() const {
    const auto bytes = [](const auto& values) { return values.capacity() * sizeof values[0]; };
    return bytes(texts) + bytes(labels) + bytes(begins) + bytes(second_part) + std::visit(bytes, ids);
}

void LabelledTokens::store(std::size_t row, SampleView out) const {
    const std::uint64_t begin = begins[row];
    const std::size_t used = begins[row + 1] - begin;
    const std::size_t second = second_part[row];
    const auto end = static_cast<std::size_t>(length);
    const auto copy_ids = [&](const auto& all) {
        store_ints(out[kIds], 0, used, [&](std::size_t i) { return static_cast<std::int32_t>(all[begin + i]); });
    };
    std::visit(copy_ids, ids);
    store_ints(out[kIds], used, end, [](std::size_t) { return 0; });
    store_ints(out[kSegments], 0, end, [&](std::size_t i) { return i >= second && i < used ? 1 : 0; });
    store_ints(out[kMask], 0, end, [&](std::size_t i) { return i < used ? 1 : 0; });
    store_text_label(labels[row], out);
}

/// Marks one token as valid: attention over no tokens is undefined.
SampleState store_empty_text(SampleView out) {
    for (const std::size_t field : {kIds, kSegments, kMask})
        std::ranges::fill(out[field], std::byte{0});
    store_ints(out[kMask], 0, 1, [](std::size_t) { return 1; });
    store_text_label(kNoLabel, out);
    return SampleState::padding;
}

LabelledTokens read_labelled_tokens(const LabelledTextSettings& settings, int threads,
                                    const std::vector<std::string>& classes, const FileSystem& files) {
    check_tokens(settings, classes);
    const Vocabulary vocabulary = Vocabulary::read(files, settings.vocabulary_file);
    const LabelledRows table(files, settings);
    if (table.columns().pair && settings.type_vocabulary < 2) {
        throw Error(ErrorKind::usage, settings.file +
                                          " has two texts in each row, which the model must tell apart by "
                                          "--type-vocab-size 2 or more, and not " +
                                          std::to_string(settings.type_vocabulary));
    }
    LabelledTokens tokens;
    tokens.length = settings.sequence_length;
    number_labels(table, settings, classes, tokens);
    for (const LabelledRow& row : table.rows()) {
        if (!settings.keeps_texts) break;
        tokens.texts.push_back(std::string(row.text) + (row.pair.empty() ? "" : "\t" + std::string(row.pair)));
    }
    join(tokenise(table.rows(), vocabulary, settings, threads), vocabulary.size(), tokens);
    if (vocabulary.size() > settings.vocabulary_size) check_ids(tokens, table, settings);
    tokens.parts = {part_of_file(files, settings.file, std::ssize(table.rows())),
                    part_of_file(files, settings.vocabulary_file, 0)};
    return tokens;
}

}  // namespace cnntrain::data
