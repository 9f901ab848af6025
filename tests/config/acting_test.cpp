// Places where each option changes something: the contract, option by option, against the notices to the user.
#include <set>

#include "config/parsing.h"
#include "options/read/read.h"
#include "support/matchers.h"

namespace cnntrain::options::testing {
namespace {

/// Images: "I" and "C" from ImageNet's and CIFAR's files, "i" and "c" made up.
struct Acts {
    std::string_view flag;      // as documented
    std::string_view value;     // another than the default
    std::string_view commands;  // of "TVE": in which it acts
    std::string_view images = "ICic";
    std::string_view with = {};  // what else it needs
};

constexpr std::string_view kNever;

// clang-format off
constexpr Acts kActs[] = {
    {"--model", "resnext", "TVE"}, {"--lr-schedule", "cosine", "T"}, {"--restore-path", "x", "TVE"},
    {"--config", "", "TVE"}, {"--config-path", "x", "TVE"}, {"--repeat", "2", "VE"}, {"--inference", "true", kNever},
    {"--total-batch-size", "8", "V"}, {"--num-inference-thread", "2", "E"}, {"--force-recompile", "", "E"},
    {"--tmp-execs", "", "E"}, {"--wandb-id", "x", "T", "ICic", "--wandb"},
    {"--backend", "ref", "TVE"}, {"--threads", "3", "TVE"}, {"--thread-independent", "", "T"},
    {"--input-threads", "3", "TVE", "IC"},
    {"--no-stop-on-nan", "", "T"}, {"--keep-ckpts", "3", "T"},
    {"--checkpoint-dtype", "f32", "T"}, {"--validate-every", "0.5", "T"}, {"--validate-every-updates", "3", "T"},
    {"--keep-best", "loss", "T"}, {"--early-stop", "3", "T"}, {"--ema-decay", "0.9", "T"}, {"--ema", "", "VE"},
    {"--crop-fraction", "0.9", "TVE", "I"}, {"--resize-mode", "pad", "TVE", "I"},
    {"--interpolation", "bicubic", "TVE", "I"}, {"--normalise-mean", "0.5,0.5,0.5", "TVE", "Ii"},
    {"--normalise-std", "0.5,0.5,0.5", "TVE", "Ii"}, {"--test-time-flip", "", "TVE"},
    {"--crop-area", "0.1,1", "T", "I"}, {"--rand-augment", "2,9", "T", "IC"},
    {"--colour-jitter", "0.1,0.1,0.1,0.1", "T", "IC"}, {"--random-erasing", "0.1", "T", "IC"},
    {"--class-weights", "balanced", "T", "IC"}, {"--teacher", "x", "T"}, {"--balanced-sampling", "", "T", "IC"},
    {"--labels", "single", "TVE"}, {"--label-separator", ";", "TVE", "ICic", "--labels several"},
    {"--focal-gamma", "2", "T", "ICic", "--labels several"},
    {"--distill", "0.5,2", "T", "ICic", "--teacher x"},
    {"--freeze", "x", "T"}, {"--layer-decay", "0.9", "T"}, {"--init-strict", "", "T"},
    {"--padding", "symmetric", "TVE"},
    {"--bottleneck-stride", "1x1", "TVE"}, {"--network-form", "large", "TVE"},
    {"--predictions", "p.csv", "E"}, {"--top-classes", "3", "E"},
    {"--features", "f.npy", "E"}, {"--unknown-below", "0.5", "E"}, {"--temperature", "2", "E"},
    {"--maps", "m", "E"},
    {"--model-size", "26", "TVE"}, {"--batch-norm", "", "TVE"}, {"--group-norm", "", "TVE"},
    {"--groups", "8", "TVE", "ICic", "--group-norm"}, {"--BN-decay", "0.5", "T", "ICic", "--batch-norm"},
    {"--convolution-groups", "8", "TVE", "ICic", "--model resnext"},
    {"--group-dim", "8", "TVE", "ICic", "--model resnext"},
    {"--widenet", "", "TVE", "Cc", "--model resnext"},
    {"--dropout-rate", "0.3", "T"}, {"--block-survival-prob", "0.3", "T"}, {"--no-se", "", "TVE"},
    {"--depth-divisor", "16", "TVE"},
    {"--top-width", "640", "TVE"}, {"--use-relu", "", "TVE"}, {"--expand-ratio", "4", "TVE"},
    {"--norm-epsilon", "0.1", "TVE"},
    {"--proxy-norm", "", "TVE"}, {"--proxy-epsilon", "0.1", "TVE", "ICic", "--proxy-norm"},
    {"--width-coefficient", "2", "TVE"}, {"--depth-coefficient", "2", "TVE"},
    {"--dataset", "", "TVE"}, {"--data-dir", "x", "TVE", "IC"}, {"--pipeline-num-parallel", "3", kNever},
    {"--num-classes", "7", "TVE"}, {"--validation-fraction", "0.5", "TVE", ""}, {"--split-seed", "3", "TVE", ""},
    {"--generated-data", "", "TVE", "ic"}, {"--synthetic-data", "", "TVE", ""}, {"--no-dataset-cache", "", kNever},
    {"--dataset-cache-gb", "1", kNever}, {"--strict-data", "", "TVE", "I"}, {"--normalise-input", "", "TVE", "Ii"},
    {"--image-size", "64", "TVE", "Ii"}, {"--train-with-valid-preprocessing", "", "T", "IC"},
    {"--hostside-norm", "", "TVE", "Ii"},
    {"--standard-imagenet", "", kNever}, {"--mixup-alpha", "0.2", "T", "IC"}, {"--cutmix-lambda", "0.5", "T", "IC"},
    {"--cutmix-version", "2", "T", "IC", "--cutmix-lambda 0.5"},
    {"--hostside-image-mixing", "", "T", "IC", "--mixup-alpha 0.1"},
    {"--eight-bit-io", "", "TVE", "Iic"}, {"--dataset-percentage-to-use", "50", "T", "I"},
    {"--fused-preprocessing", "", kNever},
    {"--micro-batch-size", "3", "TVE"}, {"--gradient-accumulation-count", "3", "T"},
    {"--base-learning-rate-exponent", "-3", "T"}, {"--abs-learning-rate", "0.5", "T"}, {"--epochs", "3", "T"},
    {"--weight-decay", "0.5", "T"}, {"--loss-scaling", "3", "T"}, {"--label-smoothing", "0.3", "T"},
    {"--smoothing", "0.3", "T"},
    {"--variable-filter", "x", "T"},
    {"--head-only", "", "T"}, {"--head-first", "", "T"}, {"--feature-views", "3", "T", "ICic", "--head-only"},
    {"--head-strength", "0.1", "T", "ICic", "--head-only"}, {"--feature-cache", "x", "T", "ICic", "--head-first"},
    {"--init-path", "x", "T"}, {"--ckpts-per-epoch", "3", "T"}, {"--epochs-per-ckpt", "3", "T"},
    {"--ckpt-epochs-offset", "3", "T"},
    {"--ckpt-all-instances", "true", "T"}, {"--no-validation", "", "T"}, {"--weight-avg-N", "3", "T"},
    {"--weight-avg-exp", "0.3", "T"},
    {"--shards", "2", "T", "ICic", "--pipeline"}, {"--replicas", "2", "T"}, {"--pipeline", "", "T"},
    {"--pipeline-splits", "x", "T", "ICic", "--pipeline"}, {"--distributed", "", "T"}, {"--epochs-per-sync", "3", "T"},
    {"--max-cross-replica-buffer-size", "1024", "T"}, {"--no-comm-overlap", "", "T"}, {"--comm-wire", "bf16", "T"},
    {"--comm-route", "flat", "T"}, {"--rts", "", "T"}, {"--comm-timeout", "10", "TV"},
    {"--syncs-per-epoch", "3", "T"}, {"--pipeline-schedule", "Interleaved", "T", "ICic", "--pipeline"},
    {"--lanes", "2", "T"},
    {"--optimiser", "LARS", "T"}, {"--momentum", "0.3", "T", "ICic", "--optimiser momentum"},
    {"--rmsprop-decay", "0.3", "T", "ICic", "--optimiser RMSprop"},
    {"--rmsprop-base-decay-exp", "-14", "T", "ICic", "--optimiser RMSprop"},
    {"--rmsprop-epsilon", "0.3", "T", "ICic", "--rmsprop-decay 0.3 --optimiser RMSprop"},
    {"--beta1", "0.3", "T", "ICic", "--optimiser LAMB"}, {"--beta2", "0.3", "T", "ICic", "--optimiser LAMB"},
    {"--adam-epsilon", "0.3", "T", "ICic", "--optimiser AdamW"}, {"--offload-fp32-weight-copy", "", "T"},
    {"--lars-epsilon", "0.3", "T", "ICic", "--optimiser LARS"},
    {"--lars-skip-list", "x", "T", "ICic", "--optimiser LARS"},
    {"--lars-weight-decay", "0.3", "T", "ICic", "--optimiser LARS"},
    {"--lars-eeta", "0.3", "T", "ICic", "--optimiser LARS"},
    {"--warmup-epochs", "3", "T"}, {"--learning-rate-decay", "0.3", "T"}, {"--learning-rate-schedule", "0.3", "T"},
    {"--lr-decay-rate", "0.3", "T"}, {"--lr-drops", "3", "T"}, {"--poly-lr-decay-power", "3", "T"},
    {"--poly-lr-end-ratio", "0.3", "T"},
    {"--abs-end-learning-rate", "0.3", "T"}, {"--warmup-iterations", "3", "T"},
    {"--warmup-start-learning-rate", "0.3", "T"},
    {"--precision", "32.32", "TVE"}, {"--compute-type", "f32", "TVE"}, {"--force-weight-to-fp16", "x", "TVE"},
    {"--force-weight-to-fp32", "x", "TVE"},
    {"--stochastic-rounding", "OFF", "T"}, {"--device-iterations", "3", "T"}, {"--seed", "3", "TVE"},
    {"--BN-span", "3", "T", "ICic", "--batch-norm"},
    {"--dataset-benchmark", "", "TVE"}, {"--compile-only", "", "TVE"}, {"--prefetch-depth", "3", "TVE", "IC"},
    {"--latency", "", "TV"}, {"--analyse-nans", "", "TV"}, {"--enable-recomputation", "", "T"},
    {"--recompute-norms", "", "T"},
    {"--log-dir", "x", "TVE"}, {"--logs-path", "x", "TVE"}, {"--name-suffix", "x", "TVE"},
    {"--logs-per-epoch", "3", "T"}, {"--no-logs", "", "TVE"}, {"--log-all-instances", "true", "T"},
    {"--mlperf-logging", "", "T"}, {"--no-tensorboard", "", "TVE"}, {"--wandb", "", "TVE"},
    {"--wandb-project", "x", "TVE", "ICic", "--wandb"}, {"--profile", "", "T"},
    {"--profile-steps", "3", "T", "ICic", "--profile"},
};
// clang-format on

struct Place {
    Command command;
    char command_letter;
    char images;
    std::string line;
};

std::vector<Place> places() {
    std::vector<Place> all;
    for (const auto& [command, letter] :
         {std::pair{Command::train, 'T'}, {Command::validation, 'V'}, {Command::inference, 'E'}}) {
        all.push_back({command, letter, 'I', "--dataset imagenet --data-dir d --micro-batch-size 2"});
        all.push_back({command, letter, 'C', "--dataset cifar-10 --data-dir d --micro-batch-size 2"});
        all.push_back({command, letter, 'i', "--dataset imagenet --generated-data --micro-batch-size 2"});
        all.push_back({command, letter, 'c', "--dataset cifar-100 --generated-data --micro-batch-size 2"});
    }
    return all;
}

const Option& row(std::string_view flag) {
    for (const Option& option : rows_of(Command::train)) {
        if (documented_flag(option) == flag) return option;
    }
    throw Error(ErrorKind::internal, "no option " + std::string(flag));
}

/// The reason that the option gives at this place, in one of so many processes; the option's own rules aside.
std::string reason(const Acts& acts, const Place& place, std::int64_t processes = 2) {
    const Option& option = row(acts.flag);
    std::string line = place.line + " --abs-learning-rate 0.1";
    if (!acts.with.empty()) line += " " + std::string(acts.with);
    std::vector<const Option*> all;
    for (const Option& candidate : rows_of(Command::train))
        all.push_back(&candidate);
    const TaskOptions& task = tasks::task_table().front().options;
    Resolution run{task, place.command, OptionValues(all, task.settings(), {.processes = processes}), {}, {}, {}};
    OptionValues& values = run.values;
    std::vector<std::string> line_words = words(line);
    for (std::size_t i = 0; i < line_words.size(); ++i) {
        const Option& given = row(line_words[i]);
        const bool flag_only = i + 1 == line_words.size() || line_words[i + 1].starts_with("--");
        values.set(key(given), flag_only ? Value(true) : convert(given, {line_words[++i]}), Source::command_line);
    }
    if (option.flag == "--logs-per-epoch") values.set("epochs", 3.0, Source::model);
    return idle_reason(option, run);
}

TEST(Acting, WhatSteersSeveralProcessesIsIdleInOne) {
    const Place training = places().front();
    for (const Acts& acts : kActs) {
        const bool needs_processes = row(acts.flag).acts.processes != Processes::any;
        const std::string alone = reason(acts, training, 1);
        EXPECT_EQ(alone == "it needs several processes (mpirun, srun or cnntrain poprun)", needs_processes)
            << acts.flag;
    }
}

TEST(Acting, EveryOptionHasARowHere) {
    std::set<std::string_view> rows;
    for (const Acts& acts : kActs) {
        EXPECT_TRUE(rows.insert(acts.flag).second) << acts.flag;
        EXPECT_NO_THROW(row(acts.flag));
    }
    const std::set<std::string> own_tests = {"--iterations", "--log-freq", "--task", "--photos"};  // below; photos_test
    for (const Option& option : rows_of(Command::train)) {
        const std::string flag = documented_flag(option);
        if (!is_action(option) && option.acts.on_backends != kIpu && !own_tests.contains(flag)) {
            EXPECT_TRUE(rows.contains(flag)) << flag;
        }
    }
}

TEST(Acting, EveryOptionActsWhereTheContractSaysAndNowhereElse) {
    const std::set<std::string_view> sources = {"--generated-data", "--synthetic-data", "--dataset", "--image-size"};
    for (const Acts& acts : kActs) {
        const Option& option = row(acts.flag);
        for (const Place& place : places()) {
            if ((option.commands & bit(place.command)) == 0 || sources.contains(acts.flag)) continue;
            const bool devices =
                acts.flag == "--shards" || acts.flag == "--replicas";  // adjusted, with their own notice
            if (devices && place.command != Command::train) continue;
            const bool expected = acts.commands.find(place.command_letter) != std::string_view::npos &&
                                  acts.images.find(place.images) != std::string_view::npos;
            EXPECT_EQ(reason(acts, place).empty(), expected)
                << acts.flag << " in " << name(place.command) << " on " << place.images << ": " << reason(acts, place);
        }
    }
}

TEST(Acting, NothingIsMissedWithoutWhatItNeeds) {
    for (const Acts& acts : kActs) {
        const Option& option = row(acts.flag);
        if (option.acts.needs.empty() || acts.flag == "--logs-per-epoch") continue;     // LengthsInIterations
        if (acts.flag == "--compute-type" || acts.flag == "--crop-fraction") continue;  // defaults have what they need
        Acts alone = acts;
        alone.with = {};
        const Place place = places().front();
        EXPECT_THAT(reason(alone, place), Not(IsEmpty())) << acts.flag;
    }
}

std::vector<std::string> notices(const std::string& line, Command command) {
    return parse(line, command).notices;
}

TEST(Acting, TheUserIsTold) {
    const std::string cifar = "--dataset cifar-10 --data-dir d --eight-bit-io --strict-data --dataset-cache-gb 1 ";
    for (const Command command : {Command::train, Command::validation, Command::inference}) {
        const auto told = notices(cifar, command);
        EXPECT_THAT(told, Contains(HasSubstr("--eight-bit-io")));
        EXPECT_THAT(told, Contains(HasSubstr("--dataset-cache-gb")));
    }
    EXPECT_THAT(notices(kImageNet + "--data-dir d --precision 32.32 --compute-type f32", Command::train),
                Contains("--compute-type changes nothing: it needs --precision 16.16 or 16.32"));
    EXPECT_THAT(notices(kImageNet + "--strict-data", Command::validation),
                Contains("--strict-data changes nothing: no images are read from files"));
    EXPECT_THAT(notices(kImageNet + "--wandb-id x", Command::train),
                Contains("--wandb-id changes nothing: it needs --wandb"));
    EXPECT_THAT(notices(kImageNet + "--lars-eeta 0.5", Command::train),
                Contains("--lars-eeta changes nothing: it needs --optimiser LARS"));
    EXPECT_THAT(
        notices("--config resnext101_16ipus --generated-data --micro-batch-size 2 --optimiser AdamW", Command::train),
        Not(Contains(HasSubstr("--momentum"))));  // 0.9, the default
    EXPECT_THAT(notices(kImageNet + "--momentum 0.5", Command::validation),
                Contains("--momentum changes nothing: it is for training"));
    EXPECT_THAT(notices(kImageNet + "--optimiser LARS --device-iterations 3", Command::validation),
                Contains("--optimiser and --device-iterations change nothing: they are for training"));
}

TEST(Acting, OptionsOfAnotherBackendAreNamedInOneNotice) {
    const std::string line = kImageNet + "--threads 2 --lanes 2 --thread-independent --compute-type bf16";
    EXPECT_THAT(notices(line + " --stochastic-rounding OFF --backend ref", Command::train),
                ::testing::UnorderedElementsAre(
                    "kept in arguments.json but without effect, because they only steer --backend cpu: --threads "
                    "--thread-independent --lanes --compute-type",
                    "kept in arguments.json but without effect, because they only steer --backend cpu or ipu: "
                    "--stochastic-rounding"));
    EXPECT_THAT(notices(line, Command::train), ::testing::IsEmpty());
}

TEST(Acting, OptionsWithoutCounterpartInTheApiOfIpusSayWhy) {
    const std::string line = "--dataset imagenet --generated-data --backend ipu ";
    EXPECT_THAT(notices(line + "--num-io-tiles 32", Command::train),
                Contains("--num-io-tiles changes nothing: all tiles compute, and take their inputs themselves"));
    EXPECT_THAT(notices(line + "--gcl-method auto --gcl-max-broadcast-size 1", Command::train),
                Contains("--gcl-method and --gcl-max-broadcast-size change nothing: GCL's functions take no such "
                         "option"));
    EXPECT_THAT(notices(line + "--identical-replica-seeding --max-cross-replica-buffer-size 8", Command::train),
                Contains("--max-cross-replica-buffer-size and --identical-replica-seeding change nothing: they need "
                         "several --replicas"));
    EXPECT_THAT(notices(line + "--replicas 2 --identical-replica-seeding --max-cross-replica-buffer-size 8 "
                               "--enable-half-partials --available-memory-proportion 0.2 --fp-exceptions "
                               "--saturate-on-overflow --stable-norm --enable-conv-dithering --gather-conv-output "
                               "--internal-exchange-optimisation-target memory --select-ipu 1 --prefetch-depth 2 "
                               "--stochastic-rounding RI_prng_stable",
                        Command::train),
                ::testing::IsEmpty());
}

TEST(Acting, LengthsInIterations) {
    const std::string files = "--dataset imagenet --data-dir d --iterations 3 ";
    EXPECT_THAT(notices(files, Command::validation), Contains(HasSubstr("--iterations")));
    EXPECT_THAT(notices(kImageNet + "--iterations 3", Command::validation), Not(Contains(HasSubstr("--iterations"))));
    EXPECT_THAT(notices(files + "--log-freq 2", Command::train), ::testing::IsEmpty());
    EXPECT_THAT(notices(files, Command::inference), ::testing::IsEmpty());
    EXPECT_THAT(notices(kImageNet + "--log-freq 2", Command::train),
                Contains("--log-freq changes nothing: it needs --iterations"));
    EXPECT_THAT(notices(kImageNet + "--iterations 3 --logs-per-epoch 2", Command::train),
                Contains("--logs-per-epoch changes nothing: it needs --epochs"));
}

TEST(Acting, AConfigurationForTrainingIsNoReasonToTalkInOtherCommands) {
    EXPECT_THAT(notices("--config resnet50_bn_16ipus", Command::validation), Not(Contains(HasSubstr("for training"))));
    EXPECT_THAT(
        notices("--config resnet50_bn_16ipus --replicas 1 --shards 1 --no-pipeline --generated-data", Command::train),
        Not(Contains(HasSubstr("--data-dir"))));
}

}  // namespace
}  // namespace cnntrain::options::testing
