// Networks with drawn weights and their answers, for tests of exports.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/backend/cpu.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/exports/exports.h"
#include "cnntrain/nn/initialise.h"
#include "cnntrain/nn/model.h"
#include "cnntrain/ops/op_table.h"

namespace cnntrain::exports {

/// The sequence of numbers of a name, in -1..1.
inline HostTensor drawn(const std::string& name, const TensorDesc& desc, double middle = 0, double width = 1) {
    HostTensor tensor(desc);
    std::uint64_t state = 88172645463325252ULL;
    for (const char c : name)
        state = state * 31 + static_cast<unsigned char>(c);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        tensor.set(i, middle + width * (static_cast<double>(state >> 11) * 0x1p-52 - 1));
    }
    return tensor;
}

class OneBatch final : public data::BatchSource {
public:
    explicit OneBatch(const std::map<std::string, HostTensor>& tensors) {
        for (const auto& [name, tensor] : tensors) {
            fields_.push_back({name, tensor.desc()});
            bytes_.push_back(tensor.bytes());
        }
    }
    std::vector<data::Field> fields() const override { return fields_; }
    data::Batch next() override { return {.fields = bytes_, .valid_count = fields_.front().desc.shape.front()}; }

private:
    std::vector<data::Field> fields_;
    std::vector<std::span<const std::byte>> bytes_;
};

/// A network whose norms have statistics that are not 0 and 1.
struct TestNetwork {
    graph::Graph graph{ops::op_table()};
    std::map<std::string, HostTensor> variables;
    std::vector<Port> inputs;
    std::vector<FixedInput> fixed;
    std::vector<Port> outputs;
    Replay replay;

    NetworkPart part() const { return {graph, inputs, fixed, outputs, variables}; }

    void draw_variables() {
        for (const graph::ValueId id : graph.variables()) {
            const graph::Value& variable = graph.value(id);
            HostTensor tensor = nn::initial_value(variable, 7);
            const auto ends = [&](const char* end) { return variable.name.ends_with(end); };
            if (ends("/gamma") || ends("moving_variance")) tensor = drawn(variable.name, variable.desc, 1.2, 0.5);
            if (ends("/beta") || ends("moving_mean") || ends("bias"))
                tensor = drawn(variable.name, variable.desc, 0.1, 0.3);
            variables.emplace(variable.name, std::move(tensor));
        }
    }

    /// The answers of the CPU backend for these inputs by the names of the graph's inputs.
    void answer(const std::map<std::string, HostTensor>& batch) {
        const auto backend = backend::make_cpu_backend();
        OneBatch source(batch);
        backend::CompileRequest request{&graph, source.fields()};
        replay.samples = batch.begin()->second.shape().front();
        request.plan.micro_batch = replay.samples;
        request.cpu.threads = 1;
        request.cpu.lanes = 1;
        const auto executable = backend->compile(request);
        executable->load(backend::NamedTensors(variables.begin(), variables.end()));
        executable->evaluate(source, 1);
        for (const Port& port : outputs)
            replay.outputs.emplace(port.name, executable->output(port.name));
        for (const Port& port : inputs)
            replay.inputs.emplace(port.name, batch.at(graph.value(port.value).name));
    }
};

inline TestNetwork image_network(const nn::NetworkSettings& model, std::int64_t samples) {
    TestNetwork network;
    const TensorDesc images{DType::f32, {samples, model.image_size, model.image_size, 3}};
    nn::BuildRequest request;
    request.model = model;
    request.input.images = images;
    nn::Model built = nn::build_evaluation(request, ops::op_table());
    network.graph = std::move(built.graph);
    network.graph.mark_output("logits", built.values.logits);
    network.inputs = {{"images", built.values.images}};
    network.outputs = {{"logits", built.values.logits}};
    network.draw_variables();
    HostTensor labels({DType::i32, {samples}});
    network.answer({{"images", drawn("images", images, 0, 2)}, {"labels", labels}});
    return network;
}

}  // namespace cnntrain::exports
