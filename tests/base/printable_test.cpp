#include "cnntrain/base/printable.h"

#include <gtest/gtest.h>

namespace cnntrain {
namespace {

TEST(Printable, ControlCharactersAndStrayBytesAreSpelled) {
    EXPECT_EQ(printable("a\n\x1b[2J\xc3\xa4.jpg"), "a\\x0a\\x1b[2J\xc3\xa4.jpg");
    EXPECT_EQ(printable("\xff.jpg"), "\\xff.jpg");
}

}  // namespace
}  // namespace cnntrain
