// The file that takes MPI's place where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "cnntrain/comm/communicator.h"

namespace cnntrain::comm {
namespace {

TEST(NoMpi, SaysWhatIsMissing) {
    try {
        make_mpi_communicator({});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unsupported);
        EXPECT_THAT(error.what(), ::testing::HasSubstr("libopenmpi-dev"));
    }
}

}  // namespace
}  // namespace cnntrain::comm
