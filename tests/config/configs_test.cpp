// The configurations in configs/: names, values and what follows from them.
#include <algorithm>
#include <filesystem>

#include "config/expected_configs.h"
#include "config/parsing.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::options::testing {
namespace {

/// Entries as text, of an expected configuration: its base's under its own.
std::map<std::string, std::string> expected_entries(std::string_view name) {
    for (const ExpectedConfig& config : expected_configs()) {
        if (config.name != name) continue;
        std::map<std::string, std::string> entries;
        if (!config.base.empty()) entries = expected_entries(config.base);
        for (std::string_view entry : config.entries) {
            const std::size_t colon = entry.find(": ");
            std::string value(entry.substr(colon + 2));
            if (value.starts_with('[')) {
                value = value.substr(1, value.size() - 2);
                value.erase(std::remove(value.begin(), value.end(), ','), value.end());
            }
            entries[std::string(entry.substr(0, colon))] = value;
        }
        return entries;
    }
    ADD_FAILURE() << "no row " << name;
    return {};
}

bool same_value(const Value& value, const std::string& expected) {
    if (const auto* number = std::get_if<double>(&value)) return *number == std::stod(expected);
    return to_string(value) == expected;
}

TEST(Configs, HoldTheDocumentedValues) {
    for (const ExpectedConfig& config : expected_configs()) {
        SCOPED_TRACE(config.name);
        const auto expected = expected_entries(config.name);
        const auto actual = read_config(std::string(config.name), test_environment().config_folders);
        for (const auto& [key, value] : expected) {
            ASSERT_TRUE(actual.contains(key)) << key;
            EXPECT_TRUE(same_value(actual.at(key), value))
                << key << ": expected " << value << ", is " << to_string(actual.at(key));
        }
        for (const auto& [key, value] : actual)
            EXPECT_TRUE(expected.contains(key)) << key << " is not documented";
    }
}

/// Global batch of one process and base learning rate.
struct Derived {
    std::string config;
    std::int64_t batch;
    double learning_rate;
};

TEST(Configs, LeadToTheDocumentedBatchAndLearningRate) {
    const Derived rows[] = {
        {"resnet8_test --data-dir cifar-10", 32, 0.5},
        {"resnet50_mlperf_pod16", 2304, 4.588},
        {"resnet50_mlperf_pod16_bs20", 1920, 3.824},
        {"resnet50_mlperf_pod64_bs20", 2560, 5.098},
        {"resnet50_base", 4, 0.015625},
        {"resnet50_gn_16ipus", 1024, 0.5},
        {"resnet50_bn_16ipus", 16384, 2.0},
        {"resnet50_bn_32ipus", 16384, 2.0},
        {"resnet50_bn_64ipus", 16384, 2.0},
        {"resnext101_16ipus", 768, 0.375},
        {"efficientnet_b4_16ipus_base --pipeline-splits a b c", 16, 0.0009765625},
        {"efficientnet_b4_g1_16ipus", 768, 0.046875},
        {"efficientnet_b4_g1_32ipus", 768, 0.046875},
        {"efficientnet_b4_g1_64ipus", 768, 0.046875},
        {"efficientnet_b4_g16_large_batch_size_high_throughput", 12, 0.01657281518405971},
        {"efficientnet_b4_g16_16ipus", 6144, 8.485281374238571},
        {"efficientnet_b4_g16_32ipus", 6144, 8.485281374238571},
        {"efficientnet_b4_g16_64ipus", 6144, 8.485281374238571},
        {"resnet50_mlperf_pod16_lars", 3520, 10.72},
        {"resnet50_mlperf_pod32_lars", 4224, 11.42},
        {"resnet50_mlperf_pod64_lars", 5120, 14.225},
        {"efficientnet_b4_g1_with_batch_norm_16ipus", 6144, 6.0},
        {"efficientnet_b4_g1_with_batch_norm_64ipus", 6144, 6.0},
        {"mk2_efficientnet_b4_g16_64ipus", 640, 0.0390625},
    };
    for (const Derived& row : rows) {
        SCOPED_TRACE(row.config);
        const Settings settings = parse("--config " + row.config).settings;
        const std::int64_t batch = schedule::batch_plan(settings.training).global_batch();
        EXPECT_EQ(batch, row.batch);
        EXPECT_DOUBLE_EQ(optim::base_learning_rate(tasks::image_settings(settings).learning_rate, batch),
                         row.learning_rate);
    }
}

TEST(Configs, EveryNamedOneIsReadable) {
    const auto places = test_environment().config_folders;
    const auto names = config_names(places);
    EXPECT_GE(names.size(), expected_configs().size());
    for (const std::string& name : names)
        EXPECT_NO_THROW(read_config(name, places)) << name;
}

TEST(Configs, EveryOneIsAvailableAsWrittenAndFitsASingleDevice) {
    for (const std::string& name : config_names(test_environment().config_folders)) {
        if (name.ends_with("_base")) continue;  // what others build on
        const std::string line = "--config " + name + " --data-dir imagenet";
        EXPECT_EQ(usage_error(line), "") << name;
        EXPECT_THAT(unavailable_options(parse(line)), IsEmpty()) << name;
        EXPECT_EQ(usage_error(line + " --shards 1 --replicas 1"), "") << name;
        EXPECT_EQ(usage_error("--config " + name + " --data-dir imagenet --no-pipeline"), "") << name;
    }
}

TEST(Configs, OldNamesFindTheirSuccessors) {
    const auto places = test_environment().config_folders;
    EXPECT_EQ(read_config("mk2_resnet50_bn_64ipus", places), read_config("resnet50_bn_64ipus", places));
    EXPECT_EQ(read_config("mk2_efficientnet_b4_g1_64ipus", places), read_config("efficientnet_b4_g1_64ipus", places));
    EXPECT_NE(read_config("mk2_efficientnet_b4_g16_64ipus", places), read_config("efficientnet_b4_g16_64ipus", places));
    for (const char* name : {"mk2_resnet50_mlperf_pod128_bs20", "mk2_resnet50_bn_128ipus", "mk1_resnet50_16ipus",
                             "mk2_efficientnet_b4_g16_128ipus", "mk2_efficientnet_b4_g16_256ipus",
                             "mk2_resnet50_mlperf_pod128_lars", "mk2_resnet50_mlperf_pod256_lars"}) {
        EXPECT_EQ(usage_error("--config " + std::string(name)), "") << name;
    }
    EXPECT_EQ(read_config("efficientnet_b4_g16_256ipus", places),
              read_config("mk2_efficientnet_b4_g16_256ipus", places));
    EXPECT_EQ(image(parse("--config mk2_resnet50_mlperf_pod64_lars")).learning_rate.absolute, 12.15);
}

TEST(Configs, UnknownNameGetsTheNearestAndTheList) {
    const std::string message = usage_error("--config resnet50_bn_64_ipu");
    EXPECT_THAT(message, HasSubstr("'resnet50_bn_64ipus'"));
    EXPECT_THAT(message, HasSubstr("resnext101_16ipus"));
}

TEST(Configs, KeysOfOtherCommandsAreSkipped) {
    const auto result = parse("--config resnet50_mlperf_pod16_bs20 --restore-path x", Command::validation);
    EXPECT_EQ(result.settings.training.micro_batch_size, 20);
    EXPECT_EQ(parse("--config resnet8_test --data-dir cifar", Command::validation).at("inference").value, Value(false));
}

class OwnFile : public ::testing::Test {
protected:
    void write(const std::string& text) { folder_.write("own.yml", text); }

    std::map<std::string, Value> read(const std::string& name) { return read_config(name, {path_}); }

    std::string error_of(const std::string& name) {
        return refusal_of(ErrorKind::usage, [&] { read(name); });
    }

    test::TemporaryFolder folder_;
    std::string path_ = folder_ / "own.yml";
};

TEST_F(OwnFile, LaterMergeWinsAndOwnKeysWinOverAll) {
    write(
        "a: &a {epochs: 1, momentum: 0.1, groups: 2}\n"
        "b: &b {epochs: 2, momentum: 0.2}\n"
        "c:\n  momentum: 0.3\n  <<: *a\n  <<: *b\n"
        "d:\n  <<: [*a, *b]\n");
    const auto merged = read("c");
    EXPECT_EQ(merged.at("epochs"), Value(2.0));
    EXPECT_EQ(merged.at("momentum"), Value(0.3));
    EXPECT_EQ(merged.at("groups"), Value(std::int64_t{2}));
    EXPECT_EQ(read("d").at("epochs"), Value(1.0));
}

TEST_F(OwnFile, ValuesFollowTheOptionsType) {
    write(
        "x:\n  weight_decay: 1e-5\n  abs_learning_rate: '3.5'\n  precision: 16.32\n  validation: no\n"
        "  eight_bit_io: True\n  stochastic_rounding: OFF\n  seed: 7\n  lars_skip_list: beta\n  model_size: 50\n"
        "  learning_rate_schedule: 0.5,0.75\n  available_memory_proportion: ['0.15']\n  no_stochastic_rounding: "
        "false\n");
    const auto entries = read("x");
    EXPECT_EQ(entries.at("weight_decay"), Value(1e-5));
    EXPECT_EQ(entries.at("abs_learning_rate"), Value(3.5));
    EXPECT_EQ(entries.at("precision"), Value("16.32"));
    EXPECT_EQ(entries.at("validation"), Value(false));
    EXPECT_EQ(entries.at("eight_bit_io"), Value(true));
    EXPECT_EQ(entries.at("stochastic_rounding"), Value("OFF"));
    EXPECT_EQ(entries.at("seed"), Value(std::int64_t{7}));
    EXPECT_EQ(entries.at("lars_skip_list"), Value(std::vector<std::string>{"beta"}));
    EXPECT_EQ(entries.at("model_size"), Value("50"));
    EXPECT_EQ(entries.at("learning_rate_schedule"), Value(std::vector<double>{0.5, 0.75}));
    EXPECT_EQ(entries.at("available_memory_proportion"), Value(std::vector<double>{0.15}));
}

TEST_F(OwnFile, OldKeysResolve) {
    write("x:\n  batches_per_step: 10\n  xla_recompute: true\n  no_stochastic_rounding: true\n");
    const auto entries = read("x");
    EXPECT_EQ(entries.at("device_iterations"), Value(std::int64_t{10}));
    EXPECT_EQ(entries.at("enable_recomputation"), Value(true));
    EXPECT_EQ(entries.at("stochastic_rounding"), Value("OFF"));
}

TEST_F(OwnFile, MistakesAreNamedWithTheirPlace) {
    write("x:\n  gradient_accumulation: 64\ny:\n  epochs: many\nz: 3\n");
    EXPECT_THAT(error_of("x"), HasSubstr(path_));
    EXPECT_THAT(error_of("y"), HasSubstr("--epochs"));
    EXPECT_THAT(error_of("z"), HasSubstr(path_));
    write("x: [1, 2\n");
    EXPECT_THAT(error_of("x"), HasSubstr(path_));
    write("- a\n");
    EXPECT_THAT(error_of("x"), HasSubstr("configuration"));
    write("x:\n  epochs: {a: 1}\n");
    EXPECT_THAT(error_of("x"), HasSubstr("expected"));
}

TEST_F(OwnFile, IsChosenByConfigPath) {
    write("mine:\n  dataset: cifar-10\n  generated_data: true\n  epochs: 3\n");
    const auto result = parse("--config mine --config-path " + path_);
    EXPECT_EQ(result.settings.training.epochs, 3.0);
    EXPECT_EQ(result.settings.main.config, "mine");
    EXPECT_THAT(usage_error("--config resnet8_test --config-path " + path_), Not(IsEmpty()));
    EXPECT_THAT(usage_error("--config mine --config-path /no/such/file"), Not(IsEmpty()));
}

TEST(Environment, PassesOverOtherProgramsFiles) {
    const test::TemporaryFolder folder;
    folder.write("foreign.yml", "- not: ours\n");
    const std::vector<std::string> places = {folder.path(), CNNTRAIN_SOURCE_DIR "/configs"};
    EXPECT_NO_THROW(read_config("resnet8_test", places));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { read_config("no_such_configuration", places); }),
                HasSubstr("foreign.yml"));
}

TEST(Environment, FindsTheConfigurationsFromAnywhere) {
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path("/");
    const auto names = config_names(process_environment().config_folders);
    std::filesystem::current_path(before);
    EXPECT_THAT(names, Contains("resnet8_test"));
}

}  // namespace
}  // namespace cnntrain::options::testing
