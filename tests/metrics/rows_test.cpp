#include "cnntrain/run/rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/metric_rows.h"

namespace cnntrain::metrics {
namespace {

const Columns kColumns = {
    .unit = {"image", "images", "img"},
    .training = {{.name = "loss", .output = "loss"}, {.name = "train_acc", .output = "correct", .scale = 100}},
    .validation = {{.name = "val_acc", .output = "correct", .scale = 100}},
    .inference = {{.name = "val_acc", .output = "correct", .scale = 100}},
};

TEST(Rows, Inference) {
    InferenceRow row;
    row.name = "ckpt-5";
    row.iteration = 5;
    row.epoch = 0.25;
    row.results = {12.5};
    row.inference_time = 1.5;
    row.samples_per_second = 800;
    row.latencies = {1.25, 2.5, 3.75, 5};
    EXPECT_EQ(
        printed(row.latencies),
        "latency avg:   1.2500 ms, latency 99p:   2.5000 ms, latency 99p9:   3.7500 ms, latency max:   5.0000 ms");
    EXPECT_EQ(csv_header(record(row, kColumns)),
              "name,iteration,epoch,val_acc,inference_time,num_processed_samples,img_per_sec,latency");
    EXPECT_EQ(csv_row(record(row, kColumns)), "ckpt-5,5,0.25,12.5,1.5,0,800,1.25");
}

TEST(Rows, TimesHaveTheIterationInTheSecondColumn) {
    UpdateTimes times{10, 2, 0.5, 0.25, 0.125, 3, 1, 0.75, 7};
    times += times;
    EXPECT_EQ(csv_row(record(times, 40)), "20,40,4,1,0.5,0.25,6,2,1.5,14");
    EXPECT_EQ(csv_row(record(RankTimes{3, 40, times})), "3,40,20,4,1,0.5,0.25,6,2,1.5,14");
    EXPECT_EQ(csv_header(record(RankTimes{})).find("rank,iteration,updates,update_seconds,"), 0U);
}

TEST(Rows, CsvColumnsAreThoseOfTheTask) {
    EXPECT_EQ(
        csv_header(record(testing::training_row(), kColumns)),
        "step,iteration,epoch,lr,loss_batch,loss_avg,train_acc_batch,train_acc_avg,it_time,img_per_sec,total_time");
    EXPECT_EQ(csv_header(record(testing::validation_row({84.5678}), kColumns)),
              "name,iteration,epoch,val_acc,val_time,val_size,img_per_sec,latency");
    EXPECT_EQ(csv_header(record(TrainingRow(), {.unit = {"point", "points", "pt"}})),
              "step,iteration,epoch,lr,it_time,pt_per_sec,total_time");
}

TEST(Rows, LaterColumnsStandBehindTheDocumentedOnes) {
    Columns columns = kColumns;
    columns.validation.insert(columns.validation.begin(), {.name = "top5", .output = "five", .at_end = true});
    const Record row = record(testing::validation_row({92.5, 84.5}), columns);
    EXPECT_EQ(csv_header(row), "name,iteration,epoch,val_acc,val_time,val_size,img_per_sec,latency,top5");
    EXPECT_EQ(csv_row(row), "ckpt-15625,15625,10,84.5,1.25,10000,8000,-1,92.5");
    EXPECT_EQ(row.later_fields, 1);
    EXPECT_EQ(record(testing::validation_row({84.5}), kColumns).later_fields, 0);
}

TEST(Rows, PlannedColumnsFollowTheWeightUpdates) {
    Columns columns = kColumns;
    columns.tags["half"] = "half of it";
    columns.planned = {{"half", [](std::int64_t updates) { return 0.5 * static_cast<double>(updates); }}};
    const Record row = record(testing::training_row(), columns);
    EXPECT_EQ(csv_header(row), csv_header(record(testing::training_row(), kColumns)) + ",half");
    EXPECT_EQ(row.fields.back().value, (std::variant<std::int64_t, double, std::string>(97.0)));
    EXPECT_EQ(row.fields.back().tag, "half of it");
    EXPECT_EQ(row.later_fields, 1);
}

TEST(Rows, ATaskMayNumberItsStepsItself) {
    Columns columns = kColumns;
    columns.position = [](const TrainingRow& row) { return Position{row.iteration - 1, 0.25}; };
    const Record row = record(testing::training_row(), columns);
    EXPECT_EQ(csv_row(row).substr(0, 13), "193,194,0.25,");
    EXPECT_EQ(row.iteration, 194);
    EXPECT_EQ(row.curve_step, 193);
    EXPECT_EQ(record(testing::training_row(), kColumns).curve_step, std::nullopt);
}

TEST(Rows, CsvHasAllDigits) {
    EXPECT_EQ(csv_row(record(testing::training_row(), kColumns)),
              "97,194,0.12416,0.5,1.5,1.7254123456789012,40,36.4321,0.0123456789,2592.0000235,12.34");
    EXPECT_EQ(csv_row(record(testing::validation_row({84.5678}), kColumns)),
              "ckpt-15625,15625,10,84.5678,1.25,10000,8000,-1");
    TrainingRow row = testing::training_row();
    row.results[0].average = std::nan("");
    EXPECT_NE(csv_row(record(row, kColumns)).find(",nan,"), std::string::npos);
}

TEST(Rows, TheLearningRateIsTheOneOf32Bits) {
    const auto lr = [](double value) {
        TrainingRow row = testing::training_row();
        row.lr = value;
        const std::string text = csv_row(record(row, kColumns)).substr(std::string("97,194,0.12416,").size());
        return text.substr(0, text.find(','));
    };
    EXPECT_EQ(lr(0.5 * 0.1 * 0.1 * 0.1), "0.0005");  // 0.0005000000000000001 in 64 bits
    EXPECT_EQ(lr(0.1), "0.1");
    EXPECT_EQ(lr(1.0 / 3), "0.33333334");
    EXPECT_EQ(lr(1e-5), "1e-05");
    EXPECT_EQ(lr(0), "0");
}

TEST(Rows, CsvQuotesAwkwardNames) {
    ValidationRow row = testing::validation_row({84.5678});
    row.name = "a,\"b\"";
    EXPECT_EQ(csv_row(record(row, kColumns)).substr(0, 10), "\"a,\"\"b\"\"\",");
}

TEST(Rows, OtherLines) {
    EXPECT_EQ(compilation_line(0.51234), "Compilation time: 0.512s.");
    EXPECT_EQ(initial_checkpoint_line("logs/x/ckpt-0"), "Saved initial checkpoint to logs/x/ckpt-0");
    EXPECT_EQ(checkpoint_line("logs/x/ckpt-9", 0.25), "Saved checkpoint to logs/x/ckpt-9 in 0.250s");
    EXPECT_EQ(restoring_line("logs/x/ckpt-9"), "Restoring training from latest checkpoint: logs/x/ckpt-9");
    EXPECT_EQ(skipped_validation_line("ckpt-9"), "Skipping validation run on checkpoint: ckpt-9");
    EXPECT_EQ(loop_completed_line(12.3456), "Training loop completed in 12.346s.");
    EXPECT_EQ(time_to_train_line(20), "Time to train: 20.000s.");
}

}  // namespace
}  // namespace cnntrain::metrics
