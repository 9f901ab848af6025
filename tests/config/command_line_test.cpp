#include "config/parsing.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::options::testing {
namespace {

TEST(CommandLine, TakesValuesAfterSpaceAndEquals) {
    const auto settings = parse(kCifar + "--micro-batch-size 16 --gradient-accumulation-count=4").settings;
    EXPECT_EQ(settings.training.micro_batch_size, 16);
    EXPECT_EQ(settings.training.gradient_accumulation_count, 4);
}

TEST(CommandLine, LastOfRepeatedFlagsWins) {
    EXPECT_EQ(parse(kCifar + "--epochs 3 --epochs 7").settings.training.epochs, 7.0);
}

TEST(CommandLine, ListsReachUpToTheNextFlag) {
    const auto settings = parse(kCifar + "--variable-filter conv fc1 --epochs 3").settings;
    EXPECT_THAT(settings.optimiser.variable_filter, ElementsAre("conv", "fc1"));
    EXPECT_EQ(settings.training.epochs, 3.0);
    const ParseResult apart = parse_command_line(
        Command::train, {"--dataset", "cifar-10", "--generated-data", "--learning-rate-schedule", "0.5, 0.75"},
        test_environment());
    EXPECT_EQ(image(apart).learning_rate.stepped_fractions, (std::vector<double>{0.5, 0.75}));
    EXPECT_THAT(image(parse(kCifar + "--learning-rate-schedule 0.5,0.75,0.875")).learning_rate.stepped_fractions,
                ElementsAre(0.5, 0.75, 0.875));
}

TEST(CommandLine, NegativeNumbersAreValues) {
    EXPECT_EQ(image(parse(kCifar + "--base-learning-rate-exponent -11")).learning_rate.base_exponent, -11.0);
    EXPECT_EQ(image(parse(kCifar + "--base-learning-rate-exponent -9.5")).learning_rate.base_exponent, -9.5);
    EXPECT_EQ(image(parse(kCifar + "--base-learning-rate-exponent=-1e-3")).learning_rate.base_exponent, -1e-3);
    EXPECT_EQ(image(parse(kCifar + "--base-learning-rate-exponent -.5")).learning_rate.base_exponent, -0.5);
}

TEST(CommandLine, UnambiguousPrefixesAreEnough) {
    EXPECT_TRUE(image(parse(kImageNet + "--eight-bit")).data.eight_bit_io);
    EXPECT_EQ(image(parse(kCifar + "--warm 2")).learning_rate.warmup_epochs, 2.0);
    EXPECT_FALSE(parse(kCifar + "--no-val").settings.validation.enabled);
    EXPECT_EQ(image(parse(kCifar + "--lr-s cosine")).learning_rate.schedule, optim::LrSchedule::cosine);
    EXPECT_EQ(parse(kCifar + "--sto OFF").settings.device.stochastic_rounding, backend::StochasticRounding::off);
    EXPECT_THAT(parse(kCifar + "--va conv").settings.optimiser.variable_filter, ElementsAre("conv"));
}

TEST(CommandLine, AmbiguousPrefixIsNamed) {
    const std::string message = usage_error(kCifar + "--ba 3");
    EXPECT_THAT(message, HasSubstr("--ba"));
    EXPECT_THAT(message, HasSubstr("--batch-norm"));
    EXPECT_THAT(message, HasSubstr("--base-learning-rate-exponent"));
}

TEST(CommandLine, ExactNameBeatsLongerOnes) {
    EXPECT_EQ(parse(kCifar + "--epochs 2").settings.training.epochs, 2.0);
    EXPECT_EQ(image(parse("--model resnet --model-size 14 " + kCifar)).model.size, "14");
}

TEST(CommandLine, BooleansHaveNoForms) {
    EXPECT_FALSE(image(parse(kImageNet + "--eight-bit-io --no-eight-bit-io")).data.eight_bit_io);
    EXPECT_TRUE(parse(kCifar + "--no-validation --validation").settings.validation.enabled);
    EXPECT_FALSE(parse(kCifar + "--no-stop-on-nan").settings.run.stop_on_nan);
    EXPECT_TRUE(parse(kCifar).settings.run.stop_on_nan);
}

TEST(CommandLine, BooleansWithAValueUnderstandFalse) {
    const auto value = [](const std::string& line) { return parse(kCifar + line).at("ckpt_all_instances").value; };
    EXPECT_EQ(value("--ckpt-all-instances true"), Value(true));
    EXPECT_EQ(value("--ckpt-all-instances false"), Value(false));
    EXPECT_EQ(value("--ckpt-all-instances"), Value(true));
    EXPECT_THAT(usage_error(kCifar + "--ckpt-all-instances maybe"), HasSubstr("'maybe'"));
}

TEST(CommandLine, OldNamesResolve) {
    EXPECT_EQ(parse(kCifar + "--batch-size 8").settings.training.micro_batch_size, 8);
    EXPECT_EQ(image(parse(kCifar + "--base-learning-rate -4")).learning_rate.base_exponent, -4.0);
    EXPECT_EQ(parse(kCifar + "--epoch 2").settings.training.epochs, 2.0);
    EXPECT_EQ(parse(kCifar + "--epoch 2 --epochs 1").settings.training.epochs, 1.0);
    EXPECT_EQ(parse(kCifar + "--batches-per-step 7").settings.training.device_iterations, 7);
    EXPECT_EQ(parse(kCifar + "--gradients-to-accumulate 7").settings.training.gradient_accumulation_count, 7);
    EXPECT_EQ(parse(kCifar + "--pipeline-depth 7").settings.training.gradient_accumulation_count, 7);
    EXPECT_EQ(parse(kCifar + "--no-stochastic-rounding").settings.device.stochastic_rounding,
              backend::StochasticRounding::off);
    EXPECT_FALSE(image(parse(kCifar + "--no-hostside-norm")).data.hostside_norm);
    EXPECT_EQ(parse(kCifar + "--enable-recompute").at("enable_recomputation").value, Value(true));
    EXPECT_EQ(parse(kCifar + "--xla-recompute").at("enable_recomputation").value, Value(true));
    EXPECT_EQ(to_string(parse(kCifar + "--select-ipus 3 4").at("select_ipu").value), "3 4");
    EXPECT_EQ(to_string(parse(kCifar + "--sharding-exclude-filter 0/p").at("sharding_exclude_filter").value), "0/p");
    EXPECT_EQ(to_string(parse(kCifar + "--sharding-include-filter a").at("sharding_include_filter").value), "a");
    EXPECT_EQ(parse(kCifar + "--optimiser RMSProp --rmsprop-decay 0.9").settings.optimiser.rule,
              graph::UpdateRule::rmsprop);
    EXPECT_EQ(parse(kCifar + "--global-batch-size 640", Command::validation).settings.main.total_batch_size, 640);
}

TEST(CommandLine, OldSplitNamesResolve) {
    const auto result = parse(kImageNet + "--pipeline --shards 4 --pipeline-split b1/2/relu b2/3/relu b0 --batch-norm");
    EXPECT_EQ(to_string(result.at("pipeline_splits").value), "stage1/unit3/relu stage2/unit4/relu stage0");
    EXPECT_EQ(to_string(parse(kImageNet + "--pipeline --pipeline-splits b2/0").at("pipeline_splits").value),
              "stage2/unit1");
    EXPECT_EQ(to_string(parse(kImageNet + "--pipeline --pipeline-splits block2a").at("pipeline_splits").value),
              "block2a");
}

TEST(CommandLine, UnknownFlagGetsTheNearestName) {
    EXPECT_THAT(usage_error(kCifar + "--micro-bach-size 3"), HasSubstr("--micro-batch-size"));
    EXPECT_THAT(usage_error(kCifar + "--optimisr SGD"), HasSubstr("--optimiser"));
    EXPECT_THAT(usage_error(kCifar + "--use-bypass"), HasSubstr("SqueezeNet"));
    EXPECT_THAT(usage_error(kCifar + "--gc-profile"), HasSubstr("use --profile"));
}

TEST(CommandLine, FlagsOfOtherSchedulesModelsAndCommandsAreRefused) {
    EXPECT_THAT(usage_error(kCifar + "--lr-schedule cosine --learning-rate-decay 0.1"), HasSubstr("--lr-schedule"));
    EXPECT_THAT(usage_error(kCifar + "--expand-ratio 4"), HasSubstr("--model"));
    EXPECT_THAT(usage_error(kCifar + "--lr-schedule cosine", Command::validation), HasSubstr("validation"));
    EXPECT_THAT(usage_error(kCifar + "--repeat 3"), HasSubstr("option"));
    EXPECT_THAT(usage_error("--restore-path a --optimiser LARS", Command::restore), HasSubstr("restore"));
}

TEST(CommandLine, WrongValuesSayWhatIsExpected) {
    EXPECT_THAT(usage_error(kCifar + "--micro-batch-size 3.5"), HasSubstr("--micro-batch-size"));
    EXPECT_THAT(usage_error(kCifar + "--epochs ten"), HasSubstr("--epochs"));
    EXPECT_THAT(usage_error(kCifar + "--epochs nan"), HasSubstr("expected"));
    EXPECT_THAT(usage_error(kCifar + "--epochs"), HasSubstr("--epochs"));
    EXPECT_THAT(usage_error(kCifar + "--epochs 1 2"), HasSubstr("expected"));
    EXPECT_THAT(usage_error(kCifar + "--validation yes"), HasSubstr("takes"));
    EXPECT_THAT(usage_error(kCifar + "--dataset-percentage-to-use 101"), HasSubstr("from 1 to 100"));
    EXPECT_THAT(usage_error(kCifar + "--label-smoothing -0.1"), HasSubstr("from 0 to 1"));
    EXPECT_THAT(usage_error(kCifar + "--loss-scaling 0"), HasSubstr("above 0"));
    EXPECT_THAT(usage_error(kCifar + "--epochs=3 stray"), HasSubstr("'stray'"));
    EXPECT_THAT(usage_error("--dataset cifar-11"), HasSubstr("10"));
    EXPECT_THAT(usage_error("--model resnett " + kCifar), HasSubstr("nearest"));
    EXPECT_THAT(usage_error("--lr-schedule steped " + kCifar), HasSubstr("nearest"));
}

TEST(CommandLine, HelpComesBeforeEveryJudgement) {
    EXPECT_TRUE(parse("--help --no-such-flag").wants_help);
    EXPECT_TRUE(parse("-h").wants_help);
    EXPECT_TRUE(parse("--hel").wants_help);
    EXPECT_FALSE(parse(kCifar).wants_help);
    EXPECT_TRUE(parse(kCifar + "--print-config").wants_print_config);
}

TEST(Commands, AnswerToNamesAndScripts) {
    EXPECT_EQ(command_named("train"), Command::train);
    EXPECT_EQ(command_named("train.py"), Command::train);
    EXPECT_EQ(command_named("/some/where/validation.py"), Command::validation);
    EXPECT_EQ(command_named("inference_embedded.py"), Command::inference);
    EXPECT_EQ(name(Command::analyse), "analyse");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { command_named("trai"); }), HasSubstr("'train'"));
}

}  // namespace
}  // namespace cnntrain::options::testing
