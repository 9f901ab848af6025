// Several processes that train together, as threads: what they compute, what they write, and how they end.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <thread>
#include <tuple>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/ranks.h"
#include "support/matchers.h"
#include "support/thread_communicators.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

const std::string kF32 = "--precision 32.32 --no-validation --epochs 1 --logs-per-epoch 40 ";

/// Rows of losses without the number of passes, which differs between accumulation and processes.
std::vector<std::string> losses(const FileSystem& files) {
    std::vector<std::string> rows = loss_rows(files);
    for (std::string& row : rows)
        row.erase(0, row.find(',') + 1);
    return rows;
}

/// The column loss_batch.
std::vector<double> loss_values(const FileSystem& files) {
    constexpr int kColumn = 3;  // after the number of passes
    std::vector<double> values;
    for (const std::string& row : losses(files)) {
        std::istringstream text(row);
        std::string cell;
        for (int i = 0; i <= kColumn; ++i)
            std::getline(text, cell, ',');
        if (cell.find_first_of("0123456789") == 0) values.push_back(std::stod(cell));
    }
    return values;
}

double largest_difference(const FileSystem& one, const FileSystem& other) {
    const std::vector<double> a = loss_values(one);
    const std::vector<double> b = loss_values(other);
    EXPECT_EQ(a.size(), b.size());
    double largest = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        largest = std::max(largest, std::abs(a[i] - b[i]) / std::abs(a[i]));
    return largest;
}

void expect_no_errors(const std::vector<Process>& processes) {
    for (const Process& process : processes) {
        EXPECT_FALSE(process.error) << process.message;
        EXPECT_EQ(process.outcome.exit_code, 0);
    }
}

// ---- What they compute ----

class Together : public ::testing::TestWithParam<std::string> {};

// A process with one micro-batch adds nothing itself: the sum over the processes is that of accumulation, in its order.
TEST_P(Together, WithAMicroBatchEachTheyAreAccumulationBitForBit) {
    const std::string options = kF32 + GetParam();
    MemoryFiles alone;
    ASSERT_EQ(train(alone, options + " --gradient-accumulation-count 3").exit_code, 0);
    std::vector<Process> processes(3);
    train_together(processes, options);
    expect_no_errors(processes);
    EXPECT_EQ(losses(alone), losses(processes[0].files));
    EXPECT_EQ(weights(alone, 6), weights(processes[0].files, 6));
}

INSTANTIATE_TEST_SUITE_P(
    All, Together,
    ::testing::Values("--comm-route flat", "--comm-route hierarchical", "--max-cross-replica-buffer-size 1024",
                      "--max-cross-replica-buffer-size 1024 --no-comm-overlap --comm-route flat",
                      "--batch-norm --optimiser momentum", "--group-norm --optimiser LARS",
                      "--optimiser RMSprop --rmsprop-decay 0.9 --precision 16.16", "--rts --optimiser momentum",
                      "--rts --max-cross-replica-buffer-size 4096 --optimiser AdamW --precision 16.32",
                      "--rts --optimiser RMSprop --rmsprop-decay 0.9 --precision 16.16", "--precision 16.32"));

TEST(TogetherWith, AccumulationInEachTheyRoundOtherwise) {
    MemoryFiles alone;
    ASSERT_EQ(train(alone, kF32 + "--epochs 3 --gradient-accumulation-count 8").exit_code, 0);
    std::vector<Process> processes(2);
    train_together(processes, kF32 + "--epochs 3 --gradient-accumulation-count 4");
    expect_no_errors(processes);
    EXPECT_LT(largest_difference(alone, processes[0].files), 1e-4);
}

TEST(TogetherWith, StagesLanesAndReplicasTheNumbersStay) {
    MemoryFiles alone;
    ASSERT_EQ(train(alone, kF32 + "--epochs 4 --abs-learning-rate 0.01 --gradient-accumulation-count 16").exit_code, 0);
    std::vector<Process> processes(2);
    train_together(processes, kF32 +
                                  "--epochs 4 --abs-learning-rate 0.01 --threads 2 --gradient-accumulation-count 4 "
                                  "--replicas 2 --shards 2 --pipeline "
                                  "--pipeline-splits stage2/unit1 --lanes 2 --max-cross-replica-buffer-size 2048");
    expect_no_errors(processes);
    EXPECT_LT(largest_difference(alone, processes[0].files), 1e-6);
}

// Norms are sums over the pieces of all ranks, which add up in another order. LAMB divides by the size of gradients, so
// that the rounding of small ones counts, too.
TEST(TogetherWith, AShardedOptimiserWithATrustTheLossesStay) {
    for (const char* optimiser : {"LARS", "LAMB"}) {
        const std::string options = kF32 + "--abs-learning-rate 0.01 --group-norm --optimiser " + optimiser;
        std::vector<Process> whole(3);
        train_together(whole, options);
        std::vector<Process> sharded(3);
        train_together(sharded, options + " --rts");
        expect_no_errors(sharded);
        EXPECT_LT(largest_difference(whole[0].files, sharded[0].files), 1e-4) << optimiser;
    }
}

TEST(TogetherWith, AShardedOptimiserCheckpointsAreWhole) {
    const std::string options =
        kF32 + "--epochs 4 --abs-learning-rate 0.001 --optimiser momentum --rts --gradient-accumulation-count 2 ";
    std::vector<Process> whole(2);
    train_together(whole, options);
    std::vector<Process> processes(2);
    processes[0].stop = stop_after(5);
    train_together(processes, options);
    for (const std::size_t count : {4U, 2U}) {
        std::vector<Process> later(count);
        later[0].files = processes[0].files;
        restore_together(later);
        expect_no_errors(later);
        EXPECT_LT(largest_difference(whole[0].files, later[0].files), count == 2 ? 1e-30 : 3e-6) << count;
    }
}

TEST(TogetherWith, A16BitWireTheLossesStayClose) {
    std::vector<Process> exact(2);
    train_together(exact, kF32);
    std::vector<Process> rounded(2);
    train_together(rounded, kF32 + "--comm-wire bf16 --comm-route flat");
    expect_no_errors(rounded);
    const double difference = largest_difference(exact[0].files, rounded[0].files);
    EXPECT_GT(difference, 0);
    EXPECT_LT(difference, 0.02);
}

// ---- Batch-norm statistics of several processes ----

const std::string kNorms = kF32 + "--batch-norm --abs-learning-rate 0.001 ";

/// Largest difference of the variables whose names end with `ending`, relative to the largest element of each.
double largest_difference_of(const std::string& ending, const FileSystem& one, const FileSystem& other,
                             std::int64_t iteration) {
    const auto a = weights::load(one, weights::checkpoint_path("run", iteration)).tensors;
    const auto b = weights::load(other, weights::checkpoint_path("run", iteration)).tensors;
    double largest = -1;  // none was found
    for (const auto& [name, tensor] : a) {
        if (!name.ends_with(ending)) continue;
        const auto x = tensor.as<float>();
        const auto y = b.at(name).as<float>();
        float most = 0;
        float difference = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            most = std::max(most, std::abs(x[i]));
            difference = std::max(difference, std::abs(x[i] - y[i]));
        }
        largest = std::max(largest, static_cast<double>(difference) / static_cast<double>(most));
    }
    return largest;
}

TEST(TogetherWith, StatisticsOfAllTheyAreOneLargerMicroBatch) {
    MemoryFiles alone;
    ASSERT_EQ(train(alone, kNorms + "--micro-batch-size 16").exit_code, 0);
    for (const char* how : {"", "--enable-recomputation"}) {
        std::vector<Process> processes(2);
        train_together(processes, kNorms + "--micro-batch-size 8 --BN-span 2 " + how);
        expect_no_errors(processes);
        EXPECT_LT(largest_difference(alone, processes[0].files), 1e-5) << how;
        // A value before a ReLU counts in the gradient of beta, or not, as its rounding decides its sign.
        for (const auto& [ending, most] : {std::pair("moving_mean", 1e-3), {"weight", 1e-3}, {"beta", 1e-2}}) {
            const double difference = largest_difference_of(ending, alone, processes[0].files, 10);
            EXPECT_GE(difference, 0) << ending;
            EXPECT_LT(difference, most) << ending << how;
        }
        // Bessel's n is that of one process: of 8 x 8 pixels, 512 and not 1024. The moving value is a quarter new.
        const double difference =
            largest_difference_of("stage3/unit1/bn1/batch_norm/moving_variance", alone, processes[0].files, 10);
        EXPECT_GT(difference, 1e-4) << how;
        EXPECT_LT(difference, 1e-3) << how;
    }
    std::vector<Process> own(2);
    train_together(own, kNorms + "--micro-batch-size 8");
    EXPECT_GT(largest_difference(alone, own[0].files), 1e-3);
}

TEST(TogetherWith, StatisticsOfGroupsOfThem) {
    MemoryFiles alone;
    ASSERT_EQ(train(alone, kNorms + "--micro-batch-size 16 --gradient-accumulation-count 2").exit_code, 0);
    std::vector<Process> processes(4);
    train_together(processes, kNorms + "--micro-batch-size 4 --replicas 2 --BN-span 4");
    expect_no_errors(processes);
    EXPECT_LT(largest_difference(alone, processes[0].files), 1e-5);
}

TEST(TogetherWith, StatisticsOfAllAndStagesTheNumbersStay) {
    const std::string run = kNorms + "--micro-batch-size 4 --gradient-accumulation-count 4 --BN-span 2 --threads 2 ";
    std::vector<Process> plain(2);
    train_together(plain, run);
    std::vector<Process> staged(2);
    train_together(staged, run + "--shards 2 --pipeline --pipeline-splits stage2/unit1");
    expect_no_errors(staged);
    EXPECT_EQ(losses(plain[0].files), losses(staged[0].files));
    std::vector<Process> lanes(2);
    train_together(lanes, run + "--shards 2 --pipeline --pipeline-splits stage2/unit1 --lanes 2");
    EXPECT_EQ(lanes[0].error, ErrorKind::usage);
    EXPECT_THAT(lanes[0].message, HasSubstr("--BN-span 2"));
}

TEST(TogetherWith, StatisticsOfAPartOfThemAreRefused) {
    std::vector<Process> processes(3);
    train_together(processes, kNorms + "--replicas 2 --BN-span 4");
    EXPECT_EQ(processes[0].error, ErrorKind::usage);
    EXPECT_THAT(processes[0].message, HasSubstr("2 or"));
}

TEST(TogetherWith, NoSeedTheyAgreeOnOne) {
    std::vector<Process> processes(2);
    train_together(processes, kF32, "");
    expect_no_errors(processes);  // the weights are compared at each checkpoint
}

TEST(TogetherWith, PoprunsReplicasALineOfItsOwnGivesWay) {
    std::vector<Process> processes(2);
    for (Process& process : processes)
        process.replicas = 2;
    train_together(processes, kF32 + "--replicas 4");
    expect_no_errors(processes);
    EXPECT_THAT(
        read_text(processes[0].files, "run/arguments.json"),
        AllOf(HasSubstr("\"replicas\": 2"), HasSubstr("\"total_replicas\": 4"), HasSubstr("\"use_popdist\": true"),
              HasSubstr("\"distributed_worker_count\": 2"), HasSubstr("\"global_batch_size\": 32")));
    EXPECT_THAT(processes[0].outcome.console, HasSubstr("4 replicas"));
}

TEST(TogetherWith, ValidationEverySampleIsCountedOnce) {
    MemoryFiles alone;
    ASSERT_EQ(train(alone, "--precision 32.32 --epochs 1 --gradient-accumulation-count 3").exit_code, 0);
    std::vector<Process> processes(3);
    train_together(processes, "--precision 32.32 --epochs 1");
    expect_no_errors(processes);
    EXPECT_EQ(accuracy_rows(alone), accuracy_rows(processes[0].files));
    EXPECT_THAT(read_text(processes[0].files, "run/validation.csv"), HasSubstr(",37,"));
}

// ---- What they write ----

TEST(Ranks, OnlyTheFirstOneWrites) {
    std::vector<Process> processes(2);
    train_together(processes, kF32);
    EXPECT_TRUE(exists(processes[0].files, "run/training.csv"));
    EXPECT_EQ(processes[1].files.used_bytes(), 0U);
    EXPECT_THAT(processes[0].outcome.console, HasSubstr("2 processes"));
}

TEST(Ranks, AllWriteWhereThatIsAskedFor) {
    std::vector<Process> processes(2);
    train_together(processes, kF32 + "--ckpt-all-instances true --log-all-instances true");
    expect_no_errors(processes);
    EXPECT_TRUE(exists(processes[1].files, "run-instance1/training.csv"));
    const auto other = weights::load(processes[1].files, weights::checkpoint_path("run-instance1", 10));
    const auto first = weights::load(processes[0].files, weights::checkpoint_path("run", 10));
    ASSERT_EQ(first.tensors.size(), other.tensors.size());
    for (const auto& [name, tensor] : first.tensors)
        EXPECT_TRUE(std::ranges::equal(tensor.bytes(), other.tensors.at(name).bytes())) << name;
}

// ---- How they end ----

/// The parameter: options on top of a run's own; with the second one, none of three processes can go on alone.
class RanksEnd : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, RanksEnd,
                         ::testing::Values("", " --batch-norm --BN-span 3 --gradient-accumulation-count 2"));

TEST_P(RanksEnd, TogetherWhenOneIsAskedToStop) {
    std::vector<Process> processes(3);
    processes[1].stop = stop_after(4);
    train_together(processes, "--precision 32.32 --no-validation" + GetParam());
    for (const Process& process : processes) {
        EXPECT_FALSE(process.error) << process.message;
        EXPECT_EQ(process.outcome.exit_code, kInterruptedExitCode);
    }
    EXPECT_TRUE(weights::latest(processes[0].files, "run"));
}

/// Six iterations of two processes, of which the last three are done by `second` of them.
std::vector<Process> interrupted(std::size_t second) {
    std::vector<Process> processes(2);
    processes[0].stop = stop_after(3);
    train_together(processes, kF32 + "--epochs 4 --abs-learning-rate 0.01 --gradient-accumulation-count 6");
    EXPECT_EQ(processes[0].outcome.exit_code, kInterruptedExitCode);
    std::vector<Process> later(second);
    later[0].files = std::move(processes[0].files);
    restore_together(later);
    return later;
}

TEST(Ranks, AnotherNumberOfThemGoesOnWithTheSameGlobalBatch) {
    std::vector<Process> whole(2);
    train_together(whole, kF32 + "--epochs 4 --abs-learning-rate 0.01 --gradient-accumulation-count 6");
    for (const std::size_t count : {1U, 2U, 3U}) {
        const std::vector<Process> processes = interrupted(count);
        expect_no_errors(processes);
        EXPECT_LT(largest_difference(whole[0].files, processes[0].files), count == 2 ? 1e-30 : 3e-6) << count;
    }
}

/// The updates ask for a stop before each micro-batch but the first one, and once more at their end.
TEST(Ranks, EachGoesOnWithItsOwnPartOfAStoppedUpdate) {
    const std::string run = kF32 + "--epochs 4 --abs-learning-rate 0.01 --gradient-accumulation-count 6 ";
    std::vector<Process> whole(2);
    train_together(whole, run);
    constexpr int kNever = 1000;
    const std::vector<std::tuple<int, int, std::string>> stops = {{9, 9, "3 of 6 micro-batches"},
                                                                  {10, 8, "2 to 4 of 6 micro-batches"},
                                                                  {kNever, 11, "5 to 6 of 6 micro-batches"}};
    for (const auto& [first, second, kept] : stops) {
        std::vector<Process> begun(2);
        begun[0].stop = stop_after(first);
        begun[1].stop = stop_after(second);
        train_together(begun, run);
        EXPECT_THAT(begun[0].outcome.console, HasSubstr(kept));
        EXPECT_TRUE(exists(begun[0].files, "run/update-1-rank0.sums"));
        EXPECT_TRUE(exists(begun[0].files, "run/update-1-rank1.sums"));
        std::vector<Process> later(2);
        later[0].files = std::move(begun[0].files);
        restore_together(later);
        expect_no_errors(later);
        EXPECT_THAT(later[0].outcome.console, HasSubstr(kept));
        EXPECT_EQ(losses(later[0].files), losses(whole[0].files));
        EXPECT_EQ(weights(later[0].files, 6), weights(whole[0].files, 6));
        EXPECT_FALSE(exists(later[0].files, "run/update-1-rank0.sums"));
        EXPECT_FALSE(exists(later[0].files, "run/update-1-rank1.sums"));
    }
}

TEST(Ranks, RepeatAStoppedUpdateOfWhichOnePartIsMissing) {
    const std::string run = kF32 + "--epochs 4 --abs-learning-rate 0.01 --gradient-accumulation-count 6 --rts ";
    std::vector<Process> whole(2);
    train_together(whole, run);
    for (const bool removed : {false, true}) {
        std::vector<Process> begun(2);
        begun[0].stop = stop_after(9);
        begun[1].stop = stop_after(9);
        train_together(begun, run);
        std::vector<Process> later(2);
        later[0].files = std::move(begun[0].files);
        if (removed) later[0].files.remove("run/update-1-rank1.sums");
        restore_together(later);
        expect_no_errors(later);
        EXPECT_THAT(later[0].outcome.console,
                    HasSubstr(removed ? "repeated from its first micro-batch: run/update-1-rank1.sums is missing"
                                      : "The stopped iteration continues after 3 of 6 micro-batches"));
        EXPECT_EQ(losses(later[0].files), losses(whole[0].files));
        EXPECT_EQ(weights(later[0].files, 6), weights(whole[0].files, 6));
    }
}

TEST(Ranks, ThatShareStatisticsGoOnAsTheMessageSays) {
    const std::string run = kNorms + "--epochs 4 --micro-batch-size 8 --gradient-accumulation-count 2 --BN-span 2 ";
    std::vector<Process> whole(2);
    train_together(whole, run);
    std::vector<Process> begun(2);
    begun[0].stop = stop_after(3);
    train_together(begun, run);
    std::vector<Process> alone(1);
    alone[0].files = std::move(begun[0].files);
    unsetenv("OMPI_ALLOW_RUN_AS_ROOT");
    const std::string mpirun = geteuid() == 0 ? "mpirun --allow-run-as-root" : "mpirun";
    restore_together(alone);
    EXPECT_THAT(alone[0].message, HasSubstr(mpirun));
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    restore_together(alone);
    EXPECT_EQ(alone[0].error, ErrorKind::usage);
    EXPECT_THAT(alone[0].message, HasSubstr("--restore-path"));
    std::vector<Process> later(1);
    later[0].files = std::move(alone[0].files);
    restore_together(later, "--replicas 2");
    expect_no_errors(later);
    EXPECT_LT(largest_difference(whole[0].files, later[0].files), 1e-5);
}

TEST(Ranks, ANumberOfThemThatCannotShareTheBatchIsRefused) {
    const std::vector<Process> processes = interrupted(5);
    for (const Process& process : processes) {
        EXPECT_EQ(process.error, ErrorKind::usage);
        EXPECT_THAT(process.message, HasSubstr("12 processes"));
    }
}

TEST(Ranks, KnowOfAnErrorThatAllOfThemMeet) {
    std::vector<Process> processes(3);
    train_together(processes, kF32 + "--data-dir /nowhere");
    for (const Process& process : processes) {
        EXPECT_TRUE(process.of_all);
        EXPECT_EQ(process.error, ErrorKind::data);
        EXPECT_EQ(process.message, processes[0].message);
        EXPECT_THAT(process.message, HasSubstr("/nowhere"));
    }
}

/// Returns what each of three ranks throws when they compare these errors and then leave; "" stands for none.
std::vector<std::string> messages_of(const std::vector<std::string>& errors) {
    auto communicators = comm::make_thread_communicators(3, {.timeout_seconds = 60});
    std::vector<std::string> messages(3);
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 3; ++rank) {
        threads.emplace_back([&, rank, own = std::move(communicators[rank])] {
            std::optional<Error> error;
            if (!errors[rank].empty()) error.emplace(ErrorKind::data, errors[rank]);
            try {
                compare_errors(*own, error, "test");
                own->barrier("test");
            } catch (const ErrorOfAll& all) {
                messages[rank] = std::string("all: ") + all.what();
            } catch (const Error& own_error) {
                messages[rank] = own_error.what();
                own->leave(messages[rank]);
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return messages;
}

TEST(Ranks, AnErrorThatNotAllOfThemMeetIsTheirOwn) {
    EXPECT_THAT(messages_of({"here", "here", "here"}), ElementsAre("all: here", "all: here", "all: here"));
    EXPECT_THAT(messages_of({"here", "there", "here"}), ElementsAre("here", "there", "here"));
    const std::vector<std::string> messages = messages_of({"", "there", ""});
    EXPECT_EQ(messages[1], "there");
    EXPECT_THAT(messages[0], HasSubstr("1 has"));
    EXPECT_THAT(messages[2], HasSubstr("1 has"));
}

TEST(Ranks, HearWhyTheFirstOneLeft) {
    std::vector<Process> processes(2);
    processes[0].files.set_capacity_bytes(100'000);
    train_together(processes, kF32);
    EXPECT_EQ(processes[0].error, ErrorKind::storage);
    EXPECT_EQ(processes[1].error, ErrorKind::peers);
    EXPECT_THAT(processes[1].message, AllOf(HasSubstr("rank 0"), HasSubstr(processes[0].message.substr(0, 40))));
}

TEST_P(RanksEnd, TogetherWhenTheyDiverge) {
    std::vector<Process> processes(3);
    train_together(processes, kF32 + "--abs-learning-rate 1e30" + GetParam());
    for (const Process& process : processes) {
        EXPECT_EQ(process.error, ErrorKind::diverged);
        EXPECT_THAT(process.message, HasSubstr("training diverged: the loss of iteration"));
    }
}

}  // namespace
}  // namespace cnntrain::run::testing
