// Products of an ONNX program on a backend: each is a graph of one node.
#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/axes.h"
#include "cnntrain/base/error.h"
#include "cnntrain/exports/onnx_run.h"
#include "cnntrain/ops/op_table.h"

namespace cnntrain::exports {

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
