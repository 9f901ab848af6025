#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
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
        const QuestionContext* counted = nullptr;  // questions on one context follow each other
        for (const Question& question : set_->questions) {
            const QuestionContext& context = *question.context;
            bytes += sizeof question + question.text.capacity() + question.tokens.capacity() * sizeof(TokenId);
            if (&context != std::exchange(counted, &context)) {
                bytes += context.text.capacity() + context.words.capacity() * sizeof context.words[0] +
                         3 * context.tokens.capacity() * sizeof(TokenId);
            }
        }
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

std::int64_t padded_count(std::int64_t features, const QuestionSettings& settings) {
    return (features + settings.padding_to - 1) / settings.padding_to * settings.padding_to;
}

/// Number of features without padding in a cache; nothing if the file is no number.
std::optional<std::int64_t> cached_count(const FileSystem& files, const FeatureCache& cache) {
    constexpr std::uint64_t kLongestCount = 64;
    const std::string text = read_text(files, cache.metadata, kLongestCount);
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    return error == std::errc() && std::string_view(end) == "\n" ? std::optional(count) : std::nullopt;
}

/// Null if there is no cache, or a damaged one.
std::shared_ptr<const Dataset> open_cache(const FeatureCache& cache, const QuestionSettings& settings, int threads,
                                          const QuestionFiles& read, FileSystem& files) {
    if (!exists(files, cache.records)) return nullptr;
    try {
        auto features = std::make_shared<CachedFeatures>(cache.records, settings, threads, read, files);
        const std::optional<std::int64_t> count = cached_count(files, cache);
        if (count && *count > 0 && padded_count(*count, settings) == features->size()) return features;
        log::warning(cache.metadata + ": expected a number of features that gives the " +
                     std::to_string(features->size()) + " records of " + cache.records +
                     ", found another; the cache is made again");
    } catch (const Error& error) {
        log::warning(std::string("the feature cache is damaged and is made again: ") + error.what());
    }
    return nullptr;
}

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
        for (std::size_t i = 0; i < names_.size(); ++i)
            encoder_.add(names_[i], values_[i]);
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

void write_cache(const QuestionSet& set, const FeatureCache& cache, FileSystem& files) {
    files.make_directories(set.settings.cache_folder);
    const std::int64_t count = std::ssize(set.features);
    RecordWriter writer(files, cache.records);
    FeatureRecords records(set);
    for (std::int64_t i = 0; i < padded_count(count, set.settings); ++i)
        writer.write(records.encode(static_cast<std::size_t>(i)));
    writer.commit();
    write_text(files, cache.metadata, std::to_string(count) + "\n");
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
    const bool has_cache = !settings.cache_folder.empty() && settings.generated < 1;
    std::optional<FeatureCache> cache;
    std::shared_ptr<const Dataset> cached;
    if (has_cache) {
        cache.emplace(settings, read);
        cached = open_cache(*cache, settings, threads, read, files);
        if (cached && settings.training) return {std::move(cached), nullptr};
    }
    const std::shared_ptr<const QuestionSet> set = make_questions(settings, read, threads);
    if (cache && !cached) {
        try {
            write_cache(*set, *cache, files);
        } catch (const Error& error) {
            log::warning(std::string("the features are not kept: ") + error.what());
        }
    }
    return {std::make_shared<QuestionFeatures>(set), set};
}

}  // namespace cnntrain::data
