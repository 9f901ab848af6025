// Metrics from output: which matches count, how they are reduced, and what is said when there are none.
#include "launch/benchmark/measure.h"

#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::benchmark::testing {
namespace {

constexpr const char* kRate = R"(throughput: *(.*?) samples\/sec,)";
const std::string kOutput =
    "throughput: 100.0 samples/sec, a\nthroughput: 300 samples/sec, b\nnothing\nthroughput: 200 samples/sec, c\n"
    "throughput: 400 samples/sec, throughput: 250 samples/sec,\n";

Measured rate(std::int64_t skip, Reduction reduction = Reduction::mean, double scale = 1) {
    return measure({"throughput", kRate, skip, reduction}, {kOutput, ""}, scale);
}

TEST(Measure, TheMeanLeavesOutTheSmallest) {
    EXPECT_NEAR(*rate(2).value, 950.0 / 3, 1e-9);
    EXPECT_EQ(*rate(0).value, 250.0);
    EXPECT_EQ(*rate(1, Reduction::mean, 4).value, 1150.0);
    EXPECT_THAT(rate(0).values, ElementsAre(100, 300, 200, 400, 250));
    EXPECT_EQ(rate(0).mean_after_first, 287.5);
}

TEST(Measure, OfLatenciesTheLargestAreLeftOut) {
    const Output output{"latency avg: 1 ms\nlatency avg: 9 ms\nlatency avg: 3 ms\n", ""};
    EXPECT_EQ(measure({"latency", "latency avg: *(.*?) ms", 1, Reduction::mean}, output, 1).value, 2.0);
    EXPECT_EQ(measure({"latency_99p", "latency avg: *(.*?) ms", 1, Reduction::mean}, output, 1).value, 6.0);
}

TEST(Measure, OtherReductions) {
    EXPECT_EQ(rate(4, Reduction::final).value, 250.0);
    EXPECT_EQ(rate(0, Reduction::min).value, 100.0);
    EXPECT_EQ(rate(0, Reduction::value).value, 100.0);
}

TEST(Measure, StandardErrorComesAfterStandardOutput) {
    const Metric metric{"loss", R"(loss: *(\d*\.\d*))", 0, Reduction::final};
    EXPECT_EQ(measure(metric, {"loss: 1.5\n", "loss:  2.5,\n"}, 1).value, 2.5);
}

TEST(Measure, TooFewMatchesFail) {
    const Measured measured = rate(5);
    EXPECT_FALSE(measured.value);
    EXPECT_THAT(measured.failure, HasSubstr("5 values"));
}

TEST(Measure, WhatIsNoNumberFails) {
    const Measured word = measure({"loss", "loss: (.*)", 0, Reduction::mean}, {"loss: high\n", ""}, 1);
    EXPECT_FALSE(word.value);
    EXPECT_THAT(word.failure, HasSubstr("'high'"));
    const Measured nan =
        measure({"loss", R"(loss:\s*([\d\.]+|nan)\,)", 0, Reduction::final}, {"loss: nan,\nloss: 1.0,\n", ""}, 1);
    EXPECT_FALSE(nan.value);
    EXPECT_THAT(nan.failure, HasSubstr("nan"));
}

TEST(Measure, TheRateOfAnEmulatorIsRefused) {
    const Measured rate =
        measure({"throughput", kRate, 0, Reduction::mean}, {"throughput:   3.25 emulated samples/sec, a\n", ""}, 1);
    EXPECT_FALSE(rate.value);
    EXPECT_THAT(rate.failure, HasSubstr("'3.25 emulated'"));
}

TEST(Measure, NoMatchShowsTheNearestLine) {
    const Metric metric{"throughput", kRate, 0, Reduction::mean};
    const Measured near = measure(metric, {"step 1\nthroughput: 3 samples/sec\nstep 2\n", ""}, 1);
    EXPECT_THAT(near.failure, HasSubstr("nothing"));
    EXPECT_THAT(near.failure, HasSubstr("nearest line: throughput: 3 samples/sec"));
    const Measured far = measure(metric, {"a\nb\nlast words\n", ""}, 1);
    EXPECT_THAT(far.failure, HasSubstr("words"));
    EXPECT_THAT(measure(metric, {"", ""}, 1).failure, HasSubstr("output"));
    EXPECT_THAT(measure(metric, {std::string(5000, 'a') + "\n", ""}, 1).failure.size(), ::testing::Lt(500U));
    // A line with one of three words is not what was meant.
    const Measured other = measure({"rate", "images per second: (.*)", 0, Reduction::mean},
                                   {"Command line: train --ckpts-per-epoch 0\nthroughput: 3\n", ""}, 1);
    EXPECT_THAT(other.failure, HasSubstr("matches"));
}

TEST(Measure, EachInstanceHasItsOwnFirstValue) {
    const std::string output =
        "[1,0]<stdout>:throughput: 1 samples/sec,\n[1,1]<stdout>:throughput: 2 samples/sec,\n"
        "[1,0]<stdout>:throughput: 10 samples/sec,\n[1,1]<stdout>:throughput: 20 samples/sec,\n";
    EXPECT_EQ(measure({"throughput", kRate, 0, Reduction::mean}, {output, ""}, 1).mean_after_first, 15.0);
}

TEST(Measure, ALongLineIsNoDanger) {
    const std::string output = std::string(3'000'000, 'x') + "\n" + kOutput;
    EXPECT_EQ(measure({"throughput", kRate, 0, Reduction::mean}, {output, ""}, 1).value, 250.0);
}

TEST(Measure, PatternsOfTheReferenceAreRead) {
    for (const char* pattern :
         {R"(top-1 accuracy: *(.*?) \%)", R"(loss:\s*([\d\.]+|nan)\,)", "latency avg: *(.*?) ms,"})
        EXPECT_EQ(pattern_mistake(pattern), "") << pattern;
    EXPECT_THAT(pattern_mistake("(a)(b)"), HasSubstr("has 2"));
    EXPECT_THAT(pattern_mistake("(a"), Not(IsEmpty()));
}

TEST(Derived, IsArithmetic) {
    EXPECT_EQ(arithmetic("1 + 2 * 3 - 4 / 2"), 5.0);
    EXPECT_EQ(arithmetic("-(2 + 3) * 2"), -10.0);
    EXPECT_EQ(arithmetic("2 ** 3 ** 2"), 512.0);
    EXPECT_EQ(arithmetic("1.5e2"), 150.0);
    for (const char* wrong : {"", "1 +", "(1", "1 2", "two", "__import__('os')", "inf", "1 / nan"})
        EXPECT_THAT(message_of(ErrorKind::data, [&] { arithmetic(wrong); }), Not(IsEmpty())) << wrong;
}

TEST(Derived, TakesMetricsAndParameters) {
    const DerivedMetric metric{"per_device", "{throughput} / {replicas}", Reduction::mean};
    EXPECT_EQ(derive(metric, {{"throughput", "100"}, {"replicas", "4"}}).value, 25.0);
    EXPECT_THAT(derive(metric, {{"throughput", "100"}}).failure, HasSubstr("per_device"));
    EXPECT_EQ(derive({"square", "{a} ** 2 / {a}"}, {{"a", "-2"}}).value, -2.0);
}

TEST(Derived, ReplacesEachNameOnce) {
    EXPECT_THAT(derive({.name = "d", .expression = "{a} + 1"}, {{"a", "{b}"}, {"b", "2"}}).failure,
                HasSubstr("expression"));
    EXPECT_EQ(derive({.name = "d", .expression = "{a} ** 2"}, {{"a", "-2"}}).value, 4);
}

TEST(Derived, IsNotNestedWithoutEnd) {
    const auto failure = [](const std::string& expression) {
        return derive({.name = "d", .expression = expression}, {}).failure;
    };
    EXPECT_THAT(failure(std::string(100'000, '(') + "1" + std::string(100'000, ')')), Not(IsEmpty()));
    EXPECT_THAT(failure(std::string(100'000, '-') + "1"), Not(IsEmpty()));
    EXPECT_THAT(failure(std::string(50, '(') + "1" + std::string(50, ')')), ::testing::IsEmpty());
}

TEST(Derived, MustBeFinite) {
    const DerivedMetric metric{"rate", "1 / {seconds}", Reduction::mean};
    const Measured measured = derive(metric, {{"seconds", "0.0"}});
    EXPECT_FALSE(measured.value);
    EXPECT_EQ(measured.failure, "rate: 1 / {seconds}, here 1 / (0.0), is not a finite number");
    EXPECT_THAT(derive(metric, {{"seconds", "inf"}}).failure, HasSubstr("'1 / (inf)'"));
}

TEST(CompileTime, IsThePrograms) {
    EXPECT_EQ(compile_seconds({"Compilation time: 1.250s.\n[1,1]<stdout>:Compilation time: 2.5s.\n", ""}), 2.5);
    EXPECT_FALSE(compile_seconds({"nothing", ""}));
}

}  // namespace
}  // namespace cnntrain::benchmark::testing
