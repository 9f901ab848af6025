// Reads the files in which Hugging Face's transformers keep a WordPiece tokeniser: tokenizer.json, with the vocabulary
// and how words are made of a text, and tokenizer_config.json.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/inspect.h"
#include "cnntrain/data/sets.h"
#include "data/text/tokeniser.h"

namespace cnntrain::data {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostPieces = std::uint64_t{1} << 22;

bool is_tokeniser_json(const std::string& path) {
    return path.ends_with(".json");
}

/// Null if there is no such file; of a discarded type if it is no JSON.
json lenient_json(const FileSystem& files, const std::filesystem::path& path) {
    if (!exists(files, path.string())) return {};
    return json::parse(read_text(files, path.string()), nullptr, /*allow_exceptions=*/false);
}

std::optional<bool> truth(const json& object, const char* key) {
    if (!object.is_object()) return std::nullopt;
    const auto found = object.find(key);
    if (found == object.end() || !found->is_boolean()) return std::nullopt;
    return found->get<bool>();
}

class TokeniserJson {
public:
    TokeniserJson(const std::string& text, const std::string& path) : path_(path) {
        try {
            check_json(text);
        } catch (const Error& error) {
            throw error.within(path);
        }
        document_ = json::parse(text);
    }

    /// The pieces by id, as lines of a vocabulary; ids without a piece have empty lines.
    std::string lines() const {
        expect("model", "type", "WordPiece");
        expect("model", "continuing_subword_prefix", "##");
        expect("model", "unk_token", "[UNK]");
        expect("normalizer", "type", "BertNormalizer");
        expect("pre_tokenizer", "type", "BertPreTokenizer");
        check_normaliser(part(document_, "normalizer"));
        const json& vocabulary = part(part(document_, "model"), "vocab");
        std::vector<std::string> pieces;
        for (const auto& [piece, id] : vocabulary.items())
            put(pieces, piece, id);
        for (const json& token : added())
            put(pieces, token.at("content").get<std::string>(), token.value("id", json()));
        std::string text;
        for (const std::string& piece : pieces)
            text += piece + "\n";
        return text;
    }

    std::vector<std::string> special_pieces() const {
        std::vector<std::string> pieces;
        for (const json& token : added())
            pieces.push_back(token.at("content").get<std::string>());
        return pieces;
    }

    std::size_t longest_word() const {
        const json& model = part(document_, "model");
        const auto found = model.find("max_input_chars_per_word");
        constexpr std::size_t kUsual = 100;
        return found != model.end() && found->is_number_unsigned() ? found->get<std::size_t>() : kUsual;
    }

private:
    [[noreturn]] void fail(const std::string& what) const { throw Error(ErrorKind::data, path_ + ": " + what); }

    const json& part(const json& object, const char* key) const {
        const auto found = object.is_object() ? object.find(key) : object.end();
        if (found == object.end() || !found->is_object())
            fail(std::string("expected an object '") + key + "', as in a tokenizer.json of a WordPiece model");
        return *found;
    }

    /// `of`: "model", "normalizer", ...
    void expect(const char* of, const char* key, const char* wanted) const {
        const json value = part(document_, of).value(key, json());
        if (value == wanted) return;
        throw Error(ErrorKind::unsupported, path_ + ": expected " + key + " \"" + wanted + "\" in " + of +
                                                ", as BERT's tokenisers have, found " +
                                                value.dump(-1, ' ', true, json::error_handler_t::replace) +
                                                "; byte pairs, as of RoBERTa and GPT, cannot be read");
    }

    void check_normaliser(const json& normaliser) const {
        const bool lower_case = truth(normaliser, "lowercase").value_or(true);
        const bool strips = truth(normaliser, "strip_accents").value_or(lower_case);
        if (strips == lower_case && truth(normaliser, "clean_text").value_or(true) &&
            truth(normaliser, "handle_chinese_chars").value_or(true))
            return;
        throw Error(
            ErrorKind::unsupported,
            path_ +
                ": expected a normalizer with clean_text, handle_chinese_chars, and strip_accents as lowercase, "
                "as BERT's tokenisers have; another one cannot be read");
    }

    void put(std::vector<std::string>& pieces, const std::string& piece, const json& id) const {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kMostPieces)
            fail("expected a number below " + std::to_string(kMostPieces) + " as the id of '" + piece + "'");
        const std::size_t place = id.get<std::size_t>();
        if (piece.find('\n') != std::string::npos)
            fail("the piece with the id " + std::to_string(place) + " contains a line end");
        pieces.resize(std::max(pieces.size(), place + 1));
        if (!pieces[place].empty() && pieces[place] != piece)
            fail("'" + pieces[place] + "' and '" + piece + "' have the same id " + std::to_string(place));
        pieces[place] = piece;
    }

    /// The added tokens that have a text.
    std::vector<json> added() const {
        std::vector<json> tokens;
        const json list = document_.value("added_tokens", json::array());
        std::ranges::copy_if(list, std::back_inserter(tokens), [](const json& token) {
            return token.is_object() && token.contains("content") && token["content"].is_string() &&
                   !token["content"].get_ref<const std::string&>().empty();
        });
        return tokens;
    }

    const std::string& path_;
    json document_;
};

}  // namespace

std::string vocabulary_lines(const FileSystem& files, const std::string& path) {
    const std::string text = read_text(files, path);
    return is_tokeniser_json(path) ? TokeniserJson(text, path).lines() : text;
}

Vocabulary Vocabulary::read(const FileSystem& files, const std::string& path) {
    const std::string text = read_text(files, path);
    std::optional<TokeniserJson> tokeniser;
    if (is_tokeniser_json(path)) tokeniser.emplace(text, path);
    Vocabulary vocabulary(tokeniser ? tokeniser->lines() : text);
    if (tokeniser) {
        vocabulary.longest_word_ = tokeniser->longest_word();
        vocabulary.special_pieces_ = tokeniser->special_pieces();
    }
    try {
        vocabulary.special_tokens();
    } catch (const Error& error) {
        throw error.within("vocabulary " + path);
    }
    return vocabulary;
}

TokeniserFacts tokeniser_facts(const FileSystem& files, const std::string& vocabulary_file) {
    const std::filesystem::path folder = std::filesystem::path(vocabulary_file).parent_path();
    const json tokeniser = lenient_json(files, folder / "tokenizer.json");
    const json config = lenient_json(files, folder / "tokenizer_config.json");
    TokeniserFacts facts;
    facts.of_transformers =
        !tokeniser.is_null() || !config.is_null() || exists(files, (folder / "config.json").string());
    facts.lower_case = truth(config, "do_lower_case");
    if (tokeniser.is_object() && tokeniser.contains("normalizer")) {
        if (const auto says = truth(tokeniser["normalizer"], "lowercase")) facts.lower_case = says;
    }
    facts.splits_special_tokens = !facts.of_transformers || truth(config, "split_special_tokens").value_or(false);
    return facts;
}

}  // namespace cnntrain::data
