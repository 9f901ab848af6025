// Numbers of processes and networks as they are typed.
#include "cli/process_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cnntrain/base/error.h"

namespace cnntrain::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProcessWords, AreNumbersListsAndDoublings) {
    EXPECT_THAT(parse_processes("8"), ElementsAre(8));
    EXPECT_THAT(parse_processes("1, 2,6"), ElementsAre(1, 2, 6));
    EXPECT_THAT(parse_processes("1,2,4...32"), ElementsAre(1, 2, 4, 8, 16, 32));
    EXPECT_THAT(parse_processes("3...24"), ElementsAre(3, 6, 12, 24));
    EXPECT_THAT(parse_processes("5...5"), ElementsAre(5));
    EXPECT_THAT(parse_processes("1...8,6...12,100"), ElementsAre(1, 2, 4, 6, 8, 12, 100));
    EXPECT_EQ(parse_processes("1,2,4...1024").size(), 11U);
}

template <typename Call> void expect_usage(const std::string& part, Call call) {
    try {
        call();
        ADD_FAILURE() << "no error that says: " << part;
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_THAT(error.what(), HasSubstr(part));
    }
}

TEST(ProcessWords, SayWhatIsWrongWithThem) {
    for (const std::string text :
         {"", "0", "-1", "many", "1,,2", "1,2,", "2...", "...8", "1..8", "1...2...4", "1e3", "1000001"})
        expect_usage("expects numbers from 1 to 1000000, such as 1,2,4...1024; got '", [&] { parse_processes(text); });
    expect_usage("4...1000 goes on doubling, which leads to 512 and 1024, not to 1000",
                 [] { parse_processes("4...1000"); });
    expect_usage("8...4: the first number must be the smaller one", [] { parse_processes("8...4"); });
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
}

TEST(LinkWords, SayWhatIsWrongWithThem) {
    const auto refused = [](const std::string& text, const std::string& part) {
        expect_usage(part, [&] { parse_link(text, "--network"); });
    };
    for (const std::string text : {"100Gbps", "100Gbps,1us,2us", ""})
        refused(text, "--network expects bandwidth and latency, such as 100Gbps,1.5us; got '" + text + "'");
    for (const std::string text :
         {"100,1us", "100GBps,1us", "fast,1us", "0Gbps,1us", "-1Gbps,1us", "infGbps,1us", "100gbps,1us", "1us,100Gbps"})
        refused(text, "expects first a bandwidth above 0 in bps, B/s or with k, M, G or T");
    for (const std::string text : {"1Gbps,1", "1Gbps,-1us", "1Gbps,1minute", "1Gbps,nanus", "1Gbps,"})
        refused(text, "expects second a latency in s, ms, us or ns");
    expect_usage("--adding-rate expects a bandwidth above 0", [] { parse_bandwidth("5", "--adding-rate"); });
}

}  // namespace
}  // namespace cnntrain::cli
