// Options for Open MPI's mpirun, for poprun and for command lines that call mpirun themselves.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cnntrain::launch {

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

}  // namespace cnntrain::launch
