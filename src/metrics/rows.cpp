#include "cnntrain/metrics/rows.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "cnntrain/base/csv.h"

namespace cnntrain::metrics {
namespace {

class CsvRow {
public:
    CsvRow& add(std::int64_t value) { return add_raw(std::to_string(value)); }

    CsvRow& add(double value) {
        std::array<char, 32> text{};
        const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
        return add_raw(std::string(text.data(), end));
    }

    CsvRow& add(const std::string& value) { return add_raw(csv_field(value)); }

    const std::string& text() const { return text_; }

private:
    CsvRow& add_raw(const std::string& field) {
        if (!first_) text_ += ',';
        first_ = false;
        text_ += field;
        return *this;
    }

    std::string text_;
    bool first_ = true;
};

template <typename... Args> std::string format(const char* pattern, Args... args) {
    const int length = std::snprintf(nullptr, 0, pattern, args...);
    std::string text(static_cast<std::size_t>(length) + 1, '\0');
    std::snprintf(text.data(), text.size(), pattern, args...);
    text.pop_back();
    return text;
}

long long wide(std::int64_t value) {
    return value;
}

std::string joined(const char* before, std::string_view name) {
    return std::string(before) + std::string(name);
}

}  // namespace

Record record(const TrainingRow& row) {
    return {"training",
            row.iteration,
            {{"step", row.step},
             {"iteration", row.iteration},
             {"epoch", row.epoch},
             {"lr", row.lr},
             {"loss_batch", row.loss_batch},
             {"loss_avg", row.loss_avg},
             {"train_acc_batch", row.train_acc_batch},
             {"train_acc_avg", row.train_acc_avg},
             {"it_time", row.it_time},
             {"img_per_sec", row.img_per_sec},
             {"total_time", row.total_time}}};
}

Record record(const ValidationRow& row) {
    return {"validation",
            row.iteration,
            {{"name", row.name},
             {"iteration", row.iteration},
             {"epoch", row.epoch},
             {"val_acc", row.val_acc},
             {"raw_acc", row.raw_acc},
             {"val_time", row.val_time},
             {"val_size", row.val_size},
             {"img_per_sec", row.img_per_sec},
             {"latency", row.latency}}};
}

Record record(const InferenceRow& row) {
    return {"inference",
            row.iteration,
            {{"name", row.name},
             {"iteration", row.iteration},
             {"epoch", row.epoch},
             {"val_acc", row.val_acc},
             {"inference_time", row.inference_time},
             {"num_processed_samples", row.num_processed_samples},
             {"img_per_sec", row.img_per_sec},
             {"latency", row.latencies.mean}}};
}

Record record(const NanRow& row) {
    return {"nans",
            row.iteration,
            {{"iteration", row.iteration}, {"nan_count", row.nan_count}, {"nan_variables", row.nan_variables}}};
}

std::string csv_header(const Record& record) {
    std::string header;
    for (const Field& field : record.fields) {
        if (!header.empty()) header += ',';
        header += field.name;
    }
    return header;
}

std::string csv_row(const Record& record) {
    CsvRow csv;
    for (const Field& field : record.fields) {
        std::visit([&](const auto& value) { csv.add(value); }, field.value);
    }
    return csv.text();
}

std::string printed(const TrainingRow& row) {
    return format(
        "step: %6lld, iteration: %6lld, epoch: %6.2f, lr: %6.4g, loss: %6.3f, top-1 accuracy: %6.3f %%, "
        "throughput: %6.2f samples/sec, time: %8.6f, total_time: %8.1f",
        wide(row.step), wide(row.iteration), row.epoch, row.lr, row.loss_avg, row.train_acc_avg, row.img_per_sec,
        row.it_time, row.total_time);
}

std::string printed(const ValidationRow& row) {
    return format(
        "Validation top-1 accuracy: %6.3f %% [%s] (iteration: %6lld, epoch: %6.2f, throughput: %6.2f samples/sec, "
        "time: %8.6f, latency avg: %8.4f ms)",
        row.val_acc, row.name.c_str(), wide(row.iteration), row.epoch, row.img_per_sec, row.val_time, row.latency);
}

/// The parenthesis is never closed: so the line has always been, and programs read it.
std::string printed(const InferenceRow& row) {
    return format(
        "Validation top-1 accuracy [%s] (iteration: %6lld, epoch: %6.2f, throughput: %6.2f samples/sec, time: %8.6f, "
        "latency avg: %8.4f ms: %6.3f%%",
        row.name.c_str(), wide(row.iteration), row.epoch, row.img_per_sec, row.inference_time, row.latencies.mean,
        row.val_acc);
}

std::string printed(const Latencies& latencies) {
    return format("latency avg: %8.4f ms, latency 99p: %8.4f ms, latency 99p9: %8.4f ms, latency max: %8.4f ms",
                  latencies.mean, latencies.p99, latencies.p99_9, latencies.max);
}

std::string compilation_line(double seconds) {
    return format("Compilation time: %.3fs.", seconds);
}

std::string initial_checkpoint_line(std::string_view prefix) {
    return joined("Saved initial checkpoint to ", prefix);
}

std::string checkpoint_line(std::string_view prefix, double seconds) {
    return joined("Saved checkpoint to ", prefix) + format(" in %.3fs", seconds);
}

std::string restoring_line(std::string_view prefix) {
    return joined("Restoring training from latest checkpoint: ", prefix);
}

std::string skipped_validation_line(std::string_view name) {
    return joined("Skipping validation run on checkpoint: ", name);
}

std::string loop_completed_line(double seconds) {
    return format("Training loop completed in %.3fs.", seconds);
}

std::string time_to_train_line(double seconds) {
    return format("Time to train: %.3fs.", seconds);
}

}  // namespace cnntrain::metrics
