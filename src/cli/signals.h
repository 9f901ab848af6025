// SIGTERM, SIGINT and SIGHUP: the first asks the run to save and stop, another a second or more later ends the process
// at once. A run that does not stop within seconds, because it waits for a file or computes a large batch, is ended
// unless it has work to save.
#pragma once

namespace cnntrain::cli {

/// A SIGINT or SIGHUP that is ignored when the process starts (nohup, a shell's background job) stays ignored. Also
/// ignores SIGPIPE: Ctrl-C ends `tee` too, and the run still has to save after that.
void catch_stop_signals();
bool stop_requested();

/// From true to false: the process has work that a stop must not cut short.
void hold_exit(bool held);

}  // namespace cnntrain::cli
