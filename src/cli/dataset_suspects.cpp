// `cnntrain dataset suspects`: samples of a run's data that look wrongly labelled, and near-duplicates across splits.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::cli {
namespace {

constexpr std::string_view kHeader = "split,file,label,other_label,score,neighbours_label,neighbours_share\n";
constexpr std::string_view kDuplicateHeader = "training,validation,similarity,same_label\n";

std::string_view split_text(data::Split split) {
    return split == data::Split::train ? "training" : "validation";
}

std::string table_of(const std::vector<run::Suspect>& suspects) {
    std::string table(kHeader);
    for (const run::Suspect& one : suspects) {
        table += std::string(split_text(one.split)) + ',' + csv_field(one.sample) + ',' + csv_field(one.label) + ',' +
                 csv_field(one.other_label) + formatted(",%.4f,", one.score) + csv_field(one.neighbours_label) +
                 formatted(",%.3f\n", one.neighbours_share);
    }
    return table;
}

std::string table_of(const std::vector<run::Duplicate>& duplicates) {
    std::string table(kDuplicateHeader);
    for (const run::Duplicate& one : duplicates) {
        table += csv_field(one.training) + ',' + csv_field(one.validation) + formatted(",%.6f,", one.similarity) +
                 (one.same_label ? "yes\n" : "no\n");
    }
    return table;
}

Output table_output(const Flags& flags, std::string_view flag, std::string_view header) {
    return {{std::string(flag), flags.text(flag)},
            flags.given("--overwrite"),
            "--overwrite",
            [header](const FileSystem& files, const std::string& path) {
                return read_text(files, path).starts_with(header);
            }};
}

std::string parent_folder(const std::string& file) {
    const std::string folder = std::filesystem::path(file).parent_path().string();
    return folder.empty() ? "." : folder;
}

void print_suspects(const std::vector<run::Suspect>& suspects, std::int64_t most) {
    const auto suspicious = std::ranges::count_if(suspects, [](const run::Suspect& one) { return one.score > 0; });
    const auto shown = static_cast<std::size_t>(most == 0 ? suspicious : std::min<std::int64_t>(most, suspicious));
    std::cout << suspicious << " of " << suspects.size() << " labels look wrong"
              << (shown < static_cast<std::size_t>(suspicious) ? "; the most suspicious " + std::to_string(shown) : "")
              << (suspicious > 0
                      ? ":\n  score  label -> likelier label (share of the neighbours with the label)  file\n"
                      : "\n");
    for (std::size_t i = 0; i < shown; ++i) {
        const run::Suspect& one = suspects[i];
        std::cout << formatted("%7.2f  ", one.score) << one.label << " -> " << one.other_label
                  << formatted(" (%.2f)  ", one.neighbours_share) << one.sample
                  << (one.split == data::Split::validation ? " (validation)" : "") << '\n';
    }
}

void print_duplicates(const run::SuspectReport& report, double least, std::int64_t most) {
    if (report.validation == 0) return;
    const std::vector<run::Duplicate>& all = report.duplicates;
    const auto shown = most == 0 ? all.size() : std::min(all.size(), static_cast<std::size_t>(most));
    std::cout << "Pairs of a training and a validation sample with a similarity of " << formatted("%g", least)
              << " or more: " << all.size() << (shown < all.size() ? "; the first " + std::to_string(shown) : "")
              << (all.empty() ? "\n" : ":\n");
    for (std::size_t i = 0; i < shown; ++i) {
        std::cout << formatted("%7.4f  ", all[i].similarity) << all[i].training << "  " << all[i].validation
                  << (all[i].same_label ? "" : "  (different labels)") << '\n';
    }
}

}  // namespace

const CommandFlags& dataset_suspects_flags() {
    static const CommandFlags table = {
        {{"RUN", "", "folder of a run, whose latest checkpoint is taken, or one of its checkpoints"},
         {"--data-dir", "", "where the data are now; without it, where the run had them"},
         {"--csv", "", "write the scores of all samples to this file"},
         {"--duplicates-csv", "", "write the near-duplicates to this file"},
         {"--overwrite", "", "replace files that are no such tables", {}, true},
         {"--most", "50", "lines of each list; 0: all"},
         {"--neighbours", "10", "nearest training samples whose labels are compared"},
         {"--least-similarity", "0.999", "of near-duplicates: cosine of centred features"},
         {"--threads", "0", "threads that compute; 0: one per core"}},
        "\nSee cnntrain help features.\n"};
    return table;
}

int dataset_suspects(const std::string& called, const std::vector<std::string>& arguments) {
    const Flags flags(dataset_suspects_flags(), called, arguments);
    if (flags.print_help_if_wanted()) return 0;
    run::SuspectSettings settings;
    const std::string run = without_trailing_slashes(flags.text("RUN"));
    const bool is_folder = is_directory(posix_files(), run);
    settings.folder = is_folder ? run : parent_folder(run);
    settings.neighbours = static_cast<std::size_t>(flags.integer("--neighbours", 1, 1000));
    settings.least_similarity = flags.number("--least-similarity", 0, 1);
    const std::int64_t most = flags.integer("--most", 0);
    settings.checkpoint = weights::find_checkpoint(posix_files(), "RUN", run).path;
    std::vector<Output> outputs;
    if (flags.given("--csv")) outputs.push_back(table_output(flags, "--csv", kHeader));
    if (flags.given("--duplicates-csv")) outputs.push_back(table_output(flags, "--duplicates-csv", kDuplicateHeader));
    for (const Output& output : outputs)
        weights::refuse_run_checkpoint(posix_files(), output.name, output.path);
    check_outputs(posix_files(), outputs, {{"the checkpoint", settings.checkpoint}});

    std::vector<std::string> words = {"--restore-path", settings.folder, "--threads", flags.text("--threads")};
    if (flags.given("--data-dir")) words.insert(words.end(), {"--data-dir", flags.text("--data-dir")});
    const options::ParseResult line =
        tasks::parse_command_line(options::Command::restore, words, options::process_environment());
    const options::ParseResult recorded = tasks::restored_arguments(line, posix_files());
    options::refuse_unavailable(recorded);
    require_run_memory(recorded.settings, options::Command::inference);
    run::Host host = process_host({arguments, called, called});
    catch_stop_signals();
    metrics::Observers observers;
    observers.add(std::make_unique<metrics::Console>(*host.console, metrics::Console::Settings{host.terminal}));
    const run::SuspectReport report = run::find_suspects(tasks::row_of(recorded), recorded, settings, host, observers);
    print_suspects(report.suspects, most);
    print_duplicates(report, settings.least_similarity, most);
    if (flags.given("--csv")) write_text(posix_files(), flags.text("--csv"), table_of(report.suspects));
    if (flags.given("--duplicates-csv"))
        write_text(posix_files(), flags.text("--duplicates-csv"), table_of(report.duplicates));
    return 0;
}

}  // namespace cnntrain::cli
