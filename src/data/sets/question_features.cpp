#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/questions.h"
#include "data/records/example.h"
#include "data/records/tfrecord.h"
#include "data/text/tokeniser.h"

namespace cnntrain::data {
namespace {

/// Part of the digest; increase it when equal files and settings give other records.
constexpr std::uint64_t kFeatureFormat = 1;

std::vector<Field> question_fields(const QuestionSettings& settings) {
    const TensorDesc tokens{DType::i32, {settings.sequence_length}};
    std::vector<Field> fields = {
        {std::string(kInputIds), tokens}, {std::string(kSegmentIds), tokens}, {std::string(kInputMask), tokens}};
    if (settings.training) fields.push_back({std::string(kAnswerPositions), {DType::i32, {2}}});
    return fields;
}

class QuestionFeatures final : public Dataset {
public:
    explicit QuestionFeatures(std::shared_ptr<const QuestionSet> set) : set_(std::move(set)) {}

    std::int64_t size() const override { return std::ssize(set_->features); }
    std::vector<Field> fields() const override { return question_fields(set_->settings); }
    SampleState read(std::int64_t index, SamplePosition, SampleView out, Workspace&) const override {
        if (index == kPaddingSample) {
            QuestionSet::store_padding(out);
            return SampleState::padding;
        }
        set_->store(static_cast<std::size_t>(index), out);
        return SampleState::counted;
    }
    SamplePlace place(std::int64_t index) const override {
        const auto number = static_cast<std::size_t>(index);
        const Question& question = set_->questions[set_->features.at(number).question];
        return {set_->settings.file + ", question " + printable(question.id) + ", window " +
                std::to_string(number - question.first_feature)};
    }
    Origin origin() const override {
        const bool generated = set_->settings.generated > 0;
        return {.samples = size(), .recipe = generated ? "generated questions" : "", .parts = set_->parts};
    }
    DatasetState state() const override {
        std::uint64_t bytes = set_->features.capacity() * sizeof(QuestionFeature);
        const QuestionContext* counted = nullptr;  // questions on one context follow each other
        for (const Question& question : set_->questions) {
            const QuestionContext& context = *question.context;
            bytes += sizeof question + question.text.capacity() + question.tokens.capacity() * sizeof(TokenId);
            if (&context != std::exchange(counted, &context)) {
                bytes += context.text.capacity() + context.words.capacity() * sizeof(std::string_view) +
                         3 * context.tokens.capacity() * sizeof(TokenId);
            }
        }
        return {.memory_bytes = bytes};
    }

private:
    std::shared_ptr<const QuestionSet> set_;
};

/// Encodes one feature after the other.
class FeatureRecords {
public:
    explicit FeatureRecords(const QuestionSet& set) : set_(set) {
        for (const Field& field : question_fields(set.settings)) {
            names_.push_back(field.name);
            values_.emplace_back(static_cast<std::size_t>(field.desc.elements()));
        }
        for (std::vector<std::uint32_t>& values : values_)
            views_.push_back(std::as_writable_bytes(std::span(values)));
    }

    /// `feature`: beyond the last one, a padding record.
    std::span<const std::byte> encode(std::size_t feature) {
        const bool is_padding = feature >= set_.features.size();
        if (is_padding) {
            for (std::vector<std::uint32_t>& values : values_)
                std::ranges::fill(values, 0U);
        } else {
            set_.store(feature, views_);
        }
        for (std::size_t i = 0; i < names_.size(); ++i) {
            if (names_[i] == kAnswerPositions) {
                encoder_.add("start_positions", std::span(values_[i]).first(1));
                encoder_.add("end_positions", std::span(values_[i]).last(1));
            } else {
                encoder_.add(names_[i], values_[i]);
            }
        }
        const std::int64_t id = is_padding ? -1 : kFirstUniqueId + static_cast<std::int64_t>(feature);
        encoder_.add("unique_ids", std::span(&id, 1));
        const std::int64_t impossible =
            !is_padding && set_.questions[set_.features[feature].question].is_impossible ? 1 : 0;
        if (set_.settings.training) encoder_.add("is_impossible", std::span(&impossible, 1));
        bytes_.clear();
        encoder_.finish(bytes_);
        return std::as_bytes(std::span(bytes_));
    }

private:
    const QuestionSet& set_;
    std::vector<std::string> names_;
    std::vector<std::vector<std::uint32_t>> values_;
    std::vector<std::span<std::byte>> views_;
    ExampleEncoder encoder_;
    std::string bytes_;
};

std::string digest_of(const QuestionSet& set) {
    const QuestionSettings& settings = set.settings;
    Digest digest;
    digest.add(kFeatureFormat);
    digest.add(unicode_version());
    for (const OriginPart& part : set.parts) {
        digest.add(part.bytes);
        digest.add(std::uint64_t{part.checksum});
    }
    for (const bool setting : {settings.lower_case, settings.splits_special_tokens, settings.training, settings.v2})
        digest.add(std::uint64_t{setting});
    return digest.text();
}

}  // namespace

std::shared_ptr<const Dataset> question_features(std::shared_ptr<const QuestionSet> set) {
    return std::make_shared<QuestionFeatures>(std::move(set));
}

FeatureFiles feature_files(const QuestionSet& set, const std::string& folder, std::int64_t padding_to) {
    const QuestionSettings& settings = set.settings;
    std::string base = std::to_string(settings.sequence_length) + "_" + std::to_string(settings.doc_stride) + "_" +
                       std::to_string(settings.max_query_length);
    if (!settings.training) base += "_" + std::to_string(padding_to);
    base += (settings.v2 ? "_SQuAD20-" : "_SQuAD11-") + digest_of(set);
    const std::string phase = settings.training ? "train" : "eval";
    return {path_in(folder, base + "_" + phase + ".tfrecord"), path_in(folder, phase + "_" + base + ".metadata")};
}

void write_features(const QuestionSet& set, const std::string& folder, std::int64_t padding_to, FileSystem& files) {
    const FeatureFiles paths = feature_files(set, folder, padding_to);
    if (exists(files, paths.records) && exists(files, paths.metadata)) return;
    files.make_directories(folder);
    const std::int64_t count = std::ssize(set.features);
    const std::int64_t multiple = set.settings.training ? 1 : padding_to;
    RecordWriter writer(files, paths.records);
    FeatureRecords records(set);
    for (std::int64_t i = 0; i < (count + multiple - 1) / multiple * multiple; ++i)
        writer.write(records.encode(static_cast<std::size_t>(i)));
    writer.commit();
    write_text(files, paths.metadata, std::to_string(count) + "\n");
}

}  // namespace cnntrain::data
