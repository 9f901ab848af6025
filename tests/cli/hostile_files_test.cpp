// Files that are no files, folders that cannot be read, outputs that cannot be written: each has its exit code.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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

using test::TemporaryFolder;

class HostileFiles : public ::testing::Test {
protected:
    std::string in(const std::string& name) const { return folder_ / name; }
    /// Runs the program for ten seconds at most; one that would wait for ever ends with exit code 124.
    static Outcome run_briefly(const std::string& arguments) {
        return shell("timeout 10 " + std::string(CNNTRAIN_PROGRAM) + " " + arguments);
    }
    static void expect_data_error(const std::string& arguments, const std::string& part) {
        const Outcome outcome = run_briefly(arguments);
        EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::data)) << arguments << "\n" << outcome.text;
        EXPECT_THAT(outcome.text, HasSubstr(part)) << arguments;
    }
    std::string checkpoint(const std::string& name) const {
        weights::Checkpoint checkpoint;
        checkpoint.iteration = 1;
        checkpoint.tensors.emplace("all/w", HostTensor::of<float>({2}, {1, 2}));
        weights::save(posix_files(), in(name), checkpoint);
        return in(name);
    }

    const TemporaryFolder folder_;
};

const std::string kNoData = " --dataset cifar-10 --generated-data --model-size 8 ";

TEST_F(HostileFiles, PipesAreRefusedInsteadOfWaitedFor) {
    posix_files().make_directories(in("records"));
    for (const char* name : {"ckpt-1.safetensors", "x.yml", "records/train-00000-of-00001", "arguments.json"})
        ASSERT_EQ(::mkfifo(in(name).c_str(), 0600), 0);
    expect_data_error("analyse --find-nans --restore-path " + in("ckpt-1"), "pipe");
    expect_data_error("average --mode mean --restore-path " + folder_.path() + " --filename " + in("x"), "pipe");
    expect_data_error("train --config x --config-path " + in("x.yml") + " --dry-run", "pipe");
    expect_data_error("benchmark --spec " + in("x.yml") + " --list", "pipe");
    expect_data_error("dataset verify " + in("records"), "pipe");
    expect_data_error("dataset inspect " + in("records/train-00000-of-00001"), "pipe");
    expect_data_error("train --dataset imagenet --model-size 18 --no-logs --data-dir " + in("records"), "pipe");
    expect_data_error("restore --restore-path " + folder_.path(), "pipe");
}

TEST_F(HostileFiles, APipeInThePlaceOfAnIndexStays) {
    data::write_records(in("train-00000-of-00001"), {"no example"});
    ASSERT_EQ(::mkfifo(in("train.cnntrain-index").c_str(), 0600), 0);
    expect_data_error("train --dataset imagenet --model-size 18 --no-logs --no-validation --data-dir " + folder_.path(),
                      "tf.Example");
    EXPECT_TRUE(std::filesystem::is_fifo(in("train.cnntrain-index")));
}

TEST_F(HostileFiles, LoopsOfLinksAreDataErrors) {
    ASSERT_EQ(::symlink("loop", in("loop").c_str()), 0);
    posix_files().make_directories(in("cifar"));
    ASSERT_EQ(::symlink("data_batch_1.bin", in("cifar/data_batch_1.bin").c_str()), 0);
    const std::string loop = in("loop");
    for (const std::string& line :
         {"train --dry-run --data-dir " + loop, "train --no-logs --dataset cifar-10 --data-dir " + in("cifar"),
          "analyse --find-nans --restore-path " + loop, "restore --restore-path " + loop,
          "average --mode mean --filename x --restore-path " + loop, "benchmark --list --spec " + loop,
          "train --config x --config-path " + loop, "train --restore-path " + loop + kNoData}) {
        expect_data_error(line, "symbolic");
    }
    expect_data_error("dataset inspect " + loop, loop);
}

TEST_F(HostileFiles, FoldersWithoutPermissionAreDataErrors) {
    const bool root = ::geteuid() == 0;
    if (root && shell("setpriv --reuid=65534 --regid=65534 --clear-groups " + std::string(CNNTRAIN_PROGRAM) + " --help")
                        .exit_code != 0) {
        GTEST_SKIP() << "nobody may not run the program here";
    }
    posix_files().make_directories(in("closed/inner"));
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(in("closed").c_str(), root ? 0700 : 0), 0);
    const std::string as_nobody = root ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    for (const std::string& folder : {in("closed"), in("closed/inner")}) {
        for (const std::string& line :
             {"train --dataset cifar-10 --no-logs --data-dir " + folder, "train --no-logs --data-dir " + folder,
              "analyse --find-nans --restore-path " + folder, "restore --restore-path " + folder,
              "average --mode mean --filename x --restore-path " + folder, "benchmark --list --spec " + folder,
              "train --config x --config-path " + folder, "dataset inspect " + folder}) {
            const Outcome outcome = shell("cd / && " + as_nobody + CNNTRAIN_PROGRAM + " " + line);
            EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::data)) << line << "\n" << outcome.text;
        }
    }
    ASSERT_EQ(::chmod(in("closed").c_str(), 0700), 0);
}

TEST_F(HostileFiles, AFullOutputIsAStorageError) {
    const std::string point = checkpoint("ckpt-1.safetensors");
    write_text(posix_files(), in("spec.yml"), "a: {cmd: cnntrain --help}\n");
    for (const std::string& line : {std::string("--help"), std::string("train --help"), "train --dry-run" + kNoData,
                                    "train --print-config" + kNoData, "analyse --find-nans --restore-path " + point,
                                    "average --mode mean --restore-path " + folder_.path() + " --filename " + in("x"),
                                    "benchmark --list --spec " + in("spec.yml")}) {
        const Outcome outcome = run(line + " > /dev/full");
        EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::storage)) << line << "\n" << outcome.text;
        EXPECT_THAT(outcome.text, HasSubstr("standard output")) << line;
    }
}

TEST_F(HostileFiles, AReaderThatHasGoneIsNoFullDisk) {
    const Outcome outcome = shell("{ " CNNTRAIN_PROGRAM " train" + kNoData + " --iterations 2 --no-logs 2>" +
                                  in("errors") + "; echo $? >" + in("code") + "; } | head -1");
    EXPECT_THAT(outcome.text, HasSubstr("Command line:"));
    EXPECT_EQ(data::read_file(in("code")), "5\n");
    EXPECT_THAT(data::read_file(in("errors")), AllOf(HasSubstr("'head'"), Not(HasSubstr("disk"))));
}

TEST_F(HostileFiles, AStackThatIsTooSmallIsSaid) {
    const std::string line = CNNTRAIN_PROGRAM " train --iterations 1 --no-logs --no-validation" + kNoData;
    const Outcome small = shell("ulimit -s 64; " + line);
    EXPECT_EQ(small.exit_code, exit_code(ErrorKind::unsupported)) << small.text;
    EXPECT_THAT(small.text, HasSubstr("512 are"));
    const Outcome least = shell("ulimit -s 512; " + line);
    EXPECT_EQ(least.exit_code, 0) << least.text;
}

TEST_F(HostileFiles, AClosedOutputIsNoFileForOthers) {
    checkpoint("ckpt-1.safetensors");
    checkpoint("ckpt-2.safetensors");
    const std::string line = "average --mode mean --restore-path " + folder_.path() + " --filename ";
    ASSERT_EQ(run(line + in("open")).exit_code, 0);
    ASSERT_EQ(run(line + in("closed") + " <&- >&- 2>&-").exit_code, 0);
    EXPECT_EQ(data::read_file(in("closed.safetensors")), data::read_file(in("open.safetensors")));
}

TEST_F(HostileFiles, ALimitOnFileSizesIsAStorageError) {
    checkpoint("ckpt-1.safetensors");
    const Outcome outcome = shell("ulimit -f 1; " + std::string(CNNTRAIN_PROGRAM) +
                                  " dataset cifar --train 100 --output-dir " + in("cifar"));
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::storage)) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("File too large"));
}

TEST_F(HostileFiles, AnEditedCheckpointIsUsedOnRequest) {
    const std::string point = checkpoint("ckpt-1.safetensors");
    std::string text = data::read_file(point);
    text.back() = static_cast<char>(text.back() ^ 1);
    data::write_file(point, text);
    for (const std::string& line :
         {"analyse --find-nans --restore-path " + point,
          "average --mode mean --restore-path " + folder_.path() + " --filename " + in("x")}) {
        expect_error(line, ErrorKind::data, {"checksum", "--trust-edited-checkpoint"});
        const Outcome outcome = run(line + " --trust-edited-checkpoint");
        EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
        EXPECT_THAT(outcome.text, HasSubstr("used as it is"));
    }
}

TEST_F(HostileFiles, ACheckpointLargerThanMemoryIsSaidToBe) {
    const std::string header = R"({"w":{"dtype":"U8","shape":[1099511627776],"data_offsets":[0,1099511627776]}})";
    const std::uint64_t length = header.size();
    data::write_file(in("ckpt-1.safetensors"),
                     std::string(reinterpret_cast<const char*>(&length), sizeof length) + header);
    std::filesystem::resize_file(in("ckpt-1.safetensors"), sizeof length + header.size() + (std::uint64_t{1} << 40));
    const Outcome outcome = run("analyse --find-nans --restore-path " + in("ckpt-1"));
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::unsupported)) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("1.1 TB"));
}

}  // namespace
}  // namespace cnntrain::cli
