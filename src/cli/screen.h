// Where this process prints: the terminals of its standard streams, and whether it prints JSON lines.
#pragma once

#include <ostream>
#include <string_view>

#include "cnntrain/base/terminal.h"

namespace cnntrain::cli {

/// Set by poprun for its instances if it prints to a terminal: the terminal's columns.
inline constexpr std::string_view kColumnsVariable = "CNNTRAIN_POPRUN_COLUMNS";

/// Of the standard output. Under mpirun, where a terminal may be a file, none; under poprun, its own, which rewrites no
/// line because text passes through mpirun.
Terminal console_terminal();

/// Of the standard error, in the same way.
Terminal diagnostics_terminal();

/// While it lives, std::cout shows control characters of names (base/printable.h) instead of obeying them: a file's
/// name may have escape sequences. It allocates no memory: what it throws would not be reported. Only one object may
/// exist at a time.
class PrintableOutput {
public:
    PrintableOutput();
    PrintableOutput(const PrintableOutput&) = delete;
    PrintableOutput& operator=(const PrintableOutput&) = delete;
    ~PrintableOutput();
};
/// The standard output as it is, for writers of own escape sequences. They make names printable themselves.
std::ostream& terminal_output();

/// From now on, diagnostics and errors are JSON lines (--log-format json).
void report_in_json();
bool reports_in_json();

}  // namespace cnntrain::cli
