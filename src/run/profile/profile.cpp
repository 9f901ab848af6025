#include "cnntrain/run/profile.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

namespace cnntrain::profile {

namespace {

std::string_view phase_name(graph::Phase phase) {
    switch (phase) {
        case graph::Phase::forward:
            return "forward";
        case graph::Phase::backward:
            return "backward";
        case graph::Phase::update:
            break;
    }
    return "update";
}

}  // namespace

std::string_view name(Limit limit) {
    static constexpr std::array<std::string_view, 15> kNames = {
        "neighbours", "paging",           "slow_rank",     "disk",  "large_images", "input_threads",
        "input",      "threads",          "communication", "lanes", "small_batch",  "between_steps",
        "operations", "memory_bandwidth", "compute"};
    return kNames.at(static_cast<std::size_t>(limit));
}

std::vector<Row> rows_per_step(const std::vector<backend::ProfileRow>& measured, std::int64_t steps) {
    std::vector<Row> rows;
    rows.reserve(measured.size());
    for (const backend::ProfileRow& one : measured) {
        const double runs = static_cast<double>(one.runs) / static_cast<double>(steps);
        const double seconds = 1e-3 * one.milliseconds;
        rows.push_back({one.name, one.op, one.implementation, std::string(phase_name(one.phase)), one.stage, runs,
                        seconds * runs * one.occupied, seconds, one.gflops * runs, one.megabytes * runs});
    }
    return rows;
}

namespace {

/// Seconds to move the operands of a run, and the level that holds them all.
std::pair<double, std::string> data_time(double bytes, const Peaks& peaks) {
    double seconds = 0;
    for (const MemoryLevel& level : peaks.levels) {
        const double held = std::min(bytes, level.bytes);
        seconds += held / level.rates.best();
        bytes -= held;
        if (bytes <= 0) return {seconds, level.name};
    }
    return {seconds, peaks.levels.back().name};
}

}  // namespace

Roofline roofline(const Row& row, const Peaks& peaks) {
    if (!peaks.are_known() || row.runs <= 0) return {};
    const double arithmetic = 1e9 * row.gflop / peaks.flops_per_second;
    const auto [seconds, level] = data_time(1e6 * row.megabytes / row.runs, peaks);
    if (arithmetic >= row.runs * seconds) return {arithmetic, std::string(kArithmetic)};
    return {row.runs * seconds, level};
}

std::vector<OperationSum> by_operation(const std::vector<Row>& rows, const Peaks& peaks) {
    std::map<std::pair<std::string, std::string>, OperationSum> sums;
    std::map<std::pair<std::string, std::string>, std::map<std::string, double>> bounds;
    for (const Row& row : rows) {
        const std::pair key(row.op, row.phase);
        const Roofline one = roofline(row, peaks);
        bounds[key][one.bound] += row.seconds;
        auto& [sum, least] = sums[key];
        least.seconds += one.seconds;
        sum.name = sum.op = row.op;
        sum.phase = row.phase;
        sum.runs += row.runs;
        sum.seconds += row.seconds;
        sum.gflop += row.gflop;
        sum.megabytes += row.megabytes;
    }
    std::vector<OperationSum> result;
    for (auto& [key, sum] : sums) {
        using Bound = std::pair<const std::string, double>;
        sum.roofline.bound = std::ranges::max_element(bounds[key], {}, &Bound::second)->first;
        sum.row.run_seconds = sum.row.runs > 0 ? sum.row.seconds / sum.row.runs : 0;
        result.push_back(std::move(sum));
    }
    std::ranges::stable_sort(result, std::greater(), [](const OperationSum& sum) { return sum.row.seconds; });
    return result;
}

double Profile::computed() const {
    double seconds = 0;
    for (const Row& row : rows)
        seconds += row.seconds;
    return seconds;
}

double Profile::other() const {
    return std::max(0.0, step_seconds - computed() - waits.total());
}

}  // namespace cnntrain::profile
