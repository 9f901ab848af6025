// Commands of a spec as the words of a process.
#include "launch/benchmark/command.h"

#include "cnntrain/launch/poprun.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::benchmark::testing {
namespace {

class Command : public ::testing::Test {
protected:
    Command() {
        entry_.name = "bench_gen";
        entry_.file = folder_.write("spec.yml", "");
        entry_.variants = {{}};
        entry_.needs_dataset = false;
        host_.machine.environment = {{"DATASETS_DIR", "/data"}, {"PATH", "/bin"}};
        host_.machine.program = "/opt/cnntrain";
    }
    PlannedCommand plan(const std::string& command, const Variant& variant = {}) {
        entry_.command = command;
        return plan_command(entry_, variant, request_, host_);
    }
    std::vector<std::string> words(const std::string& command) { return plan(command).words; }
    std::string mistake(const std::string& command, const Variant& variant = {}) {
        return message_of(ErrorKind::data, [&] { plan(command, variant); });
    }

    test::TemporaryFolder folder_;
    Entry entry_;
    Request request_;
    Host host_;
};

TEST_F(Command, PlaceholdersAreFilled) {
    EXPECT_THAT(plan("python3 train.py --micro-batch-size {size} --x {{y}} ${DATASETS_DIR}", {{"size", "4"}}).words,
                ElementsAre("/opt/cnntrain", "train.py", "--micro-batch-size", "4", "--x", "{y}", "/data"));
    EXPECT_THAT(mistake("python3 train.py {sise}", {{"size", "4"}}), HasSubstr("bench_gen"));
    EXPECT_THAT(mistake("python3 train.py {size}"), HasSubstr("'parameters'"));
}

TEST_F(Command, ScriptsBecomeThisProgram) {
    EXPECT_THAT(words("python some/folder/validation.py --repeat 2"),
                ElementsAre("/opt/cnntrain", "some/folder/validation.py", "--repeat", "2"));
    EXPECT_THAT(words("cnntrain train --epochs 1"), ElementsAre("/opt/cnntrain", "train", "--epochs", "1"));
    EXPECT_THAT(words("poprun -vv --num-instances 2 python3 train.py"),
                ElementsAre("/opt/cnntrain", "poprun", "-vv", "--num-instances", "2", "python3", "train.py"));
    EXPECT_THAT(words("echo hello"), ElementsAre("echo", "hello"));
}

TEST_F(Command, WhatIsTooLargeForThisMachineIsSaid) {
    host_.machine.cores = 2;
    host_.machine.open_mpi = launch::OpenMpi{};
    const std::string nine = "poprun --num-instances 9 --num-replicas 9 ";
    EXPECT_THAT(plan(nine + "python3 train.py").skip_reason, HasSubstr("8 can"));
    EXPECT_EQ(plan(nine + "python3 train.py --dry-run").skip_reason, "");
    EXPECT_EQ(plan(nine + "--host a,b,c python3 train.py").skip_reason, "");
    EXPECT_EQ(plan("poprun --num-instances 8 --num-replicas 8 python3 train.py").skip_reason, "");
    EXPECT_EQ(plan("poprun --num-instances 9 --num-replicas 8 python3 train.py").skip_reason, "");  // a mistake
}

TEST_F(Command, WhatCannotBeRunIsSaid) {
    EXPECT_THAT(mistake("python3 trian.py"), HasSubstr("'train.py'"));
    EXPECT_THAT(mistake("python3 -m examples_utils benchmark"), HasSubstr("benchmarks"));
    EXPECT_THAT(mistake("python3"), HasSubstr("expected"));
    EXPECT_THAT(mistake("python3 train.py 'x"), HasSubstr("bench_gen"));
    EXPECT_THAT(mistake("  "), HasSubstr("empty"));
    EXPECT_THAT(plan("python3 evaluate_squad.py dev.json").skip_reason, HasSubstr("cnntrain validation"));
    for (const char* line : {"python3 run_pretraining.py --config configs/pretrain_base_128_phase1.json",
                             "python3 run_squad.py --config configs/groupbert/squad/squad_base.json"})
        EXPECT_EQ(plan(line).skip_reason, "");
}

TEST_F(Command, WandbGoesUnlessAllowed) {
    const std::string line = "python3 train.py --wandb --wandb-name some --seed 1 --wandb-project=x";
    EXPECT_THAT(words(line), ElementsAre("/opt/cnntrain", "train.py", "--seed", "1"));
    request_.allow_wandb = true;
    EXPECT_THAT(words(line), Contains("--wandb-name"));
}

TEST_F(Command, RequestsAreAppended) {
    request_.compile_only = true;
    request_.overrides = {{"iterations", "2"}, {"no-logs", std::nullopt}};
    EXPECT_THAT(words("python3 train.py"),
                ElementsAre("/opt/cnntrain", "train.py", "--compile-only", "--iterations", "2", "--no-logs"));
}

TEST_F(Command, AnOverrideTakesThePlaceOfWhatSaysTheSame) {
    request_.overrides = {{"iterations", "2"}, {"batch-size", "4"}, {"no-validation", std::nullopt}};
    EXPECT_THAT(
        words("python3 train.py --epochs 3 --micro-batch-size=8 --validation --pipeline-splits a b --iteration 7"),
        ElementsAre("/opt/cnntrain", "train.py", "--pipeline-splits", "a", "b", "--iteration", "7", "--iterations", "2",
                    "--batch-size", "4", "--no-validation"));
    request_.overrides = {{"pipeline-splits", "c"}, {"epoch", "1"}};
    EXPECT_THAT(words("python3 train.py --pipeline-split a b --iterations 5 --momentum -1"),
                ElementsAre("/opt/cnntrain", "train.py", "--momentum", "-1", "--pipeline-splits", "c", "--epoch", "1"));
    request_.overrides = {{"replicas", "1"}};
    EXPECT_THAT(words("mpirun --replicas 3 python3 train.py --replicas 2"), Contains("--replicas").Times(2));
}

TEST_F(Command, VariablesThatAreNeededAndUnsetAreListed) {
    EXPECT_THAT(
        plan("poprun --host $HOSTS --vipu-server-host $VIPU --vipu-partition=${PART} python3 train.py --x $Y").unset,
        ElementsAre("HOSTS", "Y"));
    const PlannedCommand command = plan("poprun --vipu-server-host $VIPU --vipu-partition=${PART} -v python3 train.py");
    EXPECT_THAT(command.words, ElementsAre("/opt/cnntrain", "poprun", "-v", "python3", "train.py"));
    EXPECT_THAT(command.notices, Contains(HasSubstr("--vipu-server-host")));
    host_.machine.environment.erase("DATASETS_DIR");
    entry_.needs_dataset = true;
    EXPECT_THAT(plan("python3 train.py").unset, ElementsAre("DATASETS_DIR"));
    host_.machine.environment["DATASET_DIR"] = "/old";
    EXPECT_THAT(plan("python3 train.py --data-dir $DATASETS_DIR/").words, Contains("/old/"));
}

TEST_F(Command, ABlankInAPathDoesNotSplitIt) {
    host_.machine.environment["DATASETS_DIR"] = "/my data";
    EXPECT_THAT(words("python3 train.py --data-dir $DATASETS_DIR/x"), Contains("/my data/x"));
}

TEST_F(Command, TheEnvironmentOfTheEntryComesLast) {
    entry_.environment = {{"DATASETS_DIR", "/other"}, {"CACHE", "$DATASETS_DIR/cache-$NOBODY"}};
    const PlannedCommand command = plan("python3 train.py");
    EXPECT_EQ(command.environment.at("CACHE"), "/other/cache-$NOBODY");
    EXPECT_EQ(command.environment.at("PATH"), "/bin");
    EXPECT_EQ(command.environment.at("POPLAR_LOG_LEVEL"), "INFO");
}

TEST_F(Command, AFolderThatIsNotThereIsShortened) {
    std::filesystem::create_directories(folder_ / "b/c");
    entry_.location = "b/c";
    EXPECT_EQ(plan("echo").folder, folder_ / "b/c");
    EXPECT_THAT(plan("echo").notices, IsEmpty());
    entry_.location = "a/b/c";
    EXPECT_EQ(plan("echo").folder, folder_ / "b/c");
    EXPECT_THAT(plan("echo").notices, ElementsAre(HasSubstr("folder")));
    entry_.location = "x";
    EXPECT_THAT(plan("echo").folder, ::testing::StartsWith(folder_.path()));
    entry_.reference_directory = "/";
    entry_.location = "";
    EXPECT_EQ(plan("echo").folder, "/");
}

TEST_F(Command, MpirunIsAdaptedToThisMachine) {
    host_.machine.cores = 2;
    const std::string line = "mpirun --tag-output --np 4 --bind-to socket -x NOBODY -x PATH python3 validation.py";
    const PlannedCommand command = plan(line);
    EXPECT_EQ(launch::quoted(command.words),
              "mpirun --oversubscribe --tag-output --np 4 --bind-to none -x PATH /opt/cnntrain validation.py");
    EXPECT_THAT(command.notices, ElementsAre(HasSubstr("share"), HasSubstr("4 processes on 2 cores")));
    EXPECT_EQ(printed_processes(command.words), 4);
    EXPECT_EQ(printed_processes(words("poprun --np 4 python3 train.py")), 1);
    EXPECT_EQ(printed_processes(words("mpirun -np 4 python3 train.py")), 1);
}

struct MpirunCase {
    std::string_view line;
    std::string_view becomes;
};

TEST_F(Command, MpirunKeepsWhatOpenMpiKnows) {
    host_.machine.cores = 2;
    const MpirunCase cases[] = {
        {"mpirun --np 2 python3 train.py", "mpirun --np 2 /opt/cnntrain train.py"},
        {"mpirun --np 4 --oversubscribe python3 train.py", "mpirun --np 4 --oversubscribe /opt/cnntrain train.py"},
        {"mpirun -np 512 -ppn 2 --host a,b python train.py --bind-to socket",
         "mpirun -np 512 --map-by ppr:2:node --host a,b /opt/cnntrain train.py --bind-to socket"},
        {"mpirun -np 2 python a/resnet_main.py --train_steps 3",
         "mpirun -np 2 /opt/cnntrain a/resnet_main.py --train_steps 3"},
        {"mpirun --np 2 --mca btl_tcp_if_include 10.0.0.0/8 --mca a b ./train.py",
         "mpirun --np 2 --mca a b /opt/cnntrain ./train.py"},
        {"mpirun -H a,b -np 2 --mca btl_tcp_if_include 10.0.0.0/8 python3 train.py",
         "mpirun -H a,b -np 2 --mca btl_tcp_if_include 10.0.0.0/8 /opt/cnntrain train.py"},
        {"mpirun -np 2 cnntrain train --x", "mpirun -np 2 /opt/cnntrain train --x"},
        {"mpirun -np 2 hostname", "mpirun -np 2 hostname"},
    };
    for (const MpirunCase& one : cases)
        EXPECT_EQ(launch::quoted(words(std::string(one.line))), one.becomes) << one.line;
}

TEST_F(Command, RootLaunchesWhereThatIsMeant) {
    host_.machine.is_root = true;
    EXPECT_THAT(words("mpirun -np 1 python3 train.py"), Not(Contains("--allow-run-as-root")));
    host_.machine.in_container = true;
    EXPECT_THAT(words("mpirun -np 1 python3 train.py"),
                ElementsAre("mpirun", "--allow-run-as-root", "-np", "1", "/opt/cnntrain", "train.py"));
    EXPECT_THAT(words("mpirun --allow-run-as-root -np 1 python3 train.py"), Contains("--allow-run-as-root").Times(1));
}

TEST_F(Command, PoprunIsThisProgramWhateverItStarts) {
    for (const std::string program : {"python3 train.py", "cnntrain train", "hostname", "./train.py"}) {
        EXPECT_EQ(launch::quoted(words("poprun --num-instances 2 " + program)),
                  "/opt/cnntrain poprun --num-instances 2 " + program);
    }
}

}  // namespace
}  // namespace cnntrain::benchmark::testing
