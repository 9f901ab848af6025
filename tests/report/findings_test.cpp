// Findings on runs: what limited their speed, what is confused, what differs; and how they ended.
#include <gtest/gtest.h>

#include <cmath>

#include "cnntrain/insight/findings.h"
#include "cnntrain/run/profile.h"
#include "cnntrain/weights/checkpoint.h"
#include "report/made_up_run.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::report::test {
namespace {

/// A run with these times of 100 updates.
RunRecord with_times(const std::string& row) {
    RunRecord run = MadeUpRun{}.read();
    run.times = Table(
        "updates,iteration,update_seconds,input_wait_seconds,exchange_seconds,exposed_exchange_seconds,"
        "processor_seconds,queued_seconds,other_programs_seconds,page_loads\n" +
        row + "\n");
    return run;
}

TEST(Speed, EachLimitIsThatOfTheJudgeOfProfiles) {
    using profile::Limit;
    const auto limit = [](const std::string& row) { return judge_speed(with_times(row)).limit; };
    EXPECT_EQ(limit("100,100,10,0.2,0,0,18,0.1,0.2,0"), Limit::operations);
    EXPECT_EQ(limit("100,100,10,6,0,0,8,0.1,0.2,0"), Limit::input);
    EXPECT_EQ(limit("100,100,10,0.2,5,4,18,0.1,0.2,0"), Limit::communication);
    EXPECT_EQ(limit("100,100,10,0.2,5,0.3,18,0.1,0.2,0"), Limit::operations) << "what is hidden costs nothing";
    EXPECT_EQ(limit("100,100,10,0.2,0,0,10,6,9,0"), Limit::neighbours);
    EXPECT_EQ(limit("100,100,10,0.2,5,0.3,10,6,9,0"), Limit::operations) << "ranks of a host are no other programs";
    EXPECT_EQ(limit("100,100,10,0.2,0,0,10,6,0,0"), Limit::operations) << "threads that wait for each other";
    EXPECT_EQ(limit("100,100,10,0.2,0,0,5,0,0,9000"), Limit::paging);
}

TEST(Speed, TheLogTellsWhetherCoresAreLeftIdle) {
    RunRecord run = MadeUpRun{}.read();
    EXPECT_EQ(judge_speed(run).limit, profile::Limit::operations);
    MadeUpRun slow;
    slow.log_end =
        "Cores: 4 cores with 8 hyper-threads, a quota of 6.5 processors; threads: 1 compute, 8 prepare input\n" +
        slow.log_end;
    run = slow.read();
    EXPECT_EQ(run.log.core_count, 4);
    EXPECT_EQ(run.log.processor_count, 6);
    EXPECT_EQ(run.log.compute_threads, 1);
    EXPECT_EQ(judge_speed(run).limit, profile::Limit::threads);
}

TEST(Speed, AProfileTellsArithmeticFromMemoryBandwidth) {
    RunRecord run = with_times("100,100,10,0.2,0,0,18,0.1,0.2,0");
    EXPECT_THAT(judge_speed(run).sentences.front(), HasSubstr("was not measured"));
    run.profile = made_up_profile();
    EXPECT_EQ(judge_speed(run).limit, profile::Limit::memory_bandwidth);
    EXPECT_THAT(judge_speed(run).sentences.front(), HasSubstr("--profile"));
    run.profile = made_up_profile(100);
    EXPECT_EQ(judge_speed(run).limit, profile::Limit::compute);
    run.times = Table();
    EXPECT_EQ(judge_speed(run).limit, profile::Limit::compute) << "without other times";
}

TEST(Speed, WaitsOfTheWholeRunComeBeforeItsProfile) {
    RunRecord run = with_times("100,100,10,6,0,0,8,0.1,0.2,0");
    run.profile = made_up_profile();
    const Speed found = judge_speed(run);
    EXPECT_EQ(found.limit, profile::Limit::input);
    EXPECT_THAT(found.sentences[0], HasSubstr("Limited by the input"));
    EXPECT_THAT(found.sentences[1], HasSubstr("memory bandwidth"));
}

TEST(Speed, SharesAreOfTheTimeInUpdates) {
    const Speed found = judge_speed(with_times("100,100,10,6,0,0,8,0.1,0.2,0"));
    EXPECT_THAT(found.sentences.front(), HasSubstr("60 %"));
    ASSERT_EQ(found.update_parts.size(), 2U);
    EXPECT_EQ(found.update_parts[0].seconds, 4);
    EXPECT_EQ(found.samples_per_second, 512);
    EXPECT_THAT(found.sentences, Contains(HasSubstr("512 images")));
}

TEST(Speed, ARunOfAnEarlierVersionHasNoTimes) {
    RunRecord run = MadeUpRun{}.read();
    run.times = Table();
    const Speed found = judge_speed(run);
    EXPECT_FALSE(found.limit);
    EXPECT_THAT(found.sentences.front(), HasSubstr("earlier version"));
    EXPECT_THAT(found.run_parts.front().seconds, ::testing::DoubleNear(5, 1e-9)) << "40 updates of 0.125 s";
}

TEST(Speed, TheSlowRankIsNamed) {
    RunRecord run = with_times("40,40,8,0,4,4,7,0,0,0");
    EXPECT_EQ(judge_speed(run).limit, profile::Limit::communication) << "ranks.csv comes at the end of a training";
    EXPECT_THAT(judge_speed(run).sentences.front(), HasSubstr("or waiting for a slow rank"));
    const std::string head = "rank,iteration,updates,update_seconds,exposed_exchange_seconds\n";
    run.ranks = Table(head + "0,20,40,8,0.1\n0,40,40,8,4\n1,40,40,8,4\n2,40,40,8,0.1\n");
    EXPECT_EQ(judge_speed(run).limit, profile::Limit::slow_rank);
    EXPECT_THAT(judge_speed(run).sentences.front(), HasSubstr("rank 2"));
    run.ranks = Table(head + "0,40,40,8,4\n1,40,40,8,4.1\n");
    EXPECT_EQ(judge_speed(run).limit, profile::Limit::communication);
    EXPECT_THAT(judge_speed(run).sentences.front(), ::testing::Not(HasSubstr("or waiting for a slow rank")));
}

TEST(Confusion, PairsAndTheMostWrongSample) {
    RunRecord run = MadeUpRun{}.read();
    run.predictions = read_predictions(predictions_json({"cat", "dog"}, "a.jpg"));
    ASSERT_TRUE(run.predictions);
    const Confusion found = judge_confusion(run);
    ASSERT_EQ(found.pairs.size(), 1U);
    EXPECT_EQ(found.pairs[0].count, 2);
    EXPECT_NEAR(found.pairs[0].share, 2.0 / 3, 1e-9);
    EXPECT_EQ(found.count(0, 0), 1);
    EXPECT_EQ(found.count(1, 1), 1);
    EXPECT_EQ(found.count(1, 0), 0);
    EXPECT_THAT(found.worst, ElementsAre(0, 2));
    EXPECT_THAT(found.sentences, Contains(HasSubstr("2 times")));
    EXPECT_THAT(found.sentences, Contains(HasSubstr("a.jpg")));
}

TEST(Confusion, WithoutPredictionsTheTableOfClassesTellsTheWeakest) {
    RunRecord run = MadeUpRun{}.read();
    run.classes = Table(
        "name,iteration,class,label,samples,correct,predicted,accuracy\n"
        "ckpt-1,10,0,cat,4,0,0,0\nckpt-1,10,1,dog,4,4,8,100\nckpt-2,20,0,cat,4,3,3,75\nckpt-2,20,1,dog,4,4,5,100\n");
    const Confusion found = judge_confusion(run);
    ASSERT_EQ(found.classes.size(), 2U);
    EXPECT_EQ(found.weights, "ckpt-2");
    EXPECT_THAT(found.sentences, Contains(HasSubstr("ckpt-2")));
    EXPECT_NEAR(found.classes[0].precision(), 1, 1e-9);
    EXPECT_NEAR(found.classes[1].precision(), 0.8, 1e-9);
    EXPECT_NEAR(found.classes[1].f1(), 8.0 / 9, 1e-9);
    EXPECT_TRUE(std::isnan(ClassResult{}.f1()));
}

TEST(Predictions, DamagedFilesAreNone) {
    const std::string good = predictions_json({"cat", "dog"}, "a.jpg");
    EXPECT_TRUE(read_predictions(good));
    EXPECT_FALSE(read_predictions(""));
    EXPECT_FALSE(read_predictions("[]"));
    EXPECT_FALSE(read_predictions(good.substr(0, good.size() / 2)));
    EXPECT_FALSE(read_predictions(predictions_json({"cat"}, "a.jpg"))) << "a class without a name";
}

TEST(Predictions, OnlyBase64BecomesAPicture) {
    std::string text = predictions_json({"cat", "dog"}, "a.jpg");
    const auto shown = [&] { return read_predictions(text).value().rows[0]; };
    EXPECT_NE(shown().picture, "");
    EXPECT_NE(shown().map, "");
    for (std::size_t at = text.find("/9j/"); at != std::string::npos; at = text.find("/9j/"))
        text.replace(at, 4, "\\\" x");
    EXPECT_EQ(shown().picture, "");
    EXPECT_EQ(shown().map, "");
}

TEST(Comparison, NamesOptionsThatDifferAndResults) {
    MadeUpRun first;
    MadeUpRun second;
    second.dataset = "cifar-100";
    MemoryFiles files;
    first.write(files, "logs/run");
    second.write(files, "logs/other");
    const auto read = [&](const std::string& folder) { return read_run(files, folder, false); };
    const Comparison found = compare_runs({read("logs/run"), read("logs/other")});
    ASSERT_EQ(found.options.size(), 1U) << "names and places are no options";
    EXPECT_EQ(found.options[0].key, "dataset");
    EXPECT_THAT(found.options[0].values, ElementsAre("cifar-10", "cifar-100"));
    EXPECT_THAT(found.sentences, Contains(HasSubstr("50")));
    EXPECT_THAT(found.sentences, Contains(HasSubstr("10 against")));
    EXPECT_TRUE(compare_runs({first.read()}).sentences.empty());
    const Comparison three = compare_runs({read("logs/run"), read("logs/other"), read("logs/run")});
    EXPECT_THAT(three.sentences, Contains(HasSubstr("100 against")));

    second.write(files, "more/run");
    std::vector<RunRecord> runs = {read("logs/run"), read("logs/other"), read("more/run")};
    name_apart(runs);
    EXPECT_EQ(runs[0].name, "logs/run");
    EXPECT_EQ(runs[1].name, "other");
    EXPECT_EQ(runs[2].name, "more/run");
}

TEST(ReadRun, TheFirstCheckpointHasNotLearned) {
    RunRecord run = MadeUpRun{}.read();
    EXPECT_FALSE(run.has_trained_weights());
    run.checkpoint.emplace().iteration = 0;
    EXPECT_FALSE(run.has_trained_weights());
    run.arguments["head_only"] = "true";
    EXPECT_TRUE(run.has_trained_weights());
    run.arguments.clear();
    run.checkpoint->iteration = 1;
    EXPECT_TRUE(run.has_trained_weights());
}

TEST(Comparison, OptionsThatAVersionDoesNotRecordDoNotDiffer) {
    RunRecord old = MadeUpRun{}.read();
    old.arguments.erase("dataset");
    EXPECT_TRUE(compare_runs({MadeUpRun{}.read(), old}).options.empty());
}

TEST(End, FollowsFromLogTablesAndLock) {
    const auto end_of = [](const MadeUpRun& run, bool going = false) { return run.read(going).end; };
    MadeUpRun run;
    EXPECT_EQ(end_of(run), End::finished);
    EXPECT_EQ(end_of(run, true), End::going);
    run.training = {{1, "2.0"}};
    run.log_end = "";
    EXPECT_EQ(end_of(run), End::killed);
    run.log_end = "Stopped by a signal after iteration 10 of 40; ...\n";
    EXPECT_EQ(end_of(run), End::stopped);
    run.log_end += "Command line: cnntrain restore\n";
    EXPECT_EQ(end_of(run), End::killed) << "the restored run was killed";
    run.log_end = "Training ends early, after iteration 10\nTraining loop completed in 1.000s.\n";
    EXPECT_EQ(end_of(run), End::early);
}

TEST(ReadRun, LogLinesMayBeginWithTheDate) {
    MadeUpRun run;
    run.log_end =
        "2026-11-25 11:03:06.000735: I Compilation time: 16.046s.\n"
        "2026-11-25 11:03:06.000735: I Saved checkpoint to a in b/ckpt-3 in 3.040s\n"
        "2026-11-25 11:03:06.000735: I   stage 0: weights and states 63.3 MB, kept\n"
        "2026-11-25 11:03:06.000735: I   stage 1: weights and states 7.9 MB, kept\n";
    const RunRecord record = run.read();
    EXPECT_NEAR(record.log.compile_seconds, 16.546, 1e-9);
    EXPECT_NEAR(record.log.save_seconds, 3.04, 1e-9);
    EXPECT_EQ(record.log.stage_count, 2);
}

TEST(ReadRun, ReadsTheProfile) {
    MemoryFiles files;
    MadeUpRun{}.write(files);
    const std::string path = std::string(kFolder) + "/profile.json";
    write_text(files, path, profile::to_json(made_up_profile(), profile::judge(made_up_profile())));
    ASSERT_TRUE(read_run(files, kFolder, false).profile);
    EXPECT_EQ(read_run(files, kFolder, false).profile->rows.size(), 1U);
    write_text(files, path, "{\"cnntrain_profile\": ");
    EXPECT_FALSE(read_run(files, kFolder, false).profile);
    EXPECT_THAT(read_run(files, kFolder, false).missing, Contains(HasSubstr("profile.json: damaged")));
}

// A run of several ranks that is going, or was killed, has no ranks.csv.
TEST(ReadRun, RanksMayBeMissing) {
    MemoryFiles files;
    MadeUpRun{}.write(files);
    const RunRecord run = read_run(files, kFolder, true);
    EXPECT_EQ(run.ranks.rows(), 0U);
    EXPECT_EQ(judge_speed(run).limit, profile::Limit::operations);
    EXPECT_THAT(run.missing, ::testing::Not(Contains(HasSubstr("ranks.csv"))));
}

TEST(Weights, AreGroupedByTheirNames) {
    MemoryFiles files;
    weights::Checkpoint saved;
    saved.iteration = 1;
    const auto add = [&](const std::string& name, Shape shape, double value) {
        HostTensor tensor(TensorDesc{DType::f32, std::move(shape)});
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            tensor.set(i, value);
        saved.tensors.emplace(name, std::move(tensor));
    };
    for (int layer = 0; layer < 30; ++layer) {
        for (const std::string part : {"a", "b"}) {
            add("all/stage" + std::to_string(layer % 12) + "/layer" + std::to_string(layer) + part + "/kernel", {4, 8},
                layer % 12);
        }
    }
    add("all/stage1/layer1a/kernel/Momentum", {4, 8}, 77);
    add("all/stage1/layer1a/bias", {8}, 77);
    add("all/fc/kernel", {1000, 100}, INFINITY);
    weights::save(files, "c.safetensors", saved);
    const std::vector<WeightGroup> groups = read_weights(files, "c.safetensors");
    std::vector<std::string> names;
    for (const WeightGroup& group : groups)
        names.push_back(group.name);
    ASSERT_EQ(groups.size(), 13U) << "layers would be more than a page can show";
    EXPECT_EQ(names[0], "fc");
    EXPECT_EQ(names[3], "stage2") << "before stage10";
    EXPECT_EQ(groups[3].tensors, 6);
    EXPECT_EQ(groups[3].elements, 6 * 32);
    EXPECT_EQ(groups[3].values, std::vector<double>(6 * 32, 2.0)) << "neither slots nor biases";
    EXPECT_TRUE(groups[0].values.empty());
    EXPECT_GT(groups[0].not_finite, 1000);
    EXPECT_LT(groups[0].not_finite, 10000) << "a sample is enough";
}

TEST(ReadRun, FilesThatAreMissingAreNamed) {
    MemoryFiles files;
    MadeUpRun{}.write(files);
    files.remove(std::string(kFolder) + "/time_split.csv");
    write_text(files, std::string(kFolder) + "/arguments.json", "{\"name\": ");
    const RunRecord run = read_run(files, kFolder, false);
    EXPECT_THAT(run.missing, Contains(HasSubstr("time_split.csv")));
    EXPECT_THAT(run.missing, Contains(HasSubstr("arguments.json: damaged")));
    EXPECT_EQ(run.name, "run") << "that of the folder";
}

TEST(Table, CellsBeyondTheColumnsAreDropped) {
    const Table table("a,b\r\n1,\"x, \"\"y\"\"\"\r\n" + std::string(1000, ',') + "\n2\n3,z\n4,cut");
    ASSERT_EQ(table.rows(), 4);
    EXPECT_EQ(table.text(0, "b"), "x, \"y\"");
    EXPECT_EQ(table.text(1, "a"), "");
    EXPECT_EQ(table.number(2, "a"), 2);
    EXPECT_EQ(table.text(2, "b"), "");
    EXPECT_EQ(table.text(3, "b"), "z");
    EXPECT_EQ(Table(std::string(20'000, ',') + "\n1\n").rows(), 0);
}

TEST(ReadRun, AFolderWithoutARunIsRefused) {
    MemoryFiles files;
    write_text(files, "empty/notes.txt", "nothing");
    write_text(files, "other/arguments.json", R"({"output_dir": "other"})");
    write_text(files, "other/training.csv", "epoch,loss\n1,2.3\n");
    write_text(files, "other/log.txt", "epoch 1: loss 2.3\n");
    EXPECT_EQ(cnntrain::test::kind_of([&] { read_run(files, "other", false); }), ErrorKind::not_found);
    EXPECT_EQ(cnntrain::test::kind_of([&] { read_run(files, "empty", false); }), ErrorKind::not_found);
    EXPECT_EQ(cnntrain::test::kind_of([&] { read_run(files, "absent", false); }), ErrorKind::not_found);
}

}  // namespace
}  // namespace cnntrain::report::test
