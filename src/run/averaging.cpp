#include "run/averaging.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/weights/average.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/monitor.h"
#include "run/run_files.h"

namespace cnntrain::run {
namespace {

struct AveragedPoint {
    double epoch = 0;  // rounded to one decimal
    std::string path;
};

std::vector<AveragedPoint> planned_checkpoints(const FileSystem& files, const std::string& folder,
                                               const schedule::RunPlan& plan) {
    std::vector<AveragedPoint> points;
    for (const schedule::HostStep& step : plan.checkpoint_steps()) {
        const std::string path = weights::checkpoint_path(folder, step.end());
        if (exists(files, path)) points.push_back({std::nearbyint(step.epoch_after * 10) / 10, path});
    }
    return points;
}

}  // namespace

std::vector<AveragedCheckpoint> average_checkpoints(FileSystem& files, const std::string& folder,
                                                    const schedule::RunPlan& plan, const CheckpointSettings& settings) {
    std::vector<AveragedCheckpoint> averages;
    if (settings.mean_epochs.empty() && settings.exponential_decays.empty()) return averages;
    const std::vector<AveragedPoint> points = planned_checkpoints(files, folder, plan);
    if (points.empty())
        throw Error(ErrorKind::not_found, "weight averaging: none of the run's checkpoints is left in " + folder);
    files.make_directories(folder + "/ckpt");
    const auto write = [&](const std::string& name, const std::vector<std::string>& paths,
                           weights::AverageSettings how) {
        how.edited = weights::edited_if(settings.trust_edited);
        averages.push_back({name, weights::average_path(folder, name)});
        const std::string& target = averages.back().path;
        if (weights::is_average_of(files, paths, how.mode, target)) return;
        drop_validation(files, folder, name);  // first, so that a killed process redoes both
        weights::average(files, paths, how, target);
    };
    for (const std::int64_t epochs : settings.mean_epochs) {
        std::vector<std::string> paths;
        for (const AveragedPoint& point : points) {
            // Allows for rounding: tenths are not exact in binary.
            const double before_end = points.back().epoch - point.epoch;
            if (before_end <= static_cast<double>(epochs) + 1e-6) paths.push_back(point.path);
        }
        write("weight_avg_N_" + std::to_string(epochs), paths, {weights::Averaging::mean});
    }
    for (const double decay : settings.exponential_decays) {
        std::vector<std::string> paths;
        paths.reserve(points.size());
        for (const AveragedPoint& point : points)
            paths.push_back(point.path);
        write("weight_avg_exp_" + options::to_string(options::Value{decay}), paths,
              {weights::Averaging::exponential, decay});
    }
    return averages;
}

namespace {

/// Size of the groups in which variables are read: few transfers from a device, and little memory.
constexpr std::size_t kGroupBytes = std::size_t{16} << 20;

void for_each_stored(const backend::Executable& executable, const std::vector<ModelVariable>& variables,
                     const std::function<void(const ModelVariable&, HostTensor)>& use) {
    for (std::size_t begin = 0; begin < variables.size();) {
        std::vector<std::string> names;
        std::size_t end = begin;
        for (std::size_t bytes = 0; end < variables.size() && (end == begin || bytes < kGroupBytes); ++end) {
            names.push_back(variables[end].source);
            bytes += variables[end].desc.bytes();
        }
        backend::NamedTensors stored = executable.store(names);
        for (; begin < end; ++begin)
            use(variables[begin], std::move(stored.at(variables[begin].source)));
    }
}

template <typename T, typename Convert>
void blend(std::span<float> average, std::span<const T> weights, double decay, Convert convert) {
    const auto keep = static_cast<float>(decay);
    const auto share = static_cast<float>(1 - decay);
    for (std::size_t i = 0; i < average.size(); ++i)
        average[i] = keep * average[i] + share * convert(weights[i]);
}

void blend(std::span<float> average, const HostTensor& weights, double decay) {
    switch (weights.dtype()) {
        case DType::f32:
            return blend(average, weights.as<float>(), decay, [](float x) { return x; });
        case DType::bf16:
            return blend(average, weights.as<BFloat16>(), decay, [](BFloat16 x) { return to_float(x); });
        default:
            return blend(average, weights.cast(DType::f32), decay);
    }
}

}  // namespace

std::vector<ModelVariable> averaged_variables(const graph::Graph& graph) {
    std::map<std::string, graph::ValueId> sources;
    for (const optim::Master& pair : optim::masters(graph))
        sources[graph.value(pair.parameter).name] = pair.master;
    std::set<std::string> slots;
    for (const graph::ValueId slot : graph.values_with_role(graph::Role::slot))
        slots.insert(graph.value(slot).name);
    std::vector<ModelVariable> result;
    for (const graph::ValueId id : graph.variables()) {
        const std::string& name = graph.value(id).name;
        if (slots.contains(name)) continue;
        const auto master = sources.find(name);
        const graph::ValueId source = master == sources.end() ? id : master->second;
        result.push_back({name, graph.value(source).name, graph.desc(source)});
    }
    return result;
}

std::map<std::string, HostTensor> stored_model(const backend::Executable& executable,
                                               const std::vector<ModelVariable>& variables) {
    std::map<std::string, HostTensor> result;
    for_each_stored(executable, variables, [&](const ModelVariable& variable, HostTensor tensor) {
        result.insert_or_assign(variable.name, std::move(tensor));
    });
    return result;
}

WeightAverage::WeightAverage(std::vector<ModelVariable> variables, double decay)
    : variables_(std::move(variables)), decay_(decay) {
    CNNTRAIN_CHECK(decay > 0 && decay < 1, "a moving average's decay lies between 0 and 1");
}

void WeightAverage::start(const backend::Executable& executable) {
    values_.clear();
    for_each_stored(executable, variables_, [&](const ModelVariable& variable, HostTensor tensor) {
        values_.insert_or_assign(variable.name,
                                 tensor.dtype() == DType::f32 ? std::move(tensor) : tensor.cast(DType::f32));
    });
}

void WeightAverage::restore(std::map<std::string, HostTensor> values, const std::string& path) {
    for (const ModelVariable& variable : variables_) {
        const auto found = values.find(variable.name);
        const bool fits = found != values.end() && found->second.desc() == TensorDesc{DType::f32, variable.desc.shape};
        if (!fits) {
            throw Error(ErrorKind::data, path + ": expected a moving average of " + variable.name + ", f32" +
                                             to_string(variable.desc.shape) + "; the file was changed");
        }
    }
    if (values.size() != variables_.size())
        throw Error(ErrorKind::data, path + ": has moving averages of variables that the network does not have");
    values_ = std::move(values);
}

void WeightAverage::update(const backend::Executable& executable) {
    const Stopwatch watch;
    for_each_stored(executable, variables_, [&](const ModelVariable& variable, const HostTensor& tensor) {
        blend(values_.at(variable.name).as<float>(), tensor, decay_);
    });
    seconds_ += watch.seconds();
}

}  // namespace cnntrain::run
