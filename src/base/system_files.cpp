#include "base/system_files.h"

#include <array>
#include <fstream>
#include <sstream>

namespace cnntrain {

std::string read_small_file(const std::string& path) {
    // A stream that the text is written to would hide a lack of memory, and the text would end early.
    std::ifstream file(path);
    std::string text;
    std::array<char, 4096> part{};
    while (file.read(part.data(), part.size()), file.gcount() > 0)
        text.append(part.data(), static_cast<std::size_t>(file.gcount()));
    return text;
}

std::vector<ControlGroup> control_groups(const ReadText& read, std::string_view controller) {
    std::vector<ControlGroup> groups;
    std::istringstream lines(read("/proc/self/cgroup"));
    // Lines are "<number>:<controllers>:<path>"; version 2 has number 0 and no controllers.
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const std::string name(controller);
        const bool version2 = controllers == ",,";
        if (!version2 && controllers.find("," + name + ",") == std::string::npos) continue;
        const std::string root = version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + name;
        std::string path = line.substr(second + 1);
        while (path.size() > 1) {
            groups.push_back({root + path, version2});
            path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
        }
        groups.push_back({root, version2});
    }
    return groups;
}

}  // namespace cnntrain
