#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/json_check.h"
#include "cnntrain/report/run_record.h"

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

/// Only what is base 64 becomes part of a page.
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

}  // namespace cnntrain::report
