All options of BERT.

  $ . "$TESTDIR/setup.sh"
  $ cnntrain pretrain --help-all
  usage: cnntrain pretrain [options]
  BERT pretraining
  
    cnntrain pretrain --config configs/pretrain_base_128_phase1.json --train-file 'DIR/*.tfrecord'
    cnntrain pretrain --config pretrain_tiny_128_lamb --generated-data --num-train-steps 4
    cnntrain pretrain --config pretrain_base_384_phase2 --train-file FILE --init-checkpoint RUN/ckpt-7031
    cnntrain pretrain --config pretrain_base_128_phase1 --evaluate --restore-dir RUN --valid-file FILE
  DIR is a data folder, RUN the folder of a run.
  
  Main:
    --help                        Print the main options; --help NAME prints the option or group NAME.
                                  (also -h)
    --config TEXT                 Named configuration whose values replace the defaults; an unknown
                                  name prints all names.
    --wandb-id TEXT               Weights & Biases run to continue, for a run started with --wandb.
    --task NAME                   Task to run. (pretraining; default pretraining)
    --save-path TEXT              Folder in which run folders are created. (default checkpoints)
    --init-checkpoint PATH        Checkpoint to start from, with weights and optimiser state; steps
                                  count from 0.
    --restore-dir PATH            Folder of the run to resume from its latest checkpoint;
                                  --init-checkpoint is then the checkpoint with which it began.
    --evaluate                    Evaluate one checkpoint (--init-checkpoint) or all checkpoints of a
                                  run (--restore-dir) on --valid-file. Options of the model and its
                                  sequences and --micro-batch-size come from the run's arguments.json
                                  unless they are given; options of training are not needed.
    --steps-per-ckpts N           Steps between checkpoints; 0: only the first and the last. (default
                                  256 steps)
    --max-to-keep N               Number of newest checkpoints to keep; 0: all. (default 5)
    --save-optimiser-to-checkpoint
                                  Save the optimiser's state in checkpoints. (changes nothing: a run
                                  cannot be resumed without it; cnntrain convert leaves it out)
    --restore-optimiser-from-checkpoint
                                  Read the optimiser's state from checkpoints. (changes nothing: the
                                  original programs never read it)
  
  This program:
    --help-all                    Print all options.
    --backend NAME                Backend: cpu, ref (plain loops in double precision, for checking) or
                                  ipu (Poplar's API on an emulator of IPUs, for checking). (cpu, ref,
                                  ipu; default cpu)
    --threads N                   Compute threads; 0: one for every core that the process may use.
                                  (default 0; steers --backend cpu only)
    --thread-independent          Bit-identical results for any --threads: sums over a batch are split
                                  by its size alone. Without it, sums in gradients of convolution
                                  weights are split by threads, and their last bits depend on
                                  --threads. (steers --backend cpu only)
    --input-threads N             Threads that prepare samples; 0: chosen automatically. (default 0)
    --no-stop-on-nan              Continue after a loss that is not finite.
    --checkpoint-dtype NAME       Element type of 16-bit variables in checkpoints. stored: their own,
                                  bfloat16. f32: float32, for programs without bfloat16. A resumed run
                                  has the same losses with both. (stored, f32; default stored)
    --trust-edited-checkpoint     Accept a checkpoint whose checksums do not match because another
                                  tool edited it; not stored for later runs.
    --accept-other-data           Go on with a run on other data than it began with: changed, missing
                                  or new files. A warning says what changes.
    --verbose                     Print the full log on a terminal, including all settings and
                                  variables.
    --quiet                       Print only results (validations, predictions, measurements),
                                  warnings and errors; log.txt has all.
    --log-format NAME             What the standard output gets: text, or json: one object a line for
                                  each event; see cnntrain help screen. (text, json; default text)
    --profile-steps N             Weight updates that --profile measures. (default 10; steers
                                  --backend cpu only)
    --dry-run                     Print the resolved run: model, data, batches, length, files, and
                                  estimates of a training's images or sequences per second, duration,
                                  memory and disk (CNNTRAIN_DRY_RUN_ESTIMATE=off: disk only); train
                                  and write nothing.
    --print-config                Print all effective values and their sources.
    --validate-every X            Epochs between validations during training (0.5: twice an epoch),
                                  instead of a validation of all checkpoints after it. Their rows also
                                  have the loss, and of tasks with classes the balanced accuracy and,
                                  with more than five classes, the top-5 accuracy;
                                  validation_classes.csv has the counts of each class. The end of the
                                  training is always validated. 0: validation follows training.
                                  (default 0 epochs)
    --validate-every-updates N    Weight updates between validations during training, instead of
                                  --validate-every. (default 0 updates)
    --keep-best NAME              Keep the best weights as RUN/ckpt-best.safetensors: by this result
                                  of validations during training. Without --validate-every, every
                                  epoch is validated. (accuracy, balanced-accuracy, top-5, loss)
    --early-stop N                End the training after so many validations without a better result;
                                  that of --keep-best counts, or else the accuracy (without
                                  accuracies: the loss). 0: never. Without --validate-every, every
                                  epoch is validated. (default 0 validations)
    --ema-decay X                 Keep an exponential moving average of all weights in float32,
                                  average = D * average + (1 - D) * weights after each update, for
                                  example 0.999. Validations during training have a row of it,
                                  --keep-best and --early-stop go by it, checkpoints hold it (--ema
                                  reads it), and the end of the training writes it as
                                  ckpt/weight_avg_ema.safetensors. 0: none. (default 0)
    --ema                         Take the moving averages of --ema-decay from a checkpoint instead of
                                  its weights.
  
  BERT:
    --vocab-size N                Rows of the table of words, V. Words beyond it have the zero vector
                                  and are not predicted.
    --hidden-size N               Width H of the model, a multiple of --num-attention-heads.
    --num-hidden-layers N         Encoder layers.
    --num-attention-heads N       Attention heads of each layer.
    --intermediate-size N         Width of the feed-forward part of each layer.
    --max-position-embeddings N   Rows of the table of positions. (default 512)
    --type-vocab-size N           Rows of the table of segments. (default 2)
    --hidden-act NAME             Activation of --use-cls-layer. The encoder's activation is gelu_erf,
                                  as in Google's and Hugging Face's checkpoints, if this is gelu_erf,
                                  otherwise gelu, its approximation by tanh. (linear, relu, gelu,
                                  tanh, gelu_erf; default gelu)
    --layer-norm-epsilon X        Added to the variances of all norms; 1e-12 in Google's and Hugging
                                  Face's checkpoints. (default 0.001)
    --hidden-dropout-prob X       Dropout rate of the embeddings and of the results of both parts of
                                  each layer. (default 0)
    --attention-probs-dropout-prob X
                                  Dropout rate of attention probabilities. (default 0)
    --initializer-range X         Standard deviation of the truncated normal initialiser. (default
                                  0.02)
    --use-qkv-bias                Biases of queries and values. A bias of keys would not change the
                                  softmax.
    --use-qkv-split               Keep the weights of queries, keys and values as three variables.
                                  Results are the same.
    --use-attention-projection-bias [true|false]
                                  Bias of the projection after the attention.
    --groupbert                   The encoder of GroupBERT, for files made without --remask: layers
                                  with a norm before each part, a grouped convolution over the tokens,
                                  and two feed-forward parts with grouped projections.
    --groupbert-ffn-output-groups N
                                  GroupBERT: groups of the feed-forward parts' projections; divides
                                  --hidden-size and --intermediate-size. (default 4)
    --groupbert-conv-kernel-size N
                                  GroupBERT: tokens that the convolution reads for each one. (default
                                  7)
    --groupbert-conv-group-size N
                                  GroupBERT: channels per group of the convolution; divides
                                  --hidden-size. (default 16)
    --use-cls-layer [true|false]  Dense layer, activation and norm between the encoder and the scores
                                  of masked words.
    --use-prediction-bias [true|false]
                                  Bias of each word in the scores of masked words.
    --disable-acc                 Do not count correct predictions; accuracies are logged as nan.
  
  Data:
    --train-file FILE ...         TFRecord files of training sequences: names or patterns (*, ?,
                                  [...]), separated by blanks or commas. $NAME is replaced by the
                                  environment variable.
    --valid-file FILE ...         TFRecord files of held-out sequences for --evaluate and
                                  --validate-every, in the same form.
    --seq-length N                Length S of the sequences. (default 128 tokens)
    --max-predictions-per-seq N   Maximum number of masked tokens in a sequence, or in a row of
                                  --packed: --mask-tokens of the files. (default 20 tokens)
    --static-mask                 Sequences begin with their masked tokens (files made with --remask).
    --packed                      Several sequences in each row of --seq-length tokens instead of
                                  padding: those of files made with --packed, or those of ordinary
                                  files, which are read and packed at the start. Each sequence sees
                                  itself alone, so losses are those of the same sequences with
                                  padding. Batches, epochs and rates count rows.
    --duplicate-factor X          Times that each document stands in the files, with different masks;
                                  an epoch is 1/N of the records. (default 5)
    --generated-data              Random sequences generated on the host.
    --synthetic-data              The same; losses and accuracies are logged as 0.
    --dataset-cache-gb X          Memory for records. (default 0 GB; changes nothing: the system keeps
                                  files that were read in free memory)
    --parallel-io-threads N       Number of files read in parallel. (default 4; changes nothing:
                                  --input-threads sets the number of threads that prepare sequences)
    --sloppy-parallel-interleave [true|false]
                                  Interleave files in any order. (changes nothing: the order depends
                                  on the seed alone)
    --dataset-repeat N            Times that the files are read. (default 1; changes nothing: the
                                  files are repeated until --num-train-steps are done)
  
  Training:
    --micro-batch-size N          Sequences per forward and backward pass of a replica. (sequences)
    --gradient-accumulation-count N
                                  Micro-batches per weight update of a replica; a multiple of twice
                                  the number of --pipeline-stages.
    --global-batch-size N         Sequences per weight update, instead of
                                  --gradient-accumulation-count; rounded up to a multiple that
                                  --pipeline-stages allow. (sequences)
    --replicas N                  Data-parallel replicas in this process, with one set of weights and
                                  one update. Results are those of --gradient-accumulation-count times
                                  the replicas. (default 1)
    --num-train-steps N           Length of the run in weight updates, rounded down to a multiple of
                                  --device-iterations. Not needed with --evaluate. (steps)
    --device-iterations N         Weight updates per host step: they share a learning rate, and
                                  nothing is logged or saved between them. (default 1 steps; also
                                  --batches-per-step)
    --epochs X                    Length of fine-tuning in epochs. (changes nothing: --num-train-steps
                                  sets the length of pretraining)
    --base-learning-rate X        Learning rate at the end of the warm-up. (default 2e-05)
    --lr-schedule NAME            Decay of the learning rate after the warm-up: polynomial_decay and
                                  cosine_decay fall to 1e-7 at the end of the run, natural_exponential
                                  drops after every --decay-steps; custom has no warm-up and takes its
                                  rates from --lr-schedule-by-step. (custom, natural_exponential,
                                  polynomial_decay, cosine_decay, polynomial, exponential; default
                                  polynomial_decay)
    --lr-power X ...              Exponent of the warm-up and of the decay, or one for each. (default
                                  1)
    --warmup X                    Steps in which the learning rate rises from 0; below 1: their share
                                  of the run. (default 0.1)
    --lr-schedule-by-step TEXT    custom: first step and learning rate of each part of the run: {"0":
                                  0.001, "100": 0.0001}.
    --decay-steps N               natural_exponential: steps between drops of the learning rate.
                                  (default 1 steps)
    --decay-rate X                natural_exponential: r of the factor exp(-r) at each drop. (default
                                  0)
    --optimizer NAME              Optimiser. adamw (also mpadamw) limits the global norm of gradients
                                  to the number of replicas. lamb's trust ratio is 1 for every gamma,
                                  beta and bias. (sgd, momentum, adamw, lamb, mpadamw; default
                                  momentum)
    --momentum X                  momentum: momentum coefficient. (default 0.984375)
    --beta1 X                     adamw, lamb: decay of the mean of gradients. (default 0.9)
    --beta2 X                     adamw, lamb: decay of the mean of squared gradients. (default 0.999)
    --epsilon X                   adamw, lamb: epsilon added to the root of the mean of squares.
                                  (default 1e-04)
    --weight-decay-rate X         adamw, lamb: weight decay of all weights except biases and the betas
                                  of norms; adamw also excludes gammas, and so does lamb with
                                  --groupbert. (default 0)
    --use-debiasing               adamw, lamb: correct the bias of means that start at 0.
    --use-nvlamb                  lamb: divide gradients by their global norm if it is above 1.
    --use-mpclip                  lamb: first limit the global norm of gradients to the number of
                                  replicas.
    --reduction-type NAME         Average (mean) or add (sum) the gradients of micro-batches and
                                  replicas. (mean, sum; default mean)
    --loss-scaling-by-step TEXT   First step and loss scaling of each part of the run, instead of
                                  --loss-scaling: {"0": 512, "1000": 1024}. Updates divide gradients
                                  by the factor.
    --increase-optimiser-precision
                                  lamb: compute the last product of the update in 32 bits. (changes
                                  nothing: updates are always computed in 32 bits)
    --use-lr-fp32                 lamb: keep the learning rate in 32 bits. (changes nothing: the
                                  learning rate always has 32 bits)
    --weight-norm-clip X          lamb: upper bound of a weight's norm. (default 0; changes nothing:
                                  the original programs never read it)
    --loss-scaling X              Factor of the loss that keeps small gradients within the range of
                                  IEEE half. bf16 and f32 do not need it; a power of two changes no
                                  weight. (default 1)
    --glue-dropout-prob X         Dropout rate of the pooled output, before the layer of classes.
                                  (default 0.1; changes nothing: pretraining has no such layer)
    --pipeline-stages TEXT        Functions of each pipeline stage: [["emb", "pos"], ["hid", "hid"],
                                  ["mlm", "nsp"]] (default: one stage). All stages run in this
                                  process, in parallel with --lanes. Results are the same.
    --device-mapping N ...        Device of each stage. Stages that share the table of words have the
                                  same device.
    --pipeline-schedule NAME      Order of forward and backward passes in the pipeline. Grouped: each
                                  stage does one of each at a time. Interleaved: each stage alternates
                                  between them, with less memory. Sequential: one micro-batch after
                                  the other. Results are the same. (Grouped, Interleaved, Sequential;
                                  default Interleaved)
    --lanes N                     Groups of cores that work in parallel, each on its own stage or
                                  micro-batch, with an equal share of --threads; 0: one per stage of a
                                  pipeline that is not Sequential, at most one per thread. Stages of
                                  BERT take unequal times, so that 1, with all cores on one stage at a
                                  time, is faster. The last bits of results depend on the threads per
                                  lane, unless --thread-independent is given. (default 1; steers
                                  --backend cpu only)
    --enable-recomputation        Keep the results of whole layers only and recompute all others in
                                  the backward pass: less memory for activations, about a third more
                                  time, the same results. (also --enable_recomputation)
    --replicated-tensor-sharding  Split the optimiser's state and its update over the processes, or
                                  over the replicas on IPUs.
    --max-cross-replica-sum-buffer-size N
                                  Size of the gradients that the processes, or the replicas on IPUs,
                                  sum in one operation. (default 10485760 bytes; steers --backend cpu
                                  or ipu only)
    --precision NAME              Bits of computation and of weights: 16 (the same as 16.32; with
                                  --backend ipu as 16.16) computes in 16 bits (see --compute-type) and
                                  updates weights in 32 bits. 32 (32.32): everything in 32 bits.
                                  16.16: 16-bit weights, too, with --stochastic-rounding. (16, 32,
                                  16.16, 16.32, 32.32; default 16)
    --compute-type NAME           Type of computation of --precision 16. auto: the fastest on this
                                  processor (bf16 with AMX and on AMD processors with AVX512-BF16,
                                  otherwise f32). (auto, bf16, f32; default auto; steers --backend cpu
                                  only)
    --stochastic-rounding [true|false]
                                  Stochastic rounding of 16-bit weights. (steers --backend cpu or ipu
                                  only)
    --no-comm-overlap             Sum gradients over the processes after the backward pass instead of
                                  during it. Results do not depend on it. (steers --backend cpu only)
    --comm-wire NAME              Type in which gradients are sent between hosts (with --comm-route
                                  flat: between processes). bf16 halves the bytes; sums stay in f32.
                                  (f32, bf16; default f32)
    --comm-route NAME             hierarchical: the processes of a host add gradients in shared
                                  memory, and one of them exchanges sums with other hosts. flat: each
                                  process exchanges with all others. (flat, hierarchical; default
                                  hierarchical)
    --comm-timeout X              Longest wait for another process; after that, the run ends with an
                                  error that names it. (default TIME seconds)
  
  Device:
    --seed N                      Makes the run reproducible: the same command line gives the same
                                  results on the same processor, with any number of input threads.
                                  Another --threads may change the last digits, unless
                                  --thread-independent is given.
    --dataset-benchmark           Measure the input pipeline only.
    --compile-only                Build the executable and stop.
    --prefetch-depth N            Micro-batches prepared ahead; with --backend ipu also those in the
                                  buffers of streams to the IPUs.
    --execution-profile           Measure --profile-steps weight updates and write where their time
                                  goes to the run folder; without --train-file, on generated data.
                                  (also --profile; steers --backend cpu only)
  
  Logging:
    --logs-path TEXT              Path of the run folder.
    --overwrite                   Remove the run in --logs-path, except for files that a user has
                                  named, and start a new one there; inference: replace a file of
                                  predictions.
    --no-logs                     Create no run folder; checkpoints are written under /tmp.
    --no-tensorboard              Write no TensorBoard event files to the run folder.
    --wandb                       Log to Weights & Biases through the installed wandb client (pip
                                  install wandb).
    --steps-per-logs N            Steps between log lines; 0: only the first line. (default 1 steps)
    --steps-per-tensorboard N     Steps between histograms of all variables in the event file, with
                                  norms as L2/<name>. From the second on, a checkpoint is written,
                                  too. 0 or less: none. (default 0 steps)
    --wandb-name TEXT             Name of the run at Weights & Biases. (changes nothing: the name is
                                  that of the run's folder)
    --wandb-project TEXT          Weights & Biases project. (default tf-bert)
    --log-all-workers             Every process writes logs, to its own run folder.
    --log-dir TEXT                Folder of logs. (default ./logs/; changes nothing: logs are in the
                                  run's folder, below --save-path)
    --name TEXT                   Name of the run. (changes nothing: the run's folder is named by
                                  task, optimiser and time)
    --name-suffix TEXT            Suffix of the run's name. (changes nothing: the run's folder is
                                  named by task, optimiser and time)
  
  IPU:
    --matmul-serialize-factor N   Slices of the products with the table of words that predict words,
                                  one after the other; must divide --vocab-size. (default 1; steers
                                  IPUs only)
    --min-remote-tensor-size N    Smallest state of an optimiser that is stored off the chip. (default
                                  128 bytes; steers IPUs only)
    --select-ipu TEXT ...         Device to run on: AUTO, its number in Poplar's list, or two of these
                                  for training and validation. (default AUTO; also --select-ipus;
                                  steers IPUs only)
    --fp-exceptions               Stop at invalid operations, divisions by zero and overflows. (steers
                                  IPUs only)
    --variable-offloading [true|false]
                                  Keep the optimiser's state off the chip. (steers IPUs only)
    --partials-type NAME          Type in which matrix products of halves are accumulated. (half,
                                  float; default half; steers IPUs only)
    --max-reduce-scatter-buffer-size N
                                  Buffer that merges reduce-scatters. (default 0 bytes; steers IPUs
                                  only)
    --scheduler NAME              Order of operations in the compiled program. (CHOOSE_BEST,
                                  CLUSTERING, POST_ORDER, LOOK_AHEAD, SHORTEST_PATH; default
                                  CLUSTERING; steers IPUs only)
    --recomputation-mode NAME     Order of recomputation and backward pass. (Auto,
                                  RecomputeThenBackpropagate, RecomputeAndBackpropagateInterleaved;
                                  default RecomputeAndBackpropagateInterleaved; steers IPUs only)
    --no-outlining [true|false]   Do not share code between equal parts of the program. (steers IPUs
                                  only)
    --ipu-replica-identical-seed [true|false]
                                  All replicas round stochastically with the same random numbers.
                                  (steers IPUs only)
    --sync-replicas-independently
                                  Synchronise replicas as late as possible. (steers IPUs only)
    --memory-profile              Write a profile of the memory. (steers IPUs only)
    --profile-dir TEXT            Folder of profiles. (default ./; steers IPUs only)
    --progress-bar NAME           Progress of the compilation. (auto, true, false; default auto;
                                  steers IPUs only)
    --available-memory-proportion X ...
                                  Share of each tile's memory for temporary data of matrix products:
                                  one value, or one per device. (default 0.23; steers IPUs only)
  
  Long options may be shortened while they stay unambiguous; every boolean has a --no- form.
  $ cnntrain train --task text-classification --help-all
  usage: cnntrain train [options]
  train a network
  
    cnntrain train --task text-classification --data-dir FILE.tsv --init-checkpoint RUN/ckpt-7031 --vocab-file vocab.txt
    cnntrain train --task text-classification --data-dir FILE.tsv --init-checkpoint FOLDER/model.safetensors
  DIR is a data folder, RUN the folder of a run.
  
  Main:
    --config TEXT                 Named configuration whose values replace the defaults; an unknown
                                  name prints all names.
    --restore-path PATH           Run folder to resume (train, restore); checkpoint file or folder to
                                  evaluate (validation). (also --restore-dir)
    --help                        Print the main options; --help NAME prints the option or group NAME.
                                  (also -h)
    --wandb-id TEXT               Weights & Biases run to continue, for a run started with --wandb.
  
  This program:
    --help-all                    Print all options.
    --task NAME                   Task to run. --task NAME --help lists the options of another task.
                                  (image-classification, pretraining, text-classification,
                                  question-answering; default text-classification)
    --backend NAME                Backend: cpu, ref (plain loops in double precision, for checking) or
                                  ipu (Poplar's API on an emulator of IPUs, for checking). (cpu, ref,
                                  ipu; default cpu)
    --threads N                   Compute threads; 0: one for every core that the process may use.
                                  (default 0; steers --backend cpu only)
    --thread-independent          Bit-identical results for any --threads: sums over a batch are split
                                  by its size alone. Without it, sums in gradients of convolution
                                  weights are split by threads, and their last bits depend on
                                  --threads. (steers --backend cpu only)
    --input-threads N             Threads that prepare samples; 0: chosen automatically. (default 0)
    --no-stop-on-nan              Continue after a loss that is not finite.
    --keep-ckpts N                Number of newest checkpoints to keep; 0: all. (default 0; also
                                  --max-to-keep)
    --checkpoint-dtype NAME       Element type of 16-bit variables in checkpoints. stored: their own,
                                  bfloat16. f32: float32, for programs without bfloat16. A resumed run
                                  has the same losses with both. (stored, f32; default stored)
    --trust-edited-checkpoint     Accept a checkpoint whose checksums do not match because another
                                  tool edited it; not stored for later runs.
    --accept-other-data           Go on with a run on other data than it began with: changed, missing
                                  or new files. A warning says what changes.
    --freeze TEXT ...             Regular expressions (RE2) of variables that are not trained. Batch
                                  norms whose moving averages match use these and keep them. (default
                                  none)
    --layer-decay X               Factor of the learning rate from each layer to the one before it:
                                  0.9 trains the first layers, which fit every task, more slowly than
                                  the last. (default 1)
    --init-strict                 Refuse initial weights that do not fit the network, instead of
                                  drawing its last layer anew.
    --verbose                     Print the full log on a terminal, including all settings and
                                  variables.
    --quiet                       Print only results (validations, predictions, measurements),
                                  warnings and errors; log.txt has all.
    --log-format NAME             What the standard output gets: text, or json: one object a line for
                                  each event; see cnntrain help screen. (text, json; default text)
    --profile-steps N             Weight updates that --profile measures. (default 10; steers
                                  --backend cpu only)
    --dry-run                     Print the resolved run: model, data, batches, length, files, and
                                  estimates of a training's images or sequences per second, duration,
                                  memory and disk (CNNTRAIN_DRY_RUN_ESTIMATE=off: disk only); train
                                  and write nothing.
    --print-config                Print all effective values and their sources.
    --validate-every X            Epochs between validations during training (0.5: twice an epoch),
                                  instead of a validation of all checkpoints after it. Their rows also
                                  have the loss, and of tasks with classes the balanced accuracy and,
                                  with more than five classes, the top-5 accuracy;
                                  validation_classes.csv has the counts of each class. The end of the
                                  training is always validated. 0: validation follows training.
                                  (default 0 epochs)
    --validate-every-updates N    Weight updates between validations during training, instead of
                                  --validate-every. (default 0 updates)
    --keep-best NAME              Keep the best weights as RUN/ckpt-best.safetensors: by this result
                                  of validations during training. Without --validate-every, every
                                  epoch is validated. (accuracy, balanced-accuracy, top-5, loss)
    --early-stop N                End the training after so many validations without a better result;
                                  that of --keep-best counts, or else the accuracy (without
                                  accuracies: the loss). 0: never. Without --validate-every, every
                                  epoch is validated. (default 0 validations)
    --ema-decay X                 Keep an exponential moving average of all weights in float32,
                                  average = D * average + (1 - D) * weights after each update, for
                                  example 0.999. Validations during training have a row of it,
                                  --keep-best and --early-stop go by it, checkpoints hold it (--ema
                                  reads it), and the end of the training writes it as
                                  ckpt/weight_avg_ema.safetensors. 0: none. (default 0)
  
  BERT:
    --vocab-size N                Rows of the table of words, V. Words beyond it have the zero vector
                                  and are not predicted.
    --hidden-size N               Width H of the model, a multiple of --num-attention-heads.
    --num-hidden-layers N         Encoder layers.
    --num-attention-heads N       Attention heads of each layer.
    --intermediate-size N         Width of the feed-forward part of each layer.
    --max-position-embeddings N   Rows of the table of positions. (default 512)
    --type-vocab-size N           Rows of the table of segments. (default 2)
    --hidden-act NAME             Activation of the encoder: gelu_erf, as in Google's and Hugging
                                  Face's checkpoints, or gelu, its approximation by tanh. (gelu,
                                  gelu_erf; default gelu_erf)
    --layer-norm-epsilon X        Added to the variances of all norms; 1e-12 in Google's and Hugging
                                  Face's checkpoints. (default 1e-12)
    --hidden-dropout-prob X       Dropout rate of the embeddings and of the results of both parts of
                                  each layer. (default 0)
    --attention-probs-dropout-prob X
                                  Dropout rate of attention probabilities. (default 0)
    --initializer-range X         Standard deviation of the truncated normal initialiser. (default
                                  0.02)
    --use-qkv-bias                Biases of queries and values. A bias of keys would not change the
                                  softmax.
    --use-qkv-split               Keep the weights of queries, keys and values as three variables.
                                  Results are the same.
    --use-attention-projection-bias [true|false]
                                  Bias of the projection after the attention.
    --groupbert                   The encoder of GroupBERT, for files made without --remask: layers
                                  with a norm before each part, a grouped convolution over the tokens,
                                  and two feed-forward parts with grouped projections.
    --groupbert-ffn-output-groups N
                                  GroupBERT: groups of the feed-forward parts' projections; divides
                                  --hidden-size and --intermediate-size. (default 4)
    --groupbert-conv-kernel-size N
                                  GroupBERT: tokens that the convolution reads for each one. (default
                                  7)
    --groupbert-conv-group-size N
                                  GroupBERT: channels per group of the convolution; divides
                                  --hidden-size. (default 16)
  
  Texts:
    --data-dir PATH               TSV or CSV file with one or two texts and a label in each row; a
                                  header line names the columns. Inference needs no labels. See
                                  cnntrain help text-classification.
    --validation-file PATH        File of the same format that is used for validation; without it,
                                  --validation-fraction is.
    --validation-fraction X       Share of each class in --data-dir that is held out for validation,
                                  the same in every run; without --validation-file. (default 0.1)
    --labels NAME                 Labels of a text: single (one of several classes), score (a number)
                                  or several (any of the classes, also none). (single, score, several;
                                  default single)
    --label-separator TEXT        Character between the labels in a cell of a table. (default |)
    --task-name NAME              Task of GLUE whose files are in the folder --data-dir: its train.tsv
                                  to train, its dev.tsv to validate, its test.tsv for inference.
                                  (cola, sst2, mrpc, stsb, qqp, mnli, mnli-mm, ax, qnli, rte, wnli)
    --generated-data              Made-up pairs of texts instead of files. (also --synthetic-data)
    --text-column TEXT            Name of the column of texts in the header line (default: the usual
                                  names).
    --pair-column TEXT            Name of the column of second texts; samples are then pairs.
    --label-column TEXT           Name of the column of labels.
    --seq-length N                Length S of the sequences; longer texts lose their last tokens.
                                  (default 128 tokens)
    --packed [true|false]         Several texts in each row of S tokens instead of padding (default:
                                  on in validation and inference, off in training). Each text sees
                                  itself alone; batches of a training then count rows, fewer by
                                  default.
    --vocab-file PATH             Vocabulary of the WordPiece tokeniser: one word piece per line, or a
                                  tokenizer.json (default: the vocab.txt or tokenizer.json next to
                                  --init-checkpoint).
    --do-lower-case [true|false]  Convert texts to lower case and strip accents, as uncased
                                  vocabularies need (default: on, unless a tokenizer.json or
                                  tokenizer_config.json next to the vocabulary says otherwise).
    --split-special-tokens [true|false]
                                  Divide [SEP], [MASK] and the like that stand in texts, as the
                                  original programs do; --no- keeps each as one token, as transformers
                                  does (default: --no- where a config.json, tokenizer.json or
                                  tokenizer_config.json lies next to the vocabulary).
  
  Training:
    --micro-batch-size N          Samples per forward and backward pass of a replica; a training
                                  without it takes 8 to 32, by the number of its samples. (default 32
                                  samples; also --batch-size)
    --gradient-accumulation-count N
                                  Micro-batches per weight update. (default 1; also
                                  --gradients-to-accumulate, --pipeline-depth)
    --epochs X                    Length of the run; without it and --iterations, 3 to 50, by the
                                  number of samples and by whether weights are pretrained. (epochs;
                                  also --epoch)
    --iterations N                Length of the run in weight updates, instead of --epochs; inference:
                                  number of batches to measure. (iterations; also --num-train-steps,
                                  --num-iter)
    --init-checkpoint PATH        Checkpoint to start from: of pretraining, of an earlier run of this
                                  task, or in Hugging Face's layout. Sizes come from arguments.json or
                                  config.json in its folder; a head that the checkpoint lacks, or has
                                  for other classes, is drawn anew. (also --init-path)
    --variable-filter TEXT ...    Train only variables whose names contain one of these. (default
                                  none)
    --glue-dropout-prob X         Dropout rate of the pooled output, before the layer of classes.
                                  (default 0.1)
    --class-weights TEXT          Weights of the classes in the training loss: balanced (by the number
                                  of training samples), numbers w0,w1,..., or a file with a weight or
                                  CLASS,WEIGHT a line. With --labels several, of samples that have the
                                  label; balanced: samples without it / samples with it. (default
                                  none)
    --focal-gamma X               With --labels several: exponent of the focal loss, in which a label
                                  of probability p counts (1 - p)^G times, such as 2; 0: cross
                                  entropy. (default 0)
    --teacher PATH                Run or file of weights of a network with the same classes, usually a
                                  larger one, whose answers the training learns, too.
    --distill X ...               A,T: the loss is 1 - A times the usual one and A times T^2 times the
                                  divergence of the network's probabilities from the teacher's, both
                                  at temperature T; without it, 0.5,4.
    --ckpts-per-epoch N           Checkpoints per epoch; 0: none, so no validation either. (default 1)
    --epochs-per-ckpt N           Epochs between checkpoints, instead of --ckpts-per-epoch. (default 0
                                  epochs)
    --ckpt-epochs-offset N        Epoch from which checkpoints are counted. (default 0 epochs)
    --ckpt-all-instances [true|false]
                                  Every process writes checkpoints, to its own run folder.
    --no-validation               Do not validate after training.
    --weight-avg-N N ...          Average the weights of the checkpoints of the last N epochs, for
                                  each N.
    --weight-avg-exp X ...        Exponential averages of the checkpoints with these decays.
    --replicas N                  Data-parallel replicas in this process, with one set of weights and
                                  one update. Results are those of --gradient-accumulation-count times
                                  the replicas. (default 1)
    --max-cross-replica-buffer-size N
                                  Size of the gradient buckets that processes, or replicas on IPUs,
                                  sum in one operation. Processes send buckets while the backward pass
                                  continues. (default 10485760 bytes; also
                                  --max-cross-replica-sum-buffer-size; steers --backend cpu or ipu
                                  only)
    --no-comm-overlap             Sum gradients over the processes after the backward pass instead of
                                  during it. Results do not depend on it. (steers --backend cpu only)
    --comm-wire NAME              Type in which gradients are sent between hosts (with --comm-route
                                  flat: between processes). bf16 halves the bytes; sums stay in f32.
                                  (f32, bf16; default f32)
    --comm-route NAME             hierarchical: the processes of a host add gradients in shared
                                  memory, and one of them exchanges sums with other hosts. flat: each
                                  process exchanges with all others. (flat, hierarchical; default
                                  hierarchical)
    --comm-timeout X              Longest wait for another process; after that, the run ends with an
                                  error that names it. (default TIME seconds)
    --pipeline                    Split the network into stages, which process the micro-batches of a
                                  weight update in turn (--pipeline-schedule) or in parallel
                                  (--lanes). Results are those of --gradient-accumulation-count alone.
    --pipeline-splits TEXT ...    Names of the first functions of stages 1, 2, ... (hid6), which
                                  follow stage 0; required with --pipeline. Functions: emb0, pos0,
                                  hid0, hid1, ..., glu0. (also --pipeline-split)
    --pipeline-schedule NAME      Order of forward and backward passes in a pipeline of K stages.
                                  Grouped: each stage does one of each at a time;
                                  --gradient-accumulation-count must be a multiple of 2K. Interleaved:
                                  each stage alternates between them, with less memory; a multiple of
                                  K. Sequential: one micro-batch after the other, with the least
                                  memory; any number. Results are the same. (Grouped, Interleaved,
                                  Sequential; default Grouped)
    --lanes N                     Groups of cores that work in parallel, each on its own stage or
                                  micro-batch, with an equal share of --threads; 0: one per stage of a
                                  pipeline that is not Sequential, at most one per thread; otherwise
                                  1. Each further pipeline needs additional memory. The last bits of
                                  results depend on the threads per lane, as on --threads, unless
                                  --thread-independent is given. (default 0; steers --backend cpu
                                  only)
    --shards N                    Devices per replica, one pipeline stage each: the number of
                                  --pipeline-splits plus one. 1: any number of stages. All devices are
                                  in this process, and results are the same; see --lanes. (default 1)
    --syncs-per-epoch N           Broadcasts of the weights per epoch, under poprun. (default 0)
    --epochs-per-sync X           Epochs between broadcasts of the weights, under poprun. (default 0
                                  epochs)
    --rts                         Split the optimiser's state and its update over the processes, or
                                  over the replicas on IPUs. (also --replicated-tensor-sharding)
  
  Last layer from features:
    --head-only                   Evaluate the network up to its last layer once for each sample,
                                  solve the last layer by regularised logistic regression, save ckpt-0
                                  and stop. See cnntrain help features.
    --head-first                  Solve the last layer as --head-only does, before training the
                                  network.
    --head-strength X             Strength s of the L2 regularisation: the mean loss plus s / 2 times
                                  the squared weights on standardised features is least; without it,
                                  chosen by the loss of held-out samples.
    --feature-cache PATH          File that keeps the features for later runs (default: features.cache
                                  in the run's folder).
  
  Optimiser and learning rate:
    --base-learning-rate X        Learning rate at the end of the warm-up; a training without it takes
                                  1e-4 for pretrained and 5e-4 for random weights, less for models
                                  wider than 384. (default 2e-05)
    --lr-schedule NAME            Decay of the learning rate after the warm-up: polynomial_decay and
                                  cosine_decay fall to 1e-7 at the end of the run, natural_exponential
                                  drops after every --decay-steps; custom has no warm-up and takes its
                                  rates from --lr-schedule-by-step. (custom, natural_exponential,
                                  polynomial_decay, cosine_decay, polynomial, exponential; default
                                  polynomial_decay)
    --lr-power X ...              Exponent of the warm-up and of the decay, or one for each. (default
                                  1)
    --warmup X                    Steps in which the learning rate rises from 0; below 1: their share
                                  of the run. (default 0.1)
    --lr-schedule-by-step TEXT    custom: first step and learning rate of each part of the run: {"0":
                                  0.001, "100": 0.0001}.
    --decay-steps N               natural_exponential: steps between drops of the learning rate.
                                  (default 1 steps)
    --decay-rate X                natural_exponential: r of the factor exp(-r) at each drop. (default
                                  0)
    --optimizer NAME              Optimiser: sgd, momentum, adamw (also mpadamw) or lamb. adamw limits
                                  the global norm of gradients to the number of replicas. lamb's trust
                                  ratio is 1 for every gamma, beta and bias. (sgd, momentum, adamw,
                                  lamb, mpadamw; default adamw)
    --momentum X                  momentum: momentum coefficient. (default 0.9)
    --beta1 X                     adamw, lamb: decay of the mean of gradients. (default 0.9)
    --beta2 X                     adamw, lamb: decay of the mean of squared gradients. (default 0.999)
    --epsilon X                   adamw, lamb: epsilon added to the root of the mean of squares.
                                  (default 1e-06)
    --weight-decay-rate X         adamw, lamb: weight decay of all weights except biases and the betas
                                  of norms; adamw also excludes gammas, and so does lamb with
                                  --groupbert. (default 0.01)
    --no-use-debiasing            adamw, lamb: do not correct the bias of means that start at 0.
    --use-nvlamb                  lamb: divide gradients by their global norm if it is above 1.
    --use-mpclip                  lamb: first limit the global norm of gradients to the number of
                                  replicas.
  
  Device:
    --precision NAME              Bits of computation and of weights: 16 (the same as 16.32; with
                                  --backend ipu as 16.16) computes in 16 bits (see --compute-type) and
                                  updates weights in 32 bits. 32 (32.32): everything in 32 bits.
                                  16.16: 16-bit weights, too, with --stochastic-rounding. (16, 32,
                                  16.16, 16.32, 32.32; default 16)
    --compute-type NAME           Type of computation of --precision 16. auto: the fastest on this
                                  processor (bf16 with AMX and on AMD processors with AVX512-BF16,
                                  otherwise f32). (auto, bf16, f32; default auto; steers --backend cpu
                                  only)
    --stochastic-rounding [true|false]
                                  Stochastic rounding of 16-bit weights. (steers --backend cpu or ipu
                                  only)
    --loss-scaling X              Factor on the loss that prevents underflow of 16-bit gradients.
                                  (default 1)
    --enable-recomputation        Keep few activations and recompute the others in the backward pass:
                                  less memory, the same results. (also --enable-recompute,
                                  --xla-recompute)
    --seed N                      Makes the run reproducible: the same command line gives the same
                                  results on the same processor, with any number of input threads.
                                  Another --threads may change the last digits, unless
                                  --thread-independent is given.
    --device-iterations N         Weight updates per host step: they share a learning rate, and
                                  nothing is logged or saved between them. (default 1 iterations; also
                                  --batches-per-step)
    --dataset-benchmark           Measure the input pipeline only.
    --compile-only                Build the executable and stop.
    --prefetch-depth N            Micro-batches prepared ahead; with --backend ipu also those in the
                                  buffers of streams to the IPUs.
    --latency                     Measure latencies in validation: the time from when a batch is ready
                                  on the host to its result. It includes waiting in the queue, whose
                                  length is 1 unless --prefetch-depth is given.
    --analyse-nans                Count the NaNs of every checkpoint, for Weights & Biases and
                                  TensorBoard.
  
  Logging:
    --log-dir TEXT                Folder in which run folders are created; evaluations have one if
                                  this or --logs-path is given. (default ./logs/; also --save-path)
    --logs-path TEXT              Path of the run folder.
    --overwrite                   Remove the run in --logs-path, except for files that a user has
                                  named, and start a new one there; inference: replace a file of
                                  predictions.
    --name-suffix TEXT            Added to the run's name after an underscore.
    --logs-per-epoch N            Log lines per epoch, if the length is given in epochs. (default 16)
    --log-freq N                  Iterations between log lines, if the length is given in iterations.
                                  (default 500 iterations)
    --no-logs                     Create no run folder; checkpoints are written under /tmp.
    --log-all-instances [true|false]
                                  Every process writes logs, to its own run folder. (also
                                  --log-all-workers)
    --no-tensorboard              Write no TensorBoard event files to the run folder.
    --wandb                       Log to Weights & Biases through the installed wandb client (pip
                                  install wandb).
    --wandb-project TEXT          Weights & Biases project. (default text-classification)
    --profile                     Measure --profile-steps weight updates of the training and write
                                  where their time goes to the run folder. `cnntrain profile` measures
                                  any line without a run. (also --execution-profile; steers --backend
                                  cpu only)
  
  Original programs:
    --phases                      Run the phases that the line names and no others, as the original
                                  programs do.
    --do-training [true|false]    Train; of several phases the first.
    --do-evaluation [true|false]  Evaluate the trained weights, or without --do-training those of
                                  --init-checkpoint.
    --do-predict [true|false]     Predict with the same weights.
    --output-dir PATH             Folder of the results of these phases (default: that of the
                                  weights). (default none)
    --steps-per-logs N            Updates between log lines, instead of --logs-per-epoch and
                                  --log-freq; 0: only the first line.
    --steps-per-ckpts N           Updates between checkpoints, instead of --ckpts-per-epoch; 0: only
                                  the last one.
    --embedded-runtime [true|false]
                                  An option of the original programs. (changes nothing: requests
                                  always run that way)
    --dump-raw-timings [true|false]
                                  An option of the original programs. (changes nothing: the original
                                  program never read it)
    --steps-per-tensorboard N     An option of the original programs. (default 0; changes nothing:
                                  there are no histograms)
    --parallel-io-threads N       An option of the original programs. (default 4; changes nothing:
                                  --input-threads sets their number)
    --verbose-logging [true|false]
                                  An option of the original programs. (changes nothing: there are no
                                  further messages)
    --wandb-name TEXT             An option of the original programs. (changes nothing: the name is
                                  that of the run's folder)
    --save-optimiser-to-checkpoint [true|false]
                                  An option of the original programs. (changes nothing: a run cannot
                                  be resumed without)
    --restore-optimiser-from-checkpoint [true|false]
                                  An option of the original programs. (changes nothing: the original
                                  programs never read it)
    --max-predictions-per-seq N   An option of the original programs. (default 20; changes nothing:
                                  only pretraining reads it)
    --duplicate-factor X          An option of the original programs. (default 5; changes nothing:
                                  only pretraining reads it)
    --static-mask [true|false]    An option of the original programs. (changes nothing: only
                                  pretraining reads it)
    --use-cls-layer [true|false]  An option of the original programs. (changes nothing: only
                                  pretraining reads it)
    --use-prediction-bias [true|false]
                                  An option of the original programs. (changes nothing: only
                                  pretraining reads it)
    --disable-acc [true|false]    An option of the original programs. (changes nothing: only
                                  pretraining reads it)
    --fp-exceptions [true|false]  An option of the original programs. (changes nothing: --stop-on-nan
                                  ends a run that diverges)
    --buffer-size N               An option of the original programs. (default 10000; changes nothing:
                                  all texts are shuffled)
    --predict-file TEXT           An option of the original programs. (changes nothing: the original
                                  program never read it)
    --tfrecord-dir TEXT           An option of the original programs. (changes nothing: the original
                                  program never read it)
    --doc-stride N                An option of the original programs. (default 128; changes nothing:
                                  the original program never read it)
    --max-query-length N          An option of the original programs. (default 64; changes nothing:
                                  the original program never read it)
    --n-best-size N               An option of the original programs. (default 20; changes nothing:
                                  the original program never read it)
    --max-answer-length N         An option of the original programs. (default 30; changes nothing:
                                  the original program never read it)
    --null-score-diff-threshold X
                                  An option of the original programs. (default 0; changes nothing: the
                                  original program never read it)
    --version-2-with-negative [true|false]
                                  An option of the original programs. (changes nothing: the original
                                  program never read it)
    --reduction-type NAME         Average (mean) or add (sum) the gradients of micro-batches and
                                  replicas. (mean, sum; default mean)
    --loss-scaling-by-step TEXT   First step and loss scaling of each part of the run, instead of
                                  --loss-scaling: {"0": 512, "1000": 1024}. Updates divide gradients
                                  by the factor.
    --increase-optimiser-precision
                                  lamb: compute the last product of the update in 32 bits. (changes
                                  nothing: updates are always computed in 32 bits)
    --use-lr-fp32                 lamb: keep the learning rate in 32 bits. (changes nothing: the
                                  learning rate always has 32 bits)
    --weight-norm-clip X          lamb: upper bound of a weight's norm. (default 0; changes nothing:
                                  the original programs never read it)
    --pipeline-stages TEXT        Functions of each pipeline stage: [["emb", "pos"], ["hid", "hid"],
                                  ["mlm", "nsp"]] (default: one stage). All stages run in this
                                  process, in parallel with --lanes. Results are the same.
    --device-mapping N ...        Device of each stage. Stages that share the table of words have the
                                  same device.
  
  IPU:
    --matmul-serialize-factor N   Slices of the products with the table of words that predict words,
                                  one after the other; must divide --vocab-size. (default 1; steers
                                  IPUs only)
    --min-remote-tensor-size N    Smallest state of an optimiser that is stored off the chip. (default
                                  128 bytes; steers IPUs only)
    --available-memory-proportion X ...
                                  Share of each tile's memory for temporary data of convolutions and
                                  matrix products: one value, or two per pipeline device, of its
                                  forward and of its backward pass. (steers IPUs only)
    --variable-offloading [true|false]
                                  Keep the optimiser's state off the chip. (steers IPUs only)
    --partials-type NAME          Type in which matrix products of halves are accumulated. (half,
                                  float; default half; steers IPUs only)
    --max-reduce-scatter-buffer-size N
                                  Buffer that merges reduce-scatters. (default 0 bytes; steers IPUs
                                  only)
    --scheduler NAME              Order of operations in the compiled program. (CHOOSE_BEST,
                                  CLUSTERING, POST_ORDER, LOOK_AHEAD, SHORTEST_PATH; default
                                  CLUSTERING; steers IPUs only)
    --recomputation-mode NAME     Order of recomputation and backward pass. (Auto,
                                  RecomputeThenBackpropagate, RecomputeAndBackpropagateInterleaved;
                                  default RecomputeAndBackpropagateInterleaved; steers IPUs only)
    --no-outlining [true|false]   Do not share code between equal parts of the program. (steers IPUs
                                  only)
    --ipu-replica-identical-seed [true|false]
                                  All replicas round stochastically with the same random numbers.
                                  (steers IPUs only)
    --sync-replicas-independently
                                  Synchronise replicas as late as possible. (steers IPUs only)
    --memory-profile              Write a profile of the memory. (steers IPUs only)
    --profile-dir TEXT            Folder of profiles. (default ./; steers IPUs only)
    --progress-bar NAME           Progress of the compilation. (auto, true, false; default auto;
                                  steers IPUs only)
  
  Long options may be shortened while they stay unambiguous; every boolean has a --no- form.
