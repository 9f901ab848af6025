// BERT checkpoints in the layout of Hugging Face's `transformers` (BertForPreTraining, BertForMaskedLM,
// BertForNextSentencePrediction, BertForSequenceClassification and the bare BertModel; safetensors): other names,
// matrices of dense layers stored [outputs, inputs] instead of [inputs, outputs].
//
// Differences between the two layouts:
// - Key biases add one number to all scores of a query, which the softmax cancels. Import drops them, export writes
//   zeros.
// - transformers always has biases of queries, values, the projection and the masked-word scores. Export writes zeros
//   for those that a network lacks; import drops such zeros if ImportSettings says that the network lacks them.
// - The masked-word scores use the word embedding. `cls.predictions.decoder.weight`, if present, must equal it and is
//   not written. `cls.predictions.decoder.bias` is a second name of `cls.predictions.bias`.
// - Optimiser slots, iteration and epoch are not converted.
// All other tensors keep their bits and element types. The pooler and each head are optional, but must be complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::weights {

/// True if the checkpoint has that layout.
bool is_hugging_face(const Checkpoint& checkpoint);
bool is_hugging_face(const TensorSource& tensors);

/// The variables of a network that differ between the two layouts.
struct BertVariables {
    bool qkv_split = true;  // separate matrices for queries, keys and values; else one, side by side
    bool qkv_bias = true;
    bool projection_bias = true;
    bool prediction_bias = true;  // of the masked-word scores

    bool operator==(const BertVariables&) const = default;
};

/// 0: unknown.
struct BertSizes {
    std::int64_t vocabulary = 0;  // rows of the tables
    std::int64_t positions = 0;
    std::int64_t segment_types = 0;
    std::int64_t hidden = 0;
    std::int64_t intermediate = 0;
    std::int64_t layers = 0;
    std::int64_t classes = 0;  // of a classifier

    bool operator==(const BertSizes&) const = default;
};

struct Converted {
    Checkpoint checkpoint;
    BertVariables variables;   // of the network in this program's layout
    BertSizes sizes;           // of the source
    std::string architecture;  // export: the class of transformers with exactly these variables
    // Tensors of the source that were not converted, sorted by name:
    std::vector<std::string> left_out;        // weights
    std::vector<std::string> without_effect;  // key biases, zeros, position_ids: results are the same without them
    std::vector<std::string> slots;           // optimiser slots
};

struct ImportSettings {
    /// Biases that the network lacks are dropped if all of them are 0 in the file, and kept otherwise.
    BertVariables variables = {};
    std::int64_t vocabulary = 0;  // number of rows of the word embedding to keep, from the first; 0: all
    BertSizes sizes = {};         // expected sizes, of the file's config.json
    bool classifier = true;       // false: drop `classifier`, which scores tokens or choices
};

/// Returns the variables of a BERT network by their names in src/graph/nn/bert.cpp. Reads both spellings of the norms'
/// parameters (weight and bias, gamma and beta) and files of the bare encoder (names without "bert."). `path` is for
/// error messages. All shapes and types are checked before any tensor is copied: Error(data) names tensors that are
/// missing or do not fit. Error(usage) if the word embedding has fewer rows than settings.vocabulary.
/// Error(unsupported) if the decoder differs from the word embedding.
Converted from_hugging_face(Checkpoint source, const ImportSettings& settings, const std::string& path);

struct ExportSettings {
    /// False: transformers does not support the activation of the layer between encoder and masked-word scores. That
    /// layer and the bias of these scores are left out.
    bool transform = true;
    BertSizes sizes = {};  // expected sizes, of the run's arguments.json
};

/// The class of pretraining networks without a layer between encoder and masked-word scores. transformers has no such
/// class.
inline constexpr std::string_view kWithoutTransform = "BertForPreTrainingWithoutTransform";

/// The inverse. Error(data) names variables that are missing or do not fit together; Error(unsupported): a GroupBERT.
Converted to_hugging_face(Checkpoint source, const ExportSettings& settings, const std::string& path);

// Hugging Face's config.json of a BERT network: the properties that do not follow from its variables (activation,
// epsilon of the norms, attention heads) and the sizes that do.

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

// timm's config.json, which lies beside model.safetensors: the architecture, the classes, and how the network's input
// is made of a photo.

/// Values that the file does not have are empty.
struct TimmConfig {
    std::string architecture;              // "tf_efficientnet_b0", perhaps with a tag: "resnet50.a1_in1k"
    std::int64_t classes = 0;              // 0: unknown
    std::vector<std::string> class_names;  // by number
    std::optional<std::int64_t> image_size;
    std::vector<double> mean;  // of R, G, B in 0..1; three or none
    std::vector<double> deviation;
    std::optional<double> crop_fraction;
    std::string interpolation;  // "bicubic"
    std::string crop_mode;      // "center", "squash", "border"

    bool operator==(const TimmConfig&) const = default;
};

/// `path`: for messages. Empty for another program's config.json. Error(data) names the key whose value makes no sense.
std::optional<TimmConfig> parse_timm_config(std::string_view text, const std::string& path);

/// The config.json in the folder of a file of weights; empty if there is none, or another program's.
std::optional<TimmConfig> timm_config_beside(const FileSystem& files, const std::string& weights);

}  // namespace cnntrain::weights
