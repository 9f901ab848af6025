// The golden BERT models on processes that mpirun has started, each with its share of the micro-batches.
#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "golden/bert.h"

namespace cnntrain::golden {
namespace {

TEST(GoldenBertProcesses, TenSteps) {
    const auto all = comm::make_mpi_communicator({.timeout_seconds = 60});
    ASSERT_EQ(all->size(), kMicroBatches);
    for (const bool shards : {false, true}) {
        for (const Case& c : bert_cases()) {
            if (shards && needs_whole_gradients(c)) continue;
            compare(*backend::make_cpu_backend(), c, {.shards = shards}, kFloat, *all);
        }
    }
    all->finish();
}

}  // namespace
}  // namespace cnntrain::golden
