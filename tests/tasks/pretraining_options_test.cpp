// Options and configurations of pretraining.
#include <fstream>

#include "config/parsing.h"
#include "options/read/read.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "tasks/pretraining/options.h"

namespace cnntrain::options::testing {
namespace {

/// Every flag of the original program.
const std::vector<std::string> kDocumentedFlags = words(
    "--help --task --config --micro-batch-size --global-batch-size --base-learning-rate --num-train-steps "
    "--loss-scaling --loss-scaling-by-step --steps-per-ckpts --optimizer --momentum --beta1 --beta2 "
    "--weight-decay-rate --epsilon --lr-schedule --lr-power --lr-schedule-by-step --warmup --seed "
    "--ipu-replica-identical-seed --wandb --wandb-name --save-path --init-checkpoint --restore-dir "
    "--restore-optimiser-from-checkpoint --save-optimiser-to-checkpoint --epochs --name --max-to-keep --vocab-size "
    "--hidden-size --num-hidden-layers --num-attention-heads --intermediate-size --hidden-act --hidden-dropout-prob "
    "--attention-probs-dropout-prob --max-position-embeddings --type-vocab-size --initializer-range --disable-acc "
    "--use-qkv-bias --use-qkv-split --use-attention-projection-bias --use-cls-layer --use-prediction-bias "
    "--static-mask --max-predictions-per-seq --duplicate-factor --groupbert --groupbert-ffn-output-groups "
    "--groupbert-conv-kernel-size --groupbert-conv-group-size --gradient-accumulation-count --pipeline-schedule "
    "--replicas --precision --device-iterations --available-memory-proportion --variable-offloading "
    "--min-remote-tensor-size --replicated-tensor-sharding --stochastic-rounding --no-outlining "
    "--enable_recomputation --fp-exceptions --partials-type --max-cross-replica-sum-buffer-size "
    "--max-reduce-scatter-buffer-size --scheduler --recomputation-mode --increase-optimiser-precision --use-nvlamb "
    "--use-debiasing --use-mpclip --use-lr-fp32 --reduction-type --weight-norm-clip --compile-only "
    "--matmul-serialize-factor --glue-dropout-prob --pipeline-stages --device-mapping --sync-replicas-independently "
    "--log-all-workers --train-file --seq-length --parallel-io-threads --sloppy-parallel-interleave "
    "--generated-data --synthetic-data --dataset-repeat --execution-profile --memory-profile --profile-dir "
    "--progress-bar --log-dir --name-suffix --steps-per-logs --steps-per-tensorboard");

const std::string kTiny = "--config pretrain_tiny_128_lamb --generated-data ";

ParseResult pretrain(const std::string& line) {
    return parse(line, Command::pretrain);
}

std::string error_of(const std::string& line) {
    return usage_error(line, Command::pretrain);
}

TEST(PretrainingOptions, ARunThatGoesOnMaySayHowItBegan) {
    const run::MainSettings main = pretrain(kTiny + "--restore-dir a --init-checkpoint b").settings.main;
    EXPECT_EQ(main.restore_path, "a");
}

TEST(PretrainingOptions, EveryDocumentedFlagIsThere) {
    const std::string help = help_text(Command::pretrain, "run_pretraining.py");
    EXPECT_THAT(help, HasSubstr("usage: run_pretraining.py"));
    for (const std::string& flag : kDocumentedFlags) {
        std::string hyphens = flag;
        std::replace(hyphens.begin() + 2, hyphens.end(), '_', '-');
        EXPECT_THAT(help, HasSubstr("\n  " + hyphens)) << flag;
    }
}

TEST(PretrainingOptions, NothingIsAcceptedAndForgotten) {
    for (const Option& option : tasks::pretraining_options().rows()) {
        const bool handled = option.bind.write != nullptr || option.acts.on_backends == kIpu ||
                             !option.acts.never.empty() || is_action(option) || !option.missing.capability.empty();
        EXPECT_TRUE(handled) << option.flag;
    }
}

TEST(PretrainingOptions, NoWordsAtAllAskForHelp) {
    EXPECT_TRUE(parse_command_line(Command::pretrain, {}, test_environment()).wants_help);
    EXPECT_TRUE(pretrain(kTiny + "--help").wants_help);
    EXPECT_THAT(error_of("--generated-data"), HasSubstr("--vocab-size"));
}

TEST(PretrainingOptions, TheCommandLineWinsOverTheConfiguration) {
    const Settings settings = pretrain(kTiny +
                                       "--num-train-step 4 --micro-batch-size=3 --base-learning-rate 0.5 "
                                       "--no-enable-recomputation --no-use-qkv-split")
                                  .settings;
    EXPECT_EQ(settings.training.iterations, 4);
    EXPECT_EQ(settings.training.micro_batch_size, 3);
    EXPECT_EQ(tasks::pretraining_settings(settings).learning_rate.base, 0.5);
    EXPECT_EQ(tasks::pretraining_settings(settings).learning_rate.warmup, 10);
    EXPECT_FALSE(settings.training.recomputation);
    EXPECT_FALSE(tasks::pretraining_settings(settings).model.qkv_split);
    EXPECT_TRUE(tasks::pretraining_settings(settings).text.generated);
    EXPECT_THAT(error_of(kTiny + "--steps 1"), HasSubstr("--steps"));
    EXPECT_THAT(error_of(kTiny + "--sequence-length 1"), HasSubstr("--sequence-length"));
    EXPECT_THAT(error_of(kTiny + "--model resnet"), HasSubstr("--model"));
    EXPECT_THAT(usage_error(kCifar + "--hidden-size 8"), HasSubstr("--hidden-size"));
}

TEST(PretrainingOptions, BooleansTakeWords) {
    for (const char* yes : {"true", "T", "1", "yes", "y"})
        EXPECT_TRUE(text(pretrain(kTiny + "--use-cls-layer " + yes)).model.cls_layer) << yes;
    for (const char* no : {"false", "F", "0", "No", "n"})
        EXPECT_FALSE(text(pretrain(kTiny + "--use-cls-layer " + no)).model.cls_layer) << no;
    EXPECT_THAT(error_of(kTiny + "--use-cls-layer maybe"), HasSubstr("'maybe'"));
}

TEST(PretrainingOptions, ItsGeluIsTheOneByTanh) {
    const auto of = [](const std::string& line) { return text(pretrain(kTiny + line)).model.head_activation; };
    EXPECT_EQ(of(""), graph::Activation::gelu_tanh);
    EXPECT_EQ(of("--hidden-act gelu"), graph::Activation::gelu_tanh);
    EXPECT_EQ(of("--hidden-act GELU_ERF"), graph::Activation::gelu);
    EXPECT_EQ(of("--hidden-act relu"), graph::Activation::relu);
    EXPECT_EQ(of("--hidden-act tanh"), graph::Activation::tanh);
    EXPECT_EQ(of("--hidden-act linear"), graph::Activation::none);
    EXPECT_THAT(error_of(kTiny + "--hidden-act gelu_tanh"), HasSubstr("gelu_erf"));
}

TEST(PretrainingOptions, Optimisers) {
    using optim::GradientNorm;
    const auto of = [](const std::string& line) { return pretrain(kTiny + line).settings.optimiser; };
    EXPECT_EQ(of("").rule, graph::UpdateRule::lamb);
    EXPECT_EQ(of("").weight_decay, 0.01);
    EXPECT_THAT(of("").weight_decay_exclude, ElementsAre("bias", "beta"));
    EXPECT_FALSE(of("").adam.corrects_bias);
    EXPECT_EQ(of("").gradient_norm, GradientNorm::ignored);
    EXPECT_TRUE(of("--use-debiasing").adam.corrects_bias);
    EXPECT_EQ(of("--use-nvlamb").gradient_norm, GradientNorm::divides);
    EXPECT_EQ(of("--use-nvlamb --use-mpclip").gradient_norm, GradientNorm::limits_divides);
    const auto adamw = of("--optimizer AdamW --use-debiasing --replicas 3");
    EXPECT_EQ(adamw.rule, graph::UpdateRule::adamw);
    EXPECT_TRUE(adamw.adam.corrects_step);
    EXPECT_FALSE(adamw.adam.corrects_bias);
    EXPECT_EQ(adamw.gradient_norm, GradientNorm::limited);
    EXPECT_EQ(adamw.gradient_norm_limit, 3);
    EXPECT_EQ(of("--optimizer momentum").weight_decay, 0);
    EXPECT_EQ(of("--optimizer momentum").momentum, 0.984375);
    EXPECT_TRUE(of("--reduction-type sum").adds_micro_batches);
    EXPECT_THROW(refuse_unavailable(pretrain(kTiny + "--optimizer custom")), Error);
    EXPECT_NO_THROW(refuse_unavailable(pretrain(kTiny)));
}

TEST(PretrainingOptions, PrecisionKeepsMastersUnlessAskedNotTo) {
    const auto of = [](const std::string& line) { return pretrain(kTiny + line).settings.device.precision; };
    EXPECT_EQ(of(""), nn::Precision::p16_32);
    EXPECT_EQ(of("--precision 32"), nn::Precision::p32_32);
    EXPECT_EQ(of("--precision 16.16"), nn::Precision::p16_16);
    EXPECT_THAT(error_of(kTiny + "--precision 32 --compute-type bf16"), HasSubstr("--precision 32"));
}

TEST(PretrainingOptions, GlobalBatchesAreWholeBlocksOfMicroBatches) {
    // Micro-batches of a block of 2 K are always one block above.
    const std::string base = "--config pretrain_large_128_phase1 --generated-data --gradient-accumulation-count 10 ";
    const auto accumulation = [](const std::string& line) {
        return pretrain(line).settings.training.gradient_accumulation_count;
    };
    EXPECT_EQ(accumulation(base + "--micro-batch-size 8"), 10);
    std::ifstream in(CNNTRAIN_SOURCE_DIR "/configs/bert/pretrain_large_128_phase1.json");
    std::string text((std::istreambuf_iterator<char>(in)), {});
    const std::string count = "\"gradient_accumulation_count\": 2050,";
    text.replace(text.find(count), count.size(), "");
    const test::TemporaryFolder folder;
    const std::string file = folder.write("global_batch.json", text);
    const std::string none = "--config " + file + " --generated-data ";
    EXPECT_EQ(accumulation(none + "--global-batch-size 65600"), 2060);
    EXPECT_EQ(accumulation(none + "--global-batch-size 65536"), 2050);
    EXPECT_EQ(accumulation(none + "--global-batch-size 512 --replicas 1 --micro-batch-size 1"), 520);
    EXPECT_EQ(std::get<std::int64_t>(pretrain(none + "--global-batch-size 65600").at("global_batch_size").value),
              65920);
    EXPECT_THAT(error_of(none + "--global-batch-size 65600 --gradient-accumulation-count 10"), Not(IsEmpty()));
    EXPECT_THAT(error_of(none), HasSubstr("--gradient-accumulation-count"));
    // A line takes back what a configuration says.
    EXPECT_EQ(accumulation("--config pretrain_large_128_phase1 --generated-data --global-batch-size 65600"), 2060);
}

struct Violated {
    const char* options;
    const char* message;
};

TEST(PretrainingOptions, RulesBetweenOptions) {
    for (const Violated& c : {
             Violated{"--gradient-accumulation-count 15", "12 and 18"},
             {"--hidden-size 101", "no multiple"},
             {"--vocab-size 30401 --backend ipu", "--matmul-serialize-factor 5"},
             {"--warmup 1.5", "--warmup"},
             {"--lr-schedule custom", "--lr-schedule-by-step"},
             {"--num-hidden-layers 3", "--num-hidden-layers is 3"},
             {"--device-mapping 0 1", "--device-mapping"},
             {"--device-mapping 0 1 1", "--device-mapping"},
             {"--beta2 1", "--beta2"},
             {"--lr-power 1 2 3", "got 3"},
             {"--seq-length 1024", "--seq-length"},
             {"--max-predictions-per-seq 200", "--seq-length"},
             {"--loss-scaling-by-step {\"5\":1}", "step 0"},
             {"--loss-scaling-by-step {\"a\":1}", "--loss-scaling-by-step"},
             {"--loss-scaling-by-step 512", "JSON"},
             {"--pipeline-stages [[\"emb\",\"pos\"],[\"hid\"],[\"nsp\",\"mlm\"]]", "'mlm'"},
             {"--pipeline-stages [[\"emb\",\"pos\",\"hid\",\"hid\",\"mlm\",\"nsp\"]]", "2 stages"},
             {"--pipeline-stages [[\"emb\",\"pos\"],[\"hidden\"]]", "'hidden'"},
             {"--evaluate --valid-file c --restore-dir a --init-checkpoint b", "--restore-dir"},
             {"--evaluate", "--init-checkpoint"},
             {"--optimizer ladam", "adam"},
         }) {
        EXPECT_THAT(error_of(kTiny + c.options), HasSubstr(c.message)) << c.options;
    }
    EXPECT_THAT(error_of("--config pretrain_tiny_128_lamb --train-file="), Not(IsEmpty()));
}

TEST(PretrainingOptions, EvaluationAsksForWhatItUses) {
    const std::string sizes =
        "--vocab-size 128 --hidden-size 64 --num-attention-heads 1 --num-hidden-layers 1 --intermediate-size 64 ";
    const std::string rest = "--micro-batch-size 2 --init-checkpoint run/ckpt-3 --valid-file a.tfrecord ";
    const Settings settings = pretrain("--evaluate " + sizes + rest).settings;
    EXPECT_EQ(settings.main.restore_path, "run/ckpt-3");
    EXPECT_FALSE(settings.training.init_path.has_value());
    // Nothing of a training is judged, or kept for it.
    const std::string training = "--num-train-steps 7 --warmup 1.5 --beta2 1 --lr-schedule custom ";
    EXPECT_FALSE(pretrain("--evaluate " + sizes + rest + training).settings.training.iterations.has_value());
    EXPECT_THAT(error_of(sizes + rest + training), HasSubstr("--beta1 and --beta2"));

    const std::string missing = error_of("--evaluate --vocab-size 128");
    EXPECT_THAT(missing, HasSubstr("--micro-batch-size"));
    EXPECT_THAT(missing, Not(HasSubstr("--num-train-steps")));
    EXPECT_THAT(error_of("--vocab-size 128"), HasSubstr("--num-train-steps"));
    EXPECT_THAT(error_of("--evaluate --micro-batch-size 2 --valid-file a.tfrecord " + sizes),
                HasSubstr("--init-checkpoint"));
    EXPECT_THAT(error_of("--evaluate --micro-batch-size 2 --init-checkpoint a " + sizes),
                HasSubstr("--evaluate needs --valid-file"));
    EXPECT_THAT(error_of("--evaluate --seq-length 1024 " + sizes + rest), HasSubstr("positions"));
}

TEST(PretrainingOptions, DevicesAreNumbers) {
    const std::string line =
        "--generated-data --vocab-size 128 --hidden-size 64 --num-attention-heads 1 --num-hidden-layers 1 "
        "--intermediate-size 64 --micro-batch-size 2 --num-train-steps 2 --gradient-accumulation-count 1 ";
    EXPECT_EQ(error_of(line), "");
    for (const char* wrong : {"foo", "99999999999999999999", "1x", "0 1 2"})
        EXPECT_THAT(error_of(line + "--select-ipu " + wrong), HasSubstr("--select-ipu")) << wrong;
}

TEST(PretrainingOptions, StagesBecomeSplits) {
    const Settings settings = pretrain("--config pretrain_large_128_phase1 --generated-data").settings;
    EXPECT_TRUE(settings.training.pipeline);
    EXPECT_THAT(settings.training.pipeline_splits, ElementsAre("hid3", "hid10", "hid17", "mlm0"));
    EXPECT_EQ(tasks::pretraining_settings(settings).model.stages.size(), 5U);
    EXPECT_THAT(settings.training.device_mapping, ElementsAre(0, 1, 2, 3, 0));
    EXPECT_EQ(settings.training.pipeline_schedule, schedule::PipelineSchedule::grouped);
}

TEST(PretrainingOptions, ValuesByStep) {
    const Settings settings = pretrain(kTiny +
                                       "--lr-schedule custom --lr-schedule-by-step {\"0\":0.5,\"10\":0.25} "
                                       "--loss-scaling-by-step {\"0\":1,\"5\":512}")
                                  .settings;
    EXPECT_EQ(tasks::pretraining_settings(settings).learning_rate.schedule, optim::StepSchedule::custom);
    EXPECT_EQ(tasks::pretraining_settings(settings).learning_rate.values,
              (std::map<std::int64_t, double>{{0, 0.5}, {10, 0.25}}));
    EXPECT_EQ(settings.optimiser.loss_scaling_by_step, (std::map<std::int64_t, double>{{0, 1}, {5, 512}}));
}

TEST(PretrainingOptions, ALossScalingByStepActs) {
    const ParseResult result = pretrain(kTiny + "--loss-scaling-by-step {\"0\":1,\"5\":512}");
    EXPECT_THAT(result.notices, Not(Contains(HasSubstr("--loss-scaling-by-step"))));
    EXPECT_NE(numerics_fingerprint(result), numerics_fingerprint(pretrain(kTiny)));
}

TEST(PretrainingOptions, ArgumentsJsonKeepsNestedLists) {
    const std::string text = arguments_json(pretrain("--config pretrain_base_128_phase1 --generated-data"), {});
    EXPECT_THAT(text, HasSubstr("\"optimizer\": \"lamb\""));
    EXPECT_THAT(text, HasSubstr("\"pipeline_stages\": [\n        [\n            \"emb\","));
    EXPECT_THAT(text, Not(HasSubstr("image")));
    const Layer layer = layer_from_json(tasks::pretraining_options(), text);
    EXPECT_EQ(layer.at(&tasks::pretraining_options().at("pipeline_stages")),
              pretrain("--config pretrain_base_128_phase1 --generated-data").at("pipeline_stages").value);
}

TEST(PretrainingOptions, StepsAreWholeHostCalls) {
    EXPECT_EQ(pretrain(kTiny + "--num-train-steps 11 --batches-per-step 4").settings.training.iterations, 8);
}

TEST(PretrainingOptions, PoprunDecidesTheReplicas) {
    Environment environment = test_environment();
    environment.launch = {.processes = 4, .index = 1, .replicas = 2};
    const ParseResult result =
        parse_command_line(Command::pretrain, words("--config pretrain_base_128_phase1 --generated-data"), environment);
    EXPECT_EQ(result.settings.training.replicas, 2);
    EXPECT_EQ(result.settings.training.processes, 4);
}

// ---- configurations ----

struct Derived {
    const char* name;
    std::int64_t stages;
    std::int64_t replicas;
    std::int64_t global_batch;
    std::int64_t steps;
};

constexpr Derived kDerived[] = {
    {"base_128_phase1", 5, 4, 65280, 7032},
    {"base_384_phase2", 5, 4, 16320, 2142},
    {"large_128_phase1", 5, 4, 65600, 7032},
    {"large_128_phase1_POD32", 5, 8, 66560, 7032},
    {"large_128_phase1_POD64", 5, 16, 66560, 7032},
    {"large_128_phase1_POD128", 5, 32, 66560, 7032},
    {"large_384_phase2", 5, 4, 16400, 2099},
    {"large_384_phase2_POD32", 5, 8, 16640, 2099},
    {"large_384_phase2_POD64", 5, 16, 16640, 2099},
    {"large_384_phase2_POD128", 5, 32, 16640, 2099},
    {"tiny_128_lamb", 3, 1, 12, 1000},
};

constexpr Derived kOfGroupBert[] = {
    {"base_groupbert_128", 5, 4, 65520, 7032},
    {"base_groupbert_128_POD64", 5, 16, 64800, 7111},
    {"base_groupbert_128_adam", 5, 2, 480, 833334},
    {"base_groupbert_384", 5, 4, 32800, 1355},
    {"base_groupbert_384_POD64", 5, 16, 32640, 1362},
    {"base_groupbert_384_adam", 5, 2, 480, 207506},
    {"large_groupbert_128_adam", 5, 2, 960, 416667},
    {"medium_groupbert_128_adam", 5, 2, 960, 416667},
    {"medium_groupbert_384_adam", 5, 2, 960, 103753},
    {"mini_groupbert_128_adam", 4, 1, 520, 1000},
    {"tiny_groupbert_128", 3, 1, 516, 7032},
    {"large_groupbert_128_adam_8IPU", 9, 1, 1008, 446429},
    {"large_groupbert_384_adam_8IPU", 9, 1, 1008, 446429},
};

constexpr std::size_t kOfFineTuning = 9;

TEST(PretrainingConfigs, HaveTheDocumentedSizes) {
    EXPECT_EQ(tasks::bert_config_names(test_environment().config_folders).size(),
              std::size(kDerived) + std::size(kOfGroupBert) + kOfFineTuning);
    for (const Derived& expected : kDerived) {
        SCOPED_TRACE(expected.name);
        const ParseResult result = pretrain("--config configs/pretrain_" + std::string(expected.name) + ".json");
        EXPECT_NO_THROW(refuse_unavailable(result));
        const Settings& settings = result.settings;
        const schedule::BatchPlan plan = schedule::batch_plan(settings.training);
        EXPECT_EQ(plan.stages, expected.stages);
        EXPECT_EQ(plan.replicas, expected.replicas);
        EXPECT_EQ(plan.global_batch(), expected.global_batch);
        EXPECT_EQ(settings.training.iterations, expected.steps);
        EXPECT_TRUE(tasks::pretraining_settings(settings).text.static_mask);
        EXPECT_EQ(tasks::pretraining_settings(settings).text.vocabulary_size, 30522);
        EXPECT_EQ(tasks::pretraining_settings(settings).model.vocabulary, 30400);
        EXPECT_EQ(tasks::pretraining_settings(settings).model.hidden,
                  64 * tasks::pretraining_settings(settings).model.heads);
    }
}

TEST(PretrainingConfigs, TakeEveryWordOfTheVocabulary) {
    for (const Derived& shipped : kDerived) {
        const ParseResult result =
            pretrain("--config configs/pretrain_" + std::string(shipped.name) + ".json --vocab-size 30522");
        EXPECT_EQ(tasks::pretraining_settings(result.settings).model.vocabulary, 30522) << shipped.name;
    }
}

TEST(PretrainingConfigs, RecomputationThatAConfigurationAsksForIsToldOf) {
    std::ifstream in(CNNTRAIN_SOURCE_DIR "/configs/bert/pretrain_tiny_128_lamb.json");
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string key = "\"enable_recomputation\": ";
    text.replace(text.find(key), key.size() + std::string("false").size(), key + "true");
    const test::TemporaryFolder folder;
    const std::string file = folder.write("recomputing.json", text);
    const std::string notice = "--no-enable-recomputation gives the same results";
    const ParseResult result = pretrain("--generated-data --config " + file);
    EXPECT_TRUE(result.settings.training.recomputation);
    EXPECT_THAT(result.notices, Contains(HasSubstr(notice)));
    EXPECT_FALSE(pretrain(kTiny).settings.training.recomputation);
    EXPECT_THAT(pretrain(kTiny + "--enable-recomputation").notices, Not(Contains(HasSubstr(notice))));
}

TEST(PretrainingConfigs, OldNamesAndSlipsOfQuotationMarksAreUnderstood) {
    const ParseResult old = pretrain("--config configs/pretrain_base_384.json --generated-data");
    EXPECT_EQ(text(old).text.sequence_length, 384);
    const ParseResult slip = pretrain(
        "--config configs/pretrain_base_128.json,/data/tf_wikipedia/tokenised_128_dup5/00.tfrecord "
        "--train-file /data/tf_wikipedia/tokenised_128_dup5/00.tfrecord --num-train-steps 4");
    EXPECT_EQ(text(slip).text.files, "/data/tf_wikipedia/tokenised_128_dup5/00.tfrecord");
    EXPECT_EQ(text(slip).text.sequence_length, 128);
    EXPECT_THAT(slip.notices.at(0), HasSubstr("ignored"));
    EXPECT_EQ(slip.settings.main.config, "configs/pretrain_base_128.json");
    const ParseResult quoted =
        pretrain("--config configs/pretrain_base_128.json\",\"/data/00.tfrecord --generated-data");
    EXPECT_EQ(text(quoted).model.layers, 12);
}

/// The published lines have all of these.
TEST(PretrainingFiles, MayNameVariablesAndMayBeSeveral) {
    Environment environment = test_environment();
    environment.variables = {{"DATASETS_DIR", "/data"}};
    const auto parsed = [&](const std::string& line) {
        return parse_command_line(Command::pretrain, words("--config pretrain_base_128_phase1 " + line), environment);
    };
    const auto files = [&](const std::string& line) { return text(parsed(line)).text.files; };
    EXPECT_EQ(files("--train-file $DATASETS_DIR/text/*.tfrecord"), "/data/text/*.tfrecord");
    EXPECT_EQ(files("--train-file ${DATASETS_DIR}/a,$DATASETS_DIR/b"), "/data/a,/data/b");
    EXPECT_EQ(files("--train-file a b c --seed 1"), "a,b,c");
    EXPECT_EQ(files("--train-file=a,b"), "a,b");
    const ParseResult slip = parsed("--train-file x,DATASETS_DIR/text/00.tfrecord");
    EXPECT_EQ(text(slip).text.files, "x,/data/text/00.tfrecord");
    EXPECT_THAT(slip.notices.at(0), HasSubstr("/data/text/00.tfrecord"));
    EXPECT_EQ(parsed("--train-file a --init-checkpoint $DATASETS_DIR/ckpt-1").settings.training.init_path,
              "/data/ckpt-1");
    const test::TemporaryFolder folder;
    const std::string own = folder.write("files.json", R"({"train_file": "$NO_SUCH/*"})");
    const auto with_own = [&](const std::string& line) {
        return error_of("--config " + own + " --vocab-size 50 --hidden-size 64 --num-attention-heads 1 " + line);
    };
    EXPECT_THAT(with_own(""), HasSubstr("--train-file"));
    EXPECT_THAT(with_own("--train-file a"), Not(HasSubstr("NO_SUCH")));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { files("--train-file '$NO_SUCH/*'"); }), HasSubstr("NO_SUCH"));
}

TEST(PretrainingConfigs, WrongNamesAndKeysAreAnsweredWithTheNearest) {
    EXPECT_THAT(error_of("--config pretrain_base_128_phase"), HasSubstr("'pretrain_base_128_phase1'"));
    EXPECT_THAT(error_of("--config configs/groupbert/squad/squad_base.json"), HasSubstr("SQuAD"));
    const test::TemporaryFolder folder;
    const auto with_text = [&](const std::string& text) {
        return error_of("--config " + folder.write("own.json", text));
    };
    EXPECT_THAT(with_text("{\"hiden_size\": 128}"), HasSubstr("'hidden_size'"));
    EXPECT_THAT(with_text("{\"hidden_size\": \"wide\"}"), HasSubstr("--hidden-size"));
    EXPECT_THAT(with_text("[1]"), HasSubstr("JSON"));
    EXPECT_THAT(with_text("{\"hidden_size\": }"), HasSubstr("own.json"));
    EXPECT_THAT(with_text("{\"image_size\": 224}"), HasSubstr("'image_size'"));
}

TEST(PretrainingConfigs, ThoseOfGroupBertResolve) {
    for (const Derived& expected : kOfGroupBert) {
        SCOPED_TRACE(expected.name);
        const ParseResult result =
            pretrain("--config configs/groupbert/pretrain_" + std::string(expected.name) + ".json --generated-data");
        EXPECT_NO_THROW(refuse_unavailable(result));
        const Settings& settings = result.settings;
        const schedule::BatchPlan plan = schedule::batch_plan(settings.training);
        EXPECT_EQ(plan.stages, expected.stages);
        EXPECT_EQ(plan.replicas, expected.replicas);
        EXPECT_EQ(plan.global_batch(), expected.global_batch);
        EXPECT_EQ(settings.training.iterations, expected.steps);
        EXPECT_TRUE(tasks::bert_settings(settings).model.groupbert);
        EXPECT_EQ(std::ranges::count(settings.optimiser.weight_decay_exclude, "gamma"),
                  settings.optimiser.rule == graph::UpdateRule::lamb ? 1 : 0);
        EXPECT_THAT(result.notices, Contains(HasSubstr("GroupBERT model architecture")));
    }
}

TEST(PretrainingConfigs, NullAndEmptyTextsAreNotGiven) {
    const ParseResult result = pretrain(kTiny);
    EXPECT_FALSE(result.settings.training.init_path.has_value());
    EXPECT_FALSE(result.settings.main.restore_path.has_value());
    EXPECT_EQ(result.settings.device.seed, 1234);
}

}  // namespace
}  // namespace cnntrain::options::testing
