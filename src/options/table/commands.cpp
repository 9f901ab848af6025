#include "cnntrain/options/commands.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::options {
namespace {

/// A word in a name, and the reason given when it occurs.
struct Absent {
    std::string_view word;
    std::string_view reason;
};

constexpr Absent kMissingScripts[] = {
    {"send_request.py",
     "a client of a TensorFlow Serving server, which cnntrain is not; type: cnntrain inference --dataset imagenet "
     "--generated-data --model-size 50 --iterations 1000, which measures requests of its own threads; cnntrain convert "
     "RUN --to onnx writes a network for servers"},
    {"download_glue.py",
     "cnntrain fetches weights alone; download the tasks from https://gluebenchmark.com/tasks and name their folder: "
     "cnntrain "
     "run_classifier.py --task-name mrpc --data-dir DIR"},
    {"wiki_preprocess.py",
     "cnntrain dataset bert --input-file TEXT --vocab-file V reads texts with a sentence a line and an empty line "
     "between documents; other programs extract them from Wikipedia's dump"},
    {"create_wikipedia_dataset.sh",
     "type its two lines, for texts with a sentence a line: cnntrain dataset bert --input-file TEXT --vocab-file V "
     "--output-file F --sequence-length 128 --mask-tokens 20 --duplication-factor 5 --remask --do-lower-case, then "
     "with 384 and 58"},
    {"evaluate_squad.py",
     "cnntrain validation --restore-path RUN --data-dir dev-v1.1.json evaluates a network, and so does cnntrain "
     "run_squad.py --do-predict --do-evaluation"},
    {"fine_tune_squad.sh",
     "type its line: cnntrain run_squad.py --config configs/squad_large.json --do-training --do-predict "
     "--do-evaluation --train-file F --predict-file F --vocab-file V --init-checkpoint CKPT"},
    {"fine_tune_glue.sh",
     "type its line: cnntrain run_classifier.py --config configs/glue_large.json --task-name mrpc --data-dir DIR "
     "--do-training --do-evaluation --do-predict --vocab-file V --init-checkpoint CKPT --output-dir OUT"},
    {"fine_tune_GroupBERT_glue.sh",
     "type its line: cnntrain run_classifier.py --config configs/groupbert/glue_base.json --task-name mrpc --data-dir "
     "DIR --do-training --do-evaluation --vocab-file V --init-checkpoint CKPT"},
    {"pretrain.sh",
     "type its two lines: cnntrain pretrain --config pretrain_large_128_phase1 --train-file F, then --config "
     "pretrain_large_384_phase2 --init-checkpoint RUN/ckpt-7031"},
    {"pretrain_and_finetune_BERT.sh", "type its lines: two of cnntrain pretrain, one of cnntrain run_squad.py"},
    {"pretrain_distributed.sh",
     "type its lines with poprun: cnntrain poprun --num-instances N --num-replicas N cnntrain pretrain --config ..."},
    {"upload_run.py", "--wandb on the line of a training reports the run while it trains"},
    {"run_and_time.sh",
     "type its line: cnntrain train --mlperf-logging --config resnet50_mlperf_pod16_lars --data-dir DIR"},
    {"run_benchmark.py",
     "type: cnntrain inference --dataset imagenet --generated-data --model-size 50 --iterations 100"},
    {"export_for_serving.py", "cnntrain convert RUN --to onnx writes a network for servers"},
    {"get_weights.py",
     "type: cnntrain weights resnet50.a1_in1k, or cnntrain weights for a list; train --init-path and convert read "
     "files of "
     "torchvision, timm, Keras and TensorFlow"},
    {"benchmark.py",
     "type: cnntrain train --dataset imagenet --synthetic-data --iterations 100, which measures a network"},
    {"resnet.py", "type: cnntrain train --dataset imagenet --synthetic-data --model-size 50 --iterations 100"},
};

/// A line without a command, or a slip in one of the program's own options.
[[noreturn]] void refuse_option_first(std::string_view word) {
    const std::string nearest = nearest_name(word, {"--help", "--version"});
    const std::string what = "'" + std::string(word) + "' is not a command";
    if (!nearest.empty()) throw Error(ErrorKind::usage, what + "; did you mean " + nearest + "?");
    throw Error(ErrorKind::usage, what + ", with which each line begins: cnntrain train " + std::string(word) +
                                      " ...; see cnntrain help");
}

}  // namespace

const std::vector<CommandInfo>& commands() {
    static const std::vector<CommandInfo> table = {
        {Command::demo, "demo", {}, "a first use: make photos, train on them, write a page and an ONNX file"},
        {Command::train, "train", {"train.py", "run_squad.py", "run_classifier.py"}, "train a network"},
        {Command::validation,
         "validation",
         {"validation.py"},
         "evaluate one or all checkpoints, or measure inference throughput"},
        {Command::restore, "restore", {"restore.py"}, "resume a run from its folder"},
        {Command::inference,
         "inference",
         {"inference_embedded.py", "run_squad_runtime.py"},
         "measure latency and throughput, or answer samples"},
        {Command::pretrain, "pretrain", {"run_pretraining.py"}, "BERT pretraining"},
        {Command::average, "average", {"weight_avg.py"}, "average checkpoints"},
        {Command::analyse, "analyse", {"analyse_checkpoints.py"}, "find NaNs in checkpoints"},
        {Command::dataset,
         "dataset",
         {"imagenet_to_gcs.py", "create_pretraining_data.py"},
         "write and inspect data sets"},
        {Command::benchmark, "benchmark", {"examples_utils"}, "run the entries of a benchmarks.yml"},
        {Command::poprun, "poprun", {}, "launch over MPI"},
        {Command::convert, "convert", {"convert_ckpt.py"}, "import and export checkpoints"},
        {Command::quantise, "quantise", {}, "compute a network in 8 bits"},
        {Command::weights, "weights", {}, "list and fetch published weights"},
        {Command::report, "report", {}, "a page about a run: did it learn, how fast, what does it confuse, what ran"},
        {Command::profile, "profile", {}, "where a step's time goes"},
        {Command::plan, "plan", {}, "stages, times and memory of a pipelined training, and better splits"},
    };
    return table;
}

const CommandInfo& info(Command command) {
    const auto& all = commands();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const CommandInfo& entry) { return entry.command == command; });
    CNNTRAIN_CHECK(found != all.end(), "a command without a row");
    return *found;
}

std::string_view name(Command command) {
    return info(command).name;
}

Command command_named(std::string_view word) {
    if (word.starts_with("-")) refuse_option_first(word);
    const std::string_view file = last_part(word);
    if (const std::string_view reason = why_not_here(word); !reason.empty())
        throw Error(ErrorKind::unsupported, std::string(file) + ": " + std::string(reason));
    std::vector<std::string> known;
    for (const CommandInfo& entry : commands()) {
        if (entry.name == word) return entry.command;
        known.emplace_back(entry.name);
        for (std::string_view script : entry.scripts) {
            if (script == file) return entry.command;
            known.emplace_back(script);
        }
    }
    throw Error(ErrorKind::usage,
                "unknown command '" + std::string(word) + "'" + suggestion(file, known, ".") +
                    " Commands: " + joined(commands(), " ", [](const CommandInfo& entry) { return entry.name; }));
}

bool is_script(std::string_view word) {
    const std::string_view file = last_part(word);
    if (std::ranges::find(kRecipeScripts, file) != std::end(kRecipeScripts)) return true;
    return std::ranges::any_of(commands(), [&](const CommandInfo& entry) {
        return std::ranges::find(entry.scripts, file) != entry.scripts.end();
    });
}

std::string_view why_not_here(std::string_view script) {
    const Absent* const found = std::ranges::find(kMissingScripts, last_part(script), &Absent::word);
    return found == std::end(kMissingScripts) ? std::string_view() : found->reason;
}

namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 32;
constexpr std::string_view kAllGroups = "all";

/// A group or option as users type it: "Learning-rate schedule" becomes "learning-rate-schedule".
std::string as_typed(std::string_view name) {
    std::string result;
    for (const char letter : name) {
        const auto code = static_cast<unsigned char>(letter);
        if (std::isalnum(code) != 0) {
            result += static_cast<char>(std::tolower(code));
        } else if (!result.empty() && result.back() != '-') {
            result += '-';
        }
    }
    return result;
}

std::string head(const HelpRow& row) {
    std::string text = row.flag;
    if (row.arity == Arity::none) return text;
    text += " " + (row.arity == Arity::optional ? "[" + row.value + "]" : row.value);
    return row.arity == Arity::several ? text + " ..." : text;
}

/// `text` in lines, all but the first one indented. The first line begins at `column`.
std::string wrapped(const std::string& text, std::size_t column, std::size_t indent) {
    std::string result;
    bool first = true;
    for (const std::string_view word : split(text, ' ')) {
        if (!first && column + 1 + word.size() > kWidth) {
            result += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (!first) {
            result += " ";
            ++column;
        }
        result += word;
        column += word.size();
        first = false;
    }
    return result + "\n";
}

/// The option in a column, its text in the next; a long option has a line of its own.
std::string entry(const HelpRow& row, const std::string& text) {
    std::string line = "  " + head(row);
    if (line.size() + 2 > kColumn) line += "\n" + std::string(kColumn, ' ');
    return padded(line, kColumn, 0) + wrapped(text, kColumn, kColumn);
}

std::string usage(const HelpPage& page) {
    std::string text = "usage: " + page.called;
    for (const HelpRow& row : page.rows) {
        if (!row.flag.starts_with('-')) text += " " + row.flag;
    }
    return text + " [options]" + (page.operands.empty() ? "" : " " + page.operands) + "\n";
}

std::string opening(const HelpPage& page) {
    std::string text = usage(page);
    if (!page.summary.empty()) text += paragraph(page.summary);
    if (!page.examples.empty()) text += "\n" + page.examples;
    return text + "\n";
}

std::string all_options(const HelpPage& page) {
    std::string text;
    std::string_view group;
    for (const HelpRow& row : page.rows) {
        if (row.group != group) text += (group.empty() ? "" : "\n") + row.group + ":\n";
        group = row.group;
        text += entry(row, row.help);
    }
    return text;
}

std::string main_options(const HelpPage& page) {
    const std::vector<std::string> groups = help_groups(page);
    std::string text = groups.empty() ? "" : "Main options:\n";
    for (const HelpRow& row : page.rows) {
        if (row.main) text += entry(row, groups.empty() ? row.help : row.summary);
    }
    return text;
}

/// Explains how to see the options that the short help leaves out.
std::string signpost(const HelpPage& page) {
    const auto left_out = std::ranges::count_if(page.rows, [](const HelpRow& row) { return !row.main; });
    if (left_out == 0) return "";
    const std::vector<std::string> groups = help_groups(page);
    const std::string count = std::to_string(page.rows.size());
    if (groups.empty()) return "\n" + page.called + " --help-all lists all " + count + " options.\n";
    return "\n" +
           paragraph("--help-all lists all " + count + " options, --help GROUP those of a group: " + joined(groups) +
                     ".") +
           "--help OPTION says all about one option; cnntrain help lists topics.\n";
}

[[noreturn]] void refuse_part(const HelpPage& page, const std::string& part) {
    const std::vector<std::string> groups = help_groups(page);
    std::vector<std::string> known = groups;
    for (const HelpRow& row : page.rows)
        known.push_back(as_typed(row.flag));
    const std::string nearest = nearest_name(as_typed(part), known);
    throw Error(ErrorKind::usage, page.called + " --help: no group or option '" + part + "'" +
                                      (nearest.empty() ? "." : "; did you mean '" + nearest + "'?") +
                                      (groups.empty() ? "" : " Groups: " + joined(groups)));
}

/// The title of the only group that begins with the word; empty if there is none.
std::string group_of(const HelpPage& page, const std::string& word) {
    std::vector<std::string> found;
    for (const HelpRow& row : page.rows) {
        const std::string name = as_typed(row.group);
        if (row.group.empty() || !name.starts_with(word)) continue;
        if (name == word) return row.group;
        if (std::ranges::find(found, row.group) == found.end()) found.push_back(row.group);
    }
    return found.size() == 1 ? found.front() : "";
}

const HelpRow* row_of(const HelpPage& page, const std::string& word) {
    const auto found = std::ranges::find_if(page.rows, [&](const HelpRow& row) {
        const std::string name = as_typed(row.flag);
        return name == word || (name.starts_with("no-") && name.substr(3) == word);
    });
    return found == page.rows.end() ? nullptr : &*found;
}

std::string part_text(const HelpPage& page, const std::string& part) {
    const std::string word = as_typed(part);
    const std::string group = word.empty() ? "" : group_of(page, word);
    if (!group.empty()) {
        std::string text = usage(page) + "\n" + group + ":\n";
        for (const HelpRow& row : page.rows) {
            if (row.group == group) text += entry(row, row.help);
        }
        return text;
    }
    const HelpRow* const row = row_of(page, word);
    if (row == nullptr) refuse_part(page, part);
    const std::string of_group = row->group.empty() ? "" : "Group: " + as_typed(row->group) + "\n";
    return usage(page) + "\n" + entry(*row, row->help) + of_group;
}

}  // namespace

bool asks_help(std::string_view word) {
    return word == kHelpFlag || word == "-h" || word == kHelpAllFlag || word.starts_with("--help=");
}

std::optional<HelpWish> help_wish(const std::vector<std::string>& words) {
    std::optional<HelpWish> wish;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!asks_help(words[i])) continue;
        if (!wish) wish.emplace();
        std::string part;
        if (words[i] == kHelpAllFlag) {
            wish->all = true;
        } else if (const std::size_t equals = words[i].find('='); equals != std::string::npos) {
            part = words[i].substr(equals + 1);
        } else if (i + 1 < words.size() && !words[i + 1].starts_with('-')) {
            part = words[i + 1];
        }
        if (part == kAllGroups) wish->all = true;
        if (wish->part.empty()) wish->part = part;
    }
    return wish;
}

std::vector<std::string> help_groups(const HelpPage& page) {
    std::vector<std::string> groups;
    for (const HelpRow& row : page.rows) {
        std::string name = as_typed(row.group);
        if (!name.empty() && std::ranges::find(groups, name) == groups.end()) groups.push_back(std::move(name));
    }
    return groups;
}

void gather_groups(std::vector<HelpRow>& rows) {
    std::vector<std::string> order;
    for (const HelpRow& row : rows) {
        if (std::ranges::find(order, row.group) == order.end()) order.push_back(row.group);
    }
    const auto place = [&](const HelpRow& row) {
        return row.group == kIpuGroup ? order.end() : std::ranges::find(order, row.group);
    };
    std::ranges::stable_sort(rows, {}, place);
}

std::string paragraph(const std::string& text) {
    return wrapped(text, 0, 0);
}

std::string help_text(const HelpPage& page, const HelpWish& wish) {
    if (wish.all) return opening(page) + all_options(page) + page.all_only + page.more;
    if (!wish.part.empty()) return part_text(page, wish.part);
    return opening(page) + main_options(page) + page.more + signpost(page);
}

}  // namespace cnntrain::options
