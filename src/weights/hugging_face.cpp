#include "cnntrain/weights/hugging_face.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/base/text.h"

namespace cnntrain::weights {
namespace {

// The variables of a BERT network: their names in both layouts, and their shapes.

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
constexpr std::size_t kParts = 10;
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

constexpr std::string_view kTable = "bert/embeddings/word_embeddings";
constexpr std::string_view kTheirTable = "bert.embeddings.word_embeddings.weight";
constexpr std::string_view kPredictionBias = "cls/predictions/output_bias";
constexpr std::string_view kTheirPredictionBias = "cls.predictions.bias";
constexpr std::string_view kOurLayers = "bert/encoder/layer_";
constexpr std::string_view kTheirLayers = "bert.encoder.layer.";
constexpr std::string_view kJoined = "bert/encoder/layer_#/attention/self/kernel/qkv_weight";
constexpr std::string_view kJoinedAxes = "H3";

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

std::string of_layer(std::string_view pattern, std::int64_t layer) {
    std::string name(pattern);
    const std::size_t place = name.find('#');
    if (place != std::string::npos) name.replace(place, 1, std::to_string(layer));
    return name;
}

struct NamedVariable {
    std::string ours;
    std::string theirs;
    const Variable* row = nullptr;
};
/// All variables of a network with `layers` encoder layers.
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

/// The number at the beginning of a text, without leading zeros and followed by '.' or '/'; else -1.
std::int64_t leading_number(std::string_view text) {
    std::int64_t number = -1;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (problem != std::errc() || number < 0 || text.substr(0, digits) != std::to_string(number)) return -1;
    return digits < text.size() && (text[digits] == '.' || text[digits] == '/') ? number : -1;
}

/// Number of layers. The layer numbers follow `prefix` in the names; Error(data) unless they are 0, 1, 2, ...
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

/// The most names that a message lists.
constexpr std::size_t kMostNamed = 5;

/// Compares tensors with their expected shapes. The first tensor with an axis defines its length.
class AxisCheck {
public:
    void compare(const std::string& name, const TensorDesc& desc, std::string_view axes, bool transposed = false) {
        std::string order(axes);
        if (transposed) std::ranges::reverse(order);
        if (!is_float(desc.dtype)) {
            faults_.push_back(name + " is " + to_string(desc) + ", and weights are floating-point numbers");
        } else if (!fits(desc.shape, order)) {
            faults_.push_back(name + " is " + to_string(desc) + ", expected " + expected(order));
        }
    }

    /// Throws Error(data) that names the tensors that did not fit.
    void expect_all_fit(const std::string& path) const {
        if (!faults_.empty()) throw Error(ErrorKind::data, path + ": " + some_listed(faults_, kMostNamed));
    }

    /// 0 if no tensor with this axis was compared.
    std::int64_t length(char axis) const {
        const auto found = lengths_.find(axis);
        return found == lengths_.end() ? 0 : found->second;
    }

private:
    bool fits(const Shape& shape, const std::string& axes) {
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

    std::string expected(const std::string& axes) const {
        std::string text;
        for (const char axis : axes) {
            text += text.empty() ? "[" : ", ";
            const std::int64_t known = axis == '2' ? 2 : axis == '3' ? 3 * length('H') : length(axis);
            text += known > 0 ? std::to_string(known) : std::string(axis_name(axis));
        }
        return text + "]";
    }

    std::map<char, std::int64_t> lengths_;
    std::vector<std::string> faults_;
};

// Copies parts of tensors. The caller checks the shapes: a part outside of a tensor is an Error(internal).

void check_matrix(const HostTensor& tensor) {
    CNNTRAIN_CHECK(tensor.shape().size() == 2, "not a matrix: " + to_string(tensor.desc()));
}

/// Copies `row_bytes` bytes of each row, from byte `from_begin` of it to byte `to_begin`.
void copy_rows(const HostTensor& from, std::size_t from_begin, HostTensor& to, std::size_t to_begin,
               std::size_t row_bytes) {
    const auto rows = static_cast<std::size_t>(from.shape()[0]);
    const std::size_t from_row = from.bytes().size() / rows;
    const std::size_t to_row = to.bytes().size() / rows;
    for (std::size_t row = 0; row < rows; ++row) {
        std::memcpy(to.bytes().data() + row * to_row + to_begin, from.bytes().data() + row * from_row + from_begin,
                    row_bytes);
    }
}

HostTensor transposed(const HostTensor& matrix) {
    check_matrix(matrix);
    return with_axes(matrix, {1, 0});
}

/// Columns [begin, begin + count).
HostTensor columns_of(const HostTensor& matrix, std::int64_t begin, std::int64_t count) {
    check_matrix(matrix);
    CNNTRAIN_CHECK(begin >= 0 && count > 0 && begin + count <= matrix.shape()[1], "columns that are not there");
    HostTensor result({matrix.dtype(), {matrix.shape()[0], count}});
    const std::size_t size = size_bytes(matrix.dtype());
    copy_rows(matrix, static_cast<std::size_t>(begin) * size, result, 0, static_cast<std::size_t>(count) * size);
    return result;
}

/// Matrices of one type and of as many rows, side by side.
HostTensor side_by_side(const std::vector<HostTensor>& matrices) {
    std::int64_t columns = 0;
    for (const HostTensor& matrix : matrices) {
        check_matrix(matrix);
        CNNTRAIN_CHECK(matrix.dtype() == matrices.front().dtype() && matrix.shape()[0] == matrices.front().shape()[0],
                       "matrices that do not fit side by side");
        columns += matrix.shape()[1];
    }
    HostTensor result({matrices.front().dtype(), {matrices.front().shape()[0], columns}});
    std::size_t begin = 0;
    for (const HostTensor& matrix : matrices) {
        const std::size_t row_bytes = static_cast<std::size_t>(matrix.shape()[1]) * size_bytes(matrix.dtype());
        copy_rows(matrix, 0, result, begin, row_bytes);
        begin += row_bytes;
    }
    return result;
}

HostTensor first_rows(const HostTensor& tensor, std::int64_t rows) {
    TensorDesc desc = tensor.desc();
    CNNTRAIN_CHECK(!desc.shape.empty() && rows >= 0 && rows <= desc.shape[0], "rows that are not there");
    desc.shape[0] = rows;
    HostTensor result(desc);
    std::ranges::copy(tensor.bytes().first(result.bytes().size()), result.bytes().begin());
    return result;
}

/// True if shape, type and bits are equal.
bool equal(const HostTensor& one, const HostTensor& other) {
    return one.desc() == other.desc() && std::ranges::equal(one.bytes(), other.bytes());
}

bool all_zero(const HostTensor& tensor) {
    return std::ranges::all_of(tensor.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

using Tensors = std::map<std::string, HostTensor>;

constexpr std::string_view kDecoder = "cls.predictions.decoder.weight";
constexpr std::string_view kDecoderBias = "cls.predictions.decoder.bias";
constexpr std::string_view kPositionIds = "bert.embeddings.position_ids";  // 0, 1, 2, ...
constexpr std::string_view kSelf = "bert/encoder/layer_#/attention/self";
constexpr std::string_view kSplitKernels[] = {"/query/kernel", "/key/kernel", "/value/kernel"};

bool& has(PartSet& parts, Part part) {
    return parts.at(static_cast<std::size_t>(part));
}
bool has(const PartSet& parts, Part part) {
    return parts.at(static_cast<std::size_t>(part));
}

HostTensor take(Tensors& tensors, const std::string& name) {
    return std::move(tensors.extract(name).mapped());
}

void move_names(const Tensors& tensors, std::vector<std::string>& names) {
    for (const auto& [name, tensor] : tensors)
        names.push_back(name);
}

/// Maps the older spellings of transformers to the present one.
std::string modern_name(std::string name) {
    for (const std::string_view part : {"embeddings.", "encoder.", "pooler."}) {
        if (name.starts_with(part)) name.insert(0, "bert.");
    }
    const auto end_with = [&](std::string_view old, std::string_view now) {
        if (name.ends_with(old)) name.replace(name.size() - old.size(), old.size(), now);
    };
    end_with(".LayerNorm.gamma", ".LayerNorm.weight");
    end_with(".LayerNorm.beta", ".LayerNorm.bias");
    return name;
}

void expect_nothing_missing(const std::vector<std::string>& missing, const std::string& path, const std::string& what) {
    if (!missing.empty())
        throw Error(ErrorKind::data, path + " is not " + what + ": it lacks " + some_listed(missing, kMostNamed));
}

BertSizes sizes_of(const AxisCheck& axes, std::int64_t layers) {
    return {axes.length('V'), axes.length('P'), axes.length('T'), axes.length('H'),
            axes.length('I'), layers,           axes.length('C')};
}

/// `said`: the sizes in `file`, which is beside the checkpoint.
void compare_sizes(const BertSizes& said, const BertSizes& there, const std::string& path, const std::string& file) {
    const auto compare = [&](const char* key, std::int64_t expected, std::int64_t length) {
        if (expected == 0 || length == 0 || expected == length) return;
        throw Error(ErrorKind::data, path + ": its " + file + " says " + key + " " + std::to_string(expected) +
                                         ", but its tensors have " + std::to_string(length) +
                                         "; the two files do not belong together");
    };
    compare("vocab_size", said.vocabulary, there.vocabulary);
    compare("max_position_embeddings", said.positions, there.positions);
    compare("type_vocab_size", said.segment_types, there.segment_types);
    compare("hidden_size", said.hidden, there.hidden);
    compare("intermediate_size", said.intermediate, there.intermediate);
    compare("num_hidden_layers", said.layers, there.layers);
    compare("num_labels", said.classes, there.classes);
}

class Import {
public:
    Import(Checkpoint source, const ImportSettings& settings, const std::string& path)
        : path_(path), settings_(settings), theirs_(renamed(std::move(source.tensors))) {}

    Converted run() {
        layers_ = count_layers(theirs_, kTheirLayers, path_);
        variables_ = named_variables(layers_);
        find_parts();
        compare();
        settle_decoder();
        for (const NamedVariable& variable : variables_)
            move(variable);
        if (!settings_.variables.qkv_split) join();
        if (settings_.vocabulary > 0) cut_vocabulary();
        drop(std::string(kPositionIds));
        move_names(theirs_, result_.left_out);
        std::ranges::sort(result_.without_effect);
        result_.variables = {settings_.variables.qkv_split, keeps(Part::qkv_bias), keeps(Part::projection_bias),
                             keeps(Part::prediction_bias)};
        return std::move(result_);
    }

private:
    Tensors& ours() { return result_.checkpoint.tensors; }

    // NOLINTNEXTLINE(performance-unnecessary-value-param): the tensors are moved out of it
    Tensors renamed(Tensors tensors) const {
        Tensors result;
        for (auto& [name, tensor] : tensors) {
            if (result.emplace(modern_name(name), std::move(tensor)).second) continue;
            throw Error(ErrorKind::data, path_ + " has " + modern_name(name) + " in two spellings");
        }
        return result;
    }

    void find_parts() {
        for (const NamedVariable& variable : variables_)
            has(parts_, variable.row->part) |= theirs_.contains(variable.theirs);
        has(parts_, Part::encoder) = true;
        if (!settings_.classifier) has(parts_, Part::classifier) = false;
        std::vector<std::string> missing;
        for (const NamedVariable& variable : variables_) {
            if (has(parts_, variable.row->part) && !theirs_.contains(variable.theirs))
                missing.push_back(variable.theirs);
        }
        expect_nothing_missing(missing, path_, "a whole BERT in Hugging Face's layout");
        if (layers_ == 0) throw Error(ErrorKind::data, path_ + " has no layers of an encoder");
    }

    /// Checks all shapes and types; runs before any tensor is copied.
    void compare() {
        AxisCheck check;
        for (const NamedVariable& variable : variables_) {
            if (!has(parts_, variable.row->part)) continue;
            check.compare(variable.theirs, theirs_.at(variable.theirs).desc(), variable.row->axes,
                          variable.row->transposed());
        }
        const auto second_name = [&](std::string_view name, std::string_view axes) {
            const auto found = theirs_.find(std::string(name));
            if (found != theirs_.end()) check.compare(found->first, found->second.desc(), axes);
        };
        second_name(kDecoder, "VH");
        second_name(kDecoderBias, "V");
        check.expect_all_fit(path_);
        if (!settings_.variables.qkv_split) compare_types();
        result_.sizes = sizes_of(check, layers_);
        compare_sizes(settings_.sizes, result_.sizes, path_, "config.json");
        if (settings_.vocabulary <= result_.sizes.vocabulary) return;
        throw Error(ErrorKind::usage, path_ + ": the table of words has " + std::to_string(result_.sizes.vocabulary) +
                                          " rows, and not " + std::to_string(settings_.vocabulary));
    }

    /// Matrices that are joined must have one type.
    void compare_types() const {
        for (std::int64_t layer = 0; layer < layers_; ++layer) {
            const auto type_of = [&](std::string_view part) {
                return theirs_.at(of_layer("bert.encoder.layer.#.attention.self.", layer) + std::string(part)).dtype();
            };
            const DType type = type_of("query.weight");
            if (type_of("key.weight") == type && type_of("value.weight") == type) continue;
            throw Error(ErrorKind::data, path_ + ": queries, keys and values of layer " + std::to_string(layer) +
                                             " have different element types, so that they cannot be one variable");
        }
    }

    /// Removes the second names of the word embedding and of the prediction bias.
    void settle_decoder() {
        const auto settle = [&](std::string_view second, std::string_view first, const std::string& what) {
            const std::string name(second);
            const auto found = theirs_.find(std::string(first));
            if (!theirs_.contains(name) || found == theirs_.end()) return;
            if (!equal(theirs_.at(name), found->second))
                throw Error(ErrorKind::unsupported, path_ + ": " + name + " is not " + what);
            theirs_.erase(name);
        };
        settle(kDecoder, kTheirTable, "the table of words, which the scores of masked words must read here");
        settle(kDecoderBias, kTheirPredictionBias,
               "equal to cls.predictions.bias, of which it is the second name in transformers");
        if (!theirs_.contains(std::string(kDecoderBias))) return;
        theirs_.emplace(kTheirPredictionBias, take(theirs_, std::string(kDecoderBias)));
        has(parts_, Part::prediction_bias) = true;
    }

    bool network_has(Part part) const {
        const BertVariables& network = settings_.variables;
        if (part == Part::key_bias) return false;
        const std::map<Part, bool> optional = {{Part::qkv_bias, network.qkv_bias},
                                               {Part::projection_bias, network.projection_bias},
                                               {Part::prediction_bias, network.prediction_bias}};
        const auto found = optional.find(part);
        return found == optional.end() || found->second || !zeros(part);
    }

    /// The first call of a part decides: later ones come when its variables are already taken.
    bool keeps(Part part) {
        if (!has(parts_, part)) return false;
        const auto found = kept_.find(part);
        if (found != kept_.end()) return found->second;
        return kept_.emplace(part, network_has(part)).first->second;
    }

    bool zeros(Part part) const {
        return std::ranges::all_of(variables_, [&](const NamedVariable& variable) {
            const auto found = theirs_.find(variable.theirs);
            return variable.row->part != part || found == theirs_.end() || all_zero(found->second);
        });
    }

    void move(const NamedVariable& variable) {
        const Variable& row = *variable.row;
        if (!has(parts_, row.part)) return;
        if (!keeps(row.part)) return drop(variable.theirs);
        HostTensor tensor = take(theirs_, variable.theirs);
        ours().emplace(variable.ours, row.transposed() ? transposed(tensor) : std::move(tensor));
    }

    void drop(const std::string& name) {
        if (theirs_.erase(name) > 0) result_.without_effect.push_back(name);
    }

    void join() {
        for (std::int64_t layer = 0; layer < layers_; ++layer) {
            std::vector<HostTensor> kernels;
            for (const std::string_view kernel : kSplitKernels)
                kernels.push_back(take(ours(), of_layer(kSelf, layer) + std::string(kernel)));
            ours().emplace(of_layer(kJoined, layer), side_by_side(kernels));
        }
    }

    void cut_vocabulary() {
        for (const std::string_view name : {kTable, kPredictionBias}) {
            const auto found = ours().find(std::string(name));
            if (found != ours().end()) found->second = first_rows(found->second, settings_.vocabulary);
        }
    }

    const std::string& path_;
    const ImportSettings& settings_;
    Tensors theirs_;  // that are not taken yet
    std::int64_t layers_ = 0;
    std::vector<NamedVariable> variables_;
    PartSet parts_{};
    std::map<Part, bool> kept_;
    Converted result_;
};

class Export {
public:
    Export(Checkpoint source, const ExportSettings& settings, const std::string& path)
        : path_(path), settings_(settings), ours_(std::move(source.tensors)) {}

    Converted run() {
        if (ours_.contains("bert/encoder/layer_0/convolution/dwconv/weight")) {
            throw Error(ErrorKind::unsupported,
                        path_ + ": transformers has no GroupBERT; --to onnx and tf write a run of it");
        }
        set_slots_aside();
        layers_ = count_layers(ours_, kOurLayers, path_);
        variables_ = named_variables(layers_);
        find_parts();
        compare();
        result_.variables = {!is_joined_, has(parts_, Part::qkv_bias), has(parts_, Part::projection_bias),
                             has(parts_, Part::prediction_bias)};
        settle_masked_words();
        part_kernels();
        for (const NamedVariable& variable : variables_)
            move(variable);
        move_names(ours_, result_.left_out);
        result_.architecture = architecture();
        return std::move(result_);
    }

private:
    Tensors& theirs() { return result_.checkpoint.tensors; }
    std::string joined(std::int64_t layer) const { return of_layer(kJoined, layer); }

    /// A slot is named after its variable plus one part, "bert/pooler/dense/bias/Momentum".
    void set_slots_aside() {
        for (const auto& [name, tensor] : ours_) {
            const std::size_t slash = name.rfind('/');
            if (slash != std::string::npos && ours_.contains(name.substr(0, slash))) result_.slots.push_back(name);
        }
        for (const std::string& name : result_.slots)
            ours_.erase(name);
    }

    /// True if the variable is present, also as a part of the joined kernel.
    bool there(const NamedVariable& variable, bool joined) const {
        const bool part_of_joined = joined && std::ranges::any_of(kSplitKernels, [&](std::string_view kernel) {
                                        return variable.ours.ends_with(kernel);
                                    });
        return part_of_joined || ours_.contains(variable.ours);
    }

    void find_parts() {
        is_joined_ = layers_ > 0 && ours_.contains(joined(0));
        for (const NamedVariable& variable : variables_)
            has(parts_, variable.row->part) |= ours_.contains(variable.ours);
        has(parts_, Part::encoder) = true;
        std::vector<std::string> missing;
        for (const NamedVariable& variable : variables_) {
            if (has(parts_, variable.row->part) && !variable.ours.empty() && !there(variable, is_joined_))
                missing.push_back(variable.ours);
        }
        for (std::int64_t layer = 0; is_joined_ && layer < layers_; ++layer) {
            if (!ours_.contains(joined(layer))) missing.push_back(joined(layer));
        }
        expect_nothing_missing(missing, path_, "a checkpoint of a BERT network");
        if (layers_ == 0) throw Error(ErrorKind::data, path_ + " has no layers of an encoder");
    }

    /// Checks all shapes and types; runs before any tensor is copied.
    void compare() {
        for (const NamedVariable& variable : variables_) {
            const auto found = ours_.find(variable.ours);
            if (found != ours_.end()) axes_.compare(found->first, found->second.desc(), variable.row->axes);
        }
        for (std::int64_t layer = 0; is_joined_ && layer < layers_; ++layer) {
            axes_.compare(joined(layer), ours_.at(joined(layer)).desc(), kJoinedAxes);
            for (const std::string_view kernel : kSplitKernels) {
                const std::string split = of_layer(kSelf, layer) + std::string(kernel);
                if (!ours_.contains(split)) continue;
                throw Error(ErrorKind::data, path_ + " has both " + joined(layer) + " and " + split);
            }
        }
        axes_.expect_all_fit(path_);
        result_.sizes = sizes_of(axes_, layers_);
        compare_sizes(settings_.sizes, result_.sizes, path_, "arguments.json");
    }

    /// A network with next-sentence scores also has masked-word scores.
    void settle_masked_words() {
        scores_words_ = has(parts_, Part::transform) || has(parts_, Part::sentences);
        if (settings_.transform || !has(parts_, Part::transform)) return;
        scores_words_ = has(parts_, Part::transform) = has(parts_, Part::prediction_bias) = false;
    }

    std::string architecture() const {
        if (has(parts_, Part::answers)) return "BertForQuestionAnswering";
        if (has(parts_, Part::classifier)) return "BertForSequenceClassification";
        if (has(parts_, Part::transform))
            return has(parts_, Part::sentences) ? "BertForPreTraining" : "BertForMaskedLM";
        if (!has(parts_, Part::sentences)) return "BertModel";
        return scores_words_ ? std::string(kWithoutTransform) : "BertForNextSentencePrediction";
    }

    /// Splits the joined kernels.
    void part_kernels() {
        const std::int64_t width = axes_.length('H');
        for (std::int64_t layer = 0; is_joined_ && layer < layers_; ++layer) {
            const HostTensor kernel = take(ours_, joined(layer));
            std::int64_t begin = 0;
            for (const std::string_view part : kSplitKernels) {
                ours_.emplace(of_layer(kSelf, layer) + std::string(part), columns_of(kernel, begin, width));
                begin += width;
            }
        }
    }

    /// True if transformers has biases there that this network lacks.
    bool wants_zeros(Part part) const {
        if (has(parts_, part)) return false;
        if (part == Part::prediction_bias) return scores_words_;
        return part == Part::key_bias || part == Part::qkv_bias || part == Part::projection_bias;
    }

    void move(const NamedVariable& variable) {
        const Variable& row = *variable.row;
        if (wants_zeros(row.part)) {
            const DType type = theirs().at(std::string(kTheirTable)).dtype();
            theirs().emplace(variable.theirs, HostTensor({type, {axes_.length(row.axes.front())}}));
        } else if (has(parts_, row.part)) {
            HostTensor tensor = take(ours_, variable.ours);
            theirs().emplace(variable.theirs, row.transposed() ? transposed(tensor) : std::move(tensor));
        }
    }

    const std::string& path_;
    const ExportSettings& settings_;
    Tensors ours_;  // that are not taken yet
    std::int64_t layers_ = 0;
    bool is_joined_ = false;
    bool scores_words_ = false;
    std::vector<NamedVariable> variables_;
    PartSet parts_{};
    AxisCheck axes_;
    Converted result_;
};

}  // namespace

bool is_hugging_face(const Checkpoint& checkpoint) {
    return std::ranges::any_of(checkpoint.tensors,
                               [](const auto& entry) { return modern_name(entry.first) == kTheirTable; });
}

bool is_hugging_face(const TensorSource& tensors) {
    return std::ranges::any_of(tensors.descs,
                               [](const auto& entry) { return modern_name(entry.first) == kTheirTable; });
}

Converted from_hugging_face(Checkpoint source, const ImportSettings& settings, const std::string& path) {
    return Import(std::move(source), settings, path).run();
}

Converted to_hugging_face(Checkpoint source, const ExportSettings& settings, const std::string& path) {
    return Export(std::move(source), settings, path).run();
}

}  // namespace cnntrain::weights
