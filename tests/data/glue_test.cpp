// The tasks of GLUE as the reference program reads them (tests/data/glue/golden.json, sequence length 16).
#include "cnntrain/data/glue.h"

#include <cmath>
#include <cstring>

#include "bert_golden.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "text_samples.h"

namespace cnntrain::data {
namespace {

const std::string kFolder = CNNTRAIN_SOURCE_DIR "/tests/data/glue";
constexpr std::array<const char*, 3> kPhases = {"train", "dev", "test"};

LabelledTextSettings sixteen_tokens() {
    LabelledTextSettings settings;
    settings.vocabulary_file = bert_file("vocab.txt");
    settings.splits_special_tokens = true;
    settings.sequence_length = 16;
    return settings;
}

std::shared_ptr<const LabelledText> open(const GlueTask& task, GluePhase phase) {
    return open_labelled_text(glue_settings(task, phase, kFolder, sixteen_tokens()), 1, task.labels);
}

void expect_samples(const LabelledText& texts, const nlohmann::json& golden, bool labels) {
    ASSERT_EQ(texts.size(), static_cast<std::int64_t>(golden.size()));
    for (std::int64_t i = 0; i < texts.size(); ++i) {
        const nlohmann::json& want = golden[static_cast<std::size_t>(i)];
        const TextSample sample = text_sample(texts, i);
        const auto used = static_cast<std::ptrdiff_t>(want["ids"].size());
        EXPECT_EQ(sample.tokens(), want["ids"].get<std::vector<std::int32_t>>());
        EXPECT_EQ(std::vector(sample.segments.begin(), sample.segments.begin() + used),
                  want["segments"].get<std::vector<std::int32_t>>());
        if (sample.weight) {
            EXPECT_FLOAT_EQ(sample.score(), labels ? want["label"].get<float>() : 0);
            EXPECT_EQ(*sample.weight, labels ? 1 : 0);
        } else {
            EXPECT_THAT(sample.labels, ElementsAre(labels ? want["label"].get<std::int32_t>() : kNoLabel));
        }
    }
}

TEST(Glue, EveryTaskIsReadAsTheReferenceDoes) {
    const nlohmann::json golden = nlohmann::json::parse(read_file(kFolder + "/golden.json"));
    ASSERT_EQ(golden.size(), glue_tasks().size());
    for (const GlueTask& task : glue_tasks()) {
        for (std::size_t phase = 0; phase < kPhases.size(); ++phase) {
            SCOPED_TRACE(task.name + " " + kPhases[phase]);
            if (task.files[phase].empty()) continue;
            const auto texts = open(task, GluePhase(phase));
            EXPECT_EQ(texts->classes(), task.labels);
            const nlohmann::json& phases = golden.at(task.name);
            // The reference has no features of some test files, and takes other columns of STS-B's for its texts.
            if (task.name == "stsb" && phase == 2) {
                EXPECT_THAT(text_sample(*texts, 0).tokens(), ElementsAre(2, 5, 15, 3, 5, 17, 3));
                EXPECT_EQ(text_sample(*texts, 0).weight, 0);
            } else if (phases.contains(kPhases[phase])) {
                expect_samples(*texts, phases[kPhases[phase]], phase != 2);
            } else {
                EXPECT_THAT(text_sample(*texts, 0).labels, ElementsAre(kNoLabel));
            }
        }
    }
}

TEST(Glue, ScoresAreAFieldWithWeights) {
    const auto texts = open(glue_task("stsb"), GluePhase::training);
    EXPECT_EQ(texts->fields()[3], (Field{"labels", {DType::f32, {}}}));
    EXPECT_EQ(texts->fields()[4], (Field{"label_weights", {DType::f32, {}}}));
}

TEST(Glue, TheFolderMayBeTheTasksOwn) {
    const GlueTask& task = glue_task("mnli-mm");
    EXPECT_EQ(glue_settings(task, GluePhase::evaluation, kFolder + "/MNLI", {}).file,
              kFolder + "/MNLI/dev_mismatched.tsv");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { glue_settings(task, GluePhase::training, "/nowhere", {}); }),
                AllOf(HasSubstr("mnli-mm"), HasSubstr("train.tsv"), HasSubstr("/nowhere/MNLI")));
}

TEST(Glue, AxIsForPredictionOnlyAndOtherNamesAreUnknown) {
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { open(glue_task("ax"), GluePhase::training); }),
                AllOf(HasSubstr("ax"), HasSubstr("mnli")));
    EXPECT_THAT(message_of(ErrorKind::usage, [] { glue_task("cloa"); }), HasSubstr("'cola'?"));
}

class GlueFiles : public ::testing::Test {
protected:
    std::shared_ptr<const LabelledText> open(const std::string& name, GluePhase phase, const std::string& text) {
        const GlueTask& task = glue_task(name);
        write_text(files_, "d/" + task.files[static_cast<std::size_t>(phase)], text);
        write_text(files_, "v.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nab\n");
        LabelledTextSettings settings;
        settings.vocabulary_file = "v.txt";
        settings.sequence_length = 8;
        return open_labelled_text(glue_settings(task, phase, "d", settings, files_), 1, task.labels, files_);
    }
    std::string refusal(const std::string& name, const std::string& text) {
        return message_of(ErrorKind::data, [&] { open(name, GluePhase::training, text); });
    }

    MemoryFiles files_;
};

TEST_F(GlueFiles, CarriageReturnsAndAByteOrderMarkAreDropped) {
    const auto texts = open("cola", GluePhase::training, "\xef\xbb\xbfs\t1\t\ta\rb a\r\ns\t0\t*\tb\r\n");
    EXPECT_THAT(text_sample(*texts, 0).tokens(), ElementsAre(2, 7, 5, 3));
    EXPECT_THAT(text_sample(*texts, 1).labels, ElementsAre(0));
}

TEST_F(GlueFiles, ShortRowsOfQqpAreSkippedAndEmptyTextsStay) {
    const std::string header = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n";
    const auto texts = open("qqp", GluePhase::training, header + "0\t1\t2\ta\n1\t1\t2\ta\t\t1\n2\t1\t2\t\tb\t0\n");
    ASSERT_EQ(texts->size(), 2);
    EXPECT_THAT(text_sample(*texts, 0).tokens(), ElementsAre(2, 5, 3)) << "no second text";
    EXPECT_THAT(text_sample(*texts, 1).tokens(), ElementsAre(2, 3, 6, 3));
    EXPECT_THAT(text_sample(*open("qqp", GluePhase::prediction, "id\tq\tq\n0\ta\tb\tx\n"), 0).tokens(),
                ElementsAre(2, 5, 3, 6, 3));
}

TEST_F(GlueFiles, BadRowsAreErrorsWithTheirLine) {
    EXPECT_THAT(refusal("rte", "index\ta\tb\tlabel\n0\ta\tb\n"),
                AllOf(HasSubstr("d/train.tsv:2"), HasSubstr("at least 4 cells, found 3"), HasSubstr("task")));
    EXPECT_THAT(refusal("rte", "index\ta\tb\tlabel\n0\ta\tb\tno\n"),
                AllOf(HasSubstr("d/train.tsv:2"), HasSubstr("'not_entailment'"), HasSubstr("found 'no'")));
    const std::string header = "index\tsentence1\tsentence2\tscore\n";
    for (const char* word : {"much", "", "nan", "inf", "1e99", "1,5"}) {
        EXPECT_THAT(refusal("stsb", header + "0\ta\tb\t1\n1\ta\tb\t" + word + "\n"), HasSubstr("d/train.tsv:3"))
            << word;
    }
    EXPECT_THAT(refusal("stsb", header + "0\ta\tb\tmuch\n"), HasSubstr("a number as the score, found 'much'"));
    EXPECT_THAT(refusal("stsb", "index\ta\tb\tscore\n0\ta\tb\t1\n"), HasSubstr("'sentence1'"));
    EXPECT_THAT(refusal("cola", ""), HasSubstr("empty"));
    EXPECT_THAT(refusal("sst2", "sentence\tlabel\n"), HasSubstr("no row"));
}

}  // namespace
}  // namespace cnntrain::data
