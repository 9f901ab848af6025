#include "data/sets/labelled_tokens.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/data/image_fields.h"
#include "data/sets/labelled_rows.h"
#include "data/text/code_points.h"
#include "data/text/table.h"
#include "data/text/tokeniser.h"
#include "data/text/vocabulary.h"

namespace cnntrain::data {
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
        std::optional<SpecialPiece> piece = special_piece(vocabulary_, text);
        const bool any = piece.has_value();
        for (; piece && !settings_.splits_special_tokens; piece = special_piece(vocabulary_, text)) {
            tokeniser_.append_tokens(text.substr(0, piece->begin), ids);
            ids.push_back(piece->id);
            text.remove_prefix(piece->end);
        }
        tokeniser_.append_tokens(text, ids);
        return any;
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
void store_empty_text(SampleView out) {
    for (const std::size_t field : {kIds, kSegments, kMask})
        std::ranges::fill(out[field], std::byte{0});
    store_ints(out[kMask], 0, 1, [](std::size_t) { return 1; });
    store_text_label(kNoLabel, out);
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
