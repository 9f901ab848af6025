#include "cnntrain/base/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <sys/resource.h>
#include <vector>

#include "cnntrain/base/error.h"
#include "support/errors.h"

namespace cnntrain {
namespace {

using test::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Until it goes out of scope.
class DataLimit {
public:
    explicit DataLimit(rlim_t bytes) {
        getrlimit(RLIMIT_DATA, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        setrlimit(RLIMIT_DATA, &limit);
    }
    ~DataLimit() { setrlimit(RLIMIT_DATA, &before_); }
    DataLimit(const DataLimit&) = delete;
    DataLimit& operator=(const DataLimit&) = delete;

private:
    rlimit before_{};
};

TEST(Memory, WithoutALimitEverythingIsGranted) {
    if (memory_left_bytes()) GTEST_SKIP() << "this process has a limit";
    EXPECT_NO_THROW(require_memory(UINT64_MAX, "a test"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers map terabytes
TEST(Memory, WhatIsNeededAndWhatIsThereAreSaid) {
    constexpr std::uint64_t kGiga = 1'000'000'000;
    const DataLimit limit(kGiga);
    const std::uint64_t left = memory_left_bytes().value();
    EXPECT_GT(left, 0U);
    EXPECT_LT(left, kGiga);
    EXPECT_NO_THROW(require_memory(left / 2, "a test"));
    EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { require_memory(2 * kGiga, "a test"); }),
                AllOf(HasSubstr("a test needs about 2.0 GB more memory, has "), HasSubstr(" MB; ")));
}
#endif

TEST(Memory, AThreadHasAStack) {
    EXPECT_GE(thread_stack_bytes(), 16'384U);
}

TEST(Memory, LargePiecesGoBackToTheSystem) {
    give_large_memory_back();
    const std::size_t before = mallinfo2().hblkhd;  // bytes in mappings
    for (int i = 0; i < 3; ++i) {                   // glibc would keep what has been freed once
        const std::vector<char> large(std::size_t{3} << 20);
        EXPECT_GE(mallinfo2().hblkhd, before + large.size());
    }
    EXPECT_LE(mallinfo2().hblkhd, before);
}

}  // namespace
}  // namespace cnntrain
