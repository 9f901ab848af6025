#include "tasks/image_classification/class_weights.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/sets.h"

namespace cnntrain::tasks {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r";
    const std::size_t first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<double> number_in(std::string_view text) {
    text = trimmed(text);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

/// The parts of a text between separators.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

void check_weights(const std::vector<double>& weights, std::int64_t classes, const std::string& source) {
    if (std::ssize(weights) != classes) {
        throw Error(ErrorKind::usage, source + ": expected a weight for each of " + std::to_string(classes) +
                                          " classes, found " + std::to_string(weights.size()));
    }
    const bool negative = std::ranges::any_of(weights, [](double weight) { return weight < 0; });
    if (negative || std::ranges::all_of(weights, [](double weight) { return weight == 0; }))
        throw Error(ErrorKind::usage, source + ": weights of classes must not be negative, nor all 0");
}

std::string line_of(const std::string& path, std::size_t number) {
    return path + ", line " + std::to_string(number);
}

}  // namespace

std::vector<double> listed_weights(std::string_view text) {
    std::vector<double> weights;
    for (const std::string_view part : parts_of(text, ',')) {
        const std::optional<double> weight = number_in(part);
        if (!weight) return {};
        weights.push_back(*weight);
    }
    return weights;
}

std::vector<double> balanced_weights(const std::vector<std::int64_t>& sizes) {
    const auto images = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}));
    const auto classes = static_cast<double>(sizes.size());
    std::vector<double> weights;
    for (const std::int64_t size : sizes)
        weights.push_back(size > 0 ? images / (classes * static_cast<double>(size)) : 1);
    return weights;
}

std::vector<double> weights_in(std::string_view text, const std::string& path,
                               const std::vector<std::string>& classes) {
    std::vector<double> in_order;
    std::map<std::string, double, std::less<>> by_name;
    std::size_t number = 0;
    for (const std::string_view whole : parts_of(text, '\n')) {
        const std::string_view line = trimmed(whole);
        ++number;
        if (line.empty() || line.front() == '#') continue;
        const std::size_t comma = line.rfind(',');
        const std::optional<double> weight = number_in(comma == std::string_view::npos ? line : line.substr(comma + 1));
        if (!weight) {
            throw Error(ErrorKind::data,
                        line_of(path, number) + ": expected WEIGHT or CLASS,WEIGHT, found '" + std::string(line) + "'");
        }
        if (comma == std::string_view::npos) {
            in_order.push_back(*weight);
            continue;
        }
        const std::string name(trimmed(line.substr(0, comma)));
        if (std::ranges::find(classes, name) == classes.end()) {
            throw Error(ErrorKind::data, line_of(path, number) + ": the data have no class '" + name + "'" +
                                             (classes.empty() ? "; their classes are numbers: give only weights" : ""));
        }
        if (!by_name.emplace(name, *weight).second)
            throw Error(ErrorKind::data, line_of(path, number) + ": a second weight for class '" + name + "'");
    }
    if (by_name.empty()) return in_order;
    if (!in_order.empty()) throw Error(ErrorKind::data, path + ": give either all weights a class, or none");
    for (const std::string& name : classes) {
        if (!by_name.contains(name)) throw Error(ErrorKind::data, path + ": no weight for class '" + name + "'");
        in_order.push_back(by_name.find(name)->second);
    }
    return in_order;
}

std::vector<double> class_weights(const std::string& option, const data::InputSettings& settings,
                                  std::int64_t classes) {
    if (option.empty()) return {};
    std::vector<double> weights;
    if (option == kBalanced) {
        weights = balanced_weights(data::InputData(settings, data::Split::train).class_sizes(classes));
    } else {
        weights = listed_weights(option);
        if (weights.empty())
            weights = weights_in(read_text(posix_files(), option), option, data::class_names(settings));
    }
    check_weights(weights, classes, "--class-weights " + option);
    return weights;
}

}  // namespace cnntrain::tasks
