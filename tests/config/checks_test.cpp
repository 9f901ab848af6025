#include "config/parsing.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::options::testing {
namespace {

struct Case {
    std::string line;
    std::string message;
    Command command = Command::train;
};

class Rules : public ::testing::TestWithParam<Case> {};

TEST_P(Rules, ViolationIsReported) {
    EXPECT_THAT(usage_error(GetParam().line, GetParam().command), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, Rules,
    ::testing::Values(
        Case{kCifar + "--batch-size 4 --micro-batch-size 4", "two names of one value"},
        Case{kCifar + "--batch-norm --group-norm", "--batch-norm and --group-norm are both given"},
        Case{kCifar + "--batch-norm --group-norm", "--batch-norm and --group-norm", Command::validation},
        Case{kCifar + "--epochs 3 --iterations 3", "--epochs and --iterations are both given"},
        Case{kCifar + "--epochs 0", "--epochs 0: a run has one weight update at least"},
        Case{kCifar + "--iterations 0", "--iterations 0: a run has one weight update at least"},
        Case{kCifar + "--iterations 0 --epochs 0", "--epochs 0: a run"},
        Case{kCifar + "--momentum 0.9", "--momentum 0.9 changes nothing: it needs --optimiser momentum, nesterov"},
        Case{kCifar + "--momentum 0.5 --optimiser AdamW", "--momentum 0.5 changes nothing: it needs --optimiser"},
        Case{kCifar + "--synthetic-data", "--generated-data and --synthetic-data are both given"},
        Case{kCifar + "--available-memory-proportion 0.1 0.2", "only with --pipeline"},
        Case{kCifar + "--pipeline --shards 2 --pipeline-splits a --available-memory-proportion 0.1 0.2 0.3",
             "4 for --shards 2, got 3"},
        Case{kCifar + "--shards 2", "--shards above 1 needs --pipeline"},
        Case{kCifar + "--recompute-norms --enable-recomputation",
             "--recompute-norms does not work with --enable-recomputation"},
        Case{kCifar + "--recompute-norms --pipeline --shards 2 --pipeline-splits stage2/unit1",
             "--recompute-norms does not work with --pipeline"},
        Case{kCifar + "--pipeline-splits a b", "several --pipeline-splits need --pipeline"},
        Case{kCifar + "--BN-span 2",
             "--BN-span 2 must divide --replicas 1, or needs 2 processes (mpirun -np); the nearest that does: 1"},
        Case{kCifar + "--BN-span 4 --replicas 6",
             "--BN-span 4 must divide --replicas 6; the nearest that does: 3 or 6"},
        Case{kCifar + "--epochs-per-ckpt 2 --ckpts-per-epoch 2", "--epochs-per-ckpt and --ckpts-per-epoch"},
        Case{kCifar + "--epochs-per-sync 2 --syncs-per-epoch 2", "--epochs-per-sync and --syncs-per-epoch"},
        Case{kCifar + "--syncs-per-epoch 2", "under poprun"},
        Case{kCifar + "--image-size 33", "image size 33 with cifar-10: its images have 32 x 32 pixels"},
        Case{kCifar + "--image-size 33", "image size 33 with cifar-10", Command::validation},
        Case{"--model efficientnet " + kCifar, "use --model-size cifar"},
        Case{kCifar + "--optimiser LARS --offload-fp32-weight-copy", "LARS does not work with"},
        Case{kCifar + "--offload-fp32-weight-copy --gradient-accumulation-count 2", "needs --pipeline"},
        Case{"--dataset cifar-10", "no data folder"},
        Case{"--dataset imagenet --data-dir x --mixup-alpha 0.1 --micro-batch-size 1", "need --micro-batch-size above"},
        Case{"--dataset imagenet --data-dir x --cutmix-lambda 1.5", "--cutmix-lambda must lie between 0 and 1"},
        Case{"--dataset imagenet --data-dir x --normalise-mean 0.5,0.5,0.5", "belong together; give both"},
        Case{"--dataset imagenet --data-dir x --normalise-mean 0.5 0.5 --normalise-std 1,1,1",
             "one number each for R, G and B, got 2 and 3"},
        Case{"--dataset imagenet --data-dir x --normalise-std 1,1,1", "belong together", Command::inference},
        Case{"--dataset imagenet --data-dir x --crop-area 0.5", "two shares MIN,MAX"},
        Case{"--dataset imagenet --data-dir x --crop-area 0.5,0.4", "two shares MIN,MAX"},
        Case{"--dataset imagenet --data-dir x --crop-area 0,1", "two shares MIN,MAX"},
        Case{kCifar + "--rand-augment 2", "two whole numbers"},
        Case{kCifar + "--rand-augment 2,31", "a magnitude from 0 to 30"},
        Case{kCifar + "--rand-augment 1.5,9", "two whole numbers"},
        Case{kCifar + "--colour-jitter 0.4,0.4,0.4", "four numbers"},
        Case{kCifar + "--color-jitter 0.4,0.4,0.4,0.6", "hue from 0 to 0.5"},
        Case{kCifar + "--train-with-valid-preprocessing --rand-augment 2,9",
             "--train-with-valid-preprocessing and --rand-augment are both given"},
        Case{kCifar + "--train-with-valid-preprocessing --random-erasing 0.1", "and --random-erasing are both given"},
        Case{kCifar + "--class-weights balance", "expected balanced, numbers separated by commas, or a file"},
        Case{kCifar + "--class-weights balanced --micro-batch-size 1", "needs --micro-batch-size above 1"},
        Case{kCifar + "--optimiser LARS --momentum -0.5", "must not be negative"},
        Case{kCifar + "--profile --profile-compilation", "--profile and --profile-compilation"},
        Case{kCifar + "--select-ipu 1 2 3", "AUTO or the number of a device, or two of these"},
        Case{kCifar + "--select-ipu first", "--select-ipu takes AUTO or the number of a device"},
        Case{kImageNet + "--optimiser RMSprop --abs-learning-rate 1", "needs --rmsprop-decay"},
        Case{kCifar + "--optimiser RMSprop --rmsprop-base-decay-exp -4", "give RMSprop the decay -1"},
        Case{kCifar + "--optimiser AdamW --beta2 1", "--beta1 and --beta2 must be below 1"},
        Case{kCifar + "--optimiser LAMB", "no default learning rate for LAMB"},
        Case{kCifar + "--weight-avg-N 2 --keep-ckpts 1", "leave --keep-ckpts out"},
        Case{kCifar + "--weight-avg-exp 0.9 --ckpts-per-epoch 0", "average checkpoints"},
        Case{kCifar + "--lr-schedule exponential", "no default for the exponential schedule"},
        Case{kCifar + "--overwrite --logs-path x --restore-path x", "--overwrite and --restore-path are both given"},
        Case{kCifar + "--overwrite", "--overwrite needs --logs-path"},
        Case{kCifar + "--overwrite --logs-path x --no-logs", "--overwrite needs --logs-path"},
        Case{kCifar + "--name-suffix ../../x", "--name-suffix '../../x' has a slash"},
        Case{kCifar + "--name-suffix /x", "has a slash", Command::validation},
        Case{"", "restore needs --restore-path", Command::restore}));

TEST(RulesTogether, AllViolationsComeInOneMessage) {
    const std::string message = usage_error("--dataset cifar-10 --batch-norm --group-norm --image-size 33 --shards 2");
    EXPECT_THAT(message, HasSubstr("--batch-norm and --group-norm"));
    EXPECT_THAT(message, HasSubstr("33"));
    EXPECT_THAT(message, HasSubstr("--shards above 1"));
    EXPECT_THAT(message, HasSubstr("folder"));
}

TEST(RulesTogether, LegalNeighboursPass) {
    for (const char* line :
         {"--batch-norm", "--group-norm", "--iterations 3", "--epochs-per-ckpt 2", "--image-size 32",
          "--pipeline --pipeline-splits a b c", "--BN-span 3 --replicas 6", "--BN-span 2 --group-norm",
          "--available-memory-proportion 0.6", "--pipeline-splits a",
          "--pipeline --shards 2 --pipeline-splits a --available-memory-proportion 0.1 0.2 0.3 0.4",
          "--lr-schedule exponential --lr-decay-rate 0.9 --lr-drops 10", "--batch-norm --no-batch-norm --group-norm"}) {
        EXPECT_EQ(usage_error(kCifar + line), "") << line;
    }
}

TEST(Unavailable, IsNamedAndRefusedApartFromParsing) {
    const std::vector<std::pair<std::string, std::string>> lines = {
        {"--distributed --replicas 2", "--distributed"},
        {"--distributed", "--distributed"},
    };
    for (const auto& [line, expected] : lines) {
        SCOPED_TRACE(line);
        const ParseResult result = parse(kCifar + line);
        EXPECT_THAT(unavailable_options(result), ::testing::Contains(HasSubstr(expected)));
        EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { refuse_unavailable(result); }), Not(IsEmpty()));
    }
}

TEST(Pipeline, IsThereWithEveryScheduleOnOneDeviceAndMore) {
    using schedule::PipelineSchedule;
    for (const auto schedule :
         {PipelineSchedule::grouped, PipelineSchedule::interleaved, PipelineSchedule::sequential}) {
        const std::string written(spelling(schedule));
        for (const std::int64_t shards : {1, 4}) {
            const ParseResult run = parse(kCifar + "--pipeline --shards " + std::to_string(shards) +
                                          " --pipeline-splits a b c --pipeline-schedule " + written);
            EXPECT_THAT(unavailable_options(run), IsEmpty()) << written;
            EXPECT_THAT(run.notices, IsEmpty()) << written;
            EXPECT_EQ(run.settings.training.pipeline_schedule, schedule);
            EXPECT_EQ(run.settings.training.shards, shards);
            EXPECT_EQ(run.settings.training.pipeline_splits.size(), 3U);
        }
    }
    EXPECT_EQ(parse(kCifar + "--pipeline --pipeline-splits a").settings.training.pipeline_schedule,
              PipelineSchedule::grouped);
    EXPECT_THAT(parse(kCifar + "--pipeline-schedule Interleaved").notices,
                ElementsAre("--pipeline-schedule changes nothing: it needs --pipeline"));
}

TEST(Pipeline, ItsScheduleAndLanesAreNoNumerics) {
    const std::string stages = kCifar + "--pipeline --pipeline-splits a ";
    EXPECT_EQ(numerics_fingerprint(parse(stages + "--pipeline-schedule Sequential --lanes 1 --shards 2")),
              numerics_fingerprint(parse(kCifar)));
    EXPECT_NE(numerics_fingerprint(parse(kCifar + "--replicas 2")), numerics_fingerprint(parse(kCifar)));
}

TEST(NormSpan, IsOfReplicasWithBatchNorm) {
    EXPECT_EQ(parse(kCifar + "--replicas 4 --BN-span 2").settings.training.norm_span, 2);
    const ParseResult grouped = parse(kCifar + "--replicas 4 --BN-span 2 --group-norm");
    EXPECT_EQ(grouped.settings.training.norm_span, 1);
    EXPECT_THAT(grouped.notices, ElementsAre("--BN-span changes nothing: it needs --batch-norm"));
    // A configuration's gives way to other replicas that it does not divide.
    const ParseResult alone = parse("--config resnet50_mlperf_pod16 --replicas 1");
    EXPECT_EQ(alone.settings.training.norm_span, 1);
    EXPECT_THAT(alone.notices, ::testing::Contains("--BN-span 2 is left out because of --replicas 1"));
    EXPECT_EQ(parse("--config resnet50_mlperf_pod16 --replicas 4").settings.training.norm_span, 2);
    EXPECT_EQ(parse("--config resnet50_mlperf_pod16", Command::validation).settings.training.norm_span, 1);
}

TEST(Replicas, TellWhatOnlyIpusSplit) {
    const ParseResult run = parse(kCifar +
                                  "--replicas 2 --rts --max-cross-replica-buffer-size 5 "
                                  "--identical-replica-seeding --min-remote-tensor-size 5");
    EXPECT_THAT(run.notices,
                ElementsAre(HasSubstr("--max-cross-replica-buffer-size"),
                            AllOf(HasSubstr("--identical-replica-seeding"), HasSubstr("--min-remote-tensor-size"))));
}

TEST(Pipeline, LetsFp32CopiesAccumulate) {
    const std::string copies = kCifar + "--offload-fp32-weight-copy --gradient-accumulation-count 2 ";
    EXPECT_THAT(usage_error(copies), HasSubstr("needs --pipeline"));
    EXPECT_EQ(usage_error(copies + "--pipeline --pipeline-splits a"), "");
}

TEST(NoPipeline, LeavesOutTheStagesOfAConfigurationOnly) {
    const ParseResult run = parse("--config efficientnet_b4_g1_16ipus --no-pipeline --replicas 1 --generated-data");
    EXPECT_EQ(run.settings.training.shards, 1);
    EXPECT_THAT(run.settings.training.pipeline_splits, IsEmpty());
    EXPECT_THAT(run.notices, ::testing::Contains(HasSubstr("--shards 4")));
    EXPECT_THAT(usage_error(kCifar + "--no-pipeline --shards 2"), HasSubstr("--shards above 1 needs --pipeline"));
    EXPECT_EQ(parse(kCifar + "--no-pipeline --pipeline-splits a").settings.training.pipeline_splits.size(), 1U);
}

TEST(Unavailable, DefaultValuesAndValidationOfAConfigAreNotRefused) {
    EXPECT_THAT(unavailable_options(parse(kCifar + "--replicas 1 --mixup-alpha 0 --no-wandb --shards 1")), IsEmpty());
    EXPECT_THAT(unavailable_options(parse("--config resnet50_bn_16ipus", Command::validation)), IsEmpty());
    EXPECT_THAT(unavailable_options(parse("--config resnext101_16ipus", Command::validation)), IsEmpty());
    EXPECT_THAT(unavailable_options(parse(kCifar + "--profile")), IsEmpty());
    EXPECT_THAT(unavailable_options(parse(kCifar + "--model efficientnet --model-size cifar --proxy-norm")), IsEmpty());
    EXPECT_NO_THROW(refuse_unavailable(parse(kCifar)));
}

}  // namespace
}  // namespace cnntrain::options::testing
