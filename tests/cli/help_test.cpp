// `cnntrain help` prints topics and commands. Topics and README.md name only options, topics and exit codes that exist.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/help.h"
#include "cli/program.h"
#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "cnntrain/options/commands.h"
#include "support/matchers.h"

namespace cnntrain::cli {
namespace {

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
    known.merge(flags_in(run("help").text));
    for (const auto& command : options::commands())
        known.merge(flags_in(run(std::string(command.name) + " --help-all").text));
    for (const char* other : {"train --task text-classification", "dataset cifar", "dataset imagenet", "dataset bert",
                              "dataset suspects", "dataset verify", "resnet_main.py", "resnet_eval.py"})
        known.merge(flags_in(run(std::string(other) + " --help-all").text));
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
    known.merge(
        std::set<std::string>{"build", "target", "install", "test-dir", "output-on-failure"});  // of CMake and CTest
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
    expect_error("help exit-coed", ErrorKind::usage, {"'cnntrain help exit-codes'"});
    expect_error("help valdation", ErrorKind::usage, {"'cnntrain help validation'"});
    expect_error("help something-else", ErrorKind::usage, {"'something-else'"});
    expect_error("help limits now", ErrorKind::usage, {"'now'"});
}

TEST(HelpTopics, ACommandGivesItsOptions) {
    for (const char* command : {"train", "train.py", "pretrain", "average", "plan", "benchmark", "dataset",
                                "dataset cifar", "resnet_main.py", "poprun", "report"}) {
        const Outcome outcome = run("help " + std::string(command));
        EXPECT_EQ(outcome.exit_code, 0) << command;
        EXPECT_EQ(outcome.text, run(std::string(command) + " --help").text);
    }
    expect_error("help send_request.py", ErrorKind::unsupported, {"Serving"});
}

TEST(HelpTopics, AnOriginalProgramIsCalledByItsName) {
    for (const std::string script :
         {"run_squad.py", "run_squad_runtime.py", "run_classifier.py", "run_pretraining.py"}) {
        const Outcome outcome = run(script + " --help");
        EXPECT_EQ(outcome.exit_code, 0) << script;
        EXPECT_THAT(outcome.text, StartsWith("usage: " + script + " "));
    }
    EXPECT_THAT(run("run_squad.py --help-all").text, HasSubstr("\n  --doc-stride "));
    EXPECT_THAT(run("run_classifier.py --help-all").text, HasSubstr("\n  --task-name "));
}

TEST(HelpTopics, AnAbsentScriptIsAnsweredWithALine) {
    for (const std::string script : {"send_request.py", "create_wikipedia_dataset.sh"})
        expect_error(script, ErrorKind::unsupported, {script, "type", "cnntrain "});
}

TEST(HelpTopics, AreFoundBySeveralWordsAndByTheirBeginning) {
    for (const auto& [asked, topic] : {std::pair{"exit codes", "exit-codes"},
                                       {"run folder", "run-folders"},
                                       {"data", "data-folders"},
                                       {"ipu", "ipu"}})
        EXPECT_EQ(run("help " + std::string(asked)).text, help_topic(topic)->text) << asked;
}

TEST(HelpTopics, OtherWordsAreSearchedInTopicsAndOptions) {
    const std::tuple<const char*, const char*, const char*> searches[] = {
        {"pre", "precision ", "preparation "},
        {"learning-rate", "--abs-learning-rate", "train"},
        {"learning rate", "--abs-learning-rate", "train"},
        {"augment", "preparation ", "--feature-views"},
        {"fine-tuning", "checkpoints ", "train"},
        {"imgsz", "--image-size", "imgsz"},
    };
    for (const auto& [words, first, second] : searches) {
        const Outcome outcome = run("help " + std::string(words));
        EXPECT_EQ(outcome.exit_code, 0) << words;
        EXPECT_THAT(outcome.text, AllOf(HasSubstr(first), HasSubstr(second))) << words;
    }
}

TEST(ShortHelp, NamesWhatTrainingOnPhotosNeeds) {
    const std::string text = run("train --help").text;
    for (const char* flag : {"--image-size", "--init-path", "--head-first", "--freeze", "--early-stop",
                             "--class-weights", "--mixup-alpha", "--cutmix-lambda"})
        EXPECT_THAT(text, HasSubstr("  " + std::string(flag) + " ")) << flag;
    EXPECT_THAT(text, Not(HasSubstr("--generated-data ")));
}

/// A cut sentence leaves a parenthesis open, and values that are refused are not offered.
TEST(ShortHelp, HasWholePhrasesAndChoicesThatWork) {
    for (const CommandPage& page : command_pages()) {
        for (const options::HelpRow& row : page.page.rows) {
            EXPECT_EQ(std::ranges::count(row.summary, '('), std::ranges::count(row.summary, ')')) << row.summary;
            for (const std::string& choice : row.choices)
                EXPECT_TRUE(choice != "SQuAD" && choice != "GLUE") << page.command << row.flag;
        }
    }
}

TEST(ShortHelp, FitsAScreen) {
    std::vector<std::string> lines = {"", "dataset", "train --task text-classification"};
    for (const CommandPage& page : command_pages())
        lines.push_back(page.command);
    for (const std::string& line : lines) {
        const Outcome outcome = run(line + " --help");
        EXPECT_EQ(outcome.exit_code, 0) << line;
        std::istringstream text(outcome.text);
        std::size_t count = 0;
        for (std::string row; std::getline(text, row); ++count)
            EXPECT_LE(row.size(), 120U) << line << ": " << row;
        EXPECT_LE(count, 40U) << line;
    }
}

TEST(ShortHelp, LeavesOutWhatOnlySteersIpus) {
    const std::string all = run("train --help-all").text;
    const std::string ipu = run("train --help ipu").text;
    ASSERT_THAT(all, HasSubstr("\nIPU:\n"));
    const std::size_t group = all.find("\nIPU:\n");
    for (const char* flag : {"--available-memory-proportion", "--gcl-method", "--gradient-mean-reduce-re"}) {
        EXPECT_GT(all.find("\n  " + std::string(flag)), group) << flag;
        EXPECT_THAT(ipu, HasSubstr("\n  " + std::string(flag)));
        for (const char* other : {"", " device", " training", " logging"})
            EXPECT_THAT(run("train --help" + std::string(other)).text, Not(HasSubstr("  " + std::string(flag) + " ")));
    }
    EXPECT_THAT(ipu, Not(HasSubstr("\n  --epochs")));
}

TEST(HelpParts, AreGroupsAndOptions) {
    const std::string model = run("train --help model").text;
    EXPECT_THAT(model, StartsWith("usage: cnntrain train [options]\n\nModel:\n  --model-size"));
    EXPECT_EQ(run("help train model").text, model);
    EXPECT_EQ(run("train --help=Model --epochs x").text, model);
    EXPECT_THAT(run("train -h learning").text, HasSubstr("\nLearning-rate schedule:\n"));
    EXPECT_THAT(run("train --help mixup_alpha").text, HasSubstr("\n  --mixup-alpha X "));
    EXPECT_THAT(run("train --help validation").text, HasSubstr("\n  --no-validation "));
    EXPECT_EQ(run("train --help all").text, run("train --help-all").text);
    expect_error("train --help modle", ErrorKind::usage, {"'modle'", "training"});
    expect_error("average --help nothing", ErrorKind::usage, {"'nothing'"});
}

TEST(HelpPages, EveryAvailableCommandHasOne) {
    std::set<std::string> with_page;
    for (const CommandPage& page : command_pages()) {
        with_page.insert(page.command.substr(0, page.command.find(' ')));
        EXPECT_GT(page.page.rows.size(), 2U) << page.command;
        EXPECT_FALSE(page.summary.empty()) << page.command;
    }
    for (const auto& info : options::commands())
        EXPECT_TRUE(with_page.contains(std::string(info.name))) << info.name;
}

TEST(Version, HasALetter) {
    EXPECT_EQ(run("-V").text, run("--version").text);
    EXPECT_THAT(run("-V").text, StartsWith("cnntrain "));
}

}  // namespace
}  // namespace cnntrain::cli
