#include <string>
#include <string_view>
#include <vector>

#include "cli/help.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cli {

namespace {

constexpr std::string_view kRunFolders = R"(
A run writes into one folder: logs/<name>_<3 letters> (pretrain:
checkpoint/<phase>/pretraining_<...>) or the folder that --logs-path names. It holds

  arguments.json           the options with which the run last went on; data folders as absolute
                           paths. Older ones stay as arguments.<n>.json.
  log.txt                  everything that was printed
  training.csv             one row per log line
  validation.csv           one row per validated checkpoint; val_top5_acc and val_loss stand last
  events.out.tfevents.*    the same curves for TensorBoard
  ckpt-<iteration>.safetensors   see `cnntrain help checkpoints`

One folder holds one run. A new train in a folder that holds checkpoints or tables is refused;
--overwrite removes the files that runs name themselves, and no others. validation and inference
may write into a folder of their own or into that of the run whose checkpoints they read.

One process at a time writes into a folder. Another one ends with exit code 2 and prints number,
host, start and command of the first. The lock is an fcntl lock on .cnntrain-lock; it ends with its
process. Between hosts it holds on NFS 4 (NFS 3 with its lock service), SMB, CephFS, GPFS and
Lustre mounted with flock, as their documentation says; only local file systems were tried. Where a
file system has no locks a warning says so. Runs with --no-logs that save no checkpoints take no
lock.

A file is written as <file>.<12 digits>.partial and renamed when it is complete. A file that a
killed process left behind is removed when the same file is written again.
)";

constexpr std::string_view kCheckpoints = R"(
A checkpoint is one safetensors file with every parameter, moving average and optimiser slot:
ckpt-<iteration>.safetensors. pretrain counts steps from 0, so its ckpt-7031 has 7032 updates.
--keep-ckpts N keeps the newest N.

The metadata holds a checksum of the header and one of the tensors. A file that does not match them
is damaged or was edited by another tool; it is refused unless --trust-edited-checkpoint is given.
Files of other tools have no checksums and are read.

  cnntrain average --restore-path RUN -N 5 --mode mean --filename RUN/mean
  cnntrain analyse --restore-path RUN --find-nans
  cnntrain convert --from RUN/ckpt-7031 --to model.safetensors      BERT, Hugging Face's layout
  cnntrain train ... --init-path RUN/ckpt-1000 --variable-filter fc1      fine-tuning
  cnntrain train ... --weight-avg-exp 0.97                          averages during a run

A checkpoint moves between processors and between numbers of processes. TensorFlow's checkpoint
files are not read.
)";

constexpr std::string_view kResuming = R"(
  cnntrain restore --restore-path RUN                       go on with the options of the run
  cnntrain train --restore-path RUN <options> --epochs 20   go on with other options, here longer

A resumed run prints the same losses as one that was never stopped, also from the middle of an
epoch. A warning says when the number of threads or the arithmetic of the processor prevents that.
Rows beyond the checkpoint and weight_avg_* files are dropped.

SIGTERM, Ctrl-C and SIGHUP stop a run after the current micro-batch. The last complete update is
saved and the exit code is 143. A second signal, at least one second later, ends the run at once.
Under nohup SIGHUP stays ignored. A killed process loses what followed its last checkpoint.
)";

constexpr std::string_view kDataFolders = R"(
--data-dir names one of

  CIFAR-10, CIFAR-100   the binary files, or a folder cifar-10-batches-bin or cifar-100-binary
  ImageNet              TFRecord files train-00000-of-01024 ..., validation-...
  class folders         train/<class>/*.jpg and validation/<class>/*.jpg (or val); the network has
                        an output for each class folder. --no-validation without the second.

Without --dataset the data set is told from the folder. Photographs become TFRecords by

  cnntrain dataset imagenet --raw-data-dir PHOTOS --output-dir DIR

where PHOTOS holds train/<class>/ and validation/<class>/. JPEG files are copied, PNG and CMYK
files converted; damaged ones are listed, other kinds counted and left out. The same line goes on
after a stop. `cnntrain dataset inspect DIR` prints what files hold, `cnntrain dataset verify DIR`
checks every checksum and looks for missing or unfinished files, with --decode also every image.

Without data: --generated-data repeats one random image from the host, --synthetic-data skips the
input pipeline. `cnntrain dataset cifar --output-dir DIR` writes a small set that can be learnt.

The first run on TFRecords stores where records begin, in train.cnntrain-index beside the files or
in ~/.cache/cnntrain. Each epoch is shuffled anew over all files. Checksums are always verified.
--dataset-cache-gb 20 keeps encoded records in memory that all processes of a host share. An image
that cannot be decoded is counted, named once and replaced by the next record; validation and
classification leave it out. --strict-data stops at the first one. --dataset-benchmark times the
input pipeline alone.
)";

constexpr std::string_view kPretraining = R"(
Text, one sentence a line and blank lines between documents, becomes TFRecords by

  cnntrain dataset bert --input-file 'TEXT/*.txt' --output-file a.tfrecord,b.tfrecord \
      --vocab-file vocab.txt --do-lower-case --remask

--remask puts masked tokens in front, as pretrain's shipped configurations expect. The records
equal those of the reference program with the same seed.

  cnntrain pretrain --config pretrain_base_128_phase1 --train-file 'DIR/*.tfrecord'
  cnntrain pretrain --config pretrain_base_384_phase2 --train-file 'DIR/*.tfrecord' \
      --init-checkpoint RUN/ckpt-7031
  cnntrain pretrain --config pretrain_base_128_phase1 --evaluate --restore-dir RUN \
      --valid-file 'DIR2/*.tfrecord'
  cnntrain pretrain --config pretrain_tiny_128_lamb --generated-data --num-train-steps 4

The second phase starts from the weights and moments of the first. --init-checkpoint also reads
model.safetensors of Hugging Face's BertForPreTraining, with the options of its network:
--use-qkv-split --use-qkv-bias --hidden-act gelu_erf --layer-norm-epsilon 1e-12 --vocab-size 30522.
)";

constexpr std::string_view kPrecision = R"(
The first number of --precision is the type of the computation, the second that of the weights:

  16.16   bfloat16, weights in bfloat16 with stochastic rounding (the default of train)
  16.32   bfloat16, weights in float32
  32.32   float32

pretrain calls the second 16 (its default) and the third 32, as its original does.
--force-weight-to-fp32 fc1 keeps single variables in float32. --offload-fp32-weight-copy keeps a
float32 copy of 16-bit weights in the optimiser. Sums, statistics and losses are float32 always.

A 16-bit precision computes in bfloat16 where that is faster (AMX; AVX512-BF16 on AMD processors)
and in float32 elsewhere. The choice follows from the processor and is printed and recorded;
--compute-type bf16 or f32 overrides it. 16.32 computed in float32 equals 32.32 bit for bit. In
16.16 computed in float32, convolutions read float32 copies of the weights, made once per update.
)";

constexpr std::string_view kReproducibility = R"(
With one --seed and the same --threads on the same processor the numbers repeat, whatever the
number of input threads. Without --seed one is drawn and recorded. Another --threads adds in
another order: last digits of convolution weights' gradients change (by about 3e-8 after a step in
32.32). --thread-independent keeps every bit with any --threads and costs speed: 5 % of a step of
ResNet-50 in 32.32 and 38 % in 16.32 with AMX were measured (micro-batch 8, 2 threads).

Random numbers depend on positions, not on order: dropout on the seed, the layer's name and the
number of the sample; rounding of a weight on the seed, its name and the iteration. So pipeline
stages, replicas and processes do not change them.
)";

constexpr std::string_view kPipelines = R"(
  cnntrain train ... --pipeline --pipeline-splits stage1/unit3/relu --gradient-accumulation-count 8
  cnntrain plan train.py ... --stages 4     stages, memory, time, chart, and better splits

--pipeline-schedule is Grouped, Interleaved or Sequential. A pipeline gives the numbers of gradient
accumulation without it, bit for bit; only a split that leaves a single activation in a stage
rounds differently in 16 bits. --gradient-accumulation-count must be a multiple of the stages
(Interleaved) or of twice the stages (Grouped); a wrong one is answered with the nearest.
--enable-recomputation keeps only the inputs of all stages but the last. pretrain names its stages
by --pipeline-stages '[["emb","pos"],["hid","hid"],["mlm","nsp"]]'.

All stages and replicas run in one process and share its cores and memory, whatever --shards says.
--lanes 2 --threads 2 divides the cores into lanes that work side by side; by default a pipeline
has a lane for each stage. Stages make nothing faster on one quiet machine, and Grouped and
Interleaved keep the activations of several micro-batches.

--replicas 4 gives the numbers of four times the accumulation with one set of weights. --BN-span 2
lets two replicas share batch-norm statistics, as one with twice the micro-batch does.
)";

constexpr std::string_view kProcesses = R"(
train, pretrain, restore and resnet_main.py that mpirun, srun or `cnntrain poprun` started several
times perform each weight update together:

  mpirun -np 4 --bind-to none cnntrain train --dataset imagenet --data-dir DIR --model-size 50 \
      --micro-batch-size 16 --gradient-accumulation-count 4

Global batch   micro-batch x accumulation x replicas x processes. Together the processes see the
               samples that one process would see.
Numbers        With one micro-batch in each process, losses and weights equal bit for bit those of
               one process that accumulates as many. With several each, sums are added in another
               order and losses differ by about 1e-6 of their value; so do those of LARS and LAMB
               with --rts.
Gradients      Summed in buckets (--max-cross-replica-buffer-size) during the backward pass, or
               after it (--no-comm-overlap). Processes of one host add in shared memory;
               --comm-route flat sends messages instead. --comm-wire bf16 halves the bytes between
               hosts.
Norms          --BN-span S shares batch-norm statistics over S processes.
Optimiser      --rts: each process keeps and updates a part of the optimiser's state (pretrain:
               --replicated-tensor-sharding). Checkpoints stay complete.
Writing        Rank 0 writes the run folder. --ckpt-all-instances and --log-all-instances let every
               process write, each into a folder of its own.
Start          Rank 0 draws the seed, names the folder, reads checkpoints and sends them. Options
               that change numbers must be the same everywhere.
End            A stop signal to one process stops all after the same update. A loss that is not
               finite, or damaged data, ends all with the same exit code and names the rank. If a
               process dies, hangs or leaves, the others end within --comm-timeout seconds with
               exit code 7, the operation, the bucket and the missing ranks.
Resuming       The same restore line, also with another number of processes that can share the
               recorded global batch; otherwise the error lists the numbers that can.
Checks         At each checkpoint the weights of all processes are compared by checksum.

validation under poprun and `pretrain --evaluate` share their samples out and count each once.
Under a plain mpirun line validation and inference measure side by side and know nothing of each
other.

Open MPI 4.1's mpirun sometimes crashes or waits for ever after a rank has died; the ranks have
ended by then. When the link between hosts is cut, mpirun waits until TCP gives up; these options
shorten that: --mca oob_tcp_keepalive_time 60 --mca oob_tcp_keepalive_intvl 5 --mca
oob_tcp_keepalive_probes 3
)";

constexpr std::string_view kLaunching = R"(
poprun takes the options of Graphcore's launcher and makes one mpirun line of them, one rank for
each instance. Scripts such as train.py, also behind python3, are this program; any other can be
started.

  cnntrain poprun -v --num-instances 2 --num-replicas 4 python3 train.py --data-dir DIR
  cnntrain poprun --host node[1-4] --host-subnet 10.1.2.0/24 --num-instances 8 --num-replicas 8 \
      train.py --data-dir DIR --dataset imagenet --model-size 50

Before anything starts it refuses replicas that instances cannot share, more than 4 instances a
core, placeholders (xxx.xxx.xxx.1), variables that are not set, unknown hosts, and a missing
program (exit code 127). --dry-run prints the topology and the mpirun line. Options of the V-IPU
server change nothing and are named in one notice.

Each process takes its share of its host's cores and prints it (instance 1 of 2: cores 8-15). A
process that its launcher has bound keeps its cores; a quota of the container is divided.
CNNTRAIN_PROCESS_PLACEMENT=disabled leaves all cores to every process.

SIGTERM, SIGINT and SIGHUP go to the instances of this host, which have 10 seconds to save and end;
then mpirun is asked to end, and 5 seconds later the rest is killed. The exit code is 143 after a
stop, otherwise that of the first instance that failed. An mpirun that stays five seconds longer
than its ranks is killed (exit code 7).

--only-output-from-instance 0 shows one instance, and the last 50 lines of standard error of
another one that fails. --export-config FILE writes the options of a line as YAML, --import-config
FILE reads them. Other launchers work as well: tools/srun_train.sh is a batch job of Slurm,
tools/mpijob_train.yaml one of Kubernetes' MPI operator. Without Open MPI one instance is started
directly.
)";

constexpr std::string_view kRecipe = R"(
resnet_main.py and resnet_eval.py trained ResNet-50 in batches of 24 576 on 512 CPU workers. Their
lines run as they stand, also with the no-break spaces of the document; --dry-run and other options
of train (validation) may follow. The program first prints the line that it runs instead.

  cnntrain resnet_main.py --train_batch_size 24576 --train_steps 4680 --data_dir DIR --model_dir RUN
  cnntrain resnet_eval.py --eval_batch_size 200 --data_dir DIR --model_dir RUN

From the recipe's text   learning rate 0.1 to 4.8 in 260 updates, then linear to 0; weight decay
                         5e-5; batch-norm decay 0.95; 48 images at once in a worker; no validation
From its programs        Nesterov's momentum 0.9; batch norm; images of mean 0 and deviation 1;
                         label smoothing 0; five checkpoints are kept; resnet_eval.py adds 5e-5 / 2
                         x the sum of the squared weights to the loss
Assumed                  --precision 32.32, loss scaling 1, a checkpoint after each epoch
Processes                each takes its part of the batch; their number must divide the batch. With
                         fewer workers, as many images at once as divide a worker's part, at most
                         48, the others in turn; --micro_batch_size saves memory
The same line again      continues from the latest checkpoint in --model_dir
resnet_eval.py           evaluates the latest checkpoint and writes below --model_dir into eval
Threads                  --num_intra_threads, at most the cores of the process.
                         --num_inter_threads, --kmp_blocktime and OMP_NUM_THREADS have no effect
Launcher                 Open MPI's form of `mpirun -np 512 -ppn 2` is `-np 512 --map-by
                         ppr:2:node`
)";

constexpr std::string_view kLimits = R"(
Refused sizes
  JSON (headers, arguments.json)   64 levels deep, 2 million values, no key twice
  YAML                             1 MB, 64 levels deep, 20 000 values with references expanded
  benchmarks.yml                   10 000 combinations of parameters; patterns without lookaround,
                                   backreferences, possessive and atomic groups
  TFRecord                         2 GiB a record
  other texts                      1 GiB
  pipes, devices                   none: store their content in a file first
  whole numbers                    a range for each option; a wrong value is answered with it

Not available
  the IPU backend, --profile, `cnntrain report`, `cnntrain profile`, fine-tuning of BERT, GroupBERT
  TensorFlow's checkpoint files, arithmetic-coded JPEG files (damage in them cannot be noticed)

Without effect on CPUs
  Options that only steer IPUs are accepted, recorded in arguments.json and named once in a notice.
  Options that change nothing in a command or for its data are named with the reason.

Restrictions
  Images        Networks for ImageNet's TFRecords have 1000 outputs. A folder of images is
                classified with ImageNet's preprocessing; classes are printed as numbers.
  Requests      Each thread of --num-inference-thread holds its own weights.
  Replicas      Several processes with --BN-span have one lane each. --rts has nothing to split in
                one process.
  Cache         --dataset-cache-gb counts against a container's limit, which the system does not
                report beforehand.
  Conversion    Lists of photographs record when a file was changed. Copying or touching the
                sources of a stopped conversion makes it another one (--overwrite).
  Data share    --dataset-percentage-to-use takes the first training records in file order;
                validation always uses all.
)";

constexpr std::string_view kDifferences = R"(
Results or behaviour differ from the original programs in these points:

  Length           A run ends after exactly the iterations asked for, has no step with learning
                   rate 0 before the first, and validates every image once. The originals
                   overshoot, warm up and pad. Validation leaves out images that cannot be decoded,
                   and prints how many.
  Compilation      The printed time covers everything from reading the options to the first step,
                   opening data included.
  Synthetic data   Loss and accuracy are those of the random images, not 0; pretrain prints 0, as
                   its original does.
  16 bits          16 means bfloat16, not IEEE half. Partial sums are float32, so every summary
                   says Half partials: False.
  Optimisers       RMSprop's mean square starts at 1, as in TensorFlow 1. LARS applies
                   --weight-decay in addition to its own. AdamW and LAMB decay weights apart from
                   the gradient.
  Replicas         --BN-span S in one process computes micro-batches of S times the size, also for
                   mixup and cutmix. Several processes keep their micro-batch and exchange
                   statistics.
  Proxy norm       --proxy-norm leaves out the scale of the activations in the head and, with
                   --no-se, behind the spatial convolutions, as the programs it follows do. It
                   excludes LARS.
  Crops            Training crops that shrink by 2 or more shrink in the JPEG's DCT first (by 2, 4
                   or 8), which averages pixels that the originals skip. Evaluation never does.
)";

/// Without the newline that begins each literal above.
std::string body(std::string_view literal) {
    return std::string(literal.substr(1));
}

/// One line for the table of exit codes.
std::string_view meaning(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::not_found:
            return "nothing to work on: no checkpoint in the folder";
        case ErrorKind::usage:
            return "flags, configurations, settings that contradict each other";
        case ErrorKind::data:
            return "input files that are damaged, missing, unreadable, or pipes and devices";
        case ErrorKind::unsupported:
            return "a capability that this version or machine does not have; too little memory";
        case ErrorKind::storage:
            return "files or standard output that cannot be written: disk full, permissions, size limit";
        case ErrorKind::diverged:
            return "training diverged: the loss is not finite";
        case ErrorKind::peers:
            return "another process of the run died, stalled, left or holds other numbers";
        case ErrorKind::internal:
            break;
    }
    return "a defect of cnntrain";
}

std::string exit_code_row(int code, std::string_view text) {
    std::string row = "  " + std::to_string(code);
    row.resize(7, ' ');
    return row + std::string(text) + "\n";
}

std::string exit_codes() {
    std::string text = exit_code_row(0, "done");
    for (int kind = 0; kind <= static_cast<int>(ErrorKind::internal); ++kind) {
        const auto error = static_cast<ErrorKind>(kind);
        text += exit_code_row(exit_code(error), meaning(error));
    }
    text += exit_code_row(127, "poprun: there is no such program");
    text += exit_code_row(kInterruptedExitCode, "stopped by SIGTERM, SIGINT or SIGHUP");
    return text +
           "\nAfter a stop a run has saved a checkpoint, and a conversion goes on when its line is repeated.\n"
           "Other work that does not end within 4 seconds ends without further notice.\n";
}

}  // namespace

const std::vector<HelpTopic>& help_topics() {
    static const std::vector<HelpTopic> topics = {
        {"data-folders", "data sets, own photographs, indexes, damaged images", body(kDataFolders)},
        {"run-folders", "files of a run, locks, --overwrite", body(kRunFolders)},
        {"checkpoints", "files, checksums, averages, conversion, fine-tuning", body(kCheckpoints)},
        {"resuming", "stopping a run and going on exactly", body(kResuming)},
        {"pretraining", "BERT: text, phases, evaluation, Hugging Face's weights", body(kPretraining)},
        {"precision", "types of weights and computation", body(kPrecision)},
        {"reproducibility", "which numbers repeat, and when", body(kReproducibility)},
        {"pipelines", "stages, lanes, replicas in one process", body(kPipelines)},
        {"processes", "training in several processes: numbers, gradients, faults", body(kProcesses)},
        {"launching", "starting processes with poprun, cores, signals", body(kLaunching)},
        {"recipe", "the large-batch ResNet-50 programs", body(kRecipe)},
        {"exit-codes", "what each exit code means", exit_codes()},
        {"limits", "refused sizes, what is not available, restrictions", body(kLimits)},
        {"differences", "where results differ from the original programs", body(kDifferences)},
    };
    return topics;
}

}  // namespace cnntrain::cli
