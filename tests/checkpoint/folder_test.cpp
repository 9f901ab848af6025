#include "cnntrain/weights/checkpoint.h"

#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::weights {
namespace {

MemoryFiles run_folder() {
    MemoryFiles files;
    for (const char* name :
         {"ckpt-0.safetensors", "ckpt-1.safetensors", "ckpt-10.safetensors", "ckpt-9.safetensors", "log.txt",
          "ckpt-11.safetensors.partial", "ckpt-12.safetensors.0123456789ab.partial", "imported.safetensors",
          "ckpt/weight_avg_N_5.safetensors", "ckpt/weight_avg_exp_0.97.safetensors"}) {
        write_text(files, std::string("/logs/run/") + name, "x");
    }
    return files;
}

std::vector<std::string> names(const std::vector<Found>& found) {
    std::vector<std::string> result;
    result.reserve(found.size());
    for (const Found& one : found)
        result.push_back(one.name);
    return result;
}

TEST(Folder, NamesOfCheckpoints) {
    EXPECT_EQ(checkpoint_prefix("/logs/run", 12), "/logs/run/ckpt-12");
    EXPECT_EQ(checkpoint_path("/logs/run/", 12), "/logs/run/ckpt-12.safetensors");
}

TEST(Folder, NumberedOnesComeByNumberThenTheOthers) {
    const MemoryFiles files = run_folder();
    for (const char* path : {"/logs/run", "/logs/run/"}) {
        const auto found = find_checkpoints(files, path);
        EXPECT_THAT(names(found), ElementsAre("ckpt-0", "ckpt-1", "ckpt-9", "ckpt-10", "imported", "weight_avg_N_5",
                                              "weight_avg_exp_0.97"));
        EXPECT_EQ(found[3].iteration, 10);
        EXPECT_EQ(found[3].path, "/logs/run/ckpt-10.safetensors");
        EXPECT_EQ(found[5].iteration, -1);
        EXPECT_EQ(found[5].path, "/logs/run/ckpt/weight_avg_N_5.safetensors");
    }
}

TEST(Folder, OneCheckpointIsNamedWithOrWithoutItsEnding) {
    const MemoryFiles files = run_folder();
    const Found one{"/logs/run/ckpt-1.safetensors", "ckpt-1", 1};
    EXPECT_THAT(find_checkpoints(files, "/logs/run/ckpt-1"), ElementsAre(one));
    EXPECT_THAT(find_checkpoints(files, "/logs/run/ckpt-1.safetensors"), ElementsAre(one));
    EXPECT_THAT(names(find_checkpoints(files, "/logs/run/ckpt")), ElementsAre("weight_avg_N_5", "weight_avg_exp_0.97"));
}

std::string not_found(const FileSystem& files, const std::string& path) {
    return message_of(ErrorKind::not_found, [&] { find_checkpoints(files, path); });
}

TEST(Folder, PyTorchsFileOfAFolderIsTakenWhereThereIsNoOther) {
    MemoryFiles files;
    write_text(files, "model/config.json", "{}");
    write_text(files, "model/pytorch_model.bin", "bytes");
    EXPECT_EQ(find_checkpoint(files, "--restore-path", "model").path, "model/pytorch_model.bin");
    write_text(files, "model/model.safetensors", "bytes");
    EXPECT_EQ(find_checkpoint(files, "--restore-path", "model").path, "model/model.safetensors");
}

TEST(Folder, NothingFoundSaysWhatThereIs) {
    MemoryFiles files = run_folder();
    EXPECT_THAT(not_found(files, "/logs/run/ckpt-2"),
                AllOf(HasSubstr("'/logs/run/ckpt-2'"), HasSubstr("ckpt-0, ckpt-1, ckpt-9, ckpt-10")));
    files.make_directories("/empty");
    EXPECT_THAT(not_found(files, "/empty"), HasSubstr("'/empty'"));
    EXPECT_THAT(not_found(files, "/nowhere/at/all"), HasSubstr("'/nowhere/at'"));
    not_found(files, "relative");
}

TEST(Folder, AFolderOfRunsMeansTheOneThatSavedLast) {
    MemoryFiles files = run_folder();
    write_text(files, "/logs/newer/ckpt-5.safetensors", "x");
    write_text(files, "/logs/newer/ckpt-7.safetensors", "x");
    write_text(files, "/logs/unfinished/log.txt", "x");
    EXPECT_THAT(names(find_checkpoints(files, "/logs")), ElementsAre("ckpt-5", "ckpt-7"));
    write_text(files, "/logs/run/ckpt-12.safetensors", "x");
    EXPECT_EQ(find_checkpoints(files, "/logs/"), find_checkpoints(files, "/logs/run"));
}

TEST(Folder, ACheckpointIsFoundInTheOnlyRunThatHasIt) {
    MemoryFiles files;
    for (const char* path : {"phase1/run_a/ckpt-0.safetensors", "phase1/run_b/ckpt-0.safetensors",
                             "phase1/run_b/ckpt-7031.safetensors", "phase1/notes.txt"})
        write_text(files, path, "x");
    for (const char* path : {"phase1/ckpt-7031", "phase1/ckpt-7031.safetensors"}) {
        EXPECT_EQ(find_checkpoint(files, "--init-checkpoint", path).path, "phase1/run_b/ckpt-7031.safetensors");
    }
    EXPECT_THAT(not_found(files, "phase1/ckpt-0"),
                HasSubstr("phase1/run_a/ckpt-0.safetensors phase1/run_b/ckpt-0.safetensors"));
    EXPECT_THAT(not_found(files, "phase1/ckpt-5"), HasSubstr("'phase1/ckpt-5'"));
}

TEST(Folder, OnlyExactNamesAreTheRunsOwn) {
    MemoryFiles files = run_folder();
    write_text(files, "/logs/run/mean-of-ckpt-4.safetensors", "x");
    EXPECT_THAT(names(numbered_checkpoints(files, "/logs/run")), ElementsAre("ckpt-0", "ckpt-1", "ckpt-9", "ckpt-10"));
    EXPECT_TRUE(is_numbered("ckpt-12.safetensors"));
    for (const char* name : {"ckpt-12", "ckpt-012.safetensors", "a-ckpt-1.safetensors", "ckpt-x.safetensors"})
        EXPECT_FALSE(is_numbered(name)) << name;
}

TEST(Folder, LatestIsTheHighestNumberedOne) {
    const MemoryFiles files = run_folder();
    EXPECT_EQ(latest(files, "/logs/run")->name, "ckpt-10");
    EXPECT_FALSE(latest(files, "/logs/run/ckpt").has_value());
    EXPECT_FALSE(latest(files, "/nowhere").has_value());
}

TEST(Folder, ARunStandsForItsBestOrNewestCheckpointAndANoticeSaysWhich) {
    MemoryFiles files = run_folder();
    const auto said = [&](const std::string& path) {
        testing::internal::CaptureStderr();
        const std::string chosen = find_checkpoint(files, "--init-path", path).path;
        return chosen + "|" + testing::internal::GetCapturedStderr();
    };
    EXPECT_THAT(said("/logs/run/"), HasSubstr("/logs/run/ckpt-10.safetensors"));
    write_text(files, "/logs/run/ckpt-best.safetensors", "x");
    EXPECT_THAT(said("/logs"), AllOf(HasSubstr("/logs/run/ckpt-best.safetensors|"), HasSubstr("--init-path /logs")));
    EXPECT_EQ(said("/logs/run/ckpt-1"), "/logs/run/ckpt-1.safetensors|");
    EXPECT_EQ(said("/logs/run/ckpt-1.safetensors"), "/logs/run/ckpt-1.safetensors|");
    EXPECT_THAT(said("/logs/ckpt-9"), HasSubstr("/logs/run/ckpt-9"));
    write_text(files, "/average/mean.safetensors", "x");
    EXPECT_THAT(said("/average"), HasSubstr("/average/mean.safetensors"));
    write_text(files, "/average/other.safetensors", "x");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { find_checkpoint(files, "--init-path", "/average"); }),
                HasSubstr("--init-path /average"));
}

TEST(Folder, RetentionKeepsTheNewestAndTheProtected) {
    MemoryFiles files = run_folder();
    retain(files, "/logs/run", 2, {0});
    EXPECT_THAT(files.list("/logs/run"), ElementsAre("ckpt", "ckpt-0.safetensors", "ckpt-10.safetensors",
                                                     "ckpt-9.safetensors", "imported.safetensors", "log.txt"));
    retain(files, "/logs/run", 5);
    EXPECT_EQ(files.list("/logs/run").size(), 6u);
}

TEST(Folder, RetentionOfAllRemovesOnlyLeftOvers) {
    MemoryFiles files = run_folder();
    retain(files, "/logs/run", 0);
    EXPECT_FALSE(exists(files, "/logs/run/ckpt-11.safetensors.partial"));
    EXPECT_FALSE(exists(files, "/logs/run/ckpt-12.safetensors.0123456789ab.partial"));
    EXPECT_EQ(find_checkpoints(files, "/logs/run").size(), 7u);
}

}  // namespace
}  // namespace cnntrain::weights
