// Plans of BERT: what belongs to which function, what stages need, and what is proposed.
#include <gtest/gtest.h>

#include <regex>

#include "cnntrain/graph/graph.h"
#include "insight/plan/line.h"
#include "insight/plan/times.h"
#include "plan/planned.h"
#include "plan/planned_memory.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "support/words.h"

namespace cnntrain::run {
namespace {

using testing::proposal;

const std::string kTiny =
    "pretrain --vocab-size 50 --hidden-size 64 --num-attention-heads 1 --num-hidden-layers 2 --intermediate-size 128 "
    "--max-position-embeddings 16 --seq-length 16 --max-predictions-per-seq 3 --generated-data --micro-batch-size 2 "
    "--num-train-steps 4 --optimizer lamb --threads 2 ";
const std::string kFunctionEach =
    R"(--pipeline-stages [["emb"],["pos"],["hid"],["hid"],["mlm"],["nsp"]] --gradient-accumulation-count 12 )";
const std::string kThreeStages =
    R"(--pipeline-stages [["emb","pos"],["hid"],["hid","mlm","nsp"]] --gradient-accumulation-count 12 )";

/// The first word is the command.
options::ParseResult parsed(const std::string& line) {
    std::vector<std::string> words = test::words(line);
    const options::Command command = options::command_named(words.front());
    words.erase(words.begin());
    options::ParseResult result = tasks::parse_command_line(command, words, {});
    check_stages(tasks::row_of(result), result.settings);
    return result;
}

std::string planned(const std::string& line, const plan::PlanSettings& settings, FileSystem& files) {
    return testing::planned(parsed(line), settings, files);
}

std::string planned(const std::string& line, const plan::PlanSettings& settings = {.measure = false}) {
    MemoryFiles files;
    return planned(line, settings, files);
}

/// The proposed splits, without the quotes that a shell takes away.
std::string typed(const std::string& text) {
    return std::regex_replace(proposal(text), std::regex("'"), "");
}

/// A folder with texts of two classes.
class Texts {
public:
    Texts() {
        folder_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\nfilm\n");
        folder_.write("texts.tsv", "text\tlabel\ngood film\tlike\nbad film\tdislike\ngood\tlike\nbad\tdislike\n");
    }

    std::string line() const {
        return "train --task text-classification --data-dir " + folder_.path() + "/texts.tsv --vocab-file " +
               folder_.path() +
               "/vocab.txt --vocab-size 10 --max-position-embeddings 8 --hidden-size 64 --num-attention-heads 1 "
               "--num-hidden-layers 2 --intermediate-size 128 "
               "--seq-length 8 --micro-batch-size 2 --no-validation --epochs 1 --threads 2 ";
    }

private:
    test::TemporaryFolder folder_;
};

/// Expects that every node's function is its stage, for a line whose stages begin at each of its functions.
void expect_functions_are_the_stages(const std::string& line) {
    const options::ParseResult arguments = parsed(line);
    const TaskRow& row = tasks::row_of(arguments);
    const auto backend = make_backend(arguments.settings.run.backend);
    const auto task = row.make(arguments, *backend, 0);
    const graph::Graph graph = task->graph(run::GraphUse::training, task->batch_fields(data::Split::train, 2));
    const plan::FunctionNames names(row.functions(arguments.settings), row.scopes);
    const graph::Facts known(graph);
    std::int64_t checked = 0;
    for (const graph::Node& node : graph.nodes()) {
        if (node.phase == graph::Phase::update || known.follows_weights(node.outputs.front())) continue;
        const auto function = names.of(node.name);
        ASSERT_TRUE(function.has_value()) << node.name;
        if (node.phase == graph::Phase::backward) continue;  // sums of gradients may be anywhere
        EXPECT_EQ(static_cast<std::int32_t>(*function), node.stage.index) << node.name;
        ++checked;
    }
    EXPECT_GT(checked, 20);
    for (const graph::ValueId id : graph.variables()) {
        const graph::Value& value = graph.value(id);
        EXPECT_TRUE(names.of(value.role == graph::Role::slot ? graph.value(value.owner).name : value.name))
            << value.name;
    }
}

TEST(BertPlan, FunctionsAreFoundByTheScopesOfTheirNames) {
    expect_functions_are_the_stages(kTiny + kFunctionEach);
    expect_functions_are_the_stages(kTiny + kFunctionEach +
                                    "--no-use-cls-layer --use-qkv-split --hidden-dropout-prob 0.1");
    expect_functions_are_the_stages(kTiny + kFunctionEach + "--groupbert --no-static-mask --hidden-dropout-prob 0.1");
    const Texts texts;
    expect_functions_are_the_stages(
        texts.line() + "--pipeline --pipeline-splits pos0 hid0 hid1 glu0 --gradient-accumulation-count 10");
    const std::string data = CNNTRAIN_SOURCE_DIR "/tests/data/";
    expect_functions_are_the_stages(
        "train --task question-answering --data-dir " + data + "squad/squad-v1.1.json --vocab-file " + data +
        "bert/vocab.txt --vocab-size 512 --max-position-embeddings 32 --seq-length 32 --max-query-length 6 "
        "--hidden-size 64 --num-attention-heads 2 --num-hidden-layers 2 --intermediate-size 128 --micro-batch-size 2 "
        "--threads 2 --pipeline --pipeline-splits pos0 hid0 hid1 loc0 --gradient-accumulation-count 10");
}

TEST(BertPlan, ShowsTheStagesOfALine) {
    const std::string text = planned(kTiny + kThreeStages);
    EXPECT_THAT(text, AllOf(HasSubstr("BERT of 2 layers, 64 wide, "), HasSubstr("12 micro"), Not(HasSubstr("image")),
                            Not(HasSubstr("are not known"))));
    EXPECT_THAT(text, ContainsRegex("\n0 +emb0 +2 "));
    EXPECT_THAT(text, ContainsRegex("\n1 +hid0 +1 "));
    EXPECT_THAT(text, ContainsRegex("\n2 +hid1 +3 "));
    EXPECT_THAT(text, ContainsRegex("\nOne lane: .* sequences/s with 2 threads\n"));
}

TEST(BertPlan, WhatItProposesCanBeTyped) {
    const std::string plain = kTiny + "--gradient-accumulation-count 7 ";
    const std::string text = planned(plain, {.stages = 3, .measure = false});
    EXPECT_THAT(proposal(text), ContainsRegex("^--pipeline-schedule Interleaved --pipeline-stages '[^ ]+' "
                                              "--gradient-accumulation-count 12$"));
    EXPECT_EQ(proposal(planned(plain + typed(text))), "those of the line");
    const std::string mapped =
        planned(kTiny + kThreeStages + "--device-mapping 0 1 0", {.stages = 2, .measure = false});
    EXPECT_THAT(proposal(mapped), ContainsRegex("' --device-mapping 0 0$"));
    EXPECT_NO_THROW(parsed(kTiny + kThreeStages + typed(mapped)));
}

TEST(BertPlan, TextClassificationHasOne) {
    const Texts texts;
    const std::string better = proposal(planned(texts.line()));
    EXPECT_THAT(better, ContainsRegex("^--pipeline --pipeline-schedule Grouped --pipeline-splits [a-z0-9]+ "));
    EXPECT_EQ(proposal(planned(texts.line() + better)), "those of the line");
}

TEST(BertPlan, TimesAreMeasuredForEveryFunctionThatComputes) {
    const options::ParseResult line = parsed(kTiny + kThreeStages);
    const auto backend = make_backend(line.settings.run.backend);
    const plan::NetworkOfLine net = plan::network_of_line(tasks::row_of(line), line, *backend);
    const plan::FunctionTimes times =
        plan::measure(net.graph, net.names, *backend, {.threads = 1, .lanes = 2, .steps = 1});
    ASSERT_EQ(times.functions.size(), 6U);
    for (const schedule::StageTimes& function : times.functions) {
        EXPECT_GT(function.forward_ms, 0);
        EXPECT_GT(function.backward_ms, 0);
    }
    EXPECT_GT(times.update_ms, 0);
}

void expect_predicted(const std::string& line) {
    SCOPED_TRACE(line);
    testing::expect_memory_as_compiled(parsed(line));
}

TEST(BertPlan, MemoryIsThatOfTheCompiledStages) {
    for (const std::string schedule : {"Grouped", "Interleaved", "Sequential"}) {
        for (const std::string kept : {"--precision 32", "--precision 16", "--precision 16 --enable-recomputation"}) {
            for (const std::string lanes : {"1", "2"}) {
                expect_predicted(kTiny + kThreeStages + "--pipeline-schedule " + schedule + " --lanes " + lanes + " " +
                                 kept);
            }
        }
    }
    expect_predicted(kTiny + kThreeStages + "--groupbert --no-static-mask");
    const Texts texts;
    expect_predicted(texts.line() + "--pipeline --pipeline-splits hid1 --gradient-accumulation-count 4");
}

}  // namespace
}  // namespace cnntrain::run
