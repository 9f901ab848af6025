// `cnntrain plan` as it is typed.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "data/fixtures.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

const std::string kLine =
    "--dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 4 --pipeline --pipeline-splits stage2/unit1 "
    "--gradient-accumulation-count 4 ";

TEST(PlanCommand, TakesATrainingLineByAllItsNames) {
    const std::string plain = run("plan " + kLine + "--no-measure").text;
    EXPECT_THAT(plain, HasSubstr("B0F1"));
    for (const std::string command : {"train", "train.py", "some/folder/train.py"})
        EXPECT_EQ(run("plan " + command + " " + kLine + "--no-measure").text, plain);
    EXPECT_EQ(run("plan --no-measure " + kLine).text, plain);
}

TEST(PlanCommand, TakesALineOfPretraining) {
    const std::string line = " --config pretrain_tiny_128_lamb --generated-data --no-measure ";
    const Outcome outcome = run("plan pretrain" + line);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("BERT of "), HasSubstr("sequences/s")));
    EXPECT_EQ(run("plan run_pretraining.py" + line).text, outcome.text);
    const std::string processes = run("plan pretrain" + line +
                                      "--processes 1...8 --network 100Gbps,1us --adding-rate 5GB/s "
                                      "--samples-per-second 1234")
                                      .text;
    EXPECT_THAT(processes, HasSubstr("1234 sequences"));
    expect_error("plan pretrain" + line + "--evaluate --restore-dir here", ErrorKind::usage, {"--evaluate"});
}

TEST(PlanCommand, MeasuresOrReadsAProfile) {
    const test::TemporaryFolder folder;
    const Outcome measured = run("plan " + kLine + "--steps=1 --threads 2 --memory-limit 1");
    EXPECT_EQ(measured.exit_code, 0) << measured.text;
    EXPECT_THAT(measured.text, HasSubstr("1 weight"));
    const std::string line =
        "train --dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 4 --gradient-accumulation-count 4 "
        "--threads 2 ";
    ASSERT_EQ(run("profile " + line + "--profile-steps 1 --profile-dir " + (folder / "p")).exit_code, 0);
    const std::string profile = folder / "p/profile.json";
    const Outcome read = run("plan " + kLine + "--threads 2 --no-measure --profile " + profile);
    EXPECT_EQ(read.exit_code, 0) << read.text;
    EXPECT_THAT(read.text, AllOf(HasSubstr(profile), HasSubstr("2 threads")));
    expect_error("plan " + kLine + "--model-size 14 --profile " + profile, ErrorKind::usage, {"profile.json", "14"});
}

TEST(PlanCommand, ReadsAProfileOfSingleMicroBatches) {
    const test::TemporaryFolder folder;
    const std::string line =
        "profile train --dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 4 --threads 2 ";
    ASSERT_EQ(run(line + "--profile-steps 1 --profile-dir " + (folder / "p")).exit_code, 0);
    const Outcome read = run("plan " + kLine + "--threads 2 --no-measure --profile " + (folder / "p/profile.json"));
    EXPECT_EQ(read.exit_code, 0) << read.text;
}

TEST(PlanCommand, HelpNamesItsOwnOptions) {
    const std::string text = run("plan --help").text;
    EXPECT_THAT(text, StartsWith("usage: cnntrain plan [options]\n"));
    for (const std::string option :
         {"--stages", "--memory-limit", "--profile", "--steps", "--no-measure", "--processes", "--network",
          "--ranks-per-node", "--node-network", "--adding-rate", "--images-per-second", "cnntrain train --help"})
        EXPECT_THAT(text, HasSubstr(option));
    EXPECT_EQ(run("plan train.py " + kLine + "--help").text, text);
}

TEST(PlanCommand, MistakesHaveTheirExitCodes) {
    const test::TemporaryFolder folder;
    data::write_file(folder / "bad.json", "{");
    const std::string quick = "plan " + kLine + "--no-measure ";
    expect_error("plan validation.py --dataset cifar-10", ErrorKind::usage, {"'validation'"});
    expect_error("plan trian.py", ErrorKind::usage, {"'train.py'"});
    expect_error(quick + "--pipeline-splits stage2/unit2", ErrorKind::usage, {"stage2/unit2", "mean"});
    expect_error(quick + "--stages 1", ErrorKind::usage, {"--stages"});
    expect_error(quick + "--stages 50", ErrorKind::usage, {"--stages 50"});
    expect_error(quick + "--memory-limit 0.0001", ErrorKind::usage, {"least"});
    expect_error(quick + "--memory-limit much", ErrorKind::usage, {"--memory-limit"});
    expect_error(quick + "--profile", ErrorKind::usage, {"--profile"});
    expect_error(quick + "--profile " + (folder / "bad.json"), ErrorKind::data, {"bad.json"});
    expect_error(quick + "--profile " + (folder / "none.json"), ErrorKind::data, {"none.json"});
    expect_error(quick + "--no-such-option", ErrorKind::usage, {"--no-such-option"});
    expect_error("plan " + kLine + "--backend ipu --no-measure", ErrorKind::unsupported, {"--backend ipu"});
}

const std::string kProcesses =
    "plan train.py --dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 4 --no-measure --adding-rate "
    "5GB/s ";

TEST(PlanCommand, PredictsProcesses) {
    const Outcome outcome = run(kProcesses + "--processes 1,2,4...64 --ranks-per-node 2 --network 100Gbps,1.5us");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(
        outcome.text,
        AllOf(HasSubstr("between nodes latency 1.5 us, 12.5 GB/s (as given); inside a node latency 1 us, 5 GB/s "
                        "(assumed: as fast as adding); adding 5 GB/s (as given)"),
              HasSubstr("16 bits"), HasSubstr("\n       64     32  ")));
    const std::string scaled = run(kProcesses + "--processes 2 --network 1Gbps,50us --images-per-second 1234").text;
    EXPECT_THAT(scaled, HasSubstr("1234 images"));
    EXPECT_THAT(run(kProcesses + "--processes 2 --network 1Gbps,50us --max-cross-replica-buffer-size 65536").text,
                AllOf(HasSubstr("65.5"), Not(HasSubstr("needs several processes"))));
}

TEST(PlanCommand, MistakesAboutProcessesAreUsageErrors) {
    const auto refused = [](const std::string& options, const std::string& part) {
        expect_error(kProcesses + options, ErrorKind::usage, {part});
    };
    const std::string network = " --network 100Gbps,1.5us ";
    refused("", "--adding-rate needs --processes");
    refused("--processes 2", "--processes needs --network");
    refused("--processes two" + network, "--processes");
    refused("--processes 2 --network slow", "--network expects bandwidth and latency");
    refused("--processes 2 --node-network 1us,10GB/s" + network, "--node-network");
    refused("--processes 2 --ranks-per-node 0" + network, "--ranks-per-node");
    refused("--processes 2 --images-per-second 0" + network, "--images-per-second");
    refused("--processes 2 --stages 2" + network, "--stages");
    refused("--processes 2 --memory-limit 2" + network, "--memory-limit");
    refused("--processes 2 --network measure", "--adding-rate");
    expect_error("plan " + kLine + "--no-measure --processes 2 --network measure", ErrorKind::usage, {"2 cnntrain"});
}

}  // namespace
}  // namespace cnntrain::cli
