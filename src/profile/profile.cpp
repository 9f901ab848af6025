#include "cnntrain/profile/profile.h"

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
    static constexpr std::array<std::string_view, 13> kNames = {
        "neighbours",    "slow_rank", "disk",        "large_images",  "input_threads",    "input",  "threads",
        "communication", "lanes",     "small_batch", "between_steps", "memory_bandwidth", "compute"};
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

std::vector<Row> by_operation(const std::vector<Row>& rows) {
    std::map<std::pair<std::string, std::string>, Row> sums;
    for (const Row& row : rows) {
        Row& sum = sums[{row.op, row.phase}];
        sum.name = sum.op = row.op;
        sum.phase = row.phase;
        sum.runs += row.runs;
        sum.seconds += row.seconds;
        sum.gflop += row.gflop;
        sum.megabytes += row.megabytes;
    }
    std::vector<Row> result;
    for (auto& [key, sum] : sums) {
        sum.run_seconds = sum.runs > 0 ? sum.seconds / sum.runs : 0;
        result.push_back(std::move(sum));
    }
    std::ranges::stable_sort(result, std::greater(), &Row::seconds);
    return result;
}

double least_seconds(const Row& row, const backend::Speeds& peaks) {
    if (peaks.flops_per_second <= 0 || peaks.bytes_per_second <= 0) return 0;
    return std::max(1e9 * row.gflop / peaks.flops_per_second, 1e6 * row.megabytes / peaks.bytes_per_second);
}

double roofline_share(const Row& row, const backend::Speeds& peaks) {
    return row.seconds > 0 ? least_seconds(row, peaks) / row.seconds : 0;
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
