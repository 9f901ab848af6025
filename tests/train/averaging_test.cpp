// Weight averages after training, masters of 16-bit weights, and the MLPerf log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cnntrain/base/error.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "train/fixtures.h"

namespace cnntrain::train::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

double element(const FileSystem& files, const std::string& file) {
    return checkpoint::load(files, "run/" + file + ".safetensors").tensors.at("all/fc1/bias").at(3);
}

TEST(Averaging, WritesAndValidatesTheAverages) {
    MemoryFiles files;
    train(files, "--weight-avg-N 0 1 --weight-avg-exp 0.5 --precision 32.32");
    EXPECT_EQ(element(files, "ckpt/weight_avg_N_0"), element(files, "ckpt-40"));
    const double mean = (element(files, "ckpt-20") + element(files, "ckpt-40")) / 2;
    EXPECT_NEAR(element(files, "ckpt/weight_avg_N_1"), mean, 1e-7);
    EXPECT_NEAR(element(files, "ckpt/weight_avg_exp_0.5"), mean, 1e-7);
    const auto rows = accuracy_rows(files);
    ASSERT_EQ(rows.size(), 6U);
    EXPECT_THAT(rows[3], HasSubstr("weight_avg_N_0,40,2,"));
    EXPECT_THAT(rows[5], HasSubstr("weight_avg_exp_0.5,40,2,"));
}

TEST(Averaging, AStoppedRunAveragesTheSameCheckpoints) {
    MemoryFiles whole;
    train(whole, "--weight-avg-exp 0.5 --no-validation");
    MemoryFiles stopped;
    train(stopped, "--weight-avg-exp 0.5 --no-validation", stop_after(30));
    restore(stopped);
    EXPECT_EQ(element(whole, "ckpt/weight_avg_exp_0.5"), element(stopped, "ckpt/weight_avg_exp_0.5"));
}

TEST(Averaging, NeedsItsCheckpoints) {
    EXPECT_THROW(parse("--data-dir " + small_cifar() + " --dataset cifar-10 --weight-avg-N 2 --keep-ckpts 1"), Error);
    EXPECT_THROW(parse("--data-dir " + small_cifar() + " --dataset cifar-10 --weight-avg-N 2 --ckpts-per-epoch 0"),
                 Error);
}

TEST(Masters, SixteenBitVariablesAreTheirRoundedCopies) {
    MemoryFiles files;
    train(files, "--optimiser momentum --offload-fp32-weight-copy --no-validation");
    for (const char* point : {"run/ckpt-0.safetensors", "run/ckpt-40.safetensors"}) {
        const auto checkpoint = checkpoint::load(files, point);
        const HostTensor& master = checkpoint.tensors.at("all/fc1/weight/fp32");
        const HostTensor& weight = checkpoint.tensors.at("all/fc1/weight");
        ASSERT_EQ(master.dtype(), DType::f32);
        ASSERT_EQ(weight.dtype(), DType::bf16);
        const HostTensor rounded = master.cast(DType::bf16);
        EXPECT_TRUE(std::ranges::equal(rounded.bytes(), weight.bytes())) << point;
        EXPECT_EQ(checkpoint.tensors.at("all/fc1/weight/Momentum").dtype(), DType::f32);
    }
}

TEST(Mlperf, EveryLineIsAnEventInTheDocumentedOrder) {
    MemoryFiles files;
    const Outcome outcome = train(files, "--mlperf-logging --optimiser momentum");
    std::istringstream lines(files.read_text("run/result_7.txt"));
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

}  // namespace
}  // namespace cnntrain::train::testing
