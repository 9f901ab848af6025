// Real processes under mpirun that train, validate and go on together.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/base/io.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/matchers.h"
#include "support/suite_folder.h"

namespace cnntrain::cli {
namespace {

class Processes : public test::SuiteFolder<Processes> {
public:
    static void prepare() { run("dataset cifar --train 96 --test 37 --output-dir " + (*folder_ / "data")); }

protected:
    /// `count` processes of the program with these arguments, in the folder.
    static Outcome together(int count, const std::string& arguments, const std::string& under = "") {
        return shell("cd " + folder_->path() +
                     " && export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 && " CNNTRAIN_MPIEXEC
                     " --oversubscribe --bind-to none -np " +
                     std::to_string(count) + " " + under + CNNTRAIN_PROGRAM " " + arguments);
    }
    /// Returns an `under` for together() with which rank 1 runs another line of shell.
    static std::string of_rank_one(const std::string& line) {
        return "sh -c 'if [ $OMPI_COMM_WORLD_RANK = 1 ]; then " + line + "; else exec \"$@\"; fi' sh ";
    }
    static Outcome alone(const std::string& arguments) {
        return shell("cd " + folder_->path() + " && " CNNTRAIN_PROGRAM " " + arguments);
    }
    static std::string training(const std::string& name) {
        return "train --data-dir data --model-size 8 --micro-batch-size 4 --precision 32.32 --seed 7 --warmup-epochs 0 "
               "--abs-learning-rate 0.01 --threads 1 --input-threads 1 --comm-timeout 60 --logs-path " +
               name + " ";
    }
    static std::string file(const std::string& name, const std::string& path) {
        return read_text(posix_files(), *folder_ / name + "/" + path);
    }
    /// Iteration, epoch, rate and losses: without the number of passes and without times.
    static std::vector<std::string> losses(const std::string& name) {
        constexpr int kFirst = 1;
        constexpr int kLast = 8;
        std::vector<std::string> rows;
        std::istringstream text(file(name, "training.csv"));
        for (std::string line; std::getline(text, line);) {
            std::istringstream cells(line);
            std::string row;
            for (int i = 0; i < kLast; ++i) {
                std::string cell;
                std::getline(cells, cell, ',');
                if (i >= kFirst) row += cell + " ";
            }
            rows.push_back(row);
        }
        return rows;
    }
    static bool same_weights(const std::string& one, const std::string& other, std::int64_t iteration) {
        const auto a = weights::load(posix_files(), weights::checkpoint_path(*folder_ / one, iteration)).tensors;
        const auto b = weights::load(posix_files(), weights::checkpoint_path(*folder_ / other, iteration)).tensors;
        return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
            return x.first == y.first && std::ranges::equal(x.second.bytes(), y.second.bytes());
        });
    }
};

TEST_F(Processes, TrainAndValidateAsOneProcessDoesThatAccumulates) {
    const std::string options = "--iterations 6 --log-freq 1";
    ASSERT_EQ(alone(training("one") + options + " --gradient-accumulation-count 2").exit_code, 0);
    const Outcome outcome = together(2, training("two") + options);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("2 processes"));
    EXPECT_EQ(losses("one"), losses("two"));
    EXPECT_TRUE(same_weights("one", "two", 6));
    const auto accuracy = [](const std::string& name) {
        const std::string text = file(name, "validation.csv");
        std::size_t end = text.find('\n');
        for (int column = 0; column < 5; ++column)
            end = text.find(',', end + 1);
        return text.substr(0, end);
    };
    EXPECT_EQ(accuracy("one"), accuracy("two"));
}

TEST_F(Processes, PrintADryRunOnce) {
    for (const std::string& line :
         {training("dry"), std::string("validation --generated-data --model-size 8 --dataset cifar-10")}) {
        const Outcome outcome = together(2, line + " --dry-run");
        EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
        EXPECT_EQ(count_of("Dry run:", outcome.text), 1U) << outcome.text;
    }
    const Outcome refused = together(2, training("dry") + "--freeze all/stage9 --dry-run");
    EXPECT_EQ(refused.exit_code, exit_code(ErrorKind::usage)) << refused.text;
    EXPECT_EQ(count_of("error:", refused.text), 1U) << refused.text;
}

TEST_F(Processes, StopAndGoOnInAnotherNumber) {
    const std::string options = "--no-validation --logs-per-epoch 1 --gradient-accumulation-count 2 --epochs 4000";
    const Outcome stopped = together(2, training("begun") + options, "timeout --preserve-status -s TERM 2 ");
    ASSERT_THAT(stopped.text, HasSubstr("Stopped by a signal after iteration")) << stopped.text;
    const Outcome refused = together(3, "restore --restore-path begun");
    EXPECT_THAT(refused.text, HasSubstr("3 processes"));
    const Outcome later =
        shell("cd " + folder_->path() +
              " && timeout --preserve-status -s TERM 1 " CNNTRAIN_PROGRAM " restore --restore-path begun");
    EXPECT_EQ(later.exit_code, kInterruptedExitCode) << later.text;
    EXPECT_THAT(file("begun", "arguments.json"),
                AllOf(HasSubstr("\"gradient_accumulation_count\": 4"), HasSubstr("\"global_batch_size\": 16")));
}

TEST_F(Processes, ThatDisagreeEndBeforeTheyBegin) {
    for (const std::string more : {"--comm-route flat", "--no-validation"}) {
        const std::string line = training("disagreeing") + "--iterations 2 --epochs 0 ";
        const Outcome outcome = together(2, line, of_rank_one(CNNTRAIN_PROGRAM " " + line + more));
        EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::peers)) << outcome.text;
        EXPECT_EQ(count_of("error: the processes of a run need the same program and the same options", outcome.text),
                  1U)
            << outcome.text;
        EXPECT_FALSE(exists(posix_files(), *folder_ / "disagreeing"));
    }
}

TEST_F(Processes, TellAnErrorOfAllOfThemOnceAndOneOfTheirOwnAlways) {
    const std::string place = *folder_ / "elsewhere";
    posix_files().make_directories(place + "/data/cifar-10-batches-bin");
    const std::string line = training("none") + "--iterations 2 --epochs 0";
    const std::string error = "cifar-10: no data in folder data; looked for data_batch_1.bin";
    const Outcome all = together(4, line, "-wdir " + place + " ");
    EXPECT_EQ(all.exit_code, exit_code(ErrorKind::data));
    EXPECT_EQ(count_of("error: ", all.text), 1U) << all.text;
    EXPECT_THAT(all.text, HasSubstr(error));
    const Outcome last = together(3, line, of_rank_one("cd " + place + " && exec " CNNTRAIN_PROGRAM " " + line));
    EXPECT_NE(last.exit_code, 0);
    EXPECT_THAT(last.text, HasSubstr(error));
}

TEST_F(Processes, OfAPlainMpirunLineShareAValidation) {
    ASSERT_EQ(alone(training("trained") + "--iterations 2 --epochs 0 --no-validation").exit_code, 0);
    const std::string line =
        "validation --data-dir data --restore-path trained/ckpt-2 --micro-batch-size 8 --precision 32.32 --model-size "
        "8 --threads 1 --input-threads 1 --logs-path ";
    ASSERT_EQ(alone(line + "val1").exit_code, 0);
    const Outcome outcome = together(2, line + "val2");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_EQ(count_of("Validation top-1 accuracy", outcome.text), 1U) << outcome.text;
    const auto accuracy = [](const std::string& name) {  // name, iteration, epoch and val_acc
        const std::string text = file(name, "validation.csv");
        std::size_t end = text.find('\n');
        for (int column = 0; column < 4; ++column)
            end = text.find(',', end + 1);
        return text.substr(0, end);
    };
    EXPECT_EQ(accuracy("val1"), accuracy("val2"));
}

TEST_F(Processes, ThatWouldEachDoTheWholeWorkAreRefused) {
    ASSERT_EQ(alone(training("whole") + "--iterations 2 --epochs 0 --no-validation").exit_code, 0);
    for (const std::string line :
         {"inference --data-dir data --model-size 8 --restore-path whole/ckpt-2",
          "average --restore-path whole --mode mean --filename mean", "dataset cifar --train 8 --output-dir other"}) {
        const Outcome outcome = together(2, line);
        EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::usage)) << outcome.text;
        EXPECT_THAT(outcome.text, AllOf(HasSubstr("MPI"), HasSubstr(line)));
    }
    EXPECT_FALSE(exists(posix_files(), *folder_ / "mean.safetensors"));
    EXPECT_EQ(together(2, "average --help").exit_code, 0);
}

TEST_F(Processes, OfAPlainMpirunLineEvaluateBesideEachOther) {
    const Outcome outcome =
        together(2,
                 "validation --model-size 8 --dataset cifar-10 --generated-data --micro-batch-size 8 --iterations 2 "
                 "--no-logs --threads 1 --input-threads 1");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_EQ(count_of("Validation top-1 accuracy", outcome.text), 2U) << outcome.text;
}

TEST_F(Processes, ARunWhoseRanksAreKilledHasAReport) {
    for (const std::string ranks : {"1", "*"}) {
        const std::string name = ranks == "1" ? "one_killed" : "all_killed";
        const std::string killed_when_it_trains =
            "sh -c 'case $OMPI_COMM_WORLD_RANK in " + ranks + ") until [ \"$(wc -l < " + name +
            "/training.csv)\" -gt 4 ]; do sleep 0.05; done 2>/dev/null && kill -9 $$ & ;; esac; exec \"$@\"' sh ";
        const Outcome outcome = together(2, training(name) + "--epochs 1000 --log-freq 1", killed_when_it_trains);
        EXPECT_NE(outcome.exit_code, 0) << outcome.text;
        const Outcome told = alone("report " + name);
        EXPECT_EQ(told.exit_code, 0) << told.text;
        EXPECT_THAT(file(name, "report.html"),
                    AllOf(HasSubstr("killed, began"), HasSubstr("it was killed, or its machine stopped")));
    }
}

}  // namespace
}  // namespace cnntrain::cli
