#include "cnntrain/base/environment.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cctype>

namespace cnntrain {
namespace {

bool is_name_start(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_name_part(char c) {
    return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Empty for a variable that is not set.
std::string value_of(const Variables& variables, const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
}

}  // namespace

Variables process_variables() {
    Variables variables;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return variables;
}

std::string cache_folder(const Variables& variables) {
    if (const std::string base = value_of(variables, "XDG_CACHE_HOME"); base.starts_with('/'))
        return base + "/cnntrain";
    const std::string home = value_of(variables, "HOME");
    return home.empty() ? "" : home + "/.cache/cnntrain";
}

bool mpirun_allows_root(const Variables& variables) {
    return value_of(variables, "OMPI_ALLOW_RUN_AS_ROOT") == "1" &&
           value_of(variables, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") == "1";
}

std::size_t name_length(std::string_view text, std::size_t at) {
    std::size_t end = at;
    if (end < text.size() && is_name_start(text[end])) {
        while (end < text.size() && is_name_part(text[end]))
            ++end;
    }
    return end - at;
}

std::string expand(std::string_view text, const Variables& variables, std::set<std::string>& unset) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool braces = i + 1 < text.size() && text[i] == '$' && text[i + 1] == '{';
        const std::size_t begin = i + (braces ? 2 : 1);
        const std::size_t length = text[i] == '$' ? name_length(text, begin) : 0;
        const std::size_t end = begin + length;
        const bool closed = !braces || (end < text.size() && text[end] == '}');
        if (length == 0 || !closed) {
            result += text[i];
            continue;
        }
        const std::string name(text.substr(begin, length));
        const std::size_t after = end + (braces ? 1 : 0);
        const auto found = variables.find(name);
        if (found == variables.end()) {
            unset.insert(name);
            result += text.substr(i, after - i);
        } else {
            result += found->second;
        }
        i = after - 1;
    }
    return result;
}

namespace {

constexpr int kUsualColumns = 80;

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
