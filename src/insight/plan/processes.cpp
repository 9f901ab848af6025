#include "insight/plan/processes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/insight/plan.h"
#include "cnntrain/parallel/communicator.h"
#include "insight/plan/report.h"

namespace cnntrain::plan {

/// The integral of 1 - P(max <= x) over the positive half axis minus that of P(max <= x) over the negative one.
double expected_maximum(std::int64_t count) {
    CNNTRAIN_CHECK(count >= 1, "a maximum of at least one number");
    constexpr double kStep = 1.0 / 128;
    constexpr int kSteps = 10 * 128;  // beyond 10 deviations nothing is left
    const auto n = static_cast<double>(count);
    double integral = 0;
    for (int i = 0; i <= kSteps; ++i) {
        const double tail = 0.5 * std::erfc(i * kStep / std::numbers::sqrt2);  // P(one > x) = P(one < -x)
        const double above = -std::expm1(n * std::log1p(-tail));
        const double below = std::exp(n * std::log(tail));
        integral += (i == 0 ? 0.5 : 1) * (above - below);
    }
    return integral * kStep;
}

double relative_deviation(std::span<const double> numbers) {
    if (numbers.size() < 2) return 0;
    const auto count = static_cast<double>(numbers.size());
    const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
    double squares = 0;
    for (const double number : numbers)
        squares += (number - mean) * (number - mean);
    return std::sqrt(squares / (count - 1)) / mean;
}

namespace {

constexpr int kBitsOfSum = 32;

/// Each rank exchanges data with all others; the `local` ranks of a node share its link.
double flat_ms(const Network& network, double ranks, double local, double bytes, int wire_bits) {
    const double remote = ranks - local;
    const double message_bytes = bytes * wire_bits / kBitsOfSum / ranks;
    const double latencies_ms =
        remote * network.between_nodes.latency_ms + (local - 1) * network.inside_node.latency_ms;
    const double transfer_ms = message_bytes * (local * remote / network.between_nodes.bytes_per_ms +
                                                (local - 1) / network.inside_node.bytes_per_ms);
    const double added_bytes = (ranks - 1) / ranks * bytes + (wire_bits < kBitsOfSum ? 2 * bytes : 0);
    return 2 * latencies_ms + 2 * transfer_ms + added_bytes * network.adding_ms_per_byte;
}

/// Time of a sum within a node: the ranks synchronise three times, copy a bucket to and from shared memory, and add
/// their shares.
double in_node_ms(const Network& network, double local, double bytes) {
    constexpr double kMeetings = 3;
    return kMeetings * network.inside_node.latency_ms + (2 + (local - 1) / local) * bytes * network.adding_ms_per_byte;
}

void check(const Network& network, const ProcessGrid& grid, const ReduceMethod& method) {
    CNNTRAIN_CHECK(grid.processes >= 1 && grid.ranks_per_node >= 1, "processes and ranks of a node");
    CNNTRAIN_CHECK(method.wire_bits == 32 || method.wire_bits == 16,
                   std::to_string(method.wire_bits) + " bits on the wire");
    for (const Link& link : {network.between_nodes, network.inside_node}) {
        CNNTRAIN_CHECK(link.latency_ms >= 0 && link.bytes_per_ms > 0, "latency and bandwidth of a network");
    }
}

}  // namespace

double all_reduce_ms(const Network& network, const ProcessGrid& grid, const ReduceMethod& method, double bytes) {
    check(network, grid, method);
    if (grid.processes == 1) return 0;
    const std::int64_t local = std::min(grid.processes, grid.ranks_per_node);
    if (!method.hierarchical || local == 1) {
        return flat_ms(network, static_cast<double>(grid.processes), static_cast<double>(local), bytes,
                       method.wire_bits);
    }
    const std::int64_t nodes = (grid.processes + local - 1) / local;
    const double in_node = in_node_ms(network, static_cast<double>(local), bytes);
    return nodes == 1 ? in_node : in_node + flat_ms(network, static_cast<double>(nodes), 1, bytes, method.wire_bits);
}

DataParallelTime data_parallel_time(const ProcessStep& step, std::span<const ReadyBucket> buckets,
                                    const Network& network, const ProcessGrid& grid, const ReduceMethod& method,
                                    const Waits& waits) {
    CNNTRAIN_CHECK(step.total_ms() > 0, "a step takes time");
    DataParallelTime result;
    double done_ms = 0;  // since the start of the last backward pass, as all times here
    for (const ReadyBucket& bucket : buckets) {
        CNNTRAIN_CHECK(bucket.ready_ms <= step.backward_ms, "gradients are there when backward has ended");
        const double sum_ms = all_reduce_ms(network, grid, method, bucket.bytes);
        done_ms = std::max(done_ms, method.overlap ? bucket.ready_ms : step.backward_ms) + sum_ms;
        result.communication_ms += sum_ms;
    }
    const double exposed_ms = grid.processes == 1 ? 0 : std::max(0.0, done_ms - step.backward_ms);
    const double slowest_ms = waits.deviation_ms * expected_maximum(grid.processes);
    result.step_ms = std::max(step.total_ms() + slowest_ms + exposed_ms, waits.input_ms);
    result.hidden_ms = std::max(0.0, result.communication_ms - exposed_ms);
    result.samples_per_second = 1e3 * step.samples * static_cast<double>(grid.processes) / result.step_ms;
    result.efficiency = std::max(step.total_ms(), waits.input_ms) / result.step_ms;
    return result;
}

namespace {

/// The end of each function's backward pass, from the start of backward, which begins with the last function.
std::vector<double> backward_ends(const FunctionTimes& times) {
    std::vector<double> ends(times.functions.size());
    double end = 0;
    for (std::size_t i = ends.size(); i-- > 0;) {
        end += times.functions[i].backward_ms;
        ends[i] = end;
    }
    return ends;
}

ProcessStep step_of(const FunctionTimes& times, const PlannedLine& line) {
    const auto micro_batches = static_cast<double>(line.micro_batches());
    schedule::StageTimes pass;
    for (const schedule::StageTimes& function : times.functions)
        pass.forward_ms += function.forward_ms;
    pass.backward_ms = backward_ends(times).front();  // identical to the value for the first function's gradients
    return {.before_ms = (micro_batches - 1) * pass.total() + pass.forward_ms,
            .backward_ms = pass.backward_ms,
            .update_ms = times.update_ms,
            .samples = static_cast<double>(line.micro_batch) * micro_batches};
}

void scale(PlannedProcess& process, double factor) {
    process.step.before_ms *= factor;
    process.step.backward_ms *= factor;
    process.step.update_ms *= factor;
    for (ReadyBucket& bucket : process.buckets)
        bucket.ready_ms *= factor;
}

double rate_of(const ProcessStep& step) {
    return 1e3 * step.samples / step.total_ms();
}

}  // namespace

PlannedProcess planned_process(const FunctionTimes& times, const std::vector<SummedValue>& values,
                               const PlannedLine& line, std::int64_t bucket_bytes,
                               std::optional<double> samples_per_second) {
    PlannedProcess process{step_of(times, line), {}};
    std::vector<comm::Parameter> parameters;
    for (const SummedValue& value : values)
        parameters.push_back({value.name, value.elements});
    const std::vector<double> ends = backward_ends(times);
    for (const comm::Bucket& bucket : comm::plan_buckets(parameters, bucket_bytes).buckets) {
        ReadyBucket ready{.bytes = static_cast<double>(bucket.elements) * sizeof(float)};
        for (int i = bucket.first; i < bucket.first + bucket.count; ++i) {
            const SummedValue& value = values[static_cast<std::size_t>(i)];
            if (value.phase == graph::Phase::backward) ready.ready_ms = std::max(ready.ready_ms, ends[value.function]);
        }
        process.buckets.push_back(ready);
    }
    if (samples_per_second) scale(process, rate_of(process.step) / *samples_per_second);
    return process;
}

Waits waits_of(const ProcessStep& step, const FunctionTimes& times, const ProcessPlan& plan) {
    const double spread = plan.step_spread.value_or(times.spread.value_or(0));
    Waits waits{.deviation_ms = spread * step.total_ms()};
    if (plan.input_samples_per_second) waits.input_ms = 1e3 * step.samples / *plan.input_samples_per_second;
    return waits;
}

std::vector<ScalingCurve> predicted(const PlannedProcess& process, const ProcessPlan& plan) {
    const bool two_routes = plan.ranks_per_node > 1 && plan.counts.back() > 1;
    std::vector<ScalingCurve> curves;
    for (const bool hierarchical : {false, true}) {
        if (hierarchical && !two_routes) continue;
        for (const int wire_bits : {32, 16}) {
            for (const bool overlap : {true, false})
                curves.push_back({{wire_bits, hierarchical, overlap}, {}});
        }
    }
    for (ScalingCurve& curve : curves) {
        for (const std::int64_t count : plan.counts) {
            const ProcessGrid grid{count, plan.ranks_per_node};
            const auto time = [&](const Waits& waits) {
                return data_parallel_time(process.step, process.buckets, plan.network, grid, curve.method, waits);
            };
            curve.points.push_back({count, time({}), time(process.waits)});
        }
    }
    return curves;
}

namespace {

std::string step_text(const ProcessStep& step, const std::string& unit) {
    return formatted(
        "%.5g ms, %.4g %s/s alone; gradients come in its last %.5g ms of backward, before %.4g ms of "
        "update",
        step.total_ms(), rate_of(step), unit.c_str(), step.backward_ms, step.update_ms);
}

std::string gradients_text(const PlannedProcess& process, std::int64_t bucket_bytes) {
    double bytes = 0;
    for (const ReadyBucket& bucket : process.buckets)
        bytes += bucket.bytes;
    const ReadyBucket& first = process.buckets.front();
    const ReadyBucket& last = process.buckets.back();
    const auto size = [](double value) { return size_text(static_cast<std::uint64_t>(value)); };
    return size(bytes) + " in " + counted(std::ssize(process.buckets), "bucket") + " of " +
           size(static_cast<double>(bucket_bytes)) +
           formatted(
               " (--max-cross-replica-buffer-size); the first is complete after %.4g ms of backward, the last, of ",
               first.ready_ms) +
           size(last.bytes) + formatted(", after %.4g ms", last.ready_ms);
}

std::string waits_text(const PlannedProcess& process, const ProcessPlan& plan) {
    const double spread = process.waits.deviation_ms / process.step.total_ms();
    const std::int64_t most = plan.counts.back();
    std::string text;
    if (plan.step_spread || spread > 0) {
        text = "the standard deviation of a step is " + percent(spread) + " of it (" +
               (plan.step_spread ? "as given" : "measured here") + "), so the slowest of " +
               counted(most, "process", "es") + " takes " + percent(spread * expected_maximum(most)) + " longer";
    } else {
        text =
            "processes are taken to be equally fast, since the spread of step times is not known; give "
            "--step-spread, or measure with --steps " +
            std::to_string(kLeastForSpread) + " or more";
    }
    if (plan.input_samples_per_second)
        text += formatted("; the input delivers %.4g samples/s (as given)", *plan.input_samples_per_second);
    return text;
}

std::vector<std::string> rate_cells(const DataParallelTime& time) {
    return {formatted("%.5g", time.step_ms), formatted("%.5g", time.samples_per_second), percent(time.efficiency)};
}

/// The table of one route and wire format: overlapped, and after backward. `waits`: each also with waits.
std::string table(const ScalingCurve& overlapped, const ScalingCurve& after, std::int64_t ranks_per_node,
                  const std::string& unit, bool waits) {
    TextRows rows = {{"processes", "nodes", "communication ms"}};
    const auto add = [](std::vector<std::string>& row, const std::vector<std::string>& cells) {
        row.insert(row.end(), cells.begin(), cells.end());
    };
    const auto add_heads = [&](const std::string& what) {
        add(rows.front(), {what + "step ms", unit + "/s", "efficiency"});
    };
    add_heads("");
    rows.front().emplace_back("hidden");
    if (waits) add_heads("with waits: ");
    add_heads("not overlapped: ");
    if (waits) add_heads("with waits: ");
    for (std::size_t i = 0; i < overlapped.points.size(); ++i) {
        const ScalingPoint& point = overlapped.points[i];
        const ScalingPoint& late = after.points[i];
        std::vector<std::string> row = {std::to_string(point.processes),
                                        std::to_string((point.processes + ranks_per_node - 1) / ranks_per_node),
                                        formatted("%.4g", point.time.communication_ms)};
        add(row, rate_cells(point.time));
        row.push_back(point.time.communication_ms > 0 ? percent(point.time.hidden_share()) : "-");
        if (waits) add(row, rate_cells(point.with_waits));
        add(row, rate_cells(late.time));
        if (waits) add(row, rate_cells(late.with_waits));
        rows.push_back(std::move(row));
    }
    const ReduceMethod& method = overlapped.method;
    return std::string(method.hierarchical ? "Hierarchical" : "Flat") + " sums, " + std::to_string(method.wire_bits) +
           " bits on the wire\n" + in_columns(rows);
}

}  // namespace

std::string processes_text(const PlannedProcess& process, const ProcessPlan& plan, std::int64_t bucket_bytes,
                           const std::vector<ScalingCurve>& curves, const std::string& unit) {
    std::string text = topic("Step", step_text(process.step, unit)) +
                       topic("Gradients", gradients_text(process, bucket_bytes)) + topic("Network", plan.network_from) +
                       topic("Waits", waits_text(process, plan));
    if (plan.ranks_per_node == 1) {
        text += topic("Routes", "with one rank a node, hierarchical sums are flat ones");
    } else {
        text += topic("Routes", std::to_string(plan.ranks_per_node) + " ranks a node");
    }
    CNNTRAIN_CHECK(curves.size() % 2 == 0, "curves with and without overlap");
    for (std::size_t i = 0; i < curves.size(); i += 2)
        text += "\n" + table(curves[i], curves[i + 1], plan.ranks_per_node, unit, process.waits.any());
    return text;
}

}  // namespace cnntrain::plan
