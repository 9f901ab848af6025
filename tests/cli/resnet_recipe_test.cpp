// The programs of the large-batch recipe: what their flags mean, and the documented lines run for real on a few images.
#include "cli/resnet_recipe.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "data/fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "support/words.h"

namespace cnntrain::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSpace = "\u00a0";  // between words, in documents

/// Returns " <option> <value> ..." of our own command for `line` and the folders that every line needs.
std::string main_options(const std::string& line, RecipeHost host = {}, const MemoryFiles& files = MemoryFiles()) {
    std::string text;
    for (const std::string& option :
         resnet_main_line("resnet_main.py", test::words("--data_dir=d --model_dir=m " + line), host, files).options)
        text += " " + option;
    return text;
}

std::string main_notices(const std::string& line, RecipeHost host = {}) {
    const RecipeLine result =
        resnet_main_line("resnet_main.py", test::words("--data_dir=d --model_dir=m " + line), host, MemoryFiles());
    std::string text;
    for (const std::string& notice : result.notices)
        text += notice + "\n";
    return text;
}

TEST(ResnetRecipe, NoBreakSpacesAreBlanksWhereTheyJoinAFlagAndItsValue) {
    const std::string space = kSpace;
    EXPECT_EQ(without_no_break_spaces({"--train_steps" + space + "4680", "--data_dir=a" + space + "b", "7" + space,
                                       space, "c" + space + "d", "--x" + space}),
              (std::vector<std::string>{"--train_steps", "4680", "--data_dir=a" + space + "b", "7", "c" + space + "d",
                                        "--x"}));
}

TEST(ResnetRecipe, TheTrainingIsThatOfTheText) {
    EXPECT_EQ(main_options("--train_batch_size 24576 --train_steps 4680 --num_intra_threads 22 --num_inter_threads 2 "
                           "--use_tpu=False --kmp_blocktime 1",
                           {.workers = 512, .cores = 24}),
              " --model resnet --dataset imagenet --batch-norm --normalise-input --precision 32.32 --iterations 4680 "
              "--weight-decay 5e-5 --momentum 0.9 --label-smoothing 0 --data-dir d --model-size 50 --threads 22 "
              "--BN-decay 0.95 --lr-schedule gradual_warmup_then_dec --warmup-start-learning-rate 0.1 "
              "--warmup-iterations 260 --abs-learning-rate 4.8 --no-validation --optimiser nesterov --loss-scaling 1 "
              "--log-freq 1 --keep-ckpts 5 --micro-batch-size 48 --gradient-accumulation-count 1 --logs-path m");
    EXPECT_EQ(main_notices("--num_inter_threads 2 --kmp_blocktime 1", {.workers = 512, .cores = 24}),
              "without effect here: --num_inter_threads and --kmp_blocktime\n"
              "24576 images for each weight update: 48 at once x 1 in turn x 512 workers\n");
}

TEST(ResnetRecipe, FewerWorkersAccumulate) {
    const struct {
        int workers;
        const char* line;
        const char* options;
    } table[] = {
        {512, "", " --micro-batch-size 48 --gradient-accumulation-count 1 "},
        {256, "", " --micro-batch-size 48 --gradient-accumulation-count 2 "},
        {2, "", " --micro-batch-size 48 --gradient-accumulation-count 256 "},
        {1, "", " --micro-batch-size 48 --gradient-accumulation-count 512 "},
        {1024, "", " --micro-batch-size 24 --gradient-accumulation-count 1 "},
        {1, "--train_batch_size 100", " --micro-batch-size 25 --gradient-accumulation-count 4 "},
        {1, "--train_batch_size 4", " --micro-batch-size 4 --gradient-accumulation-count 1 "},
        {1, "--micro_batch_size 16", " --micro-batch-size 16 --gradient-accumulation-count 1536 "},
    };
    for (const auto& [workers, line, options] : table)
        EXPECT_THAT(main_options(line, {.workers = workers}), HasSubstr(options)) << workers << " " << line;
}

TEST(ResnetRecipe, WorkersThatCannotShareTheBatchAreToldWhichCan) {
    const auto message = [](const std::string& line, int workers) {
        return message_of(ErrorKind::usage, [&] { main_options(line, {.workers = workers}); });
    };
    EXPECT_THAT(message("", 500), HasSubstr("--train_batch_size 24576"));
    EXPECT_THAT(message("--train_batch_size 4", 5), HasSubstr("5 workers"));
    EXPECT_THAT(message("--train_batch_size 4", 3), HasSubstr("2 and"));
}

TEST(ResnetRecipe, OwnOptionsAreTakenAsTheyAreAndComeLast) {
    const std::string options = main_options("--dry-run --abs-learning-rate 0.1 --train_steps 3 --seed 5 --no-logs");
    EXPECT_THAT(options, AllOf(HasSubstr(" --iterations 3 "),
                               ::testing::EndsWith(" --logs-path m --dry-run --abs-learning-rate 0.1 "
                                                   "--seed 5 --no-logs")));
    EXPECT_THAT(main_options("--weight-decay 0.1"), HasSubstr("--weight-decay 0.1"));
}

TEST(ResnetRecipe, WrongFlagsAreAnsweredWithTheNearest) {
    const auto message = [](const std::string& line) {
        return message_of(ErrorKind::usage, [&] { main_options(line); });
    };
    EXPECT_THAT(message("--train_batchsize 3"), HasSubstr("'--train-batch-size'"));
    EXPECT_THAT(message("word"), HasSubstr("'word'"));
    EXPECT_THAT(message("--train_steps"), HasSubstr("--train_steps"));
    EXPECT_THAT(message("--train_batch_size 0"), HasSubstr("--train-batch-size"));
    EXPECT_THAT(
        message_of(ErrorKind::usage, [] { resnet_main_line("resnet_main.py", {"--data_dir=d"}, {}, MemoryFiles()); }),
        HasSubstr("--model-dir"));
}

TEST(ResnetRecipe, ATpuIsNotThere) {
    for (const char* no : {"False", "false", "0", "no"})
        EXPECT_NO_THROW(main_options(std::string("--use_tpu=") + no));
    EXPECT_THAT(message_of(ErrorKind::unsupported, [] { main_options("--use_tpu=True"); }), Not(IsEmpty()));
}

TEST(ResnetRecipe, ThreadsAreNotMoreThanCores) {
    EXPECT_THAT(main_options("--num_intra_threads 22", {.cores = 2}), HasSubstr(" --threads 2 "));
    EXPECT_THAT(main_notices("--num_intra_threads 22", {.cores = 2}), HasSubstr("--num_intra_threads 22"));
    EXPECT_THAT(main_options("", {.cores = 2}), HasSubstr(" --threads 0 "));
}

TEST(ResnetRecipe, OtherSizesAreToldWhoseLearningRatesTheyGet) {
    constexpr const char* kRates = "the learning rates are those of the recipe for 4680 updates of 24576 images";
    EXPECT_THAT(main_notices(""), Not(HasSubstr(kRates)));
    EXPECT_THAT(main_notices("--train_batch_size 8192"), HasSubstr(kRates));
    EXPECT_THAT(main_notices("--train_steps 100"), HasSubstr(kRates));
}

TEST(ResnetRecipe, ARunThatIsThereGoesOn) {
    MemoryFiles files;
    files.make_directories("m");
    EXPECT_THAT(main_options("", {}, files), HasSubstr(" --logs-path m"));
    write_text(files, "m/ckpt-52.safetensors", "");
    write_text(files, "m/ckpt-104.safetensors", "");
    EXPECT_THAT(main_options("", {}, files), AllOf(HasSubstr(" --restore-path m"), Not(HasSubstr("--logs-path"))));
    const RecipeLine line = resnet_main_line("resnet_main.py", test::words("--data_dir=d --model_dir=m/"), {}, files);
    EXPECT_THAT(line.notices, Contains(HasSubstr("ckpt-104")));
}

TEST(ResnetRecipe, TheLatestCheckpointIsEvaluated) {
    MemoryFiles files;
    files.make_directories("m");
    const auto options = [&] {
        std::string text;
        const auto words = test::words("--eval_batch_size 200 --data_dir=d --model_dir=m --kmp_blocktime 1 --dry-run");
        for (const std::string& option : resnet_eval_line("resnet_eval.py", words, {}, files).options)
            text += " " + option;
        return text;
    };
    EXPECT_EQ(options(),
              " --model resnet --dataset imagenet --batch-norm --normalise-input --precision 32.32 --micro-batch-size "
              "200 --data-dir d --model-size 50 --threads 0 --restore-path m --logs-path m/eval --dry-run");
    write_text(files, "m/ckpt-52.safetensors", "");
    write_text(files, "m/ckpt-104.safetensors", "");
    EXPECT_THAT(options(), HasSubstr(" --restore-path m/ckpt-104.safetensors "));
}

TEST(ResnetRecipe, WorkersAreTheReplicasOfAllProcesses) {
    EXPECT_EQ(recipe_host({}).workers, 1);
    comm::Launched launched;
    launched.world.emplace().size = 8;
    EXPECT_EQ(recipe_host(launched).workers, 8);
    launched.popdist = comm::PopDist{.replicas = 16, .instances = 8};
    EXPECT_EQ(recipe_host(launched).workers, 16);
}

/// A few photographs as the recipe's TFRecords, one folder for each split.
class RecipeRuns : public ::testing::Test {
protected:
    RecipeRuns() {
        write("train", 10);
        write("validation", 7);
    }

    void write(const std::string& split, int count) {
        std::vector<std::string> records;
        for (int i = 0; i < count; ++i) {
            const std::string photo = data::encode_jpeg(data::make_photo(90 + i, 120, static_cast<std::uint64_t>(i)));
            records.push_back(data::make_example(photo, 1 + i % 3));
        }
        fs::create_directories(folder_ / split);
        data::write_records(folder_ / (split + "/" + split + "-00000-of-00001"), records);
    }

    /// The documented line with its paths replaced and the given numbers.
    Outcome train(const std::string& numbers, const std::string& model_dir, const std::string& more = "",
                  const std::string& launcher = "") const {
        return shell(launcher + CNNTRAIN_PROGRAM + " /somewhere/resnet_main.py " + numbers +
                     " --num_intra_threads 22 --num_inter_threads 2 --data_dir=" + folder_ / "train" + " --model_dir " +
                     folder_ / model_dir + " --use_tpu=False --kmp_blocktime 1 " + more);
    }
    Outcome evaluate(const std::string& model_dir, const std::string& more = "") const {
        return shell("OMP_NUM_THREADS=46 " + std::string(CNNTRAIN_PROGRAM) +
                     " /somewhere/resnet_eval.py --eval_batch_size 4 --num_intra_threads 46 --num_inter_threads 2 "
                     "--data_dir=" +
                     folder_ / "validation" + " --model_dir=" + folder_ / model_dir +
                     " --use_tpu=False --kmp_blocktime 1 " + more);
    }
    std::vector<std::string> rows(const std::string& file) const {
        std::ifstream in(folder_ / file);
        std::vector<std::string> lines;
        for (std::string line; std::getline(in, line);)
            lines.push_back(line);
        return lines;
    }

    test::TemporaryFolder folder_;
};

TEST_F(RecipeRuns, TheDocumentedLinesTrainAndEvaluate) {
    const std::string numbers = "--train_batch_size\u00a04 --train_steps\u00a02";
    const Outcome trained = train(numbers, "model_batch_24k_90ep");
    ASSERT_EQ(trained.exit_code, 0) << trained.text;
    EXPECT_THAT(trained.text, AllOf(HasSubstr("resnet_main.py"), HasSubstr("ResNet-50\n"), HasSubstr("4 images"),
                                    HasSubstr("lr:    0.1,"), HasSubstr("lr: 0.1181,")));
    EXPECT_TRUE(fs::exists(folder_ / "model_batch_24k_90ep/ckpt-2.safetensors"));

    const Outcome again = train(numbers, "model_batch_24k_90ep");
    EXPECT_EQ(again.exit_code, 0) << again.text;
    EXPECT_THAT(again.text, AllOf(HasSubstr("ckpt-2"), Not(HasSubstr("iteration: "))));

    const Outcome evaluated = evaluate("model_batch_24k_90ep");
    ASSERT_EQ(evaluated.exit_code, 0) << evaluated.text;
    EXPECT_THAT(
        evaluated.text,
        ContainsRegex(
            "Evaluation \\[1/2\\]\nEvaluation \\[2/2\\]\n"
            "Finished evaluation at [0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}:[0-9]{2}:[0-9]{2}\n"
            "Saving dict for global step 2: Top-1 accuracy = [0-9.]+, Top-5 accuracy = [0-9.]+, global_step = 2, "
            "loss = [0-9.]+\n"
            "Eval results: \\{'Top-1 accuracy': [0-9.]+, 'loss': [0-9.]+, 'Top-5 accuracy': [0-9.]+, 'global_step': "
            "2\\}"
            "\nValidation top-1 accuracy: "));
    const std::vector<std::string> table = rows("model_batch_24k_90ep/eval/validation.csv");
    ASSERT_EQ(table.size(), 2);
    EXPECT_THAT(table.at(0), HasSubstr(",latency,val_top5_acc,val_loss"));
    EXPECT_THAT(table.at(1), HasSubstr("ckpt-2,2,"));
}

/// Losses of training.csv, without the columns of time.
std::vector<std::string> losses(const std::vector<std::string>& rows) {
    std::vector<std::string> result;
    for (const std::string& row : rows) {
        std::istringstream in(row);
        std::string field;
        std::string kept;
        for (int column = 0; std::getline(in, field, ',') && column < 8; ++column)
            kept += field + ",";
        result.push_back(kept);
    }
    return result;
}

TEST_F(RecipeRuns, TheSameLineGoesOnWithTheNumbersOfARunThatWasNeverStopped) {
    const std::string small = "--resnet_depth 18 --image-size 32 --seed 5";
    ASSERT_EQ(train("--train_batch_size 4 --train_steps 4", "whole", small).exit_code, 0);
    ASSERT_EQ(train("--train_batch_size 4 --train_steps 2", "stopped", small).exit_code, 0);
    ASSERT_EQ(train("--train_batch_size 4 --train_steps 4", "stopped", small).exit_code, 0);
    const std::vector<std::string> expected = losses(rows("whole/training.csv"));
    ASSERT_EQ(expected.size(), 5);
    EXPECT_EQ(losses(rows("stopped/training.csv")), expected);
}

TEST_F(RecipeRuns, AccumulationKeepsTheBatch) {
    const Outcome outcome =
        train("--train_batch_size 6 --train_steps 1 --micro_batch_size 2", "run", "--resnet_depth 18 --image-size 32");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("Batch Size: 6\n  Gradients accumulated over 3 fwds/bwds passes"));
}

/// The column loss_batch.
std::vector<double> batch_losses(const std::vector<std::string>& rows) {
    std::vector<double> result;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        std::istringstream in(rows[i]);
        std::string field;
        for (int column = 0; column <= 4; ++column)
            std::getline(in, field, ',');
        result.push_back(std::stod(field));
    }
    return result;
}

TEST_F(RecipeRuns, TwoProcessesComputeWhatOneAccumulates) {
#ifdef CNNTRAIN_MPIEXEC
    const std::string numbers = "--train_batch_size 4 --train_steps 2";
    const std::string small = "--resnet_depth 18 --image-size 32 --seed 5 --threads 1";
    const Outcome one = train(numbers, "one", small + " --micro_batch_size 2");
    ASSERT_EQ(one.exit_code, 0) << one.text;
    const Outcome two = train(numbers, "two", small,
                              "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " CNNTRAIN_MPIEXEC
                              " -np 2 --oversubscribe --bind-to none ");
    ASSERT_EQ(two.exit_code, 0) << two.text;
    EXPECT_THAT(two.text, HasSubstr("2 workers"));
    const std::vector<double> expected = batch_losses(rows("one/training.csv"));
    const std::vector<double> losses = batch_losses(rows("two/training.csv"));
    ASSERT_EQ(expected.size(), 2);
    ASSERT_EQ(losses.size(), expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i)
        EXPECT_NEAR(losses[i], expected[i], 1e-5 * expected[i]) << i;
#else
    GTEST_SKIP() << "MPI is not installed";
#endif
}

TEST_F(RecipeRuns, WithoutACheckpointThereIsNothingToEvaluate) {
    const Outcome outcome = evaluate("nothing");
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::not_found)) << outcome.text;
}

TEST_F(RecipeRuns, RanksThatCannotShareTheBatchAreRefused) {
    const Outcome outcome = shell(
        "OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=3 "
        "OMPI_COMM_WORLD_LOCAL_RANK=0 " +
        std::string(CNNTRAIN_PROGRAM) + " resnet_main.py --train_batch_size 4 --data_dir=d --model_dir=m --dry-run");
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::usage)) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("3 workers"));
}

}  // namespace
}  // namespace cnntrain::cli
