#include "data/sets/cifar.h"

#include <array>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/data/image_fields.h"
#include "data/images/image_ops.h"
#include "data/sets/image_sample.h"

namespace cnntrain::data {
namespace {

constexpr std::int64_t kSide = 32;
constexpr std::int64_t kPlane = kSide * kSide;
constexpr std::int64_t kPixels = 3 * kPlane;
constexpr std::int64_t kPadding = 4;

std::size_t label_bytes(DatasetId id) {
    return id == DatasetId::cifar100 ? 2 : 1;
}

std::size_t record_bytes(DatasetId id) {
    return label_bytes(id) + kPixels;
}

void check_whole_records(const DatasetInfo& info, const InputFile& file) {
    const std::uint64_t size = file.size_bytes();
    const std::uint64_t record = record_bytes(info.id);
    if (size % record == 0) return;
    const std::uint64_t whole = (size + record - 1) / record * record;
    throw Error(ErrorKind::data, file.path() + ": a " + std::string(info.name) + " file is a whole number of " +
                                     std::to_string(record) + "-byte records; expected " + std::to_string(whole) +
                                     " bytes, found " + std::to_string(size) + "; copy the file again");
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

Cifar::Cifar(DatasetId id, const std::vector<std::string>& paths, const CifarSettings& settings)
    : settings_(settings), label_bytes_(label_bytes(id)) {
    const DatasetInfo& info = dataset_info(id);
    std::vector<std::unique_ptr<InputFile>> files;
    std::uint64_t total_bytes = 0;
    for (const std::string& path : paths) {
        files.push_back(posix_files().open(path));
        check_whole_records(info, *files.back());
        total_bytes += files.back()->size_bytes();
    }
    if (total_bytes == 0) {
        throw Error(ErrorKind::data, std::string(info.name) + ": no record in " +
                                         (paths.empty() ? std::string("no files") : paths.front()) +
                                         " and the files beside it");
    }
    records_ = std::make_unique_for_overwrite<std::byte[]>(total_bytes);
    for (const auto& file : files) {
        const std::uint64_t bytes = file->size_bytes();
        const std::int64_t first = size_;
        file->read_at(0, {records_.get() + static_cast<std::size_t>(first) * record_bytes(id), bytes});
        size_ += static_cast<std::int64_t>(bytes / record_bytes(id));
        for (std::int64_t index = first; index < size_; ++index) {
            const int label = record(index)[label_bytes_ - 1];
            if (label < info.classes) continue;
            throw Error(ErrorKind::data, file->path() + ", record " + std::to_string(index - first) + ": label " +
                                             std::to_string(label) + " is not in 0.." +
                                             std::to_string(info.classes - 1));
        }
    }
}

const std::uint8_t* Cifar::record(std::int64_t index) const {
    const std::size_t bytes = label_bytes_ + kPixels;
    return reinterpret_cast<const std::uint8_t*>(records_.get()) + static_cast<std::size_t>(index) * bytes;
}

std::vector<Field> Cifar::fields() const {
    return image_fields({settings_.dtype, {kSide, kSide, 3}});
}

void Cifar::pad(SampleView out) const {
    store_nothing(kNoLabel, out);
}

std::uint64_t Cifar::memory_bytes() const {
    return static_cast<std::uint64_t>(size_) * (label_bytes_ + static_cast<std::size_t>(kPixels));
}

SampleState Cifar::read(std::int64_t index, SamplePosition position, SampleView out, Workspace&) const {
    const std::span<const std::uint8_t> planes(record(index) + label_bytes_, kPixels);
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
    store_pixels(pixels, {settings_.dtype, std::nullopt}, image_of(out));
    store_label(record(index)[label_bytes_ - 1], out);
    return SampleState::counted;
}

}  // namespace cnntrain::data
