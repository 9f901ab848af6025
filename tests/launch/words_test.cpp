// Command lines as words, and the programs that this one stands for.
#include "cnntrain/launch/poprun.h"

#include "launch/process.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::launch {
namespace {

TEST(SplitWords, FollowsTheShell) {
    EXPECT_THAT(split_words("a  b\tc"), ElementsAre("a", "b", "c"));
    EXPECT_THAT(split_words(R"(--x="a b" 'c "d' "e 'f")"), ElementsAre("--x=a b", R"(c "d)", "e 'f"));
    EXPECT_THAT(split_words(R"(a\ b \--c '' "\"q\"")"), ElementsAre("a b", "--c", "", R"("q")"));
    EXPECT_THAT(message_of(ErrorKind::data, [] { split_words("a 'b"); }), Not(IsEmpty()));
}

TEST(Quoted, IsReadBackAsItWas) {
    const std::vector<std::string> words = {"a", "", "b c", "it's", R"({"x": "y"})", "$HOME/x"};
    EXPECT_EQ(split_words(quoted(words)), words);
}

TEST(AllQuoted, QuotesEveryWord) {
    EXPECT_EQ(all_quoted({"mpirun", "-x", "A=it's"}), R"('mpirun' '-x' 'A=it'\''s')");
}

TEST(Scripts, BecomeThisProgram) {
    const auto own = [](const char* line) { return quoted(with_own_commands(split_words(line), "/opt/cnntrain")); };
    EXPECT_EQ(own("python3 train.py --epochs 1"), "/opt/cnntrain train.py --epochs 1");
    EXPECT_EQ(own("/usr/bin/python some/folder/validation.py"), "/opt/cnntrain some/folder/validation.py");
    EXPECT_EQ(own("./train.py --epochs 1"), "/opt/cnntrain ./train.py --epochs 1");
    EXPECT_EQ(own("python a/resnet_main.py --x"), "/opt/cnntrain a/resnet_main.py --x");
    EXPECT_EQ(own("cnntrain train --epochs 1"), "/opt/cnntrain train --epochs 1");
}

TEST(Scripts, MissingOnesAreRefusedBeforeTheyStart) {
    for (const char* line : {"python3 download_glue.py --tasks MRPC", "a/evaluate_squad.py", "python resnet.py"})
        message_of(ErrorKind::unsupported, [&] { with_own_commands(split_words(line), "/opt/cnntrain"); });
}

TEST(Scripts, OtherProgramsStayAsTheyAre) {
    for (const char* line :
         {"python3 other.py train.py", "python3", "echo train.py", "train", "restore", "python3 -m train.py"})
        EXPECT_EQ(quoted(with_own_commands(split_words(line), "/opt/cnntrain")), line);
    EXPECT_THAT(with_own_commands({}, "/opt/cnntrain"), ElementsAre());
}

}  // namespace
}  // namespace cnntrain::launch
