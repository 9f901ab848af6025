// `cnntrain help` prints topics and commands. Topics and README.md name only options, topics and exit codes that exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/help.h"
#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "cnntrain/config/commands.h"

namespace cnntrain::cli {
namespace {

using ::testing::HasSubstr;

/// Every "--word" of a text, with hyphens for underscores and without "no-".
std::set<std::string> flags_in(const std::string& text) {
    std::set<std::string> flags;
    for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 2)) {
        std::size_t end = at + 2;
        while (end < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-' || text[end] == '_'))
            ++end;
        std::string flag = text.substr(at + 2, end - at - 2);
        for (char& letter : flag)
            letter = letter == '_' ? '-' : letter;
        if (flag.starts_with("no-")) flag.erase(0, 3);
        if (!flag.empty() && flag.front() != '-') flags.insert(flag);
    }
    return flags;
}

/// Every option that the help of some command lists.
std::set<std::string> known_flags() {
    std::set<std::string> known = flags_in(run("--help").text);
    for (const auto& command : config::commands())
        known.merge(flags_in(run(std::string(command.name) + " --help").text));
    for (const char* other : {"train --task text-classification", "dataset cifar", "dataset imagenet", "dataset bert",
                              "dataset suspects", "dataset verify", "resnet_main.py", "resnet_eval.py"})
        known.merge(flags_in(run(std::string(other) + " --help").text));
    known.merge(std::set<std::string>{"bind-to", "map-by", "mca"});  // mpirun's
    return known;
}

std::string readme() {
    std::ifstream file(CNNTRAIN_README);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(HelpTopics, AreListedAndPrinted) {
    const std::string overview = run("help").text;
    for (const HelpTopic& topic : help_topics()) {
        EXPECT_THAT(overview, HasSubstr("\n  " + std::string(topic.name) + " "));
        EXPECT_THAT(overview, HasSubstr(std::string(topic.summary) + "\n"));
        const Outcome outcome = run("help " + std::string(topic.name));
        EXPECT_EQ(outcome.exit_code, 0);
        EXPECT_EQ(outcome.text, topic.text);
    }
}

TEST(HelpTopics, FitAHundredColumns) {
    for (const HelpTopic& topic : help_topics()) {
        ASSERT_FALSE(topic.text.empty());
        EXPECT_NE(topic.text.front(), '\n') << topic.name;
        EXPECT_EQ(topic.text.back(), '\n') << topic.name;
        std::istringstream lines(topic.text);
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(line.size(), 100U) << topic.name << ": " << line;
    }
}

TEST(HelpTopics, NameOnlyOptionsThatExist) {
    const std::set<std::string> known = known_flags();
    ASSERT_GT(known.size(), 200U);
    for (const HelpTopic& topic : help_topics()) {
        for (const std::string& flag : flags_in(topic.text))
            EXPECT_TRUE(known.contains(flag)) << topic.name << " speaks of --" << flag;
    }
}

TEST(Readme, NamesOnlyOptionsAndTopicsThatExist) {
    const std::string text = readme();
    std::set<std::string> known = known_flags();
    known.merge(std::set<std::string>{"build", "target", "test-dir", "output-on-failure"});  // of CMake and CTest
    for (const std::string& flag : flags_in(text))
        EXPECT_TRUE(known.contains(flag)) << "README.md speaks of --" << flag;
    const std::string call = "`cnntrain help ";
    std::size_t topics = 0;
    for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) {
        const std::size_t begin = at + call.size();
        const std::string topic = text.substr(begin, text.find('`', begin) - begin);
        ++topics;
        EXPECT_TRUE(topic == "TOPIC" || help_topic(topic) != nullptr) << topic;
    }
    EXPECT_GT(topics, 4U);
}

TEST(Readme, StaysOnePage) {
    std::istringstream lines(readme());
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count)
        EXPECT_TRUE(line.size() <= 120 || line.starts_with("tools/install_packages.sh")) << line;
    EXPECT_LE(count, 160U);
}

TEST(HelpTopics, ExitCodesAreThoseOfTheErrors) {
    const HelpTopic* topic = help_topic("exit-codes");
    ASSERT_NE(topic, nullptr);
    std::set<int> listed;
    std::istringstream lines(topic->text);
    for (std::string line; std::getline(lines, line) && !line.empty();)
        EXPECT_TRUE(listed.insert(std::stoi(line)).second) << "twice: " << line;
    std::set<int> expected = {0, 127, kInterruptedExitCode};
    for (const ErrorKind kind : {ErrorKind::not_found, ErrorKind::usage, ErrorKind::data, ErrorKind::unsupported,
                                 ErrorKind::storage, ErrorKind::diverged, ErrorKind::peers, ErrorKind::internal})
        expected.insert(exit_code(kind));
    EXPECT_EQ(listed, expected);
}

TEST(HelpTopics, UnknownOnesAreAnsweredWithTheNearest) {
    expect_error("help exit-code", ErrorKind::usage,
                 {"no help on 'exit-code'; did you mean 'cnntrain help exit-codes'? Topics: data-folders "});
    expect_error("help valdation", ErrorKind::usage, {"did you mean 'cnntrain help validation'?"});
    expect_error("help something-else", ErrorKind::usage, {"no help on 'something-else'. Topics: data-folders "});
    expect_error("help limits now", ErrorKind::usage, {"help takes one topic or command, not also 'now'"});
}

TEST(HelpTopics, ACommandGivesItsOptions) {
    for (const char* command : {"train", "train.py", "average", "plan", "benchmark", "dataset", "dataset cifar",
                                "resnet_main.py", "poprun", "report"}) {
        const Outcome outcome = run("help " + std::string(command));
        EXPECT_EQ(outcome.exit_code, 0) << command;
        EXPECT_EQ(outcome.text, run(std::string(command) + " --help").text);
    }
    expect_error("help profile", ErrorKind::unsupported, {"not available yet: cnntrain profile"});
    expect_error("help run_squad.py", ErrorKind::unsupported, {"SQuAD"});
}

}  // namespace
}  // namespace cnntrain::cli
