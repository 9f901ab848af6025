#include "data/loading/slot.h"

#include <algorithm>
#include <utility>

namespace cnntrain::data {

std::vector<Field> filled_fields(std::vector<Field> sample, std::int64_t micro_batch) {
    for (Field& field : sample)
        field.desc.shape.insert(field.desc.shape.begin(), micro_batch);
    return sample;
}

namespace {

std::vector<MadeField> made_fields(const std::vector<Field>& filled, const LoaderSettings& settings) {
    return settings.transform ? settings.transform->makes(filled) : std::vector<MadeField>{};
}

}  // namespace

std::vector<Field> batch_fields(const std::vector<Field>& sample, const LoaderSettings& settings) {
    std::vector<Field> fields = filled_fields(sample, settings.micro_batch);
    for (MadeField& made : made_fields(fields, settings)) {
        if (made.replaces) {
            fields.at(*made.replaces) = std::move(made.field);
        } else {
            fields.push_back(std::move(made.field));
        }
    }
    return fields;
}

RingSize ring_size(const std::vector<Field>& sample, const LoaderSettings& settings) {
    const std::vector<Field> filled = filled_fields(sample, settings.micro_batch);
    std::uint64_t batch_bytes = total_bytes(filled);
    for (const MadeField& made : made_fields(filled, settings))
        batch_bytes += made.field.desc.bytes();
    RingSize ring;
    const std::int64_t fitting = settings.ring_bytes / static_cast<std::int64_t>(batch_bytes) - ring.batches();
    ring.ahead = std::clamp<std::int64_t>(fitting, 1, std::max<std::int64_t>(settings.batches_ahead, 1));
    ring.bytes = static_cast<std::uint64_t>(ring.batches()) * batch_bytes;
    return ring;
}

void allocate(Slot& slot, const std::vector<Field>& sample, const LoaderSettings& settings) {
    slot.plan.resize(static_cast<std::size_t>(settings.micro_batch));
    const std::vector<Field> filled = filled_fields(sample, settings.micro_batch);
    for (const Field& field : filled) {
        HostTensor& tensor = slot.tensors.emplace_back(field.desc);
        slot.filled.push_back(tensor.bytes());
        slot.source.emplace_back(tensor.bytes());
    }
    slot.fields = slot.source;
    for (const MadeField& made : made_fields(filled, settings)) {
        slot.made.push_back(slot.tensors.emplace_back(made.field.desc).bytes());
        if (!made.replaces) slot.fields.emplace_back();
        (made.replaces ? slot.fields[*made.replaces] : slot.fields.back()) = slot.made.back();
    }
}

}  // namespace cnntrain::data
