#include "cnntrain/weights/hugging_face.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

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

json parsed(std::string_view text, const std::string& path) {
    try {
        check_json(text);
    } catch (const Error& error) {
        throw error.within(path);
    }
    return json::parse(text);
}

/// Null if the object has no such key or the value null, and if it is no object.
const json* member_of(const json& object, const char* key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

/// Reads the values of a JSON object; errors name the file and the key.
class BertReader {
public:
    BertReader(std::string_view text, const std::string& path) : BertReader(parsed(text, path), path) {
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
    const json* find(const char* key) const { return member_of(document_, key); }
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

constexpr std::size_t kColours = 3;
constexpr double kLeastDeviation = 1e-6;
constexpr std::int64_t kLargestImage = 16384;
constexpr std::int64_t kMostTimmClasses = 1'000'000;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 26;

/// The values of timm's config.json, in which pretrained_cfg has what the document itself does not have.
class TimmReader {
public:
    TimmReader(std::string_view text, const std::string& path) : path_(path), document_(parsed(text, path)) {}

    bool is_of_timm() const {
        return document_.is_object() && document_.contains("architecture") && document_.contains("pretrained_cfg");
    }

    std::string text(const char* key) const {
        const json* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_string()) fail(key, *value);
        return value->get<std::string>();
    }

    std::int64_t whole(const char* key, std::int64_t most) const {
        const json* const value = find(key);
        return value == nullptr ? 0 : whole(key, *value, most);
    }

    std::optional<double> share(const char* key) const {
        const json* const value = find(key);
        if (value == nullptr) return std::nullopt;
        if (!value->is_number() || !(value->get<double>() > 0) || value->get<double>() > 1) fail(key, *value);
        return value->get<double>();
    }

    /// The last two of three numbers: a square image.
    std::optional<std::int64_t> image_size() const {
        const json* const value = find("input_size");
        if (value == nullptr) return std::nullopt;
        const bool square = value->is_array() && value->size() == kColours && (*value)[1] == (*value)[2];
        if (!square || (*value)[0] != kColours) fail("input_size", *value);
        return whole("input_size", (*value)[1], kLargestImage);
    }

    /// Three numbers of `low` to 1.
    std::vector<double> colours(const char* key, double low) const {
        const json* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_array() || value->size() != kColours) fail(key, *value);
        std::vector<double> numbers;
        for (const json& number : *value) {
            if (!number.is_number() || number.get<double>() < low || number.get<double>() > 1) fail(key, *value);
            numbers.push_back(number.get<double>());
        }
        return numbers;
    }

    std::vector<std::string> texts(const char* key) const {
        const json* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_array()) fail(key, *value);
        std::vector<std::string> result;
        for (const json& text : *value) {
            if (!text.is_string()) fail(key, text);
            result.push_back(text.get<std::string>());
        }
        return result;
    }

    [[noreturn]] void fail(const char* key, const json& value) const {
        throw Error(ErrorKind::data, path_ + ": " + key + " cannot be " +
                                         value.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 100));
    }

private:
    const json* find(const char* key) const {
        const json* const own = member_of(document_, key);
        return own != nullptr ? own : member_of(document_.at("pretrained_cfg"), key);
    }
    std::int64_t whole(const char* key, const json& value, std::int64_t most) const {
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
            fail(key, value);
        return value.get<std::int64_t>();
    }

    std::string path_;
    json document_;
};

}  // namespace

std::optional<TimmConfig> parse_timm_config(std::string_view text, const std::string& path) {
    const TimmReader reader(text, path);
    if (!reader.is_of_timm()) return std::nullopt;
    TimmConfig config;
    config.architecture = reader.text("architecture");
    config.classes = reader.whole("num_classes", kMostTimmClasses);
    config.class_names = reader.texts("label_names");
    config.image_size = reader.image_size();
    config.mean = reader.colours("mean", 0);
    config.deviation = reader.colours("std", kLeastDeviation);
    config.crop_fraction = reader.share("crop_pct");
    config.interpolation = reader.text("interpolation");
    config.crop_mode = reader.text("crop_mode");
    const bool names_fit =
        config.class_names.empty() || config.classes == 0 || std::ssize(config.class_names) == config.classes;
    if (!names_fit) {
        throw Error(ErrorKind::data, path + ": label_names has " + std::to_string(config.class_names.size()) +
                                         " names, num_classes is " + std::to_string(config.classes));
    }
    return config;
}

std::optional<TimmConfig> timm_config_beside(const FileSystem& files, const std::string& weights) {
    const std::string path = folder_part(weights) + "config.json";
    if (!exists(files, path)) return std::nullopt;
    return parse_timm_config(read_text(files, path, kMostBytes), path);
}

}  // namespace cnntrain::weights
