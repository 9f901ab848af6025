// Differences between tasks in rows that they share.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cnntrain/options/task_options.h"
#include "config/parsing.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "tasks/bert/fine_tuning.h"

namespace cnntrain::options::testing {
namespace {

/// A flag that several tasks have is one row, unless it means something else in one of them.
TEST(SharedRows, AFlagOfSeveralTasksIsDeclaredOnce) {
    // An exponent, or the rate itself; a layout of records, or of rows made from texts; options of run_squad.py that
    // run_classifier.py took and never read.
    const std::set<std::string> two_meanings = {
        "--base-learning-rate",     "--packed",      "--tfrecord-dir",      "--doc-stride",
        "--max-query-length",       "--n-best-size", "--max-answer-length", "--null-score-diff-threshold",
        "--version-2-with-negative"};
    std::set<std::string> of_bert;  // rows that tasks with a BERT model share
    for (const std::string_view flag : {tasks::bert_length_option().flag, tasks::bert_classifier_dropout_option().flag,
                                        std::string_view("--validation-file")})
        of_bert.emplace(flag);
    const OptionSet fine_tuning = tasks::fine_tuning_options({"", "", {}, 1, "", {}});
    for (const Option& option : fine_tuning.rows())
        of_bert.emplace(option.flag);
    std::map<std::string, int> owners;  // of rows that are no shared ones
    for (const run::TaskRow& row : tasks::task_table()) {
        for (const Option& option : row.options.options().rows()) {
            const bool is_shared = !test::error_of([&] { shared(option.shared_flag); });
            const bool bert = of_bert.contains(std::string(option.flag)) && row.options.name != "image-classification";
            if (!is_shared && !bert) ++owners[std::string(option.flag)];
        }
    }
    for (const auto& [flag, count] : owners) {
        if (!two_meanings.contains(flag)) {
            EXPECT_EQ(count, 1) << flag;
        }
    }
}

TEST(SharedRows, AreTakenByTheirFlags) {
    const std::vector<Option> rows = shared_rows("--seed --epochs");
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].flag, "--seed");
    EXPECT_EQ(rows[1].flag, "--epochs");
}

const OptionSet& few_options() {
    static const OptionSet options({{"Main", shared_rows("--help --restore-path --init-path --epochs --iterations "
                                                         "--micro-batch-size --replicas")}});
    return options;
}

TEST(SharedRows, ATaskHasThoseThatEveryRunReads) {
    for (const run::TaskRow& row : tasks::task_table())
        tasks::check_rows(row.options);
    const TaskOptions few = {
        .name = "few", .commands = {Command::train}, .options = few_options, .examples = nullptr, .settings = nullptr};
    EXPECT_THAT(test::message_of(ErrorKind::internal, [&] { tasks::check_rows(few); }),
                HasSubstr("--gradient-accumulation-count"));
}

TEST(SharedRows, TakeWhatTheyDoNotSayFromTheirMembers) {
    const Option row = shared("--comm-wire");
    EXPECT_EQ(row.type, Type::choice);
    EXPECT_EQ(row.fallback, Value(std::string("f32")));
    EXPECT_THAT(row.choices, ::testing::ElementsAre("f32", "bf16"));
    EXPECT_EQ(shared("--epochs").type, Type::number);
    EXPECT_TRUE(is_unset(shared("--epochs").fallback));
}

TEST(SharedRows, KeepTheirOriginWhenTheyAreChanged) {
    const Option row = shared("--lanes");
    const Option other = changed(row, [](Option& lanes) { lanes.flag = "--groups-of-cores"; });
    EXPECT_EQ(other.flag, "--groups-of-cores");
    EXPECT_EQ(other.shared_flag, "--lanes");
    EXPECT_EQ(other.bind.write, row.bind.write);
}

}  // namespace
}  // namespace cnntrain::options::testing
