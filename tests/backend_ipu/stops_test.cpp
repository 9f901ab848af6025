// Updates that do not come to their end: stops, exceptions of the source, losses that are no numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/run/weights.h"
#include "support/errors.h"
#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

constexpr std::int64_t kMicroBatches = 4;
constexpr backend::StepScalars kFirst{0.01, 0};
constexpr backend::StepScalars kSecond{0.01, 1};

const std::string kNet = "--backend ipu --dataset cifar-10 --model-size 8 --micro-batch-size 2 ";
const std::string kTwo = "--pipeline --pipeline-splits stage2/unit1 --shards 2 --pipeline-schedule ";

using Variables = std::map<std::string, HostTensor>;

void expect_same_bits(const Variables& one, const Variables& other) {
    ASSERT_EQ(one.size(), other.size());
    std::string different;
    for (const auto& [name, tensor] : one) {
        if (!std::ranges::equal(tensor.bytes(), other.at(name).bytes())) different += " " + name;
    }
    EXPECT_EQ(different, "");
}

/// Calls a function in the place of its batch number `end`.
class Ending final : public data::BatchSource {
public:
    Ending(data::BatchSource& source, std::int64_t end, std::function<void()> call)
        : source_(source), left_(end), call_(std::move(call)) {}
    std::vector<data::Field> fields() const override { return source_.fields(); }
    data::Batch next() override {
        if (left_-- == 0) call_();
        return source_.next();
    }

private:
    data::BatchSource& source_;
    std::int64_t left_;
    std::function<void()> call_;
};

[[noreturn]] void interrupt() {
    throw Interrupted();
}

void skip(data::BatchSource& source, std::int64_t batches) {
    for (std::int64_t i = 0; i < batches; ++i)
        source.next();
}

// ---- A stop inside an update ----

struct Stopped {
    std::string options;
    std::int64_t replicas = 1;
};

class IpuPartialUpdate : public ::testing::TestWithParam<Stopped> {
protected:
    std::string line() const { return kNet + GetParam().options + " --gradient-accumulation-count 4"; }
};

TEST_P(IpuPartialUpdate, ContinuedByAnotherExecutableHasTheBitsOfTheUndisturbedOne) {
    const std::int64_t all = kMicroBatches * GetParam().replicas;
    CompiledNet whole(Line{line()});
    whole.executable().train_step(whole.source(), kFirst);
    const Variables before = stored_variables(whole.executable());
    const backend::StepResult expected = whole.executable().train_step(whole.source(), kSecond);
    for (const std::int64_t stop : {std::int64_t{0}, std::int64_t{1}, all / 2, all - 1}) {
        SCOPED_TRACE(::testing::Message() << "stopped before micro-batch " << stop);
        CompiledNet net(Line{line()});
        net.executable().train_step(net.source(), kFirst);
        backend::PartialUpdate partial;
        Ending source(net.source(), stop, interrupt);
        const backend::StepResult stopped = net.executable().train_step(source, kSecond, &partial);
        EXPECT_TRUE(stopped.stopped && !stopped.counts);
        EXPECT_EQ(partial.micro_batches, stop / GetParam().replicas * GetParam().replicas);
        expect_same_bits(stored_variables(net.executable()), before);

        CompiledNet other(Line{line()});
        EXPECT_EQ(other.executable().report().partial_form, net.executable().report().partial_form);
        other.executable().load(before);
        skip(other.source(), all + partial.micro_batches);
        const backend::StepResult result = other.executable().train_step(other.source(), kSecond, &partial);
        EXPECT_TRUE(result.counts && partial.empty());
        EXPECT_EQ(result.samples, expected.samples);
        for (const auto& [name, sum] : expected.sums)
            EXPECT_NEAR(result.sums.at(name), sum, 1e-6 * std::abs(sum));
        expect_same_bits(stored_variables(other.executable()), stored_variables(whole.executable()));
    }
}

INSTANTIATE_TEST_SUITE_P(All, IpuPartialUpdate,
                         ::testing::Values(Stopped{"--precision 32.32"}, Stopped{"--precision 16.16"},
                                           Stopped{"--precision 16.16 --replicas 2", 2},
                                           Stopped{"--precision 32.32 " + kTwo + "Sequential"}));

TEST(IpuPartialUpdateOf, AnotherIterationIsRefused) {
    CompiledNet net(Line{kNet + "--gradient-accumulation-count 4"});
    backend::PartialUpdate partial;
    Ending source(net.source(), 2, interrupt);
    net.executable().train_step(source, kFirst, &partial);
    ASSERT_EQ(partial.micro_batches, 2);
    EXPECT_THAT(
        test::message_of(ErrorKind::internal, [&] { net.executable().train_step(net.source(), kSecond, &partial); }),
        ::testing::HasSubstr("1 of 4"));
}

class IpuPipeline : public ::testing::TestWithParam<std::string> {};

TEST_P(IpuPipeline, ThatIsInterruptedKeepsNothingAndChangesNothing) {
    const std::string line = kNet + "--precision 32.32 --gradient-accumulation-count 4 " + kTwo + GetParam();
    CompiledNet whole(Line{line});
    const double loss = whole.executable().train_step(whole.source(), kFirst).sums.at("loss");
    for (const std::int64_t stop : {0, 2}) {
        CompiledNet net(Line{line});
        const Variables before = stored_variables(net.executable());
        backend::PartialUpdate partial;
        Ending source(net.source(), stop, interrupt);
        const backend::StepResult stopped = net.executable().train_step(source, kFirst, &partial);
        EXPECT_TRUE(stopped.stopped && !stopped.counts);
        EXPECT_TRUE(partial.empty());
        expect_same_bits(stored_variables(net.executable()), before);
        skip(net.source(), 8 - stop);  // the source has 8 batches, again and again
        EXPECT_EQ(net.executable().train_step(net.source(), kFirst, &partial).sums.at("loss"), loss);
        expect_same_bits(stored_variables(net.executable()), stored_variables(whole.executable()));
    }
}

INSTANTIATE_TEST_SUITE_P(All, IpuPipeline, ::testing::Values("Grouped", "Interleaved"));

// ---- Failures ----

class IpuFailure : public ::testing::TestWithParam<std::string> {};

TEST_P(IpuFailure, OfTheSourceArrivesAndChangesNothing) {
    CompiledNet net(Line{kNet + "--precision 32.32 --gradient-accumulation-count 4 " + GetParam()});
    const Variables before = stored_variables(net.executable());
    Ending source(net.source(), 2, [] { throw Error(ErrorKind::data, "record 17 is damaged"); });
    EXPECT_EQ(test::message_of(ErrorKind::data, [&] { net.executable().train_step(source, kFirst); }),
              "record 17 is damaged");
    expect_same_bits(stored_variables(net.executable()), before);
    EXPECT_TRUE(net.executable().train_step(net.source(), kFirst).counts);
    EXPECT_GT(distance(before, stored_variables(net.executable())), 0);
}

TEST_P(IpuFailure, OfTheLossChangesNothing) {
    CompiledNet net(Line{kNet + "--precision 32.32 --gradient-accumulation-count 4 " + GetParam()});
    const std::string name = net.graph().value(net.graph().values_with_role(graph::Role::parameter).front()).name;
    const HostTensor weights = net.executable().store(name);
    HostTensor bad = weights;
    bad.set(0, std::numeric_limits<double>::quiet_NaN());
    net.executable().load(name, bad);
    const Variables before = stored_variables(net.executable());
    const backend::StepResult result = net.executable().train_step(net.source(), kFirst);
    EXPECT_FALSE(result.counts || result.stopped);
    EXPECT_TRUE(std::isnan(result.sums.at("loss")));
    EXPECT_EQ(net.executable().first_non_finite(), name + "[0]");
    expect_same_bits(stored_variables(net.executable()), before);
    net.executable().load(name, weights);
    EXPECT_TRUE(net.executable().train_step(net.source(), kFirst).counts);
}

INSTANTIATE_TEST_SUITE_P(All, IpuFailure,
                         ::testing::Values("", kTwo + "Grouped", kTwo + "Interleaved", "--replicas 2"));

// ---- Several updates a call ----

constexpr int kUpdates = 5;

std::vector<backend::StepScalars> updates_from(std::int64_t first) {
    std::vector<backend::StepScalars> updates;
    for (std::int64_t i = first; i < kUpdates; ++i)
        updates.push_back({0.01, i});
    return updates;
}

class IpuCall : public ::testing::TestWithParam<std::string> {
protected:
    Line line(const std::function<bool()>& stop = {}) const {
        return {kNet + GetParam() + " --gradient-accumulation-count 4", {}, 1, [stop](auto& request) {
                    request.plan.updates_per_call = kUpdates;
                    request.runtime.stop_requested = stop;
                }};
    }
};

TEST_P(IpuCall, OfSeveralUpdatesDeliversTheResultsOfSingleOnesInOrder) {
    CompiledNet single(line());
    std::vector<std::map<std::string, double>> expected;
    for (const backend::StepScalars& update : updates_from(0))
        expected.push_back(single.executable().train_step(single.source(), update).sums);
    CompiledNet net(line());
    std::vector<std::map<std::string, double>> sums;
    net.executable().train(net.source(), updates_from(0), [&](const auto& result) { sums.push_back(result.sums); });
    EXPECT_EQ(sums, expected);
    expect_same_bits(stored_variables(net.executable()), stored_variables(single.executable()));
}

TEST_P(IpuCall, ThatIsStoppedAndContinuedHasTheBitsOfTheUndisturbedOne) {
    CompiledNet whole(line());
    whole.executable().train(whole.source(), updates_from(0), [](const auto&) {});
    for (const int asked_until : {1, 3, 5, 8}) {
        SCOPED_TRACE(::testing::Message() << "stopped at question " << asked_until);
        int asked = 0;
        CompiledNet net(line([&] { return ++asked >= asked_until; }));
        std::int64_t complete = 0;
        backend::PartialUpdate partial;
        bool last_stops = false;
        net.executable().train(
            net.source(), updates_from(0),
            [&](const backend::StepResult& result) {
                EXPECT_FALSE(last_stops) << "a result after the stop";
                complete += result.counts ? 1 : 0;
                last_stops = result.stop_requested;
            },
            &partial);
        ASSERT_LT(complete, kUpdates);
        CompiledNet other(line());
        other.executable().load(stored_variables(net.executable()));
        skip(other.source(), complete * other.placement().micro_batches + partial.micro_batches);
        other.executable().train(
            other.source(), updates_from(complete), [](const auto&) {}, &partial);
        expect_same_bits(stored_variables(other.executable()), stored_variables(whole.executable()));
    }
}

INSTANTIATE_TEST_SUITE_P(All, IpuCall,
                         ::testing::Values("--precision 32.32", "--precision 16.16", "--precision 16.16 --replicas 2",
                                           "--precision 16.16 " + kTwo + "Grouped"));

}  // namespace
}  // namespace cnntrain::run::testing
