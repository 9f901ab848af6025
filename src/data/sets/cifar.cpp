#include "data/sets/cifar.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "data/images/preprocess.h"
#include "data/sets/encoded_images.h"

namespace cnntrain::data {
namespace {

constexpr std::int64_t kSide = kCifarSide;
constexpr std::int64_t kPlane = kSide * kSide;
constexpr std::int64_t kPixels = 3 * kPlane;
constexpr std::int64_t kPadding = 4;

constexpr std::uint64_t kMostFileBytes = std::uint64_t{1}
                                         << 30;  // seven times CIFAR-100's size; all files are held in memory

void check_whole_records(const DatasetInfo& info, const InputFile& file, const CifarLayout& layout) {
    const std::uint64_t size = file.size_bytes();
    const std::uint64_t record = layout.record_bytes;
    if (size > kMostFileBytes) {
        throw Error(ErrorKind::data, file.path() + ": " + std::to_string(size) + " bytes are no " +
                                         std::string(info.name) + " file; copy the file again");
    }
    if (size % record == 0) return;
    const std::uint64_t whole = (size + record - 1) / record * record;
    throw Error(ErrorKind::data, file.path() + ": a " + std::string(info.name) + " file is a whole number of " +
                                     std::to_string(record) + "-byte records; expected " + std::to_string(whole) +
                                     " bytes, found " + std::to_string(size) + "; copy the file again");
}

/// The visible part of the source image: after mirroring, output (y, x) is source (y + down, x + right), or zero
/// outside.
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
    : settings_(settings), augmenter_(settings.augmentation), layout_(cifar_layout(id)) {
    const DatasetInfo& info = dataset_info(id);
    std::vector<std::unique_ptr<InputFile>> files;
    std::uint64_t total_bytes = 0;
    std::uint64_t most_bytes = 0;
    for (const std::string& path : paths) {
        files.push_back(posix_files().open(path));
        check_whole_records(info, *files.back(), layout_);
        total_bytes += files.back()->size_bytes();
        most_bytes = std::max(most_bytes, files.back()->size_bytes());
    }
    if (total_bytes == 0) {
        throw Error(ErrorKind::data, std::string(info.name) + ": no record in " +
                                         (paths.empty() ? std::string("no files") : paths.front()) +
                                         " and the files beside it");
    }
    for (const auto& file : files) {
        if (file->size_bytes() > 0 || most_bytes <= layout_.record_bytes) continue;  // fewer images than files
        throw Error(ErrorKind::data, file->path() + " is empty, while other files of its set are not; copy it again");
    }
    records_ = std::make_unique_for_overwrite<std::byte[]>(total_bytes);
    for (const auto& file : files) {
        const std::uint64_t bytes = file->size_bytes();
        const std::int64_t first = size_;
        file->read_at(0, {records_.get() + static_cast<std::size_t>(first) * layout_.record_bytes, bytes});
        size_ += static_cast<std::int64_t>(bytes / layout_.record_bytes);
        parts_.push_back({std::string(last_part(file->path())), bytes, size_ - first});
        for (std::int64_t index = first; index < size_; ++index) {
            const int label = record(index)[layout_.label_bytes - 1];
            if (label < info.classes) continue;
            throw Error(ErrorKind::data, file->path() + ", record " + std::to_string(index - first) + ": label " +
                                             std::to_string(label) + " is not in 0.." +
                                             std::to_string(info.classes - 1));
        }
    }
}

const std::uint8_t* Cifar::record(std::int64_t index) const {
    return reinterpret_cast<const std::uint8_t*>(records_.get()) +
           static_cast<std::size_t>(index) * layout_.record_bytes;
}

std::vector<Field> Cifar::fields() const {
    return image_fields({settings_.dtype, {kSide, kSide, 3}});
}

DatasetState Cifar::state() const {
    return {.memory_bytes = static_cast<std::uint64_t>(size_) * layout_.record_bytes};
}

Origin Cifar::origin() const {
    Origin origin{.samples = size_, .parts = parts_};
    const std::byte* begin = records_.get();
    for (OriginPart& part : origin.parts) {
        part.checksum = crc32c({begin, part.bytes});
        begin += part.bytes;
    }
    return origin;
}

std::int32_t Cifar::label(std::int64_t index, Workspace& /*workspace*/) const {
    return record(index)[layout_.label_bytes - 1];
}

SamplePlace Cifar::place(std::int64_t index) const {
    for (const OriginPart& part : parts_) {
        if (index < part.samples) return {part.name + ", record " + std::to_string(index)};
        index -= part.samples;
    }
    throw Error(ErrorKind::internal, "CIFAR has no such sample");
}

/// The planes of an image whose levels the augmenter has changed, in the workspace.
std::span<const std::uint8_t> Cifar::changed_planes(std::span<const std::uint8_t> planes, SamplePosition position,
                                                    Workspace& workspace) const {
    workspace.levels.resize(kPixels);
    workspace.pixels.resize(kPixels);
    for (std::size_t i = 0; i < planes.size(); ++i)
        workspace.levels[i % kPlane * 3 + i / kPlane] = planes[i];
    augmenter_.change_levels({workspace.levels.data(), {kSide, kSide}, workspace.scratch}, settings_.seed, position);
    for (std::size_t i = 0; i < planes.size(); ++i)
        workspace.pixels[i] = workspace.levels[i % kPlane * 3 + i / kPlane];
    return std::span(workspace.pixels).first(kPixels);
}

SampleState Cifar::read(std::int64_t index, SamplePosition position, SampleView out, Workspace& workspace) const {
    if (index == kPaddingSample) return store_nothing(kNoLabel, out);
    std::span<const std::uint8_t> planes(record(index) + layout_.label_bytes, kPixels);
    if (settings_.augment && augmenter_.changes_levels()) planes = changed_planes(planes, position, workspace);
    const std::array<float, 256> value = standardisation_table(planes);
    const View view = settings_.augment ? sample_view(settings_.seed, position) : View{};

    std::array<float, kPixels> pixels{};  // zero where the view extends beyond the image
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
    const PixelFormat format{settings_.dtype, std::nullopt};
    store_pixels(pixels, format, image_of(out));
    if (settings_.augment) {
        const auto erased = augmenter_.erased({kSide, kSide}, settings_.seed, position);
        if (erased) fill_rectangle(*erased, kSide, {}, format, image_of(out));
    }
    store_label(label(index, workspace), out);
    return SampleState::counted;
}

namespace {

bool holds_cifar(DatasetId id, const std::string& folder, Split split) {
    return std::filesystem::is_regular_file(std::filesystem::path(folder) / cifar_layout(id).files(split).front());
}

std::vector<std::string> cifar_files(const InputSettings& settings, Split split) {
    const DatasetId id = settings.dataset;
    const std::string& folder = settings.folder;
    std::vector<std::string> paths;
    for (const std::string& name : cifar_layout(id).files(split)) {
        const std::filesystem::path path = std::filesystem::path(folder) / name;
        if (!std::filesystem::is_regular_file(path)) {
            throw Error(ErrorKind::data,
                        std::string(dataset_info(id).name) + ": file " + name + " is missing in " + folder);
        }
        paths.push_back(path.string());
    }
    return paths;
}

SampleCount count_cifar(const InputSettings& settings, Split split) {
    SampleCount count;
    for (const std::string& path : cifar_files(settings, split)) {
        const std::uint64_t bytes = posix_files().open(path)->size_bytes();
        count.samples += static_cast<std::int64_t>(bytes / cifar_layout(settings.dataset).record_bytes);
    }
    return count;
}

std::shared_ptr<const Dataset> open_cifar(const InputSettings& settings, Split split, const PixelFormat& format) {
    const bool augment = split == Split::train && !settings.train_with_valid_preprocessing;
    return std::make_shared<Cifar>(settings.dataset, cifar_files(settings, split),
                                   CifarSettings{augment, format.dtype, settings.seed, settings.augmentation});
}

}  // namespace

constinit const ImageSet kCifar10Set = {DatasetId::cifar10, "data_batch_1.bin", holds_cifar,
                                        cifar_files,        count_cifar,        open_cifar};
constinit const ImageSet kCifar100Set = {DatasetId::cifar100, "train.bin", holds_cifar,
                                         cifar_files,         count_cifar, open_cifar};

const CifarLayout& cifar_layout(DatasetId id) {
    constexpr std::size_t kPixels = 3 * kCifarSide * kCifarSide;
    static const CifarLayout cifar10 = {
        DatasetId::cifar10,
        1,
        1 + kPixels,
        {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
        {"test_batch.bin"}};
    static const CifarLayout cifar100 = {DatasetId::cifar100, 2, 2 + kPixels, {"train.bin"}, {"test.bin"}};
    CNNTRAIN_CHECK(id == cifar10.id || id == cifar100.id, "no CIFAR data set");
    return id == cifar10.id ? cifar10 : cifar100;
}

}  // namespace cnntrain::data
