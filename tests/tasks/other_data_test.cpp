// Runs of each task that go on after their data have changed.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/writers.h"
#include "cnntrain/weights/checkpoint.h"
#include "data/fixtures.h"
#include "data/sequences.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

constexpr std::uint64_t kCifarRecord = 3073;
/// Batches with which two processes can go on, too.
const std::string kBatches = " --micro-batch-size 4 --gradient-accumulation-count 2 --no-validation ";

/// The error of a run that goes on, about its data; "" when it takes them.
std::string refusal(const std::function<void()>& goes_on) {
    return test::refusal_of(ErrorKind::data, goes_on);
}

Outcome run_line(FileSystem& files, options::Command command, const std::string& line,
                 const std::function<bool()>& stop = {}) {
    std::ostringstream console;
    Host host;
    host.command_line = "cnntrain test";
    host.files = &files;
    host.console = &console;
    host.stop_requested = stop;
    const options::ParseResult arguments = parse(line, command);
    const int code =
        command == options::Command::restore ? tasks::run_restored(arguments, host) : tasks::run(arguments, host);
    return {code, console.str()};
}

/// `restore --dry-run` of a run on disk. It compares the data as `restore` does.
std::string dry_restore(const std::string& run, const std::string& options = "") {
    const options::ParseResult line =
        parse("--dry-run --threads 1 --restore-path " + run + " " + options, options::Command::restore);
    return tasks::dry_run_text(tasks::restored_arguments(line, posix_files()));
}

/// A run of 160 images that was stopped after 8 updates; then the last of its files loses half of its 32 images.
class SmallerCifar : public ::testing::Test {
protected:
    SmallerCifar() {
        data::GeneratedCifarSettings settings;
        settings.folder = folder_.path();
        settings.train_images = 160;
        settings.test_images = 40;
        data_ = data::write_generated_cifar(settings);
        options_ = "--data-dir " + data_ + kBatches;
        train(files_, options_, stop_after(8));
        fs::resize_file(data_ + "/data_batch_5.bin", 16 * kCifarRecord);
    }

    test::TemporaryFolder folder_;
    std::string data_;
    std::string options_;
    MemoryFiles files_;
};

const std::string kWhat =
    "Data for training: expected 160 samples, found 144; data_batch_5.bin: expected 32 samples in 98336 bytes";
const std::string kChanges =
    "an epoch has 144 instead of 160 samples (18 instead of 20 iterations), in another order; the run and its learning "
    "rates end after 36 instead of 40 iterations; the ";

TEST_F(SmallerCifar, IsRefusedByRestoreAndByTheRunsOwnLine) {
    const std::string arguments = read_text(files_, "run/arguments.json");
    const std::string table = read_text(files_, "run/training.csv");
    for (const std::string& message :
         {refusal([&] { restore(files_); }), refusal([&] { train(files_, options_ + "--restore-path run"); })}) {
        EXPECT_THAT(message,
                    AllOf(HasSubstr("run/ckpt-"), HasSubstr(kWhat), HasSubstr("16 samples"), HasSubstr(kChanges)));
    }
    EXPECT_EQ(read_text(files_, "run/arguments.json"), arguments);
    EXPECT_EQ(read_text(files_, "run/training.csv"), table);
}

TEST_F(SmallerCifar, IsTakenWhereThatIsAskedForAndThenTheRunsData) {
    CaptureStderr();
    const Outcome accepted = restore(files_, "--accept-other-data", stop_after(3));
    EXPECT_THAT(GetCapturedStderr(), AllOf(HasSubstr(kWhat), HasSubstr(kChanges)));
    EXPECT_EQ(accepted.exit_code, kInterruptedExitCode);
    EXPECT_THAT(read_text(files_, "run/arguments.json"), Not(HasSubstr("accept_other_data")));
    EXPECT_EQ(restore(files_).exit_code, 0);
    EXPECT_TRUE(exists(files_, "run/ckpt-36.safetensors"));
}

TEST_F(SmallerCifar, IsRefusedByADryRun) {
    const std::string run = folder_ / "run";
    posix_files().make_directories(run);
    for (const std::string& name : files_.list("run")) {
        if (name == kFolderLockName) continue;
        write_text(posix_files(), run + "/" + name, read_text(files_, "run/" + name));
    }
    const std::string refused = refusal([&] { restore(files_); });
    EXPECT_EQ("run/" + refusal([&] { dry_restore(run); }).substr(run.size() + 1), refused);
    CaptureStderr();
    EXPECT_THAT(dry_restore(run, "--accept-other-data"), HasSubstr("36 iterations, 2 epochs of 18 iterations"));
    EXPECT_THAT(GetCapturedStderr(), AllOf(HasSubstr(kWhat), HasSubstr(kChanges)));
    EXPECT_THAT(test::message_of(ErrorKind::usage, [&] { dry_restore(run, "--accept-other-data --epochs 0.1"); }),
                HasSubstr("done"));
    EXPECT_FALSE(exists(posix_files(), run + "/" + std::string(kFolderLockName)));
}

TEST_F(SmallerCifar, IsRefusedOnceByRanksTogether) {
    std::vector<Process> processes(2);
    processes[0].files = std::move(files_);
    restore_together(processes);
    for (const Process& process : processes) {
        EXPECT_TRUE(process.of_all) << process.message;
        EXPECT_EQ(process.error, ErrorKind::data);
        EXPECT_THAT(process.message, HasSubstr(kWhat));
    }
}

TEST_F(SmallerCifar, IsNotNoticedByACheckpointOfAnEarlierVersion) {
    const auto found = *weights::latest(files_, "run");
    weights::Checkpoint old = weights::load(files_, found.path);
    ASSERT_EQ(old.metadata.erase("data"), 1U);
    weights::save(files_, found.path, old);
    CaptureStderr();
    EXPECT_EQ(restore(files_).exit_code, 0);
    EXPECT_THAT(GetCapturedStderr(), HasSubstr("began"));
}

TEST_F(SmallerCifar, MovedDataAreTheSame) {
    fs::resize_file(data_ + "/data_batch_5.bin", 0);  // what the run's arguments name is of no use
    data::GeneratedCifarSettings settings;
    settings.folder = folder_ / "moved";
    settings.train_images = 160;
    settings.test_images = 40;
    const std::string moved = data::write_generated_cifar(settings);
    EXPECT_EQ(train(files_, "--data-dir " + moved + kBatches + "--restore-path run").exit_code, 0);
}

TEST(OtherData, ValidationOnOtherImagesIsRefused) {
    const test::TemporaryFolder folder;
    data::GeneratedCifarSettings settings;
    settings.folder = folder.path();
    settings.train_images = 160;
    settings.test_images = 40;
    const std::string data = data::write_generated_cifar(settings);
    MemoryFiles files;
    train(files, "--data-dir " + data, stop_after(8));
    fs::resize_file(data + "/test_batch.bin", 20 * kCifarRecord);
    EXPECT_THAT(refusal([&] { restore(files); }), HasSubstr("test_batch.bin"));
}

TEST(OtherData, GeneratedImagesAreNotThoseOfFiles) {
    MemoryFiles files;
    train(files, "--no-validation", stop_after(8));
    EXPECT_THAT(refusal([&] { train(files, "--no-validation --generated-data --restore-path run"); }),
                HasSubstr("10 images"));
}

TEST(OtherData, AClassFolderThatHasLostAPhoto) {
    const test::TemporaryFolder folder;
    for (const std::string name : {"ant", "bee"}) {
        posix_files().make_directories(folder / ("train/" + name));
        for (int i = 0; i < 3; ++i) {
            folder.write("train/" + name + "/" + std::to_string(i) + ".jpg",
                         data::encode_jpeg(data::make_photo(40, 40)));
        }
    }
    const std::string line = "--dataset folder --data-dir " + folder.path() +
                             " --model-size 18 --batch-norm --image-size 32 --no-validation --validation-fraction 0 "
                             "--micro-batch-size 2 --iterations 3 --epochs 0 --log-freq 1 ";
    MemoryFiles files;
    train(files, line, stop_after(2));
    fs::remove(folder / "train/bee/1.jpg");
    EXPECT_THAT(refusal([&] { restore(files); }), AllOf(HasSubstr("6 samples"), Not(HasSubstr("ant: "))));
    folder.write("train/bee/7.jpg", data::encode_jpeg(data::make_photo(40, 40)));
    EXPECT_THAT(refusal([&] { restore(files); }), Not(HasSubstr("expected 6 samples")));
}

// ---- texts ----

TEST(OtherData, ARecordFileOfAPretrainingThatIsGone) {
    const test::TemporaryFolder folder;
    for (std::uint32_t file = 0; file < 3; ++file) {
        std::vector<std::string> records;
        for (std::uint32_t i = 0; i < 8; ++i)
            records.push_back(data::four_token_record(true, 8 * file + i).bytes());
        data::write_records(folder / (std::to_string(file) + ".tfrecord"), records);
    }
    const std::string run = folder / "run";
    run_line(posix_files(), options::Command::pretrain,
             "--vocab-size 110 --hidden-size 64 --num-attention-heads 1 --num-hidden-layers 1 --intermediate-size 64 "
             "--max-position-embeddings 9 --seq-length 4 --max-predictions-per-seq 2 --static-mask --precision 32 "
             "--seed 5 --threads 1 --micro-batch-size 2 --gradient-accumulation-count 1 --num-train-steps 6 "
             "--train-file " +
                 (folder / "*.tfrecord") + " --logs-path " + run,
             stop_after(4));
    EXPECT_EQ(refusal([&] { dry_restore(run); }), "");
    fs::remove(folder / "1.tfrecord");
    const std::string line = "--threads 1 --restore-path " + run;
    const std::string refused = refusal([&] { run_line(posix_files(), options::Command::restore, line); });
    EXPECT_THAT(refused, HasSubstr("1.tfrecord"));
    EXPECT_EQ(refusal([&] { dry_restore(run); }), refused);
    EXPECT_EQ(refusal([&] { dry_restore(run, "--accept-other-data"); }), "");
    EXPECT_EQ(run_line(posix_files(), options::Command::restore, line + " --accept-other-data").exit_code, 0);
}

TEST(OtherData, ChangedTextsAndWords) {
    const test::TemporaryFolder folder;
    const std::string words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\nfilm\nplot\ncast\n";
    std::string texts = "text\tlabel\n";
    for (int i = 0; i < 20; ++i)
        texts += i % 2 == 0 ? "good film\tlike\n" : "bad plot\tdislike\n";
    folder.write("vocab.txt", words);
    folder.write("train.tsv", texts);
    const std::string run = folder / "run";
    run_line(posix_files(), options::Command::train,
             "--task text-classification --vocab-size 10 --hidden-size 64 --num-attention-heads 1 --num-hidden-layers "
             "1 --intermediate-size 64 --max-position-embeddings 16 --seq-length 8 --precision 32 --seed 5 --threads "
             "1 --micro-batch-size 4 --epochs 2 --no-validation --logs-path " +
                 run + " --data-dir " + (folder / "train.tsv") + " --vocab-file " + (folder / "vocab.txt"),
             stop_after(3));
    const auto restored = [&] {
        run_line(posix_files(), options::Command::restore, "--restore-path " + run + " --threads 1");
    };
    std::string swapped = words;
    swapped.replace(swapped.find("good\nbad"), 8, "bad\ngood");
    folder.write("vocab.txt", swapped);
    EXPECT_THAT(refusal(restored), AllOf(HasSubstr("vocab.txt"), Not(HasSubstr("tsv"))));
    folder.write("vocab.txt", words);
    folder.write("train.tsv", texts + "good plot\tlike\n");
    EXPECT_THAT(refusal(restored), HasSubstr("train.tsv"));
    folder.write("train.tsv", texts);
    EXPECT_EQ(refusal(restored), "");
}

}  // namespace
}  // namespace cnntrain::run::testing
