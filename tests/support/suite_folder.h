// A folder that the tests of a suite share.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "support/temporary_folder.h"

namespace cnntrain::test {

/// Base of `Suite`, whose prepare() fills the folder before the first test. The folder goes after the last one.
template <typename Suite, typename Base = ::testing::Test> class SuiteFolder : public Base {
protected:
    // NOLINTBEGIN(readability-identifier-naming): GoogleTest's names
    static void SetUpTestSuite() {
        folder_ = std::make_unique<TemporaryFolder>();
        Suite::prepare();
    }
    static void TearDownTestSuite() { folder_.reset(); }
    // NOLINTEND(readability-identifier-naming)

    inline static std::unique_ptr<TemporaryFolder> folder_;
};

}  // namespace cnntrain::test
