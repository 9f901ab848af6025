// Sequences for BERT pretraining: from records, or generated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/data/sets.h"
#include "data/records/example.h"
#include "data/records/tfrecord.h"

namespace cnntrain::data {

class PretrainingFiles final : public Dataset {
public:
    /// Reads the first record of each file. Throws Error(data) like open_pretraining().
    PretrainingFiles(std::vector<std::string> paths, const PretrainingSettings& settings, const RecordOptions& options);

    std::int64_t size() const override { return records_.size(); }
    std::vector<Field> fields() const override { return pretraining_fields(settings_); }
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    void will_need(std::int64_t index) const noexcept override { records_.will_need(index); }
    SamplePlace place(std::int64_t index) const override { return {records_.describe(index)}; }
    Origin origin() const override { return {.samples = size(), .parts = records_.parts()}; }
    DatasetState state() const override { return {.memory_bytes = records_.memory_bytes()}; }

private:
    [[noreturn]] void fail(std::int64_t index, std::span<const std::byte> record, const PretrainingFault& fault) const;

    PretrainingSettings settings_;
    std::vector<PretrainingKey> keys_;
    RecordFiles records_;
};

/// Number of distinct samples, repeated indefinitely, as in the reference program.
inline constexpr std::int64_t kGeneratedSequences = 1000;

/// Rows of S random tokens of which M are predicted; all values are valid. In the packed layout, both parts are
/// sequences of their own.
class GeneratedSequences final : public Dataset {
public:
    GeneratedSequences(const PretrainingSettings& settings, std::uint64_t seed);

    std::int64_t size() const override { return kGeneratedSequences; }
    Origin origin() const override { return {.samples = size(), .recipe = "generated sequences"}; }
    std::vector<Field> fields() const override { return pretraining_fields(settings_); }
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    DatasetState state() const override;

private:
    PretrainingSettings settings_;
    std::vector<std::vector<std::int32_t>> values_;  // for each field, the values of all samples
};

/// Writes a padding sequence, which does not count.
SampleState store_empty_sequence(const PretrainingSettings& settings, SampleView out);

}  // namespace cnntrain::data
