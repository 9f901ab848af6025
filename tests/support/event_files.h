// Reads TensorBoard's event files.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::test {

/// The numbers with a tag in the event files of a folder: a summary's value is {1: tag, 2: float}.
inline std::vector<float> curve(const FileSystem& files, const std::string& folder, const std::string& tag) {
    std::vector<float> values;
    for (const std::string& name : files.list(folder)) {
        if (name.find("tfevents") == std::string::npos) continue;
        const std::string bytes = read_text(files, folder + "/" + name);
        const std::string field = static_cast<char>(tag.size()) + tag + '\x15';
        for (std::size_t at = bytes.find(field); at != std::string::npos; at = bytes.find(field, at + 1)) {
            float value = 0;
            std::memcpy(&value, bytes.data() + at + field.size(), sizeof value);
            values.push_back(value);
        }
    }
    return values;
}

}  // namespace cnntrain::test
