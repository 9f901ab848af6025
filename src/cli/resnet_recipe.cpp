#include "cli/resnet_recipe.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>

#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/numbers.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::cli {
namespace {

constexpr std::int64_t kMostImages = 1'000'000'000;

/// The published run: 90 epochs of 1 280 000 images with a batch size of 512 workers x 48 images.
constexpr std::int64_t kBatch = 24576;
constexpr std::int64_t kSteps = 4680;

/// Translation of a flag.
enum class Meaning {
    option,  // its value is passed to `option` unchanged
    read,    // translated by the code below
    idle,    // has no effect: it controls something that does not exist here
};

struct RecipeFlag {
    Flag flag;
    Meaning meaning = Meaning::read;
    std::string_view option = {};
};

using FlagTable = std::span<const RecipeFlag>;

constexpr std::string_view kIdleHelp = "accepted, without effect here";

constexpr RecipeFlag kBothPrograms[] = {
    {{"--data-dir", "", "folder with the TFRecord files"}, Meaning::option, "--data-dir"},
    {{"--model-dir", "", "folder of the run: checkpoints and logs"}},
    {{"--resnet-depth", "50", "size of the network"}, Meaning::option, "--model-size"},
    {{"--num-intra-threads", "0", "compute threads; 0: one per core"}},
    {{"--use-tpu", "false", "must be false"}},
    {{"--num-inter-threads", "", kIdleHelp}, Meaning::idle},
    {{"--kmp-blocktime", "", kIdleHelp}, Meaning::idle},
    {{"--kmp-affinity", "", kIdleHelp}, Meaning::idle},
    {{"--kmp-settings", "", kIdleHelp}, Meaning::idle},
};

constexpr RecipeFlag kMainFlags[] = {
    {{"--train-batch-size", "24576", "images per weight update, over all processes"}},
    {{"--train-steps", "4680", "weight updates"}, Meaning::option, "--iterations"},
    {{"--micro-batch-size", "48", "maximum number of these that a process handles at once"}},
    {{"--weight-decay", "5e-5", "of all weights except those of norms"}, Meaning::option, "--weight-decay"},
    {{"--momentum", "0.9", "of the gradients"}, Meaning::option, "--momentum"},
    {{"--label-smoothing", "0", "of the targets"}, Meaning::option, "--label-smoothing"},
    {{"--eval-batch-size", "", kIdleHelp}, Meaning::idle},
    {{"--steps-per-eval", "", kIdleHelp}, Meaning::idle},
    {{"--iterations-per-loop", "", kIdleHelp}, Meaning::idle},
};

constexpr RecipeFlag kEval[] = {
    {{"--eval-batch-size", "200", "images at once"}, Meaning::option, "--micro-batch-size"},
};

/// The network and its numerics, in training and evaluation. The recipe's text names ResNet-50 on ImageNet. Batch norm
/// and images of mean 0 and deviation 1 come from the programs that the recipe modifies. Float32 was TensorFlow's
/// format on CPUs at that time.
constexpr std::string_view kNetwork =
    "--model resnet --dataset imagenet --batch-norm --normalise-input --precision 32.32";
/// Taken from the recipe's text.
constexpr std::string_view kRecipeWords =
    "--BN-decay 0.95 --lr-schedule gradual_warmup_then_dec --warmup-start-learning-rate 0.1 --warmup-iterations 260 "
    "--abs-learning-rate 4.8 --no-validation";
/// Nesterov momentum comes from the programs that the recipe modifies. One log line per update gives each update its
/// own learning rate. TensorFlow's Estimator keeps five checkpoints.
constexpr std::string_view kTrainingFlags = "--optimiser nesterov --loss-scaling 1 --log-freq 1 --keep-ckpts 5";

std::vector<RecipeFlag> joined_flags(FlagTable one, FlagTable other) {
    std::vector<RecipeFlag> all(one.begin(), one.end());
    all.insert(all.end(), other.begin(), other.end());
    return all;
}

std::vector<Flag> plain(const std::vector<RecipeFlag>& table) {
    std::vector<Flag> flags;
    std::ranges::transform(table, std::back_inserter(flags), &RecipeFlag::flag);
    return flags;
}

std::string with_hyphens(std::string_view flag) {
    std::string name(flag.substr(0, flag.find('=')));
    std::ranges::replace(name, '_', '-');
    return name;
}

bool is_recipe_flag(std::string_view word) {
    return (word.starts_with("--") && word.size() > 2) || word == "-h";
}

/// Recognises the words that `cnntrain` itself reads. Only the recipe's programs spell flags with underscores, so such
/// a flag that is not in the table is a typing error. A word that is not a flag belongs to the preceding option.
Flags::Foreign ours(const std::string& called, const std::vector<RecipeFlag>& table) {
    return [&](const std::string& word, bool follows) {
        if (!is_recipe_flag(word) && !follows)
            throw Error(ErrorKind::usage, called + ": unexpected word '" + word + "': options start with --");
        const std::string name = with_hyphens(word);
        const bool theirs = std::ranges::any_of(table, [&](const RecipeFlag& row) { return row.flag.name == name; }) ||
                            options::asks_help(name) || word.substr(0, word.find('=')).find('_') != word.npos;
        return !(is_recipe_flag(word) && theirs);
    };
}

void append(std::vector<std::string>& words, std::string_view more) {
    for (const std::string_view word : split(more, ' '))
        words.emplace_back(word);
}

void append(std::vector<std::string>& words, std::string_view option, std::string value) {
    words.emplace_back(option);
    words.push_back(std::move(value));
}

void refuse_tpu(const Flags& flags) {
    const std::string value = in_lower_case(flags.text("--use-tpu"));
    constexpr std::string_view kFalse[] = {"false", "f", "no", "n", "0"};
    if (std::ranges::find(kFalse, value) != std::end(kFalse)) return;
    throw Error(ErrorKind::unsupported, "--use_tpu=" + flags.text("--use-tpu") +
                                            ": there are no TPUs here; leave it out or give --use_tpu=False");
}

/// The spelling of the recipe's programs: "--num_inter_threads".
std::string as_typed(std::string_view flag) {
    std::string name(flag);
    std::replace(name.begin() + 2, name.end(), '-', '_');
    return name;
}

std::string model_dir(const Flags& flags) {
    return without_trailing_slashes(flags.text("--model-dir"));
}

/// Translates the flags that both programs have.
void translate_common(RecipeLine& line, const Flags& flags, const std::vector<RecipeFlag>& table,
                      const RecipeHost& host) {
    refuse_tpu(flags);
    append(line.options, kNetwork);
    std::vector<std::string> idle;
    for (const RecipeFlag& row : table) {
        if (row.meaning == Meaning::option) append(line.options, row.option, flags.text(row.flag.name));
        if (row.meaning == Meaning::idle && flags.given(row.flag.name)) idle.push_back(as_typed(row.flag.name));
    }
    const std::int64_t threads = flags.integer("--num-intra-threads", 0, kMostImages);
    const std::int64_t usable = std::min<std::int64_t>(threads, host.cores);
    append(line.options, "--threads", std::to_string(usable));
    if (usable < threads) {
        line.notices.push_back("--num_intra_threads " + std::to_string(threads) + " counts as " +
                               std::to_string(usable) + ", the cores that this process may use");
    }
    if (!idle.empty()) line.notices.push_back("without effect here: " + listed(idle));
}

[[noreturn]] void refuse_workers(std::int64_t batch, std::int64_t workers) {
    throw Error(ErrorKind::usage,
                "--train_batch_size " + std::to_string(batch) + " cannot be shared by " + counted(workers, "worker") +
                    "; the nearest numbers of workers that can: " + joined(divisors_near(batch, workers), " and "));
}

void translate_batch(RecipeLine& line, const Flags& flags, const RecipeHost& host) {
    const std::int64_t batch = flags.integer("--train-batch-size", 1, kMostImages);
    if (batch % host.workers != 0) refuse_workers(batch, host.workers);
    const MicroBatches micro_batches =
        micro_batches_of(batch / host.workers, flags.integer("--micro-batch-size", 1, kMostImages));
    append(line.options, "--micro-batch-size", std::to_string(micro_batches.images));
    append(line.options, "--gradient-accumulation-count", std::to_string(micro_batches.count));
    line.notices.push_back(std::to_string(batch) +
                           " images for each weight update: " + std::to_string(micro_batches.images) + " at once x " +
                           std::to_string(micro_batches.count) + " in turn x " + counted(host.workers, "worker"));
}

/// Notes that the schedule is fixed in the recipe's source and does not depend on the flags.
void mention_schedule(RecipeLine& line, const Flags& flags) {
    const bool published =
        flags.integer("--train-batch-size", 1) == kBatch && flags.integer("--train-steps", 1) == kSteps;
    if (published) return;
    line.notices.push_back("the learning rates are those of the recipe for " + std::to_string(kSteps) + " updates of " +
                           std::to_string(kBatch) +
                           " images, 0.1 to 4.8 in 260 updates; --abs-learning-rate, --warmup-iterations and "
                           "--warmup-start-learning-rate change them");
}

/// The same command line resumes a stopped run, as with TensorFlow's Estimator.
void translate_run_folder(RecipeLine& line, const std::string& model_dir, const FileSystem& files) {
    const std::optional<weights::Found> found = weights::latest(files, model_dir);
    append(line.options, found ? "--restore-path" : "--logs-path", model_dir);
    if (!found) return;
    line.notices.push_back(model_dir + " holds " + found->name +
                           ": the run continues from there, exactly as if it had not been stopped; for a new run "
                           "choose another --model_dir");
}

/// Translates a command line with the program's own flags `own`. `translate` handles the flags that the two programs do
/// not share.
RecipeLine recipe_line(const std::string& called, FlagTable own, const std::vector<std::string>& words,
                       const RecipeHost& host, const std::function<void(RecipeLine&, const Flags&)>& translate) {
    const std::vector<RecipeFlag> table = joined_flags(own, kBothPrograms);
    const CommandFlags known{plain(table)};
    const Flags flags(known, called, without_no_break_spaces(words), ours(called, table));
    RecipeLine line;
    line.help_wish = flags.help_wish();
    if (line.help_wish) return line;
    translate_common(line, flags, table, host);
    translate(line, flags);
    line.options.insert(line.options.end(), flags.rest().begin(), flags.rest().end());
    return line;
}

CommandFlags command_flags(FlagTable own, const std::string& command) {
    return {plain(joined_flags(own, kBothPrograms)),
            "\nFlags may be written with underscores. Options of `cnntrain " + command +
                "` may be given too\nand take precedence; cnntrain " + command + " --help-all lists them.\n"};
}

}  // namespace

RecipeHost recipe_host(const comm::Launched& launched) {
    RecipeHost host;
    if (launched.world) {
        host.workers = launched.world->size;
        host.rank = launched.world->rank;
    }
    if (launched.popdist) host.workers = launched.popdist->replicas;
    host.cores = available_cores();
    return host;
}

std::vector<std::string> without_no_break_spaces(const std::vector<std::string>& words) {
    constexpr std::string_view kSpace = "\xC2\xA0";
    std::vector<std::string> result;
    const auto add = [&](std::string_view word) {
        while (word.starts_with(kSpace))
            word.remove_prefix(kSpace.size());
        while (word.ends_with(kSpace))
            word.remove_suffix(kSpace.size());
        if (!word.empty()) result.emplace_back(word);
    };
    for (const std::string_view word : words) {
        const std::size_t space = word.find(kSpace);
        const bool joins = is_recipe_flag(word) && space < word.find('=');
        add(joins ? word.substr(0, space) : word);
        if (joins) add(word.substr(space));
    }
    return result;
}

MicroBatches micro_batches_of(std::int64_t share, std::int64_t most) {
    std::int64_t images = std::min(share, most);
    while (share % images != 0)
        --images;
    return {images, share / images};
}

RecipeLine resnet_main_line(const std::string& called, const std::vector<std::string>& words, const RecipeHost& host,
                            const FileSystem& files) {
    return recipe_line(called, kMainFlags, words, host, [&](RecipeLine& line, const Flags& flags) {
        append(line.options, kRecipeWords);
        append(line.options, kTrainingFlags);
        translate_batch(line, flags, host);
        mention_schedule(line, flags);
        translate_run_folder(line, model_dir(flags), files);
    });
}

RecipeLine resnet_eval_line(const std::string& called, const std::vector<std::string>& words, const RecipeHost& host,
                            const FileSystem& files) {
    return recipe_line(called, kEval, words, host, [&](RecipeLine& line, const Flags& flags) {
        const std::string folder = model_dir(flags);
        const std::optional<weights::Found> found = weights::latest(files, folder);
        append(line.options, "--restore-path", found ? found->path : folder);
        // A separate folder, because a training run may be writing into the run's own.
        append(line.options, "--logs-path", folder + "/eval");
    });
}

CommandFlags resnet_main_flags() {
    return command_flags(kMainFlags, "train");
}

CommandFlags resnet_eval_flags() {
    return command_flags(kEval, "validation");
}

}  // namespace cnntrain::cli
