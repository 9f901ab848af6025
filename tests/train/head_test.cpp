// Runs that begin with a last layer solved from features, the cache of features, and suspicious samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

/// A trained network, from whose weights the runs begin.
class HeadTest : public ::testing::Test {
protected:
    HeadTest() {
        const MemoryFiles& trained = trained_once("--no-validation --no-tensorboard");
        write_text(files_, kStart, read_text(trained, "run/ckpt-40.safetensors"));
    }

    Outcome solve(const std::string& options) {
        return train(files_, "--no-tensorboard --init-path " + std::string(kStart) + " " + options);
    }
    static double number_after(const std::string& text, const std::string& words) {
        const std::size_t at = text.find(words);
        return at == std::string::npos ? -1 : std::stod(text.substr(at + words.size()));
    }

    static constexpr const char* kStart = "start.safetensors";
    MemoryFiles files_;
};

TEST_F(HeadTest, TheCheckpointHasTheAccuracyThatWasTold) {
    const Outcome outcome = solve("--head-only");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console,
                AllOf(ContainsRegex("Features of 160 training and 37 validation images, 64 each: [0-9.]+ s, [0-9.]+ "
                                    "img/s, kept in .*features.cache\n"),
                      ContainsRegex("Last layer: solved in [0-9.]+ s, L2 strength [0-9.e-]+ \\(the best of [0-9]+"),
                      HasSubstr("--restore-path"), Not(HasSubstr("iteration:"))));
    EXPECT_TRUE(exists(files_, "run/ckpt-0.safetensors"));
    EXPECT_EQ(weights::numbered_checkpoints(files_, "run").size(), 1);
    const double told = number_after(outcome.console, "held-out accuracy ");
    EXPECT_LT(number_after(outcome.console, "(loss "), std::log(10.0));  // of training; a blind head has log 10
    validate(files_, "--restore-path run/ckpt-0 --logs-path run");
    const std::string row = accuracy_rows(files_).back();
    EXPECT_NEAR(last_number(row), told, 100.0 / 37 + 0.01) << row;
}

TEST_F(HeadTest, RestoreTrainsTheWholeNetworkFromThere) {
    solve("--head-only");
    EXPECT_EQ(restore(files_, "--epochs 1").exit_code, 0);
    EXPECT_TRUE(exists(files_, "run/ckpt-20.safetensors"));
    MemoryFiles other;
    write_text(other, kStart, read_text(files_, kStart));
    train(other, "--no-tensorboard --head-first --epochs 1 --init-path " + std::string(kStart));
    EXPECT_EQ(weights(other, 0), weights(files_, 0));
    EXPECT_EQ(weights(other, 20), weights(files_, 20));
    MemoryFiles without;
    write_text(without, kStart, read_text(files_, kStart));
    train(without, "--no-tensorboard --epochs 1 --init-path " + std::string(kStart));
    EXPECT_NE(weights(other, 0), weights(without, 0));
}

TEST_F(HeadTest, TheSolvedLayerIsACandidateForTheBestWeights) {
    const std::string how = " --validate-every 1 --keep-best accuracy ";
    const std::string harmful = " --abs-learning-rate 1 --warmup-epochs 0 ";
    solve("--head-only" + harmful);
    const auto solved = weights::load(files_, "run/ckpt-0.safetensors");
    const auto expect_start_is_best = [&] {
        EXPECT_THAT(read_text(files_, "run/validation.csv"), ContainsRegex("[^\n]*\r?\nckpt-0,0,0"));
        const auto best = weights::load(files_, "run/ckpt-best.safetensors");
        EXPECT_EQ(best.iteration, 0);
        EXPECT_THAT(best.tensors.at("all/fc1/weight").bytes(),
                    ::testing::ElementsAreArray(solved.tensors.at("all/fc1/weight").bytes()));
    };
    EXPECT_EQ(restore(files_, "--epochs 2 " + how).exit_code, 0);
    expect_start_is_best();
    EXPECT_EQ(solve("--overwrite --epochs 2 --head-first" + how + harmful).exit_code, 0);
    expect_start_is_best();
}

TEST_F(HeadTest, FeaturesAreReadAgainAsLongAsNothingChanges) {
    const std::string cache = " --head-only --feature-cache kept.cache --overwrite ";
    EXPECT_THAT(solve(cache).console, HasSubstr("kept in "));
    const std::string file = read_text(files_, "kept.cache");
    EXPECT_THAT(solve(cache + "--head-strength 0.5").console, HasSubstr("0.5"));
    // The last layer itself does not count.
    write_text(files_, "solved.safetensors", read_text(files_, "run/ckpt-0.safetensors"));
    EXPECT_THAT(solve(cache + "--init-path solved").console, HasSubstr("read from "));
    // More views, and other weights.
    EXPECT_THAT(solve(cache + "--feature-views 3").console,
                ContainsRegex("computed anew: .*kept.cache has those of 1 view of each sample, not 3\n"));
    EXPECT_THAT(solve(cache + "--feature-views 2").console, HasSubstr("read from "));
    EXPECT_THAT(solve(cache + "--feature-views 2 --seed 8").console, HasSubstr("other seed of the views (7, now 8)"));
    auto changed = weights::load(files_, kStart);
    changed.tensors.at("all/stage0/conv0/weight").set(0, 0.25);
    weights::save(files_, kStart, changed);
    EXPECT_THAT(solve(cache).console, ContainsRegex("has those of other weights \\(crc32c [0-9a-f]+, now crc32c "));
    EXPECT_EQ(read_text(files_, "kept.cache").size(), file.size());
}

/// Other classes are an axis of all its variables; any other difference is no network of the same kind.
TEST_F(HeadTest, ALastLayerOfAnotherShapeIsRefused) {
    const auto begin_with = [&](const Shape& weight, const std::optional<Shape>& bias) {
        auto changed = weights::load(files_, kStart);
        changed.tensors.at("all/fc1/weight") = HostTensor({DType::f32, weight});
        changed.tensors.erase("all/fc1/bias");
        if (bias) changed.tensors.emplace("all/fc1/bias", HostTensor({DType::f32, *bias}));
        weights::save(files_, "changed.safetensors", changed);
        MemoryFiles fresh;
        write_text(fresh, "changed.safetensors", read_text(files_, "changed.safetensors"));
        train(fresh, "--no-tensorboard --epochs 1 --init-path changed");
    };
    EXPECT_NO_THROW(begin_with({64, 3}, Shape{3}));
    EXPECT_THAT(message_of(ErrorKind::data,
                           [&] {
                               begin_with({10, 64}, Shape{10});
                           }),
                AllOf(HasSubstr("all/fc1/weight [10, 64]"), HasSubstr("all/fc1/weight [64, C]")));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { begin_with({64, 10}, Shape{9}); }), HasSubstr("all/fc1/bias [9]"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { begin_with({32, 10}, Shape{10}); }), HasSubstr("[32, 10]"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { begin_with({64, 10}, {}); }), HasSubstr("all/fc1/bias [C]"));
}

TEST_F(HeadTest, FeaturesThatAreNotFiniteAreRefused) {
    const auto begin_with = [&](const std::string& variable, double value) {
        auto changed = weights::load(files_, kStart);
        HostTensor& tensor = changed.tensors.at(variable);
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            tensor.set(i, value);
        weights::save(files_, "changed.safetensors", changed);
        return message_of(ErrorKind::diverged,
                          [&] { train(files_, "--no-tensorboard --overwrite --head-only --init-path changed"); });
    };
    EXPECT_THAT(begin_with("all/stage0/conv0/weight", 3e38), HasSubstr("stage0"));
    EXPECT_THAT(begin_with("all/stage0/conv0/weight", NAN), HasSubstr("stage0"));
    EXPECT_FALSE(exists(files_, "run/features.cache"));
}

TEST_F(HeadTest, ADamagedFileIsReplacedAndSomebodysIsNot) {
    const std::string cache = " --head-only --feature-cache kept.cache --overwrite ";
    solve(cache);
    const std::string good = read_text(files_, "kept.cache");
    std::string flipped = good;
    flipped[good.size() - 5] = static_cast<char>(flipped[good.size() - 5] ^ 1);
    for (const std::string& bad : {good.substr(0, good.size() / 2), flipped}) {
        write_text(files_, "kept.cache", bad);
        EXPECT_THAT(solve(cache).console, ContainsRegex("computed anew: .*kept.cache is damaged: "));
        EXPECT_EQ(read_text(files_, "kept.cache"), good);
    }
    for (const std::string& others : {std::string("a text"), read_text(files_, kStart)}) {
        write_text(files_, "kept.cache", others);
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { solve(cache); }), HasSubstr("--feature-cache"));
        EXPECT_EQ(read_text(files_, "kept.cache"), others);
    }
}

TEST_F(HeadTest, WithoutValidationAPartOfTheTrainingDataIsHeldOut) {
    const std::string console = solve("--head-only --no-validation").console;
    EXPECT_THAT(console, HasSubstr("160 training"));
    EXPECT_GT(number_after(console, "held-out accuracy "), 15);
}

TEST_F(HeadTest, RanksShareTheFeatures) {
    solve("--head-only");
    std::vector<Process> processes(2);
    for (Process& process : processes)
        write_text(process.files, kStart, read_text(files_, kStart));
    train_together(processes, "--no-tensorboard --head-only --init-path " + std::string(kStart));
    for (const Process& process : processes)
        EXPECT_EQ(process.outcome.exit_code, 0) << process.message;
    EXPECT_EQ(weights(processes[0].files, 0), weights(files_, 0));
    EXPECT_FALSE(exists(processes[1].files, "run/features.cache"));
}

TEST_F(HeadTest, AStopEndsTheRunWithoutACheckpoint) {
    const std::string line = "--head-only --no-tensorboard --init-path " + std::string(kStart);
    EXPECT_THROW(train(files_, line, stop_after(3)), Interrupted);
    EXPECT_FALSE(exists(files_, "run/ckpt-0.safetensors"));
    EXPECT_EQ(solve("--head-only").exit_code, 0);
}

TEST_F(HeadTest, ImpossibleLinesAreRefused) {
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { solve("--head-only --head-first"); }), Not(IsEmpty()));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { solve("--head-only --generated-data"); }), Not(IsEmpty()));
    EXPECT_FALSE(exists(files_, "run/arguments.json"));
}

TEST_F(HeadTest, SuspectsAreListedFromTheRunsFeatures) {
    solve("--head-only");
    const options::ParseResult arguments =
        tasks::restored_arguments(parse("--restore-path run", options::Command::restore), files_);
    std::ostringstream console;
    Host host;
    host.files = &files_;
    host.console = &console;
    metrics::Observers observers;
    SuspectSettings settings{.checkpoint = "run/ckpt-0.safetensors", .folder = "run"};
    settings.least_similarity = 0.9;
    const SuspectReport report = find_suspects(tasks::row_of(arguments), arguments, settings, host, observers);
    EXPECT_EQ(report.training, 160);
    EXPECT_EQ(report.validation, 37);
    ASSERT_EQ(report.suspects.size(), 197);
    EXPECT_TRUE(std::ranges::is_sorted(report.suspects, std::greater<>(), &Suspect::score));
    for (const Suspect& suspect : report.suspects)
        EXPECT_NE(suspect.label, suspect.other_label);
    EXPECT_THAT(report.suspects.front().sample, ContainsRegex("\\.bin, record [0-9]+"));
    for (const Duplicate& duplicate : report.duplicates)
        EXPECT_GE(duplicate.similarity, 0.9);
}

}  // namespace
}  // namespace cnntrain::run::testing
