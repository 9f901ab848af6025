// Lines that are longer than what is read at once: the same tokens, in bounded memory.
#include "data/write/pretraining_plan.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "data/fixtures.h"
#include "data/text/tokeniser.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

const data::Vocabulary& vocabulary() {
    static const data::Vocabulary words("[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n##s\n.\n\u00fcber\n\u0441\u043b\n");
    return words;
}

std::vector<data::TokenId> tokens_of(std::string_view line) {
    std::vector<data::TokenId> ids;
    data::Tokeniser(vocabulary(), /*lower_case=*/false).append_tokens(line, ids);
    return ids;
}

std::string repeated(const std::string& part, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes)
        text += part;
    return text;
}

Corpus corpus_of(const std::vector<std::string>& texts, int threads = 2) {
    MemoryFiles files;
    CorpusSettings settings;
    settings.threads = threads;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        settings.files.push_back("file" + std::to_string(i));
        write_text(files, settings.files.back(), texts[i]);
    }
    return read_corpus(files, vocabulary(), settings);
}

/// The segments of each document.
std::vector<std::vector<std::vector<data::TokenId>>> documents_of(const Corpus& corpus) {
    std::vector<std::vector<std::vector<data::TokenId>>> documents(corpus.documents());
    for (std::size_t i = 0; i < documents.size(); ++i) {
        for (std::size_t j = corpus.first_segment(i); j < corpus.end_segment(i); ++j)
            documents[i].emplace_back(corpus.segment(j).begin(), corpus.segment(j).end());
    }
    return documents;
}

constexpr std::size_t kLong = 2'500'000;  // more than two blocks

TEST(Corpus, LinesMayBeLongerThanABlock) {
    const std::string words = repeated("the cats.\u2028\u00fcber\t\u0441\u043b\u2029 dog\x01 \r", kLong);
    const std::string unbroken = repeated("cats.the", kLong);
    const std::string blank = repeated(" \t \u00a0", kLong);
    const std::string dropped = repeated("\x01 \u200b", kLong);
    const std::vector<std::string> texts = {
        "the\n" + words + "\n" + unbroken + "\nthe\n" + blank + "\n" + words,
        words + "\n" + dropped + "\nthe\n" + blank,
        unbroken,
        "cat\n\n" + words + "\n\nthe cat\n",
    };
    const auto a = tokens_of("the");
    const auto b = tokens_of(words);
    const auto c = tokens_of(unbroken);
    ASSERT_GT(b.size(), kLong / 10);
    const std::vector<std::vector<std::vector<data::TokenId>>> expected = {
        {a, b, c, a}, {b, b, a}, {c, tokens_of("cat")}, {b}, {tokens_of("the cat")}};
    for (const int threads : {1, 4})
        EXPECT_TRUE(documents_of(corpus_of(texts, threads)) == expected) << threads;
}

TEST(Corpus, TextWithoutBlanksIsBounded) {
    std::string text = "the\n";
    text.resize(40'000'000, 'x');
    EXPECT_THAT(test::message_of(ErrorKind::data, [&] { corpus_of({text}); }), HasSubstr("file0"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
std::size_t peak_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

TEST(Corpus, TheMemoryForALongLineIsBounded) {
    const test::TemporaryFolder folder;
    constexpr std::size_t kBytes = 100'000'000;  // unknown words of 100 bytes
    data::write_file(folder / "part", repeated(std::string(99, 'x') + " ", kBytes / 100));
    const std::string hundredfold =
        "for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6 7 8 9 10; do cat part; done; done";
    ASSERT_EQ(std::system(("cd " + folder.path() + " && (" + hundredfold + ") >text").c_str()), 0);
    const std::size_t before = peak_bytes();
    CorpusSettings settings;
    settings.files = {folder / "text"};
    EXPECT_EQ(read_corpus(posix_files(), vocabulary(), settings).tokens(), kBytes / 100);
    EXPECT_LT(peak_bytes() - before, kBytes / 2);
}
#endif

}  // namespace
}  // namespace cnntrain::data
