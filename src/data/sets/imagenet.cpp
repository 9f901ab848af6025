#include "data/sets/imagenet.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/data/image_fields.h"
#include "data/images/crop.h"
#include "data/images/jpeg.h"
#include "data/images/resize.h"
#include "data/sets/image_sample.h"

namespace cnntrain::data {

namespace {

/// As many bad images in a row are no accident.
constexpr int kMostReplacements = 16;

/// Adds the time since it was made, or since the last call, to a stage.
class StageClock {
public:
    void add_to(double& seconds) {
        const auto now = std::chrono::steady_clock::now();
        seconds += std::chrono::duration<double>(now - last_).count();
        last_ = now;
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

Workspace::Workspace()
    : example(std::make_unique<ImageExample>()),
      jpeg(std::make_unique<JpegDecoder>()),
      resize(std::make_unique<ResizeScratch>()) {}
Workspace::~Workspace() = default;

std::uint64_t Workspace::held_bytes() const {
    return record.capacity() + pixels.capacity() + example->boxes.capacity() * sizeof(Box) + jpeg->held_bytes() +
           resize->columns.capacity() * sizeof(ResizeColumn) + resize->rows.capacity() * sizeof(float);
}

int largest_shrink(ImageSize part, std::int64_t side) {
    int shrink = 8;
    while (shrink > 1 && std::min(part.height, part.width) < side * shrink) {
        shrink /= 2;
    }
    return shrink;
}

void preprocess_for_evaluation(std::span<const std::byte> jpeg, std::int64_t image_size, const PixelFormat& format,
                               std::span<std::byte> image, Workspace& workspace) {
    StageClock clock;
    const ImageSize size = workspace.jpeg->open(jpeg);
    const PixelView whole =
        workspace.jpeg->decode({0, 0, size.height, size.width}, {DctMethod::accurate}, workspace.pixels);
    clock.add_to(workspace.seconds.decode);
    const ImageSize full = aspect_preserving_size(size, evaluation_shorter_side(image_size), image_size);
    const Rectangle centre{(full.height - image_size) / 2, (full.width - image_size) / 2, image_size, image_size};
    resize(whole, {full, centre, false}, format, image, *workspace.resize);
    clock.add_to(workspace.seconds.resize);
}

Imagenet::Imagenet(std::vector<std::string> paths, const ImagenetSettings& settings)
    : settings_(settings), records_(std::move(paths), settings.records) {
    if (settings.percentage_to_use < 1 || settings.percentage_to_use > 100) {
        throw Error(ErrorKind::usage, "the percentage of the data set to use is " +
                                          std::to_string(settings.percentage_to_use) + ", not in 1..100");
    }
    size_ = used_share(static_cast<std::int64_t>(records_.size()), settings.percentage_to_use);
    if (size_ == 0) {
        throw Error(ErrorKind::data, "imagenet: no record to use in " + records_.paths().front() +
                                         " and the files beside it (" + std::to_string(records_.size()) + " found)");
    }
}

std::vector<Field> Imagenet::fields() const {
    return image_fields({settings_.format.dtype, {settings_.image_size, settings_.image_size, 3}});
}

void Imagenet::pad(SampleView out) const {
    store_nothing(kNoLabel, out);
}

/// Record `index` into the workspace, parsed and with a label in range.
void Imagenet::load(std::int64_t index, Workspace& workspace) const {
    StageClock clock;
    const std::span<const std::byte> record = records_.read(index, workspace.record);
    clock.add_to(workspace.seconds.read);
    try {
        ImageExample& example = *workspace.example;
        parse_image_example(record, example);
        const std::int64_t classes = dataset_info(DatasetId::imagenet).classes;
        if (example.label < 1 || example.label > classes) {
            throw Error(ErrorKind::data, "image/class/label is " + std::to_string(example.label) + ", not in 1.." +
                                             std::to_string(classes));
        }
    } catch (const Error& error) {
        throw error.within(records_.describe(index));
    }
    clock.add_to(workspace.seconds.parse);
}

SampleState Imagenet::read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const {
    for (int replacements = 0;; ++replacements) {
        const std::int64_t record = (index + replacements) % size_;
        load(record, workspace);
        try {
            preprocess(position, image_of(out), workspace);
            store_label(static_cast<std::int32_t>(workspace.example->label - 1), out);
            return SampleState::counted;
        } catch (const Error& bad) {
            const Error error = bad.within(records_.describe(record));
            if (bad.kind() != ErrorKind::data || settings_.on_bad_image == OnBadImage::stop) throw error;
            const bool replace = settings_.on_bad_image == OnBadImage::replace;
            damage_.add(records_.path_of(record), error.what(),
                        replace ? "the next record replaces it" : "it is not counted");
            if (!replace) {
                store_nothing(kLeftOut, out);
                return SampleState::undecodable;
            }
            if (replacements == kMostReplacements) {
                throw Error(ErrorKind::data, std::string(error.what()) + "; so are the " +
                                                 std::to_string(kMostReplacements) + " records before it");
            }
        }
    }
}

void Imagenet::preprocess(SamplePosition position, std::span<std::byte> image, Workspace& workspace) const {
    const ImageExample& example = *workspace.example;
    if (example.jpeg.empty()) throw Error(ErrorKind::data, "the record has no image (image/encoded)");
    const std::int64_t side = settings_.image_size;
    if (!settings_.augment) {
        return preprocess_for_evaluation(example.jpeg, side, settings_.format, image, workspace);
    }
    StageClock clock;
    Rng crop_rng(settings_.seed, RngStream::crop, position.epoch, position.index);
    Rng flip_rng(settings_.seed, RngStream::flip, position.epoch, position.index);
    const ImageSize size = workspace.jpeg->open(example.jpeg);
    const Rectangle crop = sample_crop(size, example.boxes, crop_rng);
    const int shrink = largest_shrink({crop.height, crop.width}, side);
    const PixelView view = workspace.jpeg->decode(crop, {DctMethod::fast, shrink}, workspace.pixels);
    clock.add_to(workspace.seconds.decode);
    const Resize how{{side, side}, {0, 0, side, side}, flip_rng.uniform() < 0.5};
    resize(view, how, settings_.format, image, *workspace.resize);
    clock.add_to(workspace.seconds.resize);
}

}  // namespace cnntrain::data
