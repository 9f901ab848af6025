// Options that people type out of habit with other programs.
#include "cnntrain/options/line.h"

#include <set>
#include <tuple>

#include "cnntrain/base/text.h"
#include "config/parsing.h"
#include "options/table/habits.h"
#include "support/matchers.h"

namespace cnntrain::options::testing {
namespace {

OwnWords own(const std::string& line, Command command = Command::train) {
    return in_own_words(tasks::task_table().front().options, command, words(line));
}

/// The line in this program's words.
std::string read(const std::string& line, Command command = Command::train) {
    return joined(own(line, command).words, " ");
}

/// The error of a line that says two things.
std::string refusal(const std::string& line, Command command = Command::train) {
    return own(line, command).refusal;
}

TEST(Habits, WithOneExactMeaningAreReadSo) {
    EXPECT_EQ(read("--lr 0.1"), "--abs-learning-rate 0.1");
    EXPECT_EQ(read("--learning-rate=1e-3"), "--abs-learning-rate 1e-3");
    EXPECT_EQ(read("--wd 5e-4 --workers 4 -b 32"), "--weight-decay 5e-4 --input-threads 4 --micro-batch-size 32");
    EXPECT_EQ(read("--resume RUN"), "--restore-path RUN");
    EXPECT_EQ(read("--output RUN --imgsz 64"), "--logs-path RUN --image-size 64");
    EXPECT_EQ(read("--amp"), "--precision 16.32");
    EXPECT_EQ(read("--precision bf16"), "--precision 16.32");
    EXPECT_EQ(read("--precision FP32"), "--precision 32.32");
    EXPECT_EQ(read("--device cpu"), "--backend cpu");
    EXPECT_EQ(read("--sched cosine"), "--lr-schedule cosine");
    EXPECT_EQ(read("--scheduler CosineAnnealingLR"), "--lr-schedule cosine");
    EXPECT_EQ(read("--optimizer adam"), "--optimiser AdamW --weight-decay 0");
    EXPECT_EQ(read("--optimizer sgd"), "--optimiser sgd");
    EXPECT_EQ(read("--pretrained w.safetensors"), "--init-path w.safetensors");
    EXPECT_EQ(read("--reprob 0.25 --lr-warmup-epochs 5 --test-size 0.1"),
              "--random-erasing 0.25 --warmup-epochs 5 --validation-fraction 0.1");
    EXPECT_EQ(read("--dataset ./photos"), "--data-dir ./photos");
    EXPECT_EQ(read("--data_dir photos --batch_size 8"), "--data-dir photos --batch-size 8");
}

TEST(Habits, ModelsAreFamiliesAndSizes) {
    EXPECT_EQ(read("--model resnet50"), "--model resnet --model-size 50");
    EXPECT_EQ(read("--arch ResNet18"), "--model resnet --model-size 18");
    EXPECT_EQ(read("--model resnext50_32x4d"), "--model resnext --model-size 50 --convolution-groups 32 --group-dim 4");
    EXPECT_EQ(read("-a efficientnet_b3"), "--model efficientnet --model-size B3");
    EXPECT_EQ(read("-a efficientnet_lite0"), "--model efficientnet --model-size Lite0");
    EXPECT_EQ(read("-a efficientnet_v2_s"), "--model efficientnet --model-size V2-s");
    EXPECT_EQ(read("-a efficientnetv2_b0"), "--model efficientnet --model-size V2-b0");
    EXPECT_EQ(image(parse("--model resnet50 --lr 0.1 " + kImageNet)).model.size, "50");
    EXPECT_EQ(image(parse("--arch efficientnet-b3 --lr 0.1 " + kImageNet)).model.family, nn::Family::efficientnet);
}

TEST(Habits, DependOnTheCommand) {
    EXPECT_EQ(read("--weights FILE"), "--init-path FILE");
    EXPECT_EQ(read("--weights FILE --source photo.jpg", Command::inference),
              "--restore-path FILE --data-dir photo.jpg");
    EXPECT_EQ(read("--output found.jsonl", Command::inference), "--predictions found.jsonl");
    EXPECT_EQ(read("--output out", Command::inference), "--logs-path out");
}

TEST(Habits, WordsInFrontAreDataOrARun) {
    EXPECT_EQ(read("photos --epochs 5"), "--data-dir photos --epochs 5");
    EXPECT_EQ(read("photo.jpg --restore-path RUN", Command::inference), "--data-dir photo.jpg --restore-path RUN");
    EXPECT_EQ(read("RUN", Command::validation), "--restore-path RUN");
    EXPECT_EQ(read("RUN", Command::inference), "--restore-path RUN");
    EXPECT_EQ(read("RUN", Command::restore), "--restore-path RUN");
    EXPECT_EQ(read("photos --data-dir others"), "photos --data-dir others") << "refused where the line is parsed";
}

TEST(Habits, WordsOfInferenceAreARunAndItsPhotos) {
    const auto classified = [](const std::string& line) { return read(line, Command::inference); };
    EXPECT_EQ(classified("RUN a.jpg"), "--restore-path RUN --photos a.jpg");
    EXPECT_EQ(classified("RUN a.jpg b.jpg c.jpg"), "--restore-path RUN --photos a.jpg b.jpg c.jpg");
    EXPECT_EQ(classified("--restore-path RUN a.jpg b.jpg"), "--restore-path RUN --photos a.jpg b.jpg");
    EXPECT_EQ(classified("--restore-path RUN a.jpg"), "--restore-path RUN --data-dir a.jpg");
    EXPECT_EQ(classified("a.jpg b.jpg --restore-path RUN"), "--photos a.jpg b.jpg --restore-path RUN");
    EXPECT_EQ(classified("--restore-path RUN --data-dir a.jpg b.jpg"), "--restore-path RUN --photos a.jpg b.jpg");
    EXPECT_EQ(classified("--top-classes 3 RUN a.jpg b.jpg"), "--top-classes 3 --restore-path RUN --photos a.jpg b.jpg");
    EXPECT_EQ(classified("--quiet RUN a.jpg"), "--quiet --restore-path RUN --photos a.jpg");
    EXPECT_EQ(classified("--no-profile=x"), "--no-profile=x") << "a value behind = stays, for its error";
    EXPECT_LT(own("RUN a b c d e f g h i j k l m n o p q r s t u v w x y z", Command::inference).notice.size(), 100U);
    const TaskOptions& texts = *parse("--task text-classification --help").task;
    EXPECT_EQ(joined(in_own_words(texts, Command::inference, words("RUN texts.tsv")).words, " "),
              "--restore-path RUN --data-dir texts.tsv");
}

TEST(Habits, OfOneLetterAreRead) {
    EXPECT_EQ(read("-d photos -m resnet50 -b 32 -e 5"),
              "--data-dir photos --model resnet --model-size 50 --micro-batch-size 32 --epochs 5");
    EXPECT_EQ(read("-q"), "--quiet");
    EXPECT_EQ(read("--verbose 0"), "--quiet");
    EXPECT_EQ(read("-r RUN", Command::validation), "--restore-path RUN");
}

TEST(Habits, OfBertAreInItsOwnTerms) {
    const TaskOptions& texts = *parse("--task text-classification --help").task;
    const auto read_texts = [&](const std::string& line) {
        return joined(in_own_words(texts, Command::train, words(line)).words, " ");
    };
    EXPECT_EQ(read_texts("--lr 2e-5 --wd 0.01"), "--base-learning-rate 2e-5 --weight-decay-rate 0.01");
    EXPECT_EQ(read_texts("--lr-schedule cosine"), "--lr-schedule cosine_decay");
    EXPECT_EQ(read_texts("--val-dir held.tsv"), "--validation-file held.tsv");
}

TEST(Habits, WithoutAnExactMeaningAreRefusedLikeOtherMistakes) {
    for (const std::string line : {"--aa rand-m9-mstd0.5", "--device cuda:0", "--gpus 2", "--precision fp16"}) {
        EXPECT_EQ(read(line), line);
        EXPECT_THAT(usage_error(kCifar + line), HasSubstr(line.substr(0, line.find(' '))));
    }
}

TEST(Habits, AreToldInOneNotice) {
    const std::vector<std::string> notices = parse("--lr 0.1 --workers 4 " + kCifar).notices;
    ASSERT_FALSE(notices.empty());
    EXPECT_EQ(notices.front(), "--lr 0.1 is read as --abs-learning-rate 0.1; --workers 4 as --input-threads 4");
    EXPECT_THAT(own("--model resnet --model-size 50").notice, IsEmpty());
}

TEST(Habits, ThatSayTwoThingsAreRefused) {
    EXPECT_THAT(refusal("--lr 0.1 --abs-learning-rate 0.2"), HasSubstr("--abs-learning-rate 0.1"));
    EXPECT_THAT(refusal("--model resnet50 --model-size 18"), HasSubstr("--model-size 18"));
    EXPECT_THAT(refusal("--optimizer adam --weight-decay 0.1"), HasSubstr("leave"));
    EXPECT_EQ(read("--model resnet50 --model-size 50"), "--model resnet --model-size 50 --model-size 50");
}

/// Lines in this program's own words never depend on the table.
TEST(Habits, NeverTouchWhatWorks) {
    for (const std::string line : {"--lr cosine", "--device 4", "--data-dir x", "--opt LARS", "--model resnext",
                                   "--precision 16.16", "--dataset cifar-10", "--batch-size 8", "--weight-d 0.1"}) {
        EXPECT_EQ(read(line), line);
    }
    EXPECT_EQ(image(parse(kCifar + "--lr cosine")).learning_rate.schedule, optim::LrSchedule::cosine);
    EXPECT_EQ(parse(kCifar + "--device 4").settings.training.device_iterations, 4);
    EXPECT_THAT(usage_error(kCifar + "--lr-schedule cosine", Command::validation), Not(IsEmpty()));
}

TEST(Habits, OfOptionsThatATaskLacksAreUnknown) {
    EXPECT_THAT(test::message_of(
                    ErrorKind::usage,
                    [&] { parse("--config pretrain_tiny_128_lamb --generated-data --imgsz 32", Command::pretrain); }),
                HasSubstr("--imgsz"));
}

TEST(Habits, NoRowHidesBehindAnEarlierOne) {
    std::set<std::tuple<std::string_view, std::string_view, std::string_view, std::uint32_t>> seen;
    for (const Habit& habit : habits()) {
        for (const std::string_view flag : split(habit.flag, ' '))
            EXPECT_TRUE(seen.insert({flag, habit.value, habit.reads, habit.commands}).second) << flag;
        EXPECT_FALSE(habit.reads.empty()) << habit.flag << " " << habit.value;
    }
}

TEST(Habits, OfCommands) {
    EXPECT_EQ(command_of_habit("predict"), "inference");
    EXPECT_EQ(command_of_habit("eval"), "validation");
    EXPECT_EQ(command_of_habit("train"), "");
    EXPECT_EQ(command_of_habit("version"), "--version");
    for (const CommandHabit& habit : command_habits()) {
        if (habit.reads == "--version") continue;
        EXPECT_EQ(name(command_named(habit.reads)), habit.reads) << habit.word;
    }
}

TEST(Suggestions, AreCloseOrSilent) {
    EXPECT_THAT(usage_error(kCifar + "--resu x"), AllOf(HasSubstr("--resu"), Not(HasSubstr("did you mean"))));
    EXPECT_THAT(usage_error(kCifar + "--persistence 3"), Not(HasSubstr("did you mean")));
    EXPECT_THAT(usage_error(kCifar + "--micro-bach-size 3"), HasSubstr("--micro-batch-size"));
    EXPECT_THAT(usage_error(kCifar + "--epocs 3"), HasSubstr("--epochs"));
}

}  // namespace
}  // namespace cnntrain::options::testing
