#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/questions.h"
#include "data/records/example.h"
#include "data/records/tfrecord.h"
#include "data/sets/questions.h"
#include "data/text/tokeniser.h"

namespace cnntrain::data {
namespace {

/// Part of the digest; increase it when equal files and settings give other records.
constexpr std::uint64_t kFeatureFormat = 1;

class QuestionFeatures final : public Dataset {
public:
    explicit QuestionFeatures(std::shared_ptr<const QuestionSet> set) : set_(std::move(set)) {}

    std::int64_t size() const override { return std::ssize(set_->features); }
    std::vector<Field> fields() const override { return question_fields(set_->settings); }
    SampleState read(std::int64_t index, SamplePosition, SampleView out, Workspace&) const override {
        if (index == kPaddingSample) return store_no_question(out);
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
        for (const Question& question : set_->questions)
            bytes += sizeof question + question.text.capacity() + question.tokens.capacity() * sizeof(TokenId);
        return {.memory_bytes = bytes};
    }

private:
    std::shared_ptr<const QuestionSet> set_;
};

/// The features of a training, as a cache has them.
class CachedFeatures final : public Dataset {
public:
    CachedFeatures(const std::string& path, const QuestionSettings& settings, int threads, const QuestionFiles& read,
                   FileSystem& files)
        : fields_(question_fields(settings)), records_({path}, {.threads = threads, .index_name = {}}, files) {
        for (const Field& field : fields_) {
            const bool is_position = field.desc.shape.empty();
            const std::int64_t most = is_position               ? settings.sequence_length - 1
                                      : field.name == kInputIds ? settings.vocabulary_size - 1
                                                                : 1;
            keys_.push_back({.key = field.name, .field = field.name, .length = field.desc.elements(), .most = most});
        }
        parts_ = read.parts(settings, size());
        std::vector<std::byte> buffer;
        for (std::int64_t i = 0; i < size(); ++i)
            (void)records_.read(i, buffer);  // verifies the checksum
    }

    std::int64_t size() const override { return records_.size(); }
    std::vector<Field> fields() const override { return fields_; }
    SampleState read(std::int64_t index, SamplePosition, SampleView out, Workspace& workspace) const override {
        if (index == kPaddingSample) return store_no_question(out);
        const std::span<const std::byte> record = records_.read(index, workspace.record);
        if (const auto fault = parse_pretraining_example(record, keys_, out))
            throw Error(ErrorKind::data, records_.describe(index) + ": " + fault->what + "; remove the file");
        return SampleState::counted;
    }
    void will_need(std::int64_t index) const noexcept override { records_.will_need(index); }
    SamplePlace place(std::int64_t index) const override { return {records_.describe(index)}; }
    Origin origin() const override { return {.samples = size(), .parts = parts_}; }
    DatasetState state() const override { return {.memory_bytes = records_.memory_bytes()}; }

private:
    std::vector<Field> fields_;
    std::vector<PretrainingKey> keys_;  // views of the names in fields_
    RecordFiles records_;
    std::vector<OriginPart> parts_;
};

/// Null if there is no cache, or a damaged one.
std::shared_ptr<const Dataset> open_cache(const FeatureCache& cache, const QuestionSettings& settings, int threads,
                                          const QuestionFiles& read, FileSystem& files) {
    if (!exists(files, cache.records)) return nullptr;
    try {
        auto features = std::make_shared<CachedFeatures>(cache.records, settings, threads, read, files);
        const std::string count = std::to_string(features->size()) + "\n";
        if (features->size() > 0 && read_text(files, cache.metadata) == count) return features;
        log::warning(cache.metadata + ": expected the " + std::to_string(features->size()) + " records of " +
                     cache.records + ", found another number; the cache is made again");
    } catch (const Error& error) {
        log::warning(std::string("the feature cache is damaged and is made again: ") + error.what());
    }
    return nullptr;
}

void write_cache(const QuestionSet& set, const FeatureCache& cache, FileSystem& files) {
    const std::vector<Field> fields = question_fields(set.settings);
    std::vector<std::vector<std::uint32_t>> values;
    std::vector<std::span<std::byte>> views;
    for (const Field& field : fields)
        values.emplace_back(static_cast<std::size_t>(field.desc.elements()));
    for (std::vector<std::uint32_t>& field : values)
        views.push_back(std::as_writable_bytes(std::span(field)));
    files.make_directories(set.settings.cache_folder);
    RecordWriter writer(files, cache.records);
    ExampleEncoder encoder;
    const auto write = [&](std::int64_t unique_id, std::int64_t is_impossible) {
        for (std::size_t i = 0; i < fields.size(); ++i)
            encoder.add(fields[i].name, values[i]);
        encoder.add("unique_ids", std::span(&unique_id, 1));
        if (set.settings.training) encoder.add("is_impossible", std::span(&is_impossible, 1));
        std::string bytes;
        encoder.finish(bytes);
        writer.write(std::as_bytes(std::span(bytes)));
    };
    for (std::size_t i = 0; i < set.features.size(); ++i) {
        set.store(i, views);
        write(kFirstUniqueId + static_cast<std::int64_t>(i), set.questions[set.features[i].question].is_impossible);
    }
    for (std::vector<std::uint32_t>& field : values)
        std::ranges::fill(field, 0U);
    const std::int64_t multiple = set.settings.training ? 1 : set.settings.padding_to;
    for (std::int64_t i = std::ssize(set.features); i % multiple != 0; ++i)
        write(-1, 0);
    writer.commit();
    write_text(files, cache.metadata, std::to_string(set.features.size()) + "\n");
}

}  // namespace

FeatureCache::FeatureCache(const QuestionSettings& settings, const QuestionFiles& read) {
    Digest digest;
    digest.add(kFeatureFormat);
    for (const std::string& text : {read.json, read.vocabulary, unicode_version()})
        digest.add(text);
    for (const bool setting : {settings.lower_case, settings.splits_special_tokens, settings.training, settings.v2})
        digest.add(std::uint64_t{setting});
    for (const std::int64_t setting :
         {settings.sequence_length, settings.doc_stride, settings.max_query_length, settings.padding_to})
        digest.add(static_cast<std::uint64_t>(setting));
    std::string base = std::to_string(settings.sequence_length) + "_" + std::to_string(settings.doc_stride) + "_" +
                       std::to_string(settings.max_query_length);
    if (!settings.training) base += "_" + std::to_string(settings.padding_to);
    base += (settings.v2 ? "_SQuAD20-" : "_SQuAD11-") + digest.text();
    const std::string phase = settings.training ? "train" : "eval";
    records = path_in(settings.cache_folder, base + "_" + phase + ".tfrecord");
    metadata = path_in(settings.cache_folder, phase + "_" + base + ".metadata");
}

OpenedQuestions open_questions(const QuestionSettings& settings, int threads, FileSystem& files) {
    const QuestionFiles read = read_question_files(settings, files);
    const FeatureCache cache(settings, read);
    const bool has_cache = !settings.cache_folder.empty() && settings.generated < 1;
    if (has_cache && settings.training) {
        if (auto cached = open_cache(cache, settings, threads, read, files)) return {std::move(cached), nullptr};
    }
    const std::shared_ptr<const QuestionSet> set = make_questions(settings, read, threads);
    try {
        if (has_cache) write_cache(*set, cache, files);
    } catch (const Error& error) {
        log::warning(std::string("the features are not kept: ") + error.what());
    }
    return {std::make_shared<QuestionFeatures>(set), set};
}

}  // namespace cnntrain::data
