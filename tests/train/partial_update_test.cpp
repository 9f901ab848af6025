// A weight update that is stopped at a micro-batch and continued by another executable is the undisturbed update.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/weights.h"
#include "support/errors.h"
#include "support/thread_communicators.h"
#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr backend::StepScalars kFirst{0.01, 0};
constexpr backend::StepScalars kSecond{0.01, 1};

/// A source that is asked to stop while its batch number `end` is waited for.
class Stopping final : public data::BatchSource {
public:
    Stopping(data::BatchSource& source, std::int64_t end) : source_(source), left_(end) {}
    std::vector<data::Field> fields() const override { return source_.fields(); }
    data::Batch next() override {
        if (left_-- == 0) throw Interrupted();
        return source_.next();
    }

private:
    data::BatchSource& source_;
    std::int64_t left_;
};

void skip(data::BatchSource& source, std::int64_t batches) {
    for (std::int64_t i = 0; i < batches; ++i)
        source.next();
}

/// Results of a weight update.
struct Outcome {
    backend::StepResult result;
    std::map<std::string, HostTensor> variables;
    std::map<std::string, HostTensor> gradients;
};

Outcome outcome_of(CompiledNet& net, const backend::StepResult& result) {
    Outcome outcome{result, stored_variables(net.executable()), {}};
    for (const graph::ValueId id : net.graph().values_with_role(graph::Role::parameter)) {
        const std::string& name = net.graph().value(id).name;
        outcome.gradients.emplace(name, net.executable().gradient(name));
    }
    return outcome;
}

/// Returns the second of two updates, which is stopped before the micro-batches `stops`, one after another in ascending
/// order. A partial update then has as many micro-batches as `complete` says, which is the same number unless other
/// ranks stop this one. `offset`: batches that this rank leaves out, so that ranks have different ones.
Outcome second_update(const Line& line, std::int64_t offset, const std::vector<std::int64_t>& stops,
                      const std::vector<std::int64_t>& complete) {
    auto net = std::make_unique<CompiledNet>(line);
    const std::int64_t micro_batches = net->placement().micro_batches;
    skip(net->source(), offset);
    net->executable().train_step(net->source(), kFirst);
    backend::PartialUpdate partial;
    for (std::size_t i = 0; i < stops.size(); ++i) {
        const auto before = stored_variables(net->executable());
        const std::int64_t done = partial.micro_batches;
        Stopping source(net->source(), stops[i] == kNever ? kNever : stops[i] - done);
        const backend::StepResult stopped = net->executable().train_step(source, kSecond, &partial);
        EXPECT_TRUE(stopped.stopped && !stopped.counts);
        EXPECT_EQ(partial.micro_batches, complete[i]);
        EXPECT_EQ(partial.iteration, 1);
        EXPECT_EQ(distance(stored_variables(net->executable()), before), 0);
        const std::string form = net->executable().report().partial_form;
        net = std::make_unique<CompiledNet>(line);
        EXPECT_EQ(net->executable().report().partial_form, form);
        net->executable().load(before);
        skip(net->source(), offset + micro_batches + partial.micro_batches);
    }
    const backend::StepResult result = net->executable().train_step(net->source(), kSecond, &partial);
    EXPECT_TRUE(result.counts);
    EXPECT_TRUE(partial.empty() && partial.accumulators.empty());
    return outcome_of(*net, result);
}

void expect_same_bits(const std::map<std::string, HostTensor>& one, const std::map<std::string, HostTensor>& other) {
    ASSERT_EQ(one.size(), other.size());
    std::string different;
    for (const auto& [name, tensor] : one) {
        if (!std::ranges::equal(tensor.bytes(), other.at(name).bytes())) different += " " + name;
    }
    EXPECT_EQ(different, "");
}

void expect_same(const Outcome& one, const Outcome& other) {
    EXPECT_EQ(one.result.sums, other.result.sums);
    EXPECT_EQ(one.result.samples, other.result.samples);
    expect_same_bits(one.variables, other.variables);
    expect_same_bits(one.gradients, other.gradients);
}

// ---- One process ----

class PartialUpdate : public ::testing::TestWithParam<std::string> {};

constexpr std::int64_t kMicroBatches = 8;

TEST_P(PartialUpdate, ContinuedAfterAStopAtAnyMicroBatchHasTheBitsOfTheUndisturbedOne) {
    const Line line{GetParam() + " --gradient-accumulation-count " + std::to_string(kMicroBatches)};
    const Outcome whole = second_update(line, 0, {}, {});
    EXPECT_FALSE(whole.gradients.empty());
    for (std::int64_t stop = 0; stop < kMicroBatches; ++stop) {
        SCOPED_TRACE(::testing::Message() << "stopped before micro-batch " << stop);
        expect_same(second_update(line, 0, {stop}, {stop}), whole);
    }
    SCOPED_TRACE("stopped three times");
    expect_same(second_update(line, 0, {1, 4, 4}, {1, 4, 4}), whole);
}

const std::string kNet = "--dataset cifar-10 --model-size 8 --micro-batch-size 2 ";
const std::string kTwoStages = "--pipeline --pipeline-splits stage2/unit1 --shards 2 --pipeline-schedule ";

INSTANTIATE_TEST_SUITE_P(
    All, PartialUpdate,
    ::testing::Values(kNet + "--precision 32.32 --threads 1", kNet + "--precision 32.32 --threads 2 --lanes 2",
                      kNet + "--precision 16.16 --group-norm --optimiser LAMB --threads 2 --lanes 2",
                      kNet + "--precision 32.32 --threads 1 " + kTwoStages + "Grouped",
                      kNet + "--precision 32.32 --threads 2 --lanes 2 " + kTwoStages + "Grouped",
                      kNet + "--precision 32.32 --threads 2 --lanes 2 --enable-recomputation " + kTwoStages +
                          "Interleaved",
                      kNet + "--precision 32.32 --threads 2 --lanes 2 " + kTwoStages + "Sequential"));

TEST(PartialUpdateOf, MicroBatchesInOtherNumberHasAnotherForm) {
    CompiledNet four(Line{kNet + "--threads 1 --gradient-accumulation-count 4"});
    CompiledNet six(Line{kNet + "--threads 1 --gradient-accumulation-count 6"});
    EXPECT_NE(four.executable().report().partial_form, six.executable().report().partial_form);
}

TEST(PartialUpdateOf, AnotherIterationIsRefused) {
    CompiledNet net(Line{kNet + "--threads 1 --gradient-accumulation-count 4"});
    backend::PartialUpdate partial;
    Stopping source(net.source(), 2);
    net.executable().train_step(source, kFirst, &partial);
    ASSERT_EQ(partial.micro_batches, 2);
    EXPECT_THAT(
        test::message_of(ErrorKind::internal, [&] { net.executable().train_step(net.source(), kSecond, &partial); }),
        ::testing::HasSubstr("1 of 4"));
}

// ---- Several processes ----

using Body = std::function<Outcome(comm::Communicator& communicator)>;

std::vector<Outcome> on_ranks(int ranks, const Body& body) {
    std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
    auto communicators = comm::make_thread_communicators(ranks, {.timeout_seconds = 60});
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < communicators.size(); ++i) {
        threads.emplace_back([&, i] {
            const auto error = test::error_of([&] {
                outcomes[i] = body(*communicators[i]);
                communicators[i]->finish();
            });
            if (!error) return;
            ADD_FAILURE() << "rank " << i << ": " << error->what();
            communicators[i]->leave(error->what());
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return outcomes;
}

struct Ranks {
    std::string options;
    std::int64_t norm_span = 1;
    std::vector<std::int64_t> stops;     // of each rank
    std::vector<std::int64_t> complete;  // micro-batches of each
};

class PartialUpdateOfRanks : public ::testing::TestWithParam<Ranks> {};

TEST_P(PartialUpdateOfRanks, HasTheBitsOfTheUndisturbedOne) {
    const auto run = [&](bool stops) {
        return on_ranks(static_cast<int>(GetParam().stops.size()), [&](comm::Communicator& communicator) {
            const Line line{kNet + GetParam().options + " --gradient-accumulation-count 4",
                            {.communicator = &communicator},
                            GetParam().norm_span};
            const auto rank = static_cast<std::size_t>(communicator.rank());
            if (!stops) return second_update(line, communicator.rank(), {}, {});
            return second_update(line, communicator.rank(), {GetParam().stops[rank]}, {GetParam().complete[rank]});
        });
    };
    const std::vector<Outcome> whole = run(false);
    const std::vector<Outcome> parts = run(true);
    for (std::size_t rank = 0; rank < whole.size(); ++rank) {
        SCOPED_TRACE(::testing::Message() << "rank " << rank);
        expect_same(parts[rank], whole[rank]);
    }
}

const std::string kPlain = "--precision 32.32 --threads 1";

INSTANTIATE_TEST_SUITE_P(
    All, PartialUpdateOfRanks,
    ::testing::Values(Ranks{kPlain, 1, {2, 2}, {2, 2}}, Ranks{kPlain, 1, {1, 3}, {1, 3}},
                      // The second rank has summed everything when the first one stops.
                      Ranks{kPlain, 1, {3, kNever}, {3, 4}}, Ranks{kPlain, 1, {0, kNever, 2}, {0, 4, 2}},
                      Ranks{kPlain + " --max-cross-replica-buffer-size 1024", 1, {kNever, 1}, {4, 1}},
                      Ranks{kPlain + " --no-comm-overlap", 1, {3, kNever}, {3, 4}},
                      Ranks{"--precision 32.32 --threads 2 --lanes 2 " + kTwoStages + "Grouped", 1, {3, 1}, {3, 1}},
                      // Ranks that share statistics stop together.
                      Ranks{kPlain + " --batch-norm", 2, {3, kNever}, {3, 3}},
                      Ranks{kPlain + " --batch-norm", 2, {kNever, 1, 2, kNever}, {1, 1, 2, 2}}));

}  // namespace
}  // namespace cnntrain::run::testing
