// The data set of text classification: a TSV or CSV file with one or two texts and a label per row.
//
// The format follows from the file name extension (.tsv, .csv); with another extension, the file is TSV if its first
// line contains a tab. TSV has no quoting, as in GLUE's files. CSV follows RFC 4180; quoted cells may contain line
// ends. The text must be UTF-8. Empty lines are skipped.
//
// The first line is a header if it names a text and a label, in any case. Known names:
//
//   texts   text, sentence, review, question; pairs: text and text_pair, text_a and text_b, text1 and text2,
//           sentence1 and sentence2, question1 and question2, premise and hypothesis, question and sentence,
//           #1 String and #2 String
//   label   label, labels, gold_label, class, category, is_duplicate, quality
//
// Without a header, two columns are text and label; three are text, second text and label.
//
// The classes are the distinct labels, sorted as numbers if all are whole numbers, otherwise as text.
//
// S: number of tokens in a sequence. Fields of one sample, in this order; token positions are 0, 1, 2, ...:
//
//   name          type    values
//   input_ids     i32[S]  [CLS] text [SEP], or [CLS] text [SEP] second text [SEP]; then 0
//   segment_ids   i32[S]  1 for the second text and its [SEP], else 0
//   input_mask    i32[S]  1: a token, 0: padding
//   labels        i32[]   0..classes-1; kNoLabel: padding, or a row without a label
//
// Texts that are too long lose their last tokens. In a pair, the longer text is shortened; if both are equally long,
// the second.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/dataset.h"

namespace cnntrain::data {

// User settings of a file of labelled texts (data/labelled_text.h).

struct LabelledTextSettings {
    std::string file = {};             // TSV or CSV
    std::string vocabulary_file = {};  // vocabulary of the WordPiece tokeniser
    bool lower_case = true;            // also strips accents
    /// True: [SEP] and other special tokens in a text are divided as its words are. False: each is one token.
    bool splits_special_tokens = false;
    std::int64_t sequence_length = 128;  // S
    /// Upper limit of token ids (exclusive). The vocabulary file may have more lines than the model's embedding has
    /// rows.
    std::int64_t vocabulary_size = 30522;
    std::int64_t type_vocabulary = 2;  // rows of the segment embedding
    // Column names in the header line; empty: found by the known names and positions of data/labelled_text.h.
    std::string text_column = {};
    std::string pair_column = {};
    std::string label_column = {};
    bool needs_labels = true;  // false: a row without a label, or with one that is no class, has none
    bool keeps_texts = false;  // for LabelledText::text()
};

struct LabelledTokens;
struct LabelledParts;

/// All or some samples of a file, in file order. Texts are tokenised when the file is opened; reading a sample is a
/// copy.
class LabelledText final : public Dataset {
public:
    LabelledText(std::shared_ptr<const LabelledTokens> tokens, std::vector<std::uint32_t> rows);

    /// Class names by number.
    const std::vector<std::string>& classes() const;
    /// Number of samples in the file that lost tokens.
    std::int64_t truncated() const;
    /// Number of samples in the file whose texts have special tokens, such as [SEP], in them.
    std::int64_t with_special_tokens() const;
    /// A sample as in its file, second texts after a tab; "" unless the settings keep texts.
    std::string text(std::int64_t index) const;
    /// The sample's row in the file, from 1.
    std::int64_t row(std::int64_t index) const { return rows_.at(static_cast<std::size_t>(index)) + 1; }
    /// Splits the samples into two data sets. The second gets the share `validation_share` of each class, within one
    /// sample, drawn with the seed; each class keeps at least one sample in the first. Throws Error(usage) for a share
    /// outside (0, 1), Error(data) if a part is empty.
    LabelledParts parts(double validation_share, std::uint64_t seed) const;

    std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()); }
    std::vector<Field> fields() const override;
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    void pad(SampleView out) const override;
    std::uint64_t memory_bytes() const override;
    /// The file and its vocabulary.
    Origin origin() const override;
    /// The file, and the row's number in it, from 1.
    std::string describe(std::int64_t index) const override;

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
/// rows that do not follow the format above, for empty texts, and, if labels are needed, for empty ones and those not
/// in `classes`.
std::shared_ptr<const LabelledText> open_labelled_text(const LabelledTextSettings& settings, int threads,
                                                       const std::vector<std::string>& classes = {},
                                                       const FileSystem& files = posix_files());

}  // namespace cnntrain::data
