// Computes what an ONNX file says, node by node, as the operators' specification has it
// (https://onnx.ai/onnx/operators). It knows the operators that exports use and nothing of the graph that was exported,
// so that its answers show what is in the file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/weights/exports.h"

namespace cnntrain::weights {

/// A tensor of the run: real numbers in float32, whatever float type the file has, or integers and truth values.
struct Array {
    Shape shape = {};
    std::vector<float> reals = {};
    std::vector<std::int64_t> integers = {};
    bool real = true;

    std::size_t size() const { return real ? reals.size() : integers.size(); }
};

Array array_of(const HostTensor& tensor);

/// A convolution x[N,C,H,W], w[O,I,K,L].
struct Convolution {
    std::int64_t stride = 1;
    std::vector<std::int64_t> pads = {0, 0, 0, 0};  // top, left, bottom, right
    std::int64_t groups = 1;
};

/// The products, in which most of the time goes. These are naive loops. Shapes have been checked. `node`: where a
/// product stands; its constant operand is always the same.
class Products {
public:
    virtual ~Products() = default;
    /// `bias`: null, or one number per output channel. `result` has its shape.
    virtual void convolution(const std::string& node, const Array& x, const Array& weight, const Array* bias,
                             const Convolution& how, Array& result);
    /// a[M,K] * b[K,N], where b is constant.
    virtual void dense(const std::string& node, const Array& a, const Array& b, Array& result);
    /// a[B,M,K] * b[B,K,N] for each of B.
    virtual void matrices(const std::string& node, const Array& a, const Array& b, Array& result);
};

/// Error(data) names the fault of the file; Error(unsupported) what is not read: other domains and element types,
/// tensors outside the file. Nodes are not checked for what they compute.
OnnxModel decode(std::string_view bytes);

class OnnxProgram {
public:
    /// `most_elements`: of one result. `products` must outlive it.
    OnnxProgram(OnnxModel model, Products& products, std::uint64_t most_elements = std::uint64_t{1} << 31);

    /// The outputs by name; inputs have the element types and shapes of the ports. Error(data) for nodes that do not
    /// fit their inputs, Error(unsupported) for operators and forms of them that exports do not use.
    std::map<std::string, Array> run(const std::map<std::string, Array>& inputs) const;

    const OnnxModel& model() const { return model_; }

private:
    OnnxModel model_;
    Products& products_;
    std::uint64_t most_elements_;
    std::map<std::string, Array> constants_;
    std::vector<std::vector<std::string>> last_uses_;  // by node: values that no later node reads
};

}  // namespace cnntrain::weights
