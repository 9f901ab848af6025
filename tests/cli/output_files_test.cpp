// No command replaces a file that is somebody else's: every option that names an output, against what may be there.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

using test::TemporaryFolder;

constexpr const char* kText = "somebody's text\n";

/// A command that writes OUT; IN stands for the folder of its inputs.
struct Writer {
    const char* option;
    std::string line;
    std::string overwrite;  // the option that replaces files
    const char* input;      // in IN: a file that the line reads; null: none
};

const std::vector<Writer>& writers() {
    static const std::vector<Writer> table = {
        {"convert --to", "convert --from IN/bert.safetensors --to OUT", "--overwrite", "bert.safetensors"},
        {"average --filename", "average --restore-path IN/run --mode mean --filename OUT", "--overwrite",
         "run/ckpt-1.safetensors"},
        {"poprun --export-config", "poprun --export-config OUT --dry-run train.py --model-size 8",
         "--overwrite-config yes", nullptr},
        {"dataset bert --output-file",
         "dataset bert --input-file IN/a.txt --vocab-file IN/vocab.txt --sequence-length 32 --mask-tokens 4 "
         "--output-file OUT",
         "--overwrite", "a.txt"},
    };
    return table;
}

std::string replaced(std::string line, const std::string& word, const std::string& by) {
    for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + by.size()))
        line.replace(at, word.size(), by);
    return line;
}

class OutputFiles : public ::testing::TestWithParam<Writer> {
protected:
    OutputFiles() {
        std::filesystem::create_directories(in_ / "run");
        in_.write("a.txt", "the cat sat .\nthe dog ran .\n\na cat ran .\nthe dog sat .\n");
        in_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\nsat\ndog\nran\na\n.\n");
        weights::Checkpoint checkpoint;
        checkpoint.iteration = 1;
        checkpoint.tensors.emplace("all/w", HostTensor::of<float>({2}, {1, 2}));
        weights::save(posix_files(), in_ / "run/ckpt-1.safetensors", checkpoint);
        weights::save(posix_files(), in_ / "bert.safetensors", bert());
    }

    /// The smallest BERT of transformers: one layer, one head.
    static weights::Checkpoint bert() {
        weights::Checkpoint model;
        const auto add = [&](const std::string& name, const Shape& shape) {
            model.tensors.emplace(name, HostTensor(TensorDesc{DType::f32, shape}));
        };
        const auto add_pair = [&](const std::string& name, std::int64_t out, std::int64_t in) {
            add(name + ".weight", in > 0 ? Shape{out, in} : Shape{out});
            add(name + ".bias", {out});
        };
        const std::string embeddings = "bert.embeddings.";
        add(embeddings + "word_embeddings.weight", {16, 64});
        add(embeddings + "position_embeddings.weight", {32, 64});
        add(embeddings + "token_type_embeddings.weight", {2, 64});
        add_pair(embeddings + "LayerNorm", 64, 0);
        const std::string layer = "bert.encoder.layer.0.";
        for (const char* name : {"query", "key", "value"})
            add_pair(layer + "attention.self." + name, 64, 64);
        add_pair(layer + "attention.output.dense", 64, 64);
        add_pair(layer + "attention.output.LayerNorm", 64, 0);
        add_pair(layer + "intermediate.dense", 128, 64);
        add_pair(layer + "output.dense", 64, 128);
        add_pair(layer + "output.LayerNorm", 64, 0);
        return model;
    }

    Outcome run(const std::string& output, const std::string& options = "") const {
        const std::string line = replaced(replaced(GetParam().line, "IN", in_.path()), "OUT", output);
        const std::string command = line.substr(0, line.find(' '));
        // Options of poprun come before its program, whose own words follow.
        const std::string before = command == "poprun" ? command + " " + options : command;
        const std::string after = command == "poprun" ? "" : " " + options;
        return shell("timeout 60 " + std::string(CNNTRAIN_PROGRAM) + " " + before + line.substr(command.size()) +
                     after);
    }

    void expect_refused(const std::string& output, const std::string& part, const std::string& options) const {
        const Outcome outcome = run(output, options);
        EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::usage)) << output << "\n" << outcome.text;
        EXPECT_THAT(outcome.text, HasSubstr(part)) << output;
    }

    /// average adds ".safetensors" to its name.
    const TemporaryFolder in_, out_;
    const std::string name_ = "out.safetensors";
};

TEST_P(OutputFiles, AreWrittenAndReplacedOnlyWhenAsked) {
    const Outcome first = run(out_ / name_);
    ASSERT_EQ(first.exit_code, 0) << first.text;
    EXPECT_TRUE(std::filesystem::exists(out_ / name_));
    out_.write(name_, kText);
    expect_refused(out_ / name_, "choose", "");
    EXPECT_EQ(out_.read(name_), kText);
    if (GetParam().overwrite.empty()) return;
    const Outcome again = run(out_ / name_, GetParam().overwrite);
    EXPECT_EQ(again.exit_code, 0) << again.text;
    EXPECT_NE(out_.read(name_), kText);
}

TEST_P(OutputFiles, AreNoDevicesPipesOrFolders) {
    ASSERT_EQ(::mkfifo((out_ / name_).c_str(), 0600), 0);
    std::filesystem::create_directories(out_ / "folder.safetensors/x");
    std::vector<std::string> places = {out_ / name_};
    // A node like /dev/null, made by root alone.
    if (::mknod((out_ / "null.safetensors").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0)
        places.push_back(out_ / "null.safetensors");
    for (const std::string& place : places) {
        expect_refused(place, "replaced", GetParam().overwrite);
        EXPECT_TRUE(!std::filesystem::is_regular_file(place)) << place;
    }
}

TEST_P(OutputFiles, AreNoInputs) {
    if (GetParam().input == nullptr) return;
    const std::string input = in_ / GetParam().input;
    const std::string before = in_.read(GetParam().input);
    std::filesystem::create_directories(in_ / "d");
    std::filesystem::create_symlink(input, out_ / "link.safetensors");
    const std::string part = std::string(GetParam().option).starts_with("average") ? "" : "which is read";
    for (const std::string& name : {input, in_ / "d/../" + GetParam().input, out_ / "link.safetensors"})
        expect_refused(name, part, GetParam().overwrite);
    EXPECT_EQ(in_.read(GetParam().input), before);
}

INSTANTIATE_TEST_SUITE_P(All, OutputFiles, ::testing::ValuesIn(writers()), [](const auto& row) {
    std::string name;
    for (const char c : std::string(row.param.option))
        if (std::isalpha(static_cast<unsigned char>(c)) != 0) name += c;
    return name;
});

TEST(GeneratedCifar, DoesNotReplaceAPublishedSet) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder / "cifar-10-batches-bin");
    folder.write("cifar-10-batches-bin/data_batch_3.bin", kText);
    const std::string line =
        std::string(CNNTRAIN_PROGRAM) + " dataset cifar --train 20 --test 4 --output-dir " + folder.path();
    const Outcome refused = shell(line);
    EXPECT_EQ(refused.exit_code, exit_code(ErrorKind::usage)) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("data_batch_3.bin"));
    EXPECT_EQ(folder.read("cifar-10-batches-bin/data_batch_3.bin"), kText);
    EXPECT_EQ(folder.read("cifar-10-batches-bin/data_batch_1.bin"), "");
    EXPECT_EQ(shell(line + " --overwrite").exit_code, 0);
    EXPECT_EQ(shell(line + " --seed 1").exit_code, 0) << "a generated set is replaced without an option";
}

TEST(ConvertedCheckpoint, IsNoCheckpointOfARun) {
    const TemporaryFolder folder;
    weights::Checkpoint checkpoint;
    checkpoint.iteration = 1;
    checkpoint.tensors.emplace("all/w", HostTensor::of<float>({2}, {1, 2}));
    weights::save(posix_files(), folder / "ckpt-1.safetensors", checkpoint);
    weights::save(posix_files(), folder / "other.safetensors", checkpoint);
    for (const char* name : {"ckpt-1.safetensors", "ckpt-7.safetensors"}) {
        const Outcome outcome = shell(std::string(CNNTRAIN_PROGRAM) + " convert --overwrite --from " +
                                      (folder / "other.safetensors") + " --to " + (folder / name));
        EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::usage)) << outcome.text;
        EXPECT_THAT(outcome.text, HasSubstr("the run's own checkpoints have such names"));
    }
}

TEST(BertRecords, HaveDifferentFiles) {
    const TemporaryFolder folder;
    const std::string text = folder.write("a.txt", "the cat .\nthe dog .\n\na cat .\nthe dog .\n");
    const std::string vocabulary =
        folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\ndog\na\n.\n");
    std::filesystem::create_directories(folder / "d");
    const Outcome outcome =
        shell(std::string(CNNTRAIN_PROGRAM) + " dataset bert --input-file " + text + " --vocab-file " + vocabulary +
              " --output-file " + (folder / "x") + "," + (folder / "d/../x"));
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::usage)) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("which is written"));
}

}  // namespace
}  // namespace cnntrain::cli
