// The option table against the documented contract, and against itself.
#include <regex>
#include <set>

#include "config/parsing.h"
#include "options/read/read.h"
#include "support/matchers.h"

namespace cnntrain::options::testing {
namespace {

/// Every flag of the original programs.
const std::vector<std::string>& documented_flags() {
    static const std::vector<std::string> flags = words(
        "--model --lr-schedule --restore-path --help --config --config-path --repeat --inference --total-batch-size "
        "--num-inference-thread --force-recompile --tmp-execs --model-size --batch-norm --group-norm --groups "
        "--BN-decay --convolution-groups --group-dim --widenet --dropout-rate --block-survival-prob --no-se "
        "--depth-divisor --top-width --use-relu --expand-ratio --norm-epsilon --proxy-norm --proxy-epsilon "
        "--no-proxy-recompute --width-coefficient --depth-coefficient --dataset --data-dir --pipeline-num-parallel "
        "--generated-data --synthetic-data --no-dataset-cache --normalise-input --image-size "
        "--train-with-valid-preprocessing --hostside-norm --standard-imagenet --mixup-alpha --cutmix-lambda "
        "--cutmix-version --hostside-image-mixing --eight-bit-io --dataset-percentage-to-use --fused-preprocessing "
        "--micro-batch-size --gradient-accumulation-count --base-learning-rate-exponent "
        "--abs-learning-rate --epochs --iterations --weight-decay --loss-scaling --label-smoothing "
        "--gradient-mean-reduce-re --ckpts-per-epoch --epochs-per-ckpt --ckpt-epochs-offset --ckpt-all-instances "
        "--no-validation --shards --replicas --max-cross-replica-buffer-size --pipeline --pipeline-splits "
        "--pipeline-schedule --optimiser --momentum --rmsprop-decay --rmsprop-base-decay-exp --rmsprop-epsilon "
        "--offload-fp32-weight-copy --variable-filter --init-path --distributed --syncs-per-epoch --epochs-per-sync "
        "--rts --stable-norm --force-unstable-norm --weight-avg-N --weight-avg-exp --lars-epsilon --lars-skip-list "
        "--lars-weight-decay --lars-eeta --min-remote-tensor-size --learning-rate-decay --learning-rate-schedule "
        "--warmup-epochs --lr-decay-rate --lr-drops --poly-lr-decay-power --poly-lr-end-ratio "
        "--abs-end-learning-rate --precision --force-weight-to-fp16 --force-weight-to-fp32 --enable-half-partials "
        "--gather-conv-output --stochastic-rounding --device-iterations --select-ipu --fp-exceptions "
        "--enable-recomputation --seed --identical-replica-seeding --dataset-benchmark "
        "--available-memory-proportion --disable-variable-offloading --enable-conv-dithering "
        "--internal-exchange-optimisation-target --compile-only --on-demand --prefetch-depth --num-io-tiles "
        "--BN-span --max-reduce-many-buffer-size --saturate-on-overflow --latency --scheduling-algorithm "
        "--only-use-slic-vmac-16 --analyse-nans --log-dir --logs-path --name-suffix --logs-per-epoch --log-freq "
        "--no-logs --log-all-instances --mlperf-logging --wandb --wandb-project --profile --profile-compilation "
        "--gcl-method --gcl-max-broadcast-size --executable-cache-path --poplar-sync-configuration");
    return flags;
}

const Option* find(const std::string& flag) {
    for (const Option& option : rows_of(Command::train)) {
        if (documented_flag(option) == flag) return &option;
    }
    return nullptr;
}

TEST(Table, HasEveryDocumentedFlag) {
    for (const std::string& flag : documented_flags())
        EXPECT_NE(find(flag), nullptr) << flag;
    EXPECT_NE(find("--wandb-id"), nullptr);
}

/// Returns the text without line breaks and repeated blanks.
std::string unwrapped(const std::string& text) {
    return std::regex_replace(text, std::regex("[ \n]+"), " ");
}

TEST(Table, HelpNamesEveryFlagOfTheCommand) {
    for (const Command command :
         {Command::train, Command::validation, Command::inference, Command::restore, Command::pretrain}) {
        const std::string text = help_text(command, "some.py");
        for (const Option& option : rows_of(command)) {
            const bool taken = (option.commands & bit(command)) != 0;
            const std::string entry = "\n  " + documented_flag(option);
            EXPECT_EQ(text.find(entry + " ") != std::string::npos || text.find(entry + "\n") != std::string::npos,
                      taken)
                << name(command) << " " << option.flag;
        }
    }
    const std::string text = help_text(Command::train, "cnntrain train");
    EXPECT_THAT(unwrapped(text), HasSubstr("--no-comm-overlap Sum"));
    EXPECT_THAT(text, ::testing::StartsWith("usage: cnntrain train"));
    for (const char* group : {"Main:", "Model:", "Dataset:", "Training:", "IPU:", "Logging:"}) {
        EXPECT_THAT(text, HasSubstr("\n" + std::string(group) + "\n"));
    }
}

TEST(Table, HelpSaysWhatOptimisersLeaveOut) {
    const std::string images = unwrapped(help_text(Command::train, "cnntrain train"));
    const std::string texts = unwrapped(help_text(Command::pretrain, "cnntrain pretrain"));
    EXPECT_THAT(images, HasSubstr("LAMB"));
    EXPECT_THAT(images, HasSubstr("CIFAR"));
    EXPECT_THAT(texts, HasSubstr("1 for"));
    EXPECT_THAT(texts, HasSubstr("all weights except biases and the betas of norms; adamw also excludes gammas, and so "
                                 "does lamb with --groupbert."));
}

void expect_unique_names(Command command) {
    std::set<std::string> seen;
    for (const Option& option : rows_of(command)) {
        EXPECT_TRUE(seen.insert(std::string(option.flag)).second) << option.flag;
        for (const Alias& alias : option.aliases) {
            EXPECT_TRUE(seen.insert(std::string(alias.flag)).second) << alias.flag;
        }
        if (is_boolean(option)) {
            EXPECT_TRUE(seen.insert(negated(option.flag)).second) << option.flag;
        }
    }
}

TEST(Table, NamesAreUniqueInEachProgram) {
    expect_unique_names(Command::train);
    expect_unique_names(Command::pretrain);
}

class TableOf : public ::testing::TestWithParam<Command> {};
INSTANTIATE_TEST_SUITE_P(Table, TableOf, ::testing::Values(Command::train, Command::pretrain));

TEST_P(TableOf, DefaultsFitTheirType) {
    for (const Option& option : rows_of(GetParam())) {
        SCOPED_TRACE(option.flag);
        EXPECT_FALSE(option.help.empty());
        if (is_unset(option.fallback)) continue;
        if (option.type == Type::texts) {
            EXPECT_TRUE(std::holds_alternative<std::vector<std::string>>(option.fallback));
            continue;
        }
        EXPECT_EQ(convert(option, {to_string(option.fallback)}), option.fallback);
    }
}

/// Nothing is accepted and then forgotten: a row writes a setting, steers IPUs only, says that it changes nothing, or
/// is refused.
TEST(Table, EveryRowHasAnEffectOrIsRefused) {
    for (const Option& option : rows_of(Command::train)) {
        const bool other_model = !option.exists_with.empty();
        const bool other_command = (option.commands & (kT | kV | kR)) == 0;
        const bool handled = option.bind.write != nullptr || option.acts.on_backends == kIpu ||
                             !option.acts.never.empty() || is_action(option) || !option.missing.capability.empty() ||
                             other_model || other_command;
        EXPECT_TRUE(handled) << option.flag;
    }
}

}  // namespace
}  // namespace cnntrain::options::testing
