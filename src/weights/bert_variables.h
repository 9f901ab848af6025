// The variables of a BERT network: their names in both layouts, and their shapes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::weights {

/// Groups of variables. A network has all variables of a group, or none.
enum class Part : std::uint8_t {
    encoder,
    key_bias,  // in their layout only
    qkv_bias,  // of queries and values
    projection_bias,
    pooler,
    transform,  // layer between encoder and masked-word scores
    prediction_bias,
    sentences,   // next-sentence scores
    classifier,  // class scores
    answers,     // scores of an answer's first and last token
};
inline constexpr std::size_t kParts = 10;
using PartSet = std::array<bool, kParts>;

/// '#' stands for the beginning of a layer's names. `axes` has a letter for each axis in our order: V vocabulary, P
/// positions, T segments, H hidden size, 3 three times H, I intermediate size, C classes, 2 two.
struct Variable {
    std::string_view ours;  // empty: in their layout only
    std::string_view theirs;
    std::string_view axes;
    Part part = Part::encoder;

    bool transposed() const { return ours.ends_with("kernel"); }  // in their layout, the axes are reversed
};

inline constexpr std::string_view kTable = "bert/embeddings/word_embeddings";
inline constexpr std::string_view kTheirTable = "bert.embeddings.word_embeddings.weight";
inline constexpr std::string_view kPredictionBias = "cls/predictions/output_bias";
inline constexpr std::string_view kTheirPredictionBias = "cls.predictions.bias";
inline constexpr std::string_view kOurLayers = "bert/encoder/layer_";
inline constexpr std::string_view kTheirLayers = "bert.encoder.layer.";
inline constexpr std::string_view kJoined = "bert/encoder/layer_#/attention/self/kernel/qkv_weight";
inline constexpr std::string_view kJoinedAxes = "H3";

struct NamedVariable {
    std::string ours;
    std::string theirs;
    const Variable* row = nullptr;
};
/// All variables of a network with `layers` encoder layers.
std::vector<NamedVariable> named_variables(std::int64_t layers);
std::string of_layer(std::string_view pattern, std::int64_t layer);

/// Number of layers. The layer numbers follow `prefix` in the names; Error(data) unless they are 0, 1, 2, ...
std::int64_t count_layers(const std::map<std::string, HostTensor>& tensors, std::string_view prefix,
                          const std::string& path);

/// Compares tensors with their expected shapes. The first tensor with an axis defines its length.
class AxisCheck {
public:
    void compare(const std::string& name, const TensorDesc& desc, std::string_view axes, bool transposed = false);
    /// Throws Error(data) that names the tensors that did not fit.
    void expect_all_fit(const std::string& path) const;
    /// 0 if no tensor with this axis was compared.
    std::int64_t length(char axis) const;

private:
    bool fits(const Shape& shape, const std::string& axes);
    std::string expected(const std::string& axes) const;

    std::map<char, std::int64_t> lengths_;
    std::vector<std::string> faults_;
};

/// The most names that a message lists.
inline constexpr std::size_t kMostNamed = 5;

}  // namespace cnntrain::weights
