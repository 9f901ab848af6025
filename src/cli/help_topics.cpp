#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/help.h"
#include "cli/help_data_topics.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/text_reports.h"

namespace cnntrain::cli {
namespace {

// The topic of IPUs, as text for help_topics.cpp.

constexpr std::string_view kIpuTopic = R"(
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

// The text of `cnntrain help profile`.

// The help topic on the output of a run.

constexpr std::string_view kScreen =
    R"(On a terminal, a run begins with its network, data, length, learning rate, precision and folder in a
few lines. All settings, log lines and the list of variables are in log.txt; --verbose prints them,
too. A training of two epochs or more is a table with a row for each validation, or for each epoch
without one; the best is marked. One line below the others shows how far the work is, loss and
accuracy (means of the last updates, the newest with the largest weight), the rate and the time
left. It follows the width of the terminal, is not shown in the background, and is removed at the
end and by signals.

In a pipe or file, and in processes of mpirun or poprun, the standard output has every line of
log.txt, in the format that programs parse, and no progress line. Lines about IPUs (half partials,
infeeds, IO) are left out unless the line names a script of the originals or --backend ipu. Work
that prints nothing for a minute has a line a minute.

  --quiet            results only: validations, predictions, measurements, the reason of an early
                     stop. log.txt is complete. Notices are left out; warnings and errors are not.
  --log-format json  an object a line on the standard output for each event. Notices, warnings and
                     errors are such objects on the standard error; errors in the command line
                     itself are text. log.txt stays text.

Colours are used on terminals only, and not with NO_COLOR, CLICOLOR=0 or TERM=dumb. TERM=dumb has
no progress line either.

Events of --log-format json. Each object has "event", the name here, and "time", in seconds since
1970. Numbers that are not finite are null.
)";

constexpr std::size_t kColumn = 23;

std::string topic_row(const std::string& head, std::string_view what) {
    return padded(head, kColumn) + std::string(what) + "\n";
}

std::string event_rows(const metrics::JsonEvent& event) {
    std::string text = "\n" + topic_row("  " + std::string(event.name), event.when);
    for (const metrics::JsonField& field : event.fields) {
        const std::string meaning = field.meaning.empty() ? "" : ": " + std::string(field.meaning);
        text += topic_row("    " + std::string(field.name), std::string(name(field.type)) + meaning);
    }
    if (!event.more.empty()) text += topic_row("    ...", event.more);
    return text;
}

/// Ends with a table of the events of --log-format json.
std::string screen_topic() {
    std::string text(kScreen);
    for (const metrics::JsonEvent& event : metrics::json_events())
        text += event_rows(event);
    return text;
}

constexpr std::string_view kRunFolders = R"(
A run writes into one folder: logs/<name>_<3 letters> (pretrain:
checkpoint/<phase>/pretraining_<...>) or the folder that --logs-path names. It holds

  arguments.json           the run's latest options, with absolute paths of data folders. Earlier
                           ones are kept as arguments.<n>.json.
  log.txt                  every line of the run, except progress
  training.csv             one row per log line
  validation.csv           one row per validated checkpoint; val_top5_acc, val_loss and balanced_acc
                           come last
  validation_classes.csv   of validations during training: samples, correct answers, predictions,
                           precision, recall and F1 of each class; see `cnntrain help validation`
  time_split.csv           where the time of the updates between two log lines went, in seconds:
                           waiting for input, exchange of gradients, processors; pages from disk
  ranks.csv                the same of each process of a run with several, over the whole run
  events.out.tfevents.*    the same curves for TensorBoard (of BERT's original programs: in
                           the folder event)
  ckpt-<iteration>.safetensors   see `cnntrain help checkpoints`
  ckpt-best.safetensors    the best weights, with --keep-best; see `cnntrain help validation`
  sample_predictions.json  what `cnntrain report` has computed of validation samples; it is computed
                           again for other weights
  report.html              the page of `cnntrain report`
  features.cache           see `cnntrain help features`
  profile.*                with --profile; see `cnntrain help profile`
  update-<iteration>.sums  of a run that was stopped inside an update; see `cnntrain help resuming`

A folder holds one run. A new training run in a folder with checkpoints or tables is refused;
--overwrite removes the files that runs name themselves, and no others. validation and inference
write files only with --logs-path (a folder of their own, or that of the run whose checkpoints they
read) or --log-dir.

They need no other option than --restore-path RUN or RUN/ckpt-<iteration>: model, data, data folder,
precision, image size and preprocessing are those in arguments.json, or, of a checkpoint that was
moved, those in the file. Options on the line win, and each one that changes results and differs
from the run's is named. inference takes ckpt-best of a folder, otherwise its newest checkpoint.

  cnntrain inference RUN PHOTO.jpg ...
  cnntrain inference RUN 'PHOTOS/*/*.jpg' --top-classes 3

inference writes predictions.csv, or the file that --predictions names: a table (.csv) or JSON lines
(.jsonl) with the file or the text, its class where that is known, the most probable classes
(--top-classes) and their probabilities, and whether the first one is right. A photo's class is
known from a folder with the name of a class, or from a table of photos and classes (.csv), a text's
from the label in its row. Files are named from the last folder that all of them are in. Without
--data-dir, the samples are those that the run validates with. A file that is there is replaced with
--overwrite only.

cnntrain report RUN writes a page that says whether the run learned, what limited its speed, what it
confuses and what exactly ran, with curves, confusions and the most wrong photos, in one file that
loads nothing from elsewhere. The run may be going (--watch writes the page again) or have been
killed. With several runs, which their folders name, the page is about the first, and compares it
with the others. It predicts at most --samples validation samples with ckpt-best or the newest
checkpoint. Beside the most wrong photos stand their class-activation maps. The reliability chart
compares probabilities with accuracy; the expected calibration error is their mean distance over 15
ranges of probability, and the temperature is the one of the least loss on these samples.

One process at a time writes to a folder. Another process ends with exit code 2 and prints number,
host, start time and command line of the first. The lock is an fcntl lock on .cnntrain-lock; it
ends with its process. Between hosts it works on NFS 4 (NFS 3 with its lock service), SMB, CephFS,
GPFS and Lustre mounted with flock, according to their documentation; only local file systems were
tested. A warning is printed for a file system without locks. Runs with --no-logs that save no
checkpoints take no lock.

A file is written as <file>.<12 digits>.partial and renamed when it is complete. A partial file
left by a killed process is removed when the same file is written again.
)";

constexpr std::string_view kCheckpoints = R"(
A checkpoint is one safetensors file with every parameter, moving average and optimiser slot:
ckpt-<iteration>.safetensors. pretrain counts steps from 0, so its ckpt-7031 has 7032 updates; its
ckpt-0 has none, and a run that is stopped after its first update leaves a ckpt-1 that has one.
--keep-ckpts N keeps the newest N.

The metadata holds a checksum of the header and one of the tensors. A file that does not match them
is damaged or was edited by another tool; it is refused unless --trust-edited-checkpoint is given.
Files of other tools have no checksums and are accepted.

  cnntrain average --restore-path RUN -N 5 --mode mean --filename RUN/mean
  cnntrain analyse --restore-path RUN --find-nans
  cnntrain convert --from RUN/ckpt-7031 --to DIR/                   BERT, a folder for transformers
  cnntrain convert --from DIR/model.safetensors --to base.safetensors               and from one
  cnntrain train ... --init-path RUN/ckpt-1000 --variable-filter fc1      fine-tuning
  cnntrain train ... --weight-avg-exp 0.97                          averages during a run

With --precision 16.16, weights are bfloat16 (BF16), which numpy does not have. --checkpoint-dtype
f32, of a run or of convert, writes float32. numpy reads the bytes b of a BF16 tensor by

  (numpy.frombuffer(b, "<u2").astype("<u4") << 16).view("<f4")

Checkpoints can be used on other processors and with other numbers of processes.

Files of weights of other programs are read wherever a checkpoint is named: PyTorch's .pth, .pt and
.bin, Keras's .h5 and .keras, and TensorFlow's checkpoints by PREFIX or PREFIX.index. The content
shows the format. Nothing in them is executed, and a pickle that needs more than tensors and plain
values is refused. convert writes them as safetensors with the names that they have there:

  cnntrain analyse --restore-path FILE.pth --list                   names, types and shapes
  cnntrain convert --from FILE.pth --to FILE.safetensors            also .h5, .keras, PREFIX
  cnntrain convert --from FILE.pth --part model_ema --to FILE.safetensors
)";

constexpr std::string_view kExport = R"(
  cnntrain convert RUN --to onnx                            RUN/model.onnx
  cnntrain convert RUN OUT.onnx --to onnx --weights f16 --probabilities
  cnntrain convert RUN --to onnx --with-preprocessing       a file that reads photos
  cnntrain convert RUN DIR/ --to timm                       config.json and model.safetensors
  cnntrain convert RUN DIR/ --to torchvision                model.safetensors with its state names
  cnntrain convert RUN DIR/ --to tf                         TensorFlow's checkpoint files
  cnntrain convert RUN DIR/ --to hf                         BERT, for transformers

RUN is a run's folder (its best or newest checkpoint is taken), one of its checkpoints, or a file of
weights that inference reads. Weights for timm, torchvision, tf and hf are made in memory, read from
there and compute 64 samples of the run's validation set (generated ones if the data are gone). They
are written only if no output differs by more than 1e-4 of the greatest one; otherwise what was
there stays.

ONNX holds every network. One file of operator set 18 with norms folded into convolutions. Images
are float32 [batch,3,S,S], normalised as the metadata "preprocessing" (JSON) says; "classes" are the
names. BERT reads int32 input_ids, attention_mask and token_type_ids of the run's length;
pretraining also masked_lm_positions, and answers prediction_logits and seq_relationship_logits. Of
a run with --packed it also reads position_ids and next_sentence_positions, and attention_mask has
the number of each token's sequence.
--weights f16 computes in float16, too; bf16 stores kernels and matrices so and computes in float32.

With --with-preprocessing, images are uint8 [batch,height,width,3]: decoded photos of any size, RGB,
turned as their Exif data say. The file resizes, cuts out and normalises them as validation does.
Where a sum lies between two levels, the other one may come out: in a pixel of a thousand of usual
photos, more often for ratios such as 8 to 7. CIFAR's networks read 32 x 32 pixels, which the file
standardises one by one. Decoding stays outside.

tf writes ckpt-N.index and ckpt-N.data-00000-of-00001 as tf.train.Saver does, and the file
checkpoint: all variables with the optimiser's, by the names of the original programs, bit by bit
(bfloat16 stays unless --checkpoint-dtype f32 is given).

torchvision and timm have the networks that they define: batch norm, the padding of PyTorch
(--padding symmetric, the default for own photos; an EfficientNet is timm's tf_efficientnet), known
sizes. Others are refused with the reason.

  timm.create_model("local-dir:DIR", pretrained=True)
  model.load_state_dict(safetensors.torch.load_file("DIR/model.safetensors"), strict=True)
)";

constexpr std::string_view kResuming = R"(
  cnntrain restore --restore-path RUN                       continue with the options of the run
  cnntrain restore --restore-path RUN --epochs 20           continue for longer; also --iterations
                                                            (pretrain: --num-train-steps)
  cnntrain train --restore-path RUN <options>               continue with other options

A resumed run prints the same losses as one that was never stopped, even if it resumes within an
epoch. A warning is printed if the number of threads or the processor's arithmetic prevents that.
Rows after the checkpoint and weight_avg_* files are removed.

A checkpoint records what the data were: files, sizes, samples and cheap checksums. A run is not
continued on others unless --accept-other-data is given; data may be moved. restore --dry-run makes
the same comparison. A run that was killed before its first checkpoint, or that saves none
(--ckpts-per-epoch 0), is begun anew by its own line, in the same folder. The rows of a finished run
without checkpoints are replaced with --overwrite only.

SIGTERM, Ctrl-C and SIGHUP stop a run after the current micro-batch. The last complete update is
saved and the exit code is 143. The complete micro-batches of the update that was stopped are kept
in update-<iteration>.sums (of several processes, one file each) if they took at least a second.
restore finishes that update with them, with the same results, and removes the file at the next
checkpoint. It says so when it cannot use the file and repeats the update: after other options,
data or threads, another number of processes, or on another kind of processor.

A second signal, at least one second later, ends the run at once. Under nohup, SIGHUP stays
ignored. A killed process loses the updates since its last checkpoint.

An update that takes longer than 10 seconds shows its progress on the terminal. Where the output is
no terminal, long updates and validations print a line a minute: share, rate and time left. The
time of an update counts its parts before and after a stop.
)";

constexpr std::string_view kPretraining = R"(
To convert text, with one sentence per line and blank lines between documents, to TFRecords:

  cnntrain dataset bert --input-file 'TEXT/*.txt' --output-file a.tfrecord,b.tfrecord \
      --vocab-file vocab.txt --do-lower-case --remask

--remask places masked tokens first, as pretrain's shipped configurations expect. The records
equal those of the reference program with the same seed.

pretrain --packed puts several sequences into a row instead of padding. It takes any of these files,
which it reads once to pack them, or files made with dataset bert --packed. A sequence sees itself
alone, so its losses are those that it has with padding. Batches, epochs and rates count rows: a
batch of as many rows has more sequences. --max-predictions-per-seq counts for a row.

  cnntrain pretrain --config pretrain_base_128_phase1 --train-file 'DIR/*.tfrecord'
  cnntrain pretrain --config pretrain_base_384_phase2 --train-file 'DIR/*.tfrecord' \
      --init-checkpoint RUN/ckpt-7031
  cnntrain pretrain --evaluate --restore-dir RUN --valid-file 'DIR2/*.tfrecord'
  cnntrain pretrain --config pretrain_tiny_128_lamb --generated-data --num-train-steps 4

The second phase starts from the weights and moments of the first. --init-checkpoint also reads
model.safetensors of Hugging Face's BertForPreTraining, with the options of its network: cnntrain
convert prints them. They are compared with the config.json next to the file.

  cnntrain convert --from RUN/ckpt-7031 --to DIR/ --vocab-file vocab.txt

writes model.safetensors, config.json and vocab.txt for transformers. The shipped configurations
have no layer between the encoder and the scores of masked words (--use-cls-layer), unlike every
class of transformers. DIR then also holds the Python class of their network:

  AutoModelForPreTraining.from_pretrained(DIR, trust_remote_code=True)

Other classes (BertModel, BertForSequenceClassification, ...) read the encoder of the same DIR.
)";

constexpr std::string_view kPrecision = R"(
The first number of --precision is the type of computation, the second that of the weights:

  16.16   bfloat16, weights in bfloat16 with stochastic rounding (the default of train)
  16.32   bfloat16, weights in float32
  32.32   float32

pretrain calls the second 16 (its default) and the third 32, as its original does.
--force-weight-to-fp32 fc1 keeps single variables in float32. --offload-fp32-weight-copy keeps a
float32 copy of 16-bit weights in the optimiser. Sums, statistics and losses are always float32.

A 16-bit precision computes in bfloat16 where that is faster (AMX; AVX512-BF16 on AMD processors)
and in float32 elsewhere. The choice depends on the processor; it is printed and recorded;
--compute-type bf16 or f32 overrides it. 16.32 computed in float32 equals 32.32 bit for bit. In
16.16 computed in float32, convolutions read float32 copies of the weights, made once per update.
With --backend ipu, the 16-bit type is IEEE half, in which all runs of 16 bits compute.
)";

constexpr std::string_view kReproducibility = R"(
With the same --seed and --threads on the same processor, results are the same, whatever the
number of input threads. Without --seed, a seed is drawn and recorded. Another --threads changes
the order of additions: the last digits of gradients of convolution weights change (by about 3e-8
after a step in 32.32). --thread-independent gives identical bits with any --threads, but is
slower: by 5 % of a step of ResNet-50 in 32.32 and by 38 % in 16.32 with AMX (micro-batch 8,
2 threads).

Validation and inference work through a batch in parts that fit in the processor's cache, in 32.32
only where the weights are small. Logits stay the same, in 32.32 up to rounding.
--thread-independent works through the whole batch.

3x3 convolutions of stride 1 are computed by Winograd's filtering where that is faster: with a
quarter of the multiplications, in float32, at about twice the rounding of direct sums. The choice
follows from the network, the micro-batch and the processor's instructions alone.

Where other programs take processors, fewer compute threads of a single process work until they end;
the log says so once. Results stay the same: operations that divide sums among the threads, such as
gradients of convolution weights, keep all of them. Runs with pipeline lanes or several processes
do not give way; their trainings warn and name a better --threads. The environment variable
CNNTRAIN_SHARE_PROCESSORS=off lets all threads work.

Random numbers depend on positions, not on order: dropout on the seed, the layer's name and the
number of the sample; rounding of a weight on the seed, its name and the iteration. Pipeline
stages, replicas and processes therefore do not change them.
)";

constexpr std::string_view kPipelines = R"(
  cnntrain train ... --pipeline --pipeline-splits stage1/unit3/relu --gradient-accumulation-count 8
  cnntrain plan train.py ... --stages 4     stages, memory, time, chart, and better splits

--pipeline-schedule is Grouped, Interleaved or Sequential. The results of a pipeline equal those of
gradient accumulation alone, bit for bit; only a split that leaves a single activation in a stage
rounds differently in 16 bits. --gradient-accumulation-count must be a multiple of the number of
stages (Interleaved) or of twice that number (Grouped); otherwise the error names the nearest.
--enable-recomputation keeps only the inputs of all stages except the last. pretrain defines its
stages by --pipeline-stages '[["emb","pos"],["hid","hid"],["mlm","nsp"]]'.

All stages and replicas run in one process and share its cores and memory, for any --shards.
--lanes 2 --threads 2 divides the cores into lanes that work in parallel; by default a pipeline has
one lane per stage. Stages do not make an otherwise idle machine faster, and Grouped and
Interleaved keep the activations of several micro-batches.

The results of --replicas 4 equal those of four times the accumulation with one set of weights.
With --BN-span 2, two replicas share batch-norm statistics, like one replica with twice the
micro-batch.
)";

constexpr std::string_view kProcesses = R"(
If mpirun, srun or `cnntrain poprun` starts several processes of train, pretrain, restore or
resnet_main.py, these perform each weight update together:

  mpirun -np 4 --bind-to none cnntrain train --dataset imagenet --data-dir DIR --model-size 50 \
      --micro-batch-size 16 --gradient-accumulation-count 4

Open MPI refuses to start anything for root without --allow-run-as-root after mpirun (poprun:
--allow-run-as-root yes).

Global batch   micro-batch x accumulation x replicas x processes. Together, the processes see the
               same samples as one process would.
Results        With one micro-batch per process, losses and weights equal those of one process that
               accumulates as many micro-batches, bit for bit. With several per process, the order
               of additions differs, and losses differ by about 1e-6 of their value; so do those of
               LARS and LAMB with --rts.
Gradients      Summed in buckets (--max-cross-replica-buffer-size) during the backward pass, or
               after it (--no-comm-overlap). Processes of one host add in shared memory;
               --comm-route flat sends messages instead. --comm-wire bf16 halves the bytes between
               hosts.
Norms          --BN-span S shares batch-norm statistics over S processes.
Optimiser      --rts: each process keeps and updates a part of the optimiser's state (pretrain:
               --replicated-tensor-sharding). Checkpoints are still complete.
Writing        Rank 0 writes the run folder. With --ckpt-all-instances and --log-all-instances,
               every process writes to its own folder.
Start          All processes need the same version, command, options, data and arithmetic. The error
               names each difference with its values and ranks, and all processes end with exit
               code 7. Rank 0 draws the seed, names the folder, reads checkpoints and sends them.
End            A stop signal to one process stops all after the same update; to all of them, each
               after its current micro-batch. A loss that is not
               finite, or damaged data, ends all with the same exit code and names the rank. If a
               process dies, hangs or leaves, the others end within --comm-timeout seconds with
               exit code 7, the operation, the bucket and the missing ranks.
Resuming       The same restore command, also with another number of processes that can share the
               recorded global batch; otherwise the error lists the possible numbers. Processes
               that share batch-norm statistics continue in the same number, or as replicas of one
               process (--replicas).
Checks         At each checkpoint, the weights of all processes are compared by checksum.

In validation and in `pretrain --evaluate`, processes divide the samples and count each once. Under
plain mpirun, processes of validation and inference with --generated-data or --synthetic-data
measure independently. Other commands, and inference on real data, refuse several processes.

Open MPI 4.1's mpirun sometimes crashes or hangs after a rank has died; the ranks have ended by
then. That of 5.0.7 (Debian 13) crashes on lines of several parts, `mpirun A : B`. If the link
between hosts is cut, mpirun waits for TCP's timeout; these options shorten it:
--mca oob_tcp_keepalive_time 60 --mca oob_tcp_keepalive_intvl 5 --mca oob_tcp_keepalive_probes 3
)";

constexpr std::string_view kLaunching = R"(
poprun takes the options of Graphcore's launcher and translates them to one mpirun command line,
with one rank per instance. Scripts such as train.py, also after python3, are replaced by this
program; any other program can be started too. Each rank starts as `cnntrain poprun-instance`,
which sets the variables that depend on the rank and becomes the program: cnntrain has the same
path on all hosts.

  cnntrain poprun -v --num-instances 2 --num-replicas 4 python3 train.py --data-dir DIR
  cnntrain poprun --host node[1-4] --host-subnet 10.1.2.0/24 --num-instances 8 --num-replicas 8 \
      train.py --data-dir DIR --dataset imagenet --model-size 50

Before anything starts, poprun refuses replicas that instances cannot share evenly, more than 4
instances per core, placeholders (xxx.xxx.xxx.1), variables that are not set, unknown hosts, and a
missing program (exit code 127). --dry-run prints the topology and the mpirun command line. If the
program has a --dry-run of its own (or --print-config, --help), it runs once, on this machine, as
the first instance. Options of the V-IPU server have no effect and are named in one notice.

Each process takes its share of its host's cores and prints it (instance 1 of 2: cores 8-15). A
process that its launcher has bound to cores keeps these; a container's quota is divided.
CNNTRAIN_PROCESS_PLACEMENT=disabled leaves all cores to every process.

SIGTERM, SIGINT and SIGHUP are sent to the instances on this host, which have 10 seconds to save
and end; then mpirun is asked to end, and 5 seconds later all others are killed. Open MPI 5 kills
the others at once when the first has ended; ranks of a training end together. The exit code is
143 after a stop, otherwise that of the first instance that failed. If mpirun stays five seconds
longer than its ranks, it is killed (exit code 7).

--only-output-from-instance 0 shows one instance, and the last 50 lines of standard error of any
other that fails. --export-config FILE writes the options of a command line as YAML;
--import-config FILE reads them. Other launchers work too: tools/srun_train.sh is a batch job for
Slurm, tools/mpijob_train.yaml one for Kubernetes' MPI operator. Without Open MPI, a single
instance is started directly.
)";

constexpr std::string_view kRecipe = R"(
resnet_main.py and resnet_eval.py trained ResNet-50 in batches of 24 576 on 512 CPU workers. Their
command lines run unchanged, even with the no-break spaces of the document; --dry-run and other
options of train (validation) may follow. The program first prints the command that it runs instead.

  cnntrain resnet_main.py --train_batch_size 24576 --train_steps 4680 --data_dir DIR --model_dir RUN
  cnntrain resnet_eval.py --eval_batch_size 200 --data_dir DIR --model_dir RUN

From the recipe's text   learning rate 0.1 to 4.8 in 260 updates, then linear to 0; weight decay
                         5e-5; batch-norm decay 0.95; 48 images at once per worker; no validation
From its programs        Nesterov's momentum 0.9; batch norm; images of mean 0 and deviation 1;
                         label smoothing 0; five checkpoints are kept; resnet_eval.py adds 5e-5 / 2
                         x the sum of the squared weights to the loss
Assumed                  --precision 32.32, loss scaling 1, a checkpoint after each epoch
Processes                each takes its part of the batch; their number must divide the batch. With
                         fewer workers, the micro-batch is the largest divisor of a worker's part
                         up to 48, and gradients are accumulated; --micro_batch_size saves memory
The same line again      continues from the latest checkpoint in --model_dir
resnet_eval.py           evaluates the latest checkpoint and writes to eval in --model_dir
Threads                  --num_intra_threads, at most the cores of the process.
                         --num_inter_threads, --kmp_blocktime and OMP_NUM_THREADS have no effect
Launcher                 Open MPI's form of `mpirun -np 512 -ppn 2` is `-np 512 --map-by
                         ppr:2:node`
)";

constexpr std::string_view kLimits = R"(
Refused sizes
  JSON (headers, arguments.json)   64 levels deep, 2 million values, no key twice
  YAML                             1 MB, 64 levels deep, 20 000 values with references expanded
  benchmarks.yml                   10 000 combinations of parameters; patterns in RE2's syntax,
                                   without lookaround and backreferences
  TFRecord                         2 GiB per record
  other texts                      1 GiB
  pipes, devices                   not read: store their content in a file first
  whole numbers                    a range for each option; the error for a wrong value states it

Not available
  TensorFlow's checkpoint files of its first format (V1), tensors in slices; HDF5 data sets that are
  compressed or in chunks; whole models that torch.save() or torch.jit.save() wrote
  arithmetic-coded JPEG files (damage in them cannot be detected)

IPUs
  --backend ipu runs programs of Poplar's API in one process. An emulator on the host executes them
  unless the program was built against a Poplar SDK; no IPU has run them. Its times say nothing
  about an IPU. Single operations are not timed.

Without effect on CPUs
  Options that only steer IPUs are accepted, recorded in arguments.json and named in one notice.
  Options without effect in a command or with its data are named with the reason.

Restrictions
  Images        Networks for TFRecords without labels.txt and --num-classes have 1000 outputs, and
                classification prints numbers of classes. A folder of images is classified with
                ImageNet's preprocessing. JPEG files of more than 2^28 pixels and
                other images of more than 178956970 are refused.
  Requests      Each thread of --num-inference-thread has its own copy of the weights.
  Replicas      Several processes with --BN-span have one lane each. --rts has no effect in a
                single process.
  Memory        The limit of a container (control groups of version 1 and 2) counts as the
                machine's memory. A run that needs more ends with exit code 4 before it starts.
  Busy machine  Compute threads wait for the slowest of them. A warning names --threads when other
                programs take the processors.
  Conversion    A conversion records when its source files were changed. If sources are copied or
                touched after a stop, it cannot be continued (--overwrite starts a new one).
  Data share    --dataset-percentage-to-use takes the first training records in file order;
                validation always uses all.
)";

constexpr std::string_view kDryRun = R"(
--dry-run after the options of a run (train, pretrain, validation, inference, restore) prints what
the run would do. It computes no sample and writes nothing. The data of a new run need not be there.
A run that would be refused before its first update is refused with the same error and exit code.
A resumed training needs its checkpoint and data, which are compared as the run does, with the same
errors and warnings.

  cnntrain train --dataset imagenet --data-dir DIR --model-size 50 --keep-ckpts 5 --dry-run

For a training it also estimates what the run takes: memory by compiling the network without memory
for its values, time by computing a few micro-batches of made-up samples for some seconds.

Disk      Number and size of checkpoints, and what is kept of them (--keep-ckpts, in pretrain
          --max-to-keep). The run's summary has the same line. With --no-logs, checkpoints lie under
          /tmp; the run says where.
Memory    The most memory that one process holds at a time: weights and states, activations and
          gradients, batches ahead, copies for a checkpoint, the program itself. Measured runs took
          between 0.9 and 1.1 of it.
Time      Images or sequences per second, duration of one update and of all updates, scaled from the
          micro-batches that were measured; they are smaller than the run's where these would take
          long. Nothing is measured if the run needs more memory than the machine has. Others on the
          machine slow down both the measurement and the run; a line says when they take the
          processors now. Validation, waiting for data and exchange between processes come on top.

CNNTRAIN_DRY_RUN_ESTIMATE=off in the environment leaves out memory and time.
)";

constexpr std::string_view kDifferences = R"(
Results or behaviour differ from the original programs in these points:

  Length           A run ends after exactly the requested iterations, has no step with learning
                   rate 0 before the first, and validates every image once. The originals
                   overshoot, warm up and pad. Validation leaves out images that cannot be decoded,
                   and prints their number.
  Profile          --profile measures some updates of a whole training; the originals ended after
                   one host step. `cnntrain profile` in front of a line runs only what it measures.
  Compilation      The printed time covers everything from reading the options to the first step,
                   opening data included.
  Synthetic data   Loss and accuracy are those of the random images, not 0; pretrain prints 0, as
                   its original does.
  16 bits          16 means bfloat16 on CPUs (IEEE half with --backend ipu). Partial sums are
                   float32, so every summary says Half partials: False.
  Optimisers       RMSprop's mean square starts at 1, as in TensorFlow 1. LARS applies
                   --weight-decay in addition to its own. AdamW and LAMB apply weight decay
                   separately from the gradient.
  Norms            The norms of a ResNet or ResNeXt add 1e-5 to the variance; the originals' came to
                   1.001e-5 for batch norm and 1.53e-5 for group norm (--norm-epsilon sets it).
  Replicas         --BN-span S in one process computes micro-batches of S times the size, also for
                   mixup and cutmix. Several processes keep their micro-batch size and exchange
                   statistics.
  Proxy norm       --proxy-norm omits the scale of the activations in the head and, with --no-se,
                   after the spatial convolutions, like the programs it follows. It excludes LARS.
  Accuracies       pretrain prints mlm_acc and nsp_acc as fractions followed by a %, as its
                   original does: programs parse the line. 0.50000 % means a half.
  Questions        run_squad.py saves a checkpoint under the number of updates done, predicts every
                   feature once, evaluates against --predict-file without a network, and makes the
                   features of its cache anew when a file or a setting differs. Its learning rate
                   follows the updates. Answers to questions whose context has no tokens are empty.
                   Padding takes no place among the n best first and last tokens of a feature.
                   Its log lists the variables that a checkpoint lacks, and marks none with a *.
                   run_squad_runtime.py sends --num-iter requests (1000) in each thread also from a
                   file, shows no counts of steps, and obeys --version-2-with-negative.
  GLUE             run_classifier.py starts with the pooler of the checkpoint, evaluates each text
                   once, predicts with the weights that were evaluated, and computes the results in
                   eval_results.txt over the whole set, with Matthews correlation, F1 and a table of
                   labels and predictions. Its log lines of scores have no correlations, and it
                   does not print the numbers of examples and steps at the start.
  Unicode          dataset bert splits and strips characters by the Unicode version of the library
                   utf8proc (14 in Debian 12), which FILE.conversion.jsonl records. Characters that
                   the original's Python did not know yet may become other tokens.
  Crops            Training crops that are reduced by 2 or more are first reduced in the JPEG's DCT
                   (by 2, 4 or 8), which averages pixels that the originals skip. Evaluation never
                   does this.
)";

/// Drops the newline with which each literal above begins.
std::string body(std::string_view literal) {
    return std::string(literal.substr(1));
}

/// The description of an error kind in the table of exit codes.
std::string_view meaning(ErrorKind kind) {
    constexpr std::string_view kMeanings[] = {
        "nothing to work on: no checkpoint in the folder",
        "flags, configurations, settings that contradict each other",
        "input files that are damaged, missing, unreadable, or pipes and devices",
        "a capability that this version or machine does not have; too little memory",
        "files or standard output that cannot be written: disk full, permissions, size limit",
        "a loss in training, or a number that a network computes, is not finite",
        "another process of the run died, stalled, left or has different numbers",
        "a defect of cnntrain",
    };
    return entry_of(kMeanings, kind);
}

std::string exit_code_row(int code, std::string_view text) {
    return padded("  " + std::to_string(code), 7) + std::string(text) + "\n";
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
           "\nAfter a stop, a run has saved a checkpoint, and the same command line continues a conversion.\n"
           "Other work that does not stop within 4 seconds is ended.\n";
}

}  // namespace

const std::vector<HelpTopic>& help_topics() {
    static const std::vector<HelpTopic> topics = {
        {"data-folders", "data sets, own photographs, indexes, damaged images", body(kDataFolders)},
        {"preparation", "sizes, crops and augmentation of images, weights of classes", body(kPreparation)},
        {"run-folders", "files of a run, locks, --overwrite", body(kRunFolders)},
        {"screen", "what a run prints: terminals, pipes, --quiet, --log-format json", screen_topic()},
        {"checkpoints", "files, checksums, averages, conversion, fine-tuning", body(kCheckpoints)},
        {"exports", "trained networks for ONNX, torchvision, timm and transformers", body(kExport)},
        {"weights", "starting from the weights of torchvision, timm, Keras or an earlier run", body(kWeights)},
        {"validation", "validation during training, the best weights, early end, averages", body(kValidation)},
        {"resuming", "stopping a run and resuming it exactly", body(kResuming)},
        {"pretraining", "BERT: text, phases, evaluation, Hugging Face's weights", body(kPretraining)},
        {"text-classification", "BERT that classifies or scores texts: files, GLUE, validation, limits",
         body(kTextClassification)},
        {"question-answering", "BERT that answers questions on texts: files, results, run_squad.py",
         body(kQuestionAnswering)},
        {"labels", "photos and texts with several labels: tables, losses, scores, thresholds", body(kLabels)},
        {"features", "a last layer in seconds, its cache, suspicious labels, near-duplicates", body(kFeatures)},
        {"precision", "types of weights and computation", body(kPrecision)},
        {"eight-bits", "quantise: layers in 8 bits, how they are chosen and judged", body(kEightBits)},
        {"reproducibility", "when two runs give the same results", body(kReproducibility)},
        {"pipelines", "stages, lanes, replicas in one process", body(kPipelines)},
        {"processes", "training in several processes: results, gradients, faults", body(kProcesses)},
        {"launching", "starting processes with poprun, cores, signals", body(kLaunching)},
        {"recipe", "the large-batch ResNet-50 programs", body(kRecipe)},
        {"exit-codes", "meaning of each exit code", exit_codes()},
        {"ipu", "--backend ipu, its emulator, options that only steer IPUs", body(kIpuTopic)},
        {"dry-run", "what a run would do, and what it takes of memory, disk and time", body(kDryRun)},
        {"profile", "where the time of a step goes, and what limits it", body(kProfile)},
        {"limits", "refused sizes, what is not available, restrictions", body(kLimits)},
        {"differences", "where results differ from the original programs", body(kDifferences)},
    };
    return topics;
}

}  // namespace cnntrain::cli
