#include <algorithm>
#include <cmath>
#include <map>

#include "cnntrain/report/findings.h"
#include "report/percent.h"

namespace cnntrain::report {

namespace {

constexpr Measure kMeasures[] = {
    {"Loss", "loss", "val_loss"},
    {"Accuracy", "train_acc", "val_acc", 1, " %", true},
    {"Top-5 accuracy", "", "val_top5_acc", 1, " %", true},
    {"Balanced accuracy", "", "balanced_acc", 1, " %", true},
    {"Loss of masked words", "mlm_loss", "mlm_loss"},
    {"Accuracy of masked words", "mlm_acc", "mlm_acc", kPercent, " %", true},
    {"Loss of next sentences", "nsp_loss", "nsp_loss"},
    {"Accuracy of next sentences", "nsp_acc", "nsp_acc", kPercent, " %", true},
};

/// Means of host steps, not over the last epoch.
std::string batch_column(const Measure& measure) {
    return std::string(measure.training) + "_batch";
}

/// The place of a row: its epoch, in rows of early versions its iteration.
double place_of(const Table& table, std::size_t row) {
    const double epoch = table.number(row, "epoch");
    return std::isnan(epoch) ? table.number(row, "iteration") : epoch;
}

bool is_average(std::string_view name) {
    return name.starts_with("weight_avg");
}

}  // namespace

std::vector<Measure> measures_of(const RunRecord& run) {
    std::vector<Measure> result;
    for (const Measure& measure : kMeasures) {
        const bool trained = !measure.training.empty() && run.training.has(batch_column(measure));
        const bool validated = !measure.validation.empty() && run.validation.has(measure.validation);
        if (trained || validated) result.push_back(measure);
    }
    return result;
}

std::string rate_column(const RunRecord& run) {
    for (const char* const unit : {"img", "seq", "row", "text"}) {
        std::string column = std::string(unit) + "_per_sec";
        if (run.training.has(column) || run.validation.has(column)) return column;
    }
    return "";
}

Curve validation_curve(const RunRecord& run, const Measure& measure, Validated which) {
    std::map<double, std::pair<double, double>> points;  // by iteration
    for (std::size_t row = 0; row < run.validation.rows(); ++row) {
        if (is_average(run.validation.text(row, "name")) != (which == Validated::average)) continue;
        const double iteration = run.validation.number(row, "iteration");
        const double value = run.validation.number(row, measure.validation);
        if (std::isnan(iteration) || run.validation.text(row, measure.validation).empty()) continue;
        points[iteration] = {place_of(run.validation, row), measure.scale * value};
    }
    Curve curve;
    for (const auto& [iteration, point] : points) {
        curve.x.push_back(point.first);
        curve.y.push_back(point.second);
    }
    return curve;
}

Curve training_column(const RunRecord& run, std::string_view column) {
    Curve curve;
    for (std::size_t row = 0; row < run.training.rows(); ++row) {
        const double place = place_of(run.training, row);
        if (std::isnan(place) || run.training.text(row, column).empty()) continue;
        if (!curve.empty() && place < curve.x.back()) continue;
        curve.x.push_back(place);
        curve.y.push_back(run.training.number(row, column));
    }
    return curve;
}

Curve training_curve(const RunRecord& run, const Measure& measure) {
    if (measure.training.empty()) return {};
    Curve curve = training_column(run, batch_column(measure));
    for (double& value : curve.y)
        value *= measure.scale;
    return curve;
}

}  // namespace cnntrain::report
