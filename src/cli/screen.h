// Destination of this process's output: the terminals of its standard streams, and whether it prints JSON lines.
#pragma once

#include <ostream>
#include <string_view>

#include "cnntrain/base/environment.h"

namespace cnntrain::cli {

/// Set by poprun for its instances if it prints to a terminal: the terminal's columns.
inline constexpr std::string_view kColumnsVariable = "CNNTRAIN_POPRUN_COLUMNS";

/// Terminal of the standard output. Under mpirun, where a terminal may be a file, there is none; under poprun, it is
/// that of poprun, which rewrites no line because text passes through mpirun.
Terminal console_terminal();

/// Terminal of the standard error. Under mpirun and poprun there is none.
Terminal diagnostics_terminal();

/// While it lives, std::cout shows control characters of names (base/text.h) instead of obeying them: a file's
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

/// Makes all later diagnostics and errors JSON lines (--log-format json).
void report_in_json();
bool reports_in_json();

}  // namespace cnntrain::cli
