#include "train/reports/estimator_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <string_view>
#include <utility>

#include "cnntrain/base/clock_text.h"
#include "cnntrain/base/error.h"
#include "cnntrain/train/runs.h"

namespace cnntrain::train {
namespace {

template <typename T> const T& field_of(const metrics::Record& row, std::string_view name) {
    const auto found = std::ranges::find(row.fields, name, &metrics::Field::name);
    CNNTRAIN_CHECK(found != row.fields.end(), "a validation row has no column " + std::string(name));
    return std::get<T>(found->value);
}

/// Formats a float32 like NumPy: the shortest digits, always with a decimal point.
std::string float_text(double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<float>(value)).ptr;
    std::string text(digits.data(), end);
    const bool whole = text.find_first_not_of("-0123456789") == std::string::npos;
    return whole ? text + ".0" : text;
}

/// The time in UTC, as in the original.
std::string time_text() {
    return clock_text("%Y-%m-%d-%H:%M:%S", std::time(nullptr), Zone::utc);
}

double sum_of_squares(const HostTensor& tensor) {
    double sum = 0;
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        sum += tensor.at(i) * tensor.at(i);
    return sum;
}

/// A file has no types, only names: a slot is named after its variable plus one part.
bool is_decayed(const std::string& name, const std::map<std::string, HostTensor>& tensors) {
    constexpr std::string_view kOfNorms[] = {"beta", "gamma", "moving_"};
    const bool slot = tensors.contains(name.substr(0, name.rfind('/')));
    return !slot &&
           std::ranges::none_of(kOfNorms, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

}  // namespace

double weight_loss(const std::map<std::string, HostTensor>& tensors, double weight_decay) {
    double sum = 0;
    for (const auto& [name, tensor] : tensors) {
        if (is_decayed(name, tensors)) sum += sum_of_squares(tensor);
    }
    return weight_decay / 2 * sum;
}

EstimatorLog::EstimatorLog(double weight_decay, std::vector<checkpoint::Found> checkpoints, checkpoint::Edited edited,
                           const FileSystem& files, metrics::Observer& console)
    : weight_decay_(weight_decay),
      checkpoints_(std::move(checkpoints)),
      edited_(edited),
      files_(files),
      console_(console) {}

void EstimatorLog::progress(const metrics::Progress& progress) {
    constexpr std::int64_t kParts = 10;
    const std::int64_t interval = progress.total < 2 * kParts ? 1 : progress.total / kParts;
    if (progress.done % interval != 0 && progress.done != progress.total) return;
    console_.console_line("Evaluation [" + std::to_string(progress.done) + "/" + std::to_string(progress.total) + "]");
}

void EstimatorLog::row(const metrics::Record& row) {
    if (row.table != metrics::kValidation) return;
    const auto found = std::ranges::find(checkpoints_, field_of<std::string>(row, "name"), &checkpoint::Found::name);
    CNNTRAIN_CHECK(found != checkpoints_.end(), "a row of another checkpoint than those that are evaluated");
    const checkpoint::Checkpoint checkpoint = checkpoint::load(files_, found->path, edited_);
    const std::string top_1 = float_text(field_of<double>(row, kTop1Column) / 100);
    const std::string top_5 = float_text(field_of<double>(row, kTop5Column) / 100);
    const std::string loss =
        float_text(field_of<double>(row, kValidationLossColumn) + weight_loss(checkpoint.tensors, weight_decay_));
    const std::string step = std::to_string(row.iteration);
    console_.console_line("Finished evaluation at " + time_text());
    console_.console_line("Saving dict for global step " + step + ": Top-1 accuracy = " + top_1 +
                          ", Top-5 accuracy = " + top_5 + ", global_step = " + step + ", loss = " + loss);
    console_.console_line("Eval results: {'Top-1 accuracy': " + top_1 + ", 'loss': " + loss +
                          ", 'Top-5 accuracy': " + top_5 + ", 'global_step': " + step + "}");
}

}  // namespace cnntrain::train
