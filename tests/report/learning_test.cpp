// Judgements on made-up curves: did the network learn?
#include <gtest/gtest.h>

#include <algorithm>

#include "cnntrain/insight/findings.h"
#include "report/made_up_run.h"
#include "support/matchers.h"

namespace cnntrain::report::test {
namespace {

TEST(Learning, BestAndLastOfARunThatLearned) {
    const Learning found = judge_learning(MadeUpRun{}.read());
    EXPECT_EQ(found.verdict, Verdict::learned);
    EXPECT_TRUE(found.by_validation);
    EXPECT_EQ(found.best, 50);
    EXPECT_EQ(found.best_epoch, 4);
    EXPECT_EQ(found.chance, 10);
    EXPECT_TRUE(found.still_improving);
    EXPECT_FALSE(found.overfits_from);
    EXPECT_EQ(found.sentences.front(),
              "It learned: best and last validation accuracy 50 % (epoch 4); guessing gives 10 %.");
    EXPECT_THAT(found.sentences, Contains(HasSubstr("improving")));
}

TEST(Learning, FewSamplesHaveAWideInterval) {
    const Interval few = interval_of(19.0 / 62, 62);
    EXPECT_NEAR(few.low, 0.2058, 1e-4);  // statsmodels.stats.proportion.proportion_confint(19, 62, method="wilson")
    EXPECT_NEAR(few.high, 0.4297, 1e-4);
    EXPECT_NEAR(interval_of(0, 10).low, 0, 1e-12);
    EXPECT_NEAR(interval_of(0, 10).high, 0.2775, 1e-4);
    RunRecord run = MadeUpRun{}.read();
    const Learning many = judge_learning(run);
    EXPECT_NEAR(many.low, 49.02, 0.01);
    EXPECT_NEAR(many.high, 50.98, 0.01);
}

/// 62 validated photos, of which a sixth is of one class.
RunRecord with_few_photos(const std::vector<double>& accuracies) {
    RunRecord run = MadeUpRun{}.read();
    std::string rows = "name,iteration,epoch,val_acc,val_size\n";
    for (std::size_t i = 0; i < accuracies.size(); ++i) {
        const std::string epoch = std::to_string(i + 1);
        rows += "ckpt-" + epoch + "0," + epoch + "0," + epoch + "," + std::to_string(accuracies[i]) + ",62\n";
    }
    run.validation = Table(rows);
    std::string classes = "name,iteration,class,label,samples,correct,predicted\n";
    for (int c = 0; c < 12; ++c)
        classes += "ckpt-1,1," + std::to_string(c) + ",c," + (c == 3 ? "10" : c < 8 ? "5" : "4") + ",1,1\n";
    run.classes = Table(classes);
    return run;
}

TEST(Learning, MustBeatTheLargestClassAndLast) {
    const Learning luck = judge_learning(with_few_photos({16, 30.65, 20, 17.7}));
    EXPECT_NEAR(luck.largest_class, 100.0 * 10 / 61, 0.01);
    EXPECT_EQ(luck.verdict, Verdict::little) << "the luckiest look, which did not last";
    EXPECT_NEAR(luck.low, 20.6, 0.1);
    EXPECT_EQ(judge_learning(with_few_photos({16, 45, 60})).verdict, Verdict::learned);
    EXPECT_EQ(judge_learning(with_few_photos({16, 90, 10})).verdict, Verdict::learned) << "and forgot it";
    EXPECT_EQ(judge_learning(with_few_photos({16, 17, 17})).verdict, Verdict::none);
}

/// 1000 validated samples of two classes, of which 900 are of one.
RunRecord with_unequal_classes(double accuracy, double balanced) {
    RunRecord run = MadeUpRun{}.read();
    std::string rows = "name,iteration,epoch,val_acc,val_size,balanced_acc\n";
    for (const char* const epoch : {"1", "2", "3"}) {
        rows += std::string("a,") + epoch + "0," + epoch + "," + std::to_string(accuracy) + ",1000," +
                std::to_string(balanced) + "\n";
    }
    run.validation = Table(rows);
    run.classes = Table("name,iteration,class,label,samples,correct,predicted\na,1,0,c,900,1,1\na,1,1,d,100,1,1\n");
    return run;
}

TEST(Learning, UnequalClassesAreJudgedByTheMeanOfTheirAccuracies) {
    const Learning better = judge_learning(with_unequal_classes(91, 69));
    EXPECT_EQ(better.verdict, Verdict::learned);
    EXPECT_EQ(better.balanced, 69);
    EXPECT_EQ(better.largest_class, 90);
    EXPECT_EQ(judge_learning(with_unequal_classes(90, 50)).verdict, Verdict::none);
    EXPECT_EQ(judge_learning(with_unequal_classes(90.4, 53)).verdict, Verdict::little);
}

TEST(Learning, FewUpdatesOrSamplesAreNotJudged) {
    MadeUpRun run;
    run.validation = {{0, 2.3, 10}};
    EXPECT_EQ(judge_learning(run.read()).verdict, Verdict::unknown) << "weights before the first update";
    run.validation = {{0.5, 2.3, 10}, {0.9, 2.3, 10}};
    EXPECT_EQ(judge_learning(run.read()).verdict, Verdict::unknown) << "nine updates";
    run.validation = {{1, 2.3, 10}, {2, 2.3, 10}};
    EXPECT_EQ(judge_learning(run.read()).verdict, Verdict::none);
    run.validation = {{0.2, 2.3, 10}, {0.4, 1.3, 60}};
    EXPECT_EQ(judge_learning(run.read()).verdict, Verdict::learned);
    RunRecord few = MadeUpRun{}.read();
    few.validation = Table("name,iteration,epoch,val_acc,val_size\na,10,1,12.5,8\nb,20,2,12.5,8\n");
    EXPECT_EQ(judge_learning(few).verdict, Verdict::unknown) << "eight samples";
}

TEST(Learning, ATrendHasADirection) {
    const auto last_sentence = [](double third) {
        MadeUpRun run;
        run.validation = {{1, 2, 30}, {2, 1.9, 40}, {3, 1.9, third}};
        return judge_learning(run.read()).sentences.at(1);
    };
    EXPECT_THAT(last_sentence(40.2), HasSubstr("0.2"));
    EXPECT_THAT(last_sentence(39), HasSubstr("worse by 1 "));
    EXPECT_THAT(last_sentence(40), Not(HasSubstr("by")));
}

TEST(Learning, AGapBetweenTrainingAndValidationIsTold) {
    RunRecord run = MadeUpRun{}.read();
    EXPECT_FALSE(judge_learning(run).gap_is_large);
    EXPECT_NEAR(judge_learning(run).gap, 30 - 50, 1e-9);
    const auto no_gap = [](const RunRecord& one) {
        return std::ranges::any_of(judge_learning(one).sentences,
                                   [](const std::string& text) { return text.starts_with("No over-fitting"); });
    };
    EXPECT_TRUE(no_gap(run));
    run.training = Table(
        "iteration,epoch,loss_batch,loss_avg,train_acc_batch,train_acc_avg\n10,1,2,2,60,60\n40,4,0.1,0.1,97,97\n");
    run.validation = Table(
        "name,iteration,epoch,val_acc,val_size,val_loss\na,10,1,50,120,1.6\nb,20,2,60,120,1.5\nc,40,4,62,120,1.5\n");
    EXPECT_TRUE(judge_learning(run).gap_is_large);
    EXPECT_NEAR(judge_learning(run).gap, 35, 1e-9);
    EXPECT_FALSE(no_gap(run));
}

TEST(Learning, GuessingIsNotLearning) {
    MadeUpRun run;
    run.validation = {{1, 2.3, 10.1}, {2, 2.3, 9.9}, {3, 2.3, 10.2}};
    const Learning found = judge_learning(run.read());
    EXPECT_EQ(found.verdict, Verdict::none);
    EXPECT_FALSE(found.still_improving);
    EXPECT_THAT(found.sentences.front(), HasSubstr("10.2"));
}

TEST(Learning, OverfittingBeginsWhereTheValidationLossIsLeast) {
    MadeUpRun run;
    run.training = {{1, "2.0"}, {2, "1.5"}, {3, "1.0"}, {4, "0.6"}, {5, "0.3"}, {6, "0.1"}};
    run.validation = {{1, 2.0, 30}, {2, 1.6, 45}, {3, 1.5, 50}, {4, 1.7, 50}, {5, 1.9, 50}, {6, 2.2, 50}};
    const Learning found = judge_learning(run.read());
    ASSERT_TRUE(found.overfits_from);
    EXPECT_EQ(*found.overfits_from, 3);
    EXPECT_THAT(found.sentences, Contains(HasSubstr("over-fitted")));
}

TEST(Learning, AGrowingValidationLossWithoutAFallingTrainingLossIsNoOverfitting) {
    MadeUpRun run;
    run.training = {{1, "1.0"}, {2, "1.0"}, {3, "1.0"}, {4, "1.2"}, {5, "1.4"}, {6, "1.6"}};
    run.validation = {{1, 1.6, 30}, {2, 1.5, 45}, {3, 1.7, 50}, {4, 1.8, 50}, {5, 1.9, 50}, {6, 2.2, 50}};
    EXPECT_FALSE(judge_learning(run.read()).overfits_from);
}

TEST(Learning, AWobbleIsNoOverfitting) {
    const Curve validation{{1, 2, 3, 4, 5}, {2, 1.5, 1.505, 1.502, 1.51}};
    const Curve training{{1, 2, 3, 4, 5}, {2, 1.5, 1.2, 1.0, 0.8}};
    EXPECT_FALSE(overfitting_epoch(validation, training));
    const Curve growing{{1, 2, 3, 4, 5}, {2, 1.5, 1.7, 1.8, 2}};
    EXPECT_EQ(overfitting_epoch(growing, training), 2);
}

TEST(Learning, ALossThatIsNoNumberDiverged) {
    for (const char* const loss : {"nan", "inf", "-nan"}) {
        MadeUpRun run;
        run.training = {{1, "2.3"}, {2, "2.0"}, {3, loss}};
        run.log_end = "";
        const Learning found = judge_learning(run.read());
        EXPECT_EQ(found.verdict, Verdict::diverged) << loss;
        EXPECT_THAT(found.sentences.front(), HasSubstr("epoch 3"));
    }
}

TEST(Learning, TheErrorThatEndedARunIsTold) {
    MadeUpRun run;
    run.training.clear();
    run.validation.clear();
    run.log_end = "error: training diverged: the loss of iteration 3 is nan\n";
    const RunRecord record = run.read();
    EXPECT_EQ(record.end, End::diverged);
    EXPECT_THAT(judge_learning(record).sentences.front(), HasSubstr("3 is"));
}

TEST(Learning, OneRowSaysLittle) {
    MadeUpRun run;
    run.training = {{1, "2.3"}};
    run.validation.clear();
    const Learning found = judge_learning(run.read());
    EXPECT_EQ(found.verdict, Verdict::unknown);
    EXPECT_FALSE(found.still_improving);
    EXPECT_EQ(found.best, 2.3);
    EXPECT_THAT(found.sentences, Contains(HasSubstr("known")));
}

TEST(Learning, NoRowsSayNothing) {
    MadeUpRun run;
    run.training.clear();
    run.validation.clear();
    EXPECT_EQ(judge_learning(run.read()).verdict, Verdict::unknown);
}

TEST(Learning, WithoutValidationTheTrainingDecides) {
    MadeUpRun run;
    run.validation.clear();
    run.training.clear();
    for (int i = 1; i <= 40; ++i)
        run.training.push_back({0.1 * i, std::to_string(2.5 - 0.03 * i)});
    EXPECT_EQ(judge_learning(run.read()).verdict, Verdict::learned);
    for (std::size_t i = 0; i < run.training.size(); ++i)
        run.training[i].loss = i % 2 == 0 ? "2.31" : "2.29";
    const Learning flat = judge_learning(run.read());
    EXPECT_EQ(flat.verdict, Verdict::none);
    EXPECT_THAT(flat.sentences, Not(Contains(HasSubstr("over-fitted"))));
}

TEST(Learning, ARowThatWasCutIsNone) {
    MemoryFiles files;
    MadeUpRun{}.write(files);
    files.append(std::string(kFolder) + "/training.csv", "50,50,5.0,0.1,na");
    const RunRecord run = read_run(files, kFolder, false);
    EXPECT_EQ(run.training.rows(), 4U);
    EXPECT_EQ(judge_learning(run).verdict, Verdict::learned);
}

}  // namespace
}  // namespace cnntrain::report::test
