// Faults by number in memory that take long.
#include <gtest/gtest.h>

#include "train/memory_trial.h"

namespace cnntrain::run::testing {
namespace {

TEST(MemoryFaults, OfLargeBlocksLoseNothingOfAPretraining) {
    try_large_blocks(pretraining());
}

TEST(MemoryFaults, OfSmallBlocksLoseNothingOfAPretraining) {
    try_small_blocks(pretraining(), 1000);
}

TEST(MemoryFaults, OfLargeBlocksLoseNothingWithValidations) {
    try_large_blocks(image_network());
}

TEST(MemoryFaults, OfSmallBlocksLoseNothingWithValidations) {
    try_small_blocks(image_network(), 1000);
}

}  // namespace
}  // namespace cnntrain::run::testing
