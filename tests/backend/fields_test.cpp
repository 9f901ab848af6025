// Fields that nobody but a data set and a graph knows go through the Loader to every backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "cnntrain/data/loader.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

using data::Field;
using data::SampleState;
using data::SampleView;

constexpr std::int64_t kTokens = 6;
constexpr std::int64_t kWords = 5;
constexpr std::int64_t kSamples = 7;
constexpr std::int64_t kBatch = 4;

struct Sample {
    std::array<std::int32_t, kTokens> tokens{};
    float weight = 0;
    std::int32_t next = -1;  // the token to be guessed; -1 counts for nothing
    std::array<float, kWords> scores{};
};

Sample sample_of(std::int64_t index) {
    Sample sample;
    const auto number = static_cast<std::int32_t>(index);
    std::iota(sample.tokens.begin(), sample.tokens.end(), 10 * number);
    sample.weight = static_cast<float>(index) - 2.5F;
    sample.next = number % static_cast<std::int32_t>(kWords);
    for (std::size_t word = 0; word < sample.scores.size(); ++word)
        sample.scores[word] = std::sin(static_cast<float>(index) + 3 * static_cast<float>(word));
    return sample;
}

/// Tokens, a weight, the next token, and scores of a guess; every third sample cannot be decoded if `damaged`.
class Guesses final : public data::Dataset {
public:
    explicit Guesses(bool damaged) : damaged_(damaged) {}

    std::int64_t size() const override { return kSamples; }
    std::vector<Field> fields() const override {
        return {{"tokens", {DType::i32, {kTokens}}},
                {"weights", {DType::f32, {}}},
                {"next", {DType::i32, {}}},
                {"scores", {DType::f32, {kWords}}}};
    }
    SampleState read(std::int64_t index, data::SamplePosition, SampleView out, data::Workspace&) const override {
        const bool undecodable = damaged_ && index % 3 == 1;
        write(undecodable || index == data::kPaddingSample ? Sample{} : sample_of(index), out);
        if (index == data::kPaddingSample) return SampleState::padding;
        return undecodable ? SampleState::undecodable : SampleState::counted;
    }

private:
    static void write(const Sample& sample, SampleView out) {
        std::memcpy(out[0].data(), sample.tokens.data(), out[0].size());
        std::memcpy(out[1].data(), &sample.weight, out[1].size());
        std::memcpy(out[2].data(), &sample.next, out[2].size());
        std::memcpy(out[3].data(), sample.scores.data(), out[3].size());
    }

    bool damaged_;
};

data::Loader sweep_over(bool damaged) {
    return data::Loader(std::make_shared<Guesses>(damaged),
                        {.feed = data::Feed::sweeps, .micro_batch = kBatch, .threads = 2});
}

/// The loss of the guesses, and the positive weights. The inputs' order is not that of the fields.
Graph guessing_graph() {
    ToyGraph toy;
    const ValueId scores = toy.input("scores", {kBatch, kWords});
    const ValueId next = toy.input("next", {kBatch}, DType::i32);
    const ValueId weights = toy.input("weights", {kBatch});
    const auto loss = toy.graph.add(OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{}, {scores, next}, "loss");
    toy.graph.mark_output("loss", loss[0]);
    toy.graph.mark_output("weights", toy.activation(weights, "relu"));
    return std::move(toy.graph);
}

double loss_of(const Sample& sample) {
    double sum = 0;
    for (const float score : sample.scores)
        sum += std::exp(static_cast<double>(score));
    return std::log(sum) - static_cast<double>(sample.scores.at(static_cast<std::size_t>(sample.next)));
}

class Fields : public testing::TestWithParam<bool> {
protected:
    std::unique_ptr<backend::Backend> backend_ = GetParam() ? backend::make_cpu_backend() : backend::make_ref_backend();

    std::string refusal(const Graph& graph, const std::vector<Field>& fields) {
        return message_of(ErrorKind::unsupported, [&] { backend_->compile({&graph, fields, {}, {.threads = 1}}); });
    }
};
INSTANTIATE_TEST_SUITE_P(Backends, Fields, testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "cpu" : "ref"; });

TEST(LoaderFields, AreThoseOfTheDataSetWithTheBatchInFront) {
    data::Loader loader = sweep_over(false);
    const std::vector<Field> expected = {{"tokens", {DType::i32, {kBatch, kTokens}}},
                                         {"weights", {DType::f32, {kBatch}}},
                                         {"next", {DType::i32, {kBatch}}},
                                         {"scores", {DType::f32, {kBatch, kWords}}}};
    EXPECT_EQ(loader.fields(), expected);
    for (std::int64_t first = 0; first < kSamples; first += kBatch) {
        const data::Batch batch = loader.next();
        EXPECT_EQ(batch.first_sample, first);
        ASSERT_EQ(batch.fields.size(), 4U);
        for (std::int64_t i = 0; i < kBatch; ++i) {
            const Sample sample = first + i < kSamples ? sample_of(first + i) : Sample{};
            const auto at = static_cast<std::size_t>(i);
            EXPECT_TRUE(std::ranges::equal(batch.as<std::int32_t>(0).subspan(at * kTokens, kTokens), sample.tokens));
            EXPECT_EQ(batch.as<float>(1)[at], sample.weight);
            EXPECT_EQ(batch.as<std::int32_t>(2)[at], sample.next);
            EXPECT_TRUE(std::ranges::equal(batch.as<float>(3).subspan(at * kWords, kWords), sample.scores));
        }
    }
}

TEST_P(Fields, ReachTheInputsOfTheirNames) {
    for (const bool damaged : {false, true}) {
        data::Loader loader = sweep_over(damaged);
        const Graph graph = guessing_graph();
        const auto executable = backend_->compile({&graph, loader.fields(), {}, {.threads = 1}});
        const auto result = executable->evaluate(loader, loader.batches_per_sweep());
        double loss = 0;
        std::int64_t counted = 0;
        for (std::int64_t i = 0; i < kSamples; ++i) {
            if (damaged && i % 3 == 1) continue;
            loss += loss_of(sample_of(i));
            ++counted;
        }
        EXPECT_EQ(result.samples, counted);
        EXPECT_NEAR(result.sums.at("loss"), loss, 1e-5 * loss);
        const HostTensor weights = executable->output("weights");  // of the last batch: samples 4, 5, 6 and padding
        EXPECT_THAT(weights.as<float>(), testing::ElementsAre(damaged ? 0 : 1.5F, 2.5F, 3.5F, 0));
    }
}

TEST_P(Fields, InputsThatTheyDoNotFillAreRefusedInCompile) {
    Graph graph = guessing_graph();
    graph.mark_output("mask", graph.add_one(OpKind::activation, graph::ActivationAttrs{},
                                            {graph.add_input("mask", {DType::f32, {kBatch}})}, "a"));
    std::vector<Field> fields = sweep_over(false).fields();
    fields[1].desc.shape = {kBatch + 1};
    fields[3].desc.dtype = DType::bf16;
    const std::string text = refusal(graph, fields);
    EXPECT_THAT(text, HasSubstr("f32[4]"));
    EXPECT_THAT(text, HasSubstr("f32[4]"));
    EXPECT_THAT(text, HasSubstr("bf16[4, 5]"));
    EXPECT_THAT(text, Not(HasSubstr("next: ")));
    EXPECT_THAT(text, HasSubstr("i32[4, 6]"));
    EXPECT_THAT(refusal(graph, {}), HasSubstr("fields"));
}

TEST_P(Fields, ABatchOfAnotherSourceIsADefect) {
    const Graph graph = guessing_graph();
    const auto executable = backend_->compile({&graph, sweep_over(false).fields(), {}, {.threads = 1}});
    data::Loader narrow(std::make_shared<Guesses>(false), {.feed = data::Feed::sweeps, .micro_batch = kBatch - 1});
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { executable->evaluate(narrow, 1); }), Not(IsEmpty()));
}

}  // namespace
}  // namespace cnntrain::test
