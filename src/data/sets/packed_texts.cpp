#include "cnntrain/data/packed_texts.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "cnntrain/base/error.h"
#include "data/records/example.h"
#include "data/records/packing.h"

namespace cnntrain::data {
namespace {

constexpr std::string_view kFirstTokens = "first_tokens";

std::span<std::int32_t> numbers(std::span<std::byte> bytes) {
    return {reinterpret_cast<std::int32_t*>(bytes.data()), bytes.size() / sizeof(std::int32_t)};
}

class PackedTextRows final : public PackedTexts {
public:
    PackedTextRows(std::shared_ptr<const Dataset> texts, std::int64_t slots, int threads)
        : texts_(std::move(texts)), source_(texts_->fields()), slots_(slots), mask_(field_number(source_, kInputMask)) {
        length_ = source_[mask_].desc.elements();
        read_lengths(threads);
        std::vector<RowShare> shares;
        for (const PackedPlace& place : places_)
            shares.push_back({place.tokens, 0, 1});
        packing_ = pack(shares, {length_, 0, slots_ > 0 ? slots_ : length_});
        for (std::int64_t row = 0; row < packing_.rows(); ++row)
            place_texts(row);
    }

    std::span<const PackedPlace> places() const override { return places_; }
    std::int64_t size() const override { return packing_.rows(); }
    std::int64_t samples() const override { return texts_->size(); }
    std::int64_t samples_in(std::int64_t index) const override { return std::ssize(packing_.sequences(index)); }
    std::vector<Field> fields() const override;
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override;
    SamplePlace place(std::int64_t index) const override {
        return {texts_->place(packing_.sequences(index).front()).text + " and those in its row"};
    }
    Origin origin() const override { return texts_->origin(); }
    DatasetState state() const override {
        return {.memory_bytes =
                    texts_->state().memory_bytes + packing_.memory_bytes() + places_.capacity() * sizeof(PackedPlace)};
    }

private:
    void read_lengths(int threads);
    void place_texts(std::int64_t row) {
        std::int64_t slot = 0;
        std::int64_t first = 0;
        for (const std::uint32_t number : packing_.sequences(row)) {
            PackedPlace& place = places_[number];
            place = {row, slot++, first, place.tokens};
            first += place.tokens;
        }
    }
    /// Fields up to the mask have a number for each token, the others are of the whole text.
    bool is_of_tokens(std::size_t field) const { return field <= mask_; }
    /// Reads a text's fields into memory of the workspace.
    std::vector<std::span<std::byte>> text(std::int64_t number, SamplePosition position, Workspace& workspace) const;

    std::shared_ptr<const Dataset> texts_;
    std::vector<Field> source_;  // fields of a text
    std::int64_t slots_;
    std::size_t mask_;         // number of the field input_mask
    std::int64_t length_ = 0;  // S
    std::vector<PackedPlace> places_;
    Packing packing_;
};

std::vector<std::span<std::byte>> PackedTextRows::text(std::int64_t number, SamplePosition position,
                                                       Workspace& workspace) const {
    workspace.levels.resize(std::max(workspace.levels.size(), total_bytes(source_)));
    std::span<std::byte> left = std::as_writable_bytes(std::span(workspace.levels));
    std::vector<std::span<std::byte>> fields;
    for (const Field& field : source_) {
        fields.push_back(left.first(field.desc.bytes()));
        left = left.subspan(field.desc.bytes());
    }
    texts_->read(number, position, fields, workspace);
    return fields;
}

void PackedTextRows::read_lengths(int threads) {
    places_.resize(static_cast<std::size_t>(texts_->size()));
    const auto read_some = [&](const tbb::blocked_range<std::size_t>& range) {
        Workspace workspace;
        for (std::size_t i = range.begin(); i < range.end(); ++i) {
            const auto mask = numbers(text(static_cast<std::int64_t>(i), {}, workspace)[mask_]);
            places_[i].tokens = std::ranges::count(mask, 1);
        }
    };
    constexpr std::size_t kGrain = 256;
    tbb::task_arena arena(std::clamp(threads, 1, tbb::info::default_concurrency()));
    arena.execute([&] { tbb::parallel_for(tbb::blocked_range<std::size_t>(0, places_.size(), kGrain), read_some); });
}

std::vector<Field> PackedTextRows::fields() const {
    std::vector<Field> fields;
    for (std::size_t i = 0; i < source_.size(); ++i) {
        if (i == mask_) continue;
        Field field = source_[i];
        if (!is_of_tokens(i)) {
            CNNTRAIN_CHECK(slots_ > 0, "the field " + field.name + " needs slots");
            field.desc.shape.insert(field.desc.shape.begin(), slots_);
        }
        fields.push_back(std::move(field));
    }
    const TensorDesc of_tokens{DType::i32, {length_}};
    fields.push_back({std::string(kSequenceNumbers), of_tokens});
    fields.push_back({std::string(kInputPosition), of_tokens});
    if (slots_ > 0) fields.push_back({std::string(kFirstTokens), {DType::i32, {slots_}}});
    return fields;
}

SampleState PackedTextRows::read(std::int64_t index, SamplePosition position, SampleView out,
                                 Workspace& workspace) const {
    for (const std::span<std::byte> field : out)
        std::memset(field.data(), 0, field.size());
    const std::size_t made = source_.size() - 1;  // number of the first field that is not the texts'
    const auto copy_fields = [&](const std::vector<std::span<std::byte>>& fields, const PackedPlace& place) {
        std::size_t to = 0;
        for (std::size_t i = 0; i < fields.size(); ++i) {
            if (i == mask_) continue;
            const std::size_t bytes =
                is_of_tokens(i) ? static_cast<std::size_t>(place.tokens) * sizeof(std::int32_t) : fields[i].size();
            const std::size_t begin = is_of_tokens(i) ? static_cast<std::size_t>(place.first) * sizeof(std::int32_t)
                                                      : static_cast<std::size_t>(place.slot) * fields[i].size();
            std::memcpy(out[to++].data() + begin, fields[i].data(), bytes);
        }
    };
    std::int64_t slot = 0;
    for (const std::uint32_t number :
         index == kPaddingSample ? std::span<const std::uint32_t>{} : packing_.sequences(index)) {
        const PackedPlace& place = places_[number];
        copy_fields(text(number, position, workspace), place);
        for (std::int64_t i = 0; i < place.tokens; ++i) {
            const auto at = static_cast<std::size_t>(place.first + i);
            numbers(out[made])[at] = static_cast<std::int32_t>(slot + 1);
            numbers(out[made + 1])[at] = static_cast<std::int32_t>(i);
        }
        if (slots_ > 0) numbers(out[made + 2])[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(place.first);
        ++slot;
    }
    if (slot < slots_) {
        const std::vector<std::span<std::byte>> empty = text(kPaddingSample, position, workspace);
        for (; slot < slots_; ++slot)
            copy_fields(empty, {.slot = slot});
    }
    return index == kPaddingSample ? SampleState::padding : SampleState::counted;
}

}  // namespace

std::shared_ptr<const PackedTexts> pack_texts(std::shared_ptr<const Dataset> texts, std::int64_t slots, int threads) {
    return std::make_shared<PackedTextRows>(std::move(texts), slots, threads);
}

}  // namespace cnntrain::data
