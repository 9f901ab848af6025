// `cnntrain poprun`: converts a poprun command line to instances on hosts, and these to an mpirun command line.
//
//   PoprunRequest request = parse_poprun(arguments, posix_files());
//   Plan plan = plan_launch(request, this_machine(environment, self));
//   std::cout << topology_text(plan) << quoted(mpirun_words(plan));
//   return run_launch(plan, options);
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/options/commands.h"

namespace cnntrain::launch {

// Options for Open MPI's mpirun, for poprun and for command lines that call mpirun themselves.

using Environment = std::map<std::string, std::string>;

struct OpenMpi {
    int major = 4;  // major version
};

enum class HostPlace { here, elsewhere, unknown };

/// The environment in which a launch happens.
struct Machine {
    Environment environment;   // variables of this process
    std::string program;       // path of this executable
    std::string folder = "/";  // working directory of this process
    std::string name = "localhost";
    int cores = 1;  // cores that this process may use
    bool is_root = false;
    bool in_container = false;
    std::optional<OpenMpi> open_mpi;
    std::function<HostPlace(const std::string& host)> look_up;
};

/// Reads these facts from the system; runs mpirun to get its version.
Machine this_machine(Environment environment, const std::string& program);

/// "mpirun (Open MPI) 4.1.4 ..." gives 4; empty for other programs.
std::optional<OpenMpi> open_mpi_version(const std::string& printed);

/// Open MPI lets root launch only with an explicit option.
enum class RootLaunch {
    allowed,     // no option needed
    add_option,  // needs --allow-run-as-root
    refused,
};
/// `option`: the command line's --allow-run-as-root, if given. In containers, every user is usually root.
RootLaunch root_launch(const Machine& machine, std::optional<bool> option);

/// Makes Open MPI accept more processes than cores. Version 5 adds it to the --map-by of the line; it refuses a second
/// --map-by.
inline constexpr const char* kOversubscribe = "--oversubscribe";
/// A larger number of ranks per core is assumed to be a mistake.
inline constexpr int kMostRanksPerCore = 4;

/// Removes options that choose a network between hosts, such as "--mca oob_tcp_if_include X"; returns them.
std::vector<std::string> drop_network_choices(std::vector<std::string>& words);

/// Removes "-x NAME" for variables that are not set; returns their names.
std::vector<std::string> drop_unset_exports(std::vector<std::string>& words, const Environment& environment);

/// Environment variables with their values.
using Assignments = std::vector<std::pair<std::string, std::string>>;

/// Division of a host's cores among its instances. Each instance takes its share itself when it starts.
enum class Placement : std::uint8_t {
    spread_numa,  // each has its own cores, in whole NUMA nodes if possible
    disabled,     // each may run on all cores, with as many threads as its share has cores
};

enum class Verbosity : std::uint8_t { notices, info, debug };

/// The parsed command line.
struct PoprunRequest {
    int instances = 1;
    int replicas = 1;  // total over all instances
    int ipus_per_replica = 1;
    std::optional<int> ilds;
    std::vector<std::string> hosts;  // empty: this machine
    std::string host_subnet;
    std::vector<std::string> global_args, local_args;  // options for mpirun
    Placement placement = Placement::spread_numa;
    std::optional<bool> allow_run_as_root;
    std::optional<int> only_output_from;
    std::string executable_cache_path;
    std::string vipu_server_host;
    Assignments exports;                      // environment variables for every instance
    std::vector<std::string> without_effect;  // options that only steer IPUs and their server
    std::vector<std::string> notices;
    Verbosity verbosity = Verbosity::notices;
    bool print_topology = false;
    bool dry_run = false;
    std::optional<options::HelpWish> help;
    bool version = false;
    std::string version_format = "text";
    std::vector<std::string> program;  // with its arguments; empty only for help and version

    std::optional<std::string> export_path;  // file for the command line's settings
    bool overwrite_export = false;
    std::string exported_settings;      // as YAML
    std::vector<NamedPath> read_files;  // settings and hosts
};

/// `arguments`: the words after "poprun". Settings files and host files are read from `files`. Throws Error(usage).
PoprunRequest parse_poprun(const std::vector<std::string>& arguments, const FileSystem& files);

/// `called`: the program name as the user typed it.
options::HelpPage poprun_page(const std::string& called);

/// Writes the settings to the file that the request names, if any. Throws Error(usage) like
/// check_outputs().
void export_settings(const PoprunRequest& request, FileSystem& files);

struct Instance {
    std::size_t host = 0;  // index in Plan::hosts
    int local_index = 0;   // among the instances of its host
    int first_replica = 0;
    int replicas = 1;
};

struct PlannedHost {
    std::string name;
    int instances = 0;
};

/// A reason why the launch cannot start on this machine. A plan that only describes starts all the same.
struct Obstacle {
    int exit_code = 0;
    std::string message;
    bool is_of_cores = false;  // there are too few
};

struct Plan {
    std::vector<PlannedHost> hosts;
    bool here = true;  // this machine is the only host
    std::vector<Instance> instances;
    Assignments variables;  // of every instance; own_variables() are those of one
    int replicas = 1;
    int ilds = 1;
    std::optional<OpenMpi> open_mpi;  // empty: the only instance starts without Open MPI
    bool adds_root_option = false;
    bool oversubscribes = false;
    bool binds = false;  // the user's options for mpirun say to what it binds
    std::vector<std::string> global_args;
    std::vector<std::string> local_args;  // for the instances
    std::string starter;                  // this program's path, which becomes each instance
    std::vector<std::string> program;
    bool only_describes = false;       // the program prints what it would do: only the first instance runs, here
    Environment environment;           // of mpirun, or of the only instance
    std::string folder;                // their working directory
    std::vector<std::string> notices;  // messages for the user
    std::vector<std::string> remarks;  // messages shown with -v
    std::vector<Obstacle> obstacles;
};

/// Throws Error(usage) for inconsistent numbers and for placeholders that were not replaced.
Plan plan_launch(const PoprunRequest& request, const Machine& machine);

/// The command line for Open MPI, in which rank i is instance i. Each rank starts as `<this program> poprun-instance
/// <program>`, see become_instance(). The plan must use Open MPI.
std::vector<std::string> mpirun_words(const Plan& plan);

inline constexpr std::string_view kInstanceWord = "poprun-instance";
inline constexpr const char* kLocalReplicas = "POPDIST_NUM_LOCAL_REPLICAS";

/// The variables in which instances differ.
Assignments own_variables(const Instance& instance);

/// The instance of this rank, by the variables of Open MPI and of Plan::variables. Its host is not known. Throws
/// Error(usage) if they are not set.
Instance instance_of_rank(const Environment& environment);

/// Sets the own variables of this rank's instance, and becomes the program. Returns errno if it cannot be started.
/// Throws Error(usage) like instance_of_rank().
int become_instance(std::vector<std::string> program, const Environment& environment);

/// A box with rows for hosts, ILDs, instances and replicas.
std::string topology_text(const Plan& plan);

struct LaunchOptions {
    std::optional<int> only_output_from;  // empty: all instances print
    Verbosity verbosity = Verbosity::notices;
    bool print_topology = false;
    std::ostream* output = nullptr;  // output of the instances; the caller checks whether it was written; never null
    std::ostream* notes = nullptr;   // the launcher's own messages; never null
    std::function<bool()> stop_requested;
};

/// Starts the plan, waits until it ends and returns the exit code: that of the first failed instance, as reported by
/// mpirun, or kInterruptedExitCode after a stop. Leaves no process behind on this machine. The caller must handle plans
/// with obstacles.
int run_launch(const Plan& plan, const LaunchOptions& options);

// Splits command lines into words and joins words to command lines.

/// Splits as a POSIX shell does, with quotes and backslashes but no expansion. Throws Error(data) for an open quote.
std::vector<std::string> split_words(std::string_view text);

/// The inverse, for readers: single quotes only around words that need them.
std::string quoted(const std::vector<std::string>& words);

/// A word of a shell between single quotes.
std::string single_quoted(std::string_view word);

/// All words in single quotes.
std::string all_quoted(const std::vector<std::string>& words);

}  // namespace cnntrain::launch
