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

// SIGTERM, SIGINT and SIGHUP. The first signal asks the run to save and stop; another one, a second or more later, ends
// the process at once. A run that does not stop within seconds, because it waits for a file or computes a large batch,
// is ended unless it has work to save.

/// SIGINT and SIGHUP are ignored again if they were when the process began, whatever libraries have done since. Call it
/// first in main().
void ignore_as_at_start();

/// SIGINT or SIGHUP stays ignored if it is ignored at the start (nohup, background jobs of a shell). SIGPIPE is ignored
/// too: Ctrl-C also ends `tee`, and the run must still be able to save.
void catch_stop_signals();
bool stop_requested();

/// While true, the process has work that a stop must not cut short.
void hold_exit(bool held);

}  // namespace cnntrain::cli
