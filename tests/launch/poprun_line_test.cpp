// A poprun line as a request.
#include "cnntrain/launch/poprun.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::launch {
namespace {

class PoprunLine : public ::testing::Test {
protected:
    PoprunRequest parse(const std::string& line) { return parse_poprun(split_words(line), files_); }
    std::string mistake(const std::string& line) {
        return message_of(ErrorKind::usage, [&] { parse(line); });
    }
    MemoryFiles files_;
};

TEST_F(PoprunLine, OptionsEndAtTheProgram) {
    const PoprunRequest request = parse("--num-instances 8 --num-replicas=16 -v python3 train.py -v --num-instances 3");
    EXPECT_EQ(request.instances, 8);
    EXPECT_EQ(request.replicas, 16);
    EXPECT_EQ(request.verbosity, Verbosity::info);
    EXPECT_THAT(request.program, ElementsAre("python3", "train.py", "-v", "--num-instances", "3"));
}

TEST_F(PoprunLine, HasItsDefaults) {
    const PoprunRequest request = parse("echo");
    EXPECT_EQ(request.instances, 1);
    EXPECT_EQ(request.replicas, 1);
    EXPECT_EQ(request.ipus_per_replica, 1);
    EXPECT_EQ(request.placement, Placement::spread_numa);
    EXPECT_EQ(request.verbosity, Verbosity::notices);
    EXPECT_THAT(request.hosts, IsEmpty());
    EXPECT_EQ(request.only_output_from, std::nullopt);
    EXPECT_EQ(request.allow_run_as_root, std::nullopt);
    EXPECT_THAT(request.without_effect, IsEmpty());
}

TEST_F(PoprunLine, EveryOptionArrives) {
    const PoprunRequest request = parse(
        "-vv -H a,b[1-2] --ipus-per-replica 4 --num-ilds 2 --host-subnet 10.0.0.0/8 --process-placement disabled "
        "--only-output-from-instance 3 --print-topology on --executable-cache-path /cache --allow-run-as-root 1 "
        "--dry-run x");
    EXPECT_THAT(request.hosts, ElementsAre("a", "b1", "b2"));
    EXPECT_EQ(request.ipus_per_replica, 4);
    EXPECT_EQ(request.ilds, 2);
    EXPECT_EQ(request.host_subnet, "10.0.0.0/8");
    EXPECT_EQ(request.placement, Placement::disabled);
    EXPECT_EQ(request.only_output_from, 3);
    EXPECT_TRUE(request.print_topology);
    EXPECT_EQ(request.executable_cache_path, "/cache");
    EXPECT_EQ(request.allow_run_as_root, true);
    EXPECT_TRUE(request.dry_run);
    EXPECT_EQ(request.verbosity, Verbosity::debug);
    EXPECT_EQ(parse("--vv x").verbosity, Verbosity::debug);
    EXPECT_TRUE(parse("--help").help);
    EXPECT_TRUE(parse("--version").version);
}

TEST_F(PoprunLine, BooleansHaveManySpellingsAndNeedOne) {
    for (const char* value : {"no", "false", "off", "0"})
        EXPECT_EQ(parse(std::string("--numa-aware ") + value + " x").placement, Placement::disabled) << value;
    for (const char* value : {"yes", "true", "on", "1"})
        EXPECT_EQ(parse(std::string("--numa-aware=") + value + " x").placement, Placement::spread_numa) << value;
    EXPECT_THAT(mistake("--numa-aware python3 train.py"), HasSubstr("--numa-aware"));
    EXPECT_THAT(mistake("--numa-aware --dry-run x"), HasSubstr("--numa-aware"));
}

TEST_F(PoprunLine, UnknownPlacementsAreSpread) {
    const PoprunRequest request = parse("--process-placement linear x");
    EXPECT_EQ(request.placement, Placement::spread_numa);
    EXPECT_THAT(request.notices, ElementsAre(HasSubstr("linear")));
}

TEST_F(PoprunLine, BeginningsAreEnoughWhenNoOtherOptionHasThem) {
    EXPECT_EQ(parse("--num-instance 2 x").instances, 2);
    EXPECT_THAT(mistake("--num 2 x"), AllOf(HasSubstr("--num"), HasSubstr("--num-instances --num-replicas")));
    EXPECT_THAT(mistake("--hosst a x"), HasSubstr("--host"));
    EXPECT_THAT(mistake("-z x"), HasSubstr("unknown"));
}

TEST_F(PoprunLine, AnEqualsSignInTheNameIsAHyphen) {
    const PoprunRequest request = parse("--num=ilds 4 python3 train.py");
    EXPECT_EQ(request.ilds, 4);
    EXPECT_THAT(request.program, ElementsAre("python3", "train.py"));
    EXPECT_THAT(request.notices, ElementsAre(HasSubstr("--num=ilds")));
}

TEST_F(PoprunLine, WhatTheProgramTakesBelongsBehindIt) {
    for (const char* flag : {"--synthetic-data", "--instance-count", "--tag-output"})
        EXPECT_THAT(mistake(std::string(flag) + " x"), HasSubstr(std::string(flag)));
}

TEST_F(PoprunLine, OptionsOfIpusAreNamedAndExported) {
    const PoprunRequest request = parse(
        "--vipu-server-host=10.0.0.1 --vipu-partition p1 --vipu-server-timeout 300 --vipu-server-port 8090 "
        "--reset-partition=no "
        "--update-partition no --vipu-new-thing 3 --sync-type X --offline-mode no --reset-partition=yes x");
    EXPECT_THAT(request.without_effect, ElementsAre("--vipu-server-host", "--vipu-partition", "--vipu-server-timeout",
                                                    "--vipu-server-port", "--reset-partition", "--update-partition",
                                                    "--vipu-new-thing", "--sync-type", "--offline-mode"));
    EXPECT_THAT(request.exports,
                ElementsAre(Pair("IPUOF_VIPU_API_HOST", "10.0.0.1"), Pair("IPUOF_VIPU_API_PARTITION_ID", "p1"),
                            Pair("IPUOF_VIPU_API_TIMEOUT", "300"), Pair("IPUOF_VIPU_API_PORT", "8090")));
    EXPECT_THAT(mistake("--update-partition maybe x"), Not(IsEmpty()));
}

TEST_F(PoprunLine, StringsForMpirunAreSplitAndAdded) {
    const PoprunRequest request =
        parse(R"(--mpi-global-args=" --mca a b" --mpi-global-args "--x 'y z'" --mpi-local-args="-x A" x)");
    EXPECT_THAT(request.global_args, ElementsAre("--mca", "a", "b", "--x", "y z"));
    EXPECT_THAT(request.local_args, ElementsAre("-x", "A"));
    for (const std::string option : {"--mpi-global-args", "--mpi-local-args"}) {
        const std::string message = message_of(ErrorKind::usage, [&] {
            parse_poprun({option, "--mca 'a", "x"}, files_);
        });
        EXPECT_THAT(message, HasSubstr("--mca 'a"));
    }
}

TEST_F(PoprunLine, LineBreaksOfDocumentsAreWhiteSpace) {
    EXPECT_THAT(parse_poprun({"--mpi-global-args=--mca a b \\\n --mca c d \\", "x"}, files_).global_args,
                ElementsAre("--mca", "a", "b", "--mca", "c", "d"));
    EXPECT_THAT(parse_poprun({"--mpi-local-args", " \\ -x A '' -x B", "x"}, files_).local_args,
                ElementsAre("-x", "A", "-x", "B"));
}

TEST_F(PoprunLine, BlanksInFrontOfWordsAreDropped) {
    const PoprunRequest request =
        parse(R"(--num-replicas=2 \ --num-instances=2 \  --vipu-partition \ p \ python3 train.py "\ x" ' y')");
    EXPECT_EQ(request.instances, 2);
    EXPECT_EQ(request.exports.front().second, "p");
    EXPECT_THAT(request.program, ElementsAre("python3", "train.py", "\\ x", " y"));
}

TEST_F(PoprunLine, NumbersAreChecked) {
    for (const char* value : {"0", "-1", "two", "3.5", "", "99999999999"}) {
        EXPECT_THAT(mistake(std::string("--num-instances '") + value + "' x"), HasSubstr("--num-instances")) << value;
    }
    EXPECT_THAT(mistake("--only-output-from-instance -1 x"), HasSubstr("from 0 to"));
    EXPECT_THAT(mistake("--host '' x"), HasSubstr("--host"));
    EXPECT_THAT(mistake("--host"), HasSubstr("--host"));
    EXPECT_THAT(mistake("--verbose=3 x"), HasSubstr("takes"));
    EXPECT_THAT(mistake("--version-format xml --version"), HasSubstr("full-text"));
}

TEST_F(PoprunLine, AProgramIsNeeded) {
    EXPECT_THAT(mistake("--num-instances 2"), Not(IsEmpty()));
    EXPECT_THAT(mistake(""), Not(IsEmpty()));
}

TEST_F(PoprunLine, HostsMayComeFromAFile) {
    write_text(files_, "hosts", "a slots=2\nb\n");
    EXPECT_THAT(parse("--hostfile hosts x").hosts, ElementsAre("a", "b"));
    EXPECT_THAT(mistake("--hostfile hosts --host c x"), HasSubstr("choose"));
    write_text(files_, "none", "# nobody\n");
    EXPECT_THAT(mistake("--hostfile none x"), HasSubstr("names"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { parse("--hostfile missing x"); }), HasSubstr("missing"));
}

TEST_F(PoprunLine, SettingsComeFromAFileAndTheLineWins) {
    write_text(files_, "settings.yml",
               "num-instances: 4\nnum-replicas: 8\nverbose: yes\nhost: a,b\nmpi-local-args: ['-x A', '-x B']\n"
               "numa-aware: no\nvipu-partition: p\n");
    write_text(files_, "f", "c\n");
    const PoprunRequest request = parse("--num-replicas 16 --hostfile f --import-config settings.yml x");
    EXPECT_THAT(request.hosts, ElementsAre("c"));
    EXPECT_EQ(request.instances, 4);
    EXPECT_EQ(request.replicas, 16);
    EXPECT_EQ(request.verbosity, Verbosity::info);
    EXPECT_EQ(request.placement, Placement::disabled);
    EXPECT_THAT(request.local_args, ElementsAre("-x", "A", "-x", "B"));
    EXPECT_THAT(request.without_effect, ElementsAre("--vipu-partition"));
}

TEST_F(PoprunLine, MistakesInAFileOfSettingsAreNamed) {
    const auto mistake_in = [&](const std::string& text) {
        write_text(files_, "s.yml", text);
        return mistake("--import-config s.yml x");
    };
    EXPECT_THAT(mistake_in("num-instance: 4"), HasSubstr("s.yml"));
    EXPECT_THAT(mistake_in("num-instances: [1, 2]"), HasSubstr("value"));
    EXPECT_THAT(mistake_in("- a"), HasSubstr("expected"));
    EXPECT_THAT(mistake_in("a: ["), HasSubstr("s.yml"));
    EXPECT_THAT(mistake_in("import-config: t.yml"), HasSubstr("unknown"));
}

TEST_F(PoprunLine, ExportedSettingsAreReadBackAsTheyWere) {
    const std::string line =
        R"(--num-instances 4 --num-replicas 8 --vv --host 'a,b[1-3]' --mpi-local-args '-x A="b c"' )"
        R"(--mpi-local-args '-x B' --numa-aware no --vipu-partition 'p: "1"' )";
    export_settings(parse(line + "--export-config out.yml x"), files_);
    const PoprunRequest typed = parse(line + "x");
    const PoprunRequest read = parse("--import-config out.yml x");
    EXPECT_EQ(read.instances, typed.instances);
    EXPECT_EQ(read.replicas, typed.replicas);
    EXPECT_EQ(read.hosts, typed.hosts);
    EXPECT_EQ(read.local_args, typed.local_args);
    EXPECT_EQ(read.exports, typed.exports);
    EXPECT_EQ(read.placement, typed.placement);
    EXPECT_EQ(read.verbosity, typed.verbosity);
    EXPECT_EQ(read.exported_settings, typed.exported_settings);
}

TEST_F(PoprunLine, AnExportReplacesAFileOnlyWhenAsked) {
    write_text(files_, "out.yml", "mine");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { export_settings(parse("--export-config out.yml x"), files_); }),
                HasSubstr("--overwrite-config yes"));
    EXPECT_EQ(read_text(files_, "out.yml"), "mine");
    export_settings(parse("--num-instances 2 --export-config out.yml --overwrite-config 1 x"), files_);
    EXPECT_EQ(read_text(files_, "out.yml"), "num-instances: \"2\"\n");
}

TEST_F(PoprunLine, HelpNamesEveryOption) {
    const std::string text = options::help_text(poprun_page("poprun"), {.all = true});
    EXPECT_THAT(text, HasSubstr("--host "));
    for (const std::string& flag : split_words(
             "--num-instances --num-replicas --ipus-per-replica --num-ilds --hostfile --host-subnet --mpi-global-args "
             "--mpi-local-args --numa-aware --process-placement --print-topology --only-output-from-instance --verbose "
             "--vv --offline-mode --executable-cache-path --allow-run-as-root --vipu-server-host --vipu-server-port "
             "--vipu-server-timeout --vipu-partition --vipu-partition-attempts --vipu-cluster --vipu-allocation "
             "--update-partition --reset-partition --remove-partition --sync-type --synchronise-python-venv "
             "--synchronise-poplar-sdk --distribute-ssh-key --import-config --export-config --overwrite-config --help "
             "--help-all --version --version-format --dry-run"))
        EXPECT_THAT(text, HasSubstr(flag));
    EXPECT_THAT(text, HasSubstr("usage: poprun [options] program"));
}

}  // namespace
}  // namespace cnntrain::launch
