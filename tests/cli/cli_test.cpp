// The program itself: help, exit codes, messages for bad input, documented lines.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "cnntrain/options/commands.h"
#include "data/fixtures.h"
#include "support/matchers.h"
#include "support/suite_folder.h"

namespace cnntrain::cli {
namespace {

/// Data and a run made once: 2 iterations of ResNet-8.
class Program : public test::SuiteFolder<Program> {
public:
    static void prepare() {
        ASSERT_EQ(run("dataset cifar --output-dir " + data_folder() + " --train 40 --test 20").exit_code, 0);
        ASSERT_EQ(run(train_line("run")).exit_code, 0);
    }

protected:
    static std::string data_folder() { return *folder_ / "cifar-data"; }
    static std::string run_folder() { return *folder_ / "run"; }
    static std::string model() { return " --dataset cifar-10 --model-size 8 --micro-batch-size 8 --threads 1 "; }
    static std::string train_line(const std::string& run) {
        return "train.py --data-dir " + data_folder() + model() + "--iterations 2 --log-freq 2 --logs-path " +
               *folder_ / run;
    }
};

TEST(Help, ListsEveryCommand) {
    for (const char* arguments : {"", "--help", "help"}) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.exit_code, 0);
        EXPECT_THAT(outcome.text, StartsWith("usage: cnntrain <command>"));
        for (const auto& info : options::commands()) {
            EXPECT_THAT(outcome.text, HasSubstr("\n  " + std::string(info.name) + " "));
        }
    }
}

TEST(Help, CommandsExplainTheirOptions) {
    struct Help {
        const char* typed;
        const char* usage;
    };
    for (const Help& help : {Help{"train", "usage: cnntrain train [options]\n"},
                             {"validation.py", "usage: validation.py [options]\n"},
                             {"some/folder/train.py", "usage: train.py [options]\n"},
                             {"restore", "usage: cnntrain restore [options]\n"},
                             {"inference_embedded.py", "usage: inference_embedded.py [options]\n"},
                             {"average", "usage: cnntrain average [options]\n"},
                             {"weight_avg.py", "usage: weight_avg.py [options]\n"},
                             {"analyse_checkpoints.py", "usage: analyse_checkpoints.py [options]\n"},
                             {"dataset imagenet", "usage: cnntrain dataset imagenet [options]\n"},
                             {"imagenet_to_gcs.py", "usage: imagenet_to_gcs.py [options]\n"},
                             {"resnet_main.py", "usage: resnet_main.py [options]\n"},
                             {"some/folder/resnet_eval.py", "usage: resnet_eval.py [options]\n"},
                             {"benchmark", "usage: cnntrain benchmark [options]\n"},
                             {"-m examples_utils benchmark", "usage: examples_utils benchmark [options]\n"}}) {
        const Outcome outcome = run(std::string(help.typed) + " --help");
        EXPECT_EQ(outcome.exit_code, 0);
        EXPECT_THAT(outcome.text, StartsWith(help.usage));
    }
    EXPECT_THAT(run("dataset --help").text, HasSubstr("imagenet"));
    EXPECT_THAT(run("dataset cifar --help").text, HasSubstr("--output-dir"));
}

TEST(Commands, AllAreThere) {
    for (const auto& info : options::commands())
        EXPECT_EQ(run(std::string(info.name) + " --help").exit_code, 0) << info.name;
}

TEST(Commands, UnknownOnesAreAnsweredWithTheNearest) {
    expect_error("trein", ErrorKind::usage, {"'trein'"});
    expect_error("dataset cifr", ErrorKind::usage, {"'cifar'"});
    expect_error("dataset cifar --otput-dir x", ErrorKind::usage, {"'--output-dir'"});
    expect_error("dataset cifar", ErrorKind::usage, {"--output-dir"});
    expect_error("dataset cifar --output-dir x --train many", ErrorKind::usage, {"--train"});
}

TEST_F(Program, TrainsValidatesAndNamesTheCheckpoint) {
    const Outcome outcome = run(train_line("train"));
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.text, StartsWith("Command line: "));
    EXPECT_THAT(outcome.text, ContainsRegex("Saved checkpoint to .*/train/ckpt-2 in "));
    EXPECT_THAT(outcome.text, ContainsRegex("Validation top-1 accuracy: +[0-9.]+ % \\[ckpt-2\\]"));
}

TEST_F(Program, ValidatesOneCheckpointOrAll) {
    const std::string line = "validation.py --no-logs --data-dir " + data_folder() + model() + "--restore-path ";
    EXPECT_THAT(run(line + run_folder() + "/ckpt-2").text, HasSubstr("[ckpt-2] (iteration:      2,"));
    const Outcome all = run(line + run_folder());
    EXPECT_THAT(all.text, AllOf(HasSubstr("[ckpt-0]"), HasSubstr("[ckpt-2]")));
    expect_error(line + *folder_ / "nothing", ErrorKind::not_found, {});
}

TEST_F(Program, RestoresARun) {
    const Outcome outcome = run("restore.py --restore-path " + run_folder());
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.text, HasSubstr("Restoring training from latest checkpoint: " + run_folder() + "/ckpt-2"));
}

TEST_F(Program, ClassifiesADataSetAndAFolderOfImages) {
    const std::string logs = *folder_ / "classes";
    const Outcome set = run("inference --data-dir " + data_folder() + model() + "--restore-path " + run_folder() +
                            "/ckpt-2 --logs-path " + logs);
    EXPECT_EQ(set.exit_code, 0) << set.text;
    EXPECT_THAT(set.text, AllOf(HasSubstr("20 images"), ContainsRegex("top-1 accuracy: [0-9.]+ %")));
    EXPECT_THAT(data::read_file(logs + "/predictions.csv"), StartsWith("image,label,class_1,probability_1"));

    ASSERT_EQ(std::system(("mkdir " + (*folder_ / "photos")).c_str()), 0);
    data::write_file(*folder_ / "photos/a.jpg", data::encode_jpeg(data::make_photo(70, 60)));
    const Outcome folder =
        run("inference --no-logs --threads 1 --dataset imagenet --image-size 64 --model-size 18 "
            "--micro-batch-size 2 --data-dir " +
            *folder_ / "photos");
    EXPECT_EQ(folder.exit_code, 0) << folder.text;
    EXPECT_THAT(folder.text, ContainsRegex("\na\\.jpg:( [0-9]+ \\([0-9.e-]+\\)){5}\n"));

    data::write_file(*folder_ / "photos/b.png", data::encode_png(data::make_photo(70, 60)));
    const Outcome photo =
        run("inference --no-logs --threads 1 --dataset imagenet --image-size 64 --model-size 18 "
            "--micro-batch-size 2 --data-dir " +
            *folder_ / "photos/b.png");
    EXPECT_EQ(photo.exit_code, 0) << photo.text;
    EXPECT_THAT(photo.text, AllOf(ContainsRegex("\nb\\.png:( [0-9]+ \\([0-9.e-]+\\)){5}\n"), Not(HasSubstr("a.jpg"))));
}

TEST_F(Program, ImagesThatCannotBeDecodedAreLeftOutOfClassification) {
    const std::string photos = *folder_ / "some-damaged";
    ASSERT_EQ(std::system(("mkdir " + photos).c_str()), 0);
    for (const char* name : {"/a.jpg", "/c.jpg", "/d.jpg"})
        data::write_file(photos + name, data::encode_jpeg(data::make_photo(70, 60)));
    data::write_file(photos + "/b.jpg", "no photograph");
    const std::string line =
        "inference --threads 1 --dataset imagenet --image-size 64 --model-size 18 --micro-batch-size 2 --data-dir " +
        photos + " --logs-path " + photos + "/out ";
    const Outcome outcome = run(line);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("some-damaged/b.jpg"), HasSubstr("JPEG"), HasSubstr("1 of 4"),
                                    HasSubstr(": 3 images, throughput: ")));
    EXPECT_THAT(data::read_file(photos + "/out/predictions.csv"),
                ContainsRegex("^image,[^\n]*\na\\.jpg,-1,[^\n]*\nc\\.jpg,-1,[^\n]*\nd\\.jpg,-1,[^\n]*\n$"));
    expect_error(line + "--overwrite --strict-data", ErrorKind::data, {"some-damaged/b.jpg"});
}

TEST_F(Program, NamesThatAreNotUtf8AreRefused) {
    expect_error("train --dataset cifar-10 --data-dir /data/$(printf 'caf\\351')", ErrorKind::usage,
                 {"--data-dir", "not UTF-8"});
}

TEST_F(Program, ARunThatSavesNothingLeavesNoFolder) {
    const std::string folders = "ls -d /tmp/RN8_bs7_BN_16.16_* 2>/dev/null | wc -l";
    const std::string before = shell(folders).text;
    const Outcome outcome = run("train --no-logs --ckpts-per-epoch 0 --no-validation --iterations 1 --data-dir " +
                                data_folder() + model() + "--micro-batch-size 7");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_EQ(shell(folders).text, before);
}

TEST_F(Program, ARunOnTheEmulatorSaysSoFirstAndInItsRates) {
    const std::string options = " --backend ipu --precision 16.16";
    const Outcome outcome = run(train_line("emulated") + options);
    if (outcome.text.find("was built without --backend ipu") != std::string::npos) GTEST_SKIP();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("IPU"));  // after the notice on --threads
    EXPECT_LT(outcome.text.find("An emulator runs"), outcome.text.find("Command line: "));
    EXPECT_THAT(outcome.text, ContainsRegex("throughput: +[0-9.]+ emulated samples/sec"));
    EXPECT_THAT(outcome.text, Not(ContainsRegex("[0-9] samples/sec")));
    EXPECT_THAT(outcome.text, HasSubstr("1 replica"));
    const Outcome dry = run(train_line("replicas") + options + " --replicas 2 --dry-run");
    EXPECT_EQ(dry.exit_code, 0) << dry.text;
    EXPECT_THAT(dry.text, HasSubstr("IPU"));
    EXPECT_THAT(dry.text, HasSubstr("2 replicas"));
    EXPECT_THAT(dry.text, HasSubstr("with equal weights on the IPUs of each\n"));
}

TEST_F(Program, ATrapOfTheEmulatorEndsTheRunAsDiverged) {
    const Outcome outcome =
        run(train_line("trap") + " --backend ipu --fp-exceptions --loss-scaling 1e38 --precision 16.16 --no-logs");
    if (outcome.text.find("was built without --backend ipu") != std::string::npos) GTEST_SKIP();
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::diverged)) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("--fp-exceptions"));
}

TEST_F(Program, PrintsTheConfiguration) {
    const Outcome outcome = run(train_line("unused") + " --print-config");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.text, ContainsRegex("  model_size +8 +command line"));
}

TEST_F(Program, ADryRunTellsAlsoWhatCannotBeDoneYet) {
    expect_error("train --config resnet50_gn_16ipus --data-dir /no/imagenet --distributed --dry-run",
                 ErrorKind::unsupported, {"available", "--distributed"});
}

TEST_F(Program, RefusesWhatItCannotDoByName) {
    expect_error(train_line("x") + " --distributed", ErrorKind::unsupported, {"available", "--distributed"});
}

TEST_F(Program, RefusesBadOptions) {
    expect_error(train_line("x") + " --lerning-rate-decay 1", ErrorKind::usage,
                 {"--lerning-rate-decay", "--learning-rate-decay"});
    expect_error(train_line("x") + " --config resnet8_tset", ErrorKind::usage, {"resnet8_test"});
    expect_error(train_line("x") + " --batch-norm --group-norm", ErrorKind::usage, {"--batch-norm and --group-norm"});
    expect_error(train_line("x") + " --image-size 33", ErrorKind::usage, {"33", "32"});
    expect_error(train_line("x") + " --model-size 9", ErrorKind::usage, {"9"});
    expect_error("train", ErrorKind::usage, {"--data-dir"});
}

TEST_F(Program, ReportsMissingAndDamagedCifarFiles) {
    const std::string options = model() + "--no-logs --iterations 1";
    expect_error("train --data-dir /nowhere/cifar" + options, ErrorKind::data, {"/nowhere/cifar", "cifar-10"});
    const std::string copy = *folder_ / "copy-of-cifar";
    ASSERT_EQ(std::system(("cp -r " + data_folder() + " " + copy).c_str()), 0);
    const std::string file = copy + "/cifar-10-batches-bin/data_batch_2.bin";
    std::string bytes = data::read_file(file);
    data::write_file(file, bytes.substr(0, bytes.size() - 100));
    expect_error("train --data-dir " + copy + options, ErrorKind::data, {"data_batch_2.bin"});
    bytes[0] = 77;
    data::write_file(file, bytes);
    expect_error("train --data-dir " + copy + options, ErrorKind::data, {"data_batch_2.bin", "77"});
}

TEST_F(Program, ReportsDamagedTfRecords) {
    const std::string folder = *folder_ / "imagenet-data";
    ASSERT_EQ(std::system(("mkdir " + folder).c_str()), 0);
    const std::string file = folder + "/train-00000-of-00001";
    const std::string line = "train --data-dir " + folder +
                             " --dataset imagenet --image-size 32 --model-size 18 --micro-batch-size 2 --threads 1 "
                             "--no-logs --no-validation --iterations 1 --ckpts-per-epoch 0";
    const std::string photo = data::encode_jpeg(data::make_photo(40, 40));
    const auto write = [&](const std::string& jpeg, int label) {
        data::write_records(file, {data::make_example(photo, 1), data::make_example(jpeg, label)});
    };
    write(photo, 2);
    EXPECT_EQ(run(line).exit_code, 0);
    const std::string good = data::read_file(file);

    std::string flipped = good;
    flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 4);
    data::write_file(file, flipped);
    expect_error(line, ErrorKind::data, {"00000", "record"});
    data::write_file(file, good.substr(0, good.size() - 30));
    expect_error(line, ErrorKind::data, {"00000"});
    data::write_file(file, "this is a text file, and not a short one");
    expect_error(line, ErrorKind::data, {"00000"});
    write("no JPEG", 2);
    expect_error(line + " --strict-data", ErrorKind::data, {"00000", "JPEG"});
    const Outcome replaced = run(line);
    EXPECT_EQ(replaced.exit_code, 0);
    EXPECT_THAT(replaced.text, HasSubstr("1 training"));
    EXPECT_THAT(replaced.text, HasSubstr("the next record replaces it"));
    write(photo, 5000);
    expect_error(line, ErrorKind::data, {"00000", "5000"});
}

TEST_F(Program, ReportsBadCheckpoints) {
    const std::string line = "validation --no-logs --data-dir " + data_folder() + " --dataset cifar-10 --threads 1 ";
    expect_error(line + "--model-size 14 --restore-path " + run_folder() + "/ckpt-2", ErrorKind::data,
                 {"all/stage1/unit2/conv1/weight", "all/stage3/unit2/conv2/weight"});
    const std::string bytes = data::read_file(run_folder() + "/ckpt-2.safetensors");
    data::write_file(*folder_ / "ckpt-9.safetensors", bytes.substr(0, bytes.size() / 2));
    expect_error(line + "--model-size 8 --restore-path " + *folder_ / "ckpt-9", ErrorKind::data,
                 {"ckpt-9.safetensors"});
}

TEST_F(Program, StopsWhenTheLossIsNotFinite) {
    expect_error(train_line("nan") + " --iterations 9 --abs-learning-rate 1e30 --warmup-epochs 0", ErrorKind::diverged,
                 {"1e+30", "tensor", "checkpoint"});
}

TEST_F(Program, SavesAndStopsOnSigterm) {
    const std::string folder = *folder_ / "stopped";
    const std::string script = "sh -c '" + std::string(CNNTRAIN_PROGRAM) + " train --data-dir " + data_folder() +
                               model() + "--iterations 1000000 --no-validation --logs-path " + folder +
                               " & pid=$!; while ! test -e " + folder +
                               "/ckpt-0.safetensors; do sleep 0.05; done; sleep 0.2; kill -TERM $pid; wait $pid; "
                               "echo ended with $?'";
    const std::string text = shell(script).text;
    EXPECT_THAT(text, HasSubstr("143"));
    EXPECT_THAT(text, HasSubstr(folder));
}

}  // namespace
}  // namespace cnntrain::cli
