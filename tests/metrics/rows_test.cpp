#include "cnntrain/metrics/rows.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cnntrain::metrics {
namespace {

TrainingRow training_row() {
    return {.step = 97,
            .iteration = 194,
            .epoch = 0.12416,
            .lr = 0.5,
            .loss_batch = 1.5,
            .loss_avg = 1.7254123456789012,
            .train_acc_batch = 40,
            .train_acc_avg = 36.4321,
            .it_time = 0.0123456789,
            .img_per_sec = 2592.0000235,
            .total_time = 12.34};
}

ValidationRow validation_row() {
    return {.name = "ckpt-15625",
            .iteration = 15625,
            .epoch = 10,
            .val_acc = 84.5678,
            .raw_acc = 84.5678,
            .val_time = 1.25,
            .val_size = 10000,
            .img_per_sec = 8000,
            .latency = -1};
}

TEST(Rows, PrintedTrainingLine) {
    EXPECT_EQ(printed(training_row()),
              "step:     97, iteration:    194, epoch:   0.12, lr:    0.5, loss:  1.725, top-1 accuracy: 36.432 %, "
              "throughput: 2592.00 samples/sec, time: 0.012346, total_time:     12.3");
}

TEST(Rows, PrintedRates) {
    TrainingRow row = training_row();
    const auto lr_part = [&](double lr) {
        row.lr = lr;
        const std::string line = printed(row);
        return line.substr(line.find("lr:"), line.find(", loss") - line.find("lr:"));
    };
    EXPECT_EQ(lr_part(0.0005), "lr: 0.0005");
    EXPECT_EQ(lr_part(0.0756551), "lr: 0.07566");
    EXPECT_EQ(lr_part(1e-5), "lr:  1e-05");
}

TEST(Rows, PrintedValidationLine) {
    EXPECT_EQ(printed(validation_row()),
              "Validation top-1 accuracy: 84.568 % [ckpt-15625] (iteration:  15625, epoch:  10.00, throughput: 8000.00 "
              "samples/sec, time: 1.250000, latency avg:  -1.0000 ms)");
}

TEST(Rows, PrintedInferenceLines) {
    InferenceRow row;
    row.name = "ckpt-5";
    row.iteration = 5;
    row.epoch = 0.25;
    row.val_acc = 12.5;
    row.inference_time = 1.5;
    row.img_per_sec = 800;
    row.latencies = {1.25, 2.5, 3.75, 5};
    EXPECT_EQ(
        printed(row.latencies),
        "latency avg:   1.2500 ms, latency 99p:   2.5000 ms, latency 99p9:   3.7500 ms, latency max:   5.0000 ms");
    EXPECT_EQ(printed(row),
              "Validation top-1 accuracy [ckpt-5] (iteration:      5, epoch:   0.25, throughput: 800.00 samples/sec, "
              "time: 1.500000, latency avg:   1.2500 ms: 12.500%");
    EXPECT_EQ(csv_header(record(row)),
              "name,iteration,epoch,val_acc,inference_time,num_processed_samples,img_per_sec,latency");
    EXPECT_EQ(csv_row(record(row)), "ckpt-5,5,0.25,12.5,1.5,0,800,1.25");
}

TEST(Rows, CsvColumns) {
    EXPECT_EQ(
        csv_header(record(TrainingRow())),
        "step,iteration,epoch,lr,loss_batch,loss_avg,train_acc_batch,train_acc_avg,it_time,img_per_sec,total_time");
    EXPECT_EQ(csv_header(record(ValidationRow())),
              "name,iteration,epoch,val_acc,raw_acc,val_time,val_size,img_per_sec,latency");
}

TEST(Rows, CsvHasAllDigits) {
    EXPECT_EQ(csv_row(record(training_row())),
              "97,194,0.12416,0.5,1.5,1.7254123456789012,40,36.4321,0.0123456789,2592.0000235,12.34");
    EXPECT_EQ(csv_row(record(validation_row())), "ckpt-15625,15625,10,84.5678,84.5678,1.25,10000,8000,-1");
    TrainingRow row = training_row();
    row.loss_avg = std::nan("");
    EXPECT_NE(csv_row(record(row)).find(",nan,"), std::string::npos);
}

TEST(Rows, CsvQuotesAwkwardNames) {
    ValidationRow row = validation_row();
    row.name = "a,\"b\"";
    EXPECT_EQ(csv_row(record(row)).substr(0, 10), "\"a,\"\"b\"\"\",");
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
