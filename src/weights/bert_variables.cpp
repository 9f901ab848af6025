#include "weights/bert_variables.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "cnntrain/base/error.h"

namespace cnntrain::weights {
namespace {

constexpr bool kTransposed = true;

constexpr Variable kVariables[] = {
    {kTable, kTheirTable, "VH"},
    {"bert/embeddings/position_embeddings", "bert.embeddings.position_embeddings.weight", "PH"},
    {"bert/embeddings/token_type_embeddings", "bert.embeddings.token_type_embeddings.weight", "TH"},
    {"bert/embeddings/LayerNorm/gamma", "bert.embeddings.LayerNorm.weight", "H"},
    {"bert/embeddings/LayerNorm/beta", "bert.embeddings.LayerNorm.bias", "H"},
    {"bert/encoder/layer_#/attention/self/query/kernel", "bert.encoder.layer.#.attention.self.query.weight", "HH",
     Part::encoder, kTransposed},
    {"bert/encoder/layer_#/attention/self/key/kernel", "bert.encoder.layer.#.attention.self.key.weight", "HH",
     Part::encoder, kTransposed},
    {"bert/encoder/layer_#/attention/self/value/kernel", "bert.encoder.layer.#.attention.self.value.weight", "HH",
     Part::encoder, kTransposed},
    {"bert/encoder/layer_#/attention/self/query/bias", "bert.encoder.layer.#.attention.self.query.bias", "H",
     Part::qkv_bias},
    {"", "bert.encoder.layer.#.attention.self.key.bias", "H", Part::key_bias},
    {"bert/encoder/layer_#/attention/self/value/bias", "bert.encoder.layer.#.attention.self.value.bias", "H",
     Part::qkv_bias},
    {"bert/encoder/layer_#/attention/projection/dense/kernel", "bert.encoder.layer.#.attention.output.dense.weight",
     "HH", Part::encoder, kTransposed},
    {"bert/encoder/layer_#/attention/projection/dense/bias", "bert.encoder.layer.#.attention.output.dense.bias", "H",
     Part::projection_bias},
    {"bert/encoder/layer_#/attention/projection/LayerNorm/gamma",
     "bert.encoder.layer.#.attention.output.LayerNorm.weight", "H"},
    {"bert/encoder/layer_#/attention/projection/LayerNorm/beta", "bert.encoder.layer.#.attention.output.LayerNorm.bias",
     "H"},
    {"bert/encoder/layer_#/intermediate/dense/kernel", "bert.encoder.layer.#.intermediate.dense.weight", "HI",
     Part::encoder, kTransposed},
    {"bert/encoder/layer_#/intermediate/dense/bias", "bert.encoder.layer.#.intermediate.dense.bias", "I"},
    {"bert/encoder/layer_#/output/dense/kernel", "bert.encoder.layer.#.output.dense.weight", "IH", Part::encoder,
     kTransposed},
    {"bert/encoder/layer_#/output/dense/bias", "bert.encoder.layer.#.output.dense.bias", "H"},
    {"bert/encoder/layer_#/output/LayerNorm/gamma", "bert.encoder.layer.#.output.LayerNorm.weight", "H"},
    {"bert/encoder/layer_#/output/LayerNorm/beta", "bert.encoder.layer.#.output.LayerNorm.bias", "H"},
    {"bert/pooler/dense/kernel", "bert.pooler.dense.weight", "HH", Part::pooler, kTransposed},
    {"bert/pooler/dense/bias", "bert.pooler.dense.bias", "H", Part::pooler},
    {"cls/predictions/transform/dense/kernel", "cls.predictions.transform.dense.weight", "HH", Part::transform,
     kTransposed},
    {"cls/predictions/transform/dense/bias", "cls.predictions.transform.dense.bias", "H", Part::transform},
    {"cls/predictions/transform/LayerNorm/gamma", "cls.predictions.transform.LayerNorm.weight", "H", Part::transform},
    {"cls/predictions/transform/LayerNorm/beta", "cls.predictions.transform.LayerNorm.bias", "H", Part::transform},
    {kPredictionBias, kTheirPredictionBias, "V", Part::prediction_bias},
    {"cls/seq_relationship/output_weights", "cls.seq_relationship.weight", "2H", Part::sentences},
    {"cls/seq_relationship/output_bias", "cls.seq_relationship.bias", "2", Part::sentences},
    {"cls/classifier/output_weights", "classifier.weight", "CH", Part::classifier},
    {"cls/classifier/output_bias", "classifier.bias", "C", Part::classifier},
};

/// The number at the beginning of a text, without leading zeros and followed by '.' or '/'; else -1.
std::int64_t leading_number(std::string_view text) {
    std::int64_t number = -1;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (problem != std::errc() || number < 0 || text.substr(0, digits) != std::to_string(number)) return -1;
    return digits < text.size() && (text[digits] == '.' || text[digits] == '/') ? number : -1;
}

/// Name of an axis in config.json.
std::string_view axis_name(char axis) {
    switch (axis) {
        case 'V':
            return "vocab_size";
        case 'P':
            return "max_position_embeddings";
        case 'T':
            return "type_vocab_size";
        case 'I':
            return "intermediate_size";
        case 'C':
            return "classes";
        default:
            return "hidden_size";
    }
}

}  // namespace

std::span<const Variable> bert_variables() {
    return kVariables;
}

std::string of_layer(std::string_view pattern, std::int64_t layer) {
    std::string name(pattern);
    const std::size_t place = name.find('#');
    if (place != std::string::npos) name.replace(place, 1, std::to_string(layer));
    return name;
}

std::vector<NamedVariable> named_variables(std::int64_t layers) {
    std::vector<NamedVariable> all;
    for (const Variable& row : kVariables) {
        const std::int64_t count = row.theirs.find('#') == std::string_view::npos ? 1 : layers;
        for (std::int64_t layer = 0; layer < count; ++layer)
            all.push_back({of_layer(row.ours, layer), of_layer(row.theirs, layer), &row});
    }
    return all;
}

std::int64_t count_layers(const std::map<std::string, HostTensor>& tensors, std::string_view prefix,
                          const std::string& path) {
    std::set<std::int64_t> numbers;
    for (auto at = tensors.lower_bound(std::string(prefix)); at != tensors.end() && at->first.starts_with(prefix);
         ++at) {
        const std::int64_t number = leading_number(std::string_view(at->first).substr(prefix.size()));
        if (number >= 0) numbers.insert(number);
    }
    const auto count = static_cast<std::int64_t>(numbers.size());
    if (count > 0 && *numbers.rbegin() != count - 1) {
        throw Error(ErrorKind::data, path + ": its " + std::to_string(count) +
                                         " encoder layers must be numbered 0 to " + std::to_string(count - 1) +
                                         ", but one is " + std::string(prefix) + std::to_string(*numbers.rbegin()));
    }
    return count;
}

void AxisCheck::compare(const std::string& name, const TensorDesc& desc, std::string_view axes, bool transposed) {
    std::string order(axes);
    if (transposed) std::ranges::reverse(order);
    if (!is_float(desc.dtype)) {
        faults_.push_back(name + " is " + to_string(desc) + ", and weights are floating-point numbers");
    } else if (!fits(desc.shape, order)) {
        faults_.push_back(name + " is " + to_string(desc) + ", expected " + expected(order));
    }
}

bool AxisCheck::fits(const Shape& shape, const std::string& axes) {
    if (shape.size() != axes.size()) return false;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (shape[i] < 1) return false;
        if (axes[i] == '2') {
            if (shape[i] != 2) return false;
        } else if (axes[i] == '3') {
            if (shape[i] % 3 != 0 || shape[i] / 3 != length('H')) return false;
        } else if (shape[i] != lengths_.emplace(axes[i], shape[i]).first->second) {
            return false;
        }
    }
    return true;
}

std::string AxisCheck::expected(const std::string& axes) const {
    std::string text;
    for (const char axis : axes) {
        text += text.empty() ? "[" : ", ";
        const std::int64_t known = axis == '2' ? 2 : axis == '3' ? 3 * length('H') : length(axis);
        text += known > 0 ? std::to_string(known) : std::string(axis_name(axis));
    }
    return text + "]";
}

void AxisCheck::expect_all_fit(const std::string& path) const {
    if (!faults_.empty()) throw Error(ErrorKind::data, path + ": " + some_of(faults_));
}

std::int64_t AxisCheck::length(char axis) const {
    const auto found = lengths_.find(axis);
    return found == lengths_.end() ? 0 : found->second;
}

std::string some_of(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i)
        text += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more";
    return text;
}

}  // namespace cnntrain::weights
