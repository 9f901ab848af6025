#include "cnntrain/checkpoint/hugging_face.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "cnntrain/base/error.h"

namespace cnntrain::checkpoint {
namespace {

enum class Kind : std::uint8_t { same, transposed };
/// What a network may lack: then the other layout gets zeros, if it must have the tensor. `head`: of the scores of
/// masked words and of the next sentence. `classifier`: of a network that tells classes.
enum class Need : std::uint8_t { always, bias_of_layer, head, classifier };

/// One variable under both names; '#' stands for the number of the layer.
struct Pair {
    std::string_view ours;
    std::string_view theirs;
    Kind kind = Kind::same;
    Need need = Need::always;
};

constexpr std::string_view kTable = "bert/embeddings/word_embeddings";
constexpr std::string_view kSelf = "bert/encoder/layer_#/attention/self";
constexpr std::string_view kTransform = "cls/predictions/transform/dense/kernel";
constexpr std::string_view kTheirKeyBias = "bert.encoder.layer.#.attention.self.key.bias";
constexpr std::string_view kDecoder = "cls.predictions.decoder.weight";
constexpr std::string_view kDecoderBias = "cls.predictions.decoder.bias";
constexpr std::string_view kClassifier = "cls/classifier/";
constexpr std::string_view kTheirClassifier = "classifier.";
constexpr std::string_view kPredictionBias = "cls.predictions.bias";

constexpr Pair kPairs[] = {
    {kTable, "bert.embeddings.word_embeddings.weight"},
    {"bert/embeddings/position_embeddings", "bert.embeddings.position_embeddings.weight"},
    {"bert/embeddings/token_type_embeddings", "bert.embeddings.token_type_embeddings.weight"},
    {"bert/embeddings/LayerNorm/gamma", "bert.embeddings.LayerNorm.weight"},
    {"bert/embeddings/LayerNorm/beta", "bert.embeddings.LayerNorm.bias"},
    {"bert/pooler/dense/kernel", "bert.pooler.dense.weight", Kind::transposed},
    {"bert/pooler/dense/bias", "bert.pooler.dense.bias"},
    {kTransform, "cls.predictions.transform.dense.weight", Kind::transposed, Need::head},
    {"cls/predictions/transform/dense/bias", "cls.predictions.transform.dense.bias", Kind::same, Need::head},
    {"cls/predictions/transform/LayerNorm/gamma", "cls.predictions.transform.LayerNorm.weight", Kind::same, Need::head},
    {"cls/predictions/transform/LayerNorm/beta", "cls.predictions.transform.LayerNorm.bias", Kind::same, Need::head},
    {"cls/predictions/output_bias", kPredictionBias, Kind::same, Need::head},
    {"cls/seq_relationship/output_weights", "cls.seq_relationship.weight", Kind::same, Need::head},
    {"cls/seq_relationship/output_bias", "cls.seq_relationship.bias", Kind::same, Need::head},
    {"cls/classifier/output_weights", "classifier.weight", Kind::same, Need::classifier},
    {"cls/classifier/output_bias", "classifier.bias", Kind::same, Need::classifier},
};

constexpr Pair kPairsOfLayer[] = {
    {"bert/encoder/layer_#/attention/self/query/kernel", "bert.encoder.layer.#.attention.self.query.weight",
     Kind::transposed},
    {"bert/encoder/layer_#/attention/self/key/kernel", "bert.encoder.layer.#.attention.self.key.weight",
     Kind::transposed},
    {"bert/encoder/layer_#/attention/self/value/kernel", "bert.encoder.layer.#.attention.self.value.weight",
     Kind::transposed},
    {"bert/encoder/layer_#/attention/self/query/bias", "bert.encoder.layer.#.attention.self.query.bias", Kind::same,
     Need::bias_of_layer},
    {"bert/encoder/layer_#/attention/self/value/bias", "bert.encoder.layer.#.attention.self.value.bias", Kind::same,
     Need::bias_of_layer},
    {"bert/encoder/layer_#/attention/projection/dense/kernel", "bert.encoder.layer.#.attention.output.dense.weight",
     Kind::transposed},
    {"bert/encoder/layer_#/attention/projection/dense/bias", "bert.encoder.layer.#.attention.output.dense.bias",
     Kind::same, Need::bias_of_layer},
    {"bert/encoder/layer_#/attention/projection/LayerNorm/gamma",
     "bert.encoder.layer.#.attention.output.LayerNorm.weight"},
    {"bert/encoder/layer_#/attention/projection/LayerNorm/beta",
     "bert.encoder.layer.#.attention.output.LayerNorm.bias"},
    {"bert/encoder/layer_#/intermediate/dense/kernel", "bert.encoder.layer.#.intermediate.dense.weight",
     Kind::transposed},
    {"bert/encoder/layer_#/intermediate/dense/bias", "bert.encoder.layer.#.intermediate.dense.bias"},
    {"bert/encoder/layer_#/output/dense/kernel", "bert.encoder.layer.#.output.dense.weight", Kind::transposed},
    {"bert/encoder/layer_#/output/dense/bias", "bert.encoder.layer.#.output.dense.bias"},
    {"bert/encoder/layer_#/output/LayerNorm/gamma", "bert.encoder.layer.#.output.LayerNorm.weight"},
    {"bert/encoder/layer_#/output/LayerNorm/beta", "bert.encoder.layer.#.output.LayerNorm.bias"},
};

std::string of_layer(std::string_view pattern, std::int64_t layer) {
    std::string name(pattern);
    const std::size_t place = name.find('#');
    if (place != std::string::npos) name.replace(place, 1, std::to_string(layer));
    return name;
}

/// A variable whose name begins like this?
bool has_any(const Checkpoint& checkpoint, std::string_view prefix) {
    const auto at = checkpoint.tensors.lower_bound(std::string(prefix));
    return at != checkpoint.tensors.end() && at->first.starts_with(prefix);
}

/// Where a network's layers end: one more than the highest number behind `prefix` ("bert/encoder/layer_").
std::int64_t count_layers(const std::map<std::string, HostTensor>& tensors, std::string_view prefix) {
    std::int64_t layers = 0;
    for (auto at = tensors.lower_bound(std::string(prefix)); at != tensors.end() && at->first.starts_with(prefix);
         ++at) {
        std::int64_t number = -1;
        const std::string_view rest = std::string_view(at->first).substr(prefix.size());
        std::from_chars(rest.data(), rest.data() + rest.size(), number);
        layers = std::max(layers, number + 1);
    }
    return layers;
}

template <typename Element> void transpose(const HostTensor& from, HostTensor& to) {
    const std::int64_t rows = from.shape()[0];
    const std::int64_t columns = from.shape()[1];
    const std::byte* const in = from.bytes().data();
    std::byte* const out = to.bytes().data();
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) {
            std::memcpy(out + static_cast<std::size_t>(column * rows + row) * sizeof(Element),
                        in + static_cast<std::size_t>(row * columns + column) * sizeof(Element), sizeof(Element));
        }
    }
}

HostTensor transposed(const HostTensor& matrix) {
    HostTensor result({matrix.dtype(), {matrix.shape()[1], matrix.shape()[0]}});
    switch (size_bytes(matrix.dtype())) {
        case sizeof(std::uint16_t):
            transpose<std::uint16_t>(matrix, result);
            break;
        case sizeof(std::uint32_t):
            transpose<std::uint32_t>(matrix, result);
            break;
        case sizeof(std::uint64_t):
            transpose<std::uint64_t>(matrix, result);
            break;
        default:
            throw Error(ErrorKind::data, "a matrix of 8-bit numbers is none of BERT's weights");
    }
    return result;
}

/// Columns [begin, begin + count) of a matrix.
HostTensor columns_of(const HostTensor& matrix, std::int64_t begin, std::int64_t count) {
    HostTensor result({matrix.dtype(), {matrix.shape()[0], count}});
    const std::size_t size = size_bytes(matrix.dtype());
    const auto row_bytes = static_cast<std::size_t>(matrix.shape()[1]) * size;
    const auto part_bytes = static_cast<std::size_t>(count) * size;
    for (std::size_t row = 0; row < static_cast<std::size_t>(matrix.shape()[0]); ++row) {
        std::memcpy(result.bytes().data() + row * part_bytes,
                    matrix.bytes().data() + row * row_bytes + static_cast<std::size_t>(begin) * size, part_bytes);
    }
    return result;
}

/// Matrices of as many rows, side by side.
HostTensor side_by_side(const std::vector<HostTensor>& matrices) {
    std::int64_t columns = 0;
    for (const HostTensor& matrix : matrices)
        columns += matrix.shape()[1];
    HostTensor result({matrices.front().dtype(), {matrices.front().shape()[0], columns}});
    const auto row_bytes = static_cast<std::size_t>(columns) * size_bytes(result.dtype());
    std::size_t begin = 0;
    for (const HostTensor& matrix : matrices) {
        const auto part_bytes = static_cast<std::size_t>(matrix.shape()[1]) * size_bytes(matrix.dtype());
        for (std::size_t row = 0; row < static_cast<std::size_t>(matrix.shape()[0]); ++row) {
            std::memcpy(result.bytes().data() + row * row_bytes + begin, matrix.bytes().data() + row * part_bytes,
                        part_bytes);
        }
        begin += part_bytes;
    }
    return result;
}

HostTensor first_rows(const HostTensor& tensor, std::int64_t rows) {
    TensorDesc desc = tensor.desc();
    desc.shape[0] = rows;
    HostTensor result(desc);
    std::ranges::copy(tensor.bytes().first(result.bytes().size()), result.bytes().begin());
    return result;
}

/// Tensors that are taken one by one; what remains has no place in the other layout.
class Source {
public:
    Source(std::map<std::string, HostTensor> tensors, std::string path)
        : tensors_(std::move(tensors)), path_(std::move(path)) {}

    const std::map<std::string, HostTensor>& tensors() const { return tensors_; }
    bool has(const std::string& name) const { return tensors_.contains(name); }
    void put(const std::string& name, HostTensor tensor) { tensors_.insert_or_assign(name, std::move(tensor)); }
    /// Nothing, which is noted, where there is none.
    std::optional<HostTensor> take(const std::string& name, Kind kind) {
        const auto found = tensors_.find(name);
        if (found == tensors_.end()) {
            missing_.push_back(name);
            return std::nullopt;
        }
        HostTensor tensor = std::move(found->second);
        tensors_.erase(found);
        if (kind == Kind::same) return tensor;
        check_matrix(name, tensor);
        return transposed(tensor);
    }
    void check_matrix(const std::string& name, const HostTensor& tensor) const {
        if (tensor.shape().size() == 2) return;
        throw Error(ErrorKind::data, path_ + ": " + name + " has " + std::to_string(tensor.shape().size()) +
                                         " axes, and not the two of a matrix");
    }
    void expect_nothing_missing(const std::string& what) const {
        if (missing_.empty()) return;
        constexpr std::size_t kMost = 5;
        std::string names;
        for (std::size_t i = 0; i < std::min(kMost, missing_.size()); ++i)
            names += (i == 0 ? "" : ", ") + missing_[i];
        if (missing_.size() > kMost) names += " and " + std::to_string(missing_.size() - kMost) + " more";
        throw Error(ErrorKind::data, path_ + " is not " + what + ": it lacks " + names);
    }
    std::vector<std::string> rest() const {
        std::vector<std::string> names;
        for (const auto& [name, tensor] : tensors_)
            names.push_back(name);
        return names;
    }
    const std::string& path() const { return path_; }

private:
    std::map<std::string, HostTensor> tensors_;
    std::vector<std::string> missing_;
    std::string path_;
};

/// One spelling of what `transformers` has written in several over the years.
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

bool equal(const HostTensor& one, const HostTensor& other) {
    return one.desc() == other.desc() && std::ranges::equal(one.bytes(), other.bytes());
}

class Import {
public:
    Import(const Checkpoint& source, const ImportSettings& settings, const std::string& path)
        : source_(renamed(source.tensors), path),
          settings_(settings),
          has_classifier_(has_any(source, kTheirClassifier)) {}

    Converted run() {
        settle_decoder();
        const std::int64_t layers = count_layers(source_.tensors(), "bert.encoder.layer.");
        for (const Pair& pair : kPairs)
            move(pair, 0);
        for (std::int64_t layer = 0; layer < layers; ++layer) {
            for (const Pair& pair : kPairsOfLayer)
                move(pair, layer);
        }
        source_.expect_nothing_missing("a whole BERT in Hugging Face's layout");
        if (layers == 0) throw Error(ErrorKind::data, source_.path() + " has no layers of an encoder");
        if (!settings_.qkv_split) {
            for (std::int64_t layer = 0; layer < layers; ++layer)
                join(of_layer(kSelf, layer));
        }
        cut_vocabulary();
        result_.left_out = source_.rest();
        return std::move(result_);
    }

private:
    static std::map<std::string, HostTensor> renamed(const std::map<std::string, HostTensor>& tensors) {
        std::map<std::string, HostTensor> result;
        for (const auto& [name, tensor] : tensors)
            result.emplace(modern_name(name), tensor);
        return result;
    }

    std::map<std::string, HostTensor>& ours() { return result_.checkpoint.tensors; }

    /// The decoder is no tensor of its own.
    void settle_decoder() {
        const std::string decoder(kDecoder);
        const std::string bias(kDecoderBias);
        if (source_.has(decoder)) {
            const auto& tensors = source_.tensors();
            const auto table = tensors.find("bert.embeddings.word_embeddings.weight");
            if (table != tensors.end() && !equal(table->second, tensors.at(decoder))) {
                throw Error(ErrorKind::unsupported,
                            source_.path() + ": " + decoder +
                                " is not the table of words, which the scores of masked words must read here");
            }
            source_.take(decoder, Kind::same);
        }
        if (!source_.has(bias)) return;
        std::optional<HostTensor> tensor = source_.take(bias, Kind::same);
        if (!source_.has(std::string(kPredictionBias)))
            ours().emplace("cls/predictions/output_bias", std::move(*tensor));
    }

    void move(const Pair& pair, std::int64_t layer) {
        const std::string theirs = of_layer(pair.theirs, layer);
        const bool must_be = pair.need == Need::always || (pair.need == Need::classifier && has_classifier_);
        if (!must_be && !source_.has(theirs)) return;
        if (auto tensor = source_.take(theirs, pair.kind))
            ours().insert_or_assign(of_layer(pair.ours, layer), std::move(*tensor));
    }

    void join(const std::string& scope) {
        std::vector<HostTensor> parts;
        for (const char* part : {"/query/kernel", "/key/kernel", "/value/kernel"}) {
            const auto found = ours().find(scope + part);
            parts.push_back(std::move(found->second));
            ours().erase(found);
        }
        ours().emplace(scope + "/kernel/qkv_weight", side_by_side(parts));
    }

    void cut_vocabulary() {
        if (settings_.vocabulary == 0) return;
        HostTensor& table = ours().at(std::string(kTable));
        if (settings_.vocabulary > table.shape()[0]) {
            throw Error(ErrorKind::usage, source_.path() + ": the table of words has " +
                                              std::to_string(table.shape()[0]) + " rows, and not " +
                                              std::to_string(settings_.vocabulary));
        }
        table = first_rows(table, settings_.vocabulary);
        const auto bias = ours().find("cls/predictions/output_bias");
        if (bias != ours().end()) bias->second = first_rows(bias->second, settings_.vocabulary);
    }

    Source source_;
    const ImportSettings& settings_;
    bool has_classifier_;
    Converted result_;
};

class Export {
public:
    Export(const Checkpoint& source, const std::string& path)
        : source_(source.tensors, path),
          has_head_(source.tensors.contains(std::string(kTransform))),
          has_classifier_(has_any(source, kClassifier)) {}

    Converted run() {
        const std::int64_t layers = count_layers(source_.tensors(), "bert/encoder/layer_");
        const std::int64_t hidden = width();
        for (const Pair& pair : kPairs)
            move(pair, 0, words_);
        for (std::int64_t layer = 0; layer < layers; ++layer) {
            part(of_layer(kSelf, layer));
            for (const Pair& pair : kPairsOfLayer)
                move(pair, layer, hidden);
            theirs().emplace(of_layer(kTheirKeyBias, layer), HostTensor({type_, {hidden}}));
        }
        source_.expect_nothing_missing("a checkpoint of a BERT network");
        result_.left_out = source_.rest();
        return std::move(result_);
    }

private:
    std::map<std::string, HostTensor>& theirs() { return result_.checkpoint.tensors; }

    /// H, from the table of words.
    std::int64_t width() {
        const auto table = source_.tensors().find(std::string(kTable));
        if (table == source_.tensors().end()) return 0;
        source_.check_matrix(table->first, table->second);
        type_ = table->second.dtype();
        words_ = table->second.shape()[0];
        return table->second.shape()[1];
    }

    /// One matrix for queries, keys and values becomes three.
    void part(const std::string& scope) {
        const std::string joined = scope + "/kernel/qkv_weight";
        if (!source_.has(joined)) return;
        const std::optional<HostTensor> matrix = source_.take(joined, Kind::same);
        source_.check_matrix(joined, *matrix);
        const std::int64_t width = matrix->shape()[1] / 3;
        std::int64_t begin = 0;
        for (const char* name : {"/query/kernel", "/key/kernel", "/value/kernel"}) {
            source_.put(scope + name, columns_of(*matrix, begin, width));
            begin += width;
        }
    }

    /// `zeros`: elements of a bias that the network does without.
    void move(const Pair& pair, std::int64_t layer, std::int64_t zeros) {
        const std::string ours = of_layer(pair.ours, layer);
        const std::string name = of_layer(pair.theirs, layer);
        if (pair.need == Need::head && !has_head_) return;
        if (pair.need == Need::classifier && !has_classifier_) return;
        const bool may_lack = pair.need == Need::bias_of_layer || pair.theirs == kPredictionBias;
        if (may_lack && !source_.has(ours)) {
            theirs().emplace(name, HostTensor({type_, {zeros}}));
        } else if (auto tensor = source_.take(ours, pair.kind)) {
            theirs().emplace(name, std::move(*tensor));
        }
    }

    Source source_;
    bool has_head_;
    bool has_classifier_;
    DType type_ = DType::f32;
    std::int64_t words_ = 0;
    Converted result_;
};

}  // namespace

bool is_hugging_face(const Checkpoint& checkpoint) {
    return std::ranges::any_of(checkpoint.tensors, [](const auto& entry) {
        return modern_name(entry.first) == "bert.embeddings.word_embeddings.weight";
    });
}

Converted from_hugging_face(const Checkpoint& source, const ImportSettings& settings, const std::string& path) {
    return Import(source, settings, path).run();
}

Converted to_hugging_face(const Checkpoint& source, const std::string& path) {
    return Export(source, path).run();
}

}  // namespace cnntrain::checkpoint
