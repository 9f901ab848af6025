#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/wire.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/weights/exports.h"
#include "weights/onnx/lowering.h"

namespace cnntrain::weights {

namespace {

struct OnnxElementType {
    DType dtype;
    std::int64_t number;  // TensorProto.DataType
};

constexpr std::array<OnnxElementType, 8> kOnnxElementTypes = {{{DType::f32, 1},
                                                               {DType::u8, 2},
                                                               {DType::i8, 3},
                                                               {DType::i32, 6},
                                                               {DType::i64, 7},
                                                               {DType::f16, 10},
                                                               {DType::f64, 11},
                                                               {DType::bf16, 16}}};

// AttributeProto.AttributeType
constexpr std::int64_t kFloat = 1;
constexpr std::int64_t kInt = 2;
constexpr std::int64_t kString = 3;
constexpr std::int64_t kInts = 7;

std::int64_t number_of(DType type) {
    return std::ranges::find(kOnnxElementTypes, type, &OnnxElementType::dtype)->number;
}

// The messages of onnx.proto (https://onnx.ai/onnx/repo-docs/IR.html), each with its fields in ascending order.

WireMessage attribute_message(const std::string& name, const OnnxAttribute& attribute) {
    WireMessage to;
    to.add(1, name);
    if (const auto* value = std::get_if<float>(&attribute)) to.add(2, *value).add(20, kFloat);
    if (const auto* value = std::get_if<std::int64_t>(&attribute)) to.add(3, *value).add(20, kInt);
    if (const auto* value = std::get_if<std::string>(&attribute)) to.add(4, *value).add(20, kString);
    if (const auto* values = std::get_if<std::vector<std::int64_t>>(&attribute)) {
        for (const std::int64_t value : *values)
            to.add(8, value);
        to.add(20, kInts);
    }
    return to;
}

WireMessage node_message(const OnnxNode& node) {
    WireMessage to;
    for (const std::string& input : node.inputs)
        to.add(1, input);
    for (const std::string& output : node.outputs)
        to.add(2, output);
    to.add(3, node.name).add(4, node.op);
    for (const auto& [name, attribute] : node.attributes)
        to.add(5, attribute_message(name, attribute));
    return to;
}

WireMessage tensor_message(const OnnxTensor& tensor) {
    WireMessage to;
    for (const std::int64_t size : tensor.tensor.shape())
        to.add(1, size);
    const auto bytes = tensor.tensor.bytes();
    to.add(2, number_of(tensor.tensor.dtype())).add(8, tensor.name);
    return to.add(9, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

WireMessage port_message(const OnnxPort& port) {
    WireMessage shape;
    for (const OnnxDimension& dimension : port.shape) {
        WireMessage to;
        shape.add(1, dimension.name.empty() ? to.add(1, dimension.size) : to.add(2, dimension.name));
    }
    const WireMessage type = WireMessage().add(1, number_of(port.dtype)).add(2, shape);
    return WireMessage().add(1, port.name).add(2, WireMessage().add(1, type));
}

std::uint64_t tensor_bytes(const OnnxModel& model) {
    std::uint64_t sum = 0;
    for (const OnnxTensor& tensor : model.tensors)
        sum += tensor.tensor.bytes().size();
    return sum;
}

constexpr std::uint64_t kOther = std::uint64_t{1} << 20;  // bytes of all but weights, about

WireMessage graph_message(const OnnxModel& model) {
    WireMessage to;
    to.reserve(tensor_bytes(model) + kOther);
    for (const OnnxNode& node : model.nodes)
        to.add(1, node_message(node));
    to.add(2, model.name);
    for (const OnnxTensor& tensor : model.tensors)
        to.add(5, tensor_message(tensor));
    for (const OnnxPort& port : model.inputs)
        to.add(11, port_message(port));
    for (const OnnxPort& port : model.outputs)
        to.add(12, port_message(port));
    return to;
}

}  // namespace

std::string encode(const OnnxModel& model) {
    constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 31) - (std::uint64_t{1} << 24);
    if (tensor_bytes(model) > kMostBytes)
        throw Error(ErrorKind::unsupported, "the weights take more than the 2 GiB that one ONNX file can hold");
    WireMessage file;
    file.reserve(tensor_bytes(model) + kOther);
    file.add(1, model.ir_version).add(2, "cnntrain").add(3, model.producer_version).add(7, graph_message(model));
    file.add(8, WireMessage().add(1, "").add(2, model.opset));
    for (const auto& [key, value] : model.metadata)
        file.add(14, WireMessage().add(1, key).add(2, value));
    return std::move(file).bytes();
}

namespace {

using data::Interpolation;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kRows = 2;  // axes of images [N,C,H,W]
constexpr std::int64_t kColumns = 3;

/// Sizes are integer tensors [2] of rows and columns, or [1]. Levels are float32.
class Preparation {
public:
    Preparation(OnnxBuilder& builder, const data::DataSettings& images) : b_(builder), images_(images) {}

    std::string run(const std::string& photos) {
        const std::string levels = add("Cast", "levels", {photos}, {{"to", kOnnxFloat}});
        const std::string x = add("Transpose", "channels_first", {levels}, {{"perm", Integers{0, 3, 1, 2}}});
        if (!data::dataset_info(images_.dataset).normalised_by_channel) return standardised(x);
        sides_ = add("Shape", "sides", {x}, {{"start", kRows}, {"end", kColumns + 1}});
        const nn::Normalisation how = data::channel_normalisation(images_);
        const std::string scaled = add("Mul", "scaled", {prepared(x), per_colour("scale", how.scale)});
        return add("Add", "normalised", {scaled, per_colour("shift", how.shift)});
    }

private:
    std::string add(std::string_view op, const std::string& name, std::vector<std::string> inputs,
                    std::map<std::string, OnnxAttribute> attributes = {}) {
        return b_.add(op, "preparation/" + name, std::move(inputs), std::move(attributes));
    }
    std::string integers(const Integers& values) { return b_.integers("preparation/integers", values); }
    std::string real(float value) { return b_.stored("preparation/number", HostTensor::of<float>({}, {value})); }
    std::string per_colour(const std::string& name, const std::array<float, 3>& values) {
        return b_.stored("preparation/" + name, HostTensor::of<float>({3, 1, 1}, {values[0], values[1], values[2]}));
    }

    /// (x - mean) / max(deviation, 1 / sqrt(count)) of each image.
    std::string standardised(const std::string& x) {
        const std::string axes = integers({1, kRows, kColumns});
        const std::string mean = add("ReduceMean", "mean", {x, axes});
        const std::string centred = add("Sub", "centred", {x, mean});
        const std::string squares = add("Mul", "squares", {centred, centred});
        const std::string deviation = add("Sqrt", "deviation", {add("ReduceMean", "variance", {squares, axes})});
        const auto count = static_cast<float>(3 * images_.image_size * images_.image_size);
        return add("Div", "standardised", {centred, add("Max", "divisor", {deviation, real(1 / std::sqrt(count))})});
    }

    std::string prepared(const std::string& x) {
        const std::string side = integers({images_.image_size});
        switch (images_.preparation.resize_mode) {
            case data::ResizeMode::squash:
                return resized(x, integers({images_.image_size, images_.image_size}));
            case data::ResizeMode::pad:
                return padded(x, side);
            case data::ResizeMode::crop:
                break;
        }
        const std::string full = in_f32() ? full_size_of_tf1(side) : full_size();
        const std::string rest = add("Sub", "cut", {full, side});
        const std::string two = integers({2});
        const std::string begin = in_f32() ? add("Div", "begin", {rest, two}) : rounded_quotient(rest, two);
        return add("Slice", "crop",
                   {resized(x, full), begin, add("Add", "end", {begin, side}), integers({kRows, kColumns})});
    }

    /// TensorFlow 1's interpolation is not rounded to levels, and its sizes are computed in float32.
    bool in_f32() const { return images_.preparation.interpolation == Interpolation::tf1_bilinear; }

    std::string shorter_side() {
        return integers({data::evaluation_shorter_side(images_.image_size, images_.preparation.crop_fraction)});
    }

    std::string full_size() {
        const std::string least = add("ReduceMin", "shorter", {sides_});
        return add("Div", "size", {add("Mul", "product", {sides_, shorter_side()}), least});
    }

    std::string full_size_of_tf1(const std::string& side) {
        const auto to_real = [&](const std::string& name, const std::string& value) {
            return add("Cast", name, {value}, {{"to", kOnnxFloat}});
        };
        const std::string least = to_real("shorter_real", add("ReduceMin", "shorter", {sides_}));
        const std::string ratio = add("Div", "ratio", {to_real("wanted", shorter_side()), least});
        const std::string exact = add("Mul", "exact_size", {to_real("sides_real", sides_), ratio});
        return add("Max", "size", {add("Cast", "whole_size", {exact}, {{"to", kOnnxInt64}}), side});
    }

    /// a / b to the nearest integer, halves to the even one, for a >= 0, b > 0. With q = floor(a / b), that is
    /// floor((2 a + b - 1 + q mod 2) / 2 b).
    std::string rounded_quotient(const std::string& a, const std::string& b) {
        const std::string two = integers({2});
        const std::string floor = add("Div", "floor", {a, b});
        const std::string even = add("Mul", "even", {add("Div", "half", {floor, two}), two});
        const std::string odd = add("Sub", "odd", {floor, even});
        const std::string twice = add("Add", "twice", {add("Mul", "twice_a", {a, two}), b});
        const std::string sum = add("Add", "sum", {add("Sub", "less_one", {twice, integers({1})}), odd});
        return add("Div", "quotient", {sum, add("Mul", "twice_b", {b, two})});
    }

    /// The whole photo, with the mean pixel around it.
    std::string padded(const std::string& x, const std::string& side) {
        const std::string most = add("ReduceMax", "longer", {sides_});
        const std::string exact = rounded_quotient(add("Mul", "product", {sides_, side}), most);
        const std::string size = add("Max", "size", {exact, integers({1})});
        std::array<float, 3> mean = data::mean_pixel(images_);
        for (float& level : mean)
            level = std::round(level);
        const std::string pixel = per_colour("mean_pixel", mean);
        const std::string small = resized(x, size);
        const std::string levels = in_f32() ? rounded(small) : small;
        const std::string rest = add("Sub", "rest", {side, size});
        const std::string before = add("Div", "before", {rest, integers({2})});
        const std::string none = integers({0, 0});
        const std::string pads = add("Concat", "pads", {none, before, none, add("Sub", "after", {rest, before})},
                                     {{"axis", std::int64_t{0}}});
        const std::string padded = add("Pad", "padded", {add("Sub", "beside_mean", {levels, pixel}), pads, real(0)},
                                       {{"mode", std::string("constant")}});
        return add("Add", "filled", {padded, pixel});
    }

    /// Rounds to whole levels.
    std::string rounded(const std::string& x) {
        return add("Floor", "rounded", {add("Add", "and_half", {x, real(0.5F)})});
    }

    std::string resized(const std::string& x, const std::string& size) {
        if (in_f32()) {
            return add("Resize", "resized", {x, "", "", size},
                       {{"mode", std::string("linear")},
                        {"coordinate_transformation_mode", std::string("asymmetric")},
                        {"axes", Integers{kRows, kColumns}}});
        }
        const auto part = [&](const std::string& of, std::int64_t index) {
            return add("Gather", "part", {of, integers({index})}, {{"axis", std::int64_t{0}}});
        };
        const std::string rows = part(sides_, 0);
        const std::string wanted_rows = part(size, 0);
        const std::string wanted_columns = part(size, 1);
        const std::string lost_rows = add("Sub", "lost_rows", {rows, wanted_rows});
        const std::string lost_columns = add("Sub", "lost_columns", {part(sides_, 1), wanted_columns});
        // Levels are rounded between the axes. The rows come first if they lose more than twice as much as the columns.
        const std::string twice = add("Mul", "twice_lost", {lost_columns, integers({2})});
        const std::string rows_first =
            add("Less", "rows_first", {add("Max", "limit", {twice, integers({0})}), lost_rows});
        const std::string flag = add("Cast", "flag", {rows_first}, {{"to", kOnnxInt64}});
        const std::string first_rows = add("Sub", "first_rows", {rows, add("Mul", "removed", {flag, lost_rows})});
        const std::string first = axis_resized(x, first_rows, kRows);
        return axis_resized(axis_resized(first, wanted_columns, kColumns), wanted_rows, kRows);
    }

    /// One axis, antialiased and rounded. An axis that has the size keeps its numbers.
    std::string axis_resized(const std::string& x, const std::string& size, std::int64_t axis) {
        const bool cubic = images_.preparation.interpolation == Interpolation::bicubic;
        std::map<std::string, OnnxAttribute> how = {{"mode", std::string(cubic ? "cubic" : "linear")},
                                                    {"coordinate_transformation_mode", std::string("half_pixel")},
                                                    {"antialias", std::int64_t{1}},
                                                    {"exclude_outside", std::int64_t{1}},
                                                    {"axes", Integers{axis}}};
        constexpr float kCubic = -0.5F;
        if (cubic) how["cubic_coeff_a"] = kCubic;
        const std::string levels = rounded(add("Resize", "resized", {x, "", "", size}, std::move(how)));
        return cubic ? add("Clip", "levels", {levels, real(0), real(255)}) : levels;
    }

    OnnxBuilder& b_;
    const data::DataSettings& images_;
    std::string sides_;
};

}  // namespace

OnnxPort photo_port(const std::string& name, const data::DataSettings& images) {
    const bool any_size = data::dataset_info(images.dataset).normalised_by_channel;
    const auto side = [&](const char* free) {
        return any_size ? OnnxDimension{0, free} : OnnxDimension{images.image_size, {}};
    };
    return {name, DType::u8, {{0, kOnnxBatch}, side("height"), side("width"), {3, {}}}};
}

std::string add_preparation(OnnxBuilder& builder, const std::string& photos, const data::DataSettings& images) {
    return Preparation(builder, images).run(photos);
}

}  // namespace cnntrain::weights
