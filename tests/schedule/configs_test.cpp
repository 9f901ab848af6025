// Values that follow from the named configurations: batch, iterations, optimiser, schedule, learning rate of one
// process.
#include <gmock/gmock.h>

#include <set>

#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/tasks/tasks.h"
#include "support/words.h"
#include "tasks/image_classification/options.h"

namespace cnntrain::schedule {
namespace {

struct Derived {
    std::string_view line;  // configuration, and what it lacks
    std::int64_t micro_batch, accumulation, replicas, global_batch, iterations_per_epoch, iterations;
    std::string_view optimiser, schedule;
    double learning_rate;
};

// clang-format off
constexpr Derived kDerived[] = {
    {"resnet8_test --data-dir cifar-10", 32, 1, 1, 32, 1562, 15625, "SGD", "stepped", 0.5},
    {"resnet50_mlperf_pod16", 16, 9, 16, 2304, 556, 24466, "momentum", "polynomial_decay_lr", 4.588},
    {"resnet50_mlperf_pod16_bs20", 20, 6, 16, 1920, 667, 26690, "momentum", "polynomial_decay_lr", 3.824},
    {"resnet50_mlperf_pod64_bs20", 20, 2, 64, 2560, 500, 20518, "momentum", "polynomial_decay_lr", 5.098},
    {"resnet50_base", 4, 1, 1, 4, 320291, 32029175, "SGD", "stepped", 0.015625},
    {"resnet50_gn_16ipus", 8, 8, 16, 1024, 1251, 81324, "momentum", "cosine", 0.5},
    {"resnet50_bn_16ipus", 16, 256, 4, 16384, 78, 7819, "momentum", "cosine", 2.0},
    {"resnet50_bn_32ipus", 16, 128, 8, 16384, 78, 7819, "momentum", "cosine", 2.0},
    {"resnet50_bn_64ipus", 16, 64, 16, 16384, 78, 7819, "momentum", "cosine", 2.0},
    {"resnext101_16ipus", 6, 16, 8, 768, 1668, 200182, "momentum", "cosine", 0.375},
    {"efficientnet_b4_16ipus_base --pipeline-splits a b c", 4, 1, 4, 16, 80072, 28025528, "RMSprop", "exponential",
     0.0009765625},
    {"efficientnet_b4_g1_16ipus", 3, 64, 4, 768, 1668, 583865, "RMSprop", "exponential", 0.046875},
    {"efficientnet_b4_g1_32ipus", 3, 32, 8, 768, 1668, 583865, "RMSprop", "exponential", 0.046875},
    {"efficientnet_b4_g1_64ipus", 3, 16, 16, 768, 1668, 583865, "RMSprop", "exponential", 0.046875},
    {"efficientnet_b4_g16_large_batch_size_high_throughput", 3, 1, 4, 12, 106763, 37367370, "LARS",
     "polynomial_decay_lr", 0.01657281518405971},
    {"efficientnet_b4_g16_16ipus", 3, 256, 8, 6144, 208, 72983, "LARS", "polynomial_decay_lr", 8.485281374238571},
    {"efficientnet_b4_g16_32ipus", 3, 128, 16, 6144, 208, 72983, "LARS", "polynomial_decay_lr", 8.485281374238571},
    {"efficientnet_b4_g16_64ipus", 3, 64, 32, 6144, 208, 72983, "LARS", "polynomial_decay_lr", 8.485281374238571},
    {"resnet50_mlperf_pod16_lars", 22, 10, 16, 3520, 363, 13830, "LARS", "polynomial_decay_lr", 10.72},
    {"resnet50_mlperf_pod32_lars", 22, 6, 32, 4224, 303, 11525, "LARS", "polynomial_decay_lr", 11.42},
    {"resnet50_mlperf_pod64_lars", 20, 4, 64, 5120, 250, 10009, "LARS", "polynomial_decay_lr", 14.225},
    {"efficientnet_b4_g1_with_batch_norm_16ipus", 6, 64, 16, 6144, 208, 72983, "LARS", "polynomial_decay_lr", 6.0},
    {"efficientnet_b4_g1_with_batch_norm_64ipus", 6, 16, 64, 6144, 208, 72983, "LARS", "polynomial_decay_lr", 6.0},
};
// clang-format on

/// Parts of others, without a model: they cannot be run.
const std::set<std::string_view> kBlocks = {"efficientnet_b4_g1_with_batch_norm_base",
                                            "efficientnet_b4_g1_with_batch_norm_pod64_modification"};

const options::Environment& environment() {
    static const options::Environment sources = {{}, {CNNTRAIN_SOURCE_DIR "/configs"}};
    return sources;
}

TEST(Configurations, ComeToTheDocumentedNumbers) {
    for (const Derived& row : kDerived) {
        SCOPED_TRACE(row.line);
        std::vector<std::string> arguments = test::words("--config " + std::string(row.line));
        const auto result = tasks::parse_command_line(options::Command::train, arguments, environment());
        const options::Settings& settings = result.settings;
        const std::int64_t images =
            tasks::image_settings(settings).data.dataset == data::DatasetId::imagenet ? 1281167 : 50000;
        const RunPlan plan =
            make_run_plan({settings.training, settings.checkpoint, images, settings.validation.enabled});
        EXPECT_EQ(settings.training.micro_batch_size, row.micro_batch);
        EXPECT_EQ(settings.training.gradient_accumulation_count, row.accumulation);
        EXPECT_EQ(settings.training.replicas, row.replicas);
        EXPECT_EQ(plan.global_batch, row.global_batch);
        EXPECT_EQ(plan.iterations_per_epoch, row.iterations_per_epoch);
        EXPECT_EQ(plan.iterations, row.iterations);
        EXPECT_EQ(spelling(settings.optimiser.rule), row.optimiser);
        EXPECT_EQ(spelling(tasks::image_settings(settings).learning_rate.schedule), row.schedule);
        EXPECT_DOUBLE_EQ(optim::base_learning_rate(tasks::image_settings(settings).learning_rate, plan.global_batch),
                         row.learning_rate);
    }
}

/// Every configuration of the newest set is in the table; those of earlier releases have an old prefix.
TEST(Configurations, AllHaveARow) {
    std::set<std::string_view> known = kBlocks;
    for (const Derived& row : kDerived)
        known.insert(row.line.substr(0, row.line.find(' ')));
    for (const std::string& name : options::config_names(environment().config_folders)) {
        EXPECT_TRUE(name.starts_with("mk") || known.contains(name)) << name;
    }
}

}  // namespace
}  // namespace cnntrain::schedule
