// The rows of training.csv and validation.csv, and the printed lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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

/// Of the timed calls of an inference measurement, in milliseconds.
struct Latencies {
    double mean = 0;
    double p99 = 0;  // percentiles, linear between neighbours
    double p99_9 = 0;
    double max = 0;
};

/// One inference measurement.
struct InferenceRow {
    std::string name;
    std::int64_t iteration = 0;
    double epoch = 0;
    double val_acc = -1;  // percent; -1: the images have no labels
    double inference_time = 0;
    std::int64_t num_processed_samples = 0;
    double img_per_sec = 0;
    Latencies latencies = {};
};

/// Of one checkpoint.
struct NanRow {
    std::int64_t iteration = 0;
    std::int64_t nan_count = 0;
    std::int64_t nan_variables = 0;  // that have one
};

/// A row as named columns, in the order of the CSV file.
struct Field {
    std::string_view name;
    std::variant<std::int64_t, double, std::string> value;
};
struct Record {
    std::string_view table;  // "training", "validation", "inference", "nans"
    std::int64_t iteration = 0;
    std::vector<Field> fields;
};
Record record(const TrainingRow& row);
Record record(const ValidationRow& row);
Record record(const InferenceRow& row);
Record record(const NanRow& row);

std::string csv_header(const Record& record);
/// Numbers with as many digits as reading them back exactly needs. No line end.
std::string csv_row(const Record& record);

std::string printed(const TrainingRow& row);
std::string printed(const ValidationRow& row);
std::string printed(const InferenceRow& row);
std::string printed(const Latencies& latencies);

std::string compilation_line(double seconds);
std::string initial_checkpoint_line(std::string_view prefix);
std::string checkpoint_line(std::string_view prefix, double seconds);
std::string restoring_line(std::string_view prefix);
std::string skipped_validation_line(std::string_view name);
std::string loop_completed_line(double seconds);
std::string time_to_train_line(double seconds);

}  // namespace cnntrain::metrics
