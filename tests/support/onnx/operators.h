// The operators of OnnxProgram.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/onnx/run.h"

namespace cnntrain::weights {

/// A size or place as an index.
constexpr std::size_t at(std::int64_t value) {
    return static_cast<std::size_t>(value);
}

/// One node with its inputs; what it asks for is checked here, so that an operator's function only computes.
class NodeCall {
public:
    NodeCall(const OnnxNode& node, std::vector<const Array*> inputs, std::vector<bool> constant, Products& products,
             std::uint64_t most_elements)
        : node_(node),
          inputs_(std::move(inputs)),
          constant_(std::move(constant)),
          products_(products),
          most_elements_(most_elements) {}

    const std::string& name() const { return node_.name; }
    const std::string& op() const { return node_.op; }
    std::size_t count() const { return inputs_.size(); }
    bool has(std::size_t index) const { return index < inputs_.size() && inputs_[index] != nullptr; }
    bool is_constant(std::size_t index) const { return has(index) && constant_[index]; }
    /// Error(data) if the input is missing, or not of this kind.
    const Array& any(std::size_t index) const;
    const Array& reals(std::size_t index) const;
    const Array& integers(std::size_t index) const;
    /// The same with a rank.
    const Array& reals(std::size_t index, std::size_t rank) const;
    /// One real number per `count`.
    const Array& vector(std::size_t index, std::int64_t count) const;

    std::int64_t integer(const std::string& attribute, std::int64_t fallback) const;
    double number(const std::string& attribute, double fallback) const;
    std::vector<std::int64_t> list(const std::string& attribute, std::vector<std::int64_t> fallback) const;
    std::string text(const std::string& attribute, const std::string& fallback) const;
    /// -1 is the last axis.
    std::int64_t axis(std::int64_t value, std::size_t rank) const;

    /// A new tensor of zeros; Error(data) for a negative size, Error(unsupported) for too many elements.
    Array made(const Shape& shape, bool real = true) const;
    Products& products() const { return products_; }

    /// Error(data): the node's inputs do not fit.
    void require(bool holds, const std::string& what) const;
    [[noreturn]] void unsupported(const std::string& what) const;

private:
    const OnnxNode& node_;
    std::vector<const Array*> inputs_;
    std::vector<bool> constant_;
    Products& products_;
    std::uint64_t most_elements_;
};

using Operator = Array (*)(const NodeCall& call);

/// Null for an operator that is not known.
Operator find_operator(std::string_view name);

// Element by element, and reductions
Array run_add(const NodeCall& call);
Array run_sub(const NodeCall& call);
Array run_mul(const NodeCall& call);
Array run_div(const NodeCall& call);
Array run_max(const NodeCall& call);
Array run_and(const NodeCall& call);
Array run_or(const NodeCall& call);
Array run_not(const NodeCall& call);
Array run_less(const NodeCall& call);
Array run_equal(const NodeCall& call);
Array run_cast(const NodeCall& call);
Array run_clip(const NodeCall& call);
Array run_quantize_linear(const NodeCall& call);
Array run_dequantize_linear(const NodeCall& call);
Array run_identity(const NodeCall& call);
Array run_relu(const NodeCall& call);
Array run_sigmoid(const NodeCall& call);
Array run_tanh(const NodeCall& call);
Array run_erf(const NodeCall& call);
Array run_floor(const NodeCall& call);
Array run_sqrt(const NodeCall& call);
Array run_reduce_min(const NodeCall& call);
Array run_reduce_max(const NodeCall& call);
Array run_reduce_mean(const NodeCall& call);

// Products, pools and norms
Array run_conv(const NodeCall& call);
Array run_gemm(const NodeCall& call);
Array run_matmul(const NodeCall& call);
Array run_matmul_integer(const NodeCall& call);
Array run_max_pool(const NodeCall& call);
Array run_min(const NodeCall& call);
Array run_global_average_pool(const NodeCall& call);
Array run_batch_norm(const NodeCall& call);
Array run_instance_norm(const NodeCall& call);
Array run_layer_norm(const NodeCall& call);
Array run_softmax(const NodeCall& call);

// Changes of shape and selections
Array run_shape(const NodeCall& call);
Array run_concat(const NodeCall& call);
Array run_resize(const NodeCall& call);
Array run_round(const NodeCall& call);
Array run_reshape(const NodeCall& call);
Array run_flatten(const NodeCall& call);
Array run_transpose(const NodeCall& call);
Array run_unsqueeze(const NodeCall& call);
Array run_slice(const NodeCall& call);
Array run_pad(const NodeCall& call);
Array run_gather(const NodeCall& call);
Array run_gather_nd(const NodeCall& call);

}  // namespace cnntrain::weights
