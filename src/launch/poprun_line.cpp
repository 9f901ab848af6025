// Parses the words of a poprun command line into a request.
#include <algorithm>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/config/line.h"
#include "cnntrain/launch/poprun.h"
#include "launch/hosts.h"
#include "launch/poprun_options.h"

namespace cnntrain::launch {
namespace {

config::Spelling spelling_of(const PoprunOption& option, const std::string& flag) {
    const config::Takes takes = option.takes == Takes::nothing ? config::Takes::nothing
                                : option.takes == Takes::words ? config::Takes::any
                                                               : config::Takes::one;
    return {flag, std::string(option.flag), takes};
}

std::vector<config::Spelling> spellings() {
    std::vector<config::Spelling> all;
    for (const PoprunOption& option : poprun_options()) {
        all.push_back(spelling_of(option, std::string(option.flag)));
        all.back().preferred = option.flag != config::kHelpAllFlag;
    }
    for (const auto& [letters, flag] :
         {std::pair{"-v", "--verbose"}, {"-vv", "--vv"}, {"-h", "--help"}, {"-H", "--host"}}) {
        all.push_back(spelling_of(*option_named(flag), letters));
        all.back().preferred = false;
    }
    return all;
}

/// Handles an option without a row, or a typing error that occurs in documents. Throws Error(usage) for options of the
/// program.
std::optional<config::Spelling> unlisted_option(const std::string& word, bool ambiguous,
                                                std::vector<std::string>& notices) {
    const std::string flag = word.substr(0, word.find('='));
    std::string meant = word;  // a documented command line has "--num=ilds" for "--num-ilds"
    if (flag != word) meant[flag.size()] = '-';
    if (const PoprunOption* option = option_named(meant)) {
        notices.push_back(word + " is taken for " + meant);
        return spelling_of(*option, word);
    }
    if (ambiguous) return std::nullopt;
    if (flag.starts_with("--vipu-")) return config::Spelling{flag, flag};
    if (flag == "--synthetic-data" || flag.starts_with("--instance-") || flag.starts_with("--tag-"))
        refuse_line(flag + " belongs after the program");
    return std::nullopt;
}

/// Documents contain escaped blanks before line breaks, so words may start with a blank. All words from the program's
/// name on belong to the program.
config::Line read_words(const std::vector<std::string>& words, std::vector<std::string>& notices) {
    config::LineHabits habits{.program = "poprun", .hyphen_values = true, .trims = true};
    habits.foreign = [](const std::string& word, bool follows) { return follows || !word.starts_with('-'); };
    habits.unknown = [&](const std::string& word, bool ambiguous) { return unlisted_option(word, ambiguous, notices); };
    return config::read_line(spellings(), words, habits);
}

std::vector<GivenOption> given_options(const config::Line& line) {
    std::vector<GivenOption> all;
    for (const config::GivenValues& given : line.options) {
        const PoprunOption* option = option_named(given.option);
        all.push_back({option == nullptr ? &kOtherVipu : option, given.values.front(), given.option});
    }
    return all;
}

bool names_hosts(const PoprunOption& option) {
    return option.flag == "--host" || option.flag == "--hostfile";
}

bool same_subject(const PoprunOption& a, const PoprunOption& b) {
    return &a == &b || (names_hosts(a) && names_hosts(b));
}

bool gives(const std::vector<GivenOption>& options, std::string_view flag) {
    return std::ranges::any_of(options, [&](const GivenOption& given) { return given.option->flag == flag; });
}

/// Inserts options from a file before those of the command line, except for options that the command line also gives.
std::vector<GivenOption> with_imported(const std::vector<GivenOption>& line, const FileSystem& files) {
    std::vector<GivenOption> result;
    for (const GivenOption& given : line) {
        if (given.option->flag != "--import-config") continue;
        for (const GivenOption& imported : read_settings(given.text, files)) {
            const bool overruled = std::ranges::any_of(
                line, [&](const GivenOption& own) { return same_subject(*own.option, *imported.option); });
            if (!overruled) result.push_back(imported);
        }
    }
    result.insert(result.end(), line.begin(), line.end());
    return result;
}

void apply(const GivenOption& given, PoprunRequest& request, const FileSystem& files) {
    const OptionValue value = read_value(given);
    if (given.option->flag == "--hostfile") {
        request.hosts = hosts_of_file(read_text(files, value.text));
        if (request.hosts.empty()) refuse_line("--hostfile " + value.text + ": the file names no host");
    }
    if (given.option->apply != nullptr) given.option->apply(request, value);
}

}  // namespace

PoprunRequest parse_poprun(const std::vector<std::string>& arguments, const FileSystem& files) {
    PoprunRequest request;
    config::Line line = read_words(arguments, request.notices);
    const std::vector<GivenOption> options = with_imported(given_options(line), files);
    if (gives(options, "--host") && gives(options, "--hostfile"))
        refuse_line("--host and --hostfile are both given; choose one");
    for (const GivenOption& given : options) {
        if (given.option->flag == "--import-config" || given.option->flag == "--hostfile")
            request.read_files.push_back({std::string(given.option->flag), given.text});
        apply(given, request, files);
        const bool named = std::ranges::find(request.without_effect, given.flag) != request.without_effect.end();
        if (is_for_ipus(*given.option) && !named) request.without_effect.push_back(given.flag);
    }
    request.exported_settings = settings_text(options);
    request.program = std::move(line.rest);
    if (request.program.empty() && !request.help && !request.version)
        refuse_line("expected a program behind the options, as in: poprun --num-instances 2 --num-replicas 2 train.py");
    return request;
}

config::HelpPage poprun_page(const std::string& called) {
    config::HelpPage page{.called = called, .operands = "program [arguments]"};
    page.summary =
        "Starts several processes of a program with Open MPI's mpirun, as PopRun does. The program may be a "
        "script that cnntrain stands for, also behind python or python3, or any other.";
    page.examples =
        "  cnntrain poprun --num-instances 2 --num-replicas 2 train.py --data-dir DIR\n"
        "  cnntrain poprun --host node[0-3] --num-instances 8 --num-replicas 8 train.py --data-dir DIR\n";
    std::string for_ipus;
    for (const PoprunOption& option : poprun_options()) {
        if (is_for_ipus(option)) {
            for_ipus += (for_ipus.empty() ? "" : ", ") + std::string(option.flag);
            continue;
        }
        config::HelpRow row{.flag = std::string(option.flag), .value = std::string(option.placeholder)};
        if (option.takes != Takes::nothing) row.arity = config::Arity::one;
        if (option.takes == Takes::boolean) row.choices = {"yes", "no"};
        row.path = row.value == "FILE" || row.value == "FOLDER";
        row.help = row.summary = option.help;
        row.main = option.is_main;
        page.rows.push_back(std::move(row));
    }
    page.all_only = "\n" + config::paragraph("Without effect on CPUs, and named in one notice: " + for_ipus +
                                             ", and every other --vipu-... option.");
    page.more =
        "\nOptions end at the program's name. Every instance gets the variables POPDIST_* and its rank.\n"
        "Exit code: that of the first instance that failed (128 + its number when a signal ended it), 2 for\n"
        "a line that cannot be right, 4 without Open MPI, 127 when there is no such program, 143 after\n"
        "SIGTERM, SIGINT or SIGHUP.\n";
    return page;
}

void export_settings(const PoprunRequest& request, FileSystem& files) {
    if (!request.export_path) return;
    check_outputs(
        files,
        {{{"poprun: --export-config", *request.export_path}, request.overwrite_export, "--overwrite-config yes"}},
        request.read_files);
    write_text(files, *request.export_path, request.exported_settings);
}

}  // namespace cnntrain::launch
