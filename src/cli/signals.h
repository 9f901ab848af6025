// SIGTERM, SIGINT and SIGHUP. The first signal asks the run to save and stop; another one, a second or more later, ends
// the process at once. A run that does not stop within seconds, because it waits for a file or computes a large batch,
// is ended unless it has work to save.
#pragma once

namespace cnntrain::cli {

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
