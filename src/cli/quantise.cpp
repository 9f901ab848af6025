// `cnntrain quantise`: a copy of a checkpoint whose network computes in 8 bits.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::cli {
namespace {

/// All words but this command's own options and the first one, which names the run.
bool is_of_validation(const std::string& word, bool follows) {
    if (!word.starts_with('-')) return follows;
    const std::string flag = word.substr(0, word.find('='));
    return std::ranges::none_of(quantise_flags().flags, [&](const Flag& own) { return own.name == flag; });
}

std::string output_of(const Flags& flags, const std::string& checkpoint) {
    if (flags.given("--output")) {
        const std::string& path = flags.text("--output");
        return path.ends_with(weights::kCheckpointSuffix) ? path : path + std::string(weights::kCheckpointSuffix);
    }
    const std::filesystem::path path(checkpoint);
    return (path.parent_path() / weights::kEightBitFolder /
            path.filename().replace_extension(weights::kCheckpointSuffix))
        .string();
}

int quantise(const Flags& flags, const options::ParseResult& arguments, const run::Host& host) {
    run::QuantiseSettings settings;
    settings.checkpoint =
        weights::find_checkpoint(*host.files, "quantise", arguments.settings.main.restore_path.value_or("")).path;
    settings.output = output_of(flags, settings.checkpoint);
    settings.samples = flags.integer("--samples", 8, 1'000'000);
    constexpr double kAll = 100;
    settings.most_loss = flags.number("--most-loss", 0, kAll);
    const auto is_own = [](const FileSystem& files, const std::string& path) {
        try {
            return run::eight_bit_plan(files, path).has_value();
        } catch (const Error&) {
            return false;  // damaged, or no checkpoint
        }
    };
    check_outputs(*host.files, {{{"--output", settings.output}, flags.given("--overwrite"), "--overwrite", is_own}},
                  {{"the checkpoint", settings.checkpoint}});
    const std::filesystem::path folder = std::filesystem::path(settings.output).parent_path();
    if (folder.filename() != weights::kEightBitFolder)
        weights::refuse_run_checkpoint(*host.files, "--output", settings.output);
    if (!folder.empty()) host.files->make_directories(folder.string());
    metrics::Observers observers;
    observers.add(std::make_unique<metrics::Console>(*host.console, metrics::Console::Settings{host.terminal}));
    run::quantise(tasks::row_of(arguments), arguments, settings, host, observers);
    return 0;
}

}  // namespace

CommandFlags quantise_flags() {
    return {{{"RUN", "", "folder of a run, of which ckpt-best is taken, or a checkpoint"},
             {"--output", "", "checkpoint to write (default: 8bit/NAME.safetensors beside the one that is read)"},
             toggle("--overwrite", "replace a file that this command did not write"),
             {"--samples", "256", "training samples on which ranges and choices are measured"},
             {"--most-loss", "0.5",
              "points, of the accuracy or F1 on the validation split, that may be lost; not less than two samples"}},
            "\n"
            "Writes a checkpoint with which validation, inference and profile compute in 8 bits.\n"
            "Nothing is trained, and the weights in the file stay as they are.\n"
            "  cnntrain quantise RUN\n"
            "  cnntrain inference RUN/8bit/ckpt-best PHOTOS/*.jpg\n"
            "All other options are those of cnntrain validation. See cnntrain help eight-bits.\n"};
}

int quantise_command(const Invocation& invocation) {
    const Flags flags(quantise_flags(), called(invocation), invocation.arguments, is_of_validation);
    if (flags.print_help_if_wanted()) return 0;
    std::vector<std::string> words = flags.rest();
    words.insert(words.begin(), {"--restore-path", flags.text("RUN")});
    const Invocation line{std::move(words), invocation.command_line,
                          std::string(options::name(options::Command::validation))};
    return parse_and_run(
        options::Command::validation, line,
        [&](const options::ParseResult& arguments, const run::Host& host) { return quantise(flags, arguments, host); });
}

}  // namespace cnntrain::cli
