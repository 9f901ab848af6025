// Base of data sets of encoded images: decoding, cropping, and handling of images that cannot be decoded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/log.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "data/images/image_file.h"
#include "data/images/preprocess.h"
#include "data/records/example.h"
#include "data/records/tfrecord.h"
#include "data/sets/resolve.h"

namespace cnntrain::data {

// Counts damaged images and reports them once per file.

/// Thread-safe.
class DamageLog {
public:
    /// `message` gives file, record and reason of a sample. The first message of each file is logged as a warning that
    /// ends with `consequence`.
    void add(std::int64_t sample, const std::string& file, std::string_view message, std::string_view consequence) {
        {
            const std::lock_guard lock(mutex_);
            damaged_.insert(sample);
            if (!told_.insert(file).second) return;
        }
        log::warning(std::string(message) + "; " + std::string(consequence) +
                     " (reported once for each file; --strict-data stops instead)");
    }

    /// Each sample counts once, in however many epochs it is met.
    std::int64_t count() const {
        const std::lock_guard lock(mutex_);
        return std::ssize(damaged_);
    }

private:
    mutable std::mutex mutex_;
    std::set<std::int64_t> damaged_;
    std::set<std::string> told_;  // files already reported
};

/// Treatment of an image that cannot be decoded.
enum class OnBadImage {
    stop,      // throw Error(data)
    replace,   // training: use the next image and its label instead
    leave_out  // validation: do not count it
};

struct EncodedImageSettings {
    std::int64_t image_size = 224;
    std::int64_t labels = 0;  // C: a sample has the field i32[C] of several labels; 0: one label
    PixelFormat format = {};
    Exif exif = Exif::ignored;
    bool augment = false;    // random crop and flip; otherwise evaluation preprocessing
    std::uint64_t seed = 0;  // of the augmentation
    OnBadImage on_bad_image = OnBadImage::stop;
    PreparationSettings preparation = {};
    AugmentationSettings augmentation = {};
    std::array<float, 3> mean_pixel = {};  // fills what is padded or erased
};

/// The settings of a run. `format`: of the samples.
EncodedImageSettings encoded_image_settings(const InputSettings& settings, Split split, const PixelFormat& format);

/// Derived classes provide the bytes and the label of each image.
class EncodedImages : public Dataset {
public:
    std::vector<Field> fields() const final;
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const final;
    std::int32_t label(std::int64_t index, Workspace& workspace) const override { return load(index, workspace).label; }

protected:
    struct Image {
        std::span<const std::byte> encoded;
        std::span<const Box> boxes;
        std::int32_t label = 0;
        std::string problem = {};  // why there are no bytes: handled as an image that cannot be decoded
    };
    /// A whole file, in the workspace. Users move and remove photos while a run reads them: one that cannot be read is
    /// a problem of this image.
    static Image file_image(const std::string& path, std::int32_t label, Workspace& workspace);

    struct Words {
        std::string_view unit = "image";               // in messages
        std::string_view empty = "the file is empty";  // message if an image has no bytes
        std::string_view left_out = "it is not counted";
    };

    EncodedImages(const EncodedImageSettings& settings, const Words& words);

    /// The image may be a view into the workspace. An exception always ends the run.
    virtual Image load(std::int64_t index, Workspace& workspace) const = 0;
    SamplePlace place(std::int64_t index) const override = 0;
    virtual std::string file_of(std::int64_t index) const = 0;
    /// The labels of a sample, where it has several and load() gives the number of their set.
    virtual std::span<const std::int32_t> label_set(std::int32_t /*label*/) const { return {}; }
    std::int64_t damaged() const { return damage_.count(); }

private:
    void store_labels(std::int32_t label, SampleView out) const;
    SampleState store_none(std::int32_t label, SampleView out) const;
    void preprocess(const Image& image, SamplePosition position, std::span<std::byte> pixels,
                    Workspace& workspace) const;

    EncodedImageSettings settings_;
    PhotoTarget target_;
    Augmenter augmenter_;
    Words words_;
    mutable DamageLog damage_;
};

// A view of one sample with image_fields().

inline std::span<std::byte> image_of(SampleView out) {
    return out[0];
}
void store_label(std::int32_t label, SampleView out);
/// Writes a zero image that does not count; the label, kNoLabel or kLeftOut, gives the reason.
SampleState store_nothing(std::int32_t label, SampleView out);

// The data set ImageNet, from TFRecords.

struct ImagenetSettings {
    EncodedImageSettings images = {};
    std::int64_t classes = 1000;
    std::int64_t percentage_to_use = 100;
    RecordOptions records = {};
};

/// Damaged records (wrong checksum, no tf.Example, label out of range) are always errors.
class Imagenet final : public EncodedImages {
public:
    Imagenet(std::vector<std::string> paths, const ImagenetSettings& settings);

    std::int64_t size() const override { return size_; }
    void will_need(std::int64_t index) const noexcept override { records_.will_need(index); }
    Origin origin() const override { return {.samples = size_, .parts = records_.parts()}; }
    DatasetState state() const override { return {.memory_bytes = records_.memory_bytes(), .damaged = damaged()}; }

private:
    Image load(std::int64_t index, Workspace& workspace) const override;
    SamplePlace place(std::int64_t index) const override { return {records_.describe(index)}; }
    std::string file_of(std::int64_t index) const override { return records_.path_of(index); }

    std::int64_t classes_;
    RecordFiles records_;
    std::int64_t size_;
};

extern const ImageSet kImagenetSet;

}  // namespace cnntrain::data
