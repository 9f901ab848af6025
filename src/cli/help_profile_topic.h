// The text of `cnntrain help profile`.
#pragma once

#include <string_view>

namespace cnntrain::cli {

inline constexpr std::string_view kProfile = R"(
`cnntrain profile` in front of a line of train, restore, pretrain, validation or inference runs some
steps of it and says where their time goes, what limits them, and what to try. It makes no run
folder; weights are random, and no checkpoint is read. A step is a weight update, or a micro-batch
of an evaluation. It works on CPUs (not with --backend ipu or ref).

  cnntrain profile train --data-dir PHOTOS --model-size 50 --batch-norm
  cnntrain profile pretrain --config pretrain_base_128_phase1 --generated-data --profile-steps 3
  mpirun -np 2 --bind-to none cnntrain profile train --data-dir PHOTOS --profile-dir DIR

--profile on a training line measures --profile-steps updates (10) of that run, after the first
ones. The table goes to the log, the files to the run's folder. Measuring takes less than 1 % of a
step.

Table
  runs      of a step; an operation runs once in each micro-batch
  ms        of a step, on the wall's clock. Operations, waits and "other" (work of the host between
            operations: reports, binding of batches) add up to the step.
  roofline  the least time that the machine would need for the row's arithmetic or its memory
            traffic, whichever is longer, as a share of the row's time, and which of both it is:
            arithmetic, or the level that holds the operands (L2, L3, memory). As much of them as a
            level holds is taken to come from it. The peaks (matrix products, and the better one of
            reading and copying in each level) are measured at the end of the same process.
  waiting   for input (the next micro-batch), for other lanes, and for ranks (communication that
            computing does not hide). A rank's own time is its step without waiting for ranks.
  Input     work of the loader's threads, which runs beside the step
  Memory    by owner; "program, libraries and others" is what the process holds beyond them

The last line names the first of these that holds: other programs take the processors; memory pages
are read from disk; all ranks wait for one; the step waits for input (slow disk, large images, few
threads, or simply much work); cores that do not compute; communication; lanes that wait; a small
batch; work between the steps; memory bandwidth; arithmetic. With several ranks on a host, other
programs are not looked for.
cnntrain report judges a run by the same rules, from time_split.csv, ranks.csv and profile.json.

Files (--profile-dir DIR, or the run's folder)
  profile.json         one object: run, step_seconds, samples_per_second, waits, peaks, operations
                       (name, op, phase, implementation, runs, seconds, gflop, megabytes, roofline,
                       bound), input, memory, ranks, limit (one word), advice. Seconds are of one
                       step.
                       profile.rank1.json, ...: the other ranks
  profile.trace.json   a trace for ui.perfetto.dev or chrome://tracing: a process for each rank, a
                       thread for each lane, loader thread and for communication. It shows the first
                       131072 operations of a lane and 65536 intervals of other threads.
  profile.folded       stacks in microseconds of a step, for flamegraph.pl or speedscope.app
)";

}  // namespace cnntrain::cli
