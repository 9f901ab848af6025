// The task that a line is for.
#include <gtest/gtest.h>

#include "cnntrain/base/io.h"
#include "config/parsing.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::options::testing {
namespace {

const std::string kPretraining = "--config pretrain_tiny_128_lamb --generated-data ";

std::string_view task_of(const std::string& line, Command command = Command::train) {
    return parse(line, command).task->name;
}

/// The folder "run" with an arguments.json that says so.
MemoryFiles run_of(const std::string& task) {
    MemoryFiles files;
    files.make_directories("run");
    write_text(files, "run/arguments.json", "{" + (task.empty() ? "" : "\"task\": \"" + task + "\"") + "}");
    return files;
}

TEST(TaskChoice, ImagesAreClassifiedUnlessTheLineSaysOtherwise) {
    EXPECT_EQ(task_of(kCifar), "image-classification");
    EXPECT_EQ(task_of(kCifar + "--task image-classification"), "image-classification");
    EXPECT_EQ(task_of(kPretraining, Command::pretrain), "pretraining");
}

TEST(TaskChoice, TrainAndATaskIsTheTasksOwnCommand) {
    for (const std::string flag : {"--task pretraining ", "--task=pretraining ", "--tas pretraining ",
                                   "--ta=pretraining ", "--hidden-act relu --ta pretraining "}) {
        const ParseResult result = parse(flag + kPretraining);
        EXPECT_EQ(result.task->name, "pretraining") << flag;
        EXPECT_EQ(result.command, Command::pretrain) << flag;
        EXPECT_TRUE(result.settings.main.trains) << flag;
    }
}

TEST(TaskChoice, TheFlagIsReadAsTheRestOfTheLine) {
    EXPECT_EQ(task_of("--task pretraining " + kCifar + "--task image-classification"), "image-classification")
        << "the last one counts";
    EXPECT_THAT(usage_error(kCifar + "--t pretraining"), Not(HasSubstr("task"))) << "begins other flags, too";
    EXPECT_THAT(usage_error(kCifar + "--task"), HasSubstr("--task"));
    EXPECT_THAT(usage_error("--task " + kCifar), HasSubstr("--task"));
    EXPECT_THAT(usage_error(kCifar + "--task="), HasSubstr("unknown"));
    EXPECT_THAT(usage_error(kCifar + "--logs-path --tas=pretrainin"), HasSubstr("'pretrainin'"));
}

TEST(TaskChoice, AWrongNameIsAnsweredWithTheNearest) {
    EXPECT_THAT(usage_error(kCifar + "--task pretrainin"), HasSubstr("'pretraining'"));
}

TEST(TaskChoice, ATaskThatDoesNotServeTheCommandIsRefused) {
    EXPECT_THAT(usage_error("--task pretraining " + kPretraining, Command::validation), HasSubstr("--task"));
}

TEST(TaskChoice, EvaluationTakesTheTaskOfTheRun) {
    const std::vector<std::string> line = words(kCifar + "--restore-path run/ckpt-5");
    const auto task = [&](const MemoryFiles& files) {
        return tasks::parse_command_line(Command::validation, line, test_environment(), files).task->name;
    };
    EXPECT_EQ(task(run_of("image-classification")), "image-classification");
    EXPECT_EQ(task(run_of("")), "image-classification") << "recorded by an old version";
    EXPECT_EQ(task(MemoryFiles()), "image-classification") << "no record";
}

TEST(TaskChoice, ARestoredRunIsOfItsTask) {
    const std::string recorded = arguments_json(parse(kPretraining, Command::pretrain), {});
    MemoryFiles files;
    files.make_directories("run");
    write_text(files, "run/arguments.json", recorded);
    const ParseResult result = tasks::restored_arguments(parse("--restore-path run", Command::restore), files);
    EXPECT_EQ(result.task->name, "pretraining");
    EXPECT_EQ(result.command, Command::pretrain);
    EXPECT_EQ(result.settings.main.restore_path, "run");
}

TEST(TaskChoice, AFolderWithoutARecordIsAnError) {
    const MemoryFiles files;
    EXPECT_THAT(message_of(ErrorKind::not_found,
                           [&] { tasks::restored_arguments(parse("--restore-path run", Command::restore), files); }),
                HasSubstr("--restore-path"));
}

}  // namespace
}  // namespace cnntrain::options::testing
