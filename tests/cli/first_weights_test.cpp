// The checkpoint that a new run begins with: what a dry run and the run say of it.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "support/matchers.h"
#include "support/suite_folder.h"

namespace cnntrain::cli {
namespace {

/// A small BERT, trained for three steps with LAMB: ckpt-0, ckpt-1 and ckpt-2.
class FirstWeights : public test::SuiteFolder<FirstWeights> {
public:
    static void prepare() {
        const Outcome outcome =
            bert("--optimizer lamb --num-train-steps 3 --steps-per-ckpts 1 --logs-path " + at("run"));
        ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    }

protected:
    static Outcome bert(const std::string& options) {
        return run(
            "pretrain --generated-data --micro-batch-size 2 --gradient-accumulation-count 1 --vocab-size 64 "
            "--hidden-size 64 --num-hidden-layers 1 --num-attention-heads 1 --intermediate-size 64 "
            "--seq-length 16 --max-predictions-per-seq 3 --max-position-embeddings 16 --threads 1 " +
            options);
    }
    static std::string at(const std::string& name) { return *folder_ / name; }
};

TEST_F(FirstWeights, AStateOfAnotherOptimiserIsLeftOutAndNamed) {
    const std::string line = "--num-train-steps 1 --no-logs --init-checkpoint " + at("run/ckpt-2");
    const std::string said = "the state in it is another optimiser's (there is no ";
    for (const std::string end : {"", " --dry-run"}) {
        EXPECT_THAT(bert("--optimizer momentum " + line + end).text, HasSubstr(said));
        EXPECT_THAT(bert("--optimizer lamb " + line + end).text, Not(HasSubstr(said)));
    }
}

TEST_F(FirstWeights, ADryRunReadsThem) {
    const auto dry = [](const std::string& place, const std::string& more = "") {
        return bert("--optimizer lamb --num-train-steps 1 --dry-run --init-checkpoint " + at(place) + " " + more);
    };
    const Outcome good = dry("run/ckpt-2");
    EXPECT_EQ(good.exit_code, 0);
    EXPECT_THAT(good.text, ContainsRegex("Initial weights: +.*/run/ckpt-2.safetensors; with the optimiser's state\n"));
    const Outcome missing = dry("nowhere");
    EXPECT_EQ(missing.exit_code, exit_code(ErrorKind::not_found)) << missing.text;
    const Outcome newest = dry("run");
    EXPECT_EQ(newest.exit_code, 0);
    EXPECT_THAT(newest.text,
                AllOf(HasSubstr(at("run")), ContainsRegex("Initial weights: +.*/run/ckpt-2.safetensors; ")));
    const Outcome other = dry("run/ckpt-2", "--num-hidden-layers 2");
    EXPECT_EQ(other.exit_code, exit_code(ErrorKind::data)) << other.text;
    EXPECT_THAT(other.text, HasSubstr("layer_1"));
    ASSERT_EQ(shell("head -c 3000 " + at("run/ckpt-2.safetensors") + " >" + at("cut.safetensors")).exit_code, 0);
    EXPECT_EQ(dry("cut").exit_code, exit_code(ErrorKind::data));
}

}  // namespace
}  // namespace cnntrain::cli
