// The file that takes MPI's place where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "cnntrain/parallel/communicator.h"
#include "support/errors.h"

namespace cnntrain::comm {
namespace {

TEST(NoMpi, SaysWhatIsMissing) {
    EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { make_mpi_communicator({}); }),
                ::testing::HasSubstr("libopenmpi-dev"));
}

}  // namespace
}  // namespace cnntrain::comm
