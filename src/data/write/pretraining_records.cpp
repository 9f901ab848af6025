#include "data/write/pretraining_records.h"

#include <algorithm>
#include <span>

#include "cnntrain/base/error.h"
#include "data/records/packing.h"
#include "data/records/pretraining_example.h"

namespace cnntrain::data {
namespace {

std::span<const std::uint32_t> one(const std::uint32_t& value) {
    return {&value, 1};
}

/// Token ids and positions are below 2^31.
std::span<const std::int32_t> signed_values(const std::vector<std::uint32_t>& values) {
    return {reinterpret_cast<const std::int32_t*>(values.data()), values.size()};
}

}  // namespace

PretrainingRecords::PretrainingRecords(const Corpus& corpus, const InstancePlan& plan, const Vocabulary& vocabulary,
                                       const RecordLayout& layout)
    : corpus_(&corpus), plan_(&plan), vocabulary_(&vocabulary), special_(vocabulary.special_tokens()), layout_(layout) {
    if (!layout.packed) return;
    keys_ = pretraining_keys(layout.settings());
    for (const PretrainingKey& key : keys_)
        fields_.emplace_back(static_cast<std::size_t>(key.length));
    for (Values& field : fields_)
        field_views_.push_back(std::as_writable_bytes(std::span(field)));
}

void PretrainingRecords::append_tokens(TokenRange range) {
    std::size_t skipped = range.skipped;
    std::size_t left = range.tokens;
    for (std::size_t number = range.segment; left > 0; ++number) {
        const Corpus::Segment segment = corpus_->segment(number);
        if (skipped >= segment.size()) {
            skipped -= segment.size();
            continue;
        }
        const Corpus::Segment taken = segment.subspan(skipped, std::min(left, segment.size() - skipped));
        ids_.insert(ids_.end(), taken.begin(), taken.end());
        left -= taken.size();
        skipped = 0;
    }
}

/// Collects the input tokens of an instance and the masked tokens among them.
void PretrainingRecords::gather(const Instance& instance) {
    ids_.clear();
    ids_.push_back(special_.beginning);
    append_tokens(instance.first);
    ids_.push_back(special_.separator);
    segments_.assign(ids_.size(), 0);
    append_tokens(instance.second);
    ids_.push_back(special_.separator);
    segments_.resize(ids_.size(), 1);
    positions_.clear();
    labels_.clear();
    for (const MaskedToken& masked : plan_->masks_of(instance)) {
        std::uint32_t& id = ids_[masked.position];
        positions_.push_back(masked.position);
        labels_.push_back(id);
        if (masked.replacement == kUnchanged) continue;
        id = masked.replacement == kMaskToken ? special_.mask : vocabulary_->distinct()[masked.replacement];
    }
    weights_.assign(static_cast<std::size_t>(layout_.max_predictions), 0);
    std::fill_n(weights_.begin(), positions_.size(), 1.0F);
    random_next_ = instance.random_next ? 1 : 0;
}

void PretrainingRecords::append(std::span<const std::uint32_t> instances, std::string& bytes) {
    if (layout_.packed) return append_packed(instances, bytes);
    CNNTRAIN_CHECK(instances.size() == 1, "a record of several sequences in another layout");
    gather(plan_->instances[instances.front()]);
    if (layout_.remask) {
        append_static(bytes);
    } else {
        append_plain(bytes);
    }
}

void PretrainingRecords::append_plain(std::string& bytes) {
    const auto length = static_cast<std::size_t>(layout_.sequence_length);
    const auto predictions = static_cast<std::size_t>(layout_.max_predictions);
    mask_.assign(ids_.size(), 1);
    for (Values* values : {&mask_, &ids_, &segments_})
        values->resize(length, 0);
    for (Values* values : {&positions_, &labels_})
        values->resize(predictions, 0);
    encoder_.add(kInputIds, ids_);
    encoder_.add(kInputMask, mask_);
    encoder_.add(kMaskedLmIds, labels_);
    encoder_.add(kMaskedLmPositions, positions_);
    encoder_.add(kMaskedLmWeights, weights_);
    encoder_.add(kNextSentenceLabels, one(random_next_));
    encoder_.add(kSegmentIds, segments_);
    encoder_.finish(bytes);
}

/// Masked tokens get positions from 0 on, other tokens from M on. Tokens with id 0 count as padding and are dropped,
/// even if one of them replaces a masked token.
void PretrainingRecords::append_static(std::string& bytes) {
    const auto length = static_cast<std::size_t>(layout_.sequence_length);
    const auto predictions = static_cast<std::size_t>(layout_.max_predictions);
    padded_ids_.assign(length, 0);
    padded_segments_.assign(length, 0);
    padded_positions_.assign(length, layout_.pad_position);
    padded_labels_.assign(predictions, 0);
    std::uint32_t front = 0;
    auto back = static_cast<std::uint32_t>(predictions);
    std::size_t next_masked = 0;
    for (std::uint32_t position = 0; position < ids_.size(); ++position) {
        const bool masked = next_masked < positions_.size() && positions_[next_masked] == position;
        if (masked) ++next_masked;
        if (ids_[position] == 0) continue;
        if (masked) padded_labels_[front] = labels_[next_masked - 1];
        const std::uint32_t place = masked ? front++ : back++;
        padded_ids_[place] = ids_[position];
        padded_segments_[place] = segments_[position];
        padded_positions_[place] = position;
    }
    encoder_.add(kInputIds, padded_ids_);
    encoder_.add(kInputPosition, padded_positions_);
    encoder_.add(kMaskPaddingIndex, one(front));
    encoder_.add(kMaskedLabels, padded_labels_);
    labels_.resize(predictions, 0);
    encoder_.add(kMaskedLmIds, labels_);
    encoder_.add(kMaskedLmPositions, positions_);
    encoder_.add(kMaskedLmWeights, weights_);
    encoder_.add(kNextSentenceLabels, one(random_next_));
    encoder_.add(kSegmentIds, padded_segments_);
    encoder_.add(kSeqPaddingIndex, one(back));
    encoder_.finish(bytes);
}

void PretrainingRecords::append_packed(std::span<const std::uint32_t> instances, std::string& bytes) {
    PackedRow row(field_views_);
    for (const std::uint32_t number : instances) {
        gather(plan_->instances[number]);
        row.append({.ids = signed_values(ids_),
                    .segments = signed_values(segments_),
                    .masked_places = signed_values(positions_),
                    .masked_ids = signed_values(labels_),
                    .weights = std::span(weights_).first(labels_.size()),
                    .next_sentence_label = static_cast<std::int32_t>(random_next_)});
    }
    for (std::size_t i = 0; i < keys_.size(); ++i) {
        if (keys_[i].type == FeatureType::floats) {
            const auto* const values = reinterpret_cast<const float*>(fields_[i].data());
            encoder_.add(keys_[i].key, std::span(values, fields_[i].size()));
        } else {
            encoder_.add(keys_[i].key, fields_[i]);
        }
    }
    encoder_.finish(bytes);
}

}  // namespace cnntrain::data
