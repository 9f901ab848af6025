// Instances and mpirun lines of requests, on machines that exist in these tests only.

#include "cnntrain/launch/poprun.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::launch {
namespace {

/// Sixteen cores, Open MPI 4, a user, /bin/sh as the program that is there.
Machine machine() {
    Machine result;
    result.environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/home/somebody"}};
    result.program = "/bin/true";
    result.name = "here";
    result.cores = 16;
    result.open_mpi = OpenMpi{4};
    result.look_up = [](const std::string& host) {
        if (host.starts_with("here") || host.starts_with("127.")) return HostPlace::here;
        return host.starts_with("lost") ? HostPlace::unknown : HostPlace::elsewhere;
    };
    return result;
}

Plan plan(const std::string& line, const Machine& on = machine()) {
    MemoryFiles files;
    return plan_launch(parse_poprun(split_words(line), files), on);
}

std::string mpirun(const std::string& line, const Machine& on = machine()) {
    return quoted(mpirun_words(plan(line, on)));
}

std::string mistake(const std::string& line, const Machine& on = machine()) {
    return message_of(ErrorKind::usage, [&] { plan(line, on); });
}

std::string obstacle(const Plan& plan, int exit_code) {
    if (plan.obstacles.size() != 1 || plan.obstacles.front().exit_code != exit_code) return "";
    return plan.obstacles.front().message;
}

/// The variables of all instances.
std::string popdist(int total, int local, int ipus) {
    return "-x POPDIST_NUM_TOTAL_REPLICAS=" + std::to_string(total) +
           " -x POPDIST_NUM_LOCAL_REPLICAS=" + std::to_string(local) +
           " -x POPDIST_NUM_IPUS_PER_REPLICA=" + std::to_string(ipus) + " -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1";
}

TEST(MpirunLine, IsOnePartForAllInstances) {
    EXPECT_EQ(mpirun("--num-instances 2 --num-replicas 4 --ipus-per-replica 2 sh -c 'echo hi'"),
              "mpirun --tag-output --bind-to none -np 2 " + popdist(4, 2, 2) +
                  " -x PATH /bin/true poprun-instance sh -c 'echo hi'");
}

TEST(MpirunLine, BindsAsTheUserSays) {
    // Open MPI 5 refuses a second --bind-to.
    EXPECT_THAT(mpirun("--mpi-global-args '--bind-to core' sh"), HasSubstr("--tag-output"));
    EXPECT_THAT(mpirun("--mpi-local-args '-bind-to core' sh"), Not(HasSubstr("none")));
}

TEST(MpirunLine, CarriesTheUsersOptions) {
    Machine with_variables = machine();
    with_variables.environment["LD_LIBRARY_PATH"] = "/lib";
    with_variables.environment["MINE"] = "1";
    const std::string line = mpirun(
        "--num-instances 1 --num-replicas 1 --mpi-global-args '--mca a b' --mpi-local-args '-x MINE -x PATH -x T=\"v "
        "w\" -x UNSET' sh",
        with_variables);
    EXPECT_EQ(line, "mpirun --tag-output --bind-to none --mca a b -np 1 " + popdist(1, 1, 1) +
                        " -x MINE -x PATH -x 'T=v w' -x LD_LIBRARY_PATH /bin/true poprun-instance sh");
    EXPECT_THAT(plan("--mpi-local-args '-x UNSET' sh").remarks, ElementsAre("not set, so not exported: UNSET"));
}

TEST(MpirunLine, ExportsWhatTheLineSaysOfIpus) {
    EXPECT_THAT(mpirun("--vipu-server-host 10.0.0.1 --vipu-server-timeout 300 --executable-cache-path /c sh"),
                HasSubstr("POPDIST_EXECUTABLE_CACHE_PATH"));
    EXPECT_THAT(plan("--vipu-server-host a --reset-partition no sh").notices,
                ElementsAre("without effect on CPUs: --vipu-server-host, --reset-partition"));
}

TEST(MpirunLine, TellsProcessesThatAreNotBound) {
    EXPECT_THAT(mpirun("--numa-aware no sh"), HasSubstr("CNNTRAIN_PROCESS_PLACEMENT"));
    EXPECT_THAT(mpirun("--numa-aware yes sh"), Not(HasSubstr("PLACEMENT")));
}

TEST(MpirunLine, StartsThisProgramForScripts) {
    EXPECT_THAT(mpirun("python3 /some/folder/train.py --epochs 1"),
                EndsWith(" /bin/true poprun-instance /bin/true /some/folder/train.py --epochs 1"));
    EXPECT_THAT(mpirun("sh train.py"), HasSubstr("train.py"));
}

TEST(Hosts, GetBlocksOfInstances) {
    const Plan four = plan("--host a,b --num-instances 4 --num-replicas 8 sh");
    EXPECT_FALSE(four.here);
    ASSERT_EQ(four.instances.size(), 4U);
    std::vector<std::string> places;
    for (const Instance& instance : four.instances)
        places.push_back(four.hosts[instance.host].name + std::to_string(instance.local_index));
    EXPECT_THAT(places, ElementsAre("a0", "a1", "b0", "b1"));
    EXPECT_EQ(four.instances[3].first_replica, 6);
    EXPECT_THAT(mpirun("--host a,b --num-instances 4 --num-replicas 8 sh"), HasSubstr(popdist(8, 2, 1)));
}

TEST(Hosts, ThatAreAllThisOneAreLeftOut) {
    const Plan local = plan("--host here1,127.0.0.1 --num-instances 4 --num-replicas 4 sh");
    EXPECT_TRUE(local.here);
    EXPECT_EQ(local.instances[3].local_index, 3);
    EXPECT_THAT(local.notices, ElementsAre(HasSubstr("--host")));
    EXPECT_THAT(quoted(mpirun_words(local)), Not(HasSubstr("--host")));
    EXPECT_THAT(mpirun("--host here,a --num-instances 2 --num-replicas 2 sh"), HasSubstr("--host here:1"));
}

TEST(Hosts, AreCountedOnceHoweverOftenTheyAreNamed) {
    const Plan twice = plan("--host a,b,a,b --num-instances 8 --num-replicas 8 sh");
    ASSERT_EQ(twice.hosts.size(), 2U);
    EXPECT_EQ(twice.hosts[0].instances, 4);
    EXPECT_EQ(twice.instances[7].local_index, 3);
}

TEST(Hosts, NeedAWholeNumberOfInstances) {
    EXPECT_THAT(mistake("--host a,b,c --num-instances 4 --num-replicas 4 sh"), HasSubstr("3 hosts"));
    EXPECT_THAT(mistake("--host a,b sh"), Not(IsEmpty()));
}

TEST(Hosts, PlaceholdersAreRefusedTogether) {
    const std::string message = mistake(
        "--host xxx.xxx.1,a,10.1 --vipu-server-host xxx.xxx.xxx.xxx --host-subnet '$SUBNET' --mpi-global-args "
        "'--mca btl_tcp_if_include xxx.xxx.xxx.0/24' sh");
    EXPECT_THAT(message,
                AllOf(HasSubstr("'xxx.xxx.1'"), HasSubstr("--host"), HasSubstr("--vipu-server-host: 'xxx.xxx.xxx.xxx'"),
                      HasSubstr("--host-subnet: '$SUBNET'"), HasSubstr("--mca: 'xxx.xxx.xxx.0/24'")));
    EXPECT_THAT(mistake("--host '$HOSTS' sh"), HasSubstr("'$HOSTS'"));
    EXPECT_THAT(mistake("--vipu-server-host xxx.xx1 sh"), HasSubstr("placeholder"));
}

TEST(Hosts, ThatNobodyKnowsAreAnObstacle) {
    EXPECT_THAT(obstacle(plan("--host lost1,a,lost2 --num-instances 3 --num-replicas 3 sh"), 2),
                HasSubstr("no such host: lost1, lost2"));
}

TEST(Networks, AreChosenBetweenHostsOnly) {
    const std::string options =
        "--mpi-global-args '--mca oob_tcp_if_include 10.0.0.0/8 --mca c d --mca btl_tcp_if_include "
        "xxx.xxx.0/24' --host-subnet 10.1.0.0/16 ";
    const Plan local = plan(options + "sh");
    EXPECT_THAT(local.global_args, ElementsAre("--mca", "c", "d"));
    EXPECT_THAT(local.notices,
                ElementsAre(AllOf(HasSubstr("oob_tcp_if_include 10.0.0.0/8"), HasSubstr("btl_tcp_if_include"))));
    EXPECT_THAT(
        plan("--host a --host-subnet 10.1.0.0/16 sh").global_args,
        ElementsAre("--mca", "oob_tcp_if_include", "10.1.0.0/16", "--mca", "btl_tcp_if_include", "10.1.0.0/16"));
    EXPECT_THAT(plan("--host a --mpi-global-args '--mca btl_tcp_if_include eth0' sh").global_args, Contains("eth0"));
    for (const std::string host : {"", "--host here ", "--host a "}) {
        EXPECT_THAT(mistake(host + "--host-subnet 999.1.2.0/24 sh"), HasSubstr("--host-subnet: '999.1.2.0/24'"));
        EXPECT_THAT(mistake(host + "--mpi-local-args '--mca btl_tcp_if_include 999.1.2.3' sh"), HasSubstr("--mca"));
    }
}

TEST(Numbers, MustFitEachOther) {
    EXPECT_THAT(mistake("--num-instances 8 --num-replicas 12 sh"), HasSubstr("--num-instances 6"));
    EXPECT_THAT(mistake("--num-instances 4 sh"), HasSubstr("--num-instances 1"));
    EXPECT_THAT(mistake("--num-instances 8 --num-replicas 8 --num-ilds 3 sh"), HasSubstr("2 or"));
    EXPECT_THAT(mistake("--num-instances 2 --num-replicas 2 --only-output-from-instance 2 sh"),
                HasSubstr("from 0 to 1"));
}

TEST(Cores, MayBeSharedByFourInstances) {
    Machine small = machine();
    small.cores = 2;
    EXPECT_THAT(plan("--num-instances 2 --num-replicas 2 sh", small).notices, IsEmpty());
    const Plan crowded = plan("--num-instances 8 --num-replicas 8 sh", small);
    EXPECT_THAT(crowded.obstacles, IsEmpty());
    EXPECT_THAT(crowded.notices, ElementsAre(HasSubstr("8 instances on 2 cores")));
    EXPECT_THAT(quoted(mpirun_words(crowded)), HasSubstr(" --oversubscribe "));
    EXPECT_THAT(obstacle(plan("--num-instances 9 --num-replicas 9 sh", small), 2), HasSubstr("8 can"));
    EXPECT_THAT(plan("--host a --num-instances 99 --num-replicas 99 sh", small).obstacles, IsEmpty());
}

TEST(Root, IsAllowedWhereThatIsMeant) {
    Machine root = machine();
    root.is_root = true;
    EXPECT_THAT(obstacle(plan("sh", root), 2), AllOf(HasSubstr("--allow-run-as-root yes"), HasSubstr("_CONFIRM")));
    EXPECT_THAT(mpirun("--allow-run-as-root 1 sh", root), HasSubstr(" --allow-run-as-root "));
    root.in_container = true;
    EXPECT_THAT(mpirun("sh", root), HasSubstr(" --allow-run-as-root "));
    EXPECT_NE(obstacle(plan("--allow-run-as-root no sh", root), 2), "");
    root.in_container = false;
    root.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
    EXPECT_NE(obstacle(plan("sh", root), 2), "");
    root.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
    EXPECT_THAT(plan("sh", root).obstacles, IsEmpty());
    EXPECT_THAT(mpirun("--allow-run-as-root 1 sh"), Not(HasSubstr("--allow-run-as-root")));
}

TEST(Programs, ThatAreNotThereAreAnObstacle) {
    EXPECT_THAT(obstacle(plan("no-such-program"), 127), HasSubstr("no-such-program"));
    EXPECT_THAT(mistake("sh -c : x : y"), HasSubstr("':'"));
}

TEST(InstanceOfARank, HasItsShareOfTheReplicas) {
    Environment environment = {
        {"POPDIST_NUM_LOCAL_REPLICAS", "2"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
    // The plan gives the last of four instances on two hosts the variables that follow from its environment.
    const Instance planned = plan("--host a,b --num-instances 4 --num-replicas 8 sh").instances[3];
    EXPECT_EQ(own_variables(instance_of_rank(environment)), own_variables(planned));
    EXPECT_THAT(own_variables(planned),
                ElementsAre(Pair("POPDIST_REPLICA_INDEX_OFFSET", "6"), Pair("POPDIST_LOCAL_INSTANCE_INDEX", "1")));
    environment["OMPI_COMM_WORLD_RANK"] = "x";
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { instance_of_rank(environment); }),
                HasSubstr("OMPI_COMM_WORLD_RANK"));
    environment.erase("OMPI_COMM_WORLD_RANK");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { instance_of_rank(environment); }),
                HasSubstr("OMPI_COMM_WORLD_RANK"));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { become_instance({}, environment); }), HasSubstr("program"));
}

TEST(OpenMpiVersion, IsReadFromWhatMpirunPrints) {
    EXPECT_EQ(open_mpi_version("mpirun (Open MPI) 4.1.4\n\nReport bugs to\n")->major, 4);
    EXPECT_EQ(open_mpi_version("mpirun (Open MPI) 5.0.3rc1")->major, 5);
    EXPECT_EQ(open_mpi_version("HYDRA build details:\n    Version: 4.0.2"), std::nullopt);
    EXPECT_EQ(open_mpi_version(""), std::nullopt);
}

TEST(WithoutOpenMpi, OneInstanceRuns) {
    Machine bare = machine();
    bare.open_mpi.reset();
    const Plan alone = plan("--num-replicas 4 sh", bare);
    EXPECT_THAT(alone.obstacles, IsEmpty());
    EXPECT_THAT(alone.notices, ElementsAre(HasSubstr("started")));
    EXPECT_THAT(obstacle(plan("--num-instances 2 --num-replicas 2 sh", bare), 4), HasSubstr("openmpi-bin"));
    EXPECT_THAT(obstacle(plan("--host a sh", bare), 4), HasSubstr("openmpi-bin"));
}

TEST(Topology, ShowsWhoOwnsWhat) {
    EXPECT_EQ(topology_text(plan("--host a,b --num-instances 4 --num-replicas 8 --num-ilds 2 sh")),
              "=============================================\n"
              "               poprun topology\n"
              "=============================================\n"
              "| hosts     |       a       |       b       |\n"
              "|-----------|-------------------------------|\n"
              "| ILDs      |       0       |       1       |\n"
              "|-----------|-------------------------------|\n"
              "| instances |   0   |   1   |   2   |   3   |\n"
              "|-----------|-------------------------------|\n"
              "| replicas  | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |\n"
              "=============================================\n");
}

TEST(Topology, IsWideEnoughForLongNamesAndNumbers) {
    EXPECT_THAT(topology_text(plan("--host a-long-name.example.org sh")),
                AllOf(HasSubstr("name.example.org"), HasSubstr("| replicas  |            0            |\n")));
    EXPECT_THAT(topology_text(plan("--num-replicas 101 sh")), HasSubstr("| 99  | 100 |\n"));
}

}  // namespace
}  // namespace cnntrain::launch
