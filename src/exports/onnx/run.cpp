#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/axes.h"
#include "cnntrain/base/error.h"
#include "cnntrain/exports/onnx_run.h"
#include "cnntrain/ops/op_table.h"
#include "exports/onnx/operators.h"

namespace cnntrain::exports {

// ---- one node ----

void NodeCall::require(bool holds, const std::string& what) const {
    if (!holds) throw Error(ErrorKind::data, "node " + node_.name + " (" + node_.op + "): " + what);
}

void NodeCall::unsupported(const std::string& what) const {
    throw Error(ErrorKind::unsupported, "node " + node_.name + " (" + node_.op + "): " + what);
}

const Array& NodeCall::any(std::size_t index) const {
    require(has(index), "expected an input " + std::to_string(index));
    return *inputs_[index];
}

const Array& NodeCall::reals(std::size_t index) const {
    require(any(index).real, "expected real numbers as input " + std::to_string(index));
    return *inputs_[index];
}

const Array& NodeCall::integers(std::size_t index) const {
    require(!any(index).real, "expected integers as input " + std::to_string(index));
    return *inputs_[index];
}

const Array& NodeCall::reals(std::size_t index, std::size_t rank) const {
    const Array& array = reals(index);
    require(array.shape.size() == rank, "expected " + std::to_string(rank) + " axes of input " + std::to_string(index) +
                                            ", got " + to_string(array.shape));
    return array;
}

const Array& NodeCall::vector(std::size_t index, std::int64_t count) const {
    const Array& array = reals(index, 1);
    require(array.shape[0] == count, "expected " + std::to_string(count) + " elements of input " +
                                         std::to_string(index) + ", got " + to_string(array.shape));
    return array;
}

std::int64_t NodeCall::integer(const std::string& attribute, std::int64_t fallback) const {
    const auto found = node_.attributes.find(attribute);
    if (found == node_.attributes.end()) return fallback;
    const auto* value = std::get_if<std::int64_t>(&found->second);
    require(value != nullptr, "expected an integer as " + attribute);
    return *value;
}

double NodeCall::number(const std::string& attribute, double fallback) const {
    const auto found = node_.attributes.find(attribute);
    if (found == node_.attributes.end()) return fallback;
    const auto* value = std::get_if<float>(&found->second);
    require(value != nullptr, "expected a number as " + attribute);
    return *value;
}

std::vector<std::int64_t> NodeCall::list(const std::string& attribute, std::vector<std::int64_t> fallback) const {
    const auto found = node_.attributes.find(attribute);
    if (found == node_.attributes.end()) return fallback;
    const auto* values = std::get_if<std::vector<std::int64_t>>(&found->second);
    require(values != nullptr, "expected integers as " + attribute);
    return *values;
}

std::string NodeCall::text(const std::string& attribute, const std::string& fallback) const {
    const auto found = node_.attributes.find(attribute);
    if (found == node_.attributes.end()) return fallback;
    const auto* value = std::get_if<std::string>(&found->second);
    require(value != nullptr, "expected a text as " + attribute);
    return *value;
}

std::int64_t NodeCall::axis(std::int64_t value, std::size_t rank) const {
    const auto count = static_cast<std::int64_t>(rank);
    require(value >= -count && value < count,
            "axis " + std::to_string(value) + " of a tensor with " + std::to_string(rank) + " axes");
    return value < 0 ? value + count : value;
}

Array NodeCall::made(const Shape& shape, bool real) const {
    std::uint64_t count = 1;
    for (const std::int64_t size : shape) {
        require(size >= 0, "its result would have the shape " + to_string(shape));
        if (size > 0 && count > most_elements_ / static_cast<std::uint64_t>(size))
            unsupported("its result would have the shape " + to_string(shape) + ", which is too large");
        count *= static_cast<std::uint64_t>(size);
    }
    Array result{.shape = shape, .real = real};
    if (real) {
        result.reals.resize(count);
    } else {
        result.integers.resize(count);
    }
    return result;
}

// ---- operators ----

namespace {

struct OperatorRow {
    std::string_view name;
    Operator run;
};

constexpr auto kOperators = std::to_array<OperatorRow>({
    {"Add", run_add},
    {"And", run_and},
    {"BatchNormalization", run_batch_norm},
    {"Cast", run_cast},
    {"Clip", run_clip},
    {"Concat", run_concat},
    {"Conv", run_conv},
    {"Div", run_div},
    {"Equal", run_equal},
    {"Erf", run_erf},
    {"Flatten", run_flatten},
    {"Floor", run_floor},
    {"Gather", run_gather},
    {"GatherND", run_gather_nd},
    {"Gemm", run_gemm},
    {"GlobalAveragePool", run_global_average_pool},
    {"Identity", run_identity},
    {"InstanceNormalization", run_instance_norm},
    {"LayerNormalization", run_layer_norm},
    {"Less", run_less},
    {"MatMul", run_matmul},
    {"Max", run_max},
    {"MaxPool", run_max_pool},
    {"Mul", run_mul},
    {"Not", run_not},
    {"Or", run_or},
    {"Pad", run_pad},
    {"ReduceMax", run_reduce_max},
    {"ReduceMean", run_reduce_mean},
    {"ReduceMin", run_reduce_min},
    {"Relu", run_relu},
    {"Reshape", run_reshape},
    {"Resize", run_resize},
    {"Shape", run_shape},
    {"Sigmoid", run_sigmoid},
    {"Slice", run_slice},
    {"Softmax", run_softmax},
    {"Sqrt", run_sqrt},
    {"Sub", run_sub},
    {"Tanh", run_tanh},
    {"Transpose", run_transpose},
    {"Unsqueeze", run_unsqueeze},
});

void check_input(const OnnxPort& port, const Array& array) {
    const bool real = port.dtype != DType::i32 && port.dtype != DType::i64 && port.dtype != DType::u8;
    bool fits = real == array.real && port.shape.size() == array.shape.size();
    for (std::size_t i = 0; fits && i < array.shape.size(); ++i)
        fits = !port.shape[i].name.empty() || port.shape[i].size == array.shape[i];
    if (!fits) {
        throw Error(ErrorKind::data,
                    "input " + port.name + ": the file expects another type or shape than " + to_string(array.shape));
    }
}

}  // namespace

Array array_of(const HostTensor& tensor) {
    const DType type = tensor.dtype();
    Array result{.shape = tensor.shape(), .real = type != DType::i32 && type != DType::i64 && type != DType::u8};
    const auto count = static_cast<std::size_t>(tensor.elements());
    if (result.real) {
        result.reals.resize(count);
    } else {
        result.integers.resize(count);
    }
    for (std::size_t i = 0; i < count; ++i) {
        const auto index = static_cast<std::int64_t>(i);
        if (type == DType::i64) {
            result.integers[i] = tensor.as<std::int64_t>()[i];
        } else if (result.real) {
            result.reals[i] = static_cast<float>(tensor.at(index));
        } else {
            result.integers[i] = static_cast<std::int64_t>(tensor.at(index));
        }
    }
    return result;
}

Operator find_operator(std::string_view name) {
    const auto* found = std::ranges::find(kOperators, name, &OperatorRow::name);
    return found == kOperators.end() ? nullptr : found->run;
}

// ---- the program ----

OnnxProgram::OnnxProgram(OnnxModel model, Products& products, std::uint64_t most_elements)
    : model_(std::move(model)), products_(products), most_elements_(most_elements) {
    for (const OnnxTensor& tensor : model_.tensors)
        constants_.emplace(tensor.name, array_of(tensor.tensor));
    std::set<std::string> used_later;
    for (const OnnxPort& output : model_.outputs)
        used_later.insert(output.name);
    last_uses_.resize(model_.nodes.size());
    for (std::size_t i = model_.nodes.size(); i-- > 0;) {
        for (const std::string& input : model_.nodes[i].inputs)
            if (used_later.insert(input).second) last_uses_[i].push_back(input);
    }
}

std::map<std::string, Array> OnnxProgram::run(const std::map<std::string, Array>& inputs) const {
    std::map<std::string, Array> values;
    for (const OnnxPort& port : model_.inputs) {
        const auto found = inputs.find(port.name);
        if (found == inputs.end())
            throw Error(ErrorKind::data, "the file has an input " + port.name + " that is not known");
        check_input(port, found->second);
        values.emplace(port.name, found->second);
    }
    std::set<std::string> constant_results;  // of nodes that read constants only, such as casts of weights
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
        const OnnxNode& node = model_.nodes[i];
        const Operator compute = find_operator(node.op);
        if (compute == nullptr)
            throw Error(ErrorKind::unsupported, "node " + node.name + ": the operator " + node.op + " is not known");
        std::vector<const Array*> arrays;
        std::vector<bool> constant;
        for (const std::string& input : node.inputs) {
            const auto made = values.find(input);
            const auto stored = constants_.find(input);
            const bool absent = input.empty() || (made == values.end() && stored == constants_.end());
            arrays.push_back(absent ? nullptr : made != values.end() ? &made->second : &stored->second);
            constant.push_back(stored != constants_.end() || constant_results.contains(input));
        }
        if (node.outputs.size() != 1) throw Error(ErrorKind::unsupported, "node " + node.name + " has several results");
        const bool all_constant = std::ranges::all_of(constant, [](bool value) { return value; });
        values[node.outputs[0]] =
            compute(NodeCall(node, std::move(arrays), std::move(constant), products_, most_elements_));
        if (all_constant) constant_results.insert(node.outputs[0]);
        for (const std::string& name : last_uses_[i])
            values.erase(name);
    }
    std::map<std::string, Array> outputs;
    for (const OnnxPort& port : model_.outputs) {
        const auto found = values.find(port.name);
        if (found == values.end()) throw Error(ErrorKind::data, "the output " + port.name + " is not computed");
        outputs.emplace(port.name, found->second);
    }
    return outputs;
}

// Products of an ONNX program on a backend: each is a graph of one node.

namespace {

constexpr const char* kX = "x";
constexpr const char* kB = "b";
constexpr const char* kWeight = "weight";
constexpr const char* kResult = "result";

/// Delivers one batch again and again.
class OneBatch final : public data::BatchSource {
public:
    OneBatch(std::vector<data::Field> fields, std::vector<std::span<const std::byte>> bytes, std::int64_t samples)
        : fields_(std::move(fields)), bytes_(std::move(bytes)), samples_(samples) {}

    std::vector<data::Field> fields() const override { return fields_; }
    data::Batch next() override { return {.fields = bytes_, .valid_count = samples_}; }

private:
    std::vector<data::Field> fields_;
    std::vector<std::span<const std::byte>> bytes_;
    std::int64_t samples_;
};

HostTensor tensor_of(const Array& array) {
    HostTensor tensor({DType::f32, array.shape});
    std::ranges::copy(array.reals, tensor.as<float>().begin());
    return tensor;
}

/// Blocks of [rows,columns] matrices are transposed, so that both sides are read in cache lines.
void transpose(const float* from, float* to, std::size_t rows, std::size_t columns) {
    constexpr std::size_t kBlock = 16;
    for (std::size_t r = 0; r < rows; r += kBlock) {
        for (std::size_t c = 0; c < columns; c += kBlock) {
            for (std::size_t i = r; i < std::min(r + kBlock, rows); ++i) {
                for (std::size_t k = c; k < std::min(c + kBlock, columns); ++k)
                    to[k * rows + i] = from[i * columns + k];
            }
        }
    }
}

std::vector<float> channels_last(const Array& x) {
    std::vector<float> result(x.reals.size());
    const auto channels = static_cast<std::size_t>(x.shape[1]);
    const auto pixels = static_cast<std::size_t>(x.shape[2] * x.shape[3]);
    for (std::size_t n = 0; n < static_cast<std::size_t>(x.shape[0]); ++n)
        transpose(x.reals.data() + n * channels * pixels, result.data() + n * channels * pixels, channels, pixels);
    return result;
}

void channels_first(std::span<const float> from, Array& to) {
    const auto channels = static_cast<std::size_t>(to.shape[1]);
    const auto pixels = static_cast<std::size_t>(to.shape[2] * to.shape[3]);
    for (std::size_t n = 0; n < static_cast<std::size_t>(to.shape[0]); ++n)
        transpose(from.data() + n * channels * pixels, to.reals.data() + n * channels * pixels, pixels, channels);
}

class BackendProducts final : public Products {
public:
    BackendProducts(const backend::Backend& backend, int threads) : backend_(backend), threads_(threads) {}

    void convolution(const std::string& node, const Array& x, const Array& weight, const Array* bias,
                     const Convolution& how, Array& result) override {
        const TensorDesc images{DType::f32, {x.shape[0], x.shape[2], x.shape[3], x.shape[1]}};
        const auto build = [&](graph::Graph& graph) {
            graph::ConvAttrs attrs;
            attrs.stride = how.stride;
            attrs.groups = how.groups;
            attrs.padding = {.top = how.pads[0], .bottom = how.pads[2], .left = how.pads[1], .right = how.pads[3]};
            attrs.bias = bias != nullptr;
            const Shape& w = weight.shape;
            std::vector<graph::ValueId> inputs = {
                graph.add_input(kX, images), graph.add_parameter(kWeight, {DType::f32, {w[2], w[3], w[1], w[0]}}, {})};
            if (bias != nullptr) inputs.push_back(graph.add_parameter("bias", {DType::f32, {w[0]}}, {}));
            return graph.add_one(graph::OpKind::conv2d, attrs, inputs, "convolution");
        };
        const auto load = [&](backend::Executable& executable) {
            executable.load(kWeight, with_axes(tensor_of(weight), {2, 3, 1, 0}));
            if (bias != nullptr) executable.load("bias", tensor_of(*bias));
        };
        const std::vector<float> last = channels_last(x);
        const HostTensor y = run(node, {{kX, images}}, {std::as_bytes(std::span(last))}, build, load);
        channels_first(y.as<float>(), result);
    }

    void dense(const std::string& node, const Array& a, const Array& b, Array& result) override {
        const TensorDesc rows{DType::f32, a.shape};
        const auto build = [&](graph::Graph& graph) {
            const std::vector<graph::ValueId> inputs = {graph.add_input(kX, rows),
                                                        graph.add_parameter(kWeight, {DType::f32, b.shape}, {})};
            return graph.add_one(graph::OpKind::dense, graph::DenseAttrs{.bias = false}, inputs, "dense");
        };
        const auto load = [&](backend::Executable& executable) { executable.load(kWeight, tensor_of(b)); };
        const HostTensor y = run(node, {{kX, rows}}, {std::as_bytes(std::span(a.reals))}, build, load);
        std::ranges::copy(y.as<float>(), result.reals.begin());
    }

    void matrices(const std::string& node, const Array& a, const Array& b, Array& result) override {
        const TensorDesc left{DType::f32, a.shape};
        const TensorDesc right{DType::f32, b.shape};
        const auto build = [&](graph::Graph& graph) {
            const std::vector<graph::ValueId> inputs = {graph.add_input(kX, left), graph.add_input(kB, right)};
            return graph.add_one(graph::OpKind::batched_matmul, graph::MatmulAttrs{}, inputs, "matrices");
        };
        const HostTensor y =
            run(node, {{kX, left}, {kB, right}}, {std::as_bytes(std::span(a.reals)), std::as_bytes(std::span(b.reals))},
                build, [](backend::Executable&) {});
        std::ranges::copy(y.as<float>(), result.reals.begin());
    }

private:
    /// A node's executable is kept until the node gets a batch of another shape.
    struct Compiled {
        std::vector<data::Field> fields;
        std::unique_ptr<backend::Executable> executable;
    };

    template <typename Build, typename Load>
    HostTensor run(const std::string& node, const std::vector<data::Field>& fields,
                   std::vector<std::span<const std::byte>> bytes, const Build& build, const Load& load) {
        Compiled& compiled = compiled_[node];
        const std::int64_t samples = fields.front().desc.shape.front();
        if (compiled.executable == nullptr || compiled.fields != fields) {
            graph::Graph graph(ops::op_table());
            graph.mark_output(kResult, build(graph));
            backend::CompileRequest request{&graph, fields};
            request.plan.micro_batch = samples;
            request.cpu.threads = threads_;
            request.cpu.lanes = 1;
            compiled = {fields, backend_.compile(request)};
            load(*compiled.executable);
        }
        OneBatch batch(fields, std::move(bytes), samples);
        compiled.executable->evaluate(batch, 1);
        return compiled.executable->output(kResult);
    }

    const backend::Backend& backend_;
    int threads_;
    std::map<std::string, Compiled> compiled_;
};

}  // namespace

std::unique_ptr<Products> backend_products(const backend::Backend& backend, int threads) {
    return std::make_unique<BackendProducts>(backend, threads);
}

}  // namespace cnntrain::exports
