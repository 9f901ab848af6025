// Encodes the instances of a plan as records.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/records/example.h"
#include "data/records/pretraining_example.h"
#include "data/text/tokeniser.h"
#include "data/write/corpus.h"
#include "data/write/pretraining_plan.h"

namespace cnntrain::data {

struct RecordLayout {
    std::int64_t sequence_length = 128;  // S
    std::int64_t max_predictions = 20;   // M
    bool remask = false;                 // selects the static layout
    std::uint32_t pad_position = 384;    // position of padding in the static layout
    bool packed = false;                 // selects the packed layout

    /// Settings with which the records are read.
    PretrainingSettings settings() const {
        return {.static_mask = remask,
                .packed = packed,
                .sequence_length = sequence_length,
                .max_predictions = max_predictions};
    }
};

/// Not thread-safe: it reuses its buffers. The constructor's arguments must outlive it.
class PretrainingRecords {
public:
    PretrainingRecords(const Corpus& corpus, const InstancePlan& plan, const Vocabulary& vocabulary,
                       const RecordLayout& layout);

    /// Appends the tf.Example of the instances to `bytes`: several of them in the packed layout only.
    void append(std::span<const std::uint32_t> instances, std::string& bytes);

private:
    using Values = std::vector<std::uint32_t>;

    void gather(const Instance& instance);
    void append_tokens(TokenRange range);
    void append_plain(std::string& bytes);
    void append_static(std::string& bytes);
    void append_packed(std::span<const std::uint32_t> instances, std::string& bytes);

    const Corpus* corpus_;
    const InstancePlan* plan_;
    const Vocabulary* vocabulary_;
    SpecialTokens special_;
    RecordLayout layout_;
    ExampleEncoder encoder_;

    // Values of the current instance, without padding.
    Values ids_;
    Values segments_;
    Values positions_;  // of the masked tokens
    Values labels_;     // ids of the masked tokens
    std::uint32_t random_next_ = 0;
    std::vector<float> weights_;  // [M]

    // Values of the current record, with padding.
    Values padded_ids_;
    Values padded_segments_;
    Values padded_positions_;  // of the tokens
    Values padded_labels_;
    Values mask_;

    // Fields of the current record in the packed layout.
    std::vector<PretrainingKey> keys_;
    std::vector<Values> fields_;
    std::vector<std::span<std::byte>> field_views_;  // views of fields_
};

}  // namespace cnntrain::data
