// The topic of IPUs, as text for help_topics.cpp.
#pragma once

#include <string_view>

namespace cnntrain::cli {

inline constexpr std::string_view kIpuTopic = R"(
--backend ipu turns a network into programs of Poplar's API. An emulator on the host executes them,
unless the program was built against a Poplar SDK. No IPU has run them yet: the backend is for
checking programs, and its times say nothing about an IPU.

  cnntrain train --backend ipu --dataset cifar-10 --generated-data --model-size 8 --iterations 2
  cnntrain train --help ipu        options that only steer IPUs
  cnntrain --version --verbose     says what executes the programs

Without --backend ipu
  A documented line runs on the CPU. Options that only steer IPUs are accepted, recorded in
  arguments.json and named in one notice. They are listed by --help ipu and --help-all only.

With --backend ipu
  Numbers       16 in --precision is IEEE half, not bfloat16; --loss-scaling keeps small gradients.
                --enable-half-partials sums products in half, --stochastic-rounding rounds updates.
  Stages        Each stage of --pipeline has an IPU of its own; --pipeline-schedule orders passes.
  Replicas      --replicas N needs N times the IPUs of one replica, in one process.
  Host steps    --device-iterations N: updates between two visits of the host, for logs and stops.
  Not there     several processes, --latency, times of single operations, profiles of compilations,
                and options named in a notice with the reason

poprun
  `cnntrain poprun` starts processes on CPUs, as `cnntrain help launching` says. Options of the
  V-IPU server have no effect and are named in one notice.

The build
  cmake -DCNNTRAIN_IPU=OFF leaves backend and emulator out; -DCNNTRAIN_POPLAR_SDK=DIR takes an SDK
  in place of the emulator. src/README.md lists in what the emulator differs from an IPU.
)";

}  // namespace cnntrain::cli
