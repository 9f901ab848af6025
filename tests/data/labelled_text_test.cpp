#include "cnntrain/data/sets.h"

#include <map>

#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "text_samples.h"

namespace cnntrain::data {
namespace {

using testing::Gt;

// Ids 0 to 4 are the special tokens.
const std::string kVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n##d\n,\n\"\n";
enum Token : std::int32_t { unk = 1, cls, sep, a = 5, b, c, d, comma, quote };

std::vector<std::int32_t> labels_of(const Dataset& data) {
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < data.size(); ++i)
        labels.push_back(text_sample(data, i).labels.at(0));
    return labels;
}

class LabelledTexts : public ::testing::Test {
protected:
    LabelledTexts() {
        settings_.file = "t.tsv";
        settings_.vocabulary_file = "v.txt";
        settings_.sequence_length = 8;
        settings_.vocabulary_size = 20;
        write_text(files_, "v.txt", kVocabulary);
    }

    std::shared_ptr<const LabelledText> open(const std::string& text, const std::vector<std::string>& classes = {}) {
        write_text(files_, settings_.file, text);
        return open_labelled_text(settings_, 2, classes, files_);
    }
    std::string refusal(const std::string& text, const std::vector<std::string>& classes = {},
                        ErrorKind kind = ErrorKind::data) {
        return message_of(kind, [&] { open(text, classes); });
    }

    MemoryFiles files_;
    LabelledTextSettings settings_;
};

TEST_F(LabelledTexts, FieldsOfATextAndOfAPair) {
    const auto data = open("A b\tyes\nCd\tno\n");
    const TensorDesc tokens{DType::i32, {8}};
    EXPECT_THAT(data->fields(), ElementsAre(Field{"input_ids", tokens}, Field{"segment_ids", tokens},
                                            Field{"input_mask", tokens}, Field{"labels", {DType::i32, {}}}));
    EXPECT_THAT(data->classes(), ElementsAre("no", "yes"));
    EXPECT_EQ(data->size(), 2);
    EXPECT_THAT(text_sample(*data, 0).tokens(), ElementsAre(cls, a, b, sep));
    EXPECT_THAT(text_sample(*data, 1).tokens(), ElementsAre(cls, c, d, sep));
    EXPECT_THAT(labels_of(*data), ElementsAre(1, 0));
    const auto pairs = open("a b\tc\tyes\na\tb\tno\n");
    const TextSample pair = text_sample(*pairs, 0);
    EXPECT_THAT(pair.tokens(), ElementsAre(cls, a, b, sep, c, sep));
    EXPECT_THAT(pair.segments, ElementsAre(0, 0, 0, 0, 1, 1, 0, 0));
    settings_.lower_case = false;
    EXPECT_THAT(text_sample(*open("A b\tyes\na\tno\n"), 0).tokens(), ElementsAre(cls, unk, b, sep));
}

TEST_F(LabelledTexts, CommaSeparatedWithLineEndsInQuotes) {
    settings_.file = "t.csv";
    const auto data = open("label,text\r\n1,\"a, \"\"b\"\"\nc\"\r\n0,b\r\n");
    EXPECT_THAT(text_sample(*data, 0).tokens(), ElementsAre(cls, a, comma, quote, b, quote, c, sep));
    EXPECT_THAT(labels_of(*data), ElementsAre(1, 0));
    EXPECT_THAT(refusal("text,label\n\"a\nb\",x\nc\n"), HasSubstr("t.csv"));
}

TEST_F(LabelledTexts, LongTextsLoseTheirLastTokens) {
    const auto data = open("a b c a b c\tx\na b c a b c a\ty\n");
    EXPECT_EQ(data->truncated(), 1);
    EXPECT_THAT(text_sample(*data, 1).tokens(), ElementsAre(cls, a, b, c, a, b, c, sep));
    // The longer text first; then both by turns, the second one before the first.
    const auto pairs = open("a b c a b c\tb\tx\na\tb c b c b c\ty\na b c\tb c b\tx\n");
    EXPECT_EQ(pairs->truncated(), 3);
    EXPECT_THAT(text_sample(*pairs, 0).tokens(), ElementsAre(cls, a, b, c, a, sep, b, sep));
    EXPECT_THAT(text_sample(*pairs, 1).tokens(), ElementsAre(cls, a, sep, b, c, b, c, sep));
    EXPECT_THAT(text_sample(*pairs, 2).tokens(), ElementsAre(cls, a, b, c, sep, b, c, sep));
}

TEST_F(LabelledTexts, HeadersAreRecognised) {
    const auto first = [&](const std::string& header, const std::string& row, const std::string& other) {
        return text_sample(*open(header + "\n" + row + "\n" + other + "\n"), 0).tokens();
    };
    EXPECT_THAT(first("sentence\tlabel", "a\t0", "b\t1"), ElementsAre(cls, a, sep));
    EXPECT_THAT(first("Label\tidx\tText", "0\tc\ta", "1\tc\tb"), ElementsAre(cls, a, sep));
    EXPECT_THAT(first("index\tquestion\tsentence\tlabel", "1\ta\tb\tx", "1\ta\tb\ty"),
                ElementsAre(cls, a, sep, b, sep));
    EXPECT_THAT(first("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "1\t8\t9\ta\tb", "0\t8\t9\ta\tb"),
                ElementsAre(cls, a, sep, b, sep));
    EXPECT_THAT(refusal("tweet\tlabel\na\tx\nb\ty\n"), AllOf(HasSubstr("t.tsv:1"), HasSubstr("'tweet'")));
    EXPECT_THAT(refusal("text\tmood\na\tx\nb\ty\n"), HasSubstr("besides"));
    EXPECT_THAT(refusal("a\tb\tc\td\n"), HasSubstr("found 4 columns"));
    EXPECT_THAT(refusal("a b\n"), HasSubstr("found 1 column"));
    std::string unknown = "tweet\tmood\n";
    for (int i = 0; i < 10; ++i)
        unknown += "a\tx\nb\ty\n";
    EXPECT_THAT(refusal(unknown), AllOf(HasSubstr("t.tsv:1"), HasSubstr("'mood'")));
}

TEST_F(LabelledTexts, ColumnsByTheNamesThatTheUserGives) {
    settings_.text_column = "tweet";
    settings_.label_column = "mood";
    const auto data = open("mood\tid\ttweet\nx\tb\ta\ny\tb\tb\n");
    EXPECT_THAT(text_sample(*data, 0).tokens(), ElementsAre(cls, a, sep));
    EXPECT_THAT(refusal("mood\ttext\n"), HasSubstr("'tweet'"));
    settings_.pair_column = "reply";
    EXPECT_THAT(text_sample(*open("mood\treply\ttweet\nx\tb\ta\ny\tb\tb\n"), 0).tokens(),
                ElementsAre(cls, a, sep, b, sep));
    settings_.text_column = "";
    EXPECT_THAT(refusal("mood\treply\ttweet\n", {}, ErrorKind::usage), Not(IsEmpty()));
}

TEST_F(LabelledTexts, WholeNumbersAreSortedAsNumbers) {
    EXPECT_THAT(open("a\t10\na\t9\na\t-1\n")->classes(), ElementsAre("-1", "9", "10"));
    EXPECT_THAT(open("a\t10\na\t9\na\tx\n")->classes(), ElementsAre("10", "9", "x"));
    EXPECT_THAT(open("a\t1\na\t1.5\n")->classes(), ElementsAre("1", "1.5"));
}

TEST_F(LabelledTexts, ClassesOfATrainingAreKept) {
    const auto data = open("a\tno\nb\tno\n", {"yes", "no"});
    EXPECT_THAT(data->classes(), ElementsAre("yes", "no"));
    EXPECT_THAT(labels_of(*data), ElementsAre(1, 1));
    EXPECT_THAT(refusal("text\tlabel\na\tno\nb\tmaybe\n", {"yes", "no"}),
                AllOf(HasSubstr("t.tsv:3"), HasSubstr("'yes' and 'no'"), HasSubstr("found 'maybe'")));
}

TEST_F(LabelledTexts, LabelsNeedNotBeRead) {
    settings_.needs_labels = false;
    for (const std::string text :
         {"a\nb\n", "idx\tsentence\n0\ta\n1\tb\n", "a\tmaybe\nb\t\n", "label\ttext\n\ta\n\tb\n"}) {
        const auto data = open(text, {"yes", "no"});
        EXPECT_THAT(labels_of(*data), ElementsAre(kNoLabel, kNoLabel));
        EXPECT_THAT(text_sample(*data, 1).tokens(), ElementsAre(cls, b, sep));
    }
    EXPECT_THAT(refusal("a\n", {}, ErrorKind::usage), Not(IsEmpty()));
}

TEST_F(LabelledTexts, LabelsThatAreNotNeededAreReadWhereThereAreSome) {
    settings_.needs_labels = false;
    for (const std::string text : {"a\tno\nb\t\n", "label\ttext\nno\ta\n?\tb\n", "a\tb\tno\nb\tb\tx\n"})
        EXPECT_THAT(labels_of(*open(text, {"yes", "no"})), ElementsAre(1, kNoLabel)) << text;
    settings_.label_column = "mood";
    EXPECT_THAT(labels_of(*open("text\nb\n", {"yes", "no"})), ElementsAre(kNoLabel)) << "a column of the training";
}

TEST_F(LabelledTexts, TextsAreKeptWhereTheyAreWanted) {
    EXPECT_EQ(open("a\tx\nb\ty\n")->text(1), "");
    settings_.keeps_texts = true;
    const auto data = open("a\tB c\tx\nb\tc\ty\n");
    EXPECT_EQ(data->text(0), "a\tB c");
    EXPECT_EQ(data->row(1), 2);
}

TEST_F(LabelledTexts, SpecialTokensAreWholeOrDivided) {
    enum : std::int32_t { pad = 0, mask = 4 };
    const std::string text = "a[SEP]b [MASK]\tx\n[PAD][CLS][UNK] [sep]\ty\na b\tx\n";
    const auto whole = open(text);
    EXPECT_EQ(whole->with_special_tokens(), 2);
    EXPECT_THAT(text_sample(*whole, 0).tokens(), ElementsAre(cls, a, sep, b, mask, sep));
    EXPECT_THAT(text_sample(*whole, 1).tokens(), ElementsAre(cls, pad, cls, unk, unk, unk, unk, sep));
    settings_.splits_special_tokens = true;
    const auto divided = open(text);
    EXPECT_EQ(divided->with_special_tokens(), 2);
    EXPECT_THAT(text_sample(*divided, 0).tokens(), ElementsAre(cls, a, unk, unk, unk, b, unk, sep));
}

TEST_F(LabelledTexts, BadFilesAreErrors) {
    EXPECT_THAT(refusal(""), HasSubstr("t.tsv"));
    EXPECT_THAT(refusal("\n\n"), HasSubstr("t.tsv"));
    EXPECT_THAT(refusal("text\tlabel\n"), HasSubstr("behind"));
    EXPECT_THAT(refusal("a\tx\nb\tx\n"), HasSubstr("'x'"));
    EXPECT_THAT(refusal("a\tx\n \u00a0\ty\n"), HasSubstr("t.tsv:2"));
    EXPECT_THAT(refusal("a\tb\tx\na\t\ty\n"), HasSubstr("t.tsv"));
    EXPECT_THAT(refusal("a\tx\nb\t\n"), HasSubstr("t.tsv"));
    EXPECT_THAT(refusal("a\tx\nb\xff\ty\n"), HasSubstr("t.tsv:2: expected UTF-8"));
    EXPECT_THAT(refusal("a\tx\nb\tc\ty\n"), HasSubstr("t.tsv:2: expected 2 cells"));
    const test::TemporaryFolder folder;
    settings_.file = folder.path();
    settings_.vocabulary_file = folder.write("v.txt", kVocabulary);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { open_labelled_text(settings_, 1, {}, posix_files()); }),
                AllOf(HasSubstr(folder.path()), HasSubstr("irectory")));
}

TEST_F(LabelledTexts, AColumnOfNumbersIsNoLabel) {
    std::string scores = "text\tlabel\n";
    for (int i = 0; i < 101; ++i)
        scores += "a\t0." + std::to_string(i) + "\n";
    EXPECT_THAT(refusal(scores), AllOf(HasSubstr("101 rows"), HasSubstr("91 more")));
}

TEST_F(LabelledTexts, SettingsThatCannotBe) {
    const std::string text = "a\tb\tx\na\tc\ty\n";
    settings_.type_vocabulary = 1;
    EXPECT_THAT(refusal(text, {}, ErrorKind::usage), HasSubstr("--type-vocab-size 2"));
    settings_.type_vocabulary = 2;
    settings_.vocabulary_size = c;
    EXPECT_THAT(refusal(text), AllOf(HasSubstr("t.tsv:2"), HasSubstr("--vocab-size 8")));
    settings_.sequence_length = 4;
    EXPECT_THAT(refusal(text, {}, ErrorKind::usage), HasSubstr("--seq-length"));
    settings_.vocabulary_file = "";
    EXPECT_THAT(refusal(text, {}, ErrorKind::usage), HasSubstr("--vocab-file"));
}

TEST_F(LabelledTexts, ALargeVocabularyAndManyRowsInAnyNumberOfThreads) {
    std::string vocabulary = kVocabulary;
    for (int i = 0; i < 70000; ++i)
        vocabulary += "w" + std::to_string(i) + "\n";
    write_text(files_, "v.txt", vocabulary);
    settings_.vocabulary_size = 80000;
    std::string text;
    for (int i = 0; i < 3000; ++i)
        text += "w" + std::to_string(23 * i) + "\t" + std::to_string(i % 3) + "\n";
    const auto data = open(text);
    const auto first_token = [](const Dataset& from, std::int64_t i) { return text_sample(from, i).ids[1]; };
    for (std::int64_t i = 0; i < data->size(); ++i)
        ASSERT_EQ(first_token(*data, i), 11 + 23 * i);
    const auto alone = open_labelled_text(settings_, 1, {}, files_);
    for (std::int64_t i = 0; i < data->size(); ++i)
        ASSERT_EQ(first_token(*alone, i), first_token(*data, i));
    EXPECT_THAT(data->state().memory_bytes, Gt(3000u * (3 * 4 + 8 + 4 + 4)));
}

TEST_F(LabelledTexts, PartsHaveEveryClassInTheSameShare) {
    std::string text;
    for (int i = 0; i < 400; ++i)
        text += "a\t" + std::string(i < 300 ? "common" : i < 390 ? "rare" : i < 399 ? "seldom" : "single") + "\n";
    const auto data = open(text);
    const auto counts = [](const LabelledText& part) {
        std::map<std::string, int> result;
        for (const std::int32_t label : labels_of(part))
            ++result[part.classes()[static_cast<std::size_t>(label)]];
        return result;
    };
    const LabelledParts parts = data->parts(0.1, 5);
    EXPECT_EQ(counts(*parts.validation), (std::map<std::string, int>{{"common", 30}, {"rare", 9}, {"seldom", 1}}));
    EXPECT_EQ(parts.training->size() + parts.validation->size(), 400);
    EXPECT_EQ(counts(*parts.training)["single"], 1);
    EXPECT_EQ(parts.validation->classes(), data->classes());
    EXPECT_THAT(message_of(ErrorKind::data, [&] { data->parts(1e-6, 5); }), Not(IsEmpty()));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { data->parts(1, 5); }), HasSubstr("0 and"));
}

TextSample padding_of(const Dataset& data) {
    return filled_text(data, [&](SampleView view) {
        Workspace workspace;
        EXPECT_EQ(data.read(kPaddingSample, {}, view, workspace), SampleState::padding);
    });
}

TEST_F(LabelledTexts, ScoresAreNumbers) {
    settings_.labels = nn::LabelKind::score;
    const auto data = open("text\tscore\na\t-1.5\nb\t 2\nc\t1e-60\n");
    EXPECT_THAT(data->classes(), IsEmpty());
    for (const auto& [index, score] : std::map<std::int64_t, float>{{0, -1.5F}, {1, 2}, {2, 0}}) {
        EXPECT_EQ(text_sample(*data, index).score(), score);
        EXPECT_EQ(text_sample(*data, index).weight, 1);
    }
    EXPECT_EQ(padding_of(*data).score(), 0);
    EXPECT_EQ(padding_of(*data).weight, 0);
    EXPECT_THAT(refusal("a\t1\nb\thigh\n"), AllOf(HasSubstr("t.tsv:2"), HasSubstr("found 'high'")));
    settings_.needs_labels = false;
    for (const std::string text : {"text\na\n", "a\t\n", "a\tx\n"})
        EXPECT_EQ(text_sample(*open(text), 0).weight, 0) << text;
}

TEST_F(LabelledTexts, SeveralLabelsAreInOneCell) {
    settings_.labels = nn::LabelKind::several;
    const std::string text = "text\tlabels\na\tsport| news\nb\t\nc\tnews||\n";
    const auto data = open(text);
    EXPECT_THAT(data->classes(), ElementsAre("news", "sport"));
    EXPECT_EQ(data->fields().back(), (Field{"labels", {DType::i32, {2}}}));
    EXPECT_THAT(text_sample(*data, 0).labels, ElementsAre(1, 1));
    EXPECT_THAT(text_sample(*data, 1).labels, ElementsAre(0, 0));
    EXPECT_THAT(text_sample(*data, 2).labels, ElementsAre(1, 0));
    EXPECT_THAT(padding_of(*data).labels, ElementsAre(kNoLabel, kNoLabel));
    EXPECT_THAT(text_sample(*open("a\tz\n", {"z", "y", "x"}), 0).labels, ElementsAre(1, 0, 0));
    EXPECT_THAT(refusal("a\tx|z\nb\ty\n", {"x", "y"}), AllOf(HasSubstr("t.tsv:1"), HasSubstr("found 'z'")));
    EXPECT_THAT(refusal("text\tlabels\na\t\nb\t\n"), HasSubstr("found none in all of its 2 rows"));
    EXPECT_THAT(refusal("a\tx\nb\tx\n"), HasSubstr("found 'x'"));
    settings_.needs_labels = false;
    for (const std::string other : {"text\na\n", "a\t\n", "a\tnews|weather\n"})
        EXPECT_THAT(text_sample(*open(other, {"news", "sport"}), 0).labels, ElementsAre(kNoLabel, kNoLabel)) << other;
    settings_.label_separator = ",";
    EXPECT_THAT(text_sample(*open("a\tsport,news\n", {"news", "sport"}), 0).labels, ElementsAre(1, 1));
}

TEST_F(LabelledTexts, LabelsMayHaveColumnsOfTheirOwn) {
    settings_.labels = nn::LabelKind::several;
    const auto data = open("id\ttext\ttoxic\trude\n7\ta\t1\t0\n8\tb\t0\t0\n9\tc\t1\t1.0\n");
    EXPECT_THAT(data->classes(), ElementsAre("rude", "toxic"));
    EXPECT_THAT(text_sample(*data, 0).labels, ElementsAre(0, 1));
    EXPECT_THAT(text_sample(*data, 1).labels, ElementsAre(0, 0));
    EXPECT_THAT(text_sample(*data, 2).labels, ElementsAre(1, 1));
    EXPECT_THAT(refusal("id\ttext\tage\n7\ta\t34\n"),
                AllOf(HasSubstr("t.tsv:1"), HasSubstr("column of 0 and 1"), HasSubstr("'age'")));
}

TEST_F(LabelledTexts, PartsOfOtherLabelsAreSharesOfAllSamples) {
    std::string text;
    for (int i = 0; i < 50; ++i)
        text += "a\t" + std::to_string(i) + "\n";
    for (const nn::LabelKind kind : {nn::LabelKind::score, nn::LabelKind::several}) {
        settings_.labels = kind;
        const LabelledParts parts = open(text)->parts(0.2, 5);
        EXPECT_EQ(parts.validation->size(), 10);
        EXPECT_EQ(parts.training->size(), 40);
    }
}

TEST_F(LabelledTexts, PartsFollowFromTheSeedAndKeepTheOrder) {
    std::string vocabulary = kVocabulary;
    std::string text;
    for (int i = 0; i < 60; ++i) {
        vocabulary += "w" + std::to_string(i) + "\n";
        text += "w" + std::to_string(i) + "\t" + std::to_string(i % 2) + "\n";
    }
    write_text(files_, "v.txt", vocabulary);
    settings_.vocabulary_size = 100;
    const auto data = open(text);
    const auto tokens = [](const Dataset& part) {
        std::vector<std::int32_t> result;
        for (std::int64_t i = 0; i < part.size(); ++i)
            result.push_back(text_sample(part, i).ids[1]);
        return result;
    };
    const LabelledParts parts = data->parts(0.3, 1);
    const std::vector<std::int32_t> held_out = tokens(*parts.validation);
    EXPECT_EQ(held_out.size(), 18u);
    EXPECT_TRUE(std::ranges::is_sorted(held_out));
    EXPECT_EQ(tokens(*data->parts(0.3, 1).validation), held_out);
    EXPECT_NE(tokens(*data->parts(0.3, 2).validation), held_out);
    std::vector<std::int32_t> all = tokens(*parts.training);
    all.insert(all.end(), held_out.begin(), held_out.end());
    std::ranges::sort(all);
    EXPECT_EQ(all, tokens(*data)) << "each sample in one of both";
}

TEST_F(LabelledTexts, PaddingOfASweepCountsForNothing) {
    const auto data = open("a\tx\nb\ty\nc\tx\n");
    const TextSample padding = padding_of(*data);
    EXPECT_THAT(padding.labels, ElementsAre(kNoLabel));
    EXPECT_THAT(padding.mask, ElementsAre(1, 0, 0, 0, 0, 0, 0, 0)) << "attention sees one token";
    LoaderSettings how;
    how.feed = Feed::sweeps;
    how.micro_batch = 2;
    Loader loader(data, how);
    EXPECT_EQ(loader.fields().back(), (Field{"labels", {DType::i32, {2}}}));
    EXPECT_EQ(loader.next().valid_count, 2);
    const Batch last = loader.next();
    EXPECT_EQ(last.valid_count, 1);
    EXPECT_THAT(last.as<std::int32_t>(3), ElementsAre(0, kNoLabel));
}

}  // namespace
}  // namespace cnntrain::data
