#include "cnntrain/base/environment.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace cnntrain {
namespace {

constexpr int kUsualColumns = 80;

std::string value_of(const Variables& variables, const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? "" : found->second;
}

/// A terminal that controls other processes answers with -1, and is not shared with a shell.
bool in_background(int descriptor) {
    const pid_t foreground = ::tcgetpgrp(descriptor);
    return foreground >= 0 && foreground != ::getpgrp();
}

int width_of(int descriptor) {
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
    return size.ws_col;
}

}  // namespace

Terminal terminal_of(int descriptor, const Variables& variables) {
    if (::isatty(descriptor) == 0) return {};
    const std::string kind = value_of(variables, "TERM");
    const bool dumb = kind.empty() || kind == "dumb";
    const bool refused = !value_of(variables, "NO_COLOR").empty() || value_of(variables, "CLICOLOR") == "0";
    return {.columns = [descriptor] { return in_background(descriptor) ? 0 : width_of(descriptor); },
            .rewrites = !dumb,
            .colours = !dumb && !refused,
            .descriptor = descriptor};
}

int columns_of(const Terminal& terminal, int otherwise) {
    const int columns = terminal.is_there() ? terminal.columns() : 0;
    return columns > 0 ? columns : otherwise;
}

std::string styled(std::string_view text, Style style, bool colours) {
    if (!colours) return std::string(text);
    const std::string_view begin = style == Style::bold ? "\033[1m" : style == Style::red ? "\033[1;31m" : "\033[33m";
    return std::string(begin) + std::string(text) + "\033[0m";
}

}  // namespace cnntrain
