#include "cnntrain/data/packed_texts.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "data/records/example.h"
#include "data/records/packing.h"

namespace cnntrain::data {
namespace {

constexpr std::string_view kFirstTokens = "first_tokens";

class PackedTextRows final : public PackedTexts {
public:
    PackedTextRows(std::shared_ptr<const Dataset> texts, std::int64_t slots, int threads)
        : texts_(std::move(texts)),
          source_(texts_->fields()),
          slots_(slots),
          mask_(field_number(source_, kInputMask)),
          length_(source_[mask_].desc.elements()) {
        for (const Field& field : source_)
            bytes_.push_back(field.desc.bytes());
        const std::vector<RowShare> shares =
            shares_of_all(texts_->size(), threads, [&](std::int64_t number, Workspace& workspace) {
                const HeldSample text(*texts_, bytes_, number, {}, workspace);
                return RowShare{std::ranges::count(values_in<std::int32_t>(text.fields()[mask_]), 1), 0, 1};
            });
        packing_ = pack(shares, {length_, 0, slots_ > 0 ? slots_ : length_});
        places_.resize(shares.size());
        for (std::int64_t row = 0; row < packing_.rows(); ++row) {
            PackedPlace next{.row = row};
            for (const std::uint32_t number : packing_.sequences(row)) {
                next.tokens = shares[number].tokens;
                places_[number] = next;
                ++next.slot;
                next.first += next.tokens;
            }
        }
    }

    std::span<const PackedPlace> places() const override { return places_; }
    std::int64_t size() const override { return packing_.rows(); }
    std::int64_t samples() const override { return texts_->size(); }
    std::int64_t samples_in(std::int64_t index) const override { return std::ssize(packing_.sequences(index)); }

    std::vector<Field> fields() const override {
        std::vector<Field> fields;
        for (std::size_t i = 0; i < source_.size(); ++i) {
            if (i == mask_) continue;
            Field& field = fields.emplace_back(source_[i]);
            if (is_of_tokens(i)) continue;
            CNNTRAIN_CHECK(slots_ > 0, "the field " + field.name + " needs slots");
            field.desc.shape.insert(field.desc.shape.begin(), slots_);
        }
        const TensorDesc of_tokens{DType::i32, {length_}};
        fields.push_back({std::string(kSequenceNumbers), of_tokens});
        fields.push_back({std::string(kInputPosition), of_tokens});
        if (slots_ > 0) fields.push_back({std::string(kFirstTokens), {DType::i32, {slots_}}});
        return fields;
    }

    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const override {
        for (const std::span<std::byte> field : out)
            std::memset(field.data(), 0, field.size());
        const bool is_padding = index == kPaddingSample;
        const SampleView made = out.subspan(source_.size() - 1);  // fields that texts do not have
        std::int64_t slot = 0;
        for (const std::uint32_t number : is_padding ? std::span<const std::uint32_t>() : packing_.sequences(index)) {
            const PackedPlace& place = places_[number];
            copy_text({*texts_, bytes_, number, position, workspace}, place, out);
            const auto first = static_cast<std::size_t>(place.first);
            const auto tokens = static_cast<std::size_t>(place.tokens);
            if (slots_ > 0)
                values_in<std::int32_t>(made[2])[static_cast<std::size_t>(slot)] =
                    static_cast<std::int32_t>(place.first);
            std::ranges::fill(values_in<std::int32_t>(made[0]).subspan(first, tokens),
                              static_cast<std::int32_t>(++slot));
            const std::span<std::int32_t> positions = values_in<std::int32_t>(made[1]).subspan(first, tokens);
            std::iota(positions.begin(), positions.end(), 0);
        }
        if (slot < slots_) {
            const HeldSample empty(*texts_, bytes_, kPaddingSample, position, workspace);
            for (; slot < slots_; ++slot)
                copy_text(empty, {.slot = slot}, out);
        }
        return is_padding ? SampleState::padding : SampleState::counted;
    }

    SamplePlace place(std::int64_t index) const override {
        return {texts_->place(packing_.sequences(index).front()).text + " and those in its row"};
    }
    Origin origin() const override { return texts_->origin(); }
    DatasetState state() const override {
        return {.memory_bytes =
                    texts_->state().memory_bytes + packing_.memory_bytes() + places_.capacity() * sizeof(PackedPlace)};
    }

private:
    /// Fields up to the mask have a number for each token, the others are of the whole text.
    bool is_of_tokens(std::size_t field) const { return field <= mask_; }

    void copy_text(const HeldSample& text, const PackedPlace& place, SampleView out) const {
        for (std::size_t i = 0; i < bytes_.size(); ++i) {
            if (i == mask_) continue;
            const std::size_t unit = is_of_tokens(i) ? sizeof(std::int32_t) : bytes_[i];
            const auto first = static_cast<std::size_t>(is_of_tokens(i) ? place.first : place.slot);
            const auto count = static_cast<std::size_t>(is_of_tokens(i) ? place.tokens : 1);
            std::byte* const to = out[i < mask_ ? i : i - 1].data();
            std::memcpy(to + first * unit, text.fields()[i].data(), count * unit);
        }
    }

    std::shared_ptr<const Dataset> texts_;
    std::vector<Field> source_;       // fields of a text
    std::vector<std::size_t> bytes_;  // of them
    std::int64_t slots_;
    std::size_t mask_;     // number of the field input_mask
    std::int64_t length_;  // S
    std::vector<PackedPlace> places_;
    Packing packing_;
};

}  // namespace

std::shared_ptr<const PackedTexts> pack_texts(std::shared_ptr<const Dataset> texts, std::int64_t slots, int threads) {
    return std::make_shared<PackedTextRows>(std::move(texts), slots, threads);
}

}  // namespace cnntrain::data
