// `cnntrain dataset`: writes data sets in the formats that training reads.
#include <array>
#include <iostream>

#include "cli/commands.h"
#include "cli/dataset_commands.h"
#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/data/writers.h"

namespace cnntrain::cli {

namespace {

int write_cifar(const std::vector<std::string>& arguments) {
    const Flags flags("cnntrain dataset cifar",
                      {{"--output-dir", "", "folder to write cifar-10-batches-bin into"},
                       {"--train", "10000", "training images"},
                       {"--test", "2000", "test images"},
                       {"--classes", "10", "classes, 2 to 10"},
                       {"--seed", "0", "of the images"}},
                      arguments);
    if (flags.wants_help()) {
        std::cout << flags.help();
        return 0;
    }
    data::GeneratedCifarSettings settings;
    settings.folder = flags.text("--output-dir");
    settings.train_images = flags.integer("--train", 1);
    settings.test_images = flags.integer("--test", 1);
    settings.classes = static_cast<std::int32_t>(flags.integer("--classes", 2));
    settings.seed = static_cast<std::uint64_t>(flags.integer("--seed", 0));
    const std::string folder = data::write_generated_cifar(settings);
    std::cout << "Wrote " << settings.train_images << " training and " << settings.test_images << " test images of "
              << settings.classes << " classes to " << folder << '\n';
    return 0;
}

struct Writer {
    std::string_view name;
    std::string_view help;
    int (*run)(const std::vector<std::string>& arguments);
};

constexpr std::array<Writer, 2> kWriters = {{
    {"cifar", "a small generated set that can be learnt, in CIFAR-10's format", write_cifar},
    {"imagenet", "TFRecord files from folders of JPEG files", dataset_imagenet},
}};

}  // namespace

int dataset_command(const Invocation& invocation) {
    const std::vector<std::string>& words = invocation.arguments;
    if (words.empty() || words.front() == "--help" || words.front() == "-h") {
        std::cout << "usage: cnntrain dataset <kind> [options]\n\n";
        for (const Writer& writer : kWriters) {
            std::cout << "  " << writer.name << "  " << writer.help << '\n';
        }
        std::cout << "\ncnntrain dataset <kind> --help lists the options.\n";
        return 0;
    }
    std::vector<std::string> names;
    for (const Writer& writer : kWriters) {
        if (writer.name == words.front()) return writer.run({words.begin() + 1, words.end()});
        names.emplace_back(writer.name);
    }
    const std::string nearest = nearest_name(words.front(), names);
    throw Error(ErrorKind::usage, "cnntrain dataset: no kind '" + words.front() + "'; there are cifar and imagenet" +
                                      (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

}  // namespace cnntrain::cli
