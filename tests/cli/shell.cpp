#include "cli/shell.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

namespace cnntrain::cli {

Outcome shell(const std::string& line) {
    Outcome outcome;
    FILE* pipe = popen(("{ " + line + "; } 2>&1").c_str(), "r");
    if (pipe == nullptr) return outcome;
    std::array<char, 4096> buffer{};
    for (std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe); count > 0;
         count = fread(buffer.data(), 1, buffer.size(), pipe)) {
        outcome.text.append(buffer.data(), count);
    }
    const int status = pclose(pipe);
    if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
    return outcome;
}

Outcome run(const std::string& arguments) {
    return shell(std::string(CNNTRAIN_PROGRAM) + " " + arguments);
}

std::size_t count_of(const std::string& part, const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

void expect_error(const std::string& arguments, ErrorKind kind, const std::vector<std::string>& parts) {
    SCOPED_TRACE(arguments);
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code(kind)) << outcome.text;
    EXPECT_THAT(outcome.text, ::testing::HasSubstr("error: "));
    for (const std::string& part : parts) {
        EXPECT_THAT(outcome.text, ::testing::HasSubstr(part));
    }
}

}  // namespace cnntrain::cli
