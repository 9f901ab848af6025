// Options that Open MPI's mpirun needs, for poprun lines and for lines that name mpirun themselves.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cnntrain::launch {

using Environment = std::map<std::string, std::string>;

struct OpenMpi {
    int major = 4;  // version
};

enum class HostPlace { here, elsewhere, unknown };

/// The environment of a launch.
struct Machine {
    Environment environment;   // of this process
    std::string program;       // path of this binary
    std::string folder = "/";  // in which this process runs
    std::string name = "localhost";
    int cores = 1;  // that this process may use
    bool is_root = false;
    bool in_container = false;
    std::optional<OpenMpi> open_mpi;
    std::function<HostPlace(const std::string& host)> look_up;
};

/// Asks the system, and mpirun for its version.
Machine this_machine(Environment environment, const std::string& program);

/// "mpirun (Open MPI) 4.1.4 ..." gives 4; nothing for other programs.
std::optional<OpenMpi> open_mpi_version(const std::string& printed);

/// Open MPI lets root launch only with an explicit option.
enum class RootLaunch {
    allowed,     // nothing to add
    add_option,  // --allow-run-as-root
    refused,
};
/// `option`: the line's own --allow-run-as-root, if given. In a container everybody is root.
RootLaunch root_launch(const Machine& machine, std::optional<bool> option);

/// Options with which Open MPI accepts more processes than cores. Version 4 and later.
std::vector<std::string> oversubscribe_words(const OpenMpi& open_mpi);
/// More ranks a core than this are a mistake.
inline constexpr int kMostRanksPerCore = 4;

/// Removes "--mca oob_tcp_if_include X" and the like, which choose a network between hosts; returns what was removed.
std::vector<std::string> drop_network_choices(std::vector<std::string>& words);

/// Removes "-x NAME" for variables that are not set; returns their names.
std::vector<std::string> drop_unset_exports(std::vector<std::string>& words, const Environment& environment);

}  // namespace cnntrain::launch
