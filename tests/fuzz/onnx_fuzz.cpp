// Files of ONNX: they are read, and what they say is computed with small limits.
#include <cstdlib>

#include "cnntrain/base/error.h"
#include "cnntrain/exports/onnx_run.h"
#include "fuzz/fuzz_target.h"

namespace cnntrain::fuzz {

namespace {

using exports::Array;
using exports::OnnxAttribute;
using exports::OnnxModel;

HostTensor numbers(DType type, const Shape& shape, double first = 1) {
    HostTensor tensor({type, shape});
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set(i, first + static_cast<double>(i % 3));
    return tensor;
}

HostTensor list(std::initializer_list<std::int64_t> values) {
    return HostTensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

/// All operators of images, one behind the other.
OnnxModel images() {
    OnnxModel model;
    model.inputs = {{"x", DType::f32, {{0, "batch"}, {2, {}}, {4, {}}, {4, {}}}}};
    model.tensors = {{"w", numbers(DType::f32, {2, 2, 3, 3})},
                     {"v", numbers(DType::f32, {2})},
                     {"m", numbers(DType::f16, {2, 3})},
                     {"shape", list({0, 2, -1})},
                     {"back", list({0, 2, 2, 2})},
                     {"a", list({0, 0})},
                     {"b", list({2, 2})},
                     {"axes", list({2, 3})},
                     {"steps", list({2, 1})},
                     {"pads", list({0, 0, 0, 0, 0, 0, 1, 0})},
                     {"s", numbers(DType::bf16, {})}};
    model.nodes = {{"Conv",
                    "1",
                    {"x", "w", "v"},
                    {"1"},
                    {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}, {"strides", std::vector<std::int64_t>{2, 2}}}},
                   {"BatchNormalization", "2", {"1", "v", "v", "v", "v"}, {"2"}, {{"epsilon", 0.1F}}},
                   {"Relu", "3", {"2"}, {"3"}},
                   {"MaxPool",
                    "4",
                    {"3"},
                    {"4"},
                    {{"kernel_shape", std::vector<std::int64_t>{1, 1}}, {"strides", std::vector<std::int64_t>{1, 1}}}},
                   {"Reshape", "5", {"4", "shape"}, {"5"}},
                   {"InstanceNormalization", "6", {"5", "v", "v"}, {"6"}},
                   {"Reshape", "7", {"6", "back"}, {"7"}},
                   {"Slice", "8", {"7", "a", "b", "axes", "steps"}, {"8"}},
                   {"Pad", "9", {"8", "pads"}, {"9"}},
                   {"Sigmoid", "10", {"9"}, {"10"}},
                   {"Mul", "11", {"10", "s"}, {"11"}},
                   {"GlobalAveragePool", "12", {"11"}, {"12"}},
                   {"Flatten", "13", {"12"}, {"13"}, {{"axis", std::int64_t{1}}}},
                   {"Gemm", "14", {"13", "m"}, {"14"}},
                   {"Softmax", "y", {"14"}, {"y"}, {{"axis", std::int64_t{-1}}}}};
    model.outputs = {{"y", DType::f32, {{0, "batch"}, {3, {}}}}};
    return model;
}

/// Those of texts.
OnnxModel texts() {
    OnnxModel model;
    model.inputs = {{"ids", DType::i32, {{0, "batch"}, {3, {}}}}};
    model.tensors = {{"table", numbers(DType::f32, {4, 2})},
                     {"one", numbers(DType::i32, {1, 1})},
                     {"v", numbers(DType::f32, {2})},
                     {"axis", list({2})},
                     {"m", numbers(DType::f32, {2, 2})}};
    model.nodes = {{"Gather", "1", {"table", "ids"}, {"1"}, {{"axis", std::int64_t{0}}}},
                   {"LayerNormalization", "2", {"1", "v", "v"}, {"2"}, {{"axis", std::int64_t{-1}}}},
                   {"MatMul", "3", {"2", "m"}, {"3"}},
                   {"Transpose", "4", {"3"}, {"4"}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}}},
                   {"MatMul", "5", {"3", "4"}, {"5"}},
                   {"MatMul", "6", {"5", "3"}, {"6"}},
                   {"Less", "7", {"ids", "one"}, {"7"}},
                   {"Not", "8", {"7"}, {"8"}},
                   {"Or", "9", {"8", "7"}, {"9"}},
                   {"And", "10", {"9", "ids"}, {"10"}},
                   {"Unsqueeze", "11", {"10", "axis"}, {"11"}},
                   {"Cast", "12", {"11"}, {"12"}, {{"to", std::int64_t{7}}}},
                   {"GatherND", "13", {"6", "12"}, {"13"}, {{"batch_dims", std::int64_t{1}}}},
                   {"Tanh", "14", {"13"}, {"14"}},
                   {"Erf", "y", {"14"}, {"y"}}};
    model.outputs = {{"y", DType::f32, {{0, "batch"}, {3, {}}, {2, {}}}}};
    return model;
}

/// Those that prepare photos: sizes that are computed, resizes of one axis and of two.
OnnxModel photos() {
    using Integers = std::vector<std::int64_t>;
    const OnnxAttribute linear = std::string("linear");
    OnnxModel model;
    model.inputs = {{"x", DType::u8, {{0, "batch"}, {0, "height"}, {0, "width"}, {3, {}}}}};
    model.tensors = {{"three", list({3})},
                     {"one", list({1})},
                     {"first", list({0})},
                     {"none", list({0, 0})},
                     {"axes", list({2, 3})},
                     {"all", list({1, 2, 3})},
                     {"half", numbers(DType::f32, {}, 0.5)},
                     {"most", numbers(DType::f32, {}, 255)}};
    model.nodes = {
        {"Cast", "1", {"x"}, {"1"}, {{"to", std::int64_t{1}}}},
        {"Transpose", "2", {"1"}, {"2"}, {{"perm", Integers{0, 3, 1, 2}}}},
        {"Shape", "s", {"2"}, {"s"}, {{"start", std::int64_t{2}}, {"end", std::int64_t{4}}}},
        {"ReduceMin", "l", {"s"}, {"l"}},
        {"ReduceMax", "m", {"s"}, {"m"}},
        {"Mul", "p", {"s", "three"}, {"p"}},
        {"Div", "q", {"p", "l"}, {"q"}},
        {"Max", "w", {"q", "three"}, {"w"}},
        {"Resize", "3", {"2", "", "", "w"}, {"3"}, {{"mode", linear}, {"axes", Integers{2, 3}}}},
        {"Gather", "r", {"w", "first"}, {"r"}},
        {"Resize",
         "4",
         {"3", "", "", "r"},
         {"4"},
         {{"mode", std::string("cubic")},
          {"antialias", std::int64_t{1}},
          {"exclude_outside", std::int64_t{1}},
          {"cubic_coeff_a", -0.5F},
          {"axes", Integers{2}}}},
        {"Add", "5", {"4", "half"}, {"5"}},
        {"Floor", "6", {"5"}, {"6"}},
        {"Clip", "7", {"6", "half", "most"}, {"7"}},
        {"Sub", "b", {"w", "three"}, {"b"}},
        {"Add", "e", {"b", "three"}, {"e"}},
        {"Slice", "8", {"7", "b", "e", "axes"}, {"8"}},
        {"Sub", "a", {"m", "l"}, {"a"}},
        {"Concat", "pads", {"none", "a", "one", "none", "none", "one"}, {"pads"}, {{"axis", std::int64_t{0}}}},
        {"Pad", "9", {"8", "pads"}, {"9"}},
        {"ReduceMean", "10", {"9", "all"}, {"10"}},
        {"Sqrt", "11", {"10"}, {"11"}},
        {"Div", "y", {"9", "11"}, {"y"}}};
    model.outputs = {{"y", DType::f32, {{0, "batch"}, {3, {}}, {0, "rows"}, {0, "columns"}}}};
    return model;
}

Array input_of(const exports::OnnxPort& port) {
    Array array{.real = port.dtype == DType::f32};
    std::size_t count = 1;
    for (const exports::OnnxDimension& dimension : port.shape) {
        const std::int64_t size = dimension.name.empty() ? dimension.size : 2;
        if (size < 0 || size > 8) return {};
        array.shape.push_back(size);
        count *= static_cast<std::size_t>(size);
    }
    constexpr std::size_t kMost = 1 << 12;
    if (count > kMost) return {};
    array.reals.assign(array.real ? count : 0, 0.5F);
    array.integers.assign(array.real ? 0 : count, 1);
    return array;
}

}  // namespace

std::vector<std::string> seeds() {
    return {encode(images()), encode(texts()), encode(photos())};
}

std::vector<std::string> words() {
    return {"Conv", "Gemm", "MatMul", "Reshape", "Slice", "Gather",  "Resize",    "Concat", "Shape",
            "Div",  "pads", "axis",   "perm",    "axes",  "strides", "antialias", "start",  "cubic"};
}

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    constexpr std::uint64_t kMostElements = 1 << 12;
    try {
        exports::Products products;
        const exports::OnnxProgram program(exports::decode({reinterpret_cast<const char*>(data), size}), products,
                                           kMostElements);
        std::map<std::string, exports::Array> inputs;
        for (const exports::OnnxPort& port : program.model().inputs)
            inputs.emplace(port.name, fuzz::input_of(port));
        program.run(inputs);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::data && error.kind() != ErrorKind::unsupported) std::abort();
    }
    return 0;
}
