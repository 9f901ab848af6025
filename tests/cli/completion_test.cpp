// Completion in real shells, manual pages before mandoc's linter.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

using ::testing::IsSupersetOf;

using Words = std::vector<std::string>;

Words lines_of(const std::string& text) {
    std::istringstream stream(text);
    Words lines;
    for (std::string line; std::getline(stream, line);) {
        while (line.ends_with(' ') || line.ends_with('\r'))
            line.pop_back();
        if (!line.empty()) lines.push_back(line);
    }
    std::ranges::sort(lines);
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
}

bool is_there(const std::string& program) {
    return shell("command -v " + program).exit_code == 0;
}

/// A shell, and a script with which it completes a line.
struct Completion {
    const char* name;
    const char* script;  // run by the shell: $1 is the completion, $2 the line
};

constexpr const char* kBash = R"sh(
source "$1"
read -ra COMP_WORDS <<< "$2"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p "${COMP_WORDS[0]}" | sed -n 's/.*-F \([^ ]*\) .*/\1/p')
"$function" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
)sh";

constexpr const char* kFish = R"sh(
source $argv[1]
complete -C "$argv[2]" | string replace -r '\t.*' ''
)sh";

// An interactive zsh on a pseudo-terminal completes the line; compadd prints the words that match.
constexpr const char* kZsh = R"sh(
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "PROMPT= PS2= RPROMPT=; stty -echo; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -D -u"
zpty -w inner "source ${(q)1}; LISTMAX=10000; bindkey '^I' complete-word"
zpty -w inner 'compadd() { if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then local -a hits; builtin compadd -O hits "$@"
    (($#hits)) && print -rl -- "<<"$^hits">>"; fi; builtin compadd "$@" }'
zpty -w inner "zle-line-init() { print LINE''EDITOR }; zle -N zle-line-init"
while zpty -r inner line; do [[ $line == *LINEEDITOR* ]] && break; done
zpty -w -n inner "$2"$'\t'
zpty -w inner $'\x15print DO\'\'NE'
while zpty -r inner line; do
    print -r -- "$line" | grep -o '<<[^>]*>>' | tr -d '<>'
    [[ $line == *DONE* ]] && break
done
zpty -d inner
)sh";

constexpr Completion kCompletions[] = {{"bash", kBash}, {"fish", kFish}, {"zsh", kZsh}};

class CompletionIn : public ::testing::TestWithParam<Completion> {
protected:
    void SetUp() override {
        const std::string name = GetParam().name;
        if (!is_there(name)) GTEST_SKIP() << "needs " << name;
        const Outcome script = run("help --completion " + name);
        ASSERT_EQ(script.exit_code, 0);
        folder_.write("completion", script.text);
        folder_.write("ask", GetParam().script);
        folder_.write("photos.csv", "");
    }

    Words after(const std::string& line) const {
        const std::string name = GetParam().name;
        const std::string own = name == "bash" ? " --norc" : name == "zsh" ? " -f" : " --no-config";
        return lines_of(shell("cd " + folder_.path() + " && HOME=" + folder_.path() + " TERM=dumb timeout 100 " + name +
                              own + " ask ./completion '" + line + "' 2> errors < /dev/null")
                            .text);
    }

    test::TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Shells, CompletionIn, ::testing::ValuesIn(kCompletions),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(CompletionIn, NamesCommandsAndKinds) {
    EXPECT_THAT(after("cnntrain tr"), ElementsAre("train"));
    EXPECT_THAT(after("cnntrain "), IsSupersetOf({"train", "validation", "dataset", "help"}));
    EXPECT_THAT(after("cnntrain dataset ci"), ElementsAre("cifar"));
    EXPECT_THAT(after("cnntrain help exit"), ElementsAre("exit-codes"));
}

TEST_P(CompletionIn, NamesOptionsOfTheCommand) {
    EXPECT_THAT(after("cnntrain train --mixup"), ElementsAre("--mixup-alpha"));
    EXPECT_THAT(after("cnntrain some/train.py --mixup"), ElementsAre("--mixup-alpha"));
    EXPECT_THAT(after("cnntrain average --mixup"), IsEmpty());
    EXPECT_THAT(after("cnntrain train --epochs 3 --model-s"), ElementsAre("--model-size"));
    EXPECT_THAT(after("cnntrain train --do-lower"), Contains("--do-lower-case"));  // of another task
    EXPECT_THAT(after("cnntrain dataset cifar --out"), ElementsAre("--output-dir"));
    EXPECT_THAT(after("poprun --num-i"), Contains("--num-instances"));
}

TEST_P(CompletionIn, KnowsValues) {
    EXPECT_THAT(after("cnntrain train --model "), UnorderedElementsAre("resnet", "resnext", "efficientnet"));
    EXPECT_THAT(after("cnntrain train --data-dir pho"), ElementsAre("photos.csv"));
    EXPECT_THAT(after("cnntrain train --epochs pho"), Not(Contains("photos.csv")));
}

TEST(Completion, IsNotWrittenForOtherShells) {
    expect_error("help --completion tcsh", ErrorKind::usage, {"'tcsh'"});
    expect_error("help --completion", ErrorKind::usage, {"shell"});
    expect_error("help --completion bash fish", ErrorKind::usage, {"'fish'"});
}

TEST(ManPages, PassTheLinter) {
    if (!is_there("mandoc")) GTEST_SKIP() << "needs mandoc";
    const test::TemporaryFolder folder;
    const Words pages = lines_of(run("help --man").text);
    EXPECT_THAT(pages,
                IsSupersetOf({"cnntrain.1", "cnntrain-train.1", "cnntrain-dataset-cifar.1", "cnntrain-topics.7"}));
    for (const std::string& page : pages) {
        const Outcome text = run("help --man " + page);
        ASSERT_EQ(text.exit_code, 0) << page;
        folder.write(page, text.text);
        const Outcome lint = shell("mandoc -T lint -W warning " + folder / page);
        EXPECT_EQ(lint.exit_code, 0) << lint.text;
    }
    const std::string train = shell("mandoc -T ascii " + folder / "cnntrain-train.1" + " | col -b").text;
    EXPECT_THAT(train, ::testing::HasSubstr("--model-size TEXT"));
    EXPECT_THAT(train, HasSubstr("--data-dir PHOTOS"));
}

TEST(ManPages, HaveTheDateOfTheSource) {
    EXPECT_THAT(shell("SOURCE_DATE_EPOCH=86400 " + std::string(CNNTRAIN_PROGRAM) + " help --man train").text,
                ::testing::StartsWith(".TH CNNTRAIN\\-TRAIN 1 \"1970-01-02\""));
    expect_error("help --man trian", ErrorKind::usage, {"'trian'"});
}

}  // namespace
}  // namespace cnntrain::cli
