What each command's short help prints.

  $ . "$TESTDIR/setup.sh"
  $ cnntrain
  usage: cnntrain <command> [options]
  Trains and measures convolutional networks and BERT on CPUs.
  
  Commands:
    demo           a first use: make photos, train on them, write a page and an ONNX file
    train          train a network (also train.py, run_squad.py, run_classifier.py)
    validation     evaluate one or all checkpoints, or measure inference throughput (also validation.py)
    restore        resume a run from its folder (also restore.py)
    inference      measure latency and throughput, or answer samples (also inference_embedded.py, run_squad_runtime.py)
    pretrain       BERT pretraining (also run_pretraining.py)
    average        average checkpoints (also weight_avg.py)
    analyse        find NaNs in checkpoints (also analyse_checkpoints.py)
    dataset        write and inspect data sets (also imagenet_to_gcs.py, create_pretraining_data.py)
    benchmark      run the entries of a benchmarks.yml (also examples_utils)
    poprun         launch over MPI
    convert        import and export checkpoints (also convert_ckpt.py)
    quantise       compute a network in 8 bits
    weights        list and fetch published weights
    report         a page about a run: did it learn, how fast, what does it confuse, what ran
    profile        where a step's time goes
    plan           stages, times and memory of a pipelined training, and better splits
    help           topics, manual pages, completion of lines in shells
    resnet_main.py the large-batch ResNet-50 recipe for CPUs: its training
    resnet_eval.py the large-batch ResNet-50 recipe for CPUs: top-1 and top-5 accuracy
  
    cnntrain demo
    cnntrain train --data-dir PHOTOS --model-size 18 --logs-path RUN
    cnntrain validation --restore-path RUN
    cnntrain inference RUN OTHERS/*.jpg
  
  cnntrain <command> --help lists a command's main options, --help-all all of them.
  cnntrain help TOPIC explains: data-folders, preparation, run-folders, screen, checkpoints, exports,
  weights, validation, resuming, pretraining, text-classification, question-answering, labels,
  features, precision, eight-bits, reproducibility, pipelines, processes, launching, recipe,
  exit-codes, ipu, dry-run, profile, limits, differences.
  cnntrain --version --verbose describes this machine and its fastest arithmetic.
  $ cnntrain --help
  usage: cnntrain <command> [options]
  Trains and measures convolutional networks and BERT on CPUs.
  
  Commands:
    demo           a first use: make photos, train on them, write a page and an ONNX file
    train          train a network (also train.py, run_squad.py, run_classifier.py)
    validation     evaluate one or all checkpoints, or measure inference throughput (also validation.py)
    restore        resume a run from its folder (also restore.py)
    inference      measure latency and throughput, or answer samples (also inference_embedded.py, run_squad_runtime.py)
    pretrain       BERT pretraining (also run_pretraining.py)
    average        average checkpoints (also weight_avg.py)
    analyse        find NaNs in checkpoints (also analyse_checkpoints.py)
    dataset        write and inspect data sets (also imagenet_to_gcs.py, create_pretraining_data.py)
    benchmark      run the entries of a benchmarks.yml (also examples_utils)
    poprun         launch over MPI
    convert        import and export checkpoints (also convert_ckpt.py)
    quantise       compute a network in 8 bits
    weights        list and fetch published weights
    report         a page about a run: did it learn, how fast, what does it confuse, what ran
    profile        where a step's time goes
    plan           stages, times and memory of a pipelined training, and better splits
    help           topics, manual pages, completion of lines in shells
    resnet_main.py the large-batch ResNet-50 recipe for CPUs: its training
    resnet_eval.py the large-batch ResNet-50 recipe for CPUs: top-1 and top-5 accuracy
  
    cnntrain demo
    cnntrain train --data-dir PHOTOS --model-size 18 --logs-path RUN
    cnntrain validation --restore-path RUN
    cnntrain inference RUN OTHERS/*.jpg
  
  cnntrain <command> --help lists a command's main options, --help-all all of them.
  cnntrain help TOPIC explains: data-folders, preparation, run-folders, screen, checkpoints, exports,
  weights, validation, resuming, pretraining, text-classification, question-answering, labels,
  features, precision, eight-bits, reproducibility, pipelines, processes, launching, recipe,
  exit-codes, ipu, dry-run, profile, limits, differences.
  cnntrain --version --verbose describes this machine and its fastest arithmetic.
  $ cnntrain --version
  cnntrain VERSION
  $ cnntrain demo --help
  usage: cnntrain demo FOLDER [options]
  
    FOLDER                        new folder for photos, run, page and model (default cnntrain-demo)
    --photos VALUE                training photos, 8 or more; without it, 1200
    --epochs N                    times that the training goes over all photos (default 8)
    --seed N                      of photos, first weights and order (default 0)
    --threads VALUE               threads that compute; without it, one per core
    --overwrite                   begin anew in the folder of an earlier demo
  
  Draws photos of shapes in class folders, trains a small network on them, validates it, and writes
  a page about the run and the network as an ONNX file. It prints the line of each step, which can
  be typed, too. A demo that was stopped or killed goes on when its line is typed again.
    cnntrain demo
    cnntrain demo /tmp/shapes --epochs 20
  $ cnntrain train --help
  usage: cnntrain train [options]
  train a network
  
    cnntrain train --data-dir PHOTOS --model-size 18 --logs-path RUN
    cnntrain train --config resnet8_test --data-dir DIR --dry-run
  DIR is a data folder, RUN the folder of a run.
  
  Main options:
    --model NAME                  Model family (resnet, resnext, efficientnet)
    --config TEXT                 Named configuration whose values replace the defaults
    --task NAME                   Task to run (image-classification, pretraining, text-classification,
                                  question-answering)
    --threads N                   Compute threads; 0: one for every core that the process may use
    --freeze TEXT ...             Regular expressions (RE2) of variables that are not trained
    --dry-run                     Print the resolved run
    --validate-every X            Epochs between validations during training
    --keep-best NAME              Keep the best weights as RUN/ckpt-best.safetensors (accuracy,
                                  balanced-accuracy, top-5, loss)
    --early-stop N                End the training after so many validations without a better result
    --class-weights TEXT          Weights of the classes in the training loss: balanced
    --model-size TEXT             Depth of a ResNet or ResNeXt (56b: CIFAR ResNet-56 with bottlenecks)
    --dataset NAME                Data set (imagenet, cifar-10, cifar-100, folder)
    --data-dir PATH               Folder with TFRecords, CIFAR binaries or photos
    --image-size N                Height and width; not for CIFAR
    --mixup-alpha X               Parameter of mixup's beta distribution; 0: no mixup
    --cutmix-lambda X             Share of an image that cutmix keeps; 1: no cutmix (default 1)
    --micro-batch-size N          Samples per forward and backward pass of a replica
    --abs-learning-rate X         The learning rate itself; overrides the exponent
    --epochs X                    Length of the run; without it, the model's
    --init-path PATH              Checkpoint with the initial weights
    --optimiser NAME              Optimiser (SGD, RMSprop, momentum, LARS, AdamW, LAMB, nesterov)
    --head-first                  Solve the last layer as --head-only does
    --precision NAME              Bits of computation and of master weights (16.16, 16.32, 32.32)
    --seed N                      Makes the run reproducible
    --logs-path TEXT              Path of the run folder
  
  --help-all lists all 212 options, --help GROUP those of a group: main, this-program, model, resnext,
  efficientnet, dataset, training, learning-rate-schedule, last-layer-from-features, device, logging,
  ipu.
  --help OPTION says all about one option; cnntrain help lists topics.
  $ cnntrain validation --help
  usage: cnntrain validation [options]
  evaluate one or all checkpoints, or measure inference throughput
  
    cnntrain validation --restore-path RUN          all checkpoints of a run, on its data
    cnntrain validation --restore-path RUN/ckpt-500 --data-dir DIR
  DIR is a data folder, RUN the folder of a run.
  
  Main options:
    --model NAME                  Model family (resnet, resnext, efficientnet)
    --restore-path PATH           Run folder to resume (train, restore)
    --repeat N                    Runs per checkpoint (default 1)
    --threads N                   Compute threads; 0: one for every core that the process may use
    --dry-run                     Print the resolved run
    --print-config                Print all effective values and their sources
    --model-size TEXT             Depth of a ResNet or ResNeXt (56b: CIFAR ResNet-56 with bottlenecks)
    --dataset NAME                Data set (imagenet, cifar-10, cifar-100, folder)
    --data-dir PATH               Folder with TFRecords, CIFAR binaries or photos
    --generated-data              One random image from the host, repeated
    --micro-batch-size N          Samples per forward and backward pass of a replica
    --precision NAME              Bits of computation and of master weights (16.16, 16.32, 32.32)
    --latency                     Measure latencies in validation
    --logs-path TEXT              Path of the run folder
  
  --help-all lists all 176 options, --help GROUP those of a group: main, this-program, model, resnext,
  efficientnet, dataset, training, device, logging, ipu.
  --help OPTION says all about one option; cnntrain help lists topics.
  $ cnntrain restore --help
  usage: cnntrain restore [options]
  resume a run from its folder
  
    cnntrain restore --restore-path RUN
  DIR is a data folder, RUN the folder of a run.
  
  Main options:
    --restore-path PATH           Run folder to resume (train, restore)
    --threads N                   Compute threads; 0: one for every core that the process may use
    --accept-other-data           Go on with a run on other data than it began with
    --dry-run                     Print the resolved run
    --print-config                Print all effective values and their sources
    --data-dir PATH               Folder with TFRecords, CIFAR binaries or photos
    --epochs X                    Length of the run; without it, the model's
    --iterations N                Length of the run in weight updates, instead of --epochs
    --replicas N                  Data-parallel replicas in this process (default 1)
  
  --help-all lists all 30 options, --help GROUP those of a group: main, this-program, dataset,
  training, device.
  --help OPTION says all about one option; cnntrain help lists topics.
  $ cnntrain inference --help
  usage: cnntrain inference [options]
  measure latency and throughput, or answer samples
  
    cnntrain inference --dataset imagenet --generated-data --model-size 50 --iterations 100   measures
    cnntrain inference --restore-path RUN             classifies the run's validation split
    cnntrain inference --restore-path RUN/ckpt-500 --data-dir 'PHOTOS/*.jpg' --predictions FILE.csv
  Options that the line leaves out are those of the run.
  DIR is a data folder, RUN the folder of a run.
  
  Main options:
    --model NAME                  Model family (resnet, resnext, efficientnet)
    --restore-path PATH           Run folder to resume (train, restore)
    --repeat N                    Runs per checkpoint (default 1)
    --num-inference-thread N      Concurrent requests (default 1)
    --threads N                   Compute threads; 0: one for every core that the process may use
    --predictions PATH            File of the predictions, .csv or .jsonl (JSON lines)
    --features PATH               File for what the last layer reads of each sample, .npy
    --temperature X               Divide the logits by this number (default 1)
    --unknown-below X             Call a sample unknown if its best class has a lower probability
    --top-classes N               Number of classes in a prediction (default 5)
    --dry-run                     Print the resolved run
    --print-config                Print all effective values and their sources
    --maps PATH                   Folder for class-activation maps
    --model-size TEXT             Depth of a ResNet or ResNeXt (56b: CIFAR ResNet-56 with bottlenecks)
    --dataset NAME                Data set (imagenet, cifar-10, cifar-100, folder)
    --data-dir PATH               Folder with TFRecords, CIFAR binaries or photos
    --photos TEXT ...             Photos to classify, instead of --data-dir
    --generated-data              One random image from the host, repeated
    --micro-batch-size N          Samples per forward and backward pass of a replica
    --iterations N                Length of the run in weight updates, instead of --epochs
    --precision NAME              Bits of computation and of master weights (16.16, 16.32, 32.32)
    --logs-path TEXT              Path of the run folder
  
  --help-all lists all 184 options, --help GROUP those of a group: main, this-program, model, resnext,
  efficientnet, dataset, training, device, logging, ipu.
  --help OPTION says all about one option; cnntrain help lists topics.
  $ cnntrain pretrain --help
  usage: cnntrain pretrain [options]
  BERT pretraining
  
    cnntrain pretrain --config configs/pretrain_base_128_phase1.json --train-file 'DIR/*.tfrecord'
    cnntrain pretrain --config pretrain_tiny_128_lamb --generated-data --num-train-steps 4
    cnntrain pretrain --config pretrain_base_384_phase2 --train-file FILE --init-checkpoint RUN/ckpt-7031
    cnntrain pretrain --config pretrain_base_128_phase1 --evaluate --restore-dir RUN --valid-file FILE
  DIR is a data folder, RUN the folder of a run.
  
  Main options:
    --config TEXT                 Named configuration whose values replace the defaults
    --task NAME                   Task to run (pretraining)
    --save-path TEXT              Folder in which run folders are created (default checkpoints)
    --init-checkpoint PATH        Checkpoint to start from, with weights and optimiser state
    --restore-dir PATH            Folder of the run to resume from its latest checkpoint
    --evaluate                    Evaluate one checkpoint
    --threads N                   Compute threads; 0: one for every core that the process may use
    --dry-run                     Print the resolved run
    --validate-every X            Epochs between validations during training
    --keep-best NAME              Keep the best weights as RUN/ckpt-best.safetensors (accuracy,
                                  balanced-accuracy, top-5, loss)
    --early-stop N                End the training after so many validations without a better result
    --train-file FILE ...         TFRecord files of training sequences: names or patterns
    --valid-file FILE ...         TFRecord files of held-out sequences for --evaluate and
                                  --validate-every
    --packed                      Several sequences in each row of --seq-length tokens instead of
                                  padding
    --generated-data              Random sequences generated on the host
    --micro-batch-size N          Sequences per forward and backward pass of a replica
    --global-batch-size N         Sequences per weight update
    --num-train-steps N           Length of the run in weight updates
    --base-learning-rate X        Learning rate at the end of the warm-up (default 2e-05)
    --optimizer NAME              Optimiser (sgd, momentum, adamw, lamb, mpadamw)
    --precision NAME              Bits of computation and of weights: 16 (16, 32, 16.16, 16.32, 32.32)
    --seed N                      Makes the run reproducible
    --logs-path TEXT              Path of the run folder
  
  --help-all lists all 146 options, --help GROUP those of a group: main, this-program, bert, data,
  training, device, logging, ipu.
  --help OPTION says all about one option; cnntrain help lists topics.
  $ cnntrain average --help
  usage: cnntrain average [options]
  
    --restore-path VALUE          needed: folder of the run, with its ckpt-<iteration>.safetensors
    --filename VALUE              needed: file for the average; .safetensors is added
    --mode VALUE                  needed: mean or exponential
    --decay X                     exponential, oldest checkpoint first: V = decay x V + (1 - decay) x
                                  next (default 0.99)
    -N VALUE                      use the last N checkpoints only; without it, all
    --overwrite                   replace a file that this command did not write
    --checkpoint-dtype VALUE      stored: each variable in its own type; f32: 16-bit variables as
                                  float32, for programs without bfloat16 (default stored)
    --discard-last N              number of newest checkpoints to leave out, before -N is applied
                                  (default 0)
    --trust-edited-checkpoint     accept checkpoints whose checksums do not match because another tool
                                  edited them
  
  Averages a run's checkpoints. The result is a checkpoint like any other:
    cnntrain average --restore-path RUN --mode mean -N 5 --filename RUN/ckpt/mean5
    cnntrain validation --data-dir DIR --restore-path RUN/ckpt/mean5
  $ cnntrain analyse --help
  usage: cnntrain analyse [options]
  
    --restore-path VALUE          needed: folder of the run, one checkpoint, or a file of PyTorch,
                                  Keras or TensorFlow
    --list                        print the names, element types and shapes of the variables of each
                                  checkpoint
    --find-nans                   print the variables with NaNs in each checkpoint, and their
                                  positions
    --first-fail                  print the value of one element in each checkpoint
    --first-fail-var VALUE        needed with --first-fail: name of the variable
    --first-fail-index VALUE      needed with --first-fail: row-major index of the element
    --trust-edited-checkpoint     accept checkpoints whose checksums do not match because another tool
                                  edited them
  
  Finds the checkpoint in which numbers became NaN or infinite:
    cnntrain analyse --restore-path RUN --find-nans
    cnntrain analyse --restore-path RUN --first-fail --first-fail-var all/fc1/bias --first-fail-index 3
  Lists what is in a file of weights:
    cnntrain analyse --restore-path resnet18.pth --list
  Exit code 0 whether there are NaNs or not.
  $ cnntrain benchmark --help
  usage: cnntrain benchmark [options]
  Runs the benchmarks of a benchmarks.yml, one process per variant, and prints what they measured.
  
    cnntrain benchmark --list
    cnntrain benchmark --benchmark tf1_resnet50_infer_synth_1ipu --set iterations=2 repeat=2
  
    --spec FILE ...               Files with benchmarks; a missing file is replaced by the shipped one
                                  of that name (default benchmarks.yml).
    --benchmark NAME ...          Benchmarks to run, in this order (default: all except those that
                                  train to convergence).
    --set NAME=VALUE ...          Overrides options of every program, to shorten it or to try
                                  something: --set iterations=2 repeat=1 no-logs appends --iterations
                                  2 --repeat 1 --no-logs. Options for the same quantity (--epochs) are
                                  removed.
    --list                        List the benchmarks and stop.
    --dry-run                     Print the commands that would be run and stop.
    --include-convergence         Also run benchmarks that train to convergence, for days (_conv in
                                  their names).
    --stop-on-error               Stop after the first variant that fails.
    --timeout SECONDS             Time limit of each variant.
    --compile-only                Give --compile-only to the programs; nothing is measured.
    --profile                     Give --profile to the programs: trainings write where their time
                                  goes.
    --allow-wandb                 Keep the options of Weights & Biases, which are otherwise removed.
    --log-dir FOLDER              Folder for logs and results (default: ./log_<time>).
    --logging LEVEL               DEBUG, INFO, WARNING, ERROR or CRITICAL (default INFO).
    --additional-metrics          More columns in the CSV file: duration, loss, result, command, ...
    --csv-metrics METRIC ...      Metrics to add as columns to the CSV file.
    --progress-trace-period SECONDS
                                  Interval between updates of the progress line (default 1).
    --help                        Print this text.
  
  Each benchmark has one variant per combination of its parameters. The log folder receives
  benchmark_results.csv, .json and .xml, output.log with the output of all programs, and a folder for
  each variant. Exit code: 0 if all passed, 1 if a variant failed, 2 for a wrong command line, 3 if
  something that is needed is missing (a spec, a variable), 143 after SIGTERM, SIGINT or SIGHUP.
  $ cnntrain poprun --help
  usage: cnntrain poprun [options] program [arguments]
  Starts several processes of a program with Open MPI's mpirun, as PopRun does. The program may be a
  script that cnntrain stands for, also after python or python3, or any other.
  
    cnntrain poprun --num-instances 2 --num-replicas 2 train.py --data-dir DIR
    cnntrain poprun --host node[0-3] --num-instances 8 --num-replicas 8 train.py --data-dir DIR
  
    --num-instances N             Processes, one rank each (default 1).
    --num-replicas N              Data-parallel replicas over all processes, a multiple of
                                  --num-instances (default 1).
    --ipus-per-replica N          Devices per replica: passed to the program, which has one pipeline
                                  stage for each (default 1).
    --host A,B,...                Hosts, also as -H or node[0-2,4]: each gets the same number of
                                  consecutive instances. Without hosts, or if all are names of this
                                  machine, instances run here.
    --hostfile FILE               File with one host per line, instead of --host.
    --mpi-global-args TEXT        Options for mpirun as a whole; repeat the flag to add more.
    --process-placement NAME      spreadnuma: the instances of a host divide its cores, in whole NUMA
                                  nodes if possible (default). disabled: each may run on all cores,
                                  with as many threads as its share has cores.
    --only-output-from-instance I
                                  Print the output of one instance only, and the last 50 lines of
                                  standard error of any other that fails.
    --allow-run-as-root yes|no    Allow root to launch; the default is yes in containers only.
    --dry-run                     Print the topology and the mpirun command line, then stop.
    --verbose                     Print what is started; also -v or POPRUN_LOG_LEVEL=INFO.
    --import-config FILE          Read options from a YAML file with their names as keys
                                  (num-instances: 8); the command line takes precedence.
    --version                     Print the version and stop.
    --help                        Print the main options.
  
  Options end at the program's name. Every instance gets the variables POPDIST_* and its rank.
  Exit code: that of the first instance that failed (128 + its number when a signal ended it), 2 for
  a line that cannot be right, 4 without Open MPI, 127 when there is no such program, 143 after
  SIGTERM, SIGINT or SIGHUP.
  
  cnntrain poprun --help-all lists all 24 options.
  $ cnntrain convert --help
  usage: cnntrain convert RUN OUT [options]
  
    RUN                           a run's folder, one of its checkpoints, or weights that `inference`
                                  reads; with --to FORMAT
    OUT                           file (onnx) or folder to write; without it, model.onnx or a folder
                                  next to the checkpoint
    --to VALUE                    needed. With RUN: onnx, torchvision, timm, tf or hf. With --from:
                                  file to write, or folder (with / at its end) for a model.safetensors
    --weights VALUE               onnx: f32 (default), f16 (computed in float16, too) or bf16 (stored
                                  so, computed in float32)
    --probabilities               onnx: a second output with the softmax of the logits, or sigmoid
    --with-preprocessing          onnx: reads photos of any size, uint8 [N,H,W,3]; prepares them
    --class-names VALUE           of RUN: file with the name of a class on each line, instead of the
                                  run's names
    --data-dir VALUE              of RUN: data whose samples the file is compared on; without it, the
                                  run's
    --ema                         of RUN: the moving averages of the weights
    --from VALUE                  instead of RUN: a run's checkpoint, a file of weights of PyTorch,
                                  Keras or TensorFlow (detected by its content), or BERT of
                                  transformers (detected by the tensors' names)
    --checkpoint-dtype VALUE      stored: each variable in its own type; f32: 16-bit variables as
                                  float32, for programs without bfloat16 (default stored)
    --vocab-file VALUE            to transformers: vocabulary to write as vocab.txt; without it, the
                                  --vocab-file of the run
    --overwrite                   replace files that are there
  
  Writes a trained network for other programs, after it was compared with the network:
    cnntrain convert RUN --to onnx
  cnntrain help exports says what each format holds.
  
  With --from, converts BERT checkpoints from and to the layout of Hugging Face's transformers:
    cnntrain convert --from bert-base-uncased/model.safetensors --to base.safetensors
    cnntrain convert --from RUN/ckpt-7031 --to exported/
  config.json is read next to a file of transformers, and written with vocab.txt; activation and epsilon come from
  the run's arguments.json. Weights keep their bits; biases of keys and others that a network lacks become zeros.
  Other files of PyTorch (.pth, .pt, .bin), Keras (.h5, .keras) and TensorFlow (PREFIX.index) become safetensors
  with their own names; cnntrain analyse --list prints what is in them:
    cnntrain convert --from resnet18.pth --to resnet18.safetensors
  
  cnntrain convert --help-all lists all 20 options.
  $ cnntrain quantise --help
  usage: cnntrain quantise RUN [options]
  
    RUN                           folder of a run, of which ckpt-best is taken, or a checkpoint
    --output VALUE                checkpoint to write (default: 8bit/NAME.safetensors beside the one
                                  that is read)
    --overwrite                   replace a file that this command did not write
    --samples N                   training samples on which ranges and choices are measured (default
                                  256)
    --most-loss X                 points, of the accuracy or F1 on the validation split, that may be
                                  lost; not less than two samples (default 0.5)
  
  Writes a checkpoint with which validation, inference and profile compute in 8 bits.
  Nothing is trained, and the weights in the file stay as they are.
    cnntrain quantise RUN
    cnntrain inference RUN/8bit/ckpt-best PHOTOS/*.jpg
  All other options are those of cnntrain validation. See cnntrain help eight-bits.
  $ cnntrain report --help
  usage: cnntrain report RUN [options]
  
    RUN                           folder of a run; further folders are of runs to compare it with
    --output VALUE                file of the page (default RUN/report.html)
    --overwrite                   replace a file that this command did not write, or that was changed
                                  since
    --watch                       write the page again and again while the run is going
    --interval N                  seconds between two pages of --watch (default 30)
    --samples N                   validation samples that are predicted, evenly spread; 0: all
                                  (default 1000)
    --no-predictions              predict no samples: no confusions, no most wrong photos
    --data-dir VALUE              where the data are now; without it, where the run had them
    --vocab-file VALUE            vocabulary of a BERT run, to show words instead of numbers
    --threads N                   threads that compute; 0: one per core (default 0)
  
  One HTML file without scripts, fonts or images from elsewhere: whether the run learned, what
  limited its speed, what it confuses, what exactly ran, and what differs from other runs.
    cnntrain report RUN
    cnntrain report RUN EARLIER_RUN --output comparison.html
  The run may still be going, or have been killed. See cnntrain help run-folders.
  $ cnntrain profile --help
  usage: cnntrain profile [options]
  
    --profile-steps N             weight updates, or micro-batches of an evaluation, to measure
                                  (default 10)
    --profile-dir VALUE           folder for profile.json, profile.trace.json (ui.perfetto.dev,
                                  chrome://tracing) and profile.folded (flame graphs)
  
  Runs some steps of a line and prints where their time goes: operations with their rates and
  their share of the machine's roofline, input, communication, memory. It ends with what limits,
  and what to try. No run folder is made, and the weights are random.
    cnntrain profile train.py --model-size 50 --dataset imagenet --generated-data --batch-norm
    cnntrain profile pretrain --config pretrain_base_128_phase1 --generated-data --profile-dir DIR
    mpirun -np 2 --bind-to none cnntrain profile train --data-dir PHOTOS --model-size 18
  All other options are those of the line. cnntrain help profile explains table and files.
  $ cnntrain plan --help
  usage: cnntrain plan [options]
  
    --stages VALUE                stages of the proposed splits (default: those of the command line,
                                  or 2)
    --memory-limit VALUE          GB: memory limit of each stage of the proposed splits
    --profile VALUE               profile.json of this line, from cnntrain profile: measured times of
                                  its operations
    --steps VALUE                 number of weight updates to measure (default: 3, or 10 with
                                  --processes)
    --no-measure                  estimate times from FLOPs that the profile does not have
    --processes VALUE             1,2,4...1024: predict samples/s with these numbers of processes,
                                  instead of stages ('...' doubles)
    --network VALUE               between nodes: bandwidth and latency, such as 100Gbps,1.5us;
                                  'measure' under mpirun
    --ranks-per-node VALUE        processes per node (default: 1, or as started by mpirun)
    --node-network VALUE          between processes of a node (default: as fast as adding, 1us)
    --adding-rate VALUE           speed at which a process adds gradients, such as 5GB/s (default:
                                  measured here)
    --step-spread VALUE           standard deviation of a process's step, such as 5%: the slowest
                                  process decides (default: measured here)
    --input-rate VALUE            samples/s that the input of a process delivers, as
                                  --dataset-benchmark prints them (default: enough)
    --images-per-second VALUE     rate of one process, for example on another machine; all times are
                                  scaled to it
  
  Shows the stages of a training command line, the time and memory of each, the chart of the schedule,
  the time of a weight update, and the best splits:
    cnntrain plan train.py --model resnet --model-size 50 --dataset imagenet --generated-data --batch-norm --pipeline \
        --pipeline-splits stage3/unit1 --gradient-accumulation-count 8
  Without --pipeline, proposes splits. With --processes, predicts the speed of several processes:
    cnntrain plan train.py --model resnet --model-size 50 --dataset imagenet --generated-data --batch-norm \
        --micro-batch-size 32 --processes 1,2,4...1024 --ranks-per-node 2 --network 100Gbps,1.5us
    mpirun -np 4 cnntrain plan train.py ... --processes 1...64 --network measure
  BERT is planned alike:
    cnntrain plan pretrain --config pretrain_base_128_phase1 --generated-data --stages 2
  Reads neither data nor checkpoints, except texts with classes, which it counts. All other options are those of
  `cnntrain train --help` or `cnntrain pretrain --help`.
  $ cnntrain help --help
  usage: cnntrain <command> [options]
  Trains and measures convolutional networks and BERT on CPUs.
  
  Commands:
    demo           a first use: make photos, train on them, write a page and an ONNX file
    train          train a network (also train.py, run_squad.py, run_classifier.py)
    validation     evaluate one or all checkpoints, or measure inference throughput (also validation.py)
    restore        resume a run from its folder (also restore.py)
    inference      measure latency and throughput, or answer samples (also inference_embedded.py, run_squad_runtime.py)
    pretrain       BERT pretraining (also run_pretraining.py)
    average        average checkpoints (also weight_avg.py)
    analyse        find NaNs in checkpoints (also analyse_checkpoints.py)
    dataset        write and inspect data sets (also imagenet_to_gcs.py, create_pretraining_data.py)
    benchmark      run the entries of a benchmarks.yml (also examples_utils)
    poprun         launch over MPI
    convert        import and export checkpoints (also convert_ckpt.py)
    quantise       compute a network in 8 bits
    weights        list and fetch published weights
    report         a page about a run: did it learn, how fast, what does it confuse, what ran
    profile        where a step's time goes
    plan           stages, times and memory of a pipelined training, and better splits
    help           topics, manual pages, completion of lines in shells
    resnet_main.py the large-batch ResNet-50 recipe for CPUs: its training
    resnet_eval.py the large-batch ResNet-50 recipe for CPUs: top-1 and top-5 accuracy
  
  Topics:
    data-folders   data sets, own photographs, indexes, damaged images
    preparation    sizes, crops and augmentation of images, weights of classes
    run-folders    files of a run, locks, --overwrite
    screen         what a run prints: terminals, pipes, --quiet, --log-format json
    checkpoints    files, checksums, averages, conversion, fine-tuning
    exports        trained networks for ONNX, torchvision, timm and transformers
    weights        starting from the weights of torchvision, timm, Keras or an earlier run
    validation     validation during training, the best weights, early end, averages
    resuming       stopping a run and resuming it exactly
    pretraining    BERT: text, phases, evaluation, Hugging Face's weights
    text-classification BERT that classifies or scores texts: files, GLUE, validation, limits
    question-answering BERT that answers questions on texts: files, results, run_squad.py
    labels         photos and texts with several labels: tables, losses, scores, thresholds
    features       a last layer in seconds, its cache, suspicious labels, near-duplicates
    precision      types of weights and computation
    eight-bits     quantise: layers in 8 bits, how they are chosen and judged
    reproducibility when two runs give the same results
    pipelines      stages, lanes, replicas in one process
    processes      training in several processes: results, gradients, faults
    launching      starting processes with poprun, cores, signals
    recipe         the large-batch ResNet-50 programs
    exit-codes     meaning of each exit code
    ipu            --backend ipu, its emulator, options that only steer IPUs
    dry-run        what a run would do, and what it takes of memory, disk and time
    profile        where the time of a step goes, and what limits it
    limits         refused sizes, what is not available, restrictions
    differences    where results differ from the original programs
  
  cnntrain help TOPIC prints a topic, cnntrain help COMMAND the main options of a command.
  cnntrain help --man PAGE prints a manual page, cnntrain help --man the names of all.
  cnntrain help --completion bash|fish|zsh prints a script that completes lines in this shell.
  $ cnntrain resnet_main.py --help
  usage: resnet_main.py [options]
  
    --train-batch-size N          images per weight update, over all processes (default 24576)
    --train-steps N               weight updates (default 4680)
    --micro-batch-size N          maximum number of these that a process handles at once (default 48)
    --weight-decay X              of all weights except those of norms (default 5e-5)
    --momentum X                  of the gradients (default 0.9)
    --label-smoothing N           of the targets (default 0)
    --eval-batch-size VALUE       accepted, without effect here
    --steps-per-eval VALUE        accepted, without effect here
    --iterations-per-loop VALUE   accepted, without effect here
    --data-dir VALUE              folder with the TFRecord files
    --model-dir VALUE             folder of the run: checkpoints and logs
    --resnet-depth N              size of the network (default 50)
    --num-intra-threads N         compute threads; 0: one per core (default 0)
    --use-tpu VALUE               must be false (default false)
    --num-inter-threads VALUE     accepted, without effect here
    --kmp-blocktime VALUE         accepted, without effect here
    --kmp-affinity VALUE          accepted, without effect here
    --kmp-settings VALUE          accepted, without effect here
  
  Flags may be written with underscores. Options of `cnntrain train` may be given too
  and take precedence; cnntrain train --help-all lists them.
  $ cnntrain resnet_eval.py --help
  usage: resnet_eval.py [options]
  
    --eval-batch-size N           images at once (default 200)
    --data-dir VALUE              folder with the TFRecord files
    --model-dir VALUE             folder of the run: checkpoints and logs
    --resnet-depth N              size of the network (default 50)
    --num-intra-threads N         compute threads; 0: one per core (default 0)
    --use-tpu VALUE               must be false (default false)
    --num-inter-threads VALUE     accepted, without effect here
    --kmp-blocktime VALUE         accepted, without effect here
    --kmp-affinity VALUE          accepted, without effect here
    --kmp-settings VALUE          accepted, without effect here
  
  Flags may be written with underscores. Options of `cnntrain validation` may be given too
  and take precedence; cnntrain validation --help-all lists them.
