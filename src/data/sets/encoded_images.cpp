#include "data/sets/encoded_images.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/sets.h"
#include "data/images/image_file.h"
#include "data/records/tar.h"
#include "data/records/tfrecord.h"
#include "data/sets/resolve.h"

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
        const std::unique_ptr<InputFile> file = open_in_tar(path);
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
    return image_fields({settings_.format.dtype, {settings_.image_size, settings_.image_size, 3}}, settings_.labels);
}

/// `label`: below 0, or of label_set() where there are several.
void EncodedImages::store_labels(std::int32_t label, SampleView out) const {
    if (settings_.labels == 0) return store_label(label, out);
    const auto store = [&](std::int64_t number, std::int32_t value) {
        std::memcpy(out[1].subspan(static_cast<std::size_t>(number) * sizeof value).data(), &value, sizeof value);
    };
    for (std::int64_t number = 0; number < settings_.labels; ++number)
        store(number, std::min(label, 0));
    for (const std::int32_t one : label < 0 ? std::span<const std::int32_t>() : label_set(label))
        store(one, 1);
}

SampleState EncodedImages::store_none(std::int32_t label, SampleView out) const {
    const SampleState state = store_nothing(label, out);
    store_labels(label, out);
    return state;
}

SampleState EncodedImages::read(std::int64_t index, SamplePosition position, SampleView out,
                                Workspace& workspace) const {
    if (index == kPaddingSample) return store_none(kNoLabel, out);
    for (int replacements = 0;; ++replacements) {
        const std::int64_t number = (index + replacements) % size();
        const Image image = load(number, workspace);
        try {
            if (!image.problem.empty()) throw Error(ErrorKind::data, image.problem);
            preprocess(image, position, image_of(out), workspace);
            store_labels(image.label, out);
            return SampleState::counted;
        } catch (const Error& bad) {
            const Error error = bad.within(place(number).text);
            if (bad.kind() != ErrorKind::data || settings_.on_bad_image == OnBadImage::stop) throw error;
            const bool replace = settings_.on_bad_image == OnBadImage::replace;
            damage_.add(
                number, file_of(number), error.what(),
                replace ? "the next " + std::string(words_.unit) + " replaces it" : std::string(words_.left_out));
            if (!replace) return store_none(kLeftOut, out);
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

Imagenet::Imagenet(std::vector<std::string> paths, const ImagenetSettings& settings)
    : EncodedImages(settings.images, {.unit = "record", .empty = "the record has no image (image/encoded)"}),
      classes_(settings.classes),
      records_(std::move(paths), settings.records) {
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

/// Loads record `index` into the workspace, parses it and checks its label.
EncodedImages::Image Imagenet::load(std::int64_t index, Workspace& workspace) const {
    StageClock clock;
    const std::span<const std::byte> record = records_.read(index, workspace.record);
    clock.add_to(workspace.seconds.read);
    ImageExample& example = *workspace.example;
    try {
        parse_image_example(record, example);
        if (example.label < 1 || example.label > classes_) {
            throw Error(ErrorKind::data, "image/class/label is " + std::to_string(example.label) + ", not in 1.." +
                                             std::to_string(classes_));
        }
    } catch (const Error& error) {
        throw error.within(records_.describe(index));
    }
    clock.add_to(workspace.seconds.parse);
    return {example.jpeg, example.boxes, static_cast<std::int32_t>(example.label - 1)};
}

void check_class_name(const std::string& place, const std::string& name) {
    if (is_utf8(name)) return;
    throw Error(ErrorKind::data, place + ": the class '" + printable(name) +
                                     "' is not UTF-8, as arguments.json and checkpoints are; rename it, for example "
                                     "with convmv -f latin1 -t utf8");
}

namespace {

/// ImageNet has two cranes and two maillots. Files are read several times in a run, and reported once.
void warn_of_equal_names(const std::string& path, const std::vector<std::string>& twice) {
    static std::mutex mutex;
    static std::set<std::string> told;
    if (twice.empty()) return;
    const std::lock_guard lock(mutex);
    if (!told.insert(path).second) return;
    const std::string more = twice.size() > 1 ? " and " + std::to_string(twice.size() - 1) + " more" : "";
    log::warning("classes of one name: " + twice.front() + more + "; results tell them apart by their numbers only");
}

}  // namespace

std::vector<std::string> classes_of_records(const std::string& folder) {
    const std::string path = (std::filesystem::path(folder) / kLabelsFile).string();
    if (!exists(posix_files(), path)) return {};
    const std::string text = read_text(posix_files(), path);
    std::vector<std::string> names;
    std::map<std::string_view, std::size_t> lines;
    std::vector<std::string> twice;
    for (std::string_view line : lines_of(text)) {
        if (line.ends_with('\r')) line.remove_suffix(1);
        const std::string place = path + ":" + std::to_string(names.size() + 1);
        if (line.empty())
            throw Error(ErrorKind::data, place + ": expected the name of a class in each line, got an empty one");
        check_class_name(place, std::string(line));
        const auto [before, is_new] = lines.emplace(line, names.size() + 1);
        if (!is_new)
            twice.push_back(place + ": '" + std::string(line) + "' as in line " + std::to_string(before->second));
        names.emplace_back(line);
    }
    if (names.size() < 2) {
        throw Error(ErrorKind::data,
                    path + ": expected the names of at least two classes, got " + std::to_string(names.size()));
    }
    warn_of_equal_names(path, twice);
    return names;
}

namespace {

std::string_view shard_prefix(Split split) {
    return split == Split::train ? "train" : "validation";
}

std::string_view first_file(Split split) {
    return split == Split::train ? kImagenetSet.first_training_file : "validation-00000-of-00128";
}

/// The count in "<split>-NNNNN-of-NNNNN"; 0 if `name` does not have that form.
int shard_count(const std::string& name, Split split) {
    const std::optional<ShardName> shard = parse_shard_name(name);
    return shard && shard->prefix == shard_prefix(split) && shard->suffix.empty() ? shard->count : 0;
}

bool holds_imagenet(DatasetId /*id*/, const std::string& folder, Split split) {
    return std::ranges::any_of(names_in(folder), [&](const std::string& name) { return shard_count(name, split) > 0; });
}

/// Accepts any shard count (`train-00000-of-00004`) and any subset of the shards.
std::vector<std::string> imagenet_files(const InputSettings& settings, Split split) {
    const std::string& folder = settings.folder;
    std::vector<std::string> paths;
    int count = 0;
    for (const std::string& name : names_in(folder)) {
        const int shards = shard_count(name, split);
        if (shards == 0) continue;
        if (count != 0 && shards != count) {
            throw Error(ErrorKind::data, "imagenet: " + folder + " holds shards of two sets: " + name +
                                             " beside \"of " + std::to_string(count) +
                                             "\" ones; keep one set in the folder");
        }
        count = shards;
        paths.push_back((std::filesystem::path(folder) / name).string());
    }
    if (paths.empty()) {
        throw Error(ErrorKind::data, "imagenet: no file " + std::string(first_file(split)) +
                                         " (or of another shard count) in " + folder);
    }
    if (paths.size() < static_cast<std::size_t>(count)) {
        log::warning("imagenet: " + std::to_string(paths.size()) + " of " + std::to_string(count) + " " +
                     std::string(shard_prefix(split)) + " files are in " + folder + "; only these are used");
    }
    return paths;
}

std::string index_name(Split split) {
    return split == Split::train ? "train.cnntrain-index" : "validation.cnntrain-index";
}

SampleCount count_imagenet(const InputSettings& settings, Split split) {
    constexpr double kPatienceSeconds = 0.5;
    const RecordCount count =
        count_records(imagenet_files(settings, split), index_name(split), posix_files(), kPatienceSeconds);
    return {split == Split::train ? used_share(count.records, settings.percentage_to_use) : count.records, count.exact};
}

std::shared_ptr<const Dataset> open_imagenet(const InputSettings& settings, Split split, const PixelFormat& format) {
    ImagenetSettings how;
    how.images = encoded_image_settings(settings, split, format);
    if (split == Split::train) how.percentage_to_use = settings.percentage_to_use;
    how.classes = class_count(settings);
    how.records.threads = settings.threads;
    how.records.index_name = index_name(split);
    auto dataset = std::make_shared<Imagenet>(imagenet_files(settings, split), how);
    if (how.percentage_to_use < 100)
        log::debug("using the first " + std::to_string(dataset->size()) + " training images of " + settings.folder);
    return dataset;
}

std::vector<std::string> imagenet_classes(const InputSettings& settings) {
    return classes_of_records(settings.folder);
}

}  // namespace

constinit const ImageSet kImagenetSet = {DatasetId::imagenet, "train-00000-of-01024", holds_imagenet,  imagenet_files,
                                         count_imagenet,      open_imagenet,          imagenet_classes};

}  // namespace cnntrain::data
