#include "cli/pseudo_terminal.h"

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdlib>

namespace cnntrain::cli {
namespace {

class Rows {
public:
    explicit Rows(int columns) : columns_(static_cast<std::size_t>(columns)), rows_(1) {}

    void take(const std::string& output) {
        for (std::size_t i = 0; i < output.size(); ++i) {
            if (output[i] == '\033') {
                i = skip_sequence(output, i);
            } else {
                put(output[i]);
            }
        }
    }
    const std::vector<std::string>& all() const { return rows_; }

private:
    /// ESC [ numbers letter; returns the position of the letter.
    std::size_t skip_sequence(const std::string& output, std::size_t at) {
        while (at < output.size() && std::isalpha(static_cast<unsigned char>(output[at])) == 0)
            ++at;
        if (at < output.size() && output[at] == 'J') {
            rows_.resize(row_ + 1);
            rows_[row_].resize(std::min(rows_[row_].size(), column_));
        }
        return at;
    }
    void put(char c) {
        if (c == '\r') {
            column_ = 0;
        } else if (c == '\n') {
            feed();
        } else {
            if (column_ == columns_) {
                feed();
                column_ = 0;
            }
            std::string& row = rows_[row_];
            row.resize(std::max(row.size(), column_ + 1), ' ');
            row[column_++] = c;
        }
    }
    void feed() {
        if (++row_ == rows_.size()) rows_.emplace_back();
    }

    std::size_t columns_;
    std::vector<std::string> rows_;
    std::size_t row_ = 0;
    std::size_t column_ = 0;
};

}  // namespace

std::vector<std::string> rows_of(const std::string& output, int columns) {
    Rows rows(columns);
    rows.take(output);
    return rows.all();
}

TerminalRun run_on_terminal(const std::string& line, const TerminalSettings& settings) {
    using Clock = std::chrono::steady_clock;
    winsize size{};
    size.ws_row = 24;
    size.ws_col = static_cast<unsigned short>(settings.columns);
    int terminal = -1;
    const auto start = Clock::now();
    const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) {
        // A shell's background job ignores them, and so would the program.
        ::signal(SIGINT, SIG_DFL);
        ::signal(SIGHUP, SIG_DFL);
        setenv("TERM", "xterm", 1);
        for (const char* variable : {"NO_COLOR", "CLICOLOR"})
            unsetenv(variable);
        const std::string replaced = "exec " + line;
        execl("/bin/sh", "sh", "-c", replaced.c_str(), nullptr);
        _exit(127);
    }
    TerminalRun run;
    if (child < 0) return run;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 1; count > 0;) {
        count = read(terminal, buffer.data(), buffer.size());  // fails when the program has ended
        if (count > 0) run.output.append(buffer.data(), static_cast<std::size_t>(count));
        const bool waits = run.first_match_seconds < 0 && !settings.awaited.empty();
        if (!waits || run.output.find(settings.awaited) == std::string::npos) continue;
        run.first_match_seconds = std::chrono::duration<double>(Clock::now() - start).count();
        size.ws_col = static_cast<unsigned short>(settings.columns_then);
        if (settings.columns_then > 0) ioctl(terminal, TIOCSWINSZ, &size);
        if (settings.then) settings.then(child);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
    close(terminal);
    return run;
}

}  // namespace cnntrain::cli
