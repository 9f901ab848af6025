// Files of the system that a test makes up.
#pragma once

#include <map>
#include <string>

#include "base/system_files.h"

namespace cnntrain {

using Files = std::map<std::string, std::string>;

inline ReadText reader(const Files& files) {
    return [files](const std::string& path) {
        const auto found = files.find(path);
        return found == files.end() ? std::string() : found->second;
    };
}

}  // namespace cnntrain
