// The MLPerf log of a run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

using Json = nlohmann::ordered_json;

TEST(Mlperf, EveryLineIsAnEventInTheDocumentedOrder) {
    MemoryFiles files;
    const Outcome outcome = train(files, "--mlperf-logging --optimiser momentum");
    std::istringstream lines(read_text(files, "run/result_7.txt"));
    std::string keys;
    int tensors = 0;
    for (std::string line; std::getline(lines, line);) {
        ASSERT_TRUE(line.starts_with(":::MLLOG ")) << line;
        EXPECT_THAT(outcome.console, HasSubstr(line + "\n"));
        const Json event = Json::parse(line.substr(9));
        std::string members;
        for (const auto& item : event.items())
            members += item.key() + " ";
        EXPECT_EQ(members, "namespace time_ms event_type key value metadata ");
        EXPECT_EQ(event.at("namespace"), "resnet");
        EXPECT_TRUE(event.at("metadata").contains("file") && event.at("metadata").at("lineno").is_number());
        if (event.at("key") == "weights_initialization") {
            if (++tensors == 1) {
                EXPECT_EQ(event.at("metadata").at("tensor"), "conv0_weight");
            }
            continue;
        }
        if (event.at("key") == "run_stop") {
            EXPECT_EQ(event.at("metadata").at("status"), "aborted");
        }
        keys += event.at("key").get<std::string>() + " ";
    }
    EXPECT_EQ(tensors, 23);
    EXPECT_EQ(keys,
              "cache_clear init_start submission_benchmark submission_division submission_org submission_status "
              "submission_platform seed global_batch_size gradient_accumulation_steps opt_weight_decay "
              "opt_learning_rate_warmup_epochs model_bn_span train_samples eval_samples "
              "sgd_opt_learning_rate_decay_steps opt_name sgd_opt_momentum sgd_opt_weight_decay "
              "sgd_opt_base_learning_rate sgd_opt_end_learning_rate sgd_opt_learning_rate_decay_poly_power "
              "init_stop run_start block_start epoch_start epoch_stop epoch_start epoch_stop block_stop "
              "block_start eval_start eval_stop eval_accuracy eval_start eval_stop eval_accuracy block_stop run_stop ");
}

TEST(Mlperf, CountsTheReplicas) {
    MemoryFiles files;
    train(files,
          "--mlperf-logging --no-validation --iterations 1 --epochs 0 --replicas 4 --BN-span 2 "
          "--micro-batch-size 3 --gradient-accumulation-count 2");
    const std::string log = read_text(files, "run/result_7.txt");
    for (const char* fact : {"\"submission_platform\",\"value\":\"POD4\"", "\"global_batch_size\",\"value\":24",
                             "\"gradient_accumulation_steps\",\"value\":2", "\"model_bn_span\",\"value\":6"})
        EXPECT_THAT(log, HasSubstr(fact));
}

TEST(Mlperf, ValidationImagesAreCountedAlsoWithoutValidation) {
    MemoryFiles files;
    train(files, "--mlperf-logging --no-validation --iterations 1 --epochs 0");
    EXPECT_THAT(read_text(files, "run/result_7.txt"), HasSubstr("\"key\":\"eval_samples\",\"value\":10000"));
}

}  // namespace
}  // namespace cnntrain::run::testing
