// Small BERT models against the numbers of another implementation: whole, with recomputation, in pipeline stages, on
// two ranks.
#include <gtest/gtest.h>

#include <thread>

#include "cnntrain/backend/backends.h"
#include "golden/bert.h"
#include "support/thread_communicators.h"

namespace cnntrain::golden {
namespace {

TEST(GoldenBert, TenStepsInDoublePrecision) {
    for (const Case& c : bert_cases())
        compare(*backend::make_ref_backend(), c, {}, kExact);
}

TEST(GoldenBert, TenStepsOnTheCpu) {
    for (const Case& c : bert_cases())
        compare(*backend::make_cpu_backend(), c, {}, kFloat);
}

TEST(GoldenBert, Recomputation) {
    for (const Case& c : bert_cases())
        compare(*backend::make_cpu_backend(), c, {.recomputes = true}, kFloat);
}

/// Rows of several sequences give the numbers of padded ones: whole, with recomputation, in stages.
TEST(GoldenBert, PackedRows) {
    How stages{.splits = {"hid0", "mlm0"}, .packed = true};
    stages.plan.devices = {0, 0, 0};
    for (const Case& c : bert_cases()) {
        if (c.static_mask) continue;
        compare(*backend::make_ref_backend(), c, {.packed = true}, kExact);
        compare(*backend::make_cpu_backend(), c, {.packed = true}, kFloat);
        compare(*backend::make_cpu_backend(), c, {.recomputes = true, .packed = true}, kFloat);
        compare(*backend::make_cpu_backend(), c, stages, kFloat);
    }
}

TEST(GoldenBert, PipelineStages) {
    How how{.splits = {"hid0", "mlm0"}};
    how.plan.devices = {0, 0, 0};
    for (const schedule::PipelineSchedule schedule :
         {schedule::PipelineSchedule::sequential, schedule::PipelineSchedule::interleaved}) {
        how.plan.schedule = schedule;
        how.recomputes = schedule == schedule::PipelineSchedule::interleaved;
        for (const Case& c : bert_cases())
            compare(*backend::make_cpu_backend(), c, how, kFloat);
    }
}

/// The reference program gives each replica's mean over its own masked words equal weight, as it does with
/// micro-batches: so two ranks of one micro-batch compute what one rank of two does.
TEST(GoldenBert, TwoRanks) {
    How stages{.recomputes = true, .splits = {"hid0", "mlm0"}};
    stages.plan.devices = {0, 0, 0};
    for (const How& how : {How{}, How{.shards = true}, stages, How{.packed = true}}) {
        for (const Case& c : bert_cases()) {
            if ((how.shards && needs_whole_gradients(c)) || (how.packed && c.static_mask)) continue;
            auto ranks = comm::make_thread_communicators(kMicroBatches, {.timeout_seconds = 60});
            std::vector<std::thread> threads;
            for (const auto& rank : ranks) {
                threads.emplace_back([&] {
                    compare(*backend::make_cpu_backend(), c, how, kFloat, *rank);
                    rank->finish();
                });
            }
            for (std::thread& thread : threads)
                thread.join();
        }
    }
}

}  // namespace
}  // namespace cnntrain::golden
