#include "data/write/imagenet_writer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/data/writers.h"
#include "data/images/image_file.h"
#include "data/images/jpeg.h"
#include "data/images/jpeg_errors.h"
#include "data/write/annotations.h"
#include "data/write/example_writer.h"
#include "data/write/imagenet_sources.h"
#include "data/write/shard_writer.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

/// Part of the fingerprint; increase it when equal sources give different bytes.
constexpr const char* kImagenetFormat = "2";
constexpr std::int64_t kLeastMaxSkipped = 10;

constexpr const char* kFromPng = "converted from PNG";
constexpr const char* kFromCmyk = "converted from CMYK";
constexpr const char* kFromOther = "converted from another format";
constexpr const char* kTurned = "turned upright";
constexpr const char* kWithBoxes = "with boxes";

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
    ShardPlan plan() const;
    std::string path(std::int64_t source) const;
    MadeRecord make(std::int64_t source, ImageConverter& converter) const;

private:
    bool is_training(std::int64_t source) const { return source < std::ssize(sources_.train); }
    const RawImage& image(std::int64_t source) const {
        return is_training(source) ? sources_.train[static_cast<std::size_t>(source)]
                                   : sources_.validation[static_cast<std::size_t>(source - std::ssize(sources_.train))];
    }
    void count_stems();
    void add_boxes(const RawImage& image, ImageDescription& description) const;
    Fingerprint fingerprint() const;

    const ImagenetWriterSettings& settings_;
    ImagenetSources sources_;  // numbered consecutively: training, then validation
    std::map<std::string, std::string, std::less<>> names_;
    std::map<std::string, std::int64_t, std::less<>> labels_;
    BoxTable boxes_;
    std::set<std::string, std::less<>> repeated_stems_;
};

void ImagenetConversion::count_stems() {
    std::set<std::string_view> seen;
    for (const auto* images : {&sources_.train, &sources_.validation}) {
        for (const RawImage& image : *images) {
            const std::string_view stem = stem_of(image.path);
            if (!seen.insert(stem).second) repeated_stems_.emplace(stem);
        }
    }
}

std::string ImagenetConversion::path(std::int64_t source) const {
    const std::string& folder = is_training(source) ? settings_.train_folder : settings_.validation_folder;
    return (fs::path(folder) / image(source).path).string();
}

void ImagenetConversion::add_boxes(const RawImage& image, ImageDescription& description) const {
    const bool unique_name = !repeated_stems_.contains(stem_of(image.path));
    for (const ImageBox& box : boxes_.of(image.path, unique_name)) {
        const auto label = labels_.find(box.class_name);
        description.boxes.push_back(box.box);
        description.box_labels.push_back(label == labels_.end() ? description.label : label->second);
    }
}

MadeRecord ImagenetConversion::make(std::int64_t source, ImageConverter& converter) const {
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
    record.bytes = serialise_image_example(std::move(description));
    return record;
}

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

Fingerprint ImagenetConversion::fingerprint() const {
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
    return {{"record format", kImagenetFormat},
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

ShardPlan ImagenetConversion::plan() const {
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
        plan.sets.push_back(
            share_out("validation", validation, files(settings_.validation_shards, validation, kPublishedValidation)));
    }
    std::string& labels = plan.texts[kLabelsFile];
    for (const std::string& name : sources_.classes)
        labels += name + "\n";
    return plan;
}

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

std::int64_t count_of(const ShardResult& result, const char* note) {
    const auto found = result.notes.find(note);
    return found == result.notes.end() ? 0 : found->second;
}

ImagenetWriterResult imagenet_summary(const ImagenetConversion& conversion, const ShardPlan& plan,
                                      const ShardResult& written) {
    ImagenetWriterResult result;
    result.interrupted = written.interrupted;
    result.images = conversion.images();
    for (std::size_t set = 0; set < plan.sets.size(); ++set) {
        (plan.sets[set].prefix == "train" ? result.train_images : result.validation_images) = written.records[set];
    }
    result.converted_png = count_of(written, kFromPng);
    result.converted_cmyk = count_of(written, kFromCmyk);
    result.converted_other = count_of(written, kFromOther);
    result.turned = count_of(written, kTurned);
    result.boxes = count_of(written, kWithBoxes);
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
    if (events.progress) {
        job.progress = [&](const ShardProgress& now) { events.progress({now.done, now.kept, now.total, now.skipped}); };
    }
    if (events.skipped) job.skipped = [&](const SkippedSource& source) { events.skipped(source.name, source.reason); };
    job.stop_requested = events.stop_requested;
    return imagenet_summary(conversion, plan, write_shards(plan, job));
}

namespace {

constexpr int kQuality = 100;

// The functions that return bool return false after an error; errors.message then has its text.

/// Reads all data but computes only one pixel per block, which finds all damage in a fraction of the time.
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

[[noreturn]] void fail_convert(const std::string& what) {
    throw Error(ErrorKind::data, what);
}

StoredImage stored(const PixelView& rgb, std::string_view converted_from, bool turned) {
    return {encode_jpeg(rgb, kQuality), rgb.size.height, rgb.size.width, converted_from, turned};
}

}  // namespace

struct ImageConverter::State {
    jpeg_decompress_struct info{};
    JpegErrors errors{};
    Workspace workspace;

    [[noreturn]] void fail_jpeg() const {
        throw_if_out_of_memory(errors);
        fail_convert("the JPEG cannot be decoded: " + std::string(errors.message.data()));
    }
};

ImageConverter::ImageConverter() : state_(std::make_unique<State>()) {
    CNNTRAIN_CHECK(create_decompressor(state_->info, state_->errors), state_->errors.message.data());
}

ImageConverter::~ImageConverter() {
    jpeg_destroy_decompress(&state_->info);
}

StoredImage ImageConverter::convert(std::string file) {
    if (file.empty()) fail_convert("the file is empty");
    const auto bytes = std::as_bytes(std::span(file));
    const ImageFile opened(bytes, Exif::applied, state_->workspace);
    const ImageSize size = opened.size();
    std::string_view from;
    if (opened.format() == FileFormat::jpeg) {
        if (!read_jpeg_header(state_->info, state_->errors, bytes)) state_->fail_jpeg();
        const bool inks = state_->info.jpeg_color_space == JCS_CMYK || state_->info.jpeg_color_space == JCS_YCCK;
        if (inks) {
            from = "CMYK";
        } else if (!opened.is_turned()) {
            if (!look_through(state_->info, state_->errors)) state_->fail_jpeg();
            return {std::move(file), size.height, size.width, "", false};
        }
    } else {
        from = format_name(opened.format());
    }
    return stored(opened.decode({0, 0, size.height, size.width}, {DctMethod::accurate}), from, opened.is_turned());
}

}  // namespace cnntrain::data
