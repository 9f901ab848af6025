// `cnntrain dataset reshard`: writes the same records into another number of files.
#include <algorithm>
#include <iostream>

#include "cli/commands.h"
#include "cli/dataset_inspect.h"
#include "cli/flags.h"
#include "cli/signals.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/dataset_tools/reshard.h"

namespace cnntrain::cli {
namespace {

constexpr int kPublishedValidationShards = 128;

std::vector<dataset_tools::ReshardSplit> wanted_splits(const Flags& flags) {
    const std::string& split = flags.text("--split");
    const std::vector<std::string> names = {"train", "validation", "all"};
    if (std::ranges::find(names, split) == names.end()) {
        throw Error(ErrorKind::usage, "cnntrain dataset reshard: --split expects train, validation or all, got '" +
                                          split + "'" + suggestion(split, names));
    }
    const int shards = flags.files("--shards");
    if (split != "all") {
        if (!flags.given("--validation-shards")) return {{split, shards}};
        throw Error(ErrorKind::usage,
                    "cnntrain dataset reshard: --validation-shards is for --split all; with --split " + split +
                        " the number is --shards");
    }
    const int validation_shards =
        flags.given("--validation-shards") ? flags.files("--validation-shards") : kPublishedValidationShards;
    return {{"train", shards}, {"validation", validation_shards}};
}

void print_result(const dataset_tools::ReshardResult& result, const dataset_tools::ReshardSettings& settings,
                  double seconds) {
    std::cout << "Wrote";
    for (std::size_t i = 0; i < settings.splits.size(); ++i) {
        const dataset_tools::ReshardSplit& split = settings.splits[i];
        std::cout << (i == 0 ? " " : " and ") << result.records[i] << ' ' << split.name << " records in "
                  << split.shards << " shards";
    }
    std::cout << " (" << size_text(result.bytes) << ") to " << settings.output_folder << " in " << decimal(seconds)
              << " s";
    if (result.shards_kept > 0) std::cout << "; " << result.shards_kept << " shards were there already";
    std::cout << '\n';
}

}  // namespace

const CommandFlags& dataset_reshard_flags() {
    static const CommandFlags table = {
        {{"--input-dir", "", "folder with the shards to read", "--data-dir"},
         {"--output-dir", "", "folder for the new shards; must differ from --input-dir"},
         {"--split", "all", "train, validation or all"},
         {"--shards", "", "files to write; of the training split if --split is all"},
         {"--validation-shards", "", "files of the validation split if --split is all (default 128)"},
         {"--seed", "0", "seed of the new order of the records"},
         {"--no-shuffle", "", "keep the order of the records", {}, true},
         {"--overwrite", "", "remove other shards in the output folder, and replace changed files", {}, true},
         {"--threads", "0", "files written in parallel; 0: one per core"}}};
    return table;
}

int dataset_reshard(const std::string& called, const std::vector<std::string>& arguments) {
    const Flags flags(dataset_reshard_flags(), called, arguments);
    if (flags.print_help_if_wanted()) return 0;
    dataset_tools::ReshardSettings settings;
    settings.input_folder = flags.text("--input-dir");
    settings.output_folder = flags.text("--output-dir");
    settings.splits = wanted_splits(flags);
    settings.shuffle = !flags.given("--no-shuffle");
    settings.seed = static_cast<std::uint64_t>(flags.integer("--seed", 0));
    settings.overwrite = flags.given("--overwrite");
    settings.threads = flags.threads();
    catch_stop_signals();
    settings.stop_requested = stop_requested;
    dataset_tools::ReshardResult result;
    double seconds = 0;
    {
        ProgressReport progress("records");
        settings.progress = [&](const dataset_tools::ReshardProgress& now) {
            progress.update(now.done, now.kept, now.total);
        };
        result = dataset_tools::reshard(settings);
        seconds = progress.elapsed_seconds();
    }
    if (result.interrupted) {
        std::cout << "Stopped: " << result.shards_written + result.shards_kept
                  << " shards are finished; run the same command again to continue with the others\n";
        return kInterruptedExitCode;
    }
    print_result(result, settings, seconds);
    return 0;
}

}  // namespace cnntrain::cli
