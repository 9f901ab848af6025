#include "train/masters.h"

#include "cnntrain/nn/initialise.h"
#include "cnntrain/optim/optimiser.h"

namespace cnntrain::train {

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

}  // namespace cnntrain::train
