#include "graph/ops/class_weights.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace cnntrain::ops {

void expect_class_weights(const std::vector<double>& weights, std::int64_t classes) {
    if (!weights.empty() && std::ssize(weights) != classes)
        reject(std::to_string(weights.size()) + " class weights for " + std::to_string(classes) + " classes");
    const auto legal = [](double weight) { return std::isfinite(weight) && weight >= 0; };
    if (!std::ranges::all_of(weights, legal)) reject("class weights must be finite and not negative");
}

void describe_class_weights(const std::vector<double>& weights, graph::AttrText& text) {
    if (weights.empty()) return;
    std::ostringstream all;
    for (const double weight : weights)
        all << (all.view().empty() ? "" : "/") << weight;
    text.item("class weights", all.str());
}

}  // namespace cnntrain::ops
