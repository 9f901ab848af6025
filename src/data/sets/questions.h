// The features of questions as TFRecords.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cnntrain/base/io.h"
#include "cnntrain/data/questions.h"

namespace cnntrain::data {

/// What the features are made from, read once.
struct QuestionFiles {
    std::string json;
    std::string vocabulary;

    /// The files and their checksums. `samples`: those in the JSON.
    std::vector<OriginPart> parts(const QuestionSettings& settings, std::int64_t samples) const;
};

/// Throws like read_questions().
QuestionFiles read_question_files(const QuestionSettings& settings, const FileSystem& files);
std::shared_ptr<const QuestionSet> make_questions(const QuestionSettings& settings, const QuestionFiles& read,
                                                  int threads);

/// Writes the fields of a padding sample.
SampleState store_no_question(SampleView out);

std::vector<Field> question_fields(const QuestionSettings& settings);

/// The cache of the features that these settings and files give: "FOLDER/384_128_64_SQuAD11-DIGEST_train.tfrecord", or
/// with the padding's multiple "FOLDER/384_128_64_8_SQuAD11-DIGEST_eval.tfrecord". DIGEST stands for the JSON, the
/// vocabulary, the casing and all other settings that matter.
struct FeatureCache {
    std::string records;
    std::string metadata;  // text file with the number of features without padding

    FeatureCache(const QuestionSettings& settings, const QuestionFiles& read);
};

}  // namespace cnntrain::data
