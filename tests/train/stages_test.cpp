// Stages, lanes and pipelines: however a weight update is divided, it computes the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "cnntrain/run/weights.h"
#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

using schedule::PipelineSchedule;

constexpr std::int64_t kMicroBatches = 8;

struct Network {
    std::string name;
    std::string options;
    std::vector<std::string> two_stages;
    std::vector<std::string> four_stages;
};

const std::vector<Network>& networks() {
    static const std::vector<Network> all = {
        {"ResNetBatchNorm", "--batch-norm", {"stage1/unit1"}, {"stage1/unit1/relu", "stage2/unit1", "fc1"}},
        {"ResNetGroupNorm",
         "--group-norm --groups 4",
         {"stage2/unit1/relu"},
         {"stage0", "stage1/unit1", "stage2/unit1"}},
    };
    return all;
}

std::string text(const Division& division) {
    return std::string(spelling(division.schedule)) + ", " + std::to_string(division.lanes) + " lanes";
}

/// More lanes than stages have a pipeline for each group of them.
std::vector<Division> divisions() {
    std::vector<Division> all;
    for (const auto schedule :
         {PipelineSchedule::grouped, PipelineSchedule::interleaved, PipelineSchedule::sequential}) {
        for (const int lanes : {1, 2, 4, 8})
            all.push_back({kMicroBatches, schedule, lanes});
    }
    return all;
}

/// The numbers of two updates and of an evaluation after them.
struct Numbers {
    explicit Numbers(CompiledNet&& net)
        : updates{net.step().sums, net.step().sums},
          variables(stored_variables(net.executable())),
          evaluation(net.evaluate(2).sums) {}

    std::vector<std::map<std::string, double>> updates;
    std::map<std::string, HostTensor> variables;
    std::map<std::string, double> evaluation;
};

void expect_same(const Numbers& one, const Numbers& other) {
    ASSERT_EQ(one.updates, other.updates);
    for (const auto& [name, tensor] : one.variables)
        ASSERT_TRUE(std::ranges::equal(tensor.bytes(), other.variables.at(name).bytes())) << name;
    EXPECT_EQ(one.evaluation, other.evaluation);
}

class Divided : public ::testing::TestWithParam<Network> {};

TEST_P(Divided, OfAnUpdateChangesNoBit) {
    for (const bool recompute : {false, true}) {
        const Numbers whole(CompiledNet({GetParam().options, {}, recompute, {kMicroBatches}}));
        for (const auto& splits : {std::vector<std::string>{}, GetParam().two_stages, GetParam().four_stages}) {
            for (const Division& division : divisions()) {
                if (splits.empty() && division.schedule != PipelineSchedule::grouped) continue;  // one stage has none
                SCOPED_TRACE(text(division) + ", " + std::to_string(splits.size() + 1) + " stages");
                expect_same(whole, Numbers(CompiledNet({GetParam().options, splits, recompute, division})));
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Networks, Divided, ::testing::ValuesIn(networks()),
                         [](const auto& network) { return network.param.name; });

TEST(DivisionWithRewrites, ChangesNoBit) {
    for (const Network& network : networks()) {
        const Numbers whole(CompiledNet({network.options, {}, false, {kMicroBatches}, true}));
        const Numbers divided(CompiledNet(
            {network.options, network.four_stages, false, {kMicroBatches, PipelineSchedule::grouped, 2}, true}));
        expect_same(whole, divided);
    }
}

/// Batches of another source, until it fails.
class FailingSource : public data::BatchSource {
public:
    FailingSource(data::BatchSource& source, int batches) : source_(source), left_(batches) {}
    std::vector<data::Field> fields() const override { return source_.fields(); }
    data::Batch next() override {
        if (left_-- == 0) throw Error(ErrorKind::data, "record 7 is damaged");
        return source_.next();
    }

private:
    data::BatchSource& source_;
    int left_;
};

TEST(DividedUpdate, LeavesEverythingAsItWasWhenTheInputFails) {
    for (const Division& division : divisions()) {
        const std::vector<std::string> splits = networks().front().four_stages;
        CompiledNet net({networks().front().options, splits, false, division});
        const auto before = stored_variables(net.executable());
        FailingSource source(net.source(), 5);
        EXPECT_THROW(net.executable().train_step(source, {0.1, 0}), Error) << text(division);
        for (const auto& [name, tensor] : before) {
            ASSERT_TRUE(std::ranges::equal(tensor.bytes(), net.executable().store(name).bytes())) << name;
        }
        EXPECT_EQ(net.step().samples, 4 * kMicroBatches) << "the next update works: " << text(division);
    }
}

TEST(DividedUpdate, NamesTheFirstValueThatIsNotFinite) {
    for (const Division& division : divisions()) {
        CompiledNet net({networks().front().options, networks().front().four_stages, false, division});
        const std::string name = "all/stage2/unit1/conv1/weight";
        HostTensor weight = net.executable().store(name);
        weight.as<float>()[3] = std::numeric_limits<float>::infinity();
        net.executable().load(name, weight);
        const auto before = stored_variables(net.executable());
        net.step();
        EXPECT_EQ(net.executable().first_non_finite(), name + " (variable, before the update), element 3")
            << text(division);
        for (const auto& [variable, tensor] : before) {
            ASSERT_TRUE(std::ranges::equal(tensor.bytes(), net.executable().store(variable).bytes())) << variable;
        }
    }
}

}  // namespace
}  // namespace cnntrain::run::testing
