// `cnntrain convert RUN --to FORMAT` as a user calls it.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "cli/shell.h"
#include "cnntrain/base/io.h"
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

TEST_F(Export, AnOnnxFileIsComparedOnSixtyFourSamples) {
    const std::string path = shared() / "a.onnx";
    const Outcome outcome = convert(path + " --to onnx");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("-> " + path), HasSubstr("Compared on 64 generated samples")));
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
        ErrorKind::usage, {"2 names for the 10 classes"});
}

TEST_F(Export, MistakesAreNamed) {
    const std::string run = shared() / "run";
    expect_error("convert " + run + " --to onxn", ErrorKind::usage, {"did you mean onnx?", "torchvision"});
    expect_error("convert " + run + " --to timm", ErrorKind::unsupported, {"small images", "--to onnx holds any"});
    expect_error("convert " + run + " --to hf", ErrorKind::unsupported, {"is for BERT"});
    expect_error("convert " + run + " --to onnx --weights f8", ErrorKind::usage, {"f32, f16 or bf16"});
    expect_error("convert " + run + " a b --to onnx", ErrorKind::usage, {"one RUN and one OUT only, got also 'b'"});
    expect_error("convert --from " + run + "/ckpt-2.safetensors --to onnx", ErrorKind::usage,
                 {"is a format and needs a run", "./onnx"});
    expect_error("convert " + run + " --from " + run + " --to onnx", ErrorKind::usage, {"not both"});
    expect_error("convert " + run + "/nowhere --to onnx", ErrorKind::not_found, {"nowhere"});
}

}  // namespace
}  // namespace cnntrain::cli
