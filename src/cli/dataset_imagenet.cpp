// `cnntrain dataset imagenet`: JPEG files to the TFRecord files that training reads.
#include <filesystem>
#include <iostream>

#include "cli/dataset_commands.h"
#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/data/writers.h"

namespace cnntrain::cli {

namespace {

namespace fs = std::filesystem;

/// `<raw>/train` and `<raw>/validation`; a folder without them is all training images.
void find_raw_folders(const std::string& raw, data::ImagenetWriterSettings& settings) {
    if (!fs::is_directory(raw)) {
        throw Error(ErrorKind::data, "--raw-data-dir " + raw + ": no such folder");
    }
    const bool split = fs::is_directory(raw + "/train") || fs::is_directory(raw + "/validation");
    if (!split) {
        settings.train_folder = raw;
        return;
    }
    if (fs::is_directory(raw + "/train")) settings.train_folder = raw + "/train";
    if (fs::is_directory(raw + "/validation")) settings.validation_folder = raw + "/validation";
}

}  // namespace

int dataset_imagenet(const std::vector<std::string>& arguments) {
    const Flags flags("cnntrain dataset imagenet",
                      {{"--raw-data-dir", "", "JPEG files: its folders train and validation, or else all for training"},
                       {"--validation-dir", "", "JPEG files of the validation split, if they are elsewhere"},
                       {"--output-dir", "", "folder to write the TFRecord files into"},
                       {"--train-shards", "1024", "files of the training split"},
                       {"--validation-shards", "128", "files of the validation split"},
                       {"--seed", "0", "of the order of the images"}},
                      arguments);
    if (flags.wants_help()) {
        std::cout << flags.help();
        return 0;
    }
    data::ImagenetWriterSettings settings;
    find_raw_folders(flags.text("--raw-data-dir"), settings);
    if (flags.given("--validation-dir")) settings.validation_folder = flags.text("--validation-dir");
    settings.output_folder = flags.text("--output-dir");
    settings.train_shards = static_cast<int>(flags.integer("--train-shards", 1));
    settings.validation_shards = static_cast<int>(flags.integer("--validation-shards", 1));
    settings.seed = static_cast<std::uint64_t>(flags.integer("--seed", 0));
    const data::ImagenetWriterResult result = data::write_imagenet_tfrecords(settings);
    std::cout << "Wrote " << result.train_images << " training and " << result.validation_images
              << " validation images of " << result.classes << " classes to " << settings.output_folder << '\n';
    return 0;
}

}  // namespace cnntrain::cli
