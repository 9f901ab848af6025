// The documented lines of one process, run for real: a few micro-batches of generated data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace cnntrain::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct DocumentedRun {
    std::string_view id;
    std::string_view line;
    std::string_view shorter;  // options laid over it
    std::string_view prints;   // a regular expression
};

constexpr std::string_view kRate = "throughput: +[0-9.]+ samples/sec";
constexpr std::string_view kOneBatch = " --iterations 1 --repeat 2";
constexpr std::string_view kTwoUpdates =
    " --generated-data --iterations 2 --log-freq 1 --no-validation --ckpts-per-epoch 0";

// clang-format off
constexpr DocumentedRun kRuns[] = {
    {"S0-12", "validation.py --model resnet --model-size 50 --dataset imagenet --batch-size 1 --synthetic-data --repeat 10 --batch-norm --enable-half-partials", kOneBatch, kRate},
    {"S0-13", "validation.py --model resnext --model-size 101 --dataset imagenet --batch-size 1 --synthetic-data --repeat 10 --batch-norm --enable-half-partials", kOneBatch, kRate},
    {"S0-14", "validation.py --model efficientnet --model-size 0 --dataset imagenet --precision 16.16 --batch-size 1 --synthetic-data --repeat 10 --batch-norm --enable-half-partials", kOneBatch, kRate},
    {"S1-02", "train.py --dataset imagenet", kTwoUpdates, kRate},
    {"S1-28", "validation.py --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 8 --generated-data --repeat 10 --batch-norm", kOneBatch, kRate},
    {"S1-29", "inference_embedded.py --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 1 --iterations 1000 --device-iterations 100 --eight-bit-io --no-dataset-cache --generated-data", " --iterations 2 --tmp-execs", kRate},
    {"S1-30", "train.py --config resnet8_test", " --generated-data --epochs 0.01 --ckpts-per-epoch 0", kRate},
};
// clang-format on

class DocumentedRuns : public ::testing::TestWithParam<DocumentedRun> {};

TEST_P(DocumentedRuns, WorkOrSayWhatIsMissing) {
    const DocumentedRun& run = GetParam();
    const std::string line = std::string("cd ${TMPDIR:-/tmp} && ") + CNNTRAIN_PROGRAM + " " + std::string(run.line) +
                             std::string(run.shorter) + " --no-logs 2>&1";
    FILE* pipe = popen(line.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string text;
    std::array<char, 4096> buffer{};
    for (std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe); count > 0;
         count = fread(buffer.data(), 1, buffer.size(), pipe)) {
        text.append(buffer.data(), count);
    }
    const int status = pclose(pipe);
    ASSERT_TRUE(WIFEXITED(status));
    constexpr int kUnsupported = 4;
    if (WEXITSTATUS(status) == kUnsupported) {
        EXPECT_THAT(text, HasSubstr("not available yet"));
        return;
    }
    EXPECT_EQ(WEXITSTATUS(status), 0) << text;
    EXPECT_THAT(text, ContainsRegex(std::string(run.prints)));
}

INSTANTIATE_TEST_SUITE_P(All, DocumentedRuns, ::testing::ValuesIn(kRuns), [](const auto& row) {
    std::string name(row.param.id);
    name.replace(name.find('-'), 1, "_");
    return name;
});

}  // namespace
}  // namespace cnntrain::cli
