// Data sets by kind: the files of published ones, folders of images, labelled texts, sequences for pretraining.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/settings.h"

namespace cnntrain::data {

/// The folder with the data set's files: `data_dir`, or the first folder below it with the data set's name (searched in
/// sorted order, following links). The result is normalised and absolute. Throws Error(usage) if `data_dir` is empty;
/// Error(data), naming data set, folder and first file, if nothing is found.
std::string find_data_folder(DatasetId dataset, const std::string& data_dir);

/// True for a folder or a table of photos that --dataset folder reads, judged by a few of its files.
bool looks_like_photos(const std::string& place);
/// True for a folder or a table of photos that says which photos are for validation.
bool names_validation_photos(const std::string& place, const TableLabels& labels = {});

/// Makes a value for DataSettings::found_photos.
std::shared_ptr<FoundPhotos> found_photos();

/// Paths of the files of a split, in order. For ImageNet, any shard count (`train-00000-of-00004`) and any subset of
/// the shards is accepted. Error(data) names data set, folder and the first missing file.
std::vector<std::string> split_files(DatasetId dataset, const std::string& folder, Split split);

/// Photos of up to this --image-size (pixels) are taken for a data set of small images.
inline constexpr std::int64_t kLargestSmallImage = 64;

/// A list of the classes of image records, beside these: one name in each line, in the order of the labels, which count
/// from 1.
inline constexpr const char* kLabelsFile = "labels.txt";
/// The names in the folder's list; empty if it has none. Error(data) names a line without a name, or with one that is
/// not UTF-8. Warns once of names that several lines have.
std::vector<std::string> classes_of_records(const std::string& folder);
/// Error(data) about `place` unless the name of a class is UTF-8, as arguments.json and checkpoints are.
void check_class_name(const std::string& place, const std::string& name);

/// The number of image classes: fixed for the data set, counted below settings.data_dir, or settings.classes for
/// records that do not say it. Errors as in find_data_folder(); Error(usage) if settings.classes is another number.
std::int64_t class_count(const DataSettings& settings);
/// C of samples with several labels, those of the trained network or of the data; 0: samples have one label.
std::int64_t label_count(const DataSettings& settings);
/// The names of the classes by number, from below settings.data_dir; empty if the data set has numbers only. Errors as
/// in find_data_folder().
std::vector<std::string> class_names(const DataSettings& settings);

// Photos in a folder, those that fit a pattern, or one photo, to run a trained network on them.

/// True for a path with `*`, `?` or `[` where nothing is.
bool is_photo_pattern(const std::string& place);

/// One file of any name; or all image files that are in and below a folder or fit a pattern with `*`, `?` or `[...]`,
/// sorted by path. Links are followed; hidden files are skipped. The first bytes of a file determine its format; images
/// are turned as their Exif data say. Samples have evaluation preprocessing. A label is that of the photo's row in a
/// table of files and classes, or of its innermost folder that is named as one of settings.known_classes, else
/// kNoLabel. A file that cannot be decoded is reported and left out, or throws Error(data) if `strict`. With a Loader
/// and Feed::sweeps, sample i of a sweep is at place(i).
struct ImageFolder {
    /// The files of the samples' places are relative to the folder, to the last folder of a pattern that has no
    /// wildcard, or, of several places, to the last folder that all photos are in.
    std::shared_ptr<const Dataset> images;
    /// Number of other files by extension, such as "3 .mp4, 1 .txt"; "" if there are none.
    std::string left_out;
};
/// `places`: files, folders, patterns and tables. Error(data) if one cannot be read or gives no such files.
ImageFolder open_image_folder(const std::vector<std::string>& places, const DataSettings& settings,
                              const PixelFormat& format);

// The data set of text classification: a file in rows with one or two texts and a label, score or labels each.
//
// The format follows from the file name extension (.tsv, .csv, .jsonl); with another extension, the file is TSV if its
// first line contains a tab. JSON lines are objects, whose keys are the columns. TSV has no quoting, as in GLUE's
// files, and carriage returns in it are dropped. CSV follows RFC 4180; quoted cells may contain line ends. The text
// must be UTF-8. Empty lines are skipped.
//
// The first line is a header if it names a text and a label, in any case. Known names:
//
//   texts   text, sentence, review, question; pairs: text and text_pair, text_a and text_b, text1 and text2,
//           sentence1 and sentence2, question1 and question2, premise and hypothesis, question and sentence,
//           #1 String and #2 String
//   label   label, labels, gold_label, class, category, is_duplicate, quality; a score also: score, similarity
//
// Without a header, two columns are text and label; three are text, second text and label.
//
// The classes are the distinct labels, sorted as numbers if all are whole numbers, otherwise as text. A text with any
// number of labels has them in one cell, separated by `|`: "sport|politics", in a list of JSON, or in columns of 0 and
// 1 named as the labels. An empty cell is a text without any; where labels are not needed, it is one whose labels are
// unknown.
//
// S: number of tokens in a sequence. Fields of one sample, in this order; token positions are 0, 1, 2, ...:
//
//   name           type    values
//   input_ids      i32[S]  [CLS] text [SEP], or [CLS] text [SEP] second text [SEP]; then 0
//   segment_ids    i32[S]  1 for the second text and its [SEP], else 0
//   input_mask     i32[S]  1: a token, 0: padding
//   labels         i32[]   0..classes-1; kNoLabel: padding, or a row without a label
//     of a score   f32[]   the score; 0: padding, or a row without one
//     several      i32[C]  1: the text has the label, 0: it does not; kNoLabel: padding, or unknown
//   label_weights  f32[]   scores only: 1; 0: padding, or a row without a score
//
// Texts that are too long lose their last tokens. In a pair, the longer text is shortened; if both are equally long,
// the second. A second text without tokens counts as none.

/// The pieces of a WordPiece vocabulary in the order of their ids, one a line. `path`: such a file or a tokenizer.json.
/// Error(data), Error(unsupported) for a tokenizer.json that is damaged or of another kind of tokens.
std::string vocabulary_lines(const FileSystem& files, const std::string& path);

/// The tokeniser as described by the files of transformers beside a vocabulary.
struct TokeniserFacts {
    bool of_transformers = false;         // there are such files
    std::optional<bool> lower_case = {};  // empty: unknown
    bool splits_special_tokens = true;    // that stand in texts
};
TokeniserFacts tokeniser_facts(const FileSystem& files, const std::string& vocabulary_file);

inline constexpr std::string_view kLabelWeights = "label_weights";

/// Columns by number, from 0, of a file whose header is not read. Rows may have more cells, and empty texts.
struct TextColumns {
    std::size_t text = 0;
    std::optional<std::size_t> pair = {};
    std::optional<std::size_t> label = {};
    bool has_header = true;  // the first line is not a sample
    bool skips_short_rows = false;
};
inline constexpr std::size_t kLastColumn = std::numeric_limits<std::size_t>::max();  // of the row; for labels

// User settings of a file of labelled texts.

struct LabelledTextSettings {
    std::string file = {};             // TSV or CSV
    std::string vocabulary_file = {};  // of the WordPiece tokeniser: a piece a line, or a tokenizer.json
    bool lower_case = true;            // also strips accents
    /// True: [SEP] and other special tokens in a text are divided as its words are. False: each is one token.
    bool splits_special_tokens = false;
    std::int64_t sequence_length = 128;  // S
    /// Upper limit of token ids (exclusive). The vocabulary file may have more lines than the model's embedding has
    /// rows.
    std::int64_t vocabulary_size = 30522;
    std::int64_t type_vocabulary = 2;  // rows of the segment embedding
    // Column names in the header line; empty: found by the known names and positions.
    std::string text_column = {};
    std::string pair_column = {};
    std::string label_column = {};
    std::optional<TextColumns> columns = {};  // instead of a header and column names
    nn::LabelKind labels = nn::LabelKind::single;
    std::string label_separator = "|";  // one character
    bool needs_labels = true;           // false: a row without a label, or with one that is no class, has none
    bool keeps_texts = false;           // for LabelledText::text()
};

struct LabelledTokens;
struct LabelledParts;

/// All or some samples of a file, in file order. Texts are tokenised when the file is opened; reading a sample is a
/// copy.
class LabelledText final : public Dataset {
public:
    LabelledText(std::shared_ptr<const LabelledTokens> tokens, std::vector<std::uint32_t> rows);

    /// Class names by number; empty for scores.
    const std::vector<std::string>& classes() const;
    /// Number of samples in the file that lost tokens.
    std::int64_t truncated() const;
    /// Number of samples in the file whose texts have special tokens, such as [SEP], in them.
    std::int64_t with_special_tokens() const;
    /// A sample as in its file, second texts after a tab; "" unless the settings keep texts.
    std::string text(std::int64_t index) const;
    /// The labels of a sample: its class, score, or 0 or 1 for each class; NaN: the sample has none.
    std::vector<double> labels_of(std::int64_t index) const;
    /// The sample's row in the file, from 1.
    std::int64_t row(std::int64_t index) const { return rows_.at(static_cast<std::size_t>(index)) + 1; }
    /// Splits the samples into two data sets. The second gets the share `validation_share` of each class, within one
    /// sample, drawn with the seed; each class keeps at least one sample in the first. Scores and several labels are
    /// not divided into classes. Throws Error(usage) for a share outside (0, 1), Error(data) if a part is empty.
    LabelledParts parts(double validation_share, std::uint64_t seed) const;

    std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()); }
    std::vector<Field> fields() const override;
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    /// The file, and the row's number in it, from 1.
    SamplePlace place(std::int64_t index) const override;
    /// The file and its vocabulary.
    Origin origin() const override;
    DatasetState state() const override;

private:
    std::shared_ptr<const LabelledTokens> tokens_;
    std::vector<std::uint32_t> rows_;
};

struct LabelledParts {
    std::shared_ptr<const LabelledText> training;
    std::shared_ptr<const LabelledText> validation;
};

/// Reads and tokenises the file with `threads` threads. `classes`: the classes of the trained network; if empty, the
/// file defines its own, at least two. Throws Error(usage) for impossible settings. Error(data) names file and line for
/// rows that do not follow the format above, for empty texts, and, if labels are needed, for empty ones, those not in
/// `classes`, and scores that are no finite numbers.
std::shared_ptr<const LabelledText> open_labelled_text(const LabelledTextSettings& settings, int threads,
                                                       const std::vector<std::string>& classes = {},
                                                       const FileSystem& files = posix_files());

// The data set of BERT pretraining: TFRecord files as written by `cnntrain dataset bert`, or generated sequences.
//
// S: number of tokens in a row; M: maximum number of its masked tokens; K: most_sequences(), in the packed layout.
// A sample is a row: one sequence, or in the packed layout up to K of them. Its fields, in this order:
//
//   name                     type    normal  static  packed  values
//   input_ids                i32[S]  yes     yes     yes     0..vocabulary_size-1
//   segment_ids              i32[S]  yes     yes     yes     0..type_vocabulary-1
//   input_position           i32[S]  -       yes     yes     0..max_positions-1; packed: from 0 on in each sequence
//   input_mask               i32[S]  yes     -       -       1: a token, 0: padding
//   sequence_numbers         i32[S]  -       -       yes     1: first sequence, 2: second, ...; 0: padding
//   mask_padding_index       i32[1]  -       yes     -       0..M: masked tokens in front
//   seq_padding_index        i32[1]  -       yes     -       M..S: the padding begins there
//   masked_lm_positions      i32[M]  yes     -       yes     0..S-1
//   masked_lm_ids            i32[M]  yes     yes     yes     0..vocabulary_size-1; called masked_labels if static
//   masked_lm_weights        f32[M]  yes     yes     yes     0..1; 0: there is no such prediction
//   next_sentence_positions  i32[K]  -       -       yes     0..S-1: the first token of each sequence
//   next_sentence_labels     i32[1]  yes     yes     [K]     1: the second part was drawn at random; kNoSentenceLabel:
//                                                            padding, except if packed
//   next_sentence_weights    f32[K]  -       -       yes     1: there is such a sequence, 0: there is none
//
// The static layout places the masked tokens of a sequence in its first M positions and the others after them, so that
// a graph always reads the tokens to predict at the same positions. The packed layout has the sequences of a row one
// after the other, and the padding after all of them.

// User settings of the sequences for BERT pretraining.

struct PretrainingSettings {
    std::string files = {};              // --train-file: file name patterns, separated by commas
    bool generated = false;              // --generated-data: random sequences instead of `files`
    bool static_mask = false;            // --static-mask: the layout of the files
    bool packed = false;                 // --packed: several sequences in a row, whatever the layout of the files
    std::int64_t sequence_length = 128;  // S, --seq-length
    std::int64_t max_predictions = 20;   // M, --max-predictions-per-seq
    /// Upper limit of token ids (exclusive). The published records use all ids of their vocabulary file, which may be
    /// larger than the model's embedding.
    std::int64_t vocabulary_size = 30522;
    std::int64_t max_positions = 512;  // rows of the position embedding
    std::int64_t type_vocabulary = 2;  // rows of the segment embedding
};

/// The next-sentence label of padding samples; their masked_lm_weights are 0.
inline constexpr std::int32_t kNoSentenceLabel = -1;

/// K: the sequences for which a row of the packed layout has room.
constexpr std::int64_t most_sequences(const PretrainingSettings& settings) {
    constexpr std::int64_t kTokensEach = 8;
    return std::max<std::int64_t>(2, settings.sequence_length / kTokensEach);
}

/// Fields of one sample, as listed above.
std::vector<Field> pretraining_fields(const PretrainingSettings& settings);

/// The files that match the comma-separated patterns (`*`, `?`, `[...]` and `~` as in a shell), in the order of the
/// patterns, and sorted within each. Wildcards do not match folders, unfinished files, or files that this program
/// stores beside data (indexes, journals). Throws Error(data) for a pattern without a match, Error(usage) without a
/// pattern.
std::vector<std::string> matching_files(const std::string& patterns);

/// Opens the files, or generates sequences. With `packed`, files of the other layouts are read once and their sequences
/// packed into rows: the same ones whenever the same files are opened. `seed`: of generated sequences. `threads`: for
/// indexing and packing the files. Throws
/// Error(usage) for impossible settings; Error(data) for missing or damaged files, or if the layout or lengths of the
/// first record differ from the settings. Reading a sample throws Error(data), with file, record and key, for anything
/// that is not as listed above.
std::shared_ptr<const Dataset> open_pretraining(const PretrainingSettings& settings, std::uint64_t seed, int threads);

}  // namespace cnntrain::data
