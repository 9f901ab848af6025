// From the words of a poprun line to a request.
#include <algorithm>
#include <cctype>

#include "cnntrain/base/columns.h"
#include "cnntrain/base/error.h"
#include "cnntrain/launch/poprun.h"
#include "launch/hosts.h"
#include "launch/poprun_options.h"

namespace cnntrain::launch {

namespace {

using Words = std::vector<std::string>;

/// Documents have escaped blanks before line breaks, which make words begin with one.
std::string without_first_blanks(std::string word) {
    const auto first =
        std::ranges::find_if(word, [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; });
    word.erase(word.begin(), first);
    return word;
}

std::string long_form(const std::string& word) {
    if (word == "-v") return "--verbose";
    if (word == "-vv") return "--vv";
    if (word == "-h") return "--help";
    if (word == "-H") return "--host";
    return word;
}

/// What a line says, before anything is made of it.
struct Line {
    std::vector<GivenOption> options;
    std::vector<std::string> notices;
    Words program;
};

class LineReader {
public:
    explicit LineReader(const Words& words) : words_(words) {}

    Line read() {
        for (; at_ < words_.size(); ++at_) {
            const std::string word = long_form(without_first_blanks(words_[at_]));
            if (word.empty()) continue;
            if (!word.starts_with('-')) {
                line_.program.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
                line_.program.front() = word;
                break;
            }
            read_option(word);
        }
        return std::move(line_);
    }

private:
    void read_option(const std::string& word) {
        if (!word.starts_with("--")) refuse_line("unknown option " + word + "; see --help");
        const FoundOption found = find_option(word, line_.notices);
        const std::string flag = word.substr(0, word.find('='));
        const PoprunOption& option = *found.option;
        std::string text;
        if (found.has_value) {
            if (option.takes == Takes::nothing) refuse_line(std::string(option.flag) + " takes no value");
            text = word.substr(flag.size() + 1);
        } else if (option.takes != Takes::nothing) {
            text = next_value(option, flag);
        }
        if (option.takes != Takes::words) text = without_first_blanks(text);
        line_.options.push_back({&option, text, &option == &kOtherVipu ? flag : std::string(option.flag)});
    }

    std::string next_value(const PoprunOption& option, const std::string& flag) {
        const bool there = at_ + 1 < words_.size();
        const bool is_option = there && option.takes != Takes::words && words_[at_ + 1].starts_with("--");
        if (!there || is_option) refuse_line(flag + " needs a value");
        return words_[++at_];
    }

    const Words& words_;
    std::size_t at_ = 0;
    Line line_;
};

bool names_hosts(const PoprunOption& option) {
    return option.flag == "--host" || option.flag == "--hostfile";
}

bool same_subject(const PoprunOption& a, const PoprunOption& b) {
    return &a == &b || (names_hosts(a) && names_hosts(b));
}

bool gives(const std::vector<GivenOption>& options, std::string_view flag) {
    return std::ranges::any_of(options, [&](const GivenOption& given) { return given.option->flag == flag; });
}

/// Options from a file stand in front of those of the line, and only where the line has none.
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
        request.hosts = hosts_of_file(files.read_text(value.text));
        if (request.hosts.empty()) refuse_line("--hostfile " + value.text + ": the file names no host");
    }
    if (given.option->apply != nullptr) given.option->apply(request, value);
}

}  // namespace

PoprunRequest parse_poprun(const std::vector<std::string>& arguments, const FileSystem& files) {
    Line line = LineReader(arguments).read();
    PoprunRequest request;
    request.notices = line.notices;
    const std::vector<GivenOption> options = with_imported(line.options, files);
    if (gives(options, "--host") && gives(options, "--hostfile"))
        refuse_line("--host and --hostfile are both given; choose one");
    for (const GivenOption& given : options) {
        apply(given, request, files);
        const bool named = std::ranges::find(request.without_effect, given.flag) != request.without_effect.end();
        if (is_for_ipus(*given.option) && !named) request.without_effect.push_back(given.flag);
    }
    request.exported_settings = settings_text(options);
    request.program = std::move(line.program);
    if (request.program.empty() && !request.help && !request.version)
        refuse_line("expected a program behind the options, as in: poprun --num-instances 2 --num-replicas 2 train.py");
    return request;
}

std::string poprun_help(const std::string& called) {
    constexpr std::size_t kColumn = 40;
    constexpr std::size_t kWidth = 110;
    std::string text =
        "usage: " + called +
        " [options] program [arguments]\n"
        "Starts several processes of a program with Open MPI's mpirun, as PopRun does. The program may be a "
        "script that\ncnntrain stands for, also behind python or python3, or any other.\n\n";
    std::string for_ipus;
    for (const PoprunOption& option : poprun_options()) {
        if (is_for_ipus(option)) {
            for_ipus += (for_ipus.empty() ? "" : ", ") + std::string(option.flag);
            continue;
        }
        const std::string head = "  " + std::string(option.flag) + " " + std::string(option.placeholder);
        text += help_entry(head, option.help, kColumn, kWidth);
    }
    return text + "\nWithout effect on CPUs, and named in one notice: " + for_ipus +
           ", and every other --vipu-... option.\n" +
           "\nOptions end at the program's name. Every instance gets the variables POPDIST_* and its rank.\n"
           "Exit code: that of the first instance that failed (128 + its number when a signal ended it), 2 for a line "
           "that\n"
           "cannot be right, 4 without Open MPI, 127 when there is no such program, 143 after SIGTERM, SIGINT or "
           "SIGHUP.\n";
}

void export_settings(const PoprunRequest& request, FileSystem& files) {
    if (!request.export_path) return;
    if (files.exists(*request.export_path) && !request.overwrite_export) {
        refuse_line("--export-config " + *request.export_path +
                    ": the file is there; --overwrite-config yes replaces it");
    }
    files.write_text(*request.export_path, request.exported_settings);
}

}  // namespace cnntrain::launch
