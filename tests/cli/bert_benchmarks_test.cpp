// The shipped benchmarks of question answering, GLUE and GroupBERT, run for real: small networks on the files of
// tests/data.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "cli/shell.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

namespace fs = std::filesystem;

struct BertBenchmark {
    std::string name;
    std::string options;  // laid over its line
    int variants = 1;
};

const std::string kSmall =
    " hidden-size=64 num-attention-heads=1 intermediate-size=64 vocab-size=512 micro-batch-size=1 seq-length=64 "
    "threads=1 init-checkpoint=";
const std::string kUpdates = kSmall + " num-train-steps=5 steps-per-logs=1 gradient-accumulation-count=10 replicas=1";
const std::string kQuestions = kUpdates + " doc-stride=16 max-query-length=12";
const std::string kGenerated = kUpdates + " generated-data max-predictions-per-seq=5";
const std::string kRequests = kSmall + " num-iter=20";

const BertBenchmark kBenchmarks[] = {
    {"tf1_groupbert_base_pretrain_real_pod16", kGenerated, 2},
    {"tf1_groupbert_base_sl128_pretrain_real_pod64_conv", kGenerated},
    {"tf1_groupbert_base_sl384_pretrain_real_pod64_conv", kGenerated},
    {"tf1_bert_squad_large_train_real_pod16", kQuestions},
    {"tf1_bert_squad_large_train_real_pod16_conv", kQuestions},
    {"tf1_groupbert_squad_base_finetune_real_pod4_conv", kQuestions},
    {"tf1_bert_squad_large_infer_gen_2ipu", kRequests},
    {"tf1_bert_squad_large_infer_gen_4ipu", kRequests},
    {"tf1_glue_base_train_real_pod16", kUpdates},
    {"tf1_glue_large_train_real_pod16", kUpdates},
};

/// A folder of data sets as the benchmarks' lines name them.
void link_data(const fs::path& folder) {
    const fs::path data = CNNTRAIN_SOURCE_DIR "/tests/data";
    for (const char* vocabulary : {"ckpts/uncased_L-24_H-1024_A-16", "ckpts/uncased_L-2_H-128_A-2",
                                   "tf_wikipedia/ckpts/uncased_L-24_H-1024_A-16"}) {
        fs::create_directories(folder / vocabulary);
        fs::create_symlink(data / "bert/vocab.txt", folder / vocabulary / "vocab.txt");
    }
    fs::create_directories(folder / "squad");
    for (const char* part : {"train-v1.1.json", "dev-v1.1.json"})
        fs::create_symlink(data / "squad/squad-v1.1.json", folder / "squad" / part);
    fs::create_directory_symlink(data / "glue", folder / "glue");
}

class BertBenchmarks : public ::testing::TestWithParam<BertBenchmark> {};

TEST_P(BertBenchmarks, Run) {
    const test::TemporaryFolder folder;
    link_data(folder / "data");
    const Outcome outcome = shell(
        "cd " + folder.path() + " && export DATASETS_DIR=$PWD/data VIPU_CLI_API_HOST=h IPUOF_VIPU_API_PARTITION_ID=p " +
        "CLUSTER=c TCP_IF_INCLUDE=lo OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 && " CNNTRAIN_PROGRAM
        " benchmark --benchmark " +
        GetParam().name + " --log-dir log --set" + GetParam().options);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(" 0 failed, " + std::to_string(GetParam().variants) + " passed "));
}

INSTANTIATE_TEST_SUITE_P(All, BertBenchmarks, ::testing::ValuesIn(kBenchmarks),
                         [](const auto& benchmark) { return benchmark.param.name; });

}  // namespace
}  // namespace cnntrain::cli
