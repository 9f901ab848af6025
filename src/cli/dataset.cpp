// `cnntrain dataset`: writes, checks and inspects data sets in the formats that training reads.
#include <algorithm>
#include <iostream>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/config/commands.h"
#include "cnntrain/dataset_tools/writers.h"

namespace cnntrain::cli {
namespace {

const CommandFlags& dataset_cifar_flags() {
    static const CommandFlags table = {
        {{"--output-dir", "", "folder to write cifar-10-batches-bin into"},
         {"--train", "10000", "training images"},
         {"--test", "2000", "test images"},
         {"--classes", "10", "classes, 2 to 10"},
         {"--seed", "0", "of the images"},
         {"--overwrite", "", "replace files that this command did not write, or that were changed", {}, true}}};
    return table;
}

int dataset_cifar(const std::string& called, const std::vector<std::string>& arguments) {
    const Flags flags(dataset_cifar_flags(), called, arguments);
    if (flags.print_help_if_wanted()) return 0;
    dataset_tools::GeneratedCifarSettings settings;
    settings.folder = flags.text("--output-dir");
    settings.train_images = flags.integer("--train", 1, 1'000'000'000);
    settings.test_images = flags.integer("--test", 1, 1'000'000'000);
    settings.classes = static_cast<std::int32_t>(flags.integer("--classes", 2, 10));
    settings.seed = static_cast<std::uint64_t>(flags.integer("--seed", 0));
    settings.overwrite = flags.given("--overwrite");
    const std::string folder = dataset_tools::write_generated_cifar(settings);
    std::cout << "Wrote " << settings.train_images << " training and " << settings.test_images << " test images of "
              << settings.classes << " classes to " << folder << '\n';
    return 0;
}

const CommandFlags& dataset_photos_flags() {
    static const CommandFlags table = {
        {{"--output-dir", "", "folder to write train/<class>/ and validation/<class>/ into"},
         {"--train", "1200", "training photos"},
         {"--validation", "240", "validation photos"},
         {"--seed", "0", "of the photos"},
         {"--overwrite", "", "replace photos that were generated with other options", {}, true}}};
    return table;
}

int dataset_photos(const std::string& called, const std::vector<std::string>& arguments) {
    const Flags flags(dataset_photos_flags(), called, arguments);
    if (flags.print_help_if_wanted()) return 0;
    dataset_tools::GeneratedPhotosSettings settings;
    settings.folder = without_trailing_slashes(flags.text("--output-dir"));
    settings.train_photos = flags.integer("--train", 1, 1'000'000);
    settings.validation_photos = flags.integer("--validation", 1, 1'000'000);
    settings.seed = static_cast<std::uint64_t>(flags.integer("--seed", 0));
    settings.overwrite = flags.given("--overwrite");
    dataset_tools::write_generated_photos(settings);
    std::cout << "Wrote " << settings.train_photos << " training and " << settings.validation_photos
              << " validation photos of " << dataset_tools::kPhotoClasses << " shapes to " << settings.folder << '\n';
    return 0;
}

constexpr DatasetKind kKinds[] = {
    {"cifar", "", "write a small, learnable generated set in CIFAR-10's format", dataset_cifar_flags, dataset_cifar},
    {"photos", "", "write small, learnable photos of shapes in class folders", dataset_photos_flags, dataset_photos},
    {"imagenet", "imagenet_to_gcs.py", "write TFRecord files from folders of images", dataset_imagenet_flags,
     dataset_imagenet},
    {"bert", "create_pretraining_data.py", "write TFRecord files for BERT pretraining from text", dataset_bert_flags,
     dataset_bert},
    {"inspect", "", "show the contents of TFRecord or CIFAR files: records, keys, sizes, labels", dataset_inspect_flags,
     dataset_inspect},
    {"verify", "", "check that a data set is complete and undamaged: checksums, missing files, images",
     dataset_verify_flags, dataset_verify},
    {"reshard", "", "write the same records to another number of TFRecord files, shuffled", dataset_reshard_flags,
     dataset_reshard},
    {"suspects", "", "list samples of a run's data that look wrongly labelled, and near-duplicates across splits",
     dataset_suspects_flags, dataset_suspects},
};

void print_kinds() {
    constexpr std::size_t kColumn = 12;
    std::cout << "usage: cnntrain dataset <kind> [options]\n\n";
    for (const DatasetKind& kind : kKinds) {
        std::string line = "  " + std::string(kind.name);
        line.resize(std::max(line.size() + 2, kColumn), ' ');
        line += kind.help;
        if (!kind.script.empty()) line += " (also " + std::string(kind.script) + ")";
        std::cout << line << '\n';
    }
    std::cout << "\ncnntrain dataset <kind> --help lists the options.\n";
}

/// Runs the kind whose original script was typed; that name selects both command and kind.
int run_script(std::string_view script, const std::vector<std::string>& arguments) {
    for (const DatasetKind& kind : kKinds) {
        if (kind.script == script) return kind.run(std::string(script), arguments);
    }
    throw Error(ErrorKind::internal, "no kind of data set answers to " + std::string(script));
}

}  // namespace

std::span<const DatasetKind> dataset_kinds() {
    return kKinds;
}

int dataset_command(const Invocation& invocation) {
    const std::string_view file = last_part(invocation.command);
    const std::vector<std::string>& words = invocation.arguments;
    if (file != config::name(config::Command::dataset)) return run_script(file, words);
    if (words.empty() || config::asks_help(words.front())) {
        print_kinds();
        return 0;
    }
    std::vector<std::string> names;
    std::string listed;
    for (const DatasetKind& kind : kKinds) {
        if (kind.name == words.front())
            return kind.run("cnntrain dataset " + words.front(), {words.begin() + 1, words.end()});
        names.emplace_back(kind.name);
        listed += (listed.empty() ? "" : ", ") + names.back();
    }
    throw Error(ErrorKind::usage, "cnntrain dataset: '" + words.front() + "' is none of its kinds, which are " +
                                      listed + suggestion(words.front(), names));
}

}  // namespace cnntrain::cli
