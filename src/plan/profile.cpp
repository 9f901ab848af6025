#include "plan/profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/json_check.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/plan/order_statistics.h"
#include "train/runs/weights.h"

namespace cnntrain::plan {
namespace {

// Input for a graph whose speed is measured.

/// Repeats the same generated values for every input of a graph. Numbers are in [0, 1), bytes are any. Integers that
/// name rows are spread over all rows, since the speed of their gradients depends on how often a row is named; masks
/// hide nothing; other integers are 0.
class MadeUpBatches final : public data::BatchSource {
public:
    explicit MadeUpBatches(const graph::Graph& graph);

    std::vector<data::Field> fields() const override { return fields_; }
    data::Batch next() override;

private:
    std::vector<data::Field> fields_;
    std::vector<HostTensor> tensors_;
    std::vector<std::span<const std::byte>> spans_;
    std::int64_t samples_ = 0;
    std::int64_t pulls_ = 0;
};

/// The integers of an input are in [least, end).
struct Range {
    std::int64_t least = 0;
    std::int64_t end = 1;
};

Range range_of(const graph::Graph& graph, graph::ValueId input) {
    for (const graph::NodeId user : graph.value(input).users) {
        const graph::Node& node = graph.node(user);
        if (node.kind == graph::OpKind::embedding) return {0, graph.desc(node.inputs[1]).shape[0]};
        if (node.kind == graph::OpKind::gather_rows) return {0, graph.desc(node.inputs[0]).shape[1]};
        if (node.kind == graph::OpKind::attention_mask) {
            // A mask of 0 and 1, or a number of visible tokens.
            const std::int64_t visible = std::max<std::int64_t>(1, node.as<graph::AttentionMaskAttrs>().sequence);
            return {visible, visible + 1};
        }
    }
    return {};
}

HostTensor made_up(const TensorDesc& desc, const Range& range) {
    constexpr double kBytes = 256;
    const bool whole = desc.dtype == DType::i32 || desc.dtype == DType::i64;
    HostTensor tensor(desc);
    Rng rng(1, RngStream::synthetic_data);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        double value = rng.uniform();
        if (desc.dtype == DType::u8) value = std::floor(kBytes * value);
        if (whole)
            value = std::floor(static_cast<double>(range.least) + static_cast<double>(range.end - range.least) * value);
        tensor.set(i, value);
    }
    return tensor;
}

MadeUpBatches::MadeUpBatches(const graph::Graph& graph) {
    for (const graph::ValueId id : graph.values_with_role(graph::Role::input)) {
        const graph::Value& input = graph.value(id);
        fields_.push_back({input.name, input.desc});
        tensors_.push_back(made_up(input.desc, range_of(graph, id)));
        samples_ = std::max(samples_, input.desc.shape.empty() ? 1 : input.desc.shape.front());
    }
    for (const HostTensor& tensor : tensors_)
        spans_.push_back(tensor.bytes());
}

data::Batch MadeUpBatches::next() {
    data::Batch batch;
    batch.fields = spans_;
    batch.valid_count = samples_;
    batch.first_sample = samples_ * pulls_++;
    return batch;
}

}  // namespace

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kFormat = "cnntrain_plan_profile";
constexpr int kVersion = 1;

std::vector<double> numbers(const Json& list, std::size_t count) {
    auto values = list.get<std::vector<double>>();
    constexpr double kMost = 1e12;  // more than a function takes in 30 years; sums and products of them stay finite
    const bool sound = values.size() == count &&
                       std::ranges::all_of(values, [](double value) { return value >= 0 && value <= kMost; });
    if (!sound) {
        throw Error(ErrorKind::data,
                    "expected " + std::to_string(count) + " numbers from 0 to 1e12 for the times of the functions");
    }
    return values;
}

FunctionTimes times_from(const Json& entry, std::size_t functions) {
    const std::vector<double> forward = numbers(entry.at("forward_ms"), functions);
    const std::vector<double> backward = numbers(entry.at("backward_ms"), functions);
    FunctionTimes times;
    times.update_ms = numbers(Json::array({entry.at("update_ms")}), 1).front();
    for (std::size_t i = 0; i < functions; ++i)
        times.functions.push_back({forward[i], backward[i]});
    double whole_ms = times.update_ms;
    for (const schedule::StageTimes& function : times.functions)
        whole_ms += function.total();
    constexpr double kLeastMs = 1e-6;
    if (whole_ms < kLeastMs) throw Error(ErrorKind::data, "expected functions that take time");
    if (entry.contains("spread")) times.spread = numbers(Json::array({entry.at("spread")}), 1).front();
    return times;
}

Profile profile_from(const Json& document) {
    if (!document.is_object() || document.value(kFormat, 0) != kVersion)
        throw Error(ErrorKind::data, "expected a profile that cnntrain plan has written");
    Profile profile;
    document.at("made_for").get_to(profile.made_for);
    document.at("machine").get_to(profile.machine);
    document.at("functions").get_to(profile.functions);
    profile.forward_gflop = numbers(document.at("forward_gflop"), profile.functions.size());
    for (const Json& entry : document.at("times"))
        profile.times[entry.at("threads").get<int>()] = times_from(entry, profile.functions.size());
    return profile;
}

Json times_json(int threads, const FunctionTimes& times) {
    Json forward = Json::array();
    Json backward = Json::array();
    for (const schedule::StageTimes& function : times.functions) {
        forward.push_back(function.forward_ms);
        backward.push_back(function.backward_ms);
    }
    Json json = {
        {"threads", threads}, {"update_ms", times.update_ms}, {"forward_ms", forward}, {"backward_ms", backward}};
    if (times.spread) json["spread"] = *times.spread;
    return json;
}

}  // namespace

Profile read_profile(const FileSystem& files, const std::string& path) {
    const std::string text = read_text(files, path);
    try {
        check_json(text);
        return profile_from(Json::parse(text));
    } catch (const nlohmann::json::exception&) {
        throw Error(ErrorKind::data, path + ": parts of the profile are missing or of another kind; remove the file");
    } catch (const Error& error) {
        throw error.within(path);
    }
}

void write_profile(FileSystem& files, const std::string& path, const Profile& profile) {
    Json document = {{kFormat, kVersion},
                     {"made_for", profile.made_for},
                     {"machine", profile.machine},
                     {"functions", profile.functions},
                     {"forward_gflop", profile.forward_gflop},
                     {"times", Json::array()}};
    for (const auto& [threads, times] : profile.times)
        document["times"].push_back(times_json(threads, times));
    write_text(files, path, document.dump(1) + "\n");
}

void check_profile(const Profile& profile, const Profile& wanted, const std::string& path) {
    const auto refuse = [&](const std::string& why) {
        throw Error(ErrorKind::usage, path + ": " + why + "; name another file, or remove this one");
    };
    for (const auto& [what, value] : wanted.made_for) {
        const auto found = profile.made_for.find(what);
        const std::string had = found == profile.made_for.end() ? "nothing" : found->second;
        if (had != value) refuse("the profile was made for " + what + " " + had + ", not " + value);
    }
    bool same_work = profile.functions == wanted.functions;
    for (std::size_t i = 0; same_work && i < wanted.functions.size(); ++i) {
        const double gflop = wanted.forward_gflop[i];
        same_work = std::fabs(profile.forward_gflop[i] - gflop) <= 1e-6 * gflop;
    }
    if (!same_work) refuse("the profile was made for a network with other functions");
}

namespace {

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Medians over the updates, because other programs on the machine may disturb some of them.
FunctionTimes usual(const std::vector<FunctionTimes>& updates) {
    const auto over = [&](auto number) {
        std::vector<double> values;
        values.reserve(updates.size());
        for (const FunctionTimes& update : updates)
            values.push_back(number(update));
        return median(std::move(values));
    };
    FunctionTimes result;
    result.update_ms = over([](const FunctionTimes& update) { return update.update_ms; });
    for (std::size_t i = 0; i < updates.front().functions.size(); ++i) {
        result.functions.push_back(
            {over([&](const FunctionTimes& update) { return update.functions[i].forward_ms; }),
             over([&](const FunctionTimes& update) { return update.functions[i].backward_ms; })});
    }
    return result;
}

/// Time of one step for a micro-batch, from its rows in all pipelines. Pipelines that add to the same sum wait for each
/// other, so the minimum is the time of the work itself.
double step_ms(std::span<const backend::ProfileRow* const> rows) {
    double least = rows.front()->milliseconds;
    double sum = 0;
    for (const backend::ProfileRow* row : rows) {
        least = std::min(least, row->milliseconds);
        sum += row->milliseconds;
    }
    return rows.front()->op == "accumulate" ? least : sum / static_cast<double>(rows.size());
}

}  // namespace

/// Ignores rows that ran once per weight update, because they do not belong to a micro-batch.
FunctionTimes times_by_function(const std::vector<backend::ProfileRow>& rows, const FunctionNames& names,
                                std::int64_t updates, int pipelines) {
    FunctionTimes times;
    times.functions.resize(names.count());
    std::vector<const backend::ProfileRow*> of_batches;  // grouped by pipeline
    for (const backend::ProfileRow& row : rows) {
        if (row.phase == graph::Phase::update || row.runs <= updates) {
            times.update_ms += row.milliseconds * static_cast<double>(row.runs) / static_cast<double>(updates);
        } else {
            of_batches.push_back(&row);
        }
    }
    const std::size_t steps = of_batches.size() / static_cast<std::size_t>(pipelines);
    CNNTRAIN_CHECK(steps * static_cast<std::size_t>(pipelines) == of_batches.size(), "pipelines ran different steps");
    FunctionWalk walk(names);
    for (std::size_t i = 0; i < steps; ++i) {
        std::vector<const backend::ProfileRow*> step;
        for (std::size_t at = i; at < of_batches.size(); at += steps)
            step.push_back(of_batches[at]);
        const bool forward = step.front()->phase == graph::Phase::forward;
        schedule::StageTimes& function = times.functions[walk.next(step.front()->name, step.front()->phase)];
        (forward ? function.forward_ms : function.backward_ms) += step_ms(step);
    }
    return times;
}

Profiler::Profiler(const graph::Graph& graph, const FunctionNames& names, const backend::Backend& backend,
                   const Measurement& how)
    : names_(names), how_(how), batches_(std::make_unique<MadeUpBatches>(graph)) {
    // The work includes sums over micro-batches. The first micro-batch after an update has cold caches.
    constexpr std::int64_t kMicroBatches = 4;
    constexpr std::uint64_t kSeed = 1;
    backend::CompileRequest request{&graph, batches_->fields()};
    request.plan.accumulation = kMicroBatches * how.lanes;
    request.cpu.lanes = how.lanes;
    request.cpu.threads = how.threads * how.lanes;
    request.runtime.stochastic_rounding = how.stochastic_rounding;
    request.runtime.seed = kSeed;
    request.runtime.check_finite = false;  // generated images may make the loss diverge
    request.runtime.stop_requested = how.stop_requested;
    executable_ = backend.compile(request);
    train::initialise(*executable_, graph, kSeed);
    run_update();  // warm-up
}

Profiler::~Profiler() = default;

void Profiler::run_update() {
    const bool stopped =
        (how_.stop_requested && how_.stop_requested()) || executable_->train_step(*batches_, {}).stopped;
    if (stopped) throw Interrupted();
}

FunctionTimes Profiler::update() {
    executable_->inspection().set_profiling(true);  // restarts at zero
    run_update();
    return times_by_function(executable_->inspection().profile(), names_, 1, how_.lanes);
}

FunctionTimes measure(const graph::Graph& graph, const FunctionNames& names, const backend::Backend& backend,
                      const Measurement& how) {
    Profiler profiler(graph, names, backend, how);
    std::vector<FunctionTimes> updates;
    std::vector<double> seconds;
    for (std::int64_t step = 0; step < how.steps; ++step) {
        const auto begin = std::chrono::steady_clock::now();
        updates.push_back(profiler.update());
        seconds.push_back(seconds_since(begin));
    }
    FunctionTimes times = usual(updates);
    if (how.steps >= kLeastForSpread) times.spread = relative_deviation(seconds);
    return times;
}

FunctionTimes times_of_flops(const std::vector<FunctionFacts>& functions, int threads) {
    const double gflop_per_ms = kAssumedGflops * threads / 1e3;
    FunctionTimes times;
    for (const FunctionFacts& function : functions)
        times.functions.push_back({function.forward_gflop / gflop_per_ms, function.backward_gflop / gflop_per_ms});
    return times;
}

}  // namespace cnntrain::plan
