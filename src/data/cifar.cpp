#include "data/cifar.h"

#include <array>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/rng.h"
#include "data/image_ops.h"

namespace cnntrain::data {
namespace {

constexpr std::int64_t kSide = 32;
constexpr std::int64_t kPlane = kSide * kSide;
constexpr std::int64_t kPixels = 3 * kPlane;
constexpr std::int64_t kPadding = 4;

std::size_t label_bytes(DatasetId id) {
    return id == DatasetId::cifar100 ? 2 : 1;
}

/// What of the source image is seen: output (y, x) is source (y + down, x + right), zero outside, after the mirroring.
struct View {
    bool flip = false;
    std::int64_t down = 0;
    std::int64_t right = 0;
};

View sample_view(std::uint64_t seed, SamplePosition position) {
    Rng flip(seed, RngStream::flip, position.epoch, position.index);
    Rng crop(seed, RngStream::crop, position.epoch, position.index);
    const auto shift = [&] { return crop.integer(0, 2 * kPadding + 1) - kPadding; };
    const std::int64_t down = shift();
    return {flip.uniform() < 0.5, down, shift()};
}

}  // namespace

Cifar::Cifar(DatasetId id, const std::vector<std::string>& paths, const CifarSettings& settings) : settings_(settings) {
    const DatasetInfo& info = dataset_info(id);
    for (const std::string& path : paths) {
        add_file(info, path);
    }
    if (labels_.empty()) {
        throw Error(ErrorKind::data, std::string(info.name) + ": no record in " +
                                         (paths.empty() ? std::string("no files") : paths.front()) +
                                         " and the files beside it");
    }
}

void Cifar::add_file(const DatasetInfo& info, const std::string& path) {
    const std::unique_ptr<InputFile> file = posix_files().open(path);
    const std::size_t prefix = label_bytes(info.id);
    const std::size_t record_bytes = prefix + kPixels;
    const std::uint64_t size = file->size_bytes();
    if (size % record_bytes != 0) {
        const std::uint64_t whole = (size + record_bytes - 1) / record_bytes * record_bytes;
        throw Error(ErrorKind::data, path + ": a " + std::string(info.name) + " file is a whole number of " +
                                         std::to_string(record_bytes) + "-byte records; expected " +
                                         std::to_string(whole) + " bytes, found " + std::to_string(size) +
                                         "; copy the file again");
    }
    std::vector<std::byte> bytes(size);
    file->read_at(0, bytes);
    const std::size_t records = size / record_bytes;
    planes_.reserve(planes_.size() + records * kPixels);
    for (std::size_t record = 0; record < records; ++record) {
        const auto* start = reinterpret_cast<const std::uint8_t*>(bytes.data()) + record * record_bytes;
        const std::int32_t label = start[prefix - 1];  // CIFAR-100: the second, fine label
        if (label >= info.classes) {
            throw Error(ErrorKind::data, path + ", record " + std::to_string(record) + ": label " +
                                             std::to_string(label) + " is not in 0.." +
                                             std::to_string(info.classes - 1));
        }
        labels_.push_back(label);
        planes_.insert(planes_.end(), start + prefix, start + record_bytes);
    }
}

TensorDesc Cifar::image_desc() const {
    return {settings_.dtype, {kSide, kSide, 3}};
}

std::int32_t Cifar::read(std::int64_t index, SamplePosition position, std::span<std::byte> image, Workspace&) const {
    const auto first = static_cast<std::size_t>(index * kPixels);
    const std::span<const std::uint8_t> planes = std::span(planes_).subspan(first, kPixels);
    const std::array<float, 256> value = standardisation_table(planes);
    const View view = settings_.augment ? sample_view(settings_.seed, position) : View{};

    std::array<float, kPixels> pixels{};  // zero where the view leaves the image
    for (std::int64_t y = 0; y < kSide; ++y) {
        const std::int64_t row = y + view.down;
        if (row < 0 || row >= kSide) continue;
        for (std::int64_t x = 0; x < kSide; ++x) {
            const std::int64_t mirrored = x + view.right;
            if (mirrored < 0 || mirrored >= kSide) continue;
            const std::int64_t column = view.flip ? kSide - 1 - mirrored : mirrored;
            for (std::int64_t c = 0; c < 3; ++c) {
                const auto at = static_cast<std::size_t>(c * kPlane + row * kSide + column);
                pixels[static_cast<std::size_t>((y * kSide + x) * 3 + c)] = value[planes[at]];
            }
        }
    }
    store_pixels(pixels, {settings_.dtype, std::nullopt}, image);
    return labels_[static_cast<std::size_t>(index)];
}

}  // namespace cnntrain::data
