// Faults by number in files and messages.
#include <gtest/gtest.h>

#include "train/disturbed.h"

namespace cnntrain::run::testing {
namespace {

TEST(Faults, OfFilesLoseNothing) {
    try_file_faults(image_network());
}

TEST(Faults, OfFilesLoseNothingOfAPretraining) {
    try_file_faults(pretraining());
}

TEST(Faults, OfFilesOfARankEndBothRanks) {
    try_file_faults_of_ranks(image_network());
}

TEST(Faults, OfMessagesEndBothRanks) {
    try_message_faults(image_network());
}

}  // namespace
}  // namespace cnntrain::run::testing
