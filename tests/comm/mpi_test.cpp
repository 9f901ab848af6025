// The checks of checks.h on real processes: mpirun starts this program once a rank, and every rank runs all tests in
// the same order. CNNTRAIN_RANKS_PER_NODE divides the host into nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/parallel/communicator.h"
#include "comm/checks.h"

namespace cnntrain::comm::testing {
namespace {

int ranks_per_node() {
    const char* text = std::getenv("CNNTRAIN_RANKS_PER_NODE");
    return text == nullptr ? 0 : std::stoi(text);
}

/// MPI is initialised once in a process.
std::unique_ptr<Communicator>& communicator() {
    static std::unique_ptr<Communicator> made =
        make_mpi_communicator({.timeout_seconds = 60, .ranks_per_node = ranks_per_node()});
    return made;
}

class Mpi : public ::testing::Test {
public:
    static void TearDownTestSuite() {
        communicator()->finish();
        communicator().reset();
    }
};

TEST_F(Mpi, RanksAreThoseOfTheEnvironment) {
    const World world = read_launched(process_variables()).world.value();
    EXPECT_EQ(communicator()->rank(), world.rank);
    EXPECT_EQ(communicator()->size(), world.size);
    if (ranks_per_node() == 0) {
        EXPECT_EQ(communicator()->local_rank(), world.local_rank);
        EXPECT_EQ(communicator()->local_size(), world.local_size);
    }
}

TEST_F(Mpi, SumsHaveTheBitsOfThePlainTree) {
    check_sums(*communicator(), ranks_per_node());
}

TEST_F(Mpi, ReduceScatterAndAllGatherMakeTheSameSum) {
    check_sharded(*communicator(), ranks_per_node());
}

TEST_F(Mpi, SixteenBitsOnTheWireStayWithinTheirBound) {
    check_bf16(*communicator(), ranks_per_node());
}

TEST_F(Mpi, BucketsUnderWayDoNotMix) {
    check_buckets_under_way(*communicator(), ranks_per_node());
}

TEST_F(Mpi, WordsStatusChecksumBroadcast) {
    check_words(*communicator());
    check_settings(*communicator());
}

TEST_F(Mpi, ExchangesAreBetweenPartners) {
    check_exchanges(*communicator());
}

TEST_F(Mpi, GroupsTellEachOther) {
    check_groups(*communicator(), ranks_per_node());
}

TEST_F(Mpi, NetworkTimesAreTheSameOnAllRanks) {
    check_network_times(*communicator(), ranks_per_node());
}

}  // namespace
}  // namespace cnntrain::comm::testing

int main(int argc, char** argv) {
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
