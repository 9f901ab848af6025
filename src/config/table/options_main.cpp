// Shared options: the Main group, and options that only this program has.
#include "cnntrain/config/shared_options.h"

namespace cnntrain::config {

namespace {

constexpr const char* kAsStored = "stored";

}  // namespace

std::vector<Option> shared_main_options() {
    return {
        {.flag = "--lr-schedule",
         .type = Type::choice,
         .help = "Learning-rate schedule.",
         .commands = kT,
         .numerics = true},
        {.flag = "--restore-path",
         .type = Type::text,
         .help = "Run folder to resume (train, restore); checkpoint file or folder to evaluate (validation).",
         .commands = kTVE | kR,
         .path = true,
         .bind = to<&Settings::main, &train::MainSettings::restore_path>()},
        {.flag = "--help", .help = "Print this text.", .aliases = {{"-h"}}, .commands = kTVE | kR, .action = true},
        {.flag = "--config",
         .type = Type::text,
         .help = "Named configuration whose values replace the defaults; an unknown name prints all names.",
         .bind = to<&Settings::main, &train::MainSettings::config>()},
        {.flag = "--config-path",
         .type = Type::text,
         .help = "File or folder with configurations; without it, the folder configs of this program."},
        {.flag = "--repeat",
         .type = Type::integer,
         .fallback = std::int64_t{1},
         .help = "Runs per checkpoint.",
         .range = between(1, kMostIterations),
         .commands = kV | kE,
         .bind = to<&Settings::main, &train::MainSettings::repeat>()},
        {.flag = "--inference",
         .type = Type::boolean_value,
         .fallback = false,
         .help = "Do not average the accuracy across replicas.",
         .commands = kV,
         .idle = "there is one replica"},
        {.flag = "--total-batch-size",
         .type = Type::integer,
         .help = "Global batch of the training run, to convert a checkpoint's iterations to logged epochs; without it, "
                 "the epoch stored in the checkpoint is logged.",
         .unit = "samples",
         .aliases = {{"--global-batch-size"}},
         .range = between(1, kMostIterations),
         .commands = kV,
         .bind = to<&Settings::main, &train::MainSettings::total_batch_size>()},
        {.flag = "--num-inference-thread",
         .type = Type::integer,
         .fallback = std::int64_t{1},
         .help = "Concurrent requests; each has its own copy of the model and a share of the compute threads.",
         .range = between(1, kMostThreads),
         .commands = kE,
         .bind = to<&Settings::main, &train::MainSettings::inference_threads>()},
        {.flag = "--force-recompile",
         .fallback = false,
         .help = "Rebuild the compiled model even if its file exists.",
         .commands = kE,
         .bind = to<&Settings::main, &train::MainSettings::force_recompile>()},
        {.flag = "--tmp-execs",
         .fallback = false,
         .help = "Write the compiled model under a random name and delete it after the run.",
         .commands = kE,
         .bind = to<&Settings::main, &train::MainSettings::temporary_executable>()},
        {.flag = "--wandb-id",
         .type = Type::text,
         .help = "Weights & Biases run to continue, for a run started with --wandb.",
         .commands = kT | kR,
         .needs = {{"wandb"}},
         .bind = to<&Settings::logging, &train::LoggingSettings::wandb_id>()},
    };
}

std::vector<Option> shared_run_options() {
    const std::vector<Option> rows = {
        {.flag = "--task",
         .type = Type::choice,
         .help = "Task to run. --task NAME --help lists the options of another task."},
        {.flag = "--backend",
         .type = Type::choice,
         .fallback = "cpu",
         .help = "Backend: cpu, ref (plain loops in double precision, for checking) or ipu (Poplar's API on an "
                 "emulator of IPUs, for checking).",
         .choices = names<backend::BackendKind>(),
         .commands = kTVE | kR,
         .numerics = true,
         .bind = to<&Settings::run, &train::RunSettings::backend>()},
        {.flag = "--threads",
         .type = Type::integer,
         .fallback = std::int64_t{0},
         .help = "Compute threads; 0: one for every core that the process may use.",
         .range = between(0, kMostThreads),
         .commands = kTVE | kR,
         .acts_on_backends = kCpu,
         .bind = to<&Settings::run, &train::RunSettings::threads>()},
        {.flag = "--thread-independent",
         .fallback = false,
         .help =
             "Bit-identical results for any --threads: sums over a batch are split by its size alone. Without it, sums "
             "in gradients of convolution weights are split by threads, and their last bits depend on --threads.",
         .commands = kT | kR,
         .acts_on_backends = kCpu,
         .bind = to<&Settings::run, &train::RunSettings::thread_independent>()},
        {.flag = "--input-threads",
         .type = Type::integer,
         .fallback = std::int64_t{0},
         .help = "Threads that prepare samples; 0: chosen automatically.",
         .range = between(0, kMostThreads),
         .commands = kTVE | kR,
         .bind = to<&Settings::run, &train::RunSettings::input_threads>()},
        {.flag = "--stop-on-nan",
         .fallback = true,
         .help = "Continue after a loss that is not finite.",
         .commands = kT | kR,
         .off_switch = true,
         .bind = to<&Settings::run, &train::RunSettings::stop_on_nan>()},
        {.flag = "--keep-ckpts",
         .type = Type::integer,
         .fallback = std::int64_t{0},
         .help = "Number of newest checkpoints to keep; 0: all.",
         .range = between(0, kMostIterations),
         .commands = kT | kR,
         .bind = to<&Settings::checkpoint, &train::CheckpointSettings::keep>()},
        {.flag = "--checkpoint-dtype",
         .type = Type::choice,
         .fallback = kAsStored,
         .help = "Element type of 16-bit variables in checkpoints. stored: their own, bfloat16. f32: float32, for "
                 "programs without bfloat16. A resumed run has the same losses with both.",
         .choices = {kAsStored, "f32"},
         .commands = kT | kR,
         .bind = {[](Settings& settings, const Value& value) {
             settings.checkpoint.in_f32 = std::get<std::string>(value) != kAsStored;
         }}},
        {.flag = "--trust-edited-checkpoint",
         .fallback = false,
         .help = "Accept a checkpoint whose checksums do not match because another tool edited it; not stored for "
                 "later runs.",
         .commands = kTVE | kR,
         .action = true,
         .bind = to<&Settings::checkpoint, &train::CheckpointSettings::trust_edited>()},
        {.flag = "--accept-other-data",
         .fallback = false,
         .help =
             "Go on with a run on other data than it began with: changed, missing or new files. A warning says what "
             "changes.",
         .commands = kT | kR,
         .action = true,
         .bind = to<&Settings::main, &train::MainSettings::accept_other_data>()},
        {.flag = "--dry-run",
         .help =
             "Print the resolved run: model, data, batches, length, files, and estimates of a training's images or "
             "sequences per second, duration, memory and disk (CNNTRAIN_DRY_RUN_ESTIMATE=off: disk only); train and "
             "write nothing.",
         .commands = kTVE | kR,
         .action = true},
        {.flag = "--print-config",
         .help = "Print all effective values and their sources.",
         .commands = kTVE | kR,
         .action = true},
    };
    return concatenated({rows, shared_validation_options()});
}

}  // namespace cnntrain::config
