// Files of PyTorch, Keras and TensorFlow on the command line. tests/checkpoint/foreign_test.cpp has what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cli/shell.h"
#include "cnntrain/base/io.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/foreign.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "support/weight_containers.h"

namespace cnntrain::cli {
namespace {

using weights::Checkpoint;

const std::string kGolden = CNNTRAIN_SOURCE_DIR "/tests/golden/foreign/";

Outcome convert(const std::string& file, const std::string& target, const std::string& more = "") {
    return run("convert --from " + kGolden + file + " --to " + target + " " + more);
}

TEST(ConvertWeights, TheCopyHasTheSameNamesAndBits) {
    const test::TemporaryFolder folder;
    for (const std::string file : {"views.pt", "training.pth", "model.keras", "model.h5", "v1.ckpt-7", "v2.index"}) {
        const std::string target = folder / (file + ".safetensors");
        const Outcome outcome = convert(file, target);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
        const std::string source = kGolden + file + (file == "v1.ckpt-7" ? ".index" : "");
        const Checkpoint expected = weights::load_foreign(posix_files(), source);
        const Checkpoint copy = weights::load(posix_files(), target);
        EXPECT_EQ(copy.iteration, -1);
        ASSERT_EQ(copy.tensors.size(), expected.tensors.size());
        EXPECT_THAT(outcome.text, HasSubstr(std::to_string(copy.tensors.size()) + " tensor"));
        for (const auto& [name, tensor] : expected.tensors) {
            EXPECT_EQ(copy.tensors.at(name).desc(), tensor.desc()) << name;
            EXPECT_TRUE(std::ranges::equal(copy.tensors.at(name).bytes(), tensor.bytes())) << name;
        }
    }
}

TEST(ConvertWeights, PartsAndWhatIsLeftOutArePrinted) {
    const test::TemporaryFolder folder;
    const std::string target = folder / "w.safetensors";
    EXPECT_THAT(convert("training.pth", target).text, HasSubstr("model_ema"));
    const Outcome averaged = convert("training.pth", target, "--part model_ema --overwrite");
    EXPECT_THAT(averaged.text, HasSubstr("model_ema"));
    EXPECT_TRUE(weights::load(posix_files(), target).tensors.contains("module.stem.weight"));
    EXPECT_THAT(convert("views.pt", folder / "v.safetensors").text,
                HasSubstr("Left out: complex64 has elements of type complex64\n"));
}

TEST(ConvertWeights, SixteenBitsBecomeFloats) {
    const test::TemporaryFolder folder;
    const std::string target = folder / "w.safetensors";
    ASSERT_EQ(convert("views.pt", target, "--checkpoint-dtype f32").exit_code, 0);
    const Checkpoint copy = weights::load(posix_files(), target);
    EXPECT_EQ(copy.tensors.at("half").dtype(), DType::f32);
    EXPECT_EQ(copy.tensors.at("bfloat16").dtype(), DType::f32);
    EXPECT_EQ(copy.tensors.at("int64").dtype(), DType::i64);
    EXPECT_EQ(copy.tensors.at("bfloat16").at(2), 100);
}

TEST(ConvertWeights, MistakesAreNamed) {
    const test::TemporaryFolder folder;
    const std::string target = folder / "w.safetensors";
    const std::string line = "convert --to " + target + " --from " + kGolden;
    expect_error(line + "module.pth --vocab-size 5", ErrorKind::usage, {"--vocab-size"});
    expect_error(line + "training.pth --part mdoel", ErrorKind::usage, {"'mdoel'"});
    expect_error(line + "v2.data-00000-of-00001", ErrorKind::data, {"v2.data-00000-of-00001"});
    folder.write("w.safetensors", "precious");
    expect_error(line + "module.pth", ErrorKind::usage, {target, "--overwrite"});
    EXPECT_EQ(folder.read("w.safetensors"), "precious");
    const std::string data =
        folder.write("v2.data-00000-of-00001", read_text(posix_files(), kGolden + "v2.data-00000-of-00001"));
    folder.write("v2.index", read_text(posix_files(), kGolden + "v2.index"));
    expect_error("convert --overwrite --from " + folder / "v2" + " --to " + data, ErrorKind::usage, {data});
    const std::string own = folder.write("own.pth", read_text(posix_files(), kGolden + "module.pth"));
    expect_error("convert --overwrite --from " + own + " --to " + own, ErrorKind::usage, {own});
}

TEST(ConvertWeights, AFileWithoutTensorsIsRefused) {
    const test::TemporaryFolder folder;
    folder.write("empty.index", test::table_of({test::table_block({{"", "\x08\x01"}})}));
    const Outcome outcome = run("convert --from " + (folder / "empty.index") + " --to " + (folder / "w.safetensors"));
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::data)) << outcome.text;
    EXPECT_FALSE(exists(posix_files(), folder / "w.safetensors"));
}

TEST(ListWeights, NamesTypesAndShapes) {
    EXPECT_THAT(
        run("analyse --list --restore-path " + kGolden + "views.pt").text,
        AllOf(HasSubstr("views.pt: PyTorch, 14 tensors, 120 numbers\n"), HasSubstr("  permuted f64[4, 2, 3]\n")));
    EXPECT_THAT(run("analyse --find-nans --restore-path " + kGolden + "v1.ckpt-7").text, HasSubstr("no NaNs\n"));
}

}  // namespace
}  // namespace cnntrain::cli
