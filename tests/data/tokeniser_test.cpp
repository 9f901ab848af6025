#include "data/text/tokeniser.h"

#include <limits>

#include "bert_golden.h"
#include "cnntrain/data/sets.h"
#include "data/write/pretraining_plan.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::data {
namespace {

/// The pieces that a text is cut into by a small vocabulary.
class Pieces {
public:
    explicit Pieces(const std::string& text) : vocabulary_(text) {
        for (std::string_view rest = text; !rest.empty();) {
            const std::string_view line = rest.substr(0, rest.find('\n'));
            lines_.emplace_back(line);
            rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        }
    }
    std::vector<std::string> of(std::string_view text, bool lower_case = true) const {
        std::vector<TokenId> ids;
        Tokeniser(vocabulary_, lower_case).append_tokens(text, ids);
        std::vector<std::string> pieces;
        for (const TokenId id : ids)
            pieces.push_back(lines_.at(id));
        return pieces;
    }

private:
    Vocabulary vocabulary_;
    std::vector<std::string> lines_;
};

const std::string kSpecial = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";

TEST(Tokeniser, AsTheReferenceProgram) {
    const Pieces pieces(read_file(bert_file("vocab.txt")));
    ASSERT_EQ(bert_golden().at("tokenizer").size(), 20u);
    for (const auto& row : bert_golden().at("tokenizer")) {
        const std::string text = row.at("text");
        EXPECT_EQ(pieces.of(text, true), row.at("lower").get<std::vector<std::string>>()) << text;
        EXPECT_EQ(pieces.of(text, false), row.at("cased").get<std::vector<std::string>>()) << text;
    }
}

TEST(Tokeniser, LongWordsAreUnknown) {
    const Pieces pieces(kSpecial + "x\n##x\né\n##é\n");
    EXPECT_EQ(pieces.of(std::string(200, 'x')).size(), 200u);
    EXPECT_THAT(pieces.of(std::string(201, 'x')), ElementsAre("[UNK]"));
    std::string wide;
    for (int i = 0; i < 200; ++i)
        wide += "é";
    EXPECT_EQ(pieces.of(wide, false).size(), 200u) << "characters count, not bytes";
    EXPECT_THAT(pieces.of(wide + "é", false), ElementsAre("[UNK]"));
    EXPECT_THAT(pieces.of(std::string(150, 'x') + "." + std::string(150, 'x')), testing::SizeIs(301))
        << "punctuation ends a word";
}

TEST(Tokeniser, UndecodableBytesAreDropped) {
    const Pieces pieces(kSpecial + "cat\ndog\n");
    EXPECT_THAT(pieces.of("c\xff"
                          "at \xe2\x28\xa1 dog\xf0\x9f\x98"),
                ElementsAre("cat", "[UNK]", "dog"));
    EXPECT_THAT(pieces.of("ca\xed\xa0\x80t"), ElementsAre("cat")) << "surrogates are no characters";
    EXPECT_THAT(pieces.of("ca\xc1\x81t"), ElementsAre("cat")) << "neither are longer forms than need be";
    EXPECT_THAT(pieces.of("\xff\xfe"), ElementsAre());
}

TEST(Tokeniser, AccentsGoAndHangulIsTakenApart) {
    const Pieces pieces(kSpecial + "angstrom\nᄒ\n##ᅡ\n##ᆫ\n豈\ni\n##stanbul\n");
    EXPECT_THAT(pieces.of("Ångström A\u030angstro\u0308m"), ElementsAre("angstrom", "angstrom"));
    EXPECT_THAT(pieces.of("한"), ElementsAre("ᄒ", "##ᅡ", "##ᆫ"));
    EXPECT_THAT(pieces.of("\uf900"), ElementsAre("豈")) << "a compatibility ideograph is a word and is decomposed";
    EXPECT_THAT(pieces.of("İstanbul"), ElementsAre("i", "##stanbul"));
}

TEST(Tokeniser, CapitalSigmaKnowsItsPlace) {
    const Pieces pieces(kSpecial + "οσος\nσ\nας\nασ\n'\nα\n,\n.\n");
    EXPECT_THAT(pieces.of("ΟΣΟΣ"), ElementsAre("οσος"));
    EXPECT_THAT(pieces.of("Σ"), ElementsAre("σ")) << "no letter before it";
    EXPECT_THAT(pieces.of("ΑΣ, ΑΣ."), ElementsAre("ας", ",", "ας", "."));
    EXPECT_THAT(pieces.of("ΑΣ'Α"), ElementsAre("ασ", "'", "α")) << "an apostrophe does not end the word";
    EXPECT_THAT(pieces.of("ΑΣ,Α"), ElementsAre("ας", ",", "α"));
}

TEST(Vocabulary, LastLineOfAPieceCounts) {
    const Vocabulary vocabulary("a\nb\n a \r\n\nc");
    EXPECT_EQ(vocabulary.size(), 5u);
    EXPECT_EQ(vocabulary.find("a"), 2u);
    EXPECT_EQ(vocabulary.find("c"), 4u);
    EXPECT_EQ(vocabulary.find("ab"), std::nullopt);
    EXPECT_THAT(vocabulary.distinct(), ElementsAre(2u, 1u, 3u, 4u)) << "in the order of first lines";
    EXPECT_EQ(Vocabulary("").size(), 0u);
    EXPECT_EQ(Vocabulary("\n").size(), 1u);
}

TEST(Vocabulary, WithoutContinuationsWordsAreWhole) {
    const Vocabulary vocabulary("a\nb\n#\n");
    std::vector<TokenId> ids;
    EXPECT_TRUE(vocabulary.append_pieces("a", ids));
    EXPECT_FALSE(vocabulary.append_pieces("ab", ids));
    EXPECT_THAT(ids, ElementsAre(0u));
}

TEST(Vocabulary, GrowsWithManyPieces) {
    std::string text;
    for (int i = 0; i < 30000; ++i)
        text += std::to_string(i * 7919) + "\n";
    const Vocabulary vocabulary(text);
    for (int i = 0; i < 30000; ++i)
        ASSERT_EQ(vocabulary.find(std::to_string(i * 7919)), static_cast<TokenId>(i));
}

TEST(Vocabulary, MissingTokensAreNamed) {
    MemoryFiles files;
    write_text(files, "v.txt", "[UNK]\n[CLS]\nthe\n");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { Vocabulary::read(files, "v.txt"); }),
                AllOf(HasSubstr("v.txt"), HasSubstr("MASK"), HasSubstr("3 lines")));
    write_text(files, "v.txt", "[UNK]\n[CLS]\n[SEP]");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { Vocabulary::read(files, "v.txt"); }), HasSubstr("MASK"));
}

/// tokenizer.json of a WordPiece model with the pieces of kSpecial and "a".
std::string tokeniser_json(const std::string& type = "WordPiece", const std::string& normaliser = "") {
    return R"({"added_tokens": [{"id": 6, "content": "<brand>"}, {"id": 3, "content": "[SEP]"}],
               "normalizer": {"type": "BertNormalizer", "lowercase": true)" +
           normaliser + R"(}, "pre_tokenizer": {"type": "BertPreTokenizer"},
               "model": {"type": ")" +
           type + R"(", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 3,
                     "vocab": {"a": 5, "[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "##a": 7}}})";
}

TEST(Vocabulary, OfATokenizerJson) {
    MemoryFiles files;
    write_text(files, "m/tokenizer.json", tokeniser_json());
    const Vocabulary vocabulary = Vocabulary::read(files, "m/tokenizer.json");
    EXPECT_EQ(vocabulary.size(), 8u);
    EXPECT_EQ(vocabulary.find("<brand>"), 6u);
    EXPECT_EQ(vocabulary_lines(files, "m/tokenizer.json"), kSpecial + "a\n<brand>\n##a\n");
    std::vector<TokenId> ids;
    Tokeniser(vocabulary, /*lower_case=*/true).append_tokens("AAA aaaa", ids);
    EXPECT_THAT(ids, ElementsAre(5u, 7u, 7u, 1u)) << "a word of four characters is too long";
    const auto piece = special_piece(vocabulary, "a <brand> [SEP]");
    ASSERT_TRUE(piece);
    EXPECT_EQ(piece->begin, 2u);
    EXPECT_EQ(piece->id, 6u);
    const TokeniserFacts facts = tokeniser_facts(files, "m/vocab.txt");
    EXPECT_TRUE(facts.of_transformers && !facts.splits_special_tokens);
    EXPECT_EQ(facts.lower_case, std::optional(true));
    write_text(files, "c/tokenizer_config.json", R"({"do_lower_case": false, "split_special_tokens": true})");
    EXPECT_EQ(tokeniser_facts(files, "c/vocab.txt").lower_case, std::optional(false));
    EXPECT_TRUE(tokeniser_facts(files, "c/vocab.txt").splits_special_tokens);
    EXPECT_EQ(tokeniser_facts(files, "vocab.txt").lower_case, std::nullopt);
}

TEST(Vocabulary, OtherTokenizerJsonsAreRefused) {
    MemoryFiles files;
    const auto message = [&](ErrorKind kind, const std::string& text) {
        write_text(files, "t.json", text);
        return message_of(kind, [&] { Vocabulary::read(files, "t.json"); });
    };
    EXPECT_THAT(message(ErrorKind::unsupported, tokeniser_json("BPE")), AllOf(HasSubstr("BPE"), HasSubstr("RoBERTa")));
    EXPECT_THAT(message(ErrorKind::unsupported, tokeniser_json("WordPiece", R"(, "strip_accents": false)")),
                HasSubstr("accents"));
    const std::string whole = tokeniser_json();
    for (std::size_t end = 0; end < whole.size(); end += 7)
        message(ErrorKind::data, whole.substr(0, end));
    for (const char* id : {"-1", "\"5\"", "5", "1e3", "4194304"}) {
        std::string text = whole;
        text.replace(text.find("\"##a\": 7") + 7, 1, id);
        message(ErrorKind::data, text);
    }
}

TEST(CodePoints, BlankAndStrippedAsPython) {
    // str.isspace(): also file to unit separator, next line, no-break space; not the zero-width space.
    EXPECT_TRUE(is_blank(" \t\v\f\r\x1c\x1d\x1e\x1f\u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000"));
    EXPECT_TRUE(is_blank(""));
    EXPECT_TRUE(is_blank("\xff \xc0")) << "bytes of no character count for nothing";
    for (const std::string text : {"\u200b", "\ufeff", "\x01", "a", "\u180e"})
        EXPECT_FALSE(is_blank(text)) << text;
    EXPECT_EQ(stripped("\u00a0 a b\xff\u3000c \x1f\n"), "a b\u3000c");
}

TEST(PythonRandom, DrawsOfTheReference) {
    const auto& golden = bert_golden().at("rng_seed_1984");
    data::PythonRandom random(1984);
    for (const double value : golden.at("random_x3"))
        EXPECT_EQ(random.random(), value);
    for (const std::uint32_t value : golden.at("randint_0_9_x8"))
        EXPECT_EQ(random.integer(0, 9), value);
    for (const std::uint32_t value : golden.at("randint_2_125_x4"))
        EXPECT_EQ(random.integer(2, 125), value);
    std::vector<int> items = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    random.shuffle(items);
    EXPECT_EQ(items, golden.at("then_shuffle_range10").get<std::vector<int>>());
    EXPECT_EQ(random.random(), golden.at("then_random").get<double>());
    data::PythonRandom other(12345);
    for (const double value : bert_golden().at("rng_seed_12345_random_x3"))
        EXPECT_EQ(other.random(), value);
}

TEST(PythonRandom, SeedsOfAllSizes) {
    // Printed by CPython: random.Random(seed).random().
    EXPECT_EQ(data::PythonRandom(0).random(), 0.8444218515250481);
    EXPECT_EQ(data::PythonRandom(-1).random(), data::PythonRandom(1).random());
    EXPECT_EQ(data::PythonRandom(1).random(), 0.13436424411240122);
    EXPECT_EQ(data::PythonRandom(std::int64_t{1} << 40).random(), 0.1036394562812375);
    EXPECT_EQ(data::PythonRandom(std::numeric_limits<std::int64_t>::min()).random(), 0.5534639983914199);
}

TEST(PythonRandom, OneOfOneCostsDraws) {
    data::PythonRandom random(7);
    data::PythonRandom same(7);
    EXPECT_EQ(random.below(1), 0u);
    EXPECT_NE(random.random(), same.random());
}

}  // namespace
}  // namespace cnntrain::data
