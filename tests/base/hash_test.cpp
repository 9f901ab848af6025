#include "cnntrain/base/hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace cnntrain {
namespace {

TEST(Hash, IsTheOneThatItsAuthorsPublish) {
    EXPECT_EQ(hash_text(""), 0xcbf29ce484222325U);
    EXPECT_EQ(hash_text("a"), 0xaf63dc4c8601ec8cU);
    EXPECT_EQ(hash_text("foobar"), 0x85944171f73967e8U);
    EXPECT_EQ(hash_text("bar", hash_text("foo")), hash_text("foobar"));
    EXPECT_EQ(hash_text("\xff"), (kHashOfNothing ^ 0xffU) * 0x100000001b3U);  // bytes, not signed characters
}

TEST(Hash, HexTextHasAllDigits) {
    EXPECT_EQ(hex_text(std::uint64_t{0xabc}), "0000000000000abc");
    EXPECT_EQ(hex_text(std::uint32_t{0xabc}), "00000abc");
    EXPECT_EQ(hex_text(~std::uint64_t{0}), "ffffffffffffffff");
}

TEST(Hash, DigestsTellTextsApartHoweverTheyAreCut) {
    const auto digest = [](const std::vector<std::string>& texts) {
        Digest result;
        for (const std::string& text : texts)
            result.add(text);
        return result.text();
    };
    EXPECT_EQ(digest({"ab", "c"}), digest({"ab", "c"}));
    EXPECT_NE(digest({"ab", "c"}), digest({"a", "bc"}));
    EXPECT_NE(digest({"ab"}), digest({"ab", ""}));
}

TEST(Hash, NumbersAreAddedLowestByteFirst) {
    Digest digest;
    digest.add(std::uint64_t{0x0807060504030201});
    EXPECT_EQ(digest.text(), hex_text(hash_text("\x01\x02\x03\x04\x05\x06\x07\x08")));
}

}  // namespace
}  // namespace cnntrain
