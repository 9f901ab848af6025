// Ranks that were started with different options: each finds out before anything else is exchanged.
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "cnntrain/base/error.h"
#include "cnntrain/tasks/tasks.h"
#include "support/matchers.h"
#include "support/thread_communicators.h"
#include "tasks/task_table.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

/// A line of each task that trains in two processes.
options::ParseResult line_of(std::string_view task) {
    static const std::map<std::string_view, std::string> lines = {
        {"image-classification", "--dataset cifar-10 --generated-data --model-size 8"},
        {"question-answering",
         "--task question-answering --data-dir a.json --vocab-file vocab.txt --vocab-size 50 --hidden-size 64 "
         "--num-hidden-layers 2 --num-attention-heads 1 --intermediate-size 64"},
        {"pretraining", "--task pretraining --config pretrain_tiny_128_lamb --generated-data"},
        {"text-classification",
         "--task text-classification --data-dir a.tsv --vocab-file vocab.txt --vocab-size 50 --hidden-size 64 "
         "--num-hidden-layers 2 --num-attention-heads 1 --intermediate-size 64"},
    };
    std::istringstream stream(lines.at(task));
    const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
    options::Environment environment{{}, {CNNTRAIN_SOURCE_DIR "/configs"}};
    environment.launch.processes = 2;
    return tasks::parse_command_line(options::Command::train, words, environment);
}

options::Value other_than(const options::Value& value, options::Type type) {
    using options::Type;
    switch (type) {
        case Type::boolean:
        case Type::boolean_value:
            return value != options::Value(true);
        case Type::integer:
            return value == options::Value(std::int64_t{3}) ? std::int64_t{4} : std::int64_t{3};
        case Type::number:
            return value == options::Value(0.5) ? 0.25 : 0.5;
        case Type::integers:
            return std::vector<std::int64_t>{3, 4};
        case Type::numbers:
            return std::vector<double>{0.5};
        case Type::texts:
            return std::vector<std::string>{"other"};
        default:
            return std::string("other");
    }
}

struct Ending {
    std::optional<ErrorKind> error = {};
    std::string message = {};
    bool of_all = false;
};

/// Returns how the two ranks of a run end if the second one has other arguments. Rank 0 writes into `files`.
std::vector<Ending> endings_of(MemoryFiles& files, const options::ParseResult& first,
                               const options::ParseResult& second) {
    auto communicators = comm::make_thread_communicators(2, {.timeout_seconds = 60});
    std::vector<Ending> endings(2);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 2; ++rank) {
        threads.emplace_back([&, rank] {
            std::ostringstream console;
            Host host;
            host.files = &files;
            host.console = &console;
            host.communicator = std::move(communicators[rank]);
            try {
                tasks::run(rank == 0 ? first : second, host);
            } catch (const Error& error) {
                endings[rank] = {error.kind(), error.what(), dynamic_cast<const ErrorOfAll*>(&error) != nullptr};
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return endings;
}

class AgreementOf : public ::testing::TestWithParam<std::string_view> {};

INSTANTIATE_TEST_SUITE_P(All, AgreementOf, ::testing::ValuesIn(tasks::task_names()), [](const auto& task) {
    std::string name(task.param);
    std::erase(name, '-');
    return name;
});

TEST_P(AgreementOf, EveryOptionThatDiffersIsNamedBeforeAnythingBegins) {
    const options::ParseResult line = line_of(GetParam());
    std::size_t tried = 0;
    for (std::size_t i = 0; i < line.options.size(); ++i) {
        options::ParseResult other = line;
        options::Value& value = other.options[i].value;
        value = other_than(value, other.options[i].option->type);
        MemoryFiles files;
        const std::string flag(line.options[i].option->flag);
        for (const Ending& ending : endings_of(files, line, other)) {
            ASSERT_EQ(ending.error, ErrorKind::peers) << flag;
            EXPECT_TRUE(ending.of_all) << flag;
            EXPECT_THAT(ending.message, HasSubstr(flag));
        }
        EXPECT_EQ(files.used_bytes(), 0U) << flag;
        ++tried;
    }
    EXPECT_GT(tried, 90U);
}

TEST(Agreement, BothValuesAndTheirRanksAreSaid) {
    std::vector<Process> processes(3);
    processes[1].options = "--comm-route flat";
    train_together(processes, "--no-validation");
    for (const Process& process : processes) {
        EXPECT_EQ(process.error, ErrorKind::peers);
        EXPECT_THAT(process.message, HasSubstr("--comm-route"));
    }
    EXPECT_EQ(processes[0].files.used_bytes(), 0U);
}

TEST(Agreement, OfManyOptionsTheFirstAreNamed) {
    std::vector<Process> processes(2);
    processes[1].options =
        "--threads 2 --input-threads 2 --optimiser momentum --no-tensorboard --log-freq 7 --weight-decay 0.5 --seed 3 "
        "--name-suffix x";
    train_together(processes);
    EXPECT_THAT(processes[0].message, AllOf(HasSubstr("--threads"), HasSubstr(" and ")));
}

TEST(Agreement, OtherCommandsAndTasksAreNamedFirst) {
    MemoryFiles files;
    const options::ParseResult images = line_of("image-classification");
    const std::vector<Ending> tasks = endings_of(files, images, line_of("pretraining"));
    EXPECT_THAT(tasks[0].message, HasSubstr("these differ: command (train on rank 0, pretrain on rank 1), task (image-"
                                            "classification on rank 0, pretraining on rank 1), "));
    const options::ParseResult evaluation =
        parse("--dataset cifar-10 --generated-data --model-size 8", options::Command::validation);
    EXPECT_THAT(endings_of(files, images, evaluation)[1].message,
                HasSubstr("command (train on rank 0, validation on rank 1)"));
}

TEST(Agreement, ValidationsThatShareSamplesAgreeToo) {
    MemoryFiles files;
    const std::string line = "--dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 8 ";
    const std::vector<Ending> endings = endings_of(files, parse(line, options::Command::validation),
                                                   parse(line + "--repeat 2", options::Command::validation));
    for (const Ending& ending : endings) {
        EXPECT_EQ(ending.error, ErrorKind::peers);
        EXPECT_THAT(ending.message, HasSubstr("--repeat"));
    }
}

TEST(Agreement, OfRestoreLinesIsOnWhatTheyMean) {
    std::vector<Process> begun(2);
    begun[0].stop = stop_after(3);
    train_together(begun, "--no-validation");
    std::vector<Process> later(2);
    later[0].files = std::move(begun[0].files);
    later[1].options = "--lanes 1 --keep-ckpts 3";
    restore_together(later);
    for (const Process& process : later) {
        EXPECT_EQ(process.error, ErrorKind::peers);
        EXPECT_THAT(process.message, AllOf(HasSubstr("--keep-ckpts"), HasSubstr("--lanes (0 on rank 0, 1 ")));
    }
}

}  // namespace
}  // namespace cnntrain::run::testing
