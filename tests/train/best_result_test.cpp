// The record of the best validation, and the counts of classes.
#include "run/monitor.h"

#include <gtest/gtest.h>

#include <limits>

#include "cnntrain/run/task.h"
#include "run/reports/predictions.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::run {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(BestResult, OfAnAccuracyIsTheFirstOfTheHighest) {
    BestResult result(Metric::accuracy);
    EXPECT_TRUE(result.add(50, 10));
    EXPECT_FALSE(result.add(50, 20));
    EXPECT_FALSE(result.add(49, 30));
    EXPECT_EQ(result.without_better(), 2);
    EXPECT_TRUE(result.add(51, 40));
    EXPECT_EQ(result.without_better(), 0);
    EXPECT_EQ(result.best()->iteration, 40);
    EXPECT_EQ(result.last(), 40);
}

TEST(BestResult, OfALossIsTheLowest) {
    BestResult result(Metric::loss);
    EXPECT_TRUE(result.add(2, 10));
    EXPECT_FALSE(result.add(3, 20));
    EXPECT_TRUE(result.add(1, 30));
}

TEST(BestResult, IsNeverNotANumber) {
    for (const Metric metric : {Metric::accuracy, Metric::loss}) {
        BestResult result(metric);
        EXPECT_FALSE(result.add(kNan, 10));
        EXPECT_FALSE(result.best());
        EXPECT_EQ(result.without_better(), 1);
        EXPECT_TRUE(result.add(1, 20));
        EXPECT_FALSE(result.add(kNan, 30));
        EXPECT_FALSE(result.add(
            metric == Metric::loss ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity(),
            40));
        EXPECT_EQ(result.best()->iteration, 20);
        EXPECT_EQ(result.without_better(), 2);
    }
}

TEST(BestResult, GoesOnExactly) {
    BestResult result(Metric::balanced_accuracy);
    BestResult empty(Metric::balanced_accuracy);
    EXPECT_TRUE(empty.restore(result.state()));
    EXPECT_FALSE(empty.best());
    result.add(100.0 / 3, 10);
    result.add(kNan, 20);
    BestResult other(Metric::balanced_accuracy);
    EXPECT_TRUE(other.restore(result.state()));
    EXPECT_EQ(other.state(), result.state());
    EXPECT_EQ(other.best(), result.best());
    EXPECT_EQ(other.without_better(), 1);
    BestResult by_loss(Metric::loss);
    EXPECT_FALSE(by_loss.restore(result.state())) << "another metric";
    EXPECT_FALSE(by_loss.best());
    EXPECT_EQ(by_loss.last(), 20);
    for (const char* damaged : {"", "{}", "[1]", R"({"last": "x"})"})
        EXPECT_THAT(test::message_of(ErrorKind::data, [&] { other.restore(damaged); }), HasSubstr("damaged"));
}

TEST(ClassCounts, CountSamplesAndPredictionsOfEachClass) {
    ClassCounts counts;
    const HostTensor logits = HostTensor::of<float>({5, 3}, {3, 1, 2, 0, 5, 5, 1, 0, 2, 9, 9, 9, 1, 2, 3});
    const std::vector<std::int32_t> labels = {0, 1, 0, 2, -1};  // the last sample is padding
    counts.add(logits, labels);
    counts.add(logits.cast(DType::bf16), std::vector<std::int32_t>{0});
    ASSERT_EQ(counts.classes().size(), 3U);
    EXPECT_EQ(counts.numbers(3), (std::vector<double>{3, 2, 3, 1, 1, 1, 1, 0, 1}));
    metrics::Sums sums;
    counts.add_recalls(sums);
    EXPECT_DOUBLE_EQ(sums.at(kRecallSum), 2.0 / 3 + 1);
    EXPECT_EQ(sums.at(kClassesSeen), 3);
}

TEST(ClassCounts, LeaveClassesWithoutSamplesOutOfTheMean) {
    const ClassCounts counts = ClassCounts::of(std::vector<double>{4, 1, 4, 0, 0, 0});
    metrics::Sums sums;
    counts.add_recalls(sums);
    EXPECT_EQ(sums.at(kRecallSum), 0.25);
    EXPECT_EQ(sums.at(kClassesSeen), 1);
    EXPECT_EQ(ClassCounts().numbers(2), std::vector<double>(6)) << "a process without samples";
}

TEST(ClassCounts, AreRowsOfATable) {
    metrics::ValidationRow row;
    row.name = "ckpt-20";
    row.iteration = 20;
    const std::string rows = class_table_rows(row, ClassCounts::of(std::vector<double>{3, 1, 2, 0, 0, 1}), {"a,b", "c"},
                                              class_table_header());
    EXPECT_EQ(rows,
              "ckpt-20,20,0,\"a,b\",3,1,2,33.3333,50.0000,33.3333,40.0000\r\n"
              "ckpt-20,20,1,c,0,0,1,,0.0000,,0.0000\r\n");
    const std::string earlier = "name,iteration,class,label,samples,correct,predicted,accuracy";
    EXPECT_EQ(class_table_header(), earlier + ",precision,recall,f1\r\n");
    EXPECT_EQ(class_table_rows(row, ClassCounts::of(std::vector<double>{3, 1, 2}), {}, earlier),
              "ckpt-20,20,0,,3,1,2,33.3333\r\n");
}

}  // namespace
}  // namespace cnntrain::run
