// The part of the output of several instances that is shown.
#include "launch/process.h"
#include "support/matchers.h"

namespace cnntrain::launch {
namespace {

struct Shown {
    std::string out;
    std::string err;
    OutputFilter filter;

    explicit Shown(int instance)
        : filter(instance,
                 [this](Stream stream, std::string_view text) { (stream == Stream::out ? out : err) += text; }) {}
};

TEST(OutputFilter, ShowsOneInstanceAndMpirun) {
    Shown shown(1);
    shown.filter.add(Stream::out, "[1,0]<stdout>:a\n[1,1]<stdout>:b\n[1,1]<stdout>:c\nfrom mpirun\n[1,12]<stdout>:d\n");
    shown.filter.add(Stream::err, "-----\n[1,1]<stderr>:e\n[1,0]<stderr>:f\n");
    shown.filter.finish();
    EXPECT_EQ(shown.out, "[1,1]<stdout>:b\n[1,1]<stdout>:c\nfrom mpirun\n");
    EXPECT_EQ(shown.err, "-----\n[1,1]<stderr>:e\n");
}

TEST(OutputFilter, TagsMayStandInTheMiddleOfLines) {
    Shown shown(0);
    shown.filter.add(Stream::out, "[1,0]<stdout>:ab[1,1]<stdout>:other\n[1,0]<stdout>:cd [x] [1,2] y\n");
    shown.filter.add(Stream::out, "[1,1]<stdout>:no end");
    shown.filter.finish();
    EXPECT_EQ(shown.out, "[1,0]<stdout>:ab[1,0]<stdout>:cd [x] [1,2] y\n");
}

TEST(OutputFilter, ChunksMayEndAnywhere) {
    const std::string text =
        "[1,0]<stdout>:hidden [1\n[7,10]<stdout>:shown [3,\n[7,1]<stdout>:hidden\nown\n[7,10]<stdout>:x";
    for (std::size_t size = 1; size < text.size(); ++size) {
        Shown shown(10);
        for (std::size_t at = 0; at < text.size(); at += size)
            shown.filter.add(Stream::out, text.substr(at, size));
        shown.filter.finish();
        EXPECT_EQ(shown.out, "[7,10]<stdout>:shown [3,\nown\n[7,10]<stdout>:x") << size;
    }
}

TEST(OutputFilter, KeepsTheLastErrorsOfTheOneThatFailed) {
    Shown shown(0);
    for (int i = 0; i < 60; ++i)
        shown.filter.add(Stream::err, "[1,2]<stderr>:line " + std::to_string(i) + "\n[1,1]<stderr>:other\n");
    shown.filter.add(Stream::err, "  Process name: [[7119,1],2]\n  Exit code:    3\n");
    shown.filter.finish();
    const auto lines = shown.filter.last_lines_of_failed();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_TRUE(lines.at(2).starts_with("line 10\n")) << lines.at(2);
    EXPECT_TRUE(lines.at(2).ends_with("line 59\n"));
}

TEST(OutputFilter, KnowsWhomASignalHasEnded) {
    Shown shown(0);
    shown.filter.add(Stream::err, "[1,1]<stderr>:one\n[1,2]<stderr>:two, and [1,2]<stderr>:more");
    shown.filter.add(Stream::err,
                     "\nmpirun noticed that process rank 2 with PID 0 on node vm exited on signal 9 (Killed).\n");
    shown.filter.finish();
    EXPECT_THAT(shown.filter.last_lines_of_failed(), ElementsAre(Pair(2, "two, and more\n")));
}

TEST(OutputFilter, ReadsWhatOpenMpi5Prints) {
    Shown shown(0);
    shown.filter.add(Stream::out, "[1,1]<stdout>: hidden\n[1,0]<stdout>: shown\n");
    shown.filter.add(Stream::err, "[1,2]<stderr>: two\n[1,1]<stderr>: one\n");
    shown.filter.add(Stream::err, "   Process name: [prterun-a-host,b-4221@1,2]\n   Exit code:    9\n");
    shown.filter.finish();
    EXPECT_EQ(shown.out, "[1,0]<stdout>: shown\n");
    EXPECT_EQ(shown.err, "   Process name: [prterun-a-host,b-4221@1,2]\n   Exit code:    9\n");
    EXPECT_THAT(shown.filter.last_lines_of_failed(), ElementsAre(Pair(2, " two\n")));
}

TEST(OutputFilter, ShowsAllHiddenErrorsWhenNobodySaysWhoFailed) {
    Shown shown(0);
    shown.filter.add(Stream::err, "[1,1]<stderr>:one\n[1,2]<stderr>:two\n[1,0]<stderr>:shown\n");
    shown.filter.finish();
    EXPECT_THAT(shown.filter.last_lines_of_failed(), ElementsAre(Pair(1, "one\n"), Pair(2, "two\n")));
    EXPECT_THAT(Shown(0).filter.last_lines_of_failed(), IsEmpty());
}

}  // namespace
}  // namespace cnntrain::launch
