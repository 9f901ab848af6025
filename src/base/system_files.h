// Files in which the system describes itself and its limits.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain {

/// Text of a file, or "" when it cannot be read.
using ReadText = std::function<std::string(const std::string& path)>;
std::string read_small_file(const std::string& path);

/// A control group that limits this process.
struct ControlGroup {
    std::string folder;
    bool version2 = true;
};

/// The groups that control `controller` ("cpu", "memory") for this process: its own first, then each parent up to the
/// root. A container may see only the last of them.
std::vector<ControlGroup> control_groups(const ReadText& read, std::string_view controller);

}  // namespace cnntrain
