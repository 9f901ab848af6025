#include "data/sets/encoded_images.h"

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/batch.h"
#include "data/images/image_file.h"

namespace cnntrain::data {
namespace {

/// More bad images in a row indicate a systematic fault.
constexpr int kMostReplacements = 16;

}  // namespace

EncodedImageSettings encoded_image_settings(const InputSettings& settings, Split split, const PixelFormat& format) {
    const bool trains = split == Split::train;
    const bool replaces = trains && !settings.in_order;
    return {.image_size = settings.image_size,
            .format = format,
            .augment = trains && !settings.train_with_valid_preprocessing,
            .seed = settings.seed,
            .on_bad_image = settings.strict ? OnBadImage::stop
                            : replaces      ? OnBadImage::replace
                                            : OnBadImage::leave_out,
            .preparation = settings.preparation,
            .augmentation = settings.augmentation,
            .mean_pixel = mean_pixel(settings)};
}

EncodedImages::EncodedImages(const EncodedImageSettings& settings, const Words& words)
    : settings_(settings),
      target_{settings.image_size, settings.format, settings.preparation, settings.mean_pixel},
      augmenter_(settings.augmentation),
      words_(words) {}

EncodedImages::Image EncodedImages::file_image(const std::string& path, std::int32_t label, Workspace& workspace) {
    StageClock clock;
    try {
        const std::unique_ptr<InputFile> file = posix_files().open(path);
        workspace.record.resize(file->size_bytes());
        file->read_at(0, workspace.record);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) throw;
        return {.encoded = {}, .boxes = {}, .label = label, .problem = error.what()};
    }
    clock.add_to(workspace.seconds.read);
    return {workspace.record, {}, label};
}

std::vector<Field> EncodedImages::fields() const {
    return image_fields({settings_.format.dtype, {settings_.image_size, settings_.image_size, 3}});
}

void EncodedImages::pad(SampleView out) const {
    store_nothing(kNoLabel, out);
}

SampleState EncodedImages::read(std::int64_t index, SamplePosition position, SampleView out,
                                Workspace& workspace) const {
    for (int replacements = 0;; ++replacements) {
        const std::int64_t number = (index + replacements) % size();
        const Image image = load(number, workspace);
        try {
            if (!image.problem.empty()) throw Error(ErrorKind::data, image.problem);
            preprocess(image, position, image_of(out), workspace);
            store_label(image.label, out);
            return SampleState::counted;
        } catch (const Error& bad) {
            const Error error = bad.within(describe(number));
            if (bad.kind() != ErrorKind::data || settings_.on_bad_image == OnBadImage::stop) throw error;
            const bool replace = settings_.on_bad_image == OnBadImage::replace;
            damage_.add(
                number, file_of(number), error.what(),
                replace ? "the next " + std::string(words_.unit) + " replaces it" : std::string(words_.left_out));
            if (!replace) {
                store_nothing(kLeftOut, out);
                return SampleState::undecodable;
            }
            if (replacements == kMostReplacements) {
                throw Error(ErrorKind::data, std::string(error.what()) + "; so are the " +
                                                 std::to_string(kMostReplacements) + " " + std::string(words_.unit) +
                                                 "s before it");
            }
        }
    }
}

void EncodedImages::preprocess(const Image& image, SamplePosition position, std::span<std::byte> pixels,
                               Workspace& workspace) const {
    if (image.encoded.empty()) throw Error(ErrorKind::data, std::string(words_.empty));
    const ImageFile file(image.encoded, settings_.exif, workspace);
    if (settings_.augment) {
        preprocess_for_training(file, image.boxes, target_, augmenter_, settings_.seed, position, pixels, workspace);
    } else {
        preprocess_for_evaluation(file, target_, pixels, workspace);
    }
}

}  // namespace cnntrain::data
