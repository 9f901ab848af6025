// Data sets of JPEG images: decoding, cropping, and what becomes of images that cannot be decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "data/records/example.h"
#include "data/sets/damage_log.h"

namespace cnntrain::data {

/// What becomes of an image that cannot be decoded.
enum class OnBadImage {
    stop,      // Error(data)
    replace,   // the next image and its label are taken: training
    leave_out  // it is not counted: validation
};

struct JpegSettings {
    std::int64_t image_size = 224;
    PixelFormat format = {};
    bool augment = false;    // training crop and flip; otherwise the evaluation preprocessing
    std::uint64_t seed = 0;  // of the augmentation
    OnBadImage on_bad_image = OnBadImage::stop;
};

/// As a run asks for it. `format`: of the samples.
JpegSettings jpeg_settings(const InputSettings& settings, Split split, const PixelFormat& format);

/// The bytes of a file, in the workspace.
std::span<const std::byte> read_whole(const std::string& path, Workspace& workspace);

/// A derived class says where the bytes and the label of an image are.
class JpegDataset : public Dataset {
public:
    std::vector<Field> fields() const final;
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const final;
    void pad(SampleView out) const final;
    std::int64_t damaged() const final { return damage_.count(); }

protected:
    struct Image {
        std::span<const std::byte> jpeg;
        std::span<const Box> boxes;
        std::int32_t label = 0;
    };

    struct Words {
        std::string_view unit = "image";               // in messages
        std::string_view empty = "the file is empty";  // when there is no byte of an image
        std::string_view left_out = "it is not counted";
    };

    JpegDataset(const JpegSettings& settings, const Words& words) : settings_(settings), words_(words) {}

    /// The image may point into the workspace. An error always stops.
    virtual Image load(std::int64_t index, Workspace& workspace) const = 0;
    virtual std::string describe(std::int64_t index) const = 0;  // where the image is, for messages
    virtual std::string file_of(std::int64_t index) const = 0;

private:
    void preprocess(const Image& image, SamplePosition position, std::span<std::byte> pixels,
                    Workspace& workspace) const;

    JpegSettings settings_;
    Words words_;
    mutable DamageLog damage_;
};

}  // namespace cnntrain::data
