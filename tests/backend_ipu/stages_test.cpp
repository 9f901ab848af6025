// Pipelines over several IPUs, replicas and several updates a call: the numbers of plain accumulation on one IPU.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "backend_ipu/bert_net.h"
#include "cnntrain/run/weights.h"
#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

constexpr double kClose = 1e-6;
constexpr int kUpdates = 2;

const std::string kNet =
    "--backend ipu --dataset cifar-10 --model-size 8 --precision 32.32 --micro-batch-size 1 "
    "--group-norm --groups 4 ";
const std::string kTwo = "--pipeline --pipeline-splits stage2/unit1 --shards 2 ";
const std::string kFour = "--pipeline --pipeline-splits stage1/unit1/relu stage2/unit1/relu fc1 --shards 4 ";

struct Result {
    std::vector<double> losses;
    std::map<std::string, HostTensor> variables;
};

Result trained(const std::string& options) {
    CompiledNet net(Line{kNet + options});
    Result result;
    for (int i = 0; i < kUpdates; ++i)
        result.losses.push_back(net.train());
    result.variables = stored_variables(net.executable());
    return result;
}

/// The same samples in an update, one micro-batch after another on one IPU.
const Result& accumulated(std::int64_t micro_batches) {
    static std::map<std::int64_t, Result> all;
    const auto found = all.find(micro_batches);
    if (found != all.end()) return found->second;
    const std::string count = std::to_string(micro_batches);
    return all.emplace(micro_batches, trained("--gradient-accumulation-count " + count)).first->second;
}

void expect_close(const Result& one, const Result& other) {
    ASSERT_EQ(one.losses.size(), other.losses.size());
    for (std::size_t i = 0; i < one.losses.size(); ++i)
        EXPECT_NEAR(one.losses[i], other.losses[i], kClose * std::abs(other.losses[i]));
    EXPECT_LT(distance(other.variables, one.variables), kClose);
}

struct Case {
    std::string options;
    std::int64_t accumulation = 8;
    std::int64_t replicas = 1;
};

class IpuStages : public ::testing::TestWithParam<Case> {};

TEST_P(IpuStages, HaveTheNumbersOfAccumulation) {
    const Case& how = GetParam();
    SCOPED_TRACE(how.options);
    const Result result = trained(how.options + " --gradient-accumulation-count " + std::to_string(how.accumulation) +
                                  " --replicas " + std::to_string(how.replicas));
    expect_close(result, accumulated(how.accumulation * how.replicas));
}

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const std::string& stages : {kTwo, kFour}) {
        for (const std::string schedule : {"Grouped", "Interleaved", "Sequential"}) {
            for (const std::string recomputes : {"", " --enable-recomputation"})
                all.push_back({stages + "--pipeline-schedule " + schedule + recomputes});
        }
    }
    for (const std::int64_t replicas : {2, 4}) {
        all.push_back({"", 2, replicas});
        all.push_back({kTwo + "--pipeline-schedule Grouped", 4, replicas});
    }
    all.push_back({kTwo + "--pipeline-schedule Interleaved --enable-recomputation", 4, 2});
    return all;
}

INSTANTIATE_TEST_SUITE_P(All, IpuStages, ::testing::ValuesIn(cases()));

// ---- Stages that share an IPU, which images' lines cannot ask for ----

Result trained_bert(const std::string& options) {
    BertNet net("--backend ipu --precision 32 --micro-batch-size 1 --gradient-accumulation-count 12 " + options);
    Result result;
    for (int i = 0; i < kUpdates; ++i)
        result.losses.push_back(net.train());
    result.variables = stored_variables(net.executable());
    return result;
}

TEST(IpuDeviceMapping, OfTwoStagesToOneIpuHasTheNumbersOfAccumulation) {
    const Result plain = trained_bert("");
    for (const std::string schedule : {"Grouped", "Sequential"}) {
        for (const std::string recomputes : {"", " --enable-recomputation"}) {
            SCOPED_TRACE(schedule + recomputes);
            expect_close(trained_bert("--pipeline-stages [[\"emb\",\"pos\"],[\"hid\",\"hid\"],[\"mlm\",\"nsp\"]] "
                                      "--device-mapping 0 1 0 --pipeline-schedule " +
                                      schedule + recomputes),
                         plain);
        }
    }
}

}  // namespace
}  // namespace cnntrain::run::testing
