// The examples for clusters in tools/, as texts: the lines in them are ones that this program takes.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/base/io.h"
#include "cnntrain/options/line.h"
#include "support/matchers.h"

namespace cnntrain::cli {
namespace {

std::string tool(const std::string& name) {
    return read_text(posix_files(), std::string(CNNTRAIN_SOURCE_DIR) + "/tools/" + name);
}

/// Dry run of the program with the options after "cnntrain ".
Outcome dry_run(const std::string& line) {
    const std::size_t program = line.find("cnntrain ");
    return run(line.substr(program + 9) + " --dry-run");
}

TEST(ClusterExamples, TheBatchScriptTrains) {
    const std::string script = std::regex_replace(tool("srun_train.sh"), std::regex(R"(\\\n\s*)"), "");
    EXPECT_EQ(shell("bash -n " + std::string(CNNTRAIN_SOURCE_DIR) + "/tools/srun_train.sh").exit_code, 0);
    std::smatch found;
    ASSERT_TRUE(std::regex_search(script, found, std::regex("\nsrun (.*)\n")));
    const std::string line = found[1];
    EXPECT_THAT(line, AllOf(HasSubstr("--mpi=pmix"), HasSubstr("--cpu-bind=none")));
    const Outcome outcome = dry_run(line);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("resnet 50"));
}

/// The batch script's processes as Slurm starts them: each knows its place on its node.
TEST(ClusterExamples, TheProcessesOfTheBatchScriptShareTheirNode) {
    const Outcome outcome = shell(
        "SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_LOCALID=1 SLURM_NODEID=1 "
        "SLURM_STEP_TASKS_PER_NODE='2(x4)' " CNNTRAIN_PROGRAM " train --dataset no-such");
    EXPECT_THAT(outcome.text, HasSubstr("1 of 2"));
}

TEST(ClusterExamples, TheKubernetesJobTrains) {
    const std::string text = tool("mpijob_train.yaml");
    options::check_yaml(text, ErrorKind::data);
    const YAML::Node job = YAML::Load(text);
    EXPECT_EQ(job["kind"].as<std::string>(), "MPIJob");
    const YAML::Node roles = job["spec"]["mpiReplicaSpecs"];
    const auto words = roles["Launcher"]["template"]["spec"]["containers"][0]["command"].as<std::vector<std::string>>();
    const auto value = [&](const char* option) {
        const auto found = std::ranges::find(words, option);
        return found == words.end() ? std::string() : *(found + 1);
    };
    const int workers = roles["Worker"]["replicas"].as<int>();
    EXPECT_EQ(std::stoi(value("-np")), workers * job["spec"]["slotsPerWorker"].as<int>());
    EXPECT_EQ(value("--bind-to"), "none");
    std::string line;
    for (const std::string& word : words)
        line += word + " ";
    const Outcome outcome = dry_run(line);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("resnet 50"));
    for (const auto& role : roles) {
        const YAML::Node pod = role.second["template"]["spec"];
        EXPECT_TRUE(pod["containers"][0]["image"].IsDefined());
    }
}

}  // namespace
}  // namespace cnntrain::cli
