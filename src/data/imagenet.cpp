#include "data/imagenet.h"

#include <cmath>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "data/crop.h"
#include "data/image_ops.h"
#include "data/jpeg.h"

namespace cnntrain::data {

Workspace::Workspace() : jpeg(std::make_unique<JpegDecoder>()), resize(std::make_unique<ResizeScratch>()) {}
Workspace::~Workspace() = default;

void preprocess_for_evaluation(std::span<const std::byte> jpeg, std::int64_t image_size, const PixelFormat& format,
                               std::span<std::byte> image, Workspace& workspace) {
    const ImageSize size = workspace.jpeg->open(jpeg);
    const PixelView whole =
        workspace.jpeg->decode({0, 0, size.height, size.width}, DctMethod::accurate, workspace.pixels);
    const ImageSize full = aspect_preserving_size(size, evaluation_shorter_side(image_size), image_size);
    const Rectangle centre{(full.height - image_size) / 2, (full.width - image_size) / 2, image_size, image_size};
    resize(whole, {full, centre, false}, format, image, *workspace.resize);
}

Imagenet::Imagenet(std::vector<std::string> paths, const ImagenetSettings& settings)
    : settings_(settings), records_(std::move(paths), settings.threads) {
    if (!(settings.percentage_to_use > 0 && settings.percentage_to_use <= 100)) {
        throw Error(ErrorKind::usage, "the percentage of the data set to use is " +
                                          std::to_string(settings.percentage_to_use) + ", not in 1..100");
    }
    size_ =
        static_cast<std::int64_t>(std::floor(settings.percentage_to_use * static_cast<double>(records_.size()) / 100));
    if (size_ == 0) {
        throw Error(ErrorKind::data, "imagenet: no record to use in " + records_.paths().front() +
                                         " and the files beside it (" + std::to_string(records_.size()) + " found)");
    }
}

TensorDesc Imagenet::image_desc() const {
    return {settings_.format.dtype, {settings_.image_size, settings_.image_size, 3}};
}

std::int32_t Imagenet::read(std::int64_t index, SamplePosition position, std::span<std::byte> image,
                            Workspace& workspace) const {
    records_.read(index, workspace.record);
    try {
        const ImageExample example = parse_image_example(workspace.record);
        const std::int64_t classes = dataset_info(DatasetId::imagenet).classes;
        if (example.label < 1 || example.label > classes) {
            throw Error(ErrorKind::data, "image/class/label is " + std::to_string(example.label) + ", not in 1.." +
                                             std::to_string(classes));
        }
        if (example.jpeg.empty()) throw Error(ErrorKind::data, "the record has no image (image/encoded)");
        preprocess(example, position, image, workspace);
        return static_cast<std::int32_t>(example.label - 1);
    } catch (const Error& error) {
        throw error.within(records_.describe(index));
    }
}

void Imagenet::preprocess(const ImageExample& example, SamplePosition position, std::span<std::byte> image,
                          Workspace& workspace) const {
    const std::span<const std::byte> jpeg = std::as_bytes(std::span(example.jpeg));
    const std::int64_t side = settings_.image_size;
    if (!settings_.augment) {
        return preprocess_for_evaluation(jpeg, side, settings_.format, image, workspace);
    }
    Rng crop_rng(settings_.seed, RngStream::crop, position.epoch, position.index);
    Rng flip_rng(settings_.seed, RngStream::flip, position.epoch, position.index);
    const ImageSize size = workspace.jpeg->open(jpeg);
    const Rectangle crop = sample_crop(size, example.boxes, crop_rng);
    const PixelView view = workspace.jpeg->decode(crop, DctMethod::fast, workspace.pixels);
    const Resize how{{side, side}, {0, 0, side, side}, flip_rng.uniform() < 0.5};
    resize(view, how, settings_.format, image, *workspace.resize);
}

}  // namespace cnntrain::data
