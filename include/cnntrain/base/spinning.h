// Spinning of waiting OpenMP threads before they sleep.
#pragma once

namespace cnntrain {

/// Lets waiting threads of libgomp spin for a moment and then sleep, so that they leave the cores to other processes;
/// unless the environment says how they wait (GOMP_SPINCOUNT, OMP_WAIT_POLICY). libgomp reads its environment when it
/// is loaded: the process therefore starts itself once more, with the same arguments and number. Call it first in
/// main(). Where it cannot start itself (no /proc, run by valgrind or as an argument of ld.so) it goes on, and threads
/// wait as libgomp likes.
void limit_spinning(char** argv);

}  // namespace cnntrain
