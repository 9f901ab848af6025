#include "cnntrain/base/io.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain {
namespace {

using test::TemporaryFolder;

std::string refusal(const std::vector<Output>& outputs, const std::vector<NamedPath>& inputs = {}) {
    return test::refusal_of(ErrorKind::usage, [&] { check_outputs(posix_files(), outputs, inputs); });
}

bool is_chart(const FileSystem& files, const std::string& path) {
    return read_text(files, path).starts_with("chart");
}

TEST(Outputs, ANewNameIsAllowed) {
    const TemporaryFolder folder;
    EXPECT_EQ(refusal({{{"--to", folder / "a"}}, {{"--svg", folder / "later/b"}}}), "");
}

TEST(Outputs, AFileOfOthersNeedsTheOption) {
    const TemporaryFolder folder;
    const std::string path = folder.write("a", "text");
    EXPECT_THAT(refusal({{{"--to", path}, false, "--overwrite"}}),
                AllOf(HasSubstr("--to " + path), HasSubstr("--overwrite")));
    EXPECT_THAT(refusal({{{"--to", path}}}), HasSubstr("remove"));
    EXPECT_EQ(refusal({{{"--to", path}, true, "--overwrite"}}), "");
}

TEST(Outputs, AnOwnFileIsReplaced) {
    const TemporaryFolder folder;
    EXPECT_EQ(refusal({{{"--svg", folder.write("own", "chart")}, false, "", is_chart}}), "");
    EXPECT_NE(refusal({{{"--svg", folder.write("theirs", "text")}, false, "", is_chart}}), "");
}

TEST(Outputs, FoldersPipesAndDevicesAreNeverReplaced) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    std::filesystem::create_symlink("/dev/null", folder / "link");
    for (const std::string& path : {folder / "pipe", std::string("/dev/null"), folder / "link"})
        EXPECT_THAT(refusal({{{"--to", path}, true, "--overwrite"}}), HasSubstr("replaced")) << path;
    EXPECT_THAT(refusal({{{"--to", folder.path()}, true}}), HasSubstr("folder"));
    EXPECT_THAT(refusal({{{"--to", folder.path() + "/"}, true}}), HasSubstr("expected"));
    EXPECT_THAT(refusal({{{"--to", ""}, true}}), HasSubstr("expected"));
}

TEST(Outputs, ALinkThatLeadsNowhereStays) {
    const TemporaryFolder folder;
    std::filesystem::create_symlink("gone", folder / "link");
    EXPECT_THAT(refusal({{{"--to", folder / "link"}, true, "--overwrite"}}), HasSubstr("link"));
}

TEST(Outputs, AFileIsKnownByEveryByte) {
    const TemporaryFolder folder;
    const std::string text(3'000'000, 'x');
    const FileContent content = content_of(text);
    EXPECT_TRUE(holds(posix_files(), folder.write("a", text), content));
    EXPECT_FALSE(holds(posix_files(), folder.write("a", text + "x"), content));
    EXPECT_FALSE(holds(posix_files(), folder.write("a", text.substr(1) + "y"), content));
    EXPECT_FALSE(holds(posix_files(), folder / "none", content));
    EXPECT_FALSE(holds(posix_files(), folder.path(), content));
}

TEST(Outputs, AnInputIsNotReplacedByAnyName) {
    const TemporaryFolder folder;
    const std::string input = folder.write("in", "text");
    std::filesystem::create_symlink("in", folder / "link");
    std::filesystem::create_hard_link(input, folder / "hard");
    std::filesystem::create_directory(folder / "d");
    for (const std::string& path : {input, folder / "link", folder / "hard", folder / "d/../in", folder / "./in"}) {
        EXPECT_THAT(refusal({{{"--to", path}, true}}, {{"--from", input}}),
                    AllOf(HasSubstr("--to " + path), HasSubstr("also --from " + input)));
    }
}

TEST(Outputs, AreDifferentAlsoBeforeTheyExist) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "d");
    std::filesystem::create_directory_symlink("d", folder / "e");
    EXPECT_THAT(refusal({{{"first", folder / "d/x"}}, {{"second", folder / "d/../d/x"}}}), Not(IsEmpty()));
    EXPECT_THAT(refusal({{{"first", folder / "d/x"}}, {{"second", folder / "e/x"}}}), Not(IsEmpty()));
    EXPECT_EQ(refusal({{{"first", folder / "d/x"}}, {{"second", folder / "d/y"}}}), "");
}

}  // namespace
}  // namespace cnntrain
