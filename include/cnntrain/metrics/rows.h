// The rows of training.csv and validation.csv, and the printed lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cnntrain::metrics {

/// One log line of a training run. Accuracies in percent, times in seconds.
struct TrainingRow {
    std::int64_t step = 0;
    std::int64_t iteration = 0;
    double epoch = 0;
    double lr = 0;
    double loss_batch = 0;  // of the host step
    double loss_avg = 0;    // of the last epoch's host steps
    double train_acc_batch = 0;
    double train_acc_avg = 0;
    double it_time = 0;
    double img_per_sec = 0;
    double total_time = 0;
};

struct ValidationRow {
    std::string name;
    std::int64_t iteration = 0;
    double epoch = 0;
    double val_acc = 0;
    double raw_acc = 0;
    double val_time = 0;
    std::int64_t val_size = 0;
    double img_per_sec = 0;
    double latency = -1;  // ms; -1: not measured
};

std::string_view csv_header(const TrainingRow&);
std::string_view csv_header(const ValidationRow&);
/// Numbers with as many digits as reading them back exactly needs. No line end.
std::string csv_row(const TrainingRow& row);
std::string csv_row(const ValidationRow& row);

std::string printed(const TrainingRow& row);
std::string printed(const ValidationRow& row);

std::string compilation_line(double seconds);
std::string initial_checkpoint_line(std::string_view prefix);
std::string checkpoint_line(std::string_view prefix, double seconds);
std::string restoring_line(std::string_view prefix);
std::string skipped_validation_line(std::string_view name);
std::string loop_completed_line(double seconds);
std::string time_to_train_line(double seconds);

}  // namespace cnntrain::metrics
