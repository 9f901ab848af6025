// Networks with drawn weights and their answers, for tests of exports.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/backend/backends.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/weights/exports.h"
#include "support/onnx/run.h"
#include "support/tensor_source.h"

namespace cnntrain::weights {

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

/// Inputs and outputs of a network by name, N samples each. Images are [N,H,W,C].
struct Samples {
    std::int64_t count = 0;
    std::map<std::string, HostTensor> inputs;
    std::map<std::string, HostTensor> outputs;
    std::vector<HostTensor> photos = {};  // u8 [H,W,3], from which the images were made; empty: the file reads images
};

/// A network whose norms have statistics that are not 0 and 1.
struct TestNetwork {
    graph::Graph graph{ops::op_table()};
    std::map<std::string, HostTensor> variables;
    std::vector<Port> inputs;
    std::vector<FixedInput> fixed;
    std::vector<Port> outputs;
    Samples samples;

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
        test::TensorSource source({batch.begin(), batch.end()});
        backend::CompileRequest request{&graph, source.fields()};
        samples.count = batch.begin()->second.shape().front();
        request.plan.micro_batch = samples.count;
        request.cpu.threads = 1;
        request.cpu.lanes = 1;
        const auto executable = backend->compile(request);
        executable->load(backend::NamedTensors(variables.begin(), variables.end()));
        executable->evaluate(source, 1);
        for (const Port& port : outputs)
            samples.outputs.emplace(port.name, executable->output(port.name));
        for (const Port& port : inputs)
            samples.inputs.emplace(port.name, batch.at(graph.value(port.value).name));
    }
};

constexpr std::size_t kImageAxes = 4;

/// Samples `first` to `first` + `count` - 1, images [N,C,H,W].
inline Array part_of(const HostTensor& all, std::int64_t first, std::int64_t count) {
    Shape shape = all.shape();
    shape.front() = count;
    HostTensor part({all.dtype(), shape});
    const std::size_t row = part.bytes().size() / static_cast<std::size_t>(count);
    std::memcpy(part.bytes().data(), all.bytes().data() + static_cast<std::size_t>(first) * row, part.bytes().size());
    return array_of(shape.size() == kImageAxes ? with_axes(part, {0, 3, 1, 2}) : part);
}

/// Photos differ in size and come one by one.
inline std::map<std::string, Array> inputs_of(const Samples& samples, std::int64_t first, std::int64_t count) {
    std::map<std::string, Array> inputs;
    for (const auto& [name, tensor] : samples.inputs) {
        if (samples.photos.empty() || tensor.shape().size() != kImageAxes) {
            inputs.emplace(name, part_of(tensor, first, count));
            continue;
        }
        Array photo = array_of(samples.photos.at(static_cast<std::size_t>(first)));
        photo.shape.insert(photo.shape.begin(), 1);
        inputs.emplace(name, std::move(photo));
    }
    return inputs;
}

/// The outputs of a model, written and read, in batches of 1, 7 and 8.
inline std::map<std::string, HostTensor> answers_of(const OnnxModel& model, const Samples& samples) {
    Products products;
    const OnnxProgram program(decode(encode(model)), products);
    std::map<std::string, Array> all;
    std::int64_t batch = 1;
    for (std::int64_t first = 0; first < samples.count;) {
        const std::int64_t count = std::min(batch, samples.count - first);
        for (const auto& [name, part] : program.run(inputs_of(samples, first, count))) {
            Array& whole = all.try_emplace(name, Array{.shape = part.shape}).first->second;
            whole.shape.front() = first + count;
            whole.reals.insert(whole.reals.end(), part.reals.begin(), part.reals.end());
        }
        first += count;
        if (samples.photos.empty()) batch = first == 1 ? 7 : 8;
    }
    std::map<std::string, HostTensor> outputs;
    for (const auto& [name, array] : all) {
        HostTensor tensor({DType::f32, array.shape});
        std::ranges::copy(array.reals, tensor.as<float>().begin());
        outputs.emplace(name, std::move(tensor));
    }
    return outputs;
}

/// The greatest difference of a model from the network; infinite if an output is missing.
inline double apart(const OnnxModel& model, const Samples& samples) {
    const std::map<std::string, HostTensor> answers = answers_of(model, samples);
    double greatest = 0;
    for (const auto& [name, expected] : samples.outputs) {
        const auto found = answers.find(name);
        if (found == answers.end()) return std::numeric_limits<double>::infinity();
        greatest = std::max(greatest, difference(expected, found->second));
    }
    return greatest;
}

/// `change`: another form of the graph.
inline TestNetwork image_network(const nn::NetworkSettings& model, std::int64_t samples,
                                 graph::Graph (*change)(const graph::Graph&) = nullptr) {
    TestNetwork network;
    const TensorDesc images{DType::f32, {samples, model.image_size, model.image_size, 3}};
    nn::BuildRequest request;
    request.model = model;
    request.input.images = images;
    nn::Model built = nn::build_evaluation(request, ops::op_table());
    network.graph = std::move(built.graph);
    network.graph.mark_output("logits", built.values.logits);
    if (change != nullptr) network.graph = change(network.graph);
    network.inputs = {{"images", *network.graph.find("images")}};
    network.outputs = {{"logits", network.graph.outputs().back().value}};
    network.draw_variables();
    HostTensor labels({DType::i32, {samples}});
    network.answer({{"images", drawn("images", images, 0, 2)}, {"labels", labels}});
    return network;
}

}  // namespace cnntrain::weights
