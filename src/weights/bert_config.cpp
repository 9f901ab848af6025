#include "cnntrain/weights/hugging_face.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <span>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "weights/bert_variables.h"

namespace cnntrain::weights {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kLongestAxis = 1 << 20;  // of an axis: the options' limit
constexpr std::int64_t kMostClasses = 100'000;
constexpr const char* kOwn = "cnntrain";  // the object with what transformers does not read

struct GeluName {
    std::string_view name;  // as transformers calls it
    bool exact;
};
constexpr GeluName kGeluNames[] = {
    {"gelu", true},
    {"gelu_new", false},
    {"gelu_python", true},
    {"gelu_pytorch_tanh", false},
    {"gelu_python_tanh", false},
    {"gelu_fast", false},
    {"gelu_accurate", false},
};

struct SizeKey {
    const char* key;
    std::int64_t BertSizes::*size;
};
constexpr SizeKey kSizeKeys[] = {
    {"hidden_size", &BertSizes::hidden},
    {"intermediate_size", &BertSizes::intermediate},
    {"max_position_embeddings", &BertSizes::positions},
    {"num_hidden_layers", &BertSizes::layers},
    {"type_vocab_size", &BertSizes::segment_types},
    {"vocab_size", &BertSizes::vocabulary},
};
struct NumberKey {
    const char* key;
    double BertConfig::*number;
    const char* argument;    // what a run's option calls it
    bool below_one = false;  // a share that is dropped; the others are at most 1
};
constexpr NumberKey kNumberKeys[] = {
    {"attention_probs_dropout_prob", &BertConfig::attention_dropout, "attention_probs_dropout_prob", true},
    {"hidden_dropout_prob", &BertConfig::hidden_dropout, "hidden_dropout_prob", true},
    {"initializer_range", &BertConfig::initializer_range, "initializer_range"},
    {"layer_norm_eps", &BertConfig::norm_epsilon, "layer_norm_epsilon"},
};
struct OwnKey {
    const char* key;
    bool BertVariables::*has;
};
constexpr OwnKey kOwnKeys[] = {
    {"use_qkv_split", &BertVariables::qkv_split},
    {"use_qkv_bias", &BertVariables::qkv_bias},
    {"use_attention_projection_bias", &BertVariables::projection_bias},
    {"use_prediction_bias", &BertVariables::prediction_bias},
};

/// Reads the values of a JSON object; errors name the file and the key.
class BertReader {
public:
    BertReader(std::string_view text, const std::string& path) : path_(path) {
        try {
            check_json(text);
        } catch (const Error& error) {
            fail(error.what());
        }
        document_ = json::parse(text);
        if (!document_.is_object()) fail("it is not a JSON object");
    }
    BertReader(json document, const std::string& path) : path_(path), document_(std::move(document)) {}

    [[noreturn]] void fail(const std::string& what) const { throw Error(ErrorKind::data, path_ + ": " + what); }
    [[noreturn]] void refuse(const std::string& what) const {
        throw Error(ErrorKind::unsupported, path_ + ": " + what);
    }
    [[noreturn]] void fail_value(const char* key) const {
        fail(std::string(key) + " cannot be " + document_.at(key).dump(-1, ' ', true, json::error_handler_t::replace));
    }

    /// Null if the key is missing or has the value null.
    const json* find(const char* key) const {
        const auto found = document_.find(key);
        return found == document_.end() || found->is_null() ? nullptr : &*found;
    }
    std::optional<std::string> text(const char* key) const {
        const json* const value = find(key);
        if (value == nullptr) return std::nullopt;
        if (!value->is_string()) fail_value(key);
        return value->get<std::string>();
    }
    bool truth(const char* key, bool otherwise) const {
        const json* const value = find(key);
        if (value == nullptr) return otherwise;
        if (!value->is_boolean()) fail_value(key);
        return value->get<bool>();
    }
    /// A length from 1 to kLongestAxis; 0 if there is none.
    std::int64_t length(const char* key) const {
        const json* const value = find(key);
        if (value == nullptr) return 0;
        if (!value->is_number_unsigned() || value->get<std::uint64_t>() > kLongestAxis || *value == 0) fail_value(key);
        return value->get<std::int64_t>();
    }
    /// A number from 0 to 1, with `below_one` less than 1; `otherwise` if there is none.
    double number(const char* key, bool below_one, double otherwise) const {
        const json* const value = find(key);
        if (value == nullptr) return otherwise;
        const double number = value->is_number() ? value->get<double>() : -1;
        if (!(number >= 0 && number <= 1) || (below_one && number == 1)) fail_value(key);
        return number;
    }

private:
    const std::string& path_;
    json document_;
};

/// Refuses properties that this program does not have.
void refuse_others(const BertReader& reader) {
    const std::string model = reader.text("model_type").value_or("bert");
    if (model != "bert") reader.refuse("model_type is '" + model + "', and only bert can be converted");
    const std::string positions = reader.text("position_embedding_type").value_or("absolute");
    if (positions != "absolute")
        reader.refuse("position_embedding_type is '" + positions + "', and only absolute positions can be converted");
    for (const char* key : {"is_decoder", "add_cross_attention"}) {
        if (reader.truth(key, false)) reader.refuse(std::string(key) + ": only encoders can be converted");
    }
}

bool is_exact(const BertReader& reader, const std::string& activation) {
    const auto* const found = std::ranges::find(kGeluNames, activation, &GeluName::name);
    if (found == std::end(kGeluNames))
        reader.refuse("hidden_act is '" + activation + "'; BERT has gelu or gelu_new here");
    return found->exact;
}

/// The name that transformers gives to an unnamed class.
std::string nameless_class(std::size_t number) {
    return "LABEL_" + std::to_string(number);
}

/// Class names in the order of their numbers.
std::vector<std::string> class_names_of(const BertReader& reader) {
    const json* const labels = reader.find("id2label");
    if (labels == nullptr) return {};
    std::vector<std::string> names;
    while (labels->is_object() && names.size() < labels->size()) {
        const auto found = labels->find(std::to_string(names.size()));
        if (found == labels->end() || !found->is_string()) break;
        names.push_back(found->get<std::string>());
    }
    if (names.empty() || names.size() != labels->size())
        reader.fail("id2label must have a name for each class, by the numbers 0, 1, 2, ...");
    return names;
}

bool all_nameless(const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] != nameless_class(i)) return false;
    }
    return true;
}

std::int64_t classes_of(const BertReader& reader, const std::vector<std::string>& names) {
    const std::int64_t classes = names.empty() ? reader.length("num_labels") : static_cast<std::int64_t>(names.size());
    if (classes > kMostClasses) reader.fail("more than " + std::to_string(kMostClasses) + " classes");
    return classes;
}

std::string architecture_of(const BertReader& reader) {
    const json* const names = reader.find("architectures");
    if (names == nullptr || names->empty()) return "";
    if (!names->is_array() || !names->front().is_string()) reader.fail_value("architectures");
    return names->front().get<std::string>();
}

void add_classes(ordered_json& document, const BertConfig& config) {
    ordered_json names = ordered_json::object();
    ordered_json numbers = ordered_json::object();
    for (std::size_t i = 0; i < static_cast<std::size_t>(config.sizes.classes); ++i) {
        const std::string name = config.class_names.empty() ? nameless_class(i) : config.class_names.at(i);
        names[std::to_string(i)] = name;
        numbers[name] = i;
    }
    document["id2label"] = names;
    document["label2id"] = numbers;
}

}  // namespace

BertConfig parse_bert_config(std::string_view text, const std::string& path) {
    const BertReader reader(text, path);
    refuse_others(reader);
    BertConfig config;
    config.architecture = architecture_of(reader);
    for (const SizeKey& row : kSizeKeys)
        config.sizes.*row.size = reader.length(row.key);
    if (config.architecture == BertConfig::kClassifying) {
        config.class_names = class_names_of(reader);
        config.sizes.classes = classes_of(reader, config.class_names);
        if (all_nameless(config.class_names)) config.class_names.clear();
    }
    config.heads = reader.length("num_attention_heads");
    config.exact_gelu = is_exact(reader, reader.text("hidden_act").value_or("gelu"));
    for (const NumberKey& row : kNumberKeys)
        config.*row.number = reader.number(row.key, row.below_one, config.*row.number);
    if (const json* const own = reader.find(kOwn)) {
        if (!own->is_object()) reader.fail_value(kOwn);
        const std::string place = path + ", in " + kOwn;
        const BertReader inner(*own, place);
        for (const OwnKey& row : kOwnKeys)
            config.variables.*row.has = inner.truth(row.key, config.variables.*row.has);
    }
    return config;
}

std::string to_json(const BertConfig& config) {
    ordered_json document = ordered_json::object();
    if (!config.architecture.empty()) document["architectures"] = {config.architecture};
    if (config.architecture == kWithoutTransform) {
        std::string place(kWithoutTransformFile);
        place.resize(place.rfind('.') + 1);
        document["auto_map"] = {{"AutoModelForPreTraining", place + std::string(kWithoutTransform)}};
    }
    document["model_type"] = "bert";
    document["hidden_act"] = config.exact_gelu ? "gelu" : "gelu_new";
    for (const NumberKey& row : kNumberKeys)
        document[row.key] = config.*row.number;
    for (const SizeKey& row : kSizeKeys) {
        if (config.sizes.*row.size > 0) document[row.key] = config.sizes.*row.size;
    }
    if (config.heads > 0) document["num_attention_heads"] = config.heads;
    CNNTRAIN_CHECK(config.class_names.empty() || std::ssize(config.class_names) == config.sizes.classes,
                   "a name for each class");
    if (config.sizes.classes > 0) add_classes(document, config);
    document["pad_token_id"] = 0;
    for (const OwnKey& row : kOwnKeys)
        document[kOwn][row.key] = config.variables.*row.has;
    return document.dump(2) + "\n";
}

std::optional<BertArguments> parse_bert_arguments(std::string_view text, const std::string& path) {
    const BertReader reader(text, path);
    const std::optional<std::string> activation = reader.text("hidden_act");
    if (!activation || reader.find("num_attention_heads") == nullptr) return std::nullopt;
    BertArguments arguments;
    arguments.config.exact_gelu = *activation == "gelu_erf";
    arguments.transform = *activation == "gelu" || *activation == "gelu_erf";
    arguments.config.heads = reader.length("num_attention_heads");
    arguments.config.hidden_dropout = arguments.config.attention_dropout = 0;
    arguments.config.norm_epsilon = 1e-3;
    for (const SizeKey& row : kSizeKeys)  // options have the same names
        arguments.config.sizes.*row.size = reader.length(row.key);
    for (const NumberKey& row : kNumberKeys)
        arguments.config.*row.number = reader.number(row.argument, row.below_one, arguments.config.*row.number);
    arguments.vocabulary_file = reader.text("vocab_file").value_or("");
    if (reader.find("do_lower_case") != nullptr) arguments.lower_case = reader.truth("do_lower_case", true);
    if (reader.find("split_special_tokens") != nullptr)
        arguments.splits_special_tokens = reader.truth("split_special_tokens", false);
    return arguments;
}

std::string_view without_transform_source() {
    return R"("""BERT whose scores of masked words are products of the encoder's result with the table of words.

    AutoModelForPreTraining.from_pretrained(FOLDER, trust_remote_code=True)
"""

import torch
from transformers import BertForPreTraining

class BertForPreTrainingWithoutTransform(BertForPreTraining):
    def __init__(self, config):
        super().__init__(config)
        self.cls.predictions.transform = torch.nn.Identity()
)";
}

namespace {

constexpr Variable kVariables[] = {
    {kTable, kTheirTable, "VH"},
    {"bert/embeddings/position_embeddings", "bert.embeddings.position_embeddings.weight", "PH"},
    {"bert/embeddings/token_type_embeddings", "bert.embeddings.token_type_embeddings.weight", "TH"},
    {"bert/embeddings/LayerNorm/gamma", "bert.embeddings.LayerNorm.weight", "H"},
    {"bert/embeddings/LayerNorm/beta", "bert.embeddings.LayerNorm.bias", "H"},
    {"#attention/self/query/kernel", "#attention.self.query.weight", "HH"},
    {"#attention/self/key/kernel", "#attention.self.key.weight", "HH"},
    {"#attention/self/value/kernel", "#attention.self.value.weight", "HH"},
    {"#attention/self/query/bias", "#attention.self.query.bias", "H", Part::qkv_bias},
    {"", "#attention.self.key.bias", "H", Part::key_bias},
    {"#attention/self/value/bias", "#attention.self.value.bias", "H", Part::qkv_bias},
    {"#attention/projection/dense/kernel", "#attention.output.dense.weight", "HH"},
    {"#attention/projection/dense/bias", "#attention.output.dense.bias", "H", Part::projection_bias},
    {"#attention/projection/LayerNorm/gamma", "#attention.output.LayerNorm.weight", "H"},
    {"#attention/projection/LayerNorm/beta", "#attention.output.LayerNorm.bias", "H"},
    {"#intermediate/dense/kernel", "#intermediate.dense.weight", "HI"},
    {"#intermediate/dense/bias", "#intermediate.dense.bias", "I"},
    {"#output/dense/kernel", "#output.dense.weight", "IH"},
    {"#output/dense/bias", "#output.dense.bias", "H"},
    {"#output/LayerNorm/gamma", "#output.LayerNorm.weight", "H"},
    {"#output/LayerNorm/beta", "#output.LayerNorm.bias", "H"},
    {"bert/pooler/dense/kernel", "bert.pooler.dense.weight", "HH", Part::pooler},
    {"bert/pooler/dense/bias", "bert.pooler.dense.bias", "H", Part::pooler},
    {"cls/predictions/transform/dense/kernel", "cls.predictions.transform.dense.weight", "HH", Part::transform},
    {"cls/predictions/transform/dense/bias", "cls.predictions.transform.dense.bias", "H", Part::transform},
    {"cls/predictions/transform/LayerNorm/gamma", "cls.predictions.transform.LayerNorm.weight", "H", Part::transform},
    {"cls/predictions/transform/LayerNorm/beta", "cls.predictions.transform.LayerNorm.bias", "H", Part::transform},
    {kPredictionBias, kTheirPredictionBias, "V", Part::prediction_bias},
    {"cls/seq_relationship/output_weights", "cls.seq_relationship.weight", "2H", Part::sentences},
    {"cls/seq_relationship/output_bias", "cls.seq_relationship.bias", "2", Part::sentences},
    {"cls/classifier/output_weights", "classifier.weight", "CH", Part::classifier},
    {"cls/classifier/output_bias", "classifier.bias", "C", Part::classifier},
    {"cls/squad/output_weights", "qa_outputs.weight", "2H", Part::answers},
    {"cls/squad/output_bias", "qa_outputs.bias", "2", Part::answers},
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
    constexpr std::pair<char, std::string_view> kNames[] = {{'V', "vocab_size"},
                                                            {'P', "max_position_embeddings"},
                                                            {'T', "type_vocab_size"},
                                                            {'I', "intermediate_size"},
                                                            {'C', "classes"}};
    for (const auto& [letter, name] : kNames)
        if (letter == axis) return name;
    return "hidden_size";
}

}  // namespace

std::string of_layer(std::string_view pattern, std::int64_t layer) {
    std::string name(pattern);
    const std::size_t place = name.find('#');
    if (place != std::string::npos) name.replace(place, 1, std::to_string(layer));
    return name;
}

std::vector<NamedVariable> named_variables(std::int64_t layers) {
    const auto named = [](std::string_view name, std::string_view before, std::int64_t layer, char end) {
        if (!name.starts_with('#')) return std::string(name);
        return std::string(before) + std::to_string(layer) + end + std::string(name.substr(1));
    };
    std::vector<NamedVariable> all;
    for (const Variable& row : kVariables) {
        for (std::int64_t layer = 0; layer < (row.theirs.starts_with('#') ? layers : 1); ++layer)
            all.push_back({named(row.ours, kOurLayers, layer, '/'), named(row.theirs, kTheirLayers, layer, '.'), &row});
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
    if (!faults_.empty()) throw Error(ErrorKind::data, path + ": " + some_listed(faults_, kMostNamed));
}

std::int64_t AxisCheck::length(char axis) const {
    const auto found = lengths_.find(axis);
    return found == lengths_.end() ? 0 : found->second;
}

}  // namespace cnntrain::weights
