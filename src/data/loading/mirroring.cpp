#include "cnntrain/data/mirroring.h"

#include <cstring>

#include "cnntrain/data/image_fields.h"

namespace cnntrain::data {
namespace {

class Mirroring final : public BatchTransform {
public:
    std::vector<MadeField> makes(const std::vector<Field>& batch) const override {
        const std::size_t images = field_number(batch, kImages);
        TensorDesc both = batch[images].desc;
        both.shape.at(0) *= 2;
        return {{{std::string(kImages), both}, images}};
    }

    void make(std::int64_t /*number*/, const std::vector<Field>& fields,
              std::span<const std::span<const std::byte>> batch,
              std::span<const std::span<std::byte>> made) const override {
        const std::size_t images = field_number(fields, kImages);
        const TensorDesc& desc = fields[images].desc;
        const auto rows = static_cast<std::size_t>(desc.shape.at(1));
        const auto columns = static_cast<std::size_t>(desc.shape.at(2));
        const std::size_t pixel = static_cast<std::size_t>(desc.shape.at(3)) * size_bytes(desc.dtype);
        const std::size_t image = rows * columns * pixel;
        const std::byte* from = batch[images].data();
        std::byte* to = made.front().data();
        for (std::int64_t n = 0; n < desc.shape.at(0); ++n, from += image) {
            std::memcpy(to, from, image);
            to += image;
            for (std::size_t y = 0; y < rows; ++y) {
                for (std::size_t x = columns; x > 0; --x, to += pixel)
                    std::memcpy(to, from + (y * columns + x - 1) * pixel, pixel);
            }
        }
    }
};

}  // namespace

std::shared_ptr<const BatchTransform> mirroring_transform() {
    return std::make_shared<Mirroring>();
}

}  // namespace cnntrain::data
