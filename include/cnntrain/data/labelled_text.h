// The data set of text classification: a TSV or CSV file with one or two texts and a label in each row.
//
// The file name's ending tells the format (.tsv, .csv); with another ending it is TSV if the first line has a tab. TSV
// has no quotes, like the files of GLUE. CSV follows RFC 4180; quoted cells may have line ends. The file is UTF-8.
// Empty lines are skipped.
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
// The classes are the different labels: sorted as numbers if all are whole numbers, else as text.
//
// S: tokens of a sequence. Fields of one sample, in this order; tokens stand at positions 0, 1, 2, ...:
//
//   name          type    values
//   input_ids     i32[S]  [CLS] text [SEP], or [CLS] text [SEP] second text [SEP]; then 0
//   segment_ids   i32[S]  1 for the second text and its [SEP], else 0
//   input_mask    i32[S]  1: a token, 0: padding
//   labels        i32[]   0..classes-1; kNoLabel: padding, or labels are not read
//
// Texts that are too long lose their last tokens; of a pair the longer text does, and the second if both are equally
// long.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/labelled_text_settings.h"

namespace cnntrain::data {

struct LabelledTokens;
struct LabelledParts;

/// The samples of a file, or some of them, in its order. Texts are tokens from the start; reading a sample is a copy.
class LabelledText final : public Dataset {
public:
    LabelledText(std::shared_ptr<const LabelledTokens> tokens, std::vector<std::uint32_t> rows);

    /// Their names by number.
    const std::vector<std::string>& classes() const;
    /// Samples, of all in the file, that lost tokens.
    std::int64_t truncated() const;
    /// Two data sets: each class gives the second one its share of samples, within one, drawn by the seed, and keeps at
    /// least one sample. Error(usage) for a share that is not in (0, 1), Error(data) when a part has no sample.
    LabelledParts parts(double validation_share, std::uint64_t seed) const;

    std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()); }
    std::vector<Field> fields() const override;
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    void pad(SampleView out) const override;
    std::uint64_t memory_bytes() const override;

private:
    std::shared_ptr<const LabelledTokens> tokens_;
    std::vector<std::uint32_t> rows_;
};

struct LabelledParts {
    std::shared_ptr<const LabelledText> training;
    std::shared_ptr<const LabelledText> validation;
};

/// Reads and tokenises the file on so many threads. `classes`: those of the training whose network reads this file;
/// empty: the file has its own, at least two. Error(usage) for settings that cannot be; Error(data) names file and line
/// of whatever is not as described above, of empty texts and labels, and of labels that are none of `classes`.
std::shared_ptr<const LabelledText> open_labelled_text(const LabelledTextSettings& settings, int threads,
                                                       const std::vector<std::string>& classes = {},
                                                       const FileSystem& files = posix_files());

}  // namespace cnntrain::data
