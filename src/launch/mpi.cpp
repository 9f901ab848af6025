#include "cnntrain/launch/poprun.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "cnntrain/base/environment.h"

namespace cnntrain::launch {

std::optional<OpenMpi> open_mpi_version(const std::string& printed) {
    constexpr std::string_view kBegin = "(Open MPI) ";
    const std::size_t at = printed.find(kBegin);
    if (at == std::string::npos) return std::nullopt;
    OpenMpi found;
    const char* number = printed.data() + at + kBegin.size();
    const auto [end, error] = std::from_chars(number, printed.data() + printed.size(), found.major);
    if (error != std::errc{}) return std::nullopt;
    return found;
}

RootLaunch root_launch(const Machine& machine, std::optional<bool> option) {
    if (!machine.is_root) return RootLaunch::allowed;
    const bool wanted = option.value_or(mpirun_allows_root(machine.environment) || machine.in_container);
    return wanted ? RootLaunch::add_option : RootLaunch::refused;
}

std::vector<std::string> drop_network_choices(std::vector<std::string>& words) {
    std::vector<std::string> dropped;
    for (std::size_t i = 0; i + 2 < words.size();) {
        const bool chooses = (words[i] == "--mca" || words[i] == "-mca") &&
                             (words[i + 1] == "oob_tcp_if_include" || words[i + 1] == "btl_tcp_if_include");
        if (!chooses) {
            ++i;
            continue;
        }
        dropped.push_back(words[i + 1] + " " + words[i + 2]);
        const auto first = words.begin() + static_cast<std::ptrdiff_t>(i);
        words.erase(first, first + 3);
    }
    return dropped;
}

std::vector<std::string> drop_unset_exports(std::vector<std::string>& words, const Environment& environment) {
    std::vector<std::string> dropped;
    for (std::size_t i = 0; i + 1 < words.size();) {
        const std::string& name = words[i + 1];
        if (words[i] != "-x" || name.find('=') != std::string::npos || environment.contains(name)) {
            ++i;
            continue;
        }
        dropped.push_back(name);
        const auto first = words.begin() + static_cast<std::ptrdiff_t>(i);
        words.erase(first, first + 2);
    }
    return dropped;
}

}  // namespace cnntrain::launch
