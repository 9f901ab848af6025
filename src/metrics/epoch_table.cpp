#include "metrics/epoch_table.h"

#include <algorithm>
#include <utility>

#include "cnntrain/base/text.h"

namespace cnntrain::metrics {
namespace {

constexpr std::size_t kCellWidth = 8;

const Field& field(const Record& row, std::string_view name) {
    return *std::ranges::find(row.fields, name, &Field::name);
}

double number(const Field& field) {
    const double* const value = std::get_if<double>(&field.value);
    return value != nullptr ? *value : 0;
}

std::string text_of(const Field& field) {
    return formatted(field.percent ? "%.2f %%" : "%.4f", number(field));
}

/// At the right of its column.
std::string cell(const std::string& head, const std::string& text) {
    const std::size_t width = std::max(head.size(), kCellWidth);
    return "  " + std::string(width - std::min(width, text.size()), ' ') + text;
}

}  // namespace

void EpochTable::add_training(const Record& row) {
    const double epoch = number(field(row, "epoch"));
    is_due_ = epoch >= shown_ + 1;
    epoch_ = epoch;
    training_.clear();
    const auto loss = std::ranges::find_if(row.fields, [](const Field& field) { return !field.label.empty(); });
    if (loss != row.fields.end()) training_.push_back({"train " + loss->label, text_of(*loss)});
}

void EpochTable::add_validation(const Record& row) {
    epoch_ = number(field(row, "epoch"));
    is_due_ = true;
    validation_.clear();
    for (const Field& field : row.fields) {
        if (field.label.empty()) continue;
        const bool is_loss = field.label == "loss";
        const auto place = is_loss ? validation_.begin() : validation_.end();
        validation_.insert(place, {is_loss ? "val loss" : field.label, text_of(field)});
    }
}

std::string EpochTable::row(const Progress& progress, bool is_best) {
    constexpr std::string_view kEpoch = "   epoch";
    is_due_ = false;
    shown_ = epoch_;
    std::string head(kEpoch);
    std::string line = formatted("%8.2f", epoch_);
    const double left = seconds_left(progress);
    std::vector<Cell> cells = training_;
    cells.insert(cells.end(), validation_.begin(), validation_.end());
    if (progress.done > 0) {
        cells.push_back({std::string(progress.rate_unit) + "/s", formatted("%.1f", progress.rate)});
        cells.push_back({"left", left < 0 ? "" : duration_text(left)});
    }
    for (const auto& [name, text] : cells) {
        head += cell(name, name);
        line += cell(name, text);
    }
    if (is_best) line += "  best";
    for (Cell& cell : validation_)
        cell.text.clear();
    return std::exchange(head_, head) == head ? line : head + "\n" + line;
}

std::string validation_text(const Record& row) {
    std::string text = std::get<std::string>(field(row, "name").value);
    text += formatted(" (epoch %.2f)", number(field(row, "epoch")));
    char before = ':';
    for (const Field& field : row.fields) {
        if (field.label.empty()) continue;
        text += before + (" " + field.label) + " " + text_of(field);
        before = ',';
    }
    const auto rate =
        std::ranges::find_if(row.fields, [](const Field& field) { return field.name.ends_with("_per_sec"); });
    const std::string unit = rate->name.substr(0, rate->name.find('_'));
    return text + before + formatted(" %.1f ", number(*rate)) + unit + "/s";
}

}  // namespace cnntrain::metrics
