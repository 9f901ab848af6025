#include "data/write/imagenet_sources.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/sets.h"
#include "data/sets/file_patterns.h"
#include "data/write/annotations.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSynsetLabels = "synset_labels.txt";  // classes of the published validation images

struct ClassifiedImage {
    std::string path;
    std::string class_name;
};

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

/// The images listed in a label file, all of which must exist.
std::vector<ClassifiedImage> listed_images(const std::string& folder, const std::string& file,
                                           const std::vector<LabelLine>& labels) {
    std::vector<ClassifiedImage> images;
    for (const LabelLine& label : labels) {
        std::error_code failed;
        if (!fs::exists(fs::path(folder) / label.path, failed)) {
            fail_source(file + ", line " + std::to_string(label.line) + ": there is no " + label.path + " in " +
                        folder);
        }
        images.push_back({label.path, label.class_name});
    }
    return images;
}

std::vector<ClassifiedImage> images_with_classes(const std::string& folder, const std::string& file,
                                                 const std::vector<LabelLine>& labels, const Notice& notice) {
    const std::vector<std::string> names = source_images(folder, notice);
    if (names.size() != labels.size()) {
        fail_source(file + " has " + std::to_string(labels.size()) + " classes, one for each image, but there are " +
                    std::to_string(names.size()) + " images in " + folder);
    }
    std::vector<ClassifiedImage> images;
    for (std::size_t i = 0; i < names.size(); ++i) {
        images.push_back({names[i], labels[i].class_name});
    }
    return images;
}

std::vector<ClassifiedImage> classified(const std::string& folder, const std::string& labels_file, bool may_be_classes,
                                        const Notice& notice) {
    if (folder.empty()) {
        if (labels_file.empty()) return {};
        throw Error(ErrorKind::usage, "labels are given in " + labels_file + ", but no folder with images for them");
    }
    if (!labels_file.empty()) {
        const std::vector<LabelLine> labels =
            may_be_classes ? read_labels_or_classes(labels_file) : read_labels(labels_file);
        return labels.front().path.empty() ? images_with_classes(folder, labels_file, labels, notice)
                                           : listed_images(folder, labels_file, labels);
    }
    std::vector<ClassifiedImage> images;
    for (const std::string& name : source_images(folder, notice)) {
        images.push_back({name, class_of(folder, name)});
    }
    return images;
}

/// The classes in label order: sorted classes of all images, or the order in the given file.
std::vector<std::string> class_list(const ImagenetWriterSettings& settings, const std::vector<ClassifiedImage>& train,
                                    const std::vector<ClassifiedImage>& validation) {
    std::vector<std::string> classes;
    if (!settings.classes.empty()) {
        classes = read_classes(settings.classes);
    } else {
        std::set<std::string> names;
        for (const auto* images : {&train, &validation}) {
            for (const ClassifiedImage& image : *images) {
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

std::vector<RawImage> indexed(const std::string& folder, std::vector<ClassifiedImage> images, const ClassIndex& index,
                              const ImagenetWriterSettings& settings) {
    std::vector<RawImage> raw;
    raw.reserve(images.size());
    for (ClassifiedImage& image : images) {
        const auto found = index.find(image.class_name);
        if (found == index.end()) {
            fail_source("image " + image.path + " in " + folder + " is of the class " + image.class_name +
                        ", which is not in " + settings.classes);
        }
        raw.push_back({std::move(image.path), found->second, -1, 0});
    }
    tbb::task_arena arena(std::clamp(settings.threads, 1, tbb::info::default_concurrency()));
    arena.execute([&] {
        tbb::parallel_for(std::size_t{0}, raw.size(), [&](std::size_t i) {
            const fs::path path = fs::path(folder) / raw[i].path;
            std::error_code failed;
            const std::uintmax_t bytes = fs::file_size(path, failed);
            const fs::file_time_type changed = fs::last_write_time(path, failed);
            if (failed) return;
            raw[i].bytes = static_cast<std::int64_t>(bytes);
            raw[i].changed_ns = changed.time_since_epoch() / std::chrono::nanoseconds(1);
        });
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

ImagenetSources find_imagenet_sources(const ImagenetWriterSettings& settings, const Notice& notice) {
    std::vector<ClassifiedImage> train = classified(settings.train_folder, settings.train_labels, false, notice);
    std::vector<ClassifiedImage> validation =
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

}  // namespace cnntrain::data
