// `cnntrain poprun`: a poprun line becomes instances on hosts, these become an mpirun line.
//
//   PoprunRequest request = parse_poprun(arguments, posix_files());
//   Plan plan = plan_launch(request, this_machine(environment, self));
//   std::cout << topology_text(plan) << quoted(mpirun_words(plan));
//   return run_launch(plan, options);
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/launch/mpi.h"

namespace cnntrain::launch {

/// How the cores of a host are divided among its instances. Each takes its share itself, when it starts.
enum class Placement : std::uint8_t {
    spread_numa,  // cores of its own, whole NUMA nodes first
    disabled,     // it may run on every core, with as many threads as its share has cores
};

enum class Verbosity : std::uint8_t { notices, info, debug };

/// What the line asks for.
struct PoprunRequest {
    int instances = 1;
    int replicas = 1;  // of all instances together
    int ipus_per_replica = 1;
    std::optional<int> ilds;
    std::vector<std::string> hosts;  // empty: this machine
    std::string host_subnet;
    std::vector<std::string> global_args, local_args;  // for mpirun
    Placement placement = Placement::spread_numa;
    std::optional<bool> allow_run_as_root;
    std::optional<int> only_output_from;
    std::string executable_cache_path;
    std::string vipu_server_host;
    std::vector<std::pair<std::string, std::string>> exports;  // variables for every instance
    std::vector<std::string> without_effect;                   // options that only steer IPUs and their server
    std::vector<std::string> notices;
    Verbosity verbosity = Verbosity::notices;
    bool print_topology = false;
    bool dry_run = false;
    bool help = false;
    bool version = false;
    std::string version_format = "text";
    std::vector<std::string> program;  // and its arguments; empty for help and version only

    std::optional<std::string> export_path;  // where the line's settings are to be written
    bool overwrite_export = false;
    std::string exported_settings;  // as YAML
};

/// `arguments` are the words behind "poprun"; files of settings and hosts are read from `files`. Error(usage).
PoprunRequest parse_poprun(const std::vector<std::string>& arguments, const FileSystem& files);

/// `called`: the program as its user calls it.
std::string poprun_help(const std::string& called);

/// Writes the settings where the request says, if it does. Error(usage) when the file is there and may not be
/// overwritten.
void export_settings(const PoprunRequest& request, FileSystem& files);

struct Instance {
    std::size_t host = 0;  // of Plan::hosts
    int local_index = 0;   // among the instances of its host
    int first_replica = 0;
    int replicas = 1;
    std::vector<std::pair<std::string, std::string>> variables;
};

struct PlannedHost {
    std::string name;
    int instances = 0;
};

/// What keeps a launch from beginning on this machine.
struct Obstacle {
    int exit_code = 0;
    std::string message;
};

struct Plan {
    std::vector<PlannedHost> hosts;
    bool here = true;  // the only host is this machine
    std::vector<Instance> instances;
    int replicas = 1;
    int ilds = 1;
    std::optional<OpenMpi> open_mpi;  // none: the one instance is started without
    bool adds_root_option = false;
    bool oversubscribes = false;
    std::vector<std::string> global_args;
    std::vector<std::string> local_args;  // of every instance
    std::vector<std::string> program;
    Environment environment;           // of mpirun, or of the one instance
    std::string folder;                // in which these start
    std::vector<std::string> notices;  // for the user
    std::vector<std::string> remarks;  // for one who wants to know more
    std::vector<Obstacle> obstacles;
};

/// Error(usage) for numbers that do not fit each other and for placeholders that nobody has replaced.
Plan plan_launch(const PoprunRequest& request, const Machine& machine);

/// The command line for Open MPI: one part per instance, so that rank i is instance i. Not for a plan without Open MPI.
std::vector<std::string> mpirun_words(const Plan& plan);

/// A box with the rows hosts, ILDs, instances and replicas.
std::string topology_text(const Plan& plan);

struct LaunchOptions {
    std::optional<int> only_output_from;  // else all instances print
    Verbosity verbosity = Verbosity::notices;
    bool print_topology = false;
    std::ostream* output = nullptr;  // of the shown instance when others are hidden; never null
    std::ostream* notes = nullptr;   // what the launcher itself says; never null
    std::function<bool()> stop_requested;
};

/// Starts the plan, waits for its end and returns the exit code: that of the first instance that failed, as mpirun
/// tells it, kInterruptedExitCode after a stop. No process of this machine is left behind. Error(unsupported) and
/// others for a plan with obstacles are the caller's.
int run_launch(const Plan& plan, const LaunchOptions& options);

}  // namespace cnntrain::launch
