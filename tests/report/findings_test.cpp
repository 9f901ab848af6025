// What limited the speed, what is confused, what differs; how runs ended.
#include <gtest/gtest.h>

#include "cnntrain/report/findings.h"
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

TEST(Speed, EachLimitIsNamed) {
    const auto limit = [](const std::string& row) { return judge_speed(with_times(row)).limit; };
    EXPECT_EQ(limit("100,100,10,0.2,0,0,18,0.1,0.2,0"), Limit::compute);
    EXPECT_EQ(limit("100,100,10,6,0,0,8,0.1,0.2,0"), Limit::input);
    EXPECT_EQ(limit("100,100,10,0.2,5,4,18,0.1,0.2,0"), Limit::communication);
    EXPECT_EQ(limit("100,100,10,3,5,4,18,0.1,0.2,0"), Limit::communication);
    EXPECT_EQ(limit("100,100,10,0.2,5,0.3,18,0.1,0.2,0"), Limit::compute) << "what is hidden costs nothing";
    EXPECT_EQ(limit("100,100,10,0.2,0,0,10,6,9,0"), Limit::waiting);
    EXPECT_EQ(limit("100,100,10,0.2,0,0,10,6,0,0"), Limit::compute) << "threads that wait for each other";
    EXPECT_EQ(limit("100,100,10,0.2,0,0,5,0,0,9000"), Limit::memory);
}

TEST(Speed, SharesAreOfTheTimeInUpdates) {
    const Speed found = judge_speed(with_times("100,100,10,6,0,0,8,0.1,0.2,0"));
    EXPECT_THAT(found.sentences.front(), HasSubstr("60 %"));
    ASSERT_EQ(found.update_parts.size(), 2U);
    EXPECT_EQ(found.update_parts[0].seconds, 4);
    EXPECT_EQ(found.samples_per_second, 512);
    EXPECT_THAT(found.sentences, Contains(HasSubstr("512 images per second")));
}

TEST(Speed, ARunOfAnEarlierVersionHasNoTimes) {
    RunRecord run = MadeUpRun{}.read();
    run.times = Table();
    const Speed found = judge_speed(run);
    EXPECT_EQ(found.limit, Limit::unknown);
    EXPECT_THAT(found.sentences.front(), HasSubstr("earlier version"));
    EXPECT_THAT(found.run_parts.front().seconds, ::testing::DoubleNear(5, 1e-9)) << "40 updates of 0.125 s";
}

TEST(Speed, TheSlowRankIsNamed) {
    RunRecord run = MadeUpRun{}.read();
    const std::string head = "rank,iteration,updates,update_seconds,exposed_exchange_seconds\n";
    run.ranks = Table(head + "0,40,40,8,4\n1,40,40,8,4\n2,40,40,8,0.1\n");
    EXPECT_THAT(judge_speed(run).sentences, Contains(HasSubstr("Rank 2 is the slowest of 3")));
    run.ranks = Table(head + "0,40,40,8,1\n1,40,40,8,1.1\n");
    EXPECT_THAT(judge_speed(run).sentences, Contains(HasSubstr("equally fast")));
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
    EXPECT_THAT(found.sentences, Contains(HasSubstr("cat taken for dog (2 times, 67 % of cat)")));
    EXPECT_THAT(found.sentences, Contains(HasSubstr("a.jpg, cat (1.0 %), taken for dog (99.0 %)")));
}

TEST(Confusion, WithoutPredictionsTheTableOfClassesTellsTheWeakest) {
    RunRecord run = MadeUpRun{}.read();
    run.classes = Table(
        "name,iteration,class,label,samples,correct,predicted,accuracy\n"
        "ckpt-1,10,0,cat,4,0,0,0\nckpt-1,10,1,dog,4,4,8,100\nckpt-2,20,0,cat,4,3,3,75\nckpt-2,20,1,dog,4,4,5,100\n");
    const Confusion found = judge_confusion(run);
    ASSERT_EQ(found.classes.size(), 2U);
    EXPECT_THAT(found.sentences, Contains(HasSubstr("Weakest class: cat, of which 75 % (3 of 4)")));
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
    const std::size_t at = text.find("/9j/");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 4, "\\\" x");
    const auto found = read_predictions(text);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->rows[0].picture, "");
}

TEST(Comparison, NamesOptionsThatDifferAndResults) {
    MadeUpRun first;
    MadeUpRun second;
    second.name = "other";
    second.dataset = "cifar-100";
    const Comparison found = compare_runs({first.read(), second.read()});
    ASSERT_EQ(found.options.size(), 1U) << "names and places are no options";
    EXPECT_EQ(found.options[0].key, "dataset");
    EXPECT_THAT(found.options[0].values, ElementsAre("cifar-10", "cifar-100"));
    EXPECT_THAT(found.sentences, Contains(HasSubstr("RN20 against other: best validation accuracy 50 % against 50 %")));
    EXPECT_THAT(found.sentences, Contains(HasSubstr("dataset (cifar-10 against cifar-100)")));
    EXPECT_TRUE(compare_runs({first.read()}).sentences.empty());
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

TEST(ReadRun, AFolderWithoutARunIsRefused) {
    MemoryFiles files;
    write_text(files, "empty/notes.txt", "nothing");
    EXPECT_EQ(cnntrain::test::kind_of([&] { read_run(files, "empty", false); }), ErrorKind::not_found);
    EXPECT_EQ(cnntrain::test::kind_of([&] { read_run(files, "absent", false); }), ErrorKind::not_found);
}

}  // namespace
}  // namespace cnntrain::report::test
