// SIGTERM and SIGINT: the first asks the run to save and stop, another a second or more later ends the process at once.
#pragma once

namespace cnntrain::cli {

void catch_stop_signals();
bool stop_requested();

}  // namespace cnntrain::cli
