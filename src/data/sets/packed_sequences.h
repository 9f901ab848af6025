// Sequences of another data set, packed into rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/data/pretraining.h"
#include "data/records/packed_row.h"
#include "data/records/packing.h"

namespace cnntrain::data {

/// A sample is a row. Which sequences share one depends on the data alone.
class PackedSequences final : public Dataset {
public:
    /// `settings`: of the rows. `sequences`: in the normal or static layout, of the same lengths. Reads all of them.
    /// Throws Error(data) if padding lies between tokens or predictions.
    PackedSequences(std::shared_ptr<const Dataset> sequences, const PretrainingSettings& settings, int threads);

    std::int64_t size() const override { return packing_.rows(); }
    std::vector<Field> fields() const override { return pretraining_fields(settings_); }
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    void pad(SampleView out) const override;
    Origin origin() const override;
    std::string describe(std::int64_t index) const override;
    void will_need(std::int64_t index) const noexcept override;
    std::uint64_t memory_bytes() const override { return sequences_->memory_bytes() + packing_.memory_bytes(); }
    std::uint64_t cache_bytes() const override { return sequences_->cache_bytes(); }

    /// "1000 sequences in 480 rows of 512 tokens, of which 2.1 % are padding"
    std::string summary() const;

private:
    static constexpr std::size_t kMostFields = 8;

    /// In the workspace.
    SequenceValues sequence(std::int64_t number, SamplePosition position, Workspace& workspace) const;
    std::vector<RowShare> shares(int threads) const;

    std::shared_ptr<const Dataset> sequences_;
    PretrainingSettings settings_;
    std::vector<std::size_t> bytes_;  // of the fields of a sequence
    std::int64_t tokens_ = 0;         // of all sequences
    Packing packing_;
};

}  // namespace cnntrain::data
