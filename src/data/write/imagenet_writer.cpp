#include "data/write/imagenet_writer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/data/writers.h"
#include "data/images/image_file.h"
#include "data/images/jpeg.h"
#include "data/sets/resolve.h"
#include "data/threads.h"
#include "data/write/annotations.h"
#include "data/write/shard_writer.h"

namespace cnntrain::data {
namespace {

// Finds the raw images of an ImageNet conversion and their classes.

struct RawImage {
    std::string path;         // relative to the split's folder
    std::size_t class_index;  // index in ImagenetSources::classes
    std::int64_t bytes;       // -1 if the file is inaccessible
    std::int64_t changed_ns;  // modification time; 0 if the file is inaccessible
};

struct ImagenetSources {
    std::vector<RawImage> train;
    std::vector<RawImage> validation;
    std::vector<std::string> classes;  // in label order
};

namespace fs = std::filesystem;

constexpr std::string_view kSynsetLabels = "synset_labels.txt";  // classes of the published validation images

[[noreturn]] void fail_source(const std::string& what) {
    throw Error(ErrorKind::data, what);
}

using Notice = std::function<void(const std::string&)>;

std::vector<std::string> source_images(const std::string& folder, const Notice& notice) {
    std::error_code failed;
    if (!fs::is_directory(folder, failed)) fail_source("image folder " + folder + " does not exist");
    ListedFiles files = list_images(folder);
    const std::string left_out = left_out_text(files);
    if (files.names.empty()) {
        fail_source("no image file in or below " + folder +
                    (left_out.empty() ? "" : "; other files there: " + left_out));
    }
    if (!left_out.empty() && notice) {
        notice("warning: files in " + folder + " that are not images are left out: " + left_out);
    }
    return std::move(files.names);
}

std::string class_of(const std::string& folder, const std::string& name) {
    const fs::path path(name);
    if (path.has_parent_path()) return path.parent_path().filename().string();
    const std::size_t underscore = name.find('_');
    const bool published = name.starts_with("ILSVRC2012_");  // published validation names have no classes
    if (underscore == std::string::npos || underscore == 0 || published) {
        fail_source(
            "image " + name + " in " + folder +
            " has no class: expected it in a folder of its class, named <class>_<anything>, or in a file given with " +
            "--labels or --validation-labels");
    }
    return name.substr(0, underscore);
}

void check_listed(const std::string& folder, const std::string& file, const std::vector<LabelLine>& labels) {
    for (const LabelLine& label : labels) {
        std::error_code failed;
        if (fs::exists(fs::path(folder) / label.path, failed)) continue;
        fail_source(file + ", line " + std::to_string(label.line) + ": there is no " + label.path + " in " + folder);
    }
}

/// Gives the classes of a file to the images in their sorted order.
void set_paths(const std::string& folder, const std::string& file, const Notice& notice,
               std::vector<LabelLine>& labels) {
    std::vector<std::string> names = source_images(folder, notice);
    if (names.size() != labels.size()) {
        fail_source(file + " has " + std::to_string(labels.size()) + " classes, one for each image, but there are " +
                    std::to_string(names.size()) + " images in " + folder);
    }
    for (std::size_t i = 0; i < names.size(); ++i)
        labels[i].path = std::move(names[i]);
}

std::vector<LabelLine> classified(const std::string& folder, const std::string& labels_file, bool may_be_classes,
                                  const Notice& notice) {
    if (folder.empty()) {
        if (labels_file.empty()) return {};
        throw Error(ErrorKind::usage, "labels are given in " + labels_file + ", but no folder with images for them");
    }
    if (!labels_file.empty()) {
        std::vector<LabelLine> labels = may_be_classes ? read_labels_or_classes(labels_file) : read_labels(labels_file);
        if (labels.front().path.empty()) {
            set_paths(folder, labels_file, notice, labels);
        } else {
            check_listed(folder, labels_file, labels);
        }
        return labels;
    }
    std::vector<LabelLine> images;
    for (const std::string& name : source_images(folder, notice)) {
        images.push_back({name, class_of(folder, name)});
    }
    return images;
}

/// The classes in label order: sorted classes of all images, or the order in the given file.
std::vector<std::string> class_list(const ImagenetWriterSettings& settings, const std::vector<LabelLine>& train,
                                    const std::vector<LabelLine>& validation) {
    std::vector<std::string> classes;
    if (!settings.classes.empty()) {
        classes = read_classes(settings.classes);
    } else {
        std::set<std::string> names;
        for (const auto* images : {&train, &validation}) {
            for (const LabelLine& image : *images) {
                names.insert(image.class_name);
            }
        }
        classes.assign(names.begin(), names.end());
    }
    for (const std::string& name : classes) {
        const std::string& place = settings.train_folder.empty() ? settings.validation_folder : settings.train_folder;
        check_class_name(place, name);
        if (name.find_first_of("\r\n") == std::string::npos) continue;
        fail_source(place + ": the class '" + printable(name) +
                    "' has a line end in its name, and labels.txt has a class in each line; rename it");
    }
    return classes;
}

using ClassIndex = std::map<std::string, std::size_t, std::less<>>;

std::vector<RawImage> indexed(const std::string& folder, std::vector<LabelLine> images, const ClassIndex& index,
                              const ImagenetWriterSettings& settings) {
    std::vector<RawImage> raw;
    raw.reserve(images.size());
    for (LabelLine& image : images) {
        const auto found = index.find(image.class_name);
        if (found == index.end()) {
            fail_source("image " + image.path + " in " + folder + " is of the class " + image.class_name +
                        ", which is not in " + settings.classes);
        }
        raw.push_back({std::move(image.path), found->second, -1, 0});
    }
    for_each_index(settings.threads, raw.size(), [&](std::size_t i) {
        const fs::path path = fs::path(folder) / raw[i].path;
        std::error_code failed;
        const std::uintmax_t bytes = fs::file_size(path, failed);
        const fs::file_time_type changed = fs::last_write_time(path, failed);
        if (failed) return;
        raw[i].bytes = static_cast<std::int64_t>(bytes);
        raw[i].changed_ns = changed.time_since_epoch() / std::chrono::nanoseconds(1);
    });
    return raw;
}

/// Warns of classes that only occur in validation; they are probably named differently in the training folder.
void notice_untrained(const ImagenetSources& sources, const Notice& notice) {
    if (!notice || sources.train.empty()) return;
    std::vector<bool> trained(sources.classes.size());
    for (const RawImage& image : sources.train) {
        trained[image.class_index] = true;
    }
    const auto is_untrained = [&](const RawImage& image) { return !trained[image.class_index]; };
    const auto count = std::count_if(sources.validation.begin(), sources.validation.end(), is_untrained);
    if (count == 0) return;
    const auto first = std::find_if(sources.validation.begin(), sources.validation.end(), is_untrained);
    notice("warning: " + std::to_string(count) + " validation images are of classes without training images, such as " +
           sources.classes[first->class_index]);
}

/// Throws Error(data) if an image has no class, or if a list does not match the files.
ImagenetSources find_imagenet_sources(const ImagenetWriterSettings& settings, const Notice& notice) {
    std::vector<LabelLine> train = classified(settings.train_folder, settings.train_labels, false, notice);
    std::vector<LabelLine> validation =
        classified(settings.validation_folder, settings.validation_labels, true, notice);
    ImagenetSources sources;
    sources.classes = class_list(settings, train, validation);
    ClassIndex index;
    for (std::size_t i = 0; i < sources.classes.size(); ++i) {
        index.emplace(sources.classes[i], i);
    }
    sources.train = indexed(settings.train_folder, std::move(train), index, settings);
    sources.validation = indexed(settings.validation_folder, std::move(validation), index, settings);
    notice_untrained(sources, notice);
    return sources;
}

}  // namespace

void find_raw_images(const std::string& raw, ImagenetWriterSettings& settings) {
    std::error_code failed;
    if (!fs::is_directory(raw, failed)) fail_source("--raw-data-dir " + raw + ": no such folder");
    const auto folder = [&](const char* name) {
        const std::string path = (fs::path(raw) / name).string();
        return fs::is_directory(path, failed) ? path : std::string();
    };
    const std::string validation = folder("validation").empty() ? folder("val") : folder("validation");
    settings.train_folder = folder("train");
    if (settings.train_folder.empty() && validation.empty()) settings.train_folder = raw;
    if (settings.validation_folder.empty()) settings.validation_folder = validation;

    const std::string labels = (fs::path(raw) / kSynsetLabels).string();
    if (settings.validation_folder.empty() || !settings.validation_labels.empty() || !fs::exists(labels, failed))
        return;
    const std::vector<std::string> names = list_images(settings.validation_folder).names;
    const bool in_class_folders = std::any_of(
        names.begin(), names.end(), [](const std::string& name) { return name.find('/') != std::string::npos; });
    if (!in_class_folders) settings.validation_labels = labels;
}

namespace {

/// Part of the fingerprint; increase it when equal sources give different bytes.
constexpr const char* kImagenetFormat = "2";
constexpr std::int64_t kLeastMaxSkipped = 10;

constexpr const char* kFromPng = "converted from PNG";
constexpr const char* kFromCmyk = "converted from CMYK";
constexpr const char* kFromOther = "converted from another format";
constexpr const char* kTurned = "turned upright";
constexpr const char* kWithBoxes = "with boxes";

std::string counted(std::size_t count, const std::string& digest) {
    return std::to_string(count) + " (" + digest + ")";
}

std::string digest_of(const std::vector<RawImage>& images) {
    Digest digest;
    for (const RawImage& image : images) {
        digest.add(image.path);
        digest.add(std::uint64_t{image.class_index});
        digest.add(static_cast<std::uint64_t>(image.bytes));
        digest.add(static_cast<std::uint64_t>(image.changed_ns));
    }
    return counted(images.size(), digest.text());
}

/// Divides the sources equally among files, in order.
ShardSet share_out(std::string prefix, const std::vector<std::int64_t>& order, int files) {
    ShardSet set{std::move(prefix), {}};
    const auto count = static_cast<std::size_t>(files);
    for (std::size_t file = 0; file < count; ++file) {
        set.sources.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(order.size() * file / count),
                                 order.begin() + static_cast<std::ptrdiff_t>(order.size() * (file + 1) / count));
    }
    return set;
}

/// ImageNet's TFRecords as they were published.
struct PublishedFiles {
    std::int64_t images;
    int files;
};
constexpr PublishedFiles kPublishedTraining = {1281167, 1024};
constexpr PublishedFiles kPublishedValidation = {50000, 128};

/// Files of about as many images each as the published ones, and at most as many.
int usual_files(std::int64_t images, const PublishedFiles& published) {
    const std::int64_t images_of_file = published.images / published.files;
    return static_cast<int>(
        std::clamp<std::int64_t>((images + images_of_file - 1) / images_of_file, 1, published.files));
}

std::vector<std::int64_t> shuffled(std::uint64_t seed, std::size_t images, std::int64_t first) {
    std::vector<std::int64_t> order;
    order.reserve(images);
    for (const std::uint32_t place : shuffled_order(seed, 0, static_cast<std::uint32_t>(images))) {
        order.push_back(first + place);
    }
    return order;
}

/// All inputs of the records.
class ImagenetConversion {
public:
    ImagenetConversion(const ImagenetWriterSettings& settings, const ConversionEvents& events)
        : settings_(settings), sources_(find_imagenet_sources(settings, events.notice)) {
        if (!settings.synset_names.empty()) names_ = read_class_names(settings.synset_names);
        if (!settings.bounding_boxes.empty()) {
            boxes_ = BoxTable::read(settings.bounding_boxes, settings.threads);
            count_stems();
        }
        for (std::size_t i = 0; i < sources_.classes.size(); ++i) {
            labels_.emplace(sources_.classes[i], static_cast<std::int64_t>(i) + 1);
        }
    }

    const ImagenetSources& sources() const { return sources_; }
    std::int64_t images() const { return std::ssize(sources_.train) + std::ssize(sources_.validation); }

    ShardPlan plan() const {
        const auto train_images = std::ssize(sources_.train);
        std::vector<std::int64_t> train = shuffled(settings_.seed, sources_.train.size(), 0);
        std::vector<std::int64_t> validation = shuffled(settings_.seed, sources_.validation.size(), train_images);
        const auto held_out = std::llround(settings_.validation_fraction * static_cast<double>(train_images));
        validation.insert(validation.end(), train.begin(), train.begin() + held_out);
        train.erase(train.begin(), train.begin() + held_out);

        ShardPlan plan{settings_.output_folder, {}, fingerprint()};
        const auto files = [](const std::optional<int>& wanted, const std::vector<std::int64_t>& images,
                              const PublishedFiles& published) {
            return wanted.value_or(usual_files(std::ssize(images), published));
        };
        if (!train.empty())
            plan.sets.push_back(share_out("train", train, files(settings_.train_shards, train, kPublishedTraining)));
        if (!validation.empty()) {
            plan.sets.push_back(share_out("validation", validation,
                                          files(settings_.validation_shards, validation, kPublishedValidation)));
        }
        std::string& labels = plan.texts[kLabelsFile];
        for (const std::string& name : sources_.classes)
            labels += name + "\n";
        return plan;
    }

    std::string path(std::int64_t source) const {
        const std::string& folder = is_training(source) ? settings_.train_folder : settings_.validation_folder;
        return (fs::path(folder) / image(source).path).string();
    }

    MadeRecord make(std::int64_t source, ImageConverter& converter) const {
        const RawImage& raw = image(source);
        MadeRecord record;
        StoredImage stored;
        try {
            stored = converter.convert(read_text(posix_files(), path(source)));
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::data) throw;
            record.skipped = error.what();
            return record;
        }
        ImageDescription description;
        description.jpeg = std::move(stored.jpeg);
        description.height = stored.height;
        description.width = stored.width;
        description.label = static_cast<std::int64_t>(raw.class_index) + 1;
        description.synset = sources_.classes[raw.class_index];
        const auto name = names_.find(description.synset);
        description.text = name == names_.end() ? description.synset : name->second;
        description.file_name = fs::path(raw.path).filename().string();
        add_boxes(raw, description);
        if (!description.boxes.empty()) record.notes.emplace_back(kWithBoxes);
        if (stored.converted_from == "PNG") record.notes.emplace_back(kFromPng);
        if (stored.converted_from == "CMYK") record.notes.emplace_back(kFromCmyk);
        const bool is_other =
            !stored.converted_from.empty() && stored.converted_from != "PNG" && stored.converted_from != "CMYK";
        if (is_other) record.notes.emplace_back(kFromOther);
        if (stored.turned) record.notes.emplace_back(kTurned);
        record.bytes = serialise_image_example(description);
        return record;
    }

private:
    bool is_training(std::int64_t source) const { return source < std::ssize(sources_.train); }
    const RawImage& image(std::int64_t source) const {
        return is_training(source) ? sources_.train[static_cast<std::size_t>(source)]
                                   : sources_.validation[static_cast<std::size_t>(source - std::ssize(sources_.train))];
    }

    void count_stems() {
        std::set<std::string_view> seen;
        for (const auto* images : {&sources_.train, &sources_.validation}) {
            for (const RawImage& image : *images) {
                const std::string_view stem = stem_of(image.path);
                if (!seen.insert(stem).second) repeated_stems_.emplace(stem);
            }
        }
    }

    void add_boxes(const RawImage& image, ImageDescription& description) const {
        const bool unique_name = !repeated_stems_.contains(stem_of(image.path));
        for (const ImageBox& box : boxes_.of(image.path, unique_name)) {
            const auto label = labels_.find(box.class_name);
            description.boxes.push_back(box.box);
            description.box_labels.push_back(label == labels_.end() ? description.label : label->second);
        }
    }

    Fingerprint fingerprint() const {
        Digest classes;
        for (const std::string& name : sources_.classes) {
            classes.add(name);
        }
        Digest names;
        for (const auto& [name, text] : names_) {
            names.add(name);
            names.add(text);
        }
        std::ostringstream fraction;
        fraction << settings_.validation_fraction;
        return {
            {"record format", kImagenetFormat},
            {"seed", std::to_string(settings_.seed)},
            {"number of training files", settings_.train_shards ? std::to_string(*settings_.train_shards) : "by size"},
            {"number of validation files",
             settings_.validation_shards ? std::to_string(*settings_.validation_shards) : "by size"},
            {"validation fraction", fraction.str()},
            {"training images", digest_of(sources_.train)},
            {"validation images", digest_of(sources_.validation)},
            {"classes", counted(sources_.classes.size(), classes.text())},
            {"class names", counted(names_.size(), names.text())},
            {"images with boxes", counted(boxes_.images(), boxes_.digest())}};
    }

    const ImagenetWriterSettings& settings_;
    ImagenetSources sources_;  // numbered consecutively: training, then validation
    std::map<std::string, std::string, std::less<>> names_;
    std::map<std::string, std::int64_t, std::less<>> labels_;
    BoxTable boxes_;
    std::set<std::string, std::less<>> repeated_stems_;
};

void check_imagenet(const ImagenetWriterSettings& settings) {
    const auto refuse = [](const std::string& what) { throw Error(ErrorKind::usage, what); };
    for (const std::optional<int>& shards : {settings.train_shards, settings.validation_shards}) {
        if (shards && (*shards < 1 || *shards > 99999))
            refuse("the number of shards is " + std::to_string(*shards) + ", not in 1..99999");
    }
    if (settings.train_folder.empty() && settings.validation_folder.empty()) refuse("no folder with images is given");
    if (!(settings.validation_fraction >= 0 && settings.validation_fraction < 1)) {
        refuse("the validation fraction is " + std::to_string(settings.validation_fraction) + ", not in 0..1");
    }
    if (settings.validation_fraction > 0 && !settings.validation_folder.empty()) {
        refuse("there are validation images in " + settings.validation_folder +
               ": a validation fraction cannot be held out too");
    }
}

ImagenetWriterResult imagenet_summary(const ImagenetConversion& conversion, const ShardPlan& plan,
                                      const ShardResult& written) {
    ImagenetWriterResult result;
    result.interrupted = written.interrupted;
    result.images = conversion.images();
    for (std::size_t set = 0; set < plan.sets.size(); ++set) {
        (plan.sets[set].prefix == "train" ? result.train_images : result.validation_images) = written.records[set];
    }
    result.converted_png = count_of(written.notes, kFromPng);
    result.converted_cmyk = count_of(written.notes, kFromCmyk);
    result.converted_other = count_of(written.notes, kFromOther);
    result.turned = count_of(written.notes, kTurned);
    result.boxes = count_of(written.notes, kWithBoxes);
    result.skipped = std::ssize(written.skipped);
    result.classes = std::ssize(conversion.sources().classes);
    result.files_written = written.files_written;
    result.files_kept = written.files_kept;
    result.bytes = written.bytes;
    return result;
}

}  // namespace

ImagenetWriterResult write_imagenet_tfrecords(const ImagenetWriterSettings& settings, const ConversionEvents& events) {
    check_imagenet(settings);
    const ImagenetConversion conversion(settings, events);
    const ShardPlan plan = conversion.plan();
    std::vector<ImageConverter> converters(static_cast<std::size_t>(std::max(settings.threads, 1)));
    ShardJob job;
    job.produce = [&](std::int64_t source, int worker) {
        return conversion.make(source, converters[static_cast<std::size_t>(worker)]);
    };
    job.source_name = [&](std::int64_t source) { return conversion.path(source); };
    job.threads = settings.threads;
    job.overwrite = settings.overwrite;
    job.max_skipped = settings.max_skipped.value_or(std::max(kLeastMaxSkipped, conversion.images() / 100));
    job.unit = "images";
    job.progress = events.progress;
    if (events.skipped) job.skipped = [&](const SkippedSource& source) { events.skipped(source.name, source.reason); };
    job.stop_requested = events.stop_requested;
    return imagenet_summary(conversion, plan, write_shards(plan, job));
}

namespace {

constexpr int kQuality = 100;

/// Reads all data but computes only one pixel per block, which finds all damage in a fraction of the time.
/// Returns false after an error; errors.message then has its text.
bool look_through(jpeg_decompress_struct& info, JpegErrors& errors) {
    if (setjmp(errors.jump) != 0) return false;
    info.out_color_space = JCS_RGB;
    info.scale_num = 1;
    info.scale_denom = 8;
    jpeg_start_decompress(&info);
    const JSAMPARRAY row =
        (*info.mem->alloc_sarray)(reinterpret_cast<j_common_ptr>(&info), JPOOL_IMAGE, info.output_width * 3, 1);
    while (info.output_scanline < info.output_height) {
        jpeg_read_scanlines(&info, row, 1);
    }
    jpeg_finish_decompress(&info);
    return true;
}

[[noreturn]] void fail_convert(const JpegErrors& errors) {
    throw_if_out_of_memory(errors);
    throw Error(ErrorKind::data, "the JPEG cannot be decoded: " + std::string(errors.message.data()));
}

StoredImage stored(const PixelView& rgb, std::string_view converted_from, bool turned) {
    return {encode_jpeg(rgb, kQuality), rgb.size.height, rgb.size.width, converted_from, turned};
}

}  // namespace

StoredImage ImageConverter::convert(std::string file) {
    if (file.empty()) throw Error(ErrorKind::data, "the file is empty");
    const auto bytes = std::as_bytes(std::span(file));
    const ImageFile opened(bytes, Exif::applied, workspace_);
    const ImageSize size = opened.size();
    std::string_view from;
    if (opened.format() == FileFormat::jpeg) {
        auto& [info, errors] = jpeg_;
        if (!read_jpeg_header(info, errors, bytes)) fail_convert(errors);
        const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
        if (inks) {
            from = "CMYK";
        } else if (!opened.is_turned()) {
            if (!look_through(info, errors)) fail_convert(errors);
            return {std::move(file), size.height, size.width, "", false};
        }
    } else {
        from = format_name(opened.format());
    }
    return stored(opened.decode({0, 0, size.height, size.width}, {DctMethod::accurate}), from, opened.is_turned());
}

}  // namespace cnntrain::data
