#include "cnntrain/data/photo_input.h"

#include <algorithm>
#include <vector>

#include "cnntrain/base/error.h"
#include "data/images/image_file.h"
#include "data/images/image_ops.h"
#include "data/images/preprocess.h"

namespace cnntrain::data {

HostTensor decoded_photo(std::span<const std::byte> file) {
    Workspace workspace;
    const ImageFile image(file, Exif::applied, workspace);
    const ImageSize size = image.size();
    const PixelView view = image.decode({0, 0, size.height, size.width}, {DctMethod::accurate});
    HostTensor pixels({DType::u8, {size.height, size.width, 3}});
    const std::int64_t row_bytes = size.width * 3;
    for (std::int64_t y = 0; y < size.height; ++y)
        std::copy_n(view.pixels + y * view.row_bytes, row_bytes, pixels.as<std::uint8_t>().data() + y * row_bytes);
    return pixels;
}

void prepare_photo(const HostTensor& pixels, const DataSettings& settings, const PixelFormat& format,
                   std::span<std::byte> image) {
    const std::span<const std::uint8_t> levels = pixels.as<std::uint8_t>();
    const ImageSize size{pixels.shape().at(0), pixels.shape().at(1)};
    if (!dataset_info(settings.dataset).normalised_by_channel) {
        CNNTRAIN_CHECK(size == (ImageSize{settings.image_size, settings.image_size}), "image of another size");
        const std::array<float, 256> value = standardisation_table(levels);
        std::vector<float> values(levels.size());
        std::ranges::transform(levels, values.begin(), [&](std::uint8_t level) { return value[level]; });
        store_pixels(values, format, image);
        return;
    }
    Workspace workspace;
    workspace.pixels.assign(levels.begin(), levels.end());
    workspace.pixels.resize(levels.size() + kReadableBehindView);
    const PhotoTarget target{settings.image_size, format, settings.preparation, mean_pixel(settings)};
    resize_for_evaluation(whole_view(workspace.pixels.data(), size), target, image, workspace);
}

}  // namespace cnntrain::data
