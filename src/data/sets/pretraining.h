// Sequences for BERT's pretraining: from records, and generated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/data/pretraining.h"
#include "cnntrain/data/tfrecord.h"
#include "data/records/pretraining_example.h"

namespace cnntrain::data {

class PretrainingFiles final : public Dataset {
public:
    /// The first record of each file is read. Error(data) as open_pretraining().
    PretrainingFiles(std::vector<std::string> paths, const PretrainingSettings& settings, const RecordOptions& options);

    std::int64_t size() const override { return records_.size(); }
    std::vector<Field> fields() const override { return pretraining_fields(settings_); }
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    void pad(SampleView out) const override;
    void will_need(std::int64_t index) const noexcept override { records_.will_need(index); }
    std::uint64_t memory_bytes() const override { return records_.memory_bytes(); }
    std::uint64_t cache_bytes() const override { return records_.cache().reserved_bytes; }

private:
    [[noreturn]] void fail(std::int64_t index, std::span<const std::byte> record, const PretrainingFault& fault) const;

    PretrainingSettings settings_;
    std::vector<PretrainingKey> keys_;
    RecordFiles records_;
};

/// Samples in a stream that repeats them for ever, as the reference program has.
inline constexpr std::int64_t kGeneratedSequences = 1000;

/// Full sequences of random tokens, of which M are predicted; every value is in its range.
class GeneratedSequences final : public Dataset {
public:
    GeneratedSequences(const PretrainingSettings& settings, std::uint64_t seed);

    std::int64_t size() const override { return kGeneratedSequences; }
    std::vector<Field> fields() const override { return pretraining_fields(settings_); }
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    void pad(SampleView out) const override;
    std::uint64_t memory_bytes() const override;

private:
    PretrainingSettings settings_;
    std::vector<std::vector<std::int32_t>> values_;  // by field: those of all samples
};

/// A sequence of padding that counts for nothing.
void store_empty_sequence(const PretrainingSettings& settings, SampleView out);

}  // namespace cnntrain::data
