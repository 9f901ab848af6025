// `cnntrain convert RUN --to FORMAT` as a user calls it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include "cli/shell.h"
#include "cnntrain/base/io.h"
#include "cnntrain/weights/checkpoint.h"
#include "data/fixtures.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

/// The folder of a run of two updates.
class Export : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        const Outcome trained = cli::run(
            "train --generated-data --dataset cifar-10 --model-size 8 --iterations 2 "
            "--micro-batch-size 4 --threads 1 --no-validation --logs-path " +
            (shared() / "run"));
        ASSERT_EQ(trained.exit_code, 0) << trained.text;
    }
    static test::TemporaryFolder& shared() {
        static test::TemporaryFolder folder;
        return folder;
    }
    static Outcome convert(const std::string& words) { return cli::run("convert " + (shared() / "run") + " " + words); }
};

TEST_F(Export, AnOnnxFileIsWritten) {
    const std::string path = shared() / "a.onnx";
    const Outcome outcome = convert(path + " --to onnx");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("-> " + path));
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(Export, WithoutAPathItStandsBesideTheCheckpoint) {
    ASSERT_EQ(convert("--to onnx --weights bf16 --overwrite").exit_code, 0);
    EXPECT_TRUE(std::filesystem::exists(shared() / "run/model.onnx"));
}

TEST_F(Export, FilesAreReplacedOnlyOnRequest) {
    const std::string path = shared().write("b.onnx", "precious");
    const std::string line = "convert " + (shared() / "run") + " " + path + " --to onnx";
    expect_error(line, ErrorKind::usage, {path, "--overwrite"});
    EXPECT_EQ(shared().read("b.onnx"), "precious");
    EXPECT_EQ(cli::run(line + " --overwrite").exit_code, 0);
    EXPECT_NE(shared().read("b.onnx"), "precious");
}

std::ptrdiff_t files_in(const std::string& folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
}

/// Replaces the folder's only file, and is killed as soon as a second one is there. False if it ended before.
bool killed_while_it_writes(const std::string& run, const std::string& path, const std::string& folder) {
    const pid_t child = fork();
    if (child == 0) {
        execl(CNNTRAIN_PROGRAM, CNNTRAIN_PROGRAM, "convert", run.c_str(), path.c_str(), "--to", "onnx", "--weights",
              "f16", "--overwrite", nullptr);
        _exit(127);
    }
    while (files_in(folder) == 1) {
        if (waitpid(child, nullptr, WNOHANG) != 0) return false;
    }
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status);
}

TEST_F(Export, AKillWhileItWritesLeavesAWholeFile) {
    const std::string folder = shared() / "killed";
    std::filesystem::create_directory(folder);
    ASSERT_EQ(convert(shared() / "killed/model.onnx" + " --to onnx").exit_code, 0);
    ASSERT_EQ(convert(shared() / "half.onnx" + " --to onnx --weights f16").exit_code, 0);
    const std::string before = shared().read("killed/model.onnx");
    const std::string after = shared().read("half.onnx");
    ASSERT_NE(before, after);
    constexpr int kKills = 3;
    int kills = 0;
    for (int trial = 0; trial < 10 * kKills && kills < kKills; ++trial) {
        kills += killed_while_it_writes(shared() / "run", folder + "/model.onnx", folder) ? 1 : 0;
        const std::string left = shared().read("killed/model.onnx");
        EXPECT_TRUE(left == before || left == after) << left.size() << " bytes";
        EXPECT_EQ(convert(folder + "/model.onnx --to onnx --overwrite").exit_code, 0);
        EXPECT_EQ(shared().read("killed/model.onnx"), before);
        EXPECT_EQ(files_in(folder), 1) << "what was left is removed";
    }
    EXPECT_EQ(kills, kKills);
}

TEST_F(Export, TwoAtOnceLeaveAWholeFile) {
    const std::string path = shared() / "twice.onnx";
    const std::string line = "convert " + (shared() / "run") + " " + path + " --to onnx --overwrite";
    const Outcome both = shell(CNNTRAIN_PROGRAM " " + line + " & " CNNTRAIN_PROGRAM " " + line +
                               "; first=$?; wait $!; echo codes $first $?");
    EXPECT_THAT(both.text, HasSubstr("codes 0 0"));
    ASSERT_EQ(convert(shared() / "once.onnx" + " --to onnx").exit_code, 0);
    EXPECT_EQ(shared().read("twice.onnx"), shared().read("once.onnx"));
}

TEST_F(Export, ClassNamesMayHoldAnything) {
    std::string names = "\"\n</script><b>\n{\"a\": 1}\n\xff\xfe\n";
    for (int i = 4; i < 10; ++i)
        names += "class " + std::to_string(i) + "\n";
    const std::string file = shared().write("names.txt", names);
    const std::string path = shared() / "c.onnx";
    const Outcome outcome = convert(path + " --to onnx --class-names " + file);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(shared().read("c.onnx"), HasSubstr("[\"\\\"\",\"</script><b>\",\"{\\\"a\\\": 1}\""));
    const std::string short_list = shared().write("short.txt", "a\nb\n");
    expect_error(
        "convert " + (shared() / "run") + " " + (shared() / "d.onnx") + " --to onnx --class-names " + short_list,
        ErrorKind::usage, {"10 classes"});
}

TEST_F(Export, AFileMayPrepareItsImages) {
    const std::string path = shared() / "prepares.onnx";
    const Outcome outcome = convert(path + " --to onnx --with-preprocessing");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(shared().read("prepares.onnx"), HasSubstr("\"inside_this_file\":true"));
}

/// Photos of different sizes, of which one is no longer readable.
TEST_F(Export, PhotosOfTheValidationSetAreRead) {
    const test::TemporaryFolder folder;
    for (const std::string name : {"train/ant/", "train/bee/", "val/ant/", "val/bee/"}) {
        std::filesystem::create_directories(folder / ("photos/" + name));
        for (int i = 0; i < 3; ++i) {
            folder.write("photos/" + name + std::to_string(i) + ".jpg",
                         data::encode_jpeg(data::make_photo(40 + 9 * i, 70 - 12 * i, static_cast<std::uint64_t>(i))));
        }
    }
    const Outcome trained = cli::run("train --data-dir " + (folder / "photos") + " --logs-path " + (folder / "run") +
                                     " --model-size 18 --image-size 32 --iterations 2 --micro-batch-size 2 --threads 1 "
                                     "--no-validation --abs-learning-rate 0.01");
    ASSERT_EQ(trained.exit_code, 0) << trained.text;
    folder.write("photos/val/bee/2.jpg", "no photo any more");
    const std::string line = "convert " + (folder / "run") + " --to torchvision --overwrite";
    const Outcome outcome = cli::run(line);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("5 samples"));
    std::filesystem::rename(folder / "photos", folder / "moved");
    expect_error(line, ErrorKind::data, {folder / "photos", "exist", "--data-dir"});
    EXPECT_EQ(cli::run(line + " --data-dir " + (folder / "moved")).exit_code, 0);
}

TEST_F(Export, ATensorFlowCheckpointHoldsTheRunBitByBit) {
    const Outcome outcome = convert((shared() / "tf") + " --to tf");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("tf/ckpt-2.index"), HasSubstr("tensors)"), HasSubstr("64 generated")));
    const auto written = weights::load(posix_files(), shared() / "tf/ckpt-2.index");
    const auto own = weights::load(posix_files(), shared() / "run/ckpt-2.safetensors");
    ASSERT_EQ(written.tensors.size(), own.tensors.size());
    EXPECT_TRUE(written.tensors.contains("all/stage0/conv0/weight"));
    for (const auto& [name, tensor] : own.tensors) {
        ASSERT_TRUE(written.tensors.contains(name)) << name;
        EXPECT_EQ(written.tensors.at(name).desc(), tensor.desc()) << name;
        EXPECT_TRUE(std::ranges::equal(written.tensors.at(name).bytes(), tensor.bytes())) << name;
    }
    const Outcome again = convert((shared() / "tf") + " --to tf");
    EXPECT_EQ(again.exit_code, exit_code(ErrorKind::usage)) << again.text;
    const Outcome wide = convert((shared() / "wide") + " --to tf --checkpoint-dtype f32");
    ASSERT_EQ(wide.exit_code, 0) << wide.text;
    for (const auto& [name, tensor] : weights::load(posix_files(), shared() / "wide/ckpt-2.index").tensors)
        EXPECT_EQ(tensor.dtype(), DType::f32) << name;
    const Outcome judged = cli::run("validation --restore-path " + (shared() / "tf/ckpt-2") +
                                    " --generated-data --dataset cifar-10 --model-size 8 --threads 1 --no-logs");
    EXPECT_EQ(judged.exit_code, 0) << judged.text;
}

TEST_F(Export, OptionsWithoutEffectAreRefused) {
    const std::string line = "convert " + (shared() / "run") + " " + (shared() / "none") + " --to ";
    expect_error(line + "tf --weights f16", ErrorKind::usage, {"--weights"});
    expect_error(line + "tf --with-preprocessing", ErrorKind::usage, {"--with-preprocessing"});
    expect_error(line + "tf --class-names x", ErrorKind::usage, {"--class-names", "numbers"});
    expect_error(line + "onnx --checkpoint-dtype f32", ErrorKind::usage, {"--checkpoint-dtype"});
    expect_error(line + "onnx --vocab-file x", ErrorKind::usage, {"--vocab-file"});
    EXPECT_FALSE(std::filesystem::exists(shared() / "none"));
}

TEST_F(Export, MistakesAreNamed) {
    const std::string run = shared() / "run";
    expect_error("convert " + run + " --to onxn", ErrorKind::usage, {"mean", "torchvision"});
    expect_error("convert " + run + " --to timm", ErrorKind::unsupported, {"images", "--to"});
    expect_error("convert " + run + " --to hf", ErrorKind::unsupported, {"BERT"});
    expect_error("convert " + run + " --to onnx --weights f8", ErrorKind::usage, {"f32, f16 or bf16"});
    expect_error("convert " + run + " a b --to onnx", ErrorKind::usage, {"RUN"});
    expect_error("convert --from " + run + "/ckpt-2.safetensors --to onnx", ErrorKind::usage, {"format", "./onnx"});
    expect_error("convert " + run + " --from " + run + " --to onnx", ErrorKind::usage, {"both"});
    expect_error("convert " + run + "/nowhere --to onnx", ErrorKind::not_found, {"nowhere"});
    std::filesystem::create_directories(shared() / "no_run");
    expect_error("convert " + (shared() / "no_run") + " --to onnx", ErrorKind::not_found, {"no_run"});
    expect_error("convert " + run, ErrorKind::usage, {"--to"});
    expect_error("convert", ErrorKind::usage, {"--to", "convert --from FILE"});
}

}  // namespace
}  // namespace cnntrain::cli
