#include "cnntrain/parallel/communicator.h"

#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::comm {
namespace {

Variables open_mpi(const std::string& rank, const std::string& size) {
    return {{"OMPI_COMM_WORLD_RANK", rank},
            {"OMPI_COMM_WORLD_SIZE", size},
            {"OMPI_COMM_WORLD_LOCAL_RANK", rank},
            {"OMPI_COMM_WORLD_LOCAL_SIZE", size}};
}

/// Instance 3 of 4 with 2 replicas each, the second one of its host.
Variables poprun() {
    return {{"POPDIST_NUM_TOTAL_REPLICAS", "8"},   {"POPDIST_NUM_LOCAL_REPLICAS", "2"},
            {"POPDIST_NUM_IPUS_PER_REPLICA", "4"}, {"POPDIST_UNIFORM_REPLICAS_PER_INSTANCE", "1"},
            {"POPDIST_REPLICA_INDEX_OFFSET", "6"}, {"POPDIST_LOCAL_INSTANCE_INDEX", "1"},
            {"OMPI_COMM_WORLD_RANK", "3"},         {"OMPI_COMM_WORLD_SIZE", "4"},
            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},   {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
}

Variables slurm() {
    return {{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "6"}, {"SLURM_NTASKS", "7"},
            {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "3"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"}};
}

Variables with(Variables environment, const std::string& variable, const std::string& value) {
    environment[variable] = value;
    return environment;
}

Variables without(Variables environment, const std::string& variable) {
    environment.erase(variable);
    return environment;
}

TEST(Launcher, NobodyStartedAPlainProcess) {
    const Launched launched = read_launched({{"PATH", "/usr/bin"}});
    EXPECT_FALSE(launched.world);
    EXPECT_FALSE(launched.popdist);
}

TEST(Launcher, OpenMpi) {
    const World world = read_launched(open_mpi("1", "4")).world.value();
    EXPECT_EQ(world.launcher, Launcher::open_mpi);
    EXPECT_EQ(world.rank, 1);
    EXPECT_EQ(world.size, 4);
    EXPECT_EQ(world.local_rank, 1);
    EXPECT_EQ(world.local_size, 4);
}

TEST(Launcher, Pmi) {
    const World world = read_launched({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}).world.value();
    EXPECT_EQ(world.launcher, Launcher::pmi);
    EXPECT_EQ(world.rank, 2);
    EXPECT_EQ(world.size, 3);
    EXPECT_FALSE(world.local_rank);
    EXPECT_FALSE(world.local_size);
}

TEST(Launcher, SlurmCountsTasksOfTheNode) {
    const World world = read_launched(slurm()).world.value();
    EXPECT_EQ(world.launcher, Launcher::slurm);
    EXPECT_EQ(world.rank, 6);
    EXPECT_EQ(world.size, 7);
    EXPECT_EQ(world.local_rank, 0);
    EXPECT_EQ(world.local_size, 1);
    EXPECT_EQ(read_launched(with(with(slurm(), "SLURM_NODEID", "2"), "SLURM_LOCALID", "1")).world->local_size, 2);
}

TEST(Launcher, ABatchScriptOfSlurmIsNoRank) {
    EXPECT_FALSE(read_launched(without(slurm(), "SLURM_STEP_ID")).world);
}

TEST(Launcher, MpirunWithinSlurmCounts) {
    Variables both = open_mpi("1", "2");
    both.merge(slurm());
    EXPECT_EQ(read_launched(both).world->launcher, Launcher::open_mpi);
}

TEST(Launcher, Poprun) {
    const Launched launched = read_launched(poprun());
    const PopDist popdist = launched.popdist.value();
    EXPECT_EQ(popdist.replicas, 8);
    EXPECT_EQ(popdist.local_replicas, 2);
    EXPECT_EQ(popdist.ipus_per_replica, 4);
    EXPECT_EQ(popdist.instances, 4);
    EXPECT_EQ(popdist.instance, 3);
    EXPECT_EQ(popdist.local_instance, 1);
    EXPECT_EQ(launched.world->rank, 3);
}

TEST(Launcher, OneInstanceNeedsNoLauncher) {
    const Launched launched = read_launched({{"POPDIST_NUM_TOTAL_REPLICAS", "2"}, {"POPDIST_NUM_LOCAL_REPLICAS", "2"}});
    EXPECT_EQ(launched.popdist->instances, 1);
    EXPECT_EQ(launched.popdist->replicas, 2);
    EXPECT_FALSE(launched.world);
}

struct Wrong {
    const char* name;
    Variables environment;
    std::vector<std::string> expected;
};

std::vector<Wrong> wrongs() {
    Variables alone = poprun();
    std::erase_if(alone, [](const auto& entry) { return entry.first.starts_with("OMPI"); });
    return {
        {"NoNumber", open_mpi("one", "4"), {"OMPI_COMM_WORLD_RANK=one", "whole number of at least 0"}},
        {"TrailingText", open_mpi("1x", "4"), {"OMPI_COMM_WORLD_RANK=1x"}},
        {"Negative", open_mpi("-1", "4"), {"OMPI_COMM_WORLD_RANK=-1"}},
        {"RankBeyondSize", open_mpi("4", "4"), {"OMPI_COMM_WORLD_RANK=4", "OMPI_COMM_WORLD_SIZE=4", "from 0 to 3"}},
        {"NoSize",
         without(open_mpi("1", "4"), "OMPI_COMM_WORLD_SIZE"),
         {"OMPI_COMM_WORLD_RANK but not OMPI_COMM_WORLD_SIZE"}},
        {"NoRank",
         without(open_mpi("1", "4"), "OMPI_COMM_WORLD_RANK"),
         {"OMPI_COMM_WORLD_SIZE but not OMPI_COMM_WORLD_RANK"}},
        {"LocalRank",
         with(open_mpi("1", "4"), "OMPI_COMM_WORLD_LOCAL_RANK", "4"),
         {"OMPI_COMM_WORLD_LOCAL_RANK=4", "LOCAL_SIZE=4"}},
        {"LocalSize",
         with(open_mpi("1", "4"), "OMPI_COMM_WORLD_LOCAL_SIZE", "5"),
         {"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE=4"}},
        {"SlurmList", with(slurm(), "SLURM_STEP_TASKS_PER_NODE", "2(x3"), {"SLURM_STEP_TASKS_PER_NODE=2(x3,"}},
        {"SlurmNode", with(slurm(), "SLURM_NODEID", "4"), {"SLURM_NODEID=4", "SLURM_STEP_TASKS_PER_NODE=2(x3),1"}},
        {"WorldSize", with(poprun(), "OMPI_COMM_WORLD_SIZE", "5"), {"instance 3 of 4", "Open MPI started rank 3 of 5"}},
        {"WorldRank", with(poprun(), "OMPI_COMM_WORLD_RANK", "2"), {"instance 3 of 4", "Open MPI started rank 2 of 4"}},
        {"NoWorld", alone, {"instance 3 of 4", "no processes that can reach each other"}},
        {"LocalInstance",
         with(poprun(), "POPDIST_LOCAL_INSTANCE_INDEX", "0"),
         {"POPDIST_LOCAL_INSTANCE_INDEX=0", "local rank 1"}},
        {"Replicas",
         with(poprun(), "POPDIST_NUM_LOCAL_REPLICAS", "3"),
         {"POPDIST_NUM_TOTAL_REPLICAS=8", "POPDIST_NUM_LOCAL_REPLICAS=3", "multiple"}},
        {"MoreLocalThanTotal", with(poprun(), "POPDIST_NUM_LOCAL_REPLICAS", "16"), {"multiple"}},
        {"Offset", with(poprun(), "POPDIST_REPLICA_INDEX_OFFSET", "5"), {"POPDIST_REPLICA_INDEX_OFFSET=5", "multiple"}},
        {"OffsetBeyond",
         with(poprun(), "POPDIST_REPLICA_INDEX_OFFSET", "8"),
         {"POPDIST_REPLICA_INDEX_OFFSET=8", "from 0 to 7"}},
        {"NotUniform",
         with(poprun(), "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE", "0"),
         {"POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=0"}},
        {"NoLocalReplicas", without(poprun(), "POPDIST_NUM_LOCAL_REPLICAS"), {"but not POPDIST_NUM_LOCAL_REPLICAS"}},
        {"NoOffset", without(poprun(), "POPDIST_REPLICA_INDEX_OFFSET"), {"but not POPDIST_REPLICA_INDEX_OFFSET"}},
    };
}

class Contradictions : public ::testing::TestWithParam<Wrong> {};

TEST_P(Contradictions, AreRefusedWithTheirVariables) {
    const std::string message = message_of(ErrorKind::usage, [] { read_launched(GetParam().environment); });
    for (const std::string& part : GetParam().expected)
        EXPECT_THAT(message, HasSubstr(part));
    EXPECT_THAT(message, HasSubstr("cnntrain"));
}

INSTANTIATE_TEST_SUITE_P(Environments, Contradictions, ::testing::ValuesIn(wrongs()),
                         [](const auto& instance) { return instance.param.name; });

TEST(Launcher, ReadsTheEnvironmentOfThisProcess) {
    EXPECT_TRUE(process_variables().contains("PATH"));
}

}  // namespace
}  // namespace cnntrain::comm
