#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/insight/run_record.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::report {
namespace {

using nlohmann::json;
using Numbers = std::vector<std::int64_t>;

Sample sample_of(const json& row) {
    Sample sample;
    sample.name = row.at(0).get<std::string>();
    sample.label = row.at(1).get<std::int64_t>();
    sample.own = row.at(2).get<double>();
    sample.classes = row.at(3).get<Numbers>();
    sample.probabilities = row.at(4).get<std::vector<double>>();
    sample.probabilities.resize(sample.classes.size());
    return sample;
}

Sequence sequence_of(const json& document) {
    Sequence sequence;
    sequence.tokens = document.at("tokens").get<Numbers>();
    for (const json& one : document.at("masked")) {
        MaskedWord word;
        word.at = one.at("at").get<std::size_t>();
        word.id = one.at("id").get<std::int64_t>();
        word.guesses = one.at("guesses").get<Numbers>();
        word.probabilities = one.at("probabilities").get<std::vector<double>>();
        word.probabilities.resize(word.guesses.size());
        if (word.at < sequence.tokens.size()) sequence.masked.push_back(std::move(word));
    }
    return sequence;
}

/// True for base 64, so that nothing else becomes part of a page.
bool is_base64(const std::string& text) {
    return text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") ==
           std::string::npos;
}

void add_rows(Predictions& result, const json& document) {
    const auto classes = static_cast<std::int64_t>(result.classes.size());
    for (const json& row : document.at("rows")) {
        result.rows.push_back(sample_of(row));
        const Sample& sample = result.rows.back();
        const auto is_known = [&](std::int64_t label) { return label >= 0 && (classes == 0 || label < classes); };
        if (!is_known(sample.label) || !std::ranges::all_of(sample.classes, is_known))
            throw Error(ErrorKind::data, "a class that has no name");
    }
    for (const auto& [row, picture] : document.at("pictures").items()) {
        std::string text = picture.get<std::string>();
        if (is_base64(text)) result.rows.at(std::stoul(row)).picture = std::move(text);
    }
    for (const auto& [row, tokens] : document.at("texts").items())
        result.rows.at(std::stoul(row)).tokens = tokens.get<Numbers>();
}

Predictions predictions_of(const json& document) {
    Predictions result;
    result.key = document.at("key").get<std::map<std::string, std::string>>();
    result.split = document.at("split").get<std::string>();
    result.unit_one = document.at("unit").at(0).get<std::string>();
    result.unit_many = document.at("unit").at(1).get<std::string>();
    result.is_real = document.at("real").get<bool>();
    result.samples = document.at("samples").get<std::int64_t>();
    result.seen = document.at("seen").get<std::int64_t>();
    result.left_out = document.value("left_out", std::int64_t{0});
    result.classes = document.at("classes").get<std::vector<std::string>>();
    if (document.contains("rows")) add_rows(result, document);
    if (document.contains("sequences")) {
        for (const json& sequence : document.at("sequences"))
            result.sequences.push_back(sequence_of(sequence));
    }
    return result;
}

}  // namespace

std::optional<Predictions> read_predictions(std::string_view text) {
    try {
        check_json(text);
        return predictions_of(json::parse(text));
    } catch (const Error&) {
        return std::nullopt;
    } catch (const json::exception&) {
        return std::nullopt;
    } catch (const std::out_of_range&) {
        return std::nullopt;
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
}

std::vector<std::string> read_words(std::string_view text) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string_view word = text.substr(begin, end - begin);
        if (word.ends_with('\r')) word.remove_suffix(1);
        words.emplace_back(word);
        begin = end + 1;
    }
    return words;
}

// Weights of a checkpoint, in groups of adjacent layers.

namespace {

constexpr std::size_t kMostGroups = 24;
constexpr std::int64_t kValuesOfTensor = 4096;

/// The first `parts` parts of a name, without the last part, which names the variable in its layer.
std::string begin_of(const std::string& name, std::size_t parts) {
    const std::string layer = name.substr(0, name.rfind('/'));
    std::size_t end = 0;
    for (std::size_t i = 0; i < parts && end != std::string::npos; ++i)
        end = layer.find('/', end == 0 ? 0 : end + 1);
    return layer.substr(0, end);
}

std::size_t group_count(const std::vector<std::string>& names, std::size_t parts) {
    std::set<std::string> groups;
    for (const std::string& name : names)
        groups.insert(begin_of(name, parts));
    return groups.size();
}

/// Number of parts of the names that distinguish as many groups as a page can show.
std::size_t parts_of_groups(const std::vector<std::string>& names) {
    constexpr std::size_t kMostParts = 8;
    std::size_t parts = 1;
    for (std::size_t more = 2; more <= kMostParts && group_count(names, more) <= kMostGroups; ++more)
        parts = more;
    return parts;
}

/// "all/" if every name begins with it; else "".
std::string shared_begin(const std::vector<std::string>& names) {
    if (names.empty()) return "";
    const std::string begin = names.front().substr(0, names.front().find('/') + 1);
    const bool is_shared = std::ranges::all_of(names, [&](const std::string& name) { return name.starts_with(begin); });
    return is_shared ? begin : "";
}

/// Matrices and kernels; not the optimiser's slots, which are named after their variable plus one part.
std::vector<std::string> weight_names(const weights::CheckpointFile& file) {
    const std::set<std::string> all(file.names().begin(), file.names().end());
    std::vector<std::string> names;
    for (const std::string& name : file.names()) {
        const std::size_t slash = name.rfind('/');
        const bool is_slot = slash != std::string::npos && all.contains(name.substr(0, slash));
        if (!is_slot && file.desc(name).shape.size() >= 2) names.push_back(name);
    }
    return names;
}

/// Numbers in names count as numbers: "layer_2" comes before "layer_10".
struct NaturalOrder {
    bool operator()(const std::string& a, const std::string& b) const {
        const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
        std::size_t i = 0;
        std::size_t k = 0;
        while (i < a.size() && k < b.size()) {
            if (!is_digit(a[i]) || !is_digit(b[k])) {
                if (a[i] != b[k]) return a[i] < b[k];
                ++i, ++k;
                continue;
            }
            const std::size_t from_a = i;
            const std::size_t from_b = k;
            while (i < a.size() && is_digit(a[i]))
                ++i;
            while (k < b.size() && is_digit(b[k]))
                ++k;
            if (i - from_a != k - from_b) return i - from_a < k - from_b;
            if (const int order = a.compare(from_a, i - from_a, b, from_b, k - from_b); order != 0) return order < 0;
        }
        return a.size() - i < b.size() - k;
    }
};

void add_tensor(WeightGroup& group, const HostTensor& tensor) {
    ++group.tensors;
    group.elements += tensor.desc().elements();
    const std::int64_t step = std::max<std::int64_t>(1, tensor.elements() / kValuesOfTensor);
    for (std::int64_t i = 0; i < tensor.elements(); i += step) {
        const double value = tensor.at(i);
        if (std::isfinite(value)) {
            group.values.push_back(value);
        } else {
            ++group.not_finite;
        }
    }
}

}  // namespace

std::vector<WeightGroup> read_weights(const FileSystem& files, const std::string& checkpoint_path) {
    const weights::CheckpointFile file(files, checkpoint_path);
    const std::vector<std::string> names = weight_names(file);
    const std::size_t parts = parts_of_groups(names);
    const std::string shared = shared_begin(names);
    std::map<std::string, WeightGroup, NaturalOrder> groups;
    for (const std::string& name : names) {
        WeightGroup& group = groups[begin_of(name, parts)];
        group.name = begin_of(name, parts);
        if (group.name.starts_with(shared)) group.name.erase(0, shared.size());
        add_tensor(group, file.read(name));
    }
    std::vector<WeightGroup> result;
    for (auto& [name, group] : groups)
        result.push_back(std::move(group));
    return result;
}

}  // namespace cnntrain::report
