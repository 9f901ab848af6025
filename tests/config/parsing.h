// Parsing lines as a shell would hand them over.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/config/parse.h"

namespace cnntrain::config::testing {

inline std::vector<std::string> words(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> all;
    for (std::string word; stream >> word;)
        all.push_back(word);
    return all;
}

/// The configurations of the source tree, no DATA_DIR.
inline Environment test_environment() {
    return {{}, {CNNTRAIN_SOURCE_DIR "/configs"}};
}

inline ParseResult parse(const std::string& line, Command command = Command::train) {
    return parse_command_line(command, words(line), test_environment());
}

/// The message of the usage error that a line causes, "" when it parses.
inline std::string usage_error(const std::string& line, Command command = Command::train) {
    try {
        parse(line, command);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::usage) return error.what();
        throw;
    }
    return "";
}

/// A ResNet on generated data: what a test of something else starts from.
inline const std::string kImageNet = "--dataset imagenet --generated-data ";
inline const std::string kCifar = "--dataset cifar-10 --generated-data ";

}  // namespace cnntrain::config::testing
