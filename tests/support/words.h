// Lines as a shell without quotes splits them.
#pragma once

#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::test {

inline std::vector<std::string> words(std::string_view line) {
    std::istringstream stream{std::string(line)};
    return {std::istream_iterator<std::string>(stream), {}};
}

}  // namespace cnntrain::test
