// Configurations of question answering and GLUE, and the recipe of a training that leaves it open.
#include "tasks/bert/fine_tuning.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "config/parsing.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "tasks/question_answering/options.h"
#include "tasks/text_classification/options.h"

namespace cnntrain::options::testing {
namespace {

using graph::UpdateRule;

const std::string kAnswering = "--task question-answering --phases --vocab-file v.txt ";
const std::string kClassifying = "--task text-classification --phases --vocab-file v.txt --data-dir DIR ";

struct FineTuningConfig {
    std::string name;
    std::size_t stages;
    std::size_t devices;
    std::int64_t accumulation;
    std::int64_t replicas;
    std::int64_t batch;
    double rate;
    double warmup;
    UpdateRule rule;
    double epochs;  // 0: `updates`
    std::int64_t updates;
    double loss_scaling;
    std::int64_t layers;
};

const FineTuningConfig kOfQuestions[] = {
    {"squad_base", 5, 4, 260, 4, 1040, 3e-5, 276, UpdateRule::adamw, 0, 2100, 1, 12},
    {"squad_large", 5, 4, 260, 4, 1040, 9e-5, 0.4, UpdateRule::adamw, 2, 0, 1024, 24},
    {"squad_large_V2", 5, 4, 50, 4, 200, 5e-5, 0.1, UpdateRule::adamw, 2, 0, 256, 24},
    {"groupbert/squad/squad_base", 5, 4, 40, 1, 40, 4e-4, 0.1, UpdateRule::lamb, 2, 0, 512, 12},
    {"groupbert/squad/squad_base_V2", 5, 4, 40, 1, 40, 1.5e-4, 0.1, UpdateRule::adamw, 3, 0, 512, 12},
    {"groupbert/squad/squad_large", 5, 4, 260, 1, 260, 9e-5, 0.1, UpdateRule::adamw, 2, 0, 1024, 24},
    {"groupbert/squad/squad_large_V2", 5, 4, 40, 1, 40, 1.5e-4, 0.1, UpdateRule::adamw, 3, 0, 512, 24},
    {"groupbert/squad/squad_large_V2_8IPU", 9, 8, 36, 1, 36, 1.5e-4, 0.1, UpdateRule::adamw, 2, 0, 512, 24},
};

const FineTuningConfig kOfTexts[] = {
    {"glue_base", 5, 4, 10, 4, 40, 1.5e-5, 0.1, UpdateRule::adamw, 3, 0, 1, 12},
    {"glue_large", 5, 4, 10, 4, 40, 1.5e-5, 0.1, UpdateRule::adamw, 3, 0, 1, 24},
    {"glue_large_regression", 5, 4, 10, 4, 40, 1.5e-5, 0.1, UpdateRule::adamw, 3, 0, 1, 24},
    {"groupbert/glue_base", 5, 4, 30, 1, 30, 1e-5, 0.1, UpdateRule::adamw, 3, 0, 1, 12},
    {"groupbert/glue_base_regression", 5, 4, 30, 1, 30, 1e-5, 0.1, UpdateRule::adamw, 3, 0, 1, 12},
    {"groupbert/glue_large_8IPU", 9, 8, 36, 1, 36, 1e-5, 0.25, UpdateRule::adamw, 3, 0, 512, 24},
    {"groupbert/glue_large_regression_8IPU", 9, 8, 36, 1, 36, 2e-5, 0.1, UpdateRule::adamw, 3, 0, 512, 24},
};

struct InferenceConfig {
    std::string name;
    std::int64_t micro_batch;
    std::int64_t length;
    std::size_t stages;
    std::size_t devices;
};

const InferenceConfig kOfRequests[] = {
    {"squad_base_inference_1ipu", 4, 384, 5, 1},
    {"squad_large_inference_1ipu", 1, 128, 5, 1},
    {"squad_large_inference_2ipu", 1, 128, 2, 2},
};

/// Lines may name DATASETS_DIR, which a configuration does, too.
ParseResult fine_tuning(const std::string& line, Command command = Command::train) {
    Environment environment = test_environment();
    environment.variables = {{"DATASETS_DIR", "/data"}};
    return tasks::parse_command_line(command, words(line), environment);
}

std::size_t devices_of(const Settings& settings) {
    const std::vector<std::int64_t>& mapping = settings.training.device_mapping;
    return std::set<std::int64_t>(mapping.begin(), mapping.end()).size();
}

bool has_part(const std::string& name, const std::string& part) {
    return name.find(part) != std::string::npos;
}

/// Expects what all of them have, and what the row says.
void expect_config(const FineTuningConfig& expected, const ParseResult& result) {
    EXPECT_NO_THROW(refuse_unavailable(result));
    const Settings& settings = result.settings;
    const tasks::FineTuningSettings& own = tasks::fine_tuning_settings(settings);
    const schedule::BatchPlan batch = schedule::batch_plan(settings.training);
    EXPECT_EQ(own.model.stages.size(), expected.stages);
    EXPECT_EQ(static_cast<std::size_t>(batch.stages), expected.stages);
    EXPECT_EQ(devices_of(settings), expected.devices);
    EXPECT_EQ(batch.micro_batch, 1);
    EXPECT_EQ(batch.accumulation, expected.accumulation);
    EXPECT_EQ(batch.replicas, expected.replicas);
    EXPECT_EQ(batch.global_batch(), expected.batch);
    EXPECT_DOUBLE_EQ(own.learning_rate.base, expected.rate);
    EXPECT_DOUBLE_EQ(own.learning_rate.warmup, expected.warmup);
    EXPECT_EQ(own.learning_rate.schedule, optim::StepSchedule::polynomial);
    EXPECT_EQ(settings.optimiser.rule, expected.rule);
    EXPECT_DOUBLE_EQ(settings.optimiser.weight_decay, 0.01);
    EXPECT_DOUBLE_EQ(settings.optimiser.loss_scaling, expected.loss_scaling);
    EXPECT_EQ(settings.training.iterations.value_or(0), expected.updates);
    EXPECT_DOUBLE_EQ(settings.training.epochs, expected.epochs);
    EXPECT_EQ(own.sequence_length, 384);
    EXPECT_EQ(own.model.layers, expected.layers);
    EXPECT_EQ(own.model.hidden, expected.layers == 12 ? 768 : 1024);
    EXPECT_EQ(own.model.hidden, 64 * own.model.heads);
    const bool group = expected.name.starts_with("groupbert/");
    EXPECT_EQ(own.model.groupbert, group);
    EXPECT_EQ(own.debiases, group) << "the configurations of BERT leave it at the original's default";
}

TEST(FineTuningConfigs, OfQuestionsHaveTheDocumentedNumbers) {
    for (const FineTuningConfig& expected : kOfQuestions) {
        SCOPED_TRACE(expected.name);
        const ParseResult result =
            fine_tuning(kAnswering + "--do-training --train-file t.json --config configs/" + expected.name + ".json");
        expect_config(expected, result);
        const tasks::AnsweringSettings& own = tasks::answering_settings(result.settings);
        EXPECT_EQ(own.questions.v2, has_part(expected.name, "V2"));
        EXPECT_EQ(own.questions.doc_stride, 128);
        EXPECT_EQ(own.questions.max_query_length, 64);
        EXPECT_EQ(own.answers.max_answer_length, 30);
        EXPECT_EQ(own.answers.n_best, 20);
        EXPECT_EQ(result.settings.optimiser.adds_micro_batches, expected.rule == UpdateRule::lamb);
    }
}

TEST(FineTuningConfigs, OfTextsHaveTheDocumentedNumbers) {
    for (const FineTuningConfig& expected : kOfTexts) {
        SCOPED_TRACE(expected.name);
        const bool scores = has_part(expected.name, "regression");
        const ParseResult result =
            fine_tuning(kClassifying + "--do-training --task-name " + (scores ? "stsb" : "mrpc") +
                        " --config configs/" + expected.name + ".json");
        expect_config(expected, result);
        const tasks::TextSettings& own = tasks::text_settings(result.settings);
        EXPECT_EQ(own.text.labels, scores ? nn::LabelKind::score : nn::LabelKind::single);
        EXPECT_DOUBLE_EQ(own.head_dropout, own.model.groupbert ? 0.15 : 0.1);
    }
}

TEST(FineTuningConfigs, OfRequestsHaveTheDocumentedNumbers) {
    for (const InferenceConfig& expected : kOfRequests) {
        SCOPED_TRACE(expected.name);
        const ParseResult result = fine_tuning(
            "--task question-answering --num-iter 1000 --generated-data --vocab-file v.txt --config configs/" +
                expected.name + ".json",
            Command::inference);
        EXPECT_NO_THROW(refuse_unavailable(result));
        const tasks::AnsweringSettings& own = tasks::answering_settings(result.settings);
        EXPECT_EQ(result.settings.training.micro_batch_size, expected.micro_batch);
        EXPECT_EQ(own.sequence_length, expected.length);
        EXPECT_EQ(own.model.stages.size(), expected.stages);
        EXPECT_EQ(devices_of(result.settings), expected.devices);
        EXPECT_EQ(own.answers.n_best, 20);
    }
}

/// Every file in the folder is one of these, or of pretraining.
TEST(FineTuningConfigs, AreAllHere) {
    std::set<std::string> expected;
    for (const FineTuningConfig& config : kOfQuestions)
        expected.insert(config.name);
    for (const FineTuningConfig& config : kOfTexts)
        expected.insert(config.name);
    for (const InferenceConfig& config : kOfRequests)
        expected.insert(config.name);
    EXPECT_EQ(expected.size(), 18U);
    const std::filesystem::path folder = CNNTRAIN_SOURCE_DIR "/configs/bert";
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        const std::filesystem::path name = entry.path().lexically_relative(folder).replace_extension();
        if (entry.is_regular_file() && !name.string().starts_with("pretrain_")) found.insert(name.string());
    }
    EXPECT_EQ(found, expected);
}

/// A training that is not an original program's gets the values that its line leaves open.
class FineTuningRecipe : public ::testing::Test {
protected:
    ParseResult train(const std::string& file, const std::string& more) const {
        return fine_tuning(
            "--vocab-file v.txt --vocab-size 512 --hidden-size 384 --num-hidden-layers 1 --num-attention-heads 12 "
            "--intermediate-size 64 --data-dir " +
            file + " " + more);
    }
    ParseResult texts(int count, const std::string& more = "") const {
        std::string table;
        for (int i = 0; i < count; ++i)
            table += i % 2 == 0 ? "good film\tlike\n" : "bad plot\tdislike\n";
        return train(folder_.write("texts.tsv", table), "--task text-classification " + more);
    }
    ParseResult questions(int count, const std::string& more = "") const {
        std::string text = "[";
        for (int i = 0; i < count; ++i)
            text += R"({"question": "Who?", "answers": []},)";
        return train(folder_.write("questions.json", text), "--task question-answering " + more);
    }

    const test::TemporaryFolder folder_;
};

const std::string kPretrained = "--init-checkpoint somewhere ";

void expect_recipe(const ParseResult& result, double rate, std::int64_t batch, double epochs) {
    EXPECT_DOUBLE_EQ(tasks::bert_settings(result.settings).learning_rate.base, rate);
    EXPECT_EQ(result.settings.training.micro_batch_size, batch);
    EXPECT_DOUBLE_EQ(result.settings.training.epochs, epochs);
    EXPECT_DOUBLE_EQ(tasks::bert_settings(result.settings).learning_rate.warmup, 0.1);
    for (const char* key : {"base_learning_rate", "micro_batch_size", "epochs", "warmup"})
        EXPECT_EQ(result.at(key).source, Source::model) << key;
}

TEST_F(FineTuningRecipe, FollowsFromTheNumberOfSamplesAndTheWeights) {
    expect_recipe(texts(100), 5e-4, 8, 50);
    expect_recipe(texts(100, kPretrained), 1e-4, 8, 20);
    expect_recipe(texts(799), 5e-4, 8, 31);
    expect_recipe(texts(2000), 5e-4, 16, 24);
    expect_recipe(texts(2000, kPretrained), 1e-4, 16, 8);
    expect_recipe(texts(4000), 5e-4, 32, 24);
    expect_recipe(texts(100'000), 5e-4, 32, 10);
    expect_recipe(texts(100'000, kPretrained), 1e-4, 32, 3);
    expect_recipe(questions(100), 5e-4, 8, 50);
    expect_recipe(questions(2000, kPretrained), 1e-4, 16, 8);
}

TEST_F(FineTuningRecipe, HasLowerRatesForWiderModels) {
    const auto rate = [&](const std::string& width) {
        return tasks::bert_settings(texts(100, kPretrained + "--hidden-size " + width).settings).learning_rate.base;
    };
    EXPECT_DOUBLE_EQ(rate("96"), 1e-4);
    EXPECT_DOUBLE_EQ(rate("768"), 5e-5);
    EXPECT_DOUBLE_EQ(rate("1536"), 2.5e-5);
}

TEST_F(FineTuningRecipe, CountsAccumulatedBatches) {
    expect_recipe(texts(2000, "--gradient-accumulation-count 2"), 5e-4, 16, 48);
}

TEST_F(FineTuningRecipe, LeavesTheLineItsValues) {
    const ParseResult given =
        texts(100, "--base-learning-rate 0.25 --micro-batch-size 3 --epochs 2 --warmup 7 --lr-schedule cosine_decay");
    EXPECT_DOUBLE_EQ(tasks::bert_settings(given.settings).learning_rate.base, 0.25);
    EXPECT_DOUBLE_EQ(tasks::bert_settings(given.settings).learning_rate.warmup, 7);
    EXPECT_EQ(given.settings.training.micro_batch_size, 3);
    EXPECT_DOUBLE_EQ(given.settings.training.epochs, 2);
    EXPECT_THAT(given.notices, Each(Not(HasSubstr("100 texts"))));
    const ParseResult counted = texts(100, "--iterations 5");
    EXPECT_EQ(counted.settings.training.iterations, 5);
    EXPECT_EQ(counted.settings.training.micro_batch_size, 8);
    EXPECT_NE(texts(100, "--lr-schedule custom --lr-schedule-by-step {\"0\":0.1}").at("warmup").source, Source::model)
        << "it has no warm-up";
}

TEST_F(FineTuningRecipe, IsToldWithItsReasons) {
    for (const auto& [line, count] : {std::pair{texts(100), "100 texts"}, {questions(100), "100 questions"}}) {
        EXPECT_THAT(
            line.notices,
            Contains(AllOf(HasSubstr(count), HasSubstr("random weights"), HasSubstr("--base-learning-rate 5e-04"),
                           HasSubstr("--micro-batch-size 8"), HasSubstr("--epochs 50"), HasSubstr("--warmup 0.1"))));
    }
    EXPECT_THAT(texts(100, kPretrained).notices, Contains(HasSubstr("pretrained weights")));
    EXPECT_THAT(texts(100, "--warmup 3").notices,
                Contains(AllOf(HasSubstr("--epochs 50"), Not(HasSubstr("--warmup")))));
}

TEST_F(FineTuningRecipe, IsNotForTheOriginalPrograms) {
    const ParseResult original = texts(100, "--phases --do-training --epochs 4");
    EXPECT_NE(original.at("base_learning_rate").source, Source::model);
    EXPECT_EQ(original.settings.training.micro_batch_size, 32);
    EXPECT_THAT(original.notices, Each(Not(HasSubstr("100 texts"))));
    EXPECT_FALSE(tasks::bert_settings(original.settings).debiases);
    EXPECT_TRUE(tasks::bert_settings(texts(100).settings).debiases);
    EXPECT_THAT(test::message_of(ErrorKind::usage, [&] { texts(100, "--phases --do-training"); }),
                AllOf(HasSubstr("--epochs"), HasSubstr("--num-train-steps")));
    EXPECT_NO_THROW(texts(100, "--phases --do-training --num-train-steps 4"));
}

}  // namespace
}  // namespace cnntrain::options::testing
