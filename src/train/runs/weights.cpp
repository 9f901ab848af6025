#include "train/runs/weights.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "cnntrain/checkpoint/hugging_face.h"
#include "cnntrain/nn/initialise.h"
#include "cnntrain/optim/optimiser.h"
#include "cnntrain/train/weight_update.h"

namespace cnntrain::train {

namespace {

/// In a file there are only names. A slot is named after a variable, with one more part: "all/fc/weight/Momentum".
bool is_slot(const std::string& name, const std::map<std::string, HostTensor>& all) {
    const std::size_t slash = name.rfind('/');
    return slash != std::string::npos && all.contains(name.substr(0, slash));
}

backend::NamedTensors in_types(const std::map<std::string, TensorDesc>& wanted,
                               const checkpoint::Checkpoint& checkpoint) {
    std::map<std::string, HostTensor> result;
    for (const auto& [name, desc] : wanted) {
        const HostTensor& tensor = checkpoint.tensors.at(name);
        result.emplace(name, tensor.dtype() == desc.dtype ? tensor : tensor.cast(desc.dtype));
    }
    return result;
}

/// Tensors that are copied at the same time: all of them would double the memory of a large model, and each by itself
/// would be slow on a device.
constexpr std::size_t kPartBytes = std::size_t{16} << 20;

/// Calls work(names) for all of these variables in parts of about kPartBytes.
template <typename Work> void in_parts(const std::vector<backend::Variable>& variables, Work&& work) {
    std::vector<std::string> names;
    std::size_t bytes = 0;
    for (const backend::Variable& variable : variables) {
        if (!names.empty() && bytes + variable.desc.bytes() > kPartBytes) {
            work(std::exchange(names, {}));
            bytes = 0;
        }
        names.push_back(variable.name);
        bytes += variable.desc.bytes();
    }
    if (!names.empty()) work(names);
}

std::int64_t nans_in(const HostTensor& tensor) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        if (std::isnan(tensor.at(i))) ++count;
    }
    return count;
}

}  // namespace

void initialise(backend::Executable& executable, const graph::Graph& graph, std::uint64_t seed) {
    in_parts(executable.report().variables, [&](const std::vector<std::string>& names) {
        backend::NamedTensors tensors;
        for (const std::string& name : names)
            tensors.emplace(name, nn::initial_value(graph.value(*graph.find(name)), seed));
        executable.load(tensors);
    });
}

std::map<std::string, HostTensor> initial_variables(const graph::Graph& graph, std::uint64_t seed) {
    std::map<std::string, HostTensor> result;
    for (const graph::ValueId id : graph.variables()) {
        const graph::Value& variable = graph.value(id);
        result.emplace(variable.name, nn::initial_value(variable, seed));
    }
    return result;
}

checkpoint::TensorSource variable_source(const backend::Executable& executable) {
    checkpoint::TensorSource source;
    for (const backend::Variable& variable : executable.report().variables)
        source.descs.emplace(variable.name, variable.desc);
    source.tensor = [&executable](const std::string& name) { return executable.store(name); };
    return source;
}

std::map<std::string, HostTensor> stored_variables(const backend::Executable& executable) {
    return executable.store(executable.variable_names());
}

void load_all(backend::Executable& executable, const graph::Graph& graph, const checkpoint::Checkpoint& checkpoint,
              const std::string& path) {
    const std::map<std::string, TensorDesc> wanted = variables(graph);
    checkpoint::match(wanted, checkpoint, path);
    executable.load(in_types(wanted, checkpoint));
}

void load_model(backend::Executable& executable, const graph::Graph& graph, checkpoint::Checkpoint checkpoint,
                const std::string& path) {
    executable.load(model_variables(graph, std::move(checkpoint), path));
}

checkpoint::Checkpoint in_own_layout(checkpoint::Checkpoint checkpoint, const graph::Graph& graph,
                                     const std::string& path) {
    if (!checkpoint::is_hugging_face(checkpoint)) return checkpoint;
    checkpoint::ImportSettings settings;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter)) {
        const graph::Value& variable = graph.value(id);
        if (variable.name.ends_with("/qkv_weight")) settings.qkv_split = false;
        if (variable.name.ends_with("/word_embeddings")) settings.vocabulary = variable.desc.shape[0];
    }
    return checkpoint::from_hugging_face(checkpoint, settings, path).checkpoint;
}

bool holds_slots(const graph::Graph& graph, const checkpoint::Checkpoint& checkpoint) {
    return std::ranges::all_of(graph.values_with_role(graph::Role::slot), [&](graph::ValueId slot) {
        return checkpoint.tensors.contains(graph.value(slot).name);
    });
}

std::map<std::string, HostTensor> model_variables(const graph::Graph& graph, checkpoint::Checkpoint checkpoint,
                                                  const std::string& path) {
    checkpoint = in_own_layout(std::move(checkpoint), graph, path);
    std::map<std::string, TensorDesc> wanted = variables(graph);
    for (const graph::ValueId slot : graph.values_with_role(graph::Role::slot))
        wanted.erase(graph.value(slot).name);
    std::set<std::string> slots;
    for (const auto& [name, tensor] : checkpoint.tensors) {
        if (is_slot(name, checkpoint.tensors)) slots.insert(name);
    }
    std::erase_if(checkpoint.tensors, [&](const auto& tensor) { return slots.contains(tensor.first); });
    checkpoint::match(wanted, checkpoint, path);
    return in_types(wanted, checkpoint);
}

void initialise_masters(backend::Executable& executable, const graph::Graph& graph, std::uint64_t seed) {
    for (const optim::Master& pair : optim::masters(graph)) {
        graph::Value variable = graph.value(pair.parameter);
        const DType stored = variable.desc.dtype;
        variable.desc.dtype = DType::f32;
        const HostTensor start = nn::initial_value(variable, seed);
        executable.load(graph.value(pair.master).name, start);
        executable.load(variable.name, start.cast(stored));
    }
}

void load_masters(backend::Executable& executable, const graph::Graph& graph,
                  const checkpoint::Checkpoint& checkpoint) {
    for (const optim::Master& pair : optim::masters(graph)) {
        const HostTensor& tensor = checkpoint.tensors.at(graph.value(pair.parameter).name);
        executable.load(graph.value(pair.master).name, tensor.cast(DType::f32));
    }
}

metrics::NanRow count_nans(std::int64_t iteration, const checkpoint::TensorSource& tensors) {
    metrics::NanRow row;
    row.iteration = iteration;
    for (const auto& [name, desc] : tensors.descs) {
        const std::int64_t count = nans_in(tensors.tensor(name));
        row.nan_count += count;
        if (count > 0) ++row.nan_variables;
    }
    return row;
}

}  // namespace cnntrain::train
