// Question answering and scores of texts against tools/golden/make_answers_golden.py: the loss of given logits; losses,
// first gradients and last weights of twenty updates, with the graph, the optimiser and the rates that a command line
// asks for.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cnntrain/backend/backends.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/tasks/tasks.h"
#include "golden/bert.h"
#include "golden/formula.h"
#include "golden/variables.h"
#include "support/tensor_source.h"
#include "support/words.h"

namespace cnntrain::golden {
namespace {

using graph::ValueId;
using nlohmann::json;

constexpr std::int64_t kWords = 61;
constexpr std::int64_t kLength = 32;
constexpr std::int64_t kBatch = 8;  // features of an update

const json& golden() {
    static const json document = [] {
        std::ifstream file(CNNTRAIN_SOURCE_DIR "/tests/golden/answers.json");
        return json::parse(file);
    }();
    return document;
}

// ---- the loss of given logits ----

/// The nodes of the training graph that follow the logits, which are an input here.
graph::Graph loss_of_logits(std::int64_t batch, std::int64_t length) {
    nn::BertAnswersRequest request{.model = {}, .numerics = {}, .batch = batch, .length = length};
    request.model.vocabulary = request.model.hidden = request.model.intermediate = 4;
    request.model.layers = request.model.heads = 1;
    const graph::Graph whole = nn::build_bert(request, ops::op_table(), nn::Mode::training);
    graph::Graph part(ops::op_table());
    std::map<ValueId, ValueId> copies;
    const std::string positions(nn::kAnswerPositions);
    copies[*whole.find(positions)] = part.add_input(positions, whole.desc(*whole.find(positions)));
    for (const graph::Node& node : whole.nodes()) {
        if (node.name == std::string(nn::kAnswersScope) + "/logits") {
            copies[node.outputs[0]] = part.add_input("logits", whole.desc(node.outputs[0]));
        } else if (std::ranges::all_of(node.inputs, [&](ValueId id) { return copies.contains(id); })) {
            std::vector<ValueId> inputs;
            for (const ValueId id : node.inputs)
                inputs.push_back(copies.at(id));
            const std::vector<ValueId> results = part.add(node.kind, node.attrs, inputs, node.name);
            for (std::size_t k = 0; k < results.size(); ++k)
                copies[node.outputs[k]] = results[k];
        }
    }
    for (const graph::Output& output : whole.outputs())
        part.mark_output(output.name, copies.at(output.value));
    return part;
}

double loss_on(const backend::Backend& backend, const json& rows) {
    const auto batch = static_cast<std::int64_t>(rows.at("start").size());
    const auto length = static_cast<std::int64_t>(rows.at("start_logits").at(0).size());
    HostTensor logits({DType::f32, {batch, 2, length}});
    HostTensor positions({DType::i32, {batch, 2}});
    for (std::int64_t row = 0; row < batch; ++row) {
        for (const std::int64_t end : {0, 1}) {
            const std::string which = end == 0 ? "start" : "end";
            const auto values = rows.at(which + "_logits").at(static_cast<std::size_t>(row)).get<std::vector<double>>();
            for (std::int64_t i = 0; i < length; ++i)
                logits.set((2 * row + end) * length + i, values.at(static_cast<std::size_t>(i)));
            positions.set(2 * row + end, rows.at(which).at(static_cast<std::size_t>(row)).get<double>());
        }
    }
    const graph::Graph graph = loss_of_logits(batch, length);
    test::TensorSource source({{"logits", logits}, {std::string(nn::kAnswerPositions), positions}});
    const auto executable = backend.compile({&graph, source.fields(), {}});
    return executable->evaluate(source, 1).sums.at(std::string(nn::kLoss)) / static_cast<double>(batch);
}

TEST(GoldenAnswers, TheLossOfLogitsAndOfPositionsBeyondTheTokens) {
    for (const char* rows : {"row_losses_0", "row_losses_1"}) {
        const double loss = golden().at(rows).at("loss");
        EXPECT_NEAR(loss_on(*backend::make_ref_backend(), golden().at(rows)), loss, 1e-12) << rows;
        EXPECT_NEAR(loss_on(*backend::make_cpu_backend(), golden().at(rows)), loss, 1e-6) << rows;
    }
    EXPECT_NEAR(golden().at("row_losses_0").at("loss").get<double>(), 0.6015428169450142, 1e-12)
        << "what the original program computes";
}

// ---- updates ----

/// Micro-batches of the formula that the generator has, too. Each has memory of its own, because several are on their
/// way in a pipeline.
class Features final : public data::BatchSource {
public:
    explicit Features(std::vector<data::Field> fields)
        : fields_(std::move(fields)), size_(fields_.front().desc.shape.at(0)) {}

    std::vector<data::Field> fields() const override { return fields_; }
    data::Batch next() override {
        const std::int64_t first = size_ * pulls_++;
        std::vector<HostTensor>& tensors = kept_.emplace_back();
        for (const data::Field& field : fields_) {
            tensors.emplace_back(field.desc);
            const std::int64_t columns = field.desc.elements() / size_;
            for (std::int64_t i = 0; i < size_ * columns; ++i)
                tensors.back().set(i, value(field.name, first + i / columns, i % columns));
        }
        std::vector<std::span<const std::byte>>& spans = spans_.emplace_back();
        for (const HostTensor& tensor : tensors)
            spans.push_back(tensor.bytes());
        data::Batch batch;
        batch.fields = spans;
        batch.valid_count = size_;
        batch.first_sample = first;
        return batch;
    }

private:
    static std::int64_t integer(const std::string& name, std::int64_t feature, std::int64_t low, std::int64_t high,
                                std::int64_t column = 0, std::int64_t columns = 1) {
        const Stream stream(name + "/" + std::to_string(feature / kBatch));
        return low + stream.bits(feature % kBatch * columns + column) % (high - low);
    }

    static std::int64_t position(std::int64_t feature, std::int64_t length, std::int64_t question, bool last) {
        if (integer("absent", feature, 0, 4) == 0) return 0;
        const std::int64_t first = question + integer("first", feature, 0, kLength) % (length - question);
        return last ? first + integer("last", feature, 0, kLength) % (length - first) : first;
    }

    static double value(const std::string& name, std::int64_t feature, std::int64_t column) {
        if (name == nn::kLabels) return static_cast<double>(integer("score", feature, -8, 9)) / 4;
        if (name == nn::kLabelWeights) return 1;
        return static_cast<double>(integer_value(name, feature, column));
    }

    static std::int64_t integer_value(const std::string& name, std::int64_t feature, std::int64_t column) {
        const std::int64_t length = integer("length", feature, 8, kLength + 1);
        const std::int64_t question = integer("question", feature, 2, 7);
        if (name == nn::kAnswerPositions) return position(feature, length, question, column == 1);
        if (name == nn::kInputPosition) return column;
        if (name == nn::kSegmentIds) return column >= question && column < length ? 1 : 0;
        if (name == nn::kInputMask) return column < length ? 1 : 0;
        EXPECT_EQ(name, nn::kInputIds);
        return column < length ? integer("ids", feature, 1, kWords, column, kLength) : 0;
    }

    std::vector<data::Field> fields_;
    std::int64_t size_;
    std::int64_t pulls_ = 0;
    std::deque<std::vector<HostTensor>> kept_;
    std::deque<std::vector<std::span<const std::byte>>> spans_;
};

const std::string kLine =
    "--generated-data --vocab-file " CNNTRAIN_SOURCE_DIR
    "/tests/data/bert/vocab.txt --vocab-size 61 --hidden-size 64 --num-attention-heads 2 --num-hidden-layers 2 "
    "--intermediate-size 96 --max-position-embeddings 40 --seq-length 32 --num-train-steps 20 --base-learning-rate "
    "0.002 --warmup 4 --use-qkv-split --use-qkv-bias --precision 32 --threads 1 ";

struct Twin {
    std::string line;
    std::string key;  // of its numbers
    /// They add one number to the scores of all tokens, on which a softmax over them does not depend.
    std::vector<std::string> idle;
};

const Twin kAnswers = {
    "--task question-answering ", "updates", {"cls/squad/output_bias", "bert/encoder/layer_1/output/LayerNorm/beta"}};
const Twin kScores = {
    "--task text-classification --labels score --glue-dropout-prob 0 --no-validation ", "score_updates", {}};

void compare_updates(const Twin& twin, const std::string& options, const BertTolerances& tolerances) {
    SCOPED_TRACE(twin.line + options);
    const options::ParseResult arguments =
        tasks::parse_command_line(options::Command::train, test::words(twin.line + kLine + options), {});
    const options::Settings& settings = arguments.settings;
    const auto backend = run::make_backend(settings.run.backend);
    const auto task = tasks::row_of(arguments).make(arguments, *backend, 1);
    const schedule::BatchPlan batches = run::batch_plan(settings);
    ASSERT_EQ(batches.global_batch(), kBatch);
    Features source(task->batch_fields(data::Split::train, batches.micro_batch));
    const graph::Graph graph = task->graph(run::GraphUse::training, source.fields());
    const auto executable = backend->compile(run::training_request(graph, settings, source.fields(), 1));
    run::initialise(*executable, graph, 1);
    for (const ValueId id : graph.values_with_role(graph::Role::parameter))
        executable->load(graph.value(id).name, start_of(graph.value(id)));
    const json& expected = golden().at(twin.key);
    const auto losses = expected.at("losses").get<std::vector<double>>();
    const schedule::RunPlan plan = task->plan(std::ssize(losses) * kBatch);
    const run::Rate rate = task->rate(plan);
    const double scaling = settings.optimiser.loss_scaling;
    for (std::int64_t step = 0; step < std::ssize(losses); ++step) {
        const double now = rate.at(plan.host_step(step).lr_iteration);
        EXPECT_NEAR(now, expected.at("rates").at(static_cast<std::size_t>(step)).get<double>(), 1e-15);
        const backend::StepResult result = executable->train_step(source, {now, step, scaling});
        const double loss = losses[static_cast<std::size_t>(step)];
        EXPECT_NEAR(result.sums.at(std::string(nn::kLoss)) / kBatch, loss, tolerances.loss * loss) << "step " << step;
        if (step > 0) continue;
        for (const auto& [name, facts] : expected.at("gradients").items()) {
            const double scale = static_cast<double>(batches.micro_batch) / kBatch / scaling;
            expect_facts(executable->gradient(name), facts, scale, tolerances.gradient, name);
        }
        for (const std::string& name : twin.idle) {
            const HostTensor gradient = executable->gradient(name);
            for (std::int64_t i = 0; i < gradient.elements(); ++i)
                EXPECT_NEAR(gradient.at(i) / scaling, 0, tolerances.gradient) << name;
        }
    }
    for (const auto& [name, facts] : expected.at("variables").items())
        expect_facts(executable->store(name), facts, 1, tolerances.variable, name);
    EXPECT_EQ(expected.at("variables").size(), graph.values_with_role(graph::Role::parameter).size());
}

TEST(GoldenAnswers, TwentyUpdatesInDoublePrecision) {
    for (const Twin& twin : {kAnswers, kScores})
        compare_updates(twin, "--backend ref --micro-batch-size 8", kExact);
}

TEST(GoldenAnswers, TwentyUpdatesOnTheCpu) {
    BertTolerances of_scores = kFloat;
    of_scores.loss *= 3;  // a squared error changes by factors from one update to the next
    for (const std::string options : {"--micro-batch-size 8",
                                      "--loss-scaling 256 --micro-batch-size 4 "
                                      "--gradient-accumulation-count 2"}) {
        compare_updates(kAnswers, "--backend cpu " + options, kFloat);
        compare_updates(kScores, "--backend cpu " + options, of_scores);
    }
}

TEST(GoldenAnswers, PipelineStages) {
    const std::string four = "--backend cpu --micro-batch-size 2 --gradient-accumulation-count 4 --pipeline ";
    compare_updates(kAnswers, four + "--pipeline-splits loc0 --pipeline-schedule Grouped", kFloat);
    compare_updates(kAnswers, four + "--pipeline-splits hid1 --pipeline-schedule Interleaved --enable-recomputation",
                    kFloat);
    compare_updates(kAnswers, four + "--pipeline-splits pos0 hid0 hid1 loc0 --pipeline-schedule Sequential", kFloat);
}

}  // namespace
}  // namespace cnntrain::golden
