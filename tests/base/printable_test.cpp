#include "cnntrain/base/text.h"

#include <gtest/gtest.h>

namespace cnntrain {
namespace {

TEST(Printable, ControlCharactersAndStrayBytesAreSpelled) {
    EXPECT_EQ(printable("a\n\x1b[2J\xc3\xa4.jpg"), "a\\x0a\\x1b[2J\xc3\xa4.jpg");
    EXPECT_EQ(printable("\xff.jpg"), "\\xff.jpg");
    EXPECT_EQ(printable("\xc2\x9b"
                        "2J\xc3\x9b"),
              "\\xc2\\x9b"
              "2J\xc3\x9b")
        << "U+009B begins a sequence, too";
}

TEST(Printable, LinesAndTabsOfMessagesStay) {
    EXPECT_EQ(printable_lines("a\n\tb\x1b[0m\r"), "a\n\tb\\x1b[0m\\x0d");
}

}  // namespace
}  // namespace cnntrain
