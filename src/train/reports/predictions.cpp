#include "train/reports/predictions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "cnntrain/base/csv.h"

namespace cnntrain::train {

namespace {

std::string four_digits(double probability) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.4f", probability);
    return text.data();
}

}  // namespace

std::vector<ClassProbability> likeliest(const HostTensor& logits, std::int64_t row, std::int64_t count) {
    const std::int64_t classes = logits.shape().at(1);
    std::vector<ClassProbability> all;
    double largest = -INFINITY;
    for (std::int64_t c = 0; c < classes; ++c) {
        all.push_back({c, logits.at(row * classes + c)});
        largest = std::max(largest, all.back().probability);
    }
    double sum = 0;
    for (ClassProbability& item : all) {
        item.probability = std::exp(item.probability - largest);
        sum += item.probability;
    }
    for (ClassProbability& item : all) {
        item.probability /= sum;
    }
    std::stable_sort(all.begin(), all.end(), [](const ClassProbability& a, const ClassProbability& b) {
        return a.probability > b.probability;
    });
    if (static_cast<std::int64_t>(all.size()) > count) all.resize(static_cast<std::size_t>(count));
    return all;
}

std::string class_text(std::int64_t label, const std::vector<std::string>& names) {
    if (names.empty()) return std::to_string(label);
    return label < 0 ? "" : names.at(static_cast<std::size_t>(label));
}

std::string prediction_header(const std::string& unit, std::int64_t count) {
    std::string header = unit + ",label";
    for (std::int64_t i = 1; i <= count; ++i) {
        header += ",class_" + std::to_string(i) + ",probability_" + std::to_string(i);
    }
    return header;
}

std::string prediction_row(const std::string& sample, std::int64_t label, const std::vector<ClassProbability>& classes,
                           const std::vector<std::string>& names) {
    std::string row = csv_field(sample) + "," + csv_field(class_text(label, names));
    for (const ClassProbability& item : classes) {
        row += "," + csv_field(class_text(item.label, names)) + "," + four_digits(item.probability);
    }
    return row;
}

}  // namespace cnntrain::train
