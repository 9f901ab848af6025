#include "cnntrain/data/sets.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "data/sets/labelled_rows.h"
#include "data/text/table.h"
#include "data/text/tokeniser.h"
#include "data/threads.h"

namespace cnntrain::data {
namespace {

// ---- samples ----

constexpr std::size_t kIds = 0, kSegments = 1, kMask = 2, kLabelField = 3, kWeightField = 4;  // numbers of the fields

void store_ints(std::span<std::byte> out, std::size_t from, std::size_t to, auto&& value_at) {
    for (std::size_t i = from; i < to; ++i) {
        const std::int32_t value = value_at(i);
        std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
    }
}

void store_score(float score, SampleView out) {
    const float weight = std::isnan(score) ? 0 : 1;
    if (std::isnan(score)) score = 0;
    std::memcpy(out[kLabelField].data(), &score, sizeof score);
    std::memcpy(out[kWeightField].data(), &weight, sizeof weight);
}

/// Writes the fields of a padding sample. Marks one token as valid: attention over no tokens is undefined.
SampleState store_empty_text(SampleView out) {
    for (const std::size_t field : {kIds, kSegments, kMask})
        std::ranges::fill(out[field], std::byte{0});
    store_ints(out[kMask], 0, 1, [](std::size_t) { return 1; });
    if (out.size() > kWeightField) {
        store_score(std::numeric_limits<float>::quiet_NaN(), out);
    } else {
        store_ints(out[kLabelField], 0, out[kLabelField].size() / sizeof kNoLabel,
                   [](std::size_t) { return kNoLabel; });
    }
    return SampleState::padding;
}

}  // namespace

/// Labelled texts as token ids: all rows of a file, concatenated.
struct LabelledTokens {
    std::int64_t length = 0;  // S
    nn::LabelKind kind = nn::LabelKind::single;
    std::vector<std::string> classes;
    std::vector<std::int32_t> labels;  // one per row; several: 0 or 1 for each class of each row
    std::vector<float> scores;         // one per row; NaN: the row has none
    /// Ids of the tokens, in 16 bits if all fit.
    std::variant<std::vector<std::uint16_t>, std::vector<std::uint32_t>> ids;
    std::vector<std::uint64_t> begins = {0};  // start of each row in `ids`, then the end of the last row
    std::vector<std::uint32_t> second_part;   // tokens of each row before those of the second text
    std::int64_t truncated = 0;               // number of rows that lost tokens
    std::int64_t with_special_tokens = 0;     // number of rows that have some in their texts
    std::vector<std::string> texts;           // of each row, if the settings keep them
    std::vector<OriginPart> parts;            // the files that were read

    std::size_t rows() const { return begins.size() - 1; }
    /// The field of labels of a sample.
    TensorDesc label_desc() const {
        if (kind == nn::LabelKind::score) return {DType::f32, {}};
        return {DType::i32, kind == nn::LabelKind::several ? Shape{std::ssize(classes)} : Shape{}};
    }
    /// A row's class; 0 for a score or several labels; kNoLabel for a row without a label.
    std::int32_t class_of(std::size_t row) const {
        if (kind == nn::LabelKind::score) return std::isnan(scores[row]) ? kNoLabel : 0;
        if (kind == nn::LabelKind::single) return labels[row];
        return std::min(labels[row * classes.size()], 0);
    }
    std::uint64_t memory_bytes() const {
        const auto bytes = [](const auto& values) { return values.capacity() * sizeof values[0]; };
        return bytes(texts) + bytes(labels) + bytes(scores) + bytes(begins) + bytes(second_part) +
               std::visit(bytes, ids);
    }

    /// Writes the fields listed in data/sets.h.
    void store(std::size_t row, SampleView out) const {
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
        if (kind == nn::LabelKind::score) return store_score(scores[row], out);
        const std::size_t width = kind == nn::LabelKind::several ? classes.size() : 1;
        store_ints(out[kLabelField], 0, width, [&](std::size_t i) { return labels[row * width + i]; });
    }
};

namespace {

// ---- labels ----

/// The file's own classes, checked for signs that another column was read as the label.
std::vector<std::string> classes_of(const LabelledRows& table, const std::vector<std::string>& labels,
                                    const LabelledTextSettings& settings) {
    const std::string& path = settings.file;
    constexpr std::size_t kFewRows = 10;
    constexpr std::size_t kManyRows = 100;
    std::map<std::string, std::size_t> counts;
    for (const std::string& label : labels)
        ++counts[label];
    std::vector<std::string> classes;
    for (const auto& [name, count] : counts)
        classes.push_back(name);
    sort_classes(classes);
    const std::string found = std::to_string(table.rows().size()) + " rows";
    if (classes.size() < 2) {
        throw Error(ErrorKind::data, path + ": expected at least two different labels, found " +
                                         (classes.empty() ? "none" : quoted_cells(classes)) + " in all of its " +
                                         found);
    }
    if (settings.labels == nn::LabelKind::several) return classes;
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

/// A row's label, or the several ones in its cell.
std::vector<std::string> labels_of(const LabelledRow& row, const LabelledTextSettings& settings) {
    if (settings.labels != nn::LabelKind::several) return {stripped(row.label)};
    return split_labels(row.label, settings.label_separator.front());
}

/// Appends the row's labels as the tokens have them; nothing if one is unknown.
void append_labels(const std::vector<std::string>& labels, const std::map<std::string_view, std::int32_t>& numbers,
                   LabelledTokens& tokens) {
    const bool several = tokens.kind == nn::LabelKind::several;
    const std::size_t begin = tokens.labels.size();
    if (several) tokens.labels.resize(begin + numbers.size(), 0);
    for (const std::string& label : labels) {
        const std::int32_t number = numbers.at(label);
        if (several) tokens.labels[begin + static_cast<std::size_t>(number)] = 1;
        if (!several) tokens.labels.push_back(number);
    }
}

void number_labels(const LabelledRows& table, const LabelledTextSettings& settings,
                   const std::vector<std::string>& given, LabelledTokens& tokens) {
    tokens.classes = given;
    if (given.empty()) {
        std::vector<std::string> all;
        for (const LabelledRow& row : table.rows())
            std::ranges::move(labels_of(row, settings), std::back_inserter(all));
        tokens.classes = classes_of(table, all, settings);
    }
    std::map<std::string_view, std::int32_t> numbers;
    for (std::size_t i = 0; i < tokens.classes.size(); ++i)
        numbers.emplace(tokens.classes[i], static_cast<std::int32_t>(i));
    const std::size_t width = settings.labels == nn::LabelKind::several ? tokens.classes.size() : 1;
    for (const LabelledRow& row : table.rows()) {
        const std::vector<std::string> labels = labels_of(row, settings);
        const auto unknown =
            std::ranges::find_if(labels, [&](const std::string& name) { return !numbers.contains(name); });
        if (settings.needs_labels && unknown != labels.end()) {
            throw Error(ErrorKind::data, place_in(settings.file, row.line) + ": expected a label of the training (" +
                                             quoted_cells(tokens.classes) + "), found " + quoted_cells({*unknown}));
        }
        if (unknown == labels.end() && (settings.needs_labels || !labels.empty())) {
            append_labels(labels, numbers, tokens);
        } else {
            tokens.labels.resize(tokens.labels.size() + width, kNoLabel);
        }
    }
}

std::optional<float> finite_number(std::string_view text) {
    const auto value = as_number<double>(text);
    if (!value || !(std::abs(*value) <= std::numeric_limits<float>::max())) return std::nullopt;
    return static_cast<float>(*value);
}

void read_scores(const LabelledRows& table, const LabelledTextSettings& settings, LabelledTokens& tokens) {
    for (const LabelledRow& row : table.rows()) {
        const std::optional<float> score = finite_number(stripped(row.label));
        if (!score && settings.needs_labels) {
            throw Error(ErrorKind::data, place_in(settings.file, row.line) +
                                             ": expected a number as the score, found " +
                                             quoted_cells({std::string(row.label)}));
        }
        tokens.scores.push_back(score.value_or(std::numeric_limits<float>::quiet_NaN()));
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
        const bool has_pair = !pair_.empty();
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
        tokeniser_.append(text, settings_.splits_special_tokens, ids);
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
    for_each_index(threads, chunks.size(), [&](std::size_t number) {
        RowTokeniser tokeniser(vocabulary, settings);
        const std::size_t end = std::min(rows.size(), (number + 1) * kChunkRows);
        for (std::size_t i = number * kChunkRows; i < end; ++i)
            tokeniser.append(rows[i], chunks[number]);
    });
    return chunks;
}

void join(std::vector<Chunk> chunks, TokenId vocabulary_size, LabelledTokens& tokens) {
    if (vocabulary_size > std::size_t{1} << 16) tokens.ids.emplace<std::vector<TokenId>>();
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
    const bool has_classes = settings.labels != nn::LabelKind::score;
    if (!settings.needs_labels && classes.empty() && has_classes)
        refuse("a file without labels needs the classes of a training");
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

/// Arguments and errors as in open_labelled_text().
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
    tokens.kind = settings.labels;
    if (tokens.kind == nn::LabelKind::score) {
        read_scores(table, settings, tokens);
    } else {
        number_labels(table, settings, classes, tokens);
    }
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

std::vector<double> LabelledText::labels_of(std::int64_t index) const {
    const std::size_t row = rows_.at(static_cast<std::size_t>(index));
    if (tokens_->kind == nn::LabelKind::score) return {tokens_->scores.at(row)};
    const std::size_t each = tokens_->kind == nn::LabelKind::several ? tokens_->classes.size() : 1;
    std::vector<double> label;
    for (std::size_t i = row * each; i < (row + 1) * each; ++i)
        label.push_back(tokens_->labels.at(i) < 0 ? std::nan("") : tokens_->labels[i]);
    return label;
}

std::vector<Field> LabelledText::fields() const {
    const TensorDesc tokens{DType::i32, {tokens_->length}};
    std::vector<Field> fields = {{"input_ids", tokens},
                                 {"segment_ids", tokens},
                                 {"input_mask", tokens},
                                 {std::string(kLabels), tokens_->label_desc()}};
    if (tokens_->kind == nn::LabelKind::score) fields.push_back({std::string(kLabelWeights), {DType::f32, {}}});
    return fields;
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
    std::vector<std::vector<std::uint32_t>> of_class(std::max<std::size_t>(1, classes().size()));
    for (const std::uint32_t row : rows_) {
        const std::int32_t label = tokens_->class_of(row);
        if (label >= 0) of_class[static_cast<std::size_t>(label)].push_back(row);
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
    std::vector<std::uint32_t> rows(tokens->rows());
    std::iota(rows.begin(), rows.end(), 0U);
    return std::make_shared<LabelledText>(std::move(tokens), std::move(rows));
}

}  // namespace cnntrain::data
