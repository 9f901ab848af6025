// A training step allocates only the few sums that it returns. An executable of its own, because it counts every
// malloc.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/weights.h"
#include "support/allocation_count.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

/// oneDNN makes an execution context for every primitive that it runs; that is its own affair.
bool by_ourselves() {
    return !test::called_from("libdnnl");
}

/// Returns the number of our own allocations in `steps` steps, after some steps that may make more.
std::int64_t allocations_in_steps(const std::string& options, int steps) {
    const options::Settings settings =
        parse("--dataset cifar-10 --model-size 8 --micro-batch-size 4 --threads 1 --input-threads 1 --data-dir " +
              small_cifar() + " " + options)
            .settings;
    const auto backend = make_backend(settings.run.backend);
    const data::InputData data(data_settings(settings, *backend, 1), data::Split::train);
    const std::vector<data::Field> fields = data.fields(4);
    const graph::Graph graph = training_graph(settings, *backend, data::field_desc(fields, data::kImages));
    const auto executable = backend->compile(training_request(graph, settings, fields, 1));
    initialise(*executable, graph, 1);
    const auto stream = data.stream(training_loader_settings(settings, placement(settings, *backend), fields, 0));
    for (std::int64_t i = 0; i < 3; ++i)
        executable->train_step(*stream, {0.01, i});
    by_ourselves();  // loads what backtrace() needs
    test::count_allocations_if(by_ourselves);
    const std::int64_t before = test::allocations();
    for (std::int64_t i = 0; i < steps; ++i)
        executable->train_step(*stream, {0.01, 3 + i});
    const std::int64_t made = test::allocations() - before;
    test::count_allocations_if(nullptr);
    EXPECT_EQ(executable->first_non_finite(), std::nullopt);  // which is named, and a name needs memory
    return made;
}

TEST(Allocation, TheCounterCounts) {
    test::count_allocations_if(by_ourselves);
    const std::int64_t before = test::allocations();
    void* volatile block = ::operator new(8);  // volatile: not optimised away
    ::operator delete(block);
    const std::int64_t after = test::allocations();
    test::count_allocations_if([] { return false; });
    block = ::operator new(8);
    ::operator delete(block);
    EXPECT_EQ(after, before + 1);
    EXPECT_EQ(test::allocations(), after);
    test::count_allocations_if(nullptr);
}

const std::string kStages =
    "--gradient-accumulation-count 2 --pipeline --pipeline-splits stage2/unit1 --pipeline-schedule Interleaved";

class StepAllocation : public ::testing::TestWithParam<std::string> {};

TEST_P(StepAllocation, IsOnlyOfTheSumsItReturns) {
    // Two sums, loss and correct: a map node each, as they are found by name. The loader makes the order of the second
    // epoch.
    EXPECT_LE(allocations_in_steps(GetParam(), 20), 20 * 2 + 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, StepAllocation,
    ::testing::Values("--optimiser momentum --precision 16.32", "--optimiser momentum --precision 32.32",
                      "--optimiser RMSprop --rmsprop-decay 0.9 --precision 16.16", "--optimiser LARS --precision 16.16",
                      "--optimiser LAMB --abs-learning-rate 0.01 --precision 16.16",
                      "--optimiser momentum --enable-recomputation",
                      "--optimiser momentum --gradient-accumulation-count 2", "--optimiser momentum " + kStages,
                      "--optimiser momentum --threads 2 --lanes 2 " + kStages,
                      "--optimiser momentum --replicas 2 --threads 2 --lanes 2", kProxyNet + " --group-norm",
                      kProxyNet + " --batch-norm", "--mixup-alpha 0.4 --cutmix-lambda 0.6"));

}  // namespace
}  // namespace cnntrain::run::testing
