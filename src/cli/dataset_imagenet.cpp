// `cnntrain dataset imagenet`: converts image files to the TFRecord files that training reads.
#include <iostream>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/dataset_tools/writers.h"

namespace cnntrain::cli {
namespace {

dataset_tools::ImagenetWriterSettings imagenet_settings(const Flags& flags) {
    dataset_tools::ImagenetWriterSettings settings;
    const auto take = [&](std::string_view name, std::string& to) {
        if (flags.given(name)) to = flags.text(name);
    };
    settings.output_folder = flags.text("--output-dir");
    take("--validation-labels", settings.validation_labels);
    take("--validation-dir", settings.validation_folder);
    dataset_tools::find_raw_images(flags.text("--raw-data-dir"), settings);
    take("--labels", settings.train_labels);
    take("--classes", settings.classes);
    take("--synset-names", settings.synset_names);
    take("--bounding-boxes", settings.bounding_boxes);
    settings.validation_fraction = flags.number("--validation-fraction", 0, 1);
    if (flags.given("--train-shards")) settings.train_shards = flags.files("--train-shards");
    if (flags.given("--validation-shards")) settings.validation_shards = flags.files("--validation-shards");
    settings.seed = static_cast<std::uint64_t>(flags.integer("--seed", 0));
    settings.threads = flags.threads();
    if (flags.given("--max-skipped")) settings.max_skipped = flags.integer("--max-skipped", 0);
    settings.overwrite = flags.given("--overwrite");
    return settings;
}

dataset_tools::ConversionEvents events_on(ProgressReport& report) {
    dataset_tools::ConversionEvents events;
    events.notice = [&](const std::string& text) { report.line(text); };
    events.skipped = [&](const std::string& path, const std::string& reason) {
        report.line("skipped " + path + ": " + reason);
    };
    events.progress = [&](const dataset_tools::ConversionProgress& now) {
        report.update(now.done, now.kept, now.total);
    };
    events.stop_requested = stop_requested;
    return events;
}

void print_imagenet_summary(const dataset_tools::ImagenetWriterResult& result, const std::string& folder,
                            double seconds) {
    const std::int64_t converted = result.converted_png + result.converted_cmyk + result.converted_other;
    std::cout << "Wrote " << result.train_images << " training and " << result.validation_images
              << " validation images of " << result.classes << " classes to " << folder << '\n'
              << result.images << " images: " << converted << " converted to RGB JPEG (" << result.converted_png
              << " PNG, " << result.converted_cmyk << " CMYK";
    if (result.converted_other > 0) std::cout << ", " << result.converted_other << " others";
    std::cout << "), ";
    if (result.turned > 0) std::cout << result.turned << " turned upright, ";
    std::cout << result.skipped << " skipped";
    if (result.skipped > 0) std::cout << " (see " << folder << "/skipped.txt)";
    if (result.boxes > 0) std::cout << ", " << result.boxes << " with bounding boxes";
    std::cout << "; " << result.files_written + result.files_kept << " files, " << size_text(result.bytes) << ", "
              << decimal(seconds) << " s";
    if (result.files_kept > 0) std::cout << " (" << result.files_kept << " files were there already)";
    std::cout << std::endl;
}

}  // namespace

const CommandFlags& dataset_imagenet_flags() {
    static const CommandFlags table = {{
        {"--raw-data-dir", "",
         "images: in its folders train and validation (or val); without these, all images are for training"},
        {"--validation-dir", "", "images of the validation split, if they are elsewhere"},
        {"--output-dir", "", "folder to write the TFRecord files into (also --local_scratch_dir)",
         "--local-scratch-dir"},
        {"--labels", "", "file with a training image and its class per line, instead of class folders"},
        {"--validation-labels", "",
         "the same for validation, or the class of each image in sorted order (default: synset_labels.txt)"},
        {"--classes", "", "file with one class per line, in label order (default: all classes, sorted)"},
        {"--synset-names", "", "file with a class and its name in words per line"},
        {"--bounding-boxes", "", "CSV file (name, xmin, ymin, xmax, ymax) or folder of Pascal VOC XML files"},
        {"--validation-fraction", "0", "share of the training images to hold out if there is no validation folder"},
        {"--train-shards", "", "files of the training split (default: 1 for each 1251 images, at most 1024)"},
        {"--validation-shards", "", "files of the validation split (default: 1 for each 390 images, at most 128)"},
        {"--seed", "0", "seed of the order of the images"},
        {"--threads", "0", "threads that convert images; 0: one per core"},
        {"--max-skipped", "", "maximum number of damaged images (default: 1 % of the images, but at least 10)"},
        {"--overwrite",
         "",
         "remove the files of another conversion from the output folder, replace changed ones",
         {},
         true},
    }};
    return table;
}

int dataset_imagenet(const std::string& called, const std::vector<std::string>& arguments) {
    const Flags flags(dataset_imagenet_flags(), called, arguments);
    if (flags.print_help_if_wanted()) return 0;
    const dataset_tools::ImagenetWriterSettings settings = imagenet_settings(flags);
    catch_stop_signals();
    dataset_tools::ImagenetWriterResult result;
    double seconds = 0;
    {
        ProgressReport report("images");
        result = dataset_tools::write_imagenet_tfrecords(settings, events_on(report));
        seconds = report.elapsed_seconds();
    }
    if (!result.interrupted) {
        print_imagenet_summary(result, settings.output_folder, seconds);
        return 0;
    }
    std::cout << "Stopped: " << result.files_written + result.files_kept << " files are finished in "
              << settings.output_folder << "; run the same command again to continue with the others" << std::endl;
    return kInterruptedExitCode;
}

}  // namespace cnntrain::cli
