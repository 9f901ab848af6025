#include "train/weights.h"

#include <set>
#include <utility>

#include "cnntrain/nn/initialise.h"
#include "cnntrain/train/assemble.h"

namespace cnntrain::train {

namespace {

/// In a file there are only names. A slot is named after a variable, with one more part: "all/fc/weight/Momentum".
bool is_slot(const std::string& name, const std::map<std::string, HostTensor>& all) {
    const std::size_t slash = name.rfind('/');
    return slash != std::string::npos && all.contains(name.substr(0, slash));
}

std::map<std::string, HostTensor> in_types(const std::map<std::string, TensorDesc>& wanted,
                                           const checkpoint::Checkpoint& checkpoint) {
    std::map<std::string, HostTensor> result;
    for (const auto& [name, desc] : wanted) {
        const HostTensor& tensor = checkpoint.tensors.at(name);
        result.emplace(name, tensor.dtype() == desc.dtype ? tensor : tensor.cast(desc.dtype));
    }
    return result;
}

void load_tensors(backend::Executable& executable, const std::map<std::string, HostTensor>& tensors) {
    for (const auto& [name, tensor] : tensors)
        executable.load(name, tensor);
}

}  // namespace

void initialise(backend::Executable& executable, const graph::Graph& graph, std::uint64_t seed) {
    load_tensors(executable, initial_variables(graph, seed));
}

std::map<std::string, HostTensor> initial_variables(const graph::Graph& graph, std::uint64_t seed) {
    std::map<std::string, HostTensor> result;
    for (const graph::ValueId id : graph.variables()) {
        const graph::Value& variable = graph.value(id);
        result.emplace(variable.name, nn::initial_value(variable, seed));
    }
    return result;
}

std::map<std::string, HostTensor> stored_variables(const backend::Executable& executable) {
    std::map<std::string, HostTensor> tensors;
    for (const std::string& name : executable.variable_names()) {
        tensors.emplace(name, executable.store(name));
    }
    return tensors;
}

void load_all(backend::Executable& executable, const graph::Graph& graph, const checkpoint::Checkpoint& checkpoint,
              const std::string& path) {
    const std::map<std::string, TensorDesc> wanted = variables(graph);
    checkpoint::match(wanted, checkpoint, path);
    load_tensors(executable, in_types(wanted, checkpoint));
}

void load_model(backend::Executable& executable, const graph::Graph& graph, checkpoint::Checkpoint checkpoint,
                const std::string& path) {
    load_tensors(executable, model_variables(graph, std::move(checkpoint), path));
}

std::map<std::string, HostTensor> model_variables(const graph::Graph& graph, checkpoint::Checkpoint checkpoint,
                                                  const std::string& path) {
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

}  // namespace cnntrain::train
