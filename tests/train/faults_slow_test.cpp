// Faults by number that take long: on a disk, and of the networks that faults_test.cpp leaves out.
#include <gtest/gtest.h>

#include <functional>

#include "support/faulty_calls.h"
#include "train/disturbed.h"

namespace cnntrain::run::testing {
namespace {

TEST(Faults, OfADiskLoseNothing) {
    try_disk_faults(image_network());
}

TEST(Faults, OfADiskLoseNothingOfAPretraining) {
    try_disk_faults(pretraining());
}

TEST(Faults, OfCallsOfTheSystemLoseNothing) {
    try_call_faults(image_network(), [](test::Fault& fault, const std::function<void()>& run) {
        const test::FaultyCalls calls(fault);
        run();
    });
}

TEST(Faults, OfFilesOfARankEndAPretraining) {
    try_file_faults_of_ranks(pretraining());
}

TEST(Faults, OfCheckpointsOfARankEndBothRanks) {
    Subject subject = image_network();
    subject.own_files += " --ckpt-all-instances --overwrite";
    try_file_faults_of_ranks(subject);
}

TEST(Faults, OfMessagesEndAPretraining) {
    try_message_faults(pretraining());
}

}  // namespace
}  // namespace cnntrain::run::testing
