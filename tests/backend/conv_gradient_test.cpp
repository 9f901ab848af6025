// Weight gradients of convolutions on the CPU backend: computed in the memory in which they are summed over
// micro-batches and ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <thread>

#include "cnntrain/backend/backends.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/parallel/pipeline.h"
#include "support/thread_communicators.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

using backend::Executable;

constexpr std::int64_t kSamples = 2;
constexpr std::int64_t kSize = 4;
constexpr std::int64_t kChannels = 64;
constexpr std::int64_t kDenseKernelBytes = 9 * kChannels * kChannels * 4;

/// Convolutions of every kind whose weight gradients are computed differently: dense, of a stride, in narrow groups,
/// depthwise. The dense kernel is larger than all activations.
struct ConvNet : ToyGraph {
    ConvNet() {
        const ValueId images = input("images", {kSamples, kSize, kSize, kChannels});
        const ValueId dense = conv(images, kChannels, "dense");
        const ValueId grouped = conv(dense, kChannels, "grouped", {.groups = kChannels / 4});
        const ValueId depthwise = conv(grouped, kChannels, "depthwise", {.groups = kChannels});
        const ValueId projected = conv(depthwise, kChannels, "projection", {.width = 1, .stride = 2});
        const ValueId loss = cross_entropy(average_pool(projected));
        update_all(differentiate(loss),
                   {.rule = graph::UpdateRule::sgd, .gradient_scale = 1, .learning_rate_scale = 1});
    }
};

/// A source of different batches. Each stays as it is, because pipelines read theirs at the same time.
class Batches final : public data::BatchSource {
public:
    explicit Batches(std::int64_t first) : first_(first) {}

    std::vector<data::Field> fields() const override { return {{"images", kImages}, {"labels", kLabels}}; }

    data::Batch next() override {
        const std::int64_t number = first_ + std::ssize(taken_);
        const auto stream = static_cast<std::uint64_t>(100 + 2 * number);
        Taken& taken = taken_.emplace_back();
        taken.images = random_tensor(kImages, stream, -1, 1);
        taken.labels = random_tensor(kLabels, stream + 1, 0, kChannels - 1);
        taken.spans = {taken.images.bytes(), taken.labels.bytes()};
        data::Batch batch;
        batch.fields = taken.spans;
        batch.valid_count = kSamples;
        batch.first_sample = number * kSamples;
        return batch;
    }

private:
    struct Taken {
        HostTensor images, labels;
        std::vector<std::span<const std::byte>> spans;
    };
    inline static const TensorDesc kImages{DType::f32, {kSamples, kSize, kSize, kChannels}};
    inline static const TensorDesc kLabels{DType::i32, {kSamples}};

    std::int64_t first_;
    std::deque<Taken> taken_;
};

struct Update {
    std::int64_t micro_batches = 1;
    std::int64_t lanes = 1;  // each with a pipeline of one stage
};

std::unique_ptr<Executable> compile(const Graph& graph, const Update& update, bool thread_independent,
                                    comm::Communicator* communicator = nullptr) {
    backend::CompileRequest request;
    request.graph = &graph;
    request.plan.accumulation = update.micro_batches;
    request.fields = Batches(0).fields();
    request.cpu.lanes = update.lanes;
    request.cpu.threads = static_cast<int>(update.lanes);
    request.cpu.thread_independent = thread_independent;
    request.peers.communicator = communicator;
    auto executable = backend::make_cpu_backend()->compile(request);
    std::uint64_t index = 0;
    for (const std::string& name : executable->variable_names())
        executable->load(name, random_tensor(executable->store(name).desc(), index++, -0.1, 0.1));
    return executable;
}

using Gradients = std::map<std::string, HostTensor>;

/// Returns the gradient of each variable after an update with the batches from number `first` on.
Gradients gradients_of(Executable& executable, std::int64_t first) {
    Batches batches(first);
    executable.set_profiling(true);  // for adding_steps()
    executable.train_step(batches, {.learning_rate = 0, .iteration = 0});
    Gradients gradients;
    for (const std::string& name : executable.variable_names())
        gradients[name] = executable.gradient(name);
    return gradients;
}

/// Sums in the order of the batches, each by a program of one micro-batch on one rank.
Gradients summed(const Graph& graph, std::int64_t batches, bool thread_independent) {
    const auto executable = compile(graph, {}, thread_independent);
    Gradients sums = gradients_of(*executable, 0);
    for (std::int64_t batch = 1; batch < batches; ++batch) {
        for (const auto& [name, gradient] : gradients_of(*executable, batch)) {
            HostTensor& sum = sums.at(name);
            for (std::int64_t i = 0; i < sum.elements(); ++i)
                sum.set(i, static_cast<float>(sum.at(i)) + static_cast<float>(gradient.at(i)));
        }
    }
    return sums;
}

void expect_equal(const Gradients& gradients, const Gradients& expected) {
    ASSERT_EQ(gradients.size(), expected.size());
    for (const auto& [name, gradient] : gradients) {
        for (std::int64_t i = 0; i < gradient.elements(); ++i)
            ASSERT_EQ(gradient.at(i), expected.at(name).at(i)) << name << "[" << i << "]";
    }
}

/// Steps of the last update's micro-batches that added a gradient to a sum.
std::set<std::string> adding_steps(Executable& executable) {
    std::set<std::string> names;
    for (const backend::ProfileRow& row : executable.profile().rows) {
        if (row.op == "accumulate") names.insert(row.name);
    }
    return names;
}

class ConvGradient : public testing::TestWithParam<bool> {
protected:
    static bool thread_independent() { return GetParam(); }

    const ConvNet net;
};
INSTANTIATE_TEST_SUITE_P(Threads, ConvGradient, testing::Bool(), [](const auto& test) {
    return std::string(test.param ? "thread_independent" : "by_all_threads");
});

/// Runs on two ranks, each with a batch of its own.
struct RankResult {
    Gradients gradients;
    std::set<std::string> adding;
    backend::CompileReport report;
};
std::vector<RankResult> on_two_ranks(const Graph& graph, bool thread_independent) {
    std::vector<RankResult> results(2);
    auto communicators = comm::make_thread_communicators(2, {.timeout_seconds = 20});
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
        threads.emplace_back([&, rank] {
            comm::Communicator& communicator = *communicators[rank];
            try {
                const auto executable = compile(graph, {}, thread_independent, &communicator);
                results[rank] = {gradients_of(*executable, static_cast<std::int64_t>(rank)), adding_steps(*executable),
                                 executable->report()};
                communicator.finish();
            } catch (const std::exception& error) {
                ADD_FAILURE() << error.what();
                communicator.leave(error.what());
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return results;
}

TEST_P(ConvGradient, IsWrittenWhereRanksSumIt) {
    const Gradients expected = summed(net.graph, 2, thread_independent());
    for (const RankResult& rank : on_two_ranks(net.graph, thread_independent())) {
        expect_equal(rank.gradients, expected);
        EXPECT_THAT(rank.adding, testing::IsEmpty());
    }
}

/// The largest gradient has no memory besides its sum: parts of the batch, which are summed in order, need some.
TEST(ConvGradientMemory, IsThatOfItsSum) {
    const ConvNet net;
    for (const RankResult& rank : on_two_ranks(net.graph, false)) {
        EXPECT_LT(rank.report.arena_bytes, kDenseKernelBytes);
        const auto sums = std::ranges::count_if(rank.report.persistent, [](const auto& tensor) {
            return tensor.name.starts_with("dense/") && tensor.name.ends_with(":sum");
        });
        EXPECT_EQ(sums, 1);
    }
}

TEST_P(ConvGradient, OfSeveralMicroBatchesIsAddedInTheirOrder) {
    const auto executable = compile(net.graph, {.micro_batches = 3}, thread_independent());
    const Gradients expected = summed(net.graph, 3, thread_independent());
    expect_equal(gradients_of(*executable, 0), expected);
    expect_equal(gradients_of(*executable, 0), expected);  // what the first update left in the sums does not count
    EXPECT_THAT(adding_steps(*executable), testing::SizeIs(4));
}

TEST_P(ConvGradient, OfSeveralPipelinesIsAddedInTheOrderOfMicroBatches) {
    const auto executable = compile(net.graph, {.micro_batches = 4, .lanes = 2}, thread_independent());
    const Gradients expected = summed(net.graph, 4, thread_independent());
    for (int update = 0; update < 3; ++update)
        expect_equal(gradients_of(*executable, 0), expected);
}

/// Forward convolutions, their gradients and images want layouts of their own, so some changes are left.
TEST(ConvLayouts, LeftChangesAreNamedByTheirStep) {
    const ConvNet net;
    EXPECT_THAT(compile(net.graph, {}, false)->report().reorders,
                testing::Contains(testing::ContainsRegex("^(dense|grouped|depthwise|projection)[^ ]*: .+, .+")));
}

}  // namespace
}  // namespace cnntrain::test
