// Numbers of processes and networks as they are typed.
#include "cli/poprun.h"

#include <gtest/gtest.h>

#include <string>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::cli {
namespace {

TEST(ProcessWords, AreNumbersListsAndDoublings) {
    EXPECT_THAT(parse_processes("8"), ElementsAre(8));
    EXPECT_THAT(parse_processes("1, 2,6"), ElementsAre(1, 2, 6));
    EXPECT_THAT(parse_processes("1,2,4...32"), ElementsAre(1, 2, 4, 8, 16, 32));
    EXPECT_THAT(parse_processes("3...24"), ElementsAre(3, 6, 12, 24));
    EXPECT_THAT(parse_processes("5...5"), ElementsAre(5));
    EXPECT_THAT(parse_processes("1...8,6...12,100"), ElementsAre(1, 2, 4, 6, 8, 12, 100));
    EXPECT_EQ(parse_processes("1,2,4...1024").size(), 11U);
}

TEST(ProcessWords, SayWhatIsWrongWithThem) {
    for (const std::string text :
         {"", "0", "-1", "many", "1,,2", "1,2,", "2...", "...8", "1..8", "1...2...4", "1e3", "1000001"}) {
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { parse_processes(text); }),
                    HasSubstr("expects numbers from 1 to 1000000, such as 1,2,4...1024; got '"));
    }
    EXPECT_THAT(message_of(ErrorKind::usage, [] { parse_processes("4...1000"); }), HasSubstr("4...1000 doubles"));
    EXPECT_THAT(message_of(ErrorKind::usage, [] { parse_processes("8...4"); }), HasSubstr("8...4"));
}

TEST(LinkWords, HaveUnits) {
    const plan::Link link = parse_link("100Gbps,1.5us", "--network");
    EXPECT_DOUBLE_EQ(link.bytes_per_ms, 12.5e6);
    EXPECT_DOUBLE_EQ(link.latency_ms, 1.5e-3);
    for (const std::string same : {"12.5GB/s,1500ns", "100 Gbit/s, 1.5 \u00b5s", "0.1Tbps,0.0015ms",
                                   "12500MB/s,1.5e-6s", "1e5 Mbps,1.5us", "100000000kbit/s,1.5us", "1e11bps,1.5us"}) {
        SCOPED_TRACE(same);
        EXPECT_DOUBLE_EQ(parse_link(same, "--network").bytes_per_ms, link.bytes_per_ms);
        EXPECT_DOUBLE_EQ(parse_link(same, "--network").latency_ms, link.latency_ms);
    }
    EXPECT_EQ(parse_link("1Gbps,0us", "--network").latency_ms, 0);
    EXPECT_DOUBLE_EQ(parse_bandwidth(" 5GB/s", "--adding-rate"), 5e6);
    EXPECT_DOUBLE_EQ(parse_bandwidth("8bps", "--adding-rate"), 1e-3);
    EXPECT_DOUBLE_EQ(parse_bandwidth("1000000TB/s", "--adding-rate"), 1e15);
}

TEST(ShareWords, AreParsed) {
    EXPECT_DOUBLE_EQ(parse_share("5%", "--step-spread"), 0.05);
    EXPECT_DOUBLE_EQ(parse_share(" 7.5 %", "--step-spread"), 0.075);
    EXPECT_DOUBLE_EQ(parse_share("0.05", "--step-spread"), 0.05);
    EXPECT_EQ(parse_share("0", "--step-spread"), 0);
    for (const std::string text : {"", "-1%", "101%", "5", "5 percent", "nan", "inf%"}) {
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { parse_share(text, "--step-spread"); }), HasSubstr(text));
    }
}

TEST(LinkWords, SayWhatIsWrongWithThem) {
    const auto refused = [](const std::string& text, const std::string& part) {
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { parse_link(text, "--network"); }), HasSubstr(part));
    };
    for (const std::string text : {"100Gbps", "100Gbps,1us,2us", ""})
        refused(text, "--network expects bandwidth and latency, such as 100Gbps,1.5us; got '" + text + "'");
    for (const std::string text :
         {"100,1us", "100GBps,1us", "fast,1us", "0Gbps,1us", "-1Gbps,1us", "infGbps,1us", "100gbps,1us", "1us,100Gbps",
          "1e-320B/s,1us", "0.9B/s,1us", "1e7TB/s,1us", "1e308TB/s,1us"})
        refused(text, "1000000TB/s");
    for (const std::string text :
         {"1Gbps,1", "1Gbps,-1us", "1Gbps,1minute", "1Gbps,nanus", "1Gbps,", "1Gbps,3601s", "1Gbps,1e308s"})
        refused(text, "expects second a latency of at most an hour, in s, ms, us or ns");
    for (const std::string text : {"5", "1e-320B/s"}) {
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { parse_bandwidth(text, "--adding-rate"); }),
                    HasSubstr("--adding-rate"));
    }
}

}  // namespace
}  // namespace cnntrain::cli
