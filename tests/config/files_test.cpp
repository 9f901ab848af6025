// Options in a run folder: arguments.json, fingerprint, name.
#include <nlohmann/json.hpp>

#include "config/parsing.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "tasks/image_classification/task.h"

namespace cnntrain::options::testing {
namespace {

TEST(ArgumentsJson, HoldsEveryOptionSortedWithIndent) {
    const auto result = parse(kCifar + "--model-size 8 --seed 3 --enable-half-partials");
    const std::string text = arguments_json(result, {{"global_batch_size", Value(std::int64_t{32})}});
    EXPECT_THAT(text, StartsWith("{\n    \"BN_decay\": 0.97,\n    \"BN_span\": 1,\n"));
    EXPECT_THAT(text, HasSubstr("\n    \"global_batch_size\": 32,\n"));
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["model_size"], 8);
    EXPECT_EQ(json["seed"], 3);
    EXPECT_EQ(json["precision"], "16.16");
    EXPECT_EQ(json["enable_half_partials"], true);
    EXPECT_EQ(json["validation"], true);
    EXPECT_EQ(json["batch_norm"], true);
    EXPECT_TRUE(json["iterations"].is_null());
    EXPECT_EQ(json["learning_rate_schedule"], nlohmann::json::parse("[0.5, 0.75]"));
    EXPECT_FALSE(json.contains("help"));
    EXPECT_GE(json.size(), result.options.size() - 9);  // those of one call are left out
}

ParseResult restore(const std::string& text, const std::string& line) {
    return resume_from_arguments_json(tasks::task_table().front().options, text, parse(line, Command::restore));
}

TEST(ArgumentsJson, RestoresTheSameRun) {
    for (const std::string& line : {
             kCifar + "--model-size 8 --seed 3 --iterations 10 --variable-filter a b --batch-size 7",
             kImageNet + "--group-norm --lr-schedule polynomial_decay_lr --abs-end-learning-rate 1e-07 --epochs 2.5",
             kImageNet + "--lr-schedule cosine --abs-learning-rate 0.1 --stable-norm --model-size 56b",
             std::string("--config resnet8_test --data-dir cifar-10"),
             std::string("--config resnet50_mlperf_pod16_lars"),
             std::string("--config efficientnet_b4_g1_with_batch_norm_64ipus"),
         }) {
        SCOPED_TRACE(line);
        const auto original = parse(line);
        const std::string text = arguments_json(original, {{"name", Value("RN")}, {"total_replicas", Value(1.5)}});
        const auto resumed = restore(text, "--restore-path logs/x");
        EXPECT_EQ(resumed.settings.main.restore_path, "logs/x");
        EXPECT_EQ(numerics_fingerprint(resumed), numerics_fingerprint(original));
        for (const ResolvedOption& entry : original.options) {
            if (entry.option == original.at("restore_path").option) continue;
            bool found = false;
            for (const ResolvedOption& other : resumed.options) {
                if (other.option != entry.option) continue;
                found = true;
                EXPECT_EQ(to_string(other.value), to_string(entry.value));
            }
            EXPECT_TRUE(found);
        }
        EXPECT_EQ(unavailable_options(resumed), unavailable_options(original));
    }
}

TEST(ArgumentsJson, LeavesOutWhatConcernsOneProcess) {
    const auto result = parse(kCifar + "--logs-path x --overwrite");
    EXPECT_TRUE(result.settings.logging.overwrite);
    EXPECT_FALSE(nlohmann::json::parse(arguments_json(result, {})).contains("overwrite"));
}

TEST(ArgumentsJson, RestoreLineWins) {
    const std::string text = arguments_json(parse(kCifar + "--threads 1"), {});
    const auto resumed = restore(text, "--restore-path x --threads 3 --no-stop-on-nan");
    EXPECT_EQ(resumed.settings.run.threads, 3);
    EXPECT_FALSE(resumed.settings.run.stop_on_nan);
    EXPECT_EQ(resumed.at("threads").source, Source::command_line);
    EXPECT_EQ(resumed.at("dataset").source, Source::arguments);
}

TEST(ArgumentsJson, ASeedThatWasDrawnStaysOne) {
    const auto line = parse(kCifar + "--seed 5");
    EXPECT_EQ(restore(arguments_json(line, {{"seed_specified", true}}), "--restore-path x").at("seed").source,
              Source::arguments);
    const auto drawn = restore(arguments_json(line, {{"seed_specified", false}}), "--restore-path x");
    EXPECT_EQ(drawn.at("seed").source, Source::adjusted);
    EXPECT_EQ(drawn.settings.device.seed, 5);
}

TEST(ArgumentsJson, OfTheOriginalProgramsIsUnderstood) {
    const auto resumed = restore(R"({"model": "resnet", "model_size": 8, "dataset": "cifar-10", "data_dir": "x",
        "batches_per_step": 50, "total_batch_size": 32, "learning_rate_schedule": "0.5,0.75", "epochs": 10.0,
        "batch_norm": true, "group_norm": false, "distributed_cluster": null, "use_popdist": false,
        "force_weight_to_fp16": [], "select_ipu": -1, "warmup_epochs": 0})",
                                 "--restore-path x");
    EXPECT_EQ(resumed.settings.training.device_iterations, 50);
    EXPECT_EQ(resumed.settings.training.epochs, 10.0);
    EXPECT_EQ(image(resumed).learning_rate.warmup_epochs, 0.0);
    EXPECT_EQ(image(resumed).learning_rate.stepped_fractions.size(), 2U);
}

TEST(ArgumentsJson, DamageIsADataError) {
    for (const char* text : {"", "{\"epochs\": ", "[1]", "{\"epochs\": \"many\"}"}) {
        EXPECT_THAT(message_of(ErrorKind::data, [&] { restore(text, "--restore-path x"); }),
                    HasSubstr("arguments.json"))
            << text;
    }
}

TEST(ArgumentsJson, DepthAndKeysAreChecked) {
    const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
    for (const auto& [text, what] : {std::pair<std::string, std::string>{R"({"model": )" + deep + "}", "nested"},
                                     {"{\n \"epochs\": 1,\n \"epochs\": 2}", "the key 'epochs' stands twice"},
                                     {"{\n \"epochs\": 1,\n}", "line 3, column 1: this is not valid JSON"}}) {
        EXPECT_THAT(message_of(ErrorKind::data, [text = text] { restore(text, "--restore-path x"); }),
                    AllOf(HasSubstr("arguments.json: "), HasSubstr(what)))
            << what;
    }
}

/// The option is given for one call and one file.
TEST(ArgumentsJson, TrustInAnEditedCheckpointIsNotKept) {
    const auto line = parse(kCifar + "--trust-edited-checkpoint");
    EXPECT_TRUE(line.settings.checkpoint.trust_edited);
    const std::string text = arguments_json(line, {});
    EXPECT_FALSE(restore(text, "--restore-path x").settings.checkpoint.trust_edited);
    EXPECT_TRUE(restore(text, "--restore-path x --trust-edited-checkpoint").settings.checkpoint.trust_edited);
}

/// The message about a missing process advises to allow more time.
TEST(ArgumentsJson, ARestoredRunMayWaitLonger) {
    const std::string text = arguments_json(parse(kCifar + "--comm-timeout 5"), {});
    EXPECT_EQ(restore(text, "--restore-path x").settings.comm.timeout_seconds, 5);
    EXPECT_EQ(restore(text, "--restore-path x --comm-timeout 60").settings.comm.timeout_seconds, 60);
}

TEST(Fingerprint, ChangesWithTheNumbersOnly) {
    const std::string base = numerics_fingerprint(parse(kCifar));
    EXPECT_EQ(base.size(), 16U);
    for (const char* line : {"--threads 3", "--log-dir x", "--no-validation", "--enable-half-partials",
                             "--keep-ckpts 3", "--name-suffix a", "--pipeline-num-parallel 3"}) {
        EXPECT_EQ(numerics_fingerprint(parse(kCifar + line)), base) << line;
    }
    for (const char* line :
         {"--optimiser momentum", "--seed 1", "--precision 16.32", "--epochs 3", "--micro-batch-size 16",
          "--no-stochastic-rounding", "--device-iterations 3", "--warmup-epochs 1"}) {
        EXPECT_NE(numerics_fingerprint(parse(kCifar + line)), base) << line;
    }
    for (const char* line : {"--hostside-norm", "--hostside-image-mixing"}) {
        EXPECT_NE(numerics_fingerprint(parse(kImageNet + line)), numerics_fingerprint(parse(kImageNet))) << line;
    }
    EXPECT_NE(numerics_fingerprint(parse(kCifar + "--optimiser momentum --momentum 0.8")),
              numerics_fingerprint(parse(kCifar + "--optimiser momentum")));
    EXPECT_EQ(numerics_fingerprint(parse(kCifar + "--micro-batch-size 32")), base);
}

TEST(RunName, FollowsTheDocumentedForms) {
    const auto named = [](const std::string& line) { return tasks::image_run_name(parse(line).settings); };
    EXPECT_EQ(named(kCifar), "RN20_bs32_BN_16.16");
    EXPECT_EQ(named(kImageNet + "--model-size 50 --gradient-accumulation-count 8 --precision 16.32 --replicas 2"),
              "RN50_bs4x2rx8a_GN32_16.32");
    EXPECT_EQ(named(kCifar + "--stochastic-rounding OFF --name-suffix _LARS"), "RN20_bs32_BN_16.16_noSR__LARS");
    EXPECT_EQ(named("--config resnet50_bn_16ipus"), "RN50_bs16x4rx256p_BN_16.32");
    EXPECT_EQ(named("--config resnext101_16ipus"), "RNX101_bs6x8rx16p_GN32_16.16");
    EXPECT_EQ(named("--config efficientnet_b4_g1_16ipus"), "EfficientNet-B4_bs3x64px4r_GN4");
}

}  // namespace
}  // namespace cnntrain::options::testing
