// Evaluations take the options of the run whose checkpoints they read.
#include <gtest/gtest.h>

#include "cnntrain/base/io.h"
#include "cnntrain/weights/average.h"
#include "cnntrain/weights/checkpoint.h"
#include "config/parsing.h"
#include "options/read/read.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::options::testing {
namespace {

/// The folder "run" of a training with this line.
MemoryFiles run_of(const std::string& line) {
    MemoryFiles files;
    files.make_directories("run");
    write_text(files, "run/arguments.json", arguments_json(parse(line), {}));
    return files;
}

ParseResult evaluate(const MemoryFiles& files, const std::string& line, Command command = Command::validation,
                     const Environment& environment = test_environment()) {
    return tasks::parse_command_line(command, words(line), environment, files);
}

const std::string kRun = "--restore-path run/ckpt-5 ";

TEST(RecordedRun, GivesModelDataPrecisionAndPreprocessing) {
    const MemoryFiles files = run_of(
        "--dataset imagenet --data-dir /photos --model-size 34 --batch-norm --image-size 96 --normalise-input "
        "--precision 32.32 --micro-batch-size 12 --epochs 3");
    for (const std::string line : {"--restore-path run", "--restore-path run/", "--restore-path run/ckpt-5",
                                   "--restore-path run/ckpt/mean", "--weights run"}) {
        const ParseResult result = evaluate(files, line);
        EXPECT_EQ(image(result).model.size, "34") << line;
        EXPECT_EQ(image(result).model.norm, nn::NormKind::batch);
        EXPECT_EQ(image(result).data.dataset, data::DatasetId::imagenet);
        EXPECT_EQ(image(result).data.data_dir, "/photos");
        EXPECT_EQ(image(result).data.image_size, 96);
        EXPECT_TRUE(image(result).data.normalise_input);
        EXPECT_EQ(result.settings.device.precision, nn::Precision::p32_32);
        EXPECT_EQ(result.settings.training.micro_batch_size, 12);
        EXPECT_EQ(result.at("model_size").source, Source::arguments);
        EXPECT_THAT(result.notices, Not(Contains(HasSubstr("the run has"))));
    }
}

TEST(RecordedRun, GivesTheOptionsThatOnlyItsFamilyHas) {
    const MemoryFiles files = run_of("--model efficientnet --model-size B1 --use-relu " + kImageNet);
    const ParseResult result = evaluate(files, kRun + "--generated-data", Command::inference);
    EXPECT_EQ(image(result).model.family, nn::Family::efficientnet);
    EXPECT_FALSE(image(result).model.efficientnet.swish);
}

TEST(RecordedRun, DoesNotGiveWhatBelongsToACall) {
    const MemoryFiles files = run_of(kCifar +
                                     "--iterations 7 --replicas 2 --backend ref --shards 2 --pipeline "
                                     "--pipeline-splits stage1");
    const ParseResult result = evaluate(files, kRun + "--data-dir /cifar", Command::inference);
    EXPECT_FALSE(result.settings.training.iterations.has_value());
    EXPECT_EQ(result.settings.training.replicas, 1);
    EXPECT_EQ(result.settings.run.backend, backend::BackendKind::cpu);
    EXPECT_EQ(image(result).data.kind, data::DataKind::real);
}

TEST(RecordedRun, YieldsToTheLineWhichIsTold) {
    const MemoryFiles files =
        run_of("--dataset imagenet --data-dir /photos --model-size 34 --micro-batch-size 12 --precision 32.32");
    const ParseResult result = evaluate(
        files, kRun + "--precision 16.32 --micro-batch-size 4 --data-dir /others --dataset imagenet --model resnet");
    EXPECT_EQ(result.settings.device.precision, nn::Precision::p16_32);
    EXPECT_EQ(result.settings.training.micro_batch_size, 4);
    EXPECT_EQ(image(result).data.data_dir, "/others");
    EXPECT_THAT(result.notices, Contains("--precision: the run has 32.32, this line 16.32"));
    EXPECT_THAT(result.notices, Each(Not(AllOf(HasSubstr("the run has"), Not(HasSubstr("--precision"))))));
}

TEST(RecordedRun, YieldsToTheOtherOfTwoNorms) {
    const MemoryFiles files = run_of("--dataset imagenet --data-dir /photos --batch-norm");
    const ParseResult result = evaluate(files, kRun + "--group-norm");
    EXPECT_EQ(image(result).model.norm, nn::NormKind::group);
    EXPECT_THAT(result.notices, Contains("--group-norm: the run has false, this line true"));
    EXPECT_EQ(image(evaluate(files, kRun)).model.norm, nn::NormKind::batch);
}

TEST(RecordedRun, YieldsToAConfiguration) {
    const MemoryFiles files = run_of("--dataset cifar-10 --data-dir /cifar --model-size 32");
    const ParseResult result = evaluate(files, kRun + "--config resnet8_test");
    EXPECT_EQ(image(result).model.size, "8");
    EXPECT_EQ(result.at("model_size").source, Source::config);
    EXPECT_THAT(result.notices, Contains("--model-size: the run has 32, this line 8"));
}

TEST(RecordedRun, HasAnotherDataFolderThanTheEnvironment) {
    const test::TemporaryFolder folder;
    Environment environment = test_environment();
    environment.data_dir = "/of/the/environment";
    const MemoryFiles there = run_of("--dataset cifar-10 --data-dir " + folder.path());
    const ParseResult taken = evaluate(there, kRun, Command::validation, environment);
    EXPECT_EQ(image(taken).data.data_dir, folder.path());
    EXPECT_THAT(taken.notices, Contains(HasSubstr("/of/the/environment")));
    const MemoryFiles gone = run_of("--dataset cifar-10 --data-dir /not/there/any/more");
    EXPECT_EQ(image(evaluate(gone, kRun, Command::validation, environment)).data.data_dir, "/of/the/environment");
}

TEST(RecordedRun, IsInItsCheckpointsAndTheirAverages) {
    const ParseResult trained = parse("--dataset imagenet --data-dir /photos --model-size 34 --normalise-input");
    MemoryFiles files;
    files.make_directories("moved");
    for (const std::string name : {"ckpt-1", "ckpt-2"}) {
        weights::Checkpoint checkpoint;
        checkpoint.iteration = 1;
        checkpoint.metadata[weights::kRunOptionsKey] = evaluation_json(trained);
        checkpoint.tensors.emplace("x", HostTensor::of<float>({1}, {1}));
        weights::save(files, "moved/" + name + ".safetensors", checkpoint);
    }
    weights::average(files, {"moved/ckpt-1.safetensors", "moved/ckpt-2.safetensors"}, {}, "moved/mean.safetensors");
    for (const std::string line :
         {"--restore-path moved/ckpt-2", "--restore-path moved", "--restore-path moved/mean.safetensors"}) {
        const ParseResult result = evaluate(files, line + " --data-dir /others", Command::inference);
        EXPECT_EQ(image(result).model.size, "34") << line;
        EXPECT_TRUE(image(result).data.normalise_input);
    }
    EXPECT_THAT(evaluation_json(trained), Not(HasSubstr("/photos"))) << "no names of files";
}

TEST(RecordedRun, ThatIsDamagedGivesNothingButANotice) {
    MemoryFiles files;
    files.make_directories("run");
    write_text(files, "run/arguments.json", R"({"model_size": 34,)");
    const ParseResult result = evaluate(files, kRun + kCifar);
    EXPECT_EQ(image(result).model.size, "20");
    EXPECT_THAT(result.notices, Contains(HasSubstr("run/arguments.json")));
}

/// New options of the network and its data travel because of what their rows say, not because a list names them.
TEST(RecordedRun, TakesEveryOptionThatChangesEvaluations) {
    constexpr std::uint32_t kEvaluations = kV | kE;
    int taken = 0;
    for (const Option& row : rows_of(Command::train)) {
        const bool acts = row.numerics && (row.acts.in & row.commands & kEvaluations) != 0;
        if (!acts || row.recorded == Recorded::ignored) continue;
        EXPECT_TRUE(is_of_evaluation(row, kEvaluations)) << row.flag;
        ++taken;
    }
    EXPECT_GT(taken, 20);
    const OptionSet& options = tasks::task_table().front().options.options();
    for (const char* const key : {"epochs", "weight_decay", "mixup_alpha", "logs_path", "threads", "init_path"})
        EXPECT_FALSE(is_of_evaluation(options.at(key), kEvaluations)) << key;
}

}  // namespace
}  // namespace cnntrain::options::testing
