// The surroundings of the process: variables of the environment, texts that name them, and the terminal.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace cnntrain {

using Variables = std::map<std::string, std::string>;

/// All environment variables of this process.
Variables process_variables();

/// True if Open MPI's mpirun starts processes for root without --allow-run-as-root: both of its variables are 1.
bool mpirun_allows_root(const Variables& variables);

/// The user's folder for files that can be made again: $XDG_CACHE_HOME/cnntrain, or $HOME/.cache/cnntrain; "" without
/// either. The XDG Base Directory Specification says to ignore relative paths.
std::string cache_folder(const Variables& variables);

/// Length of the name (letters, digits, _, no digit in front) that begins at `at`; 0: none does.
std::size_t name_length(std::string_view text, std::size_t at);

/// $NAME and ${NAME} replaced where they are set; the others stay and are added to `unset`. Nothing escapes a $.
std::string expand(std::string_view text, const Variables& variables, std::set<std::string>& unset);

// The terminal behind a standard stream: its width, colours, and whether a line can be rewritten in place.

/// A terminal. By default there is none, as for a file, a pipe, or a stream of which nothing is known.
struct Terminal {
    /// Columns at this moment, because terminals are resized; 0 while this process may not rewrite lines, in the
    /// background. Empty: there is no terminal.
    std::function<int()> columns = {};
    bool rewrites = false;  // the last line can be rewritten in place
    bool colours = false;
    int descriptor = -1;

    bool is_there() const { return static_cast<bool>(columns); }
};

/// No colours with NO_COLOR, CLICOLOR=0 or TERM=dumb. Terminals without TERM or with TERM=dumb rewrite no line.
Terminal terminal_of(int descriptor, const Variables& variables);

/// Columns for text that is written once; `otherwise` if there is no terminal.
int columns_of(const Terminal& terminal, int otherwise);

enum class Style { bold, red, yellow };

/// The text in this style; unchanged without colours.
std::string styled(std::string_view text, Style style, bool colours);

}  // namespace cnntrain
