#include "tasks/class_weights.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"

namespace cnntrain::tasks {

using options::OptionValues;
using options::Resolution;
using options::Violation;

namespace {

constexpr std::string_view kSpace = " \t\r";

std::optional<double> number_in(std::string_view text) {
    const auto value = as_number<double>(trimmed(text, kSpace));
    return value && std::isfinite(*value) ? value : std::nullopt;
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
    for (const std::string_view part : split(text, ',')) {
        const std::optional<double> weight = number_in(part);
        if (!weight) return {};
        weights.push_back(*weight);
    }
    return weights;
}

std::vector<double> balanced_weights(const std::vector<std::int64_t>& sizes) {
    const auto samples = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}));
    const auto classes = static_cast<double>(sizes.size());
    std::vector<double> weights;
    for (const std::int64_t size : sizes)
        weights.push_back(size > 0 ? samples / (classes * static_cast<double>(size)) : 1);
    return weights;
}

std::vector<double> balanced_label_weights(const std::vector<std::int64_t>& sizes, std::int64_t images) {
    std::vector<double> weights;
    for (const std::int64_t size : sizes)
        weights.push_back(size > 0 ? static_cast<double>(images - size) / static_cast<double>(size) : 1);
    return weights;
}

std::vector<double> weights_in(std::string_view text, const std::string& path,
                               const std::vector<std::string>& classes) {
    std::vector<double> in_order;
    std::map<std::string, double, std::less<>> by_name;
    std::size_t number = 0;
    for (const std::string_view whole : split(text, '\n')) {
        const std::string_view line = trimmed(whole, kSpace);
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
        const std::string name(trimmed(line.substr(0, comma), kSpace));
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

std::vector<double> class_weights(const std::string& option, std::int64_t classes,
                                  const std::function<std::vector<std::string>()>& names,
                                  const std::function<std::vector<double>()>& balanced) {
    if (option.empty()) return {};
    std::vector<double> weights = option == kBalanced ? balanced() : listed_weights(option);
    if (weights.empty()) weights = weights_in(read_text(posix_files(), option), option, names());
    check_weights(weights, classes, "--class-weights " + option);
    return weights;
}

Violation class_weights_exist(const Resolution& run) {
    const std::string& text = run.settings().loss.class_weights;
    if (text.empty() || text == kBalanced || !listed_weights(text).empty()) return {};
    if (posix_files().kind(text) == FileKind::file) return {};
    return "--class-weights " + text + ": expected " + std::string(kBalanced) +
           ", numbers separated by commas, or a file with a weight on each line; there is no such file";
}

Violation class_weights_need_pairs(const Resolution& run, bool several) {
    const bool weighs = !run.settings().loss.class_weights.empty() && !several;
    if (!weighs || run.settings().training.micro_batch_size != 1) return {};
    return "--class-weights needs --micro-batch-size above 1: losses are divided by the weights of their micro-batch";
}

void keep_path_of_class_weights(OptionValues& values) {
    const std::string text = values.settings().loss.class_weights;
    if (text.empty() || text == kBalanced || !listed_weights(text).empty()) return;
    if (posix_files().kind(text) != FileKind::file) return;  // the check of the option says so
    values.set("class_weights", std::filesystem::absolute(text).lexically_normal().string(),
               values.source("class_weights"));
}

}  // namespace cnntrain::tasks
