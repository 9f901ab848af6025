#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/data/tfrecord.h"
#include "cnntrain/data/writers.h"
#include "data/example_writer.h"
#include "data/jpeg.h"
#include "data/jpeg_files.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

struct RawImage {
    std::string path;
    std::string synset;
};

std::string class_of(const fs::path& relative) {
    if (relative.has_parent_path()) return relative.parent_path().filename().string();
    const std::string name = relative.filename().string();
    const std::size_t underscore = name.find('_');
    if (underscore == std::string::npos || underscore == 0) {
        throw Error(
            ErrorKind::data,
            "image " + name + " has no class: expected it in a folder of its class, or named " + "<class>_<anything>");
    }
    return name.substr(0, underscore);
}

std::vector<RawImage> list_images(const std::string& folder) {
    std::vector<RawImage> images;
    if (folder.empty()) return images;
    for (const std::string& name : list_jpeg_files(folder)) {
        images.push_back({(fs::path(folder) / name).string(), class_of(name)});
    }
    return images;
}

std::string make_record(const RawImage& image, std::int64_t label, JpegDecoder& decoder) {
    ImageDescription description;
    description.jpeg = posix_files().read_text(image.path);
    ImageSize size;
    try {
        size = decoder.open(std::as_bytes(std::span(description.jpeg)));
    } catch (const Error& error) {
        throw error.within(image.path);
    }
    description.label = label;
    description.synset = image.synset;
    description.text = image.synset;
    description.file_name = fs::path(image.path).filename().string();
    description.height = size.height;
    description.width = size.width;
    return serialise_image_example(std::move(description));
}

std::string shard_name(const char* prefix, int shard, int shards) {
    std::array<char, 64> name{};
    std::snprintf(name.data(), name.size(), "%s-%05d-of-%05d", prefix, shard, shards);
    return name.data();
}

void write_split(const char* prefix, const std::vector<RawImage>& images, const std::vector<std::string>& classes,
                 int shards, const ImagenetWriterSettings& settings) {
    const std::vector<std::uint32_t> order =
        shuffled_order(settings.seed, 0, static_cast<std::uint32_t>(images.size()));
    JpegDecoder decoder;
    const auto first_of = [&](int shard) {
        return order.size() * static_cast<std::size_t>(shard) / static_cast<std::size_t>(shards);
    };
    for (int shard = 0; shard < shards; ++shard) {
        const fs::path path = fs::path(settings.output_folder) / shard_name(prefix, shard, shards);
        RecordWriter writer(posix_files(), path.string());
        for (std::size_t i = first_of(shard); i < first_of(shard + 1); ++i) {
            const RawImage& image = images[order[i]];
            const auto place = std::lower_bound(classes.begin(), classes.end(), image.synset);
            const std::string record = make_record(image, place - classes.begin() + 1, decoder);
            writer.write(std::as_bytes(std::span(record)));
        }
        writer.commit();
    }
}

}  // namespace

ImagenetWriterResult write_imagenet_tfrecords(const ImagenetWriterSettings& settings) {
    for (const int shards : {settings.train_shards, settings.validation_shards}) {
        if (shards < 1 || shards > 99999) {
            throw Error(ErrorKind::usage, "the number of shards is " + std::to_string(shards) + ", not in 1..99999");
        }
    }
    const std::vector<RawImage> train = list_images(settings.train_folder);
    const std::vector<RawImage> validation = list_images(settings.validation_folder);
    std::set<std::string> names;
    for (const auto* images : {&train, &validation}) {
        for (const RawImage& image : *images) {
            names.insert(image.synset);
        }
    }
    const std::vector<std::string> classes(names.begin(), names.end());
    const auto most = static_cast<std::size_t>(dataset_info(DatasetId::imagenet).classes);
    if (classes.size() > most) {
        throw Error(ErrorKind::data, "the images belong to " + std::to_string(classes.size()) +
                                         " classes, more than the " + std::to_string(most) + " of imagenet");
    }
    posix_files().make_directories(settings.output_folder);
    if (!train.empty()) write_split("train", train, classes, settings.train_shards, settings);
    if (!validation.empty()) write_split("validation", validation, classes, settings.validation_shards, settings);
    return {static_cast<std::int64_t>(train.size()), static_cast<std::int64_t>(validation.size()),
            static_cast<std::int64_t>(classes.size())};
}

}  // namespace cnntrain::data
