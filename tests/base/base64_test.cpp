#include "cnntrain/base/text.h"

#include <gtest/gtest.h>

namespace cnntrain {
namespace {

// RFC 4648, section 10, and a byte above 127.
TEST(Base64, OfTheStandard) {
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foo"), "Zm9v");
    EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
    EXPECT_EQ(base64("\xff\xd8\xff"), "/9j/");
}

}  // namespace
}  // namespace cnntrain
