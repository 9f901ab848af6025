#include "train/runs/class_counts.h"

#include <algorithm>
#include <cmath>

#include "cnntrain/base/csv.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/format.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {
namespace {

constexpr std::size_t kNumbersOfClass = 3;
constexpr const char* kLineEnd = "\r\n";

std::string whole(double count) {
    return std::to_string(std::llround(count));
}

/// "" without a whole.
std::string percent(double part, double whole) {
    return whole > 0 ? formatted("%.4f", 100 * part / whole) : "";
}

}  // namespace

void ClassCounts::add(const HostTensor& logits, std::span<const std::int32_t> labels) {
    if (logits.dtype() != DType::f32) return add(logits.cast(DType::f32), labels);
    const auto classes = static_cast<std::size_t>(logits.shape().at(1));
    const auto values = logits.as<float>();
    CNNTRAIN_CHECK(labels.size() * classes <= values.size(), "there are more labels than logits");
    classes_.resize(classes);
    for (std::size_t n = 0; n < labels.size(); ++n) {
        if (labels[n] < 0 || static_cast<std::size_t>(labels[n]) >= classes) continue;
        const auto own = values.subspan(n * classes, classes);
        const auto predicted = static_cast<std::size_t>(std::ranges::max_element(own) - own.begin());
        const auto label = static_cast<std::size_t>(labels[n]);
        classes_[label].samples += 1;
        classes_[predicted].predicted += 1;
        if (predicted == label) classes_[label].correct += 1;
    }
}

std::vector<double> ClassCounts::numbers(std::size_t classes) const {
    std::vector<double> result;
    result.reserve(kNumbersOfClass * classes);
    for (std::size_t c = 0; c < classes; ++c) {
        const ClassCount count = c < classes_.size() ? classes_[c] : ClassCount{};
        result.insert(result.end(), {count.samples, count.correct, count.predicted});
    }
    return result;
}

ClassCounts ClassCounts::of(std::span<const double> numbers) {
    ClassCounts result;
    for (std::size_t i = 0; i + kNumbersOfClass <= numbers.size(); i += kNumbersOfClass)
        result.classes_.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
    return result;
}

void ClassCounts::add_recalls(metrics::Sums& sums) const {
    double recalls = 0;
    double seen = 0;
    for (const ClassCount& count : classes_) {
        if (count.samples == 0) continue;
        recalls += count.correct / count.samples;
        seen += 1;
    }
    sums[kRecallSum] = recalls;
    sums[kClassesSeen] = seen;
}

std::string class_table_header() {
    return std::string("name,iteration,class,label,samples,correct,predicted,accuracy,precision,recall,f1") + kLineEnd;
}

std::string class_table_rows(const metrics::ValidationRow& row, const ClassCounts& counts,
                             const std::vector<std::string>& names, std::string_view header) {
    std::string text;
    const auto columns = static_cast<std::size_t>(std::ranges::count(header, ',')) + 1;
    for (std::size_t c = 0; c < counts.classes().size(); ++c) {
        const ClassCount& count = counts.classes()[c];
        const std::string recall = percent(count.correct, count.samples);
        std::vector<std::string> cells = {csv_field(row.name),
                                          std::to_string(row.iteration),
                                          std::to_string(c),
                                          c < names.size() ? csv_field(names[c]) : "",
                                          whole(count.samples),
                                          whole(count.correct),
                                          whole(count.predicted),
                                          recall,
                                          percent(count.correct, count.predicted),
                                          recall,
                                          percent(2 * count.correct, count.samples + count.predicted)};
        cells.resize(std::min(cells.size(), columns));
        text += joined(cells, ",") + kLineEnd;
    }
    return text;
}

}  // namespace cnntrain::train
