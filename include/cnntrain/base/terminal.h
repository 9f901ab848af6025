// The terminal behind a standard stream: its width, colours, and whether a line can be rewritten in place.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cnntrain/base/variables.h"

namespace cnntrain {

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
