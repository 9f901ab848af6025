// Hugging Face's config.json of a BERT network: the properties that do not follow from its variables (activation,
// epsilon of the norms, attention heads) and the sizes that do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/weights/hugging_face.h"

namespace cnntrain::weights {

struct BertConfig {
    std::string architecture;  // class of transformers; empty: unknown
    BertSizes sizes;
    std::int64_t heads = 0;  // attention heads; 0: unknown
    /// Activation of the encoder and of the layer in front of the masked-word scores: the exact GELU (with erf), or its
    /// tanh approximation.
    bool exact_gelu = true;
    double norm_epsilon = 1e-12;
    double hidden_dropout = 0.1;
    double attention_dropout = 0.1;
    double initializer_range = 0.02;
    /// Variables of the original network, for files that this program has exported.
    BertVariables variables;
    std::vector<std::string> class_names;  // of a classifier, by number; empty: unnamed

    bool operator==(const BertConfig&) const = default;
    /// False for classes of transformers whose `classifier` scores tokens or choices.
    bool classifies_texts() const { return architecture.empty() || architecture == kClassifying; }
    static constexpr std::string_view kClassifying = "BertForSequenceClassification";
};

inline constexpr const char* kConfigFile = "config.json";
/// Metadata key under which an imported checkpoint keeps its config.json.
inline constexpr const char* kConfigKey = "config.json";

/// Missing values get the defaults of transformers. `path` is for error messages. Error(data) for a text that is not a
/// JSON object or has impossible values; Error(unsupported) for a network that this program does not have.
BertConfig parse_bert_config(std::string_view text, const std::string& path);

/// The text of a config.json; parse_bert_config() is the inverse.
std::string to_json(const BertConfig& config);

/// The BERT network of a run, read from its arguments.json.
struct BertArguments {
    BertConfig config;
    bool transform = true;               // ExportSettings::transform
    std::string vocabulary_file;         // empty: none
    std::optional<bool> lower_case;      // whether texts are lower-cased; empty: unknown
    bool splits_special_tokens = false;  // that stand in texts, as words; transformers keeps them whole by default
};
/// Empty for a run of another network. Error(data) for a damaged text.
std::optional<BertArguments> parse_bert_arguments(std::string_view text, const std::string& path);

/// Python source of the class kWithoutTransform; config.json refers to it by this file name.
inline constexpr const char* kWithoutTransformFile = "modeling_without_transform.py";
std::string_view without_transform_source();

}  // namespace cnntrain::weights
