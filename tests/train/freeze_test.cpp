// Variables that --freeze keeps.
#include <algorithm>

#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

/// The variables of the network, without slots, that differ between the run's first and last checkpoint.
std::vector<std::string> changed(const FileSystem& files) {
    const auto first = weights::load(files, "run/ckpt-0.safetensors").tensors;
    const auto last = weights::load(files, "run/ckpt-20.safetensors").tensors;
    std::vector<std::string> names;
    for (const auto& [name, tensor] : first) {
        const auto& other = last.at(name);
        if (!std::ranges::equal(tensor.bytes(), other.bytes())) names.push_back(name);
    }
    return names;
}

bool any_begins_with(const std::vector<std::string>& names, const std::string& begin) {
    return std::ranges::any_of(names, [&](const std::string& name) { return name.starts_with(begin); });
}

const std::string kRun = "--batch-norm --precision 32.32 --no-validation --epochs 1 --freeze ";

TEST(Freeze, KeepsVariablesAndMovingAverages) {
    MemoryFiles files;
    train(files, kRun + "^all/stage0/ ^all/stage1/");
    const std::vector<std::string> names = changed(files);
    EXPECT_FALSE(any_begins_with(names, "all/stage0/"));
    EXPECT_FALSE(any_begins_with(names, "all/stage1/"));
    EXPECT_THAT(names, ::testing::IsSupersetOf({"all/stage2/unit1/conv1/weight", "all/fc1/weight",
                                                "all/stage2/unit1/bn1/batch_norm/moving_mean"}));
}

TEST(Freeze, GradientsPassFrozenNorms) {
    MemoryFiles files;
    train(files, kRun + "/bn");
    const std::vector<std::string> names = changed(files);
    EXPECT_TRUE(std::ranges::none_of(names, [](const std::string& name) { return name.find("/bn") != name.npos; }));
    EXPECT_THAT(names, ::testing::IsSupersetOf({"all/stage0/conv0/weight", "all/stage1/unit1/conv2/weight"}));
}

TEST(Freeze, APatternOfParametersAloneLeavesTheMovingAverages) {
    MemoryFiles files;
    train(files, kRun + "stage1.*weight$");
    const std::vector<std::string> names = changed(files);
    EXPECT_FALSE(any_begins_with(names, "all/stage1/unit1/conv1/weight"));
    EXPECT_TRUE(any_begins_with(names, "all/stage1/unit1/bn1/batch_norm/moving_mean"));
}

TEST(Freeze, APatternThatMatchesNothingIsRefusedBeforeAFolderIsMade) {
    MemoryFiles files;
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { train(files, kRun + "all/stage7"); }),
                AllOf(HasSubstr("'all/stage7'"), HasSubstr("all/stage")));
    EXPECT_EQ(files.kind("run"), FileKind::absent);
}

}  // namespace
}  // namespace cnntrain::run::testing
