All options of training, validation, inference and restore.

  $ . "$TESTDIR/setup.sh"
  $ cnntrain train --help-all
  usage: cnntrain train [options]
  train a network
  
    cnntrain train --data-dir PHOTOS --model-size 18 --logs-path RUN
    cnntrain train --config resnet8_test --data-dir DIR --dry-run
  DIR is a data folder, RUN the folder of a run.
  
  Main:
    --model NAME                  Model family. (resnet, resnext, efficientnet; default resnet)
    --lr-schedule NAME            Learning-rate schedule. (stepped, cosine, exponential,
                                  polynomial_decay_lr, gradual_warmup_then_dec; default stepped)
    --restore-path PATH           Run folder to resume (train, restore); checkpoint file or folder to
                                  evaluate (validation).
    --help                        Print the main options; --help NAME prints the option or group NAME.
                                  (also -h)
    --config TEXT                 Named configuration whose values replace the defaults; an unknown
                                  name prints all names.
    --config-path TEXT            File or folder with configurations; without it, the folder configs
                                  of this program.
    --wandb-id TEXT               Weights & Biases run to continue, for a run started with --wandb.
  
  This program:
    --num-classes N               Number of classes: must agree with the data, where they name their
                                  classes; otherwise the outputs of the network. Without it, as many
                                  as the data have.
    --labels NAME                 Labels of a sample: single (one of several classes) or several (any
                                  of the classes, also none). (single, several; default single)
    --label-separator TEXT        Character between the labels in a cell of a table. (default |)
    --validation-fraction X       Share of each class's photos held out for validation, where no
                                  folder or table says which. (default 0.2)
    --split-seed N                Seed of the choice of these photos; --seed does not change it.
                                  (default 0)
    --help-all                    Print all options.
    --task NAME                   Task to run. --task NAME --help lists the options of another task.
                                  (image-classification, pretraining, text-classification,
                                  question-answering; default image-classification)
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
    --keep-ckpts N                Number of newest checkpoints to keep; 0: all. (default 0)
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
    --crop-fraction X             F of evaluation: the shorter side of a photo becomes floor(S / F),
                                  then the centre S x S is cut out. (default 0.875; also --crop-pct)
    --resize-mode NAME            Evaluation: crop the centre, squash the whole photo, or pad it with
                                  the mean pixel. (crop, squash, pad; default crop)
    --interpolation NAME          How photos are resized: as TensorFlow 1 does, or with antialiasing
                                  as Pillow and torchvision do. (tf1-bilinear, bilinear, bicubic;
                                  default tf1-bilinear)
    --normalise-mean X ...        Photos: means of R, G and B in 0..1, subtracted from x / 255; needs
                                  --normalise-std. Without them, ImageNet's, as --normalise-input
                                  says. (also --normalize-mean)
    --normalise-std X ...         Photos: deviations of R, G and B, by which the difference from the
                                  mean is divided. (also --normalize-std)
    --test-time-flip              Validation and inference: use the mean logits of each image and its
                                  mirror image.
    --crop-area X ...             MIN,MAX: share of a training photo's area that its random crop
                                  covers; without it, 0.05,1.
    --rand-augment X ...          N,M: apply N random operations of RandAugment with magnitude M (0 to
                                  30) to each training image.
    --colour-jitter X ...         B,C,S,H: change brightness, contrast, saturation (by factors from 1
                                  - x to 1 + x) and hue (by -H to H turns) of training images, in
                                  random order. (also --color-jitter)
    --random-erasing X            Probability with which a rectangle of a training image is replaced
                                  by the mean pixel. (default 0)
    --class-weights TEXT          Weights of the classes in the training loss: balanced (by the number
                                  of training samples), numbers w0,w1,..., or a file with a weight or
                                  CLASS,WEIGHT a line. With --labels several, of samples that have the
                                  label; balanced: samples without it / samples with it. (default
                                  none)
    --balanced-sampling           Draw each class equally often in training: an epoch has as many
                                  images as ever, those of rare classes more than once, and some of
                                  frequent ones in a later epoch.
    --focal-gamma X               With --labels several: exponent of the focal loss, in which a label
                                  of probability p counts (1 - p)^G times, such as 2; 0: cross
                                  entropy. (default 0)
    --teacher PATH                Run or file of weights of a network with the same classes, usually a
                                  larger one, whose answers the training learns, too.
    --distill X ...               A,T: the loss is 1 - A times the usual one and A times T^2 times the
                                  divergence of the network's probabilities from the teacher's, both
                                  at temperature T; without it, 0.5,4.
    --padding NAME                Padding of convolutions and pools with a stride: TensorFlow's SAME,
                                  or symmetric as in PyTorch. Without it, that of the weights of
                                  --init-path; for own photos, a ResNet's and ResNeXt's is symmetric.
                                  (same, symmetric; default same)
    --norm-epsilon X              Epsilon of the norms; without it, the model's.
    --bottleneck-stride NAME      Convolution of a bottleneck that has the stride: 1x1 in the first
                                  ResNet and Keras's. (3x3, 1x1; default 3x3)
    --network-form NAME           Stem and sizes for large images like ImageNet's or small ones like
                                  CIFAR's. Without it, the form of the data set; for photos in
                                  folders, the one that has the --model-size, or, if both have it,
                                  small with an --image-size up to 64. (large, small)
  
  Model:
    --model-size TEXT             Depth of a ResNet or ResNeXt (56b: CIFAR ResNet-56 with
                                  bottlenecks); EfficientNet: B0 to B7, Lite0 to Lite4, V2-B0 to
                                  V2-B3, V2-S, V2-M, V2-L, CIFAR.
    --batch-norm                  Batch normalisation. If no norm is given: batch norm for a ResNet or
                                  ResNeXt on CIFAR, otherwise group norm.
    --group-norm                  Group normalisation.
    --groups N                    Groups of the group norm.
    --BN-decay X                  Decay of batch norm's moving averages. (default 0.97)
    --recompute-norms             Recompute results of norms in the backward pass where that lowers
                                  the peak of memory: a third less for ResNet-50, 2 to 4 % more time,
                                  the same results. Without --pipeline only; --enable-recomputation
                                  saves more and takes longer. (steers --backend cpu only)
  
  ResNeXt:
    --convolution-groups N        Cardinality: groups of a grouped convolution.
    --group-dim N                 Channels per group of a grouped convolution (ResNeXt and
                                  EfficientNet).
    --widenet                     CIFAR: stages as wide as for ImageNet.
  
  EfficientNet:
    --dropout-rate X              Dropout before the last layer; without it, by size.
    --block-survival-prob X       Drop-connect: survival probability of the deepest block. (default
                                  0.8)
    --no-se                       No squeeze-excite.
    --depth-divisor N             Channel counts are rounded to multiples of this. (default 8)
    --top-width N                 Channels of the head convolution before scaling. (default 1280)
    --use-relu                    ReLU instead of swish or ReLU6.
    --expand-ratio N              Expansion of the MBConv blocks that have 6 otherwise. (default 6)
    --proxy-norm                  Proxy-normalised activations.
    --proxy-epsilon X             Epsilon of the proxy norm. (default 0.03)
    --width-coefficient X         Scale of the channel counts; 0: by size. (default 0)
    --depth-coefficient X         Scale of the block counts; 0: by size. (default 0)
  
  Dataset:
    --dataset NAME                Data set; without it, inferred from the data folder. (imagenet,
                                  cifar-10, cifar-100, folder)
    --data-dir PATH               Folder with TFRecords, CIFAR binaries or photos (train/CLASS/*,
                                  validation/CLASS/* or CLASS/*), tar shards of photos, or a table of
                                  photos and classes (.csv, .jsonl); inference also takes any folder
                                  of photos, or one photo. Without it, the environment's DATA_DIR.
    --pipeline-num-parallel N     Images processed in parallel. (default 48; changes nothing:
                                  --input-threads says how many threads prepare images)
    --generated-data              One random image from the host, repeated.
    --synthetic-data              Random data made on the device; no input from the host.
    --no-dataset-cache            Do not keep the data set in memory. (changes nothing: the system
                                  keeps files that were read in free memory)
    --dataset-cache-gb X          Memory for records. (default 0 GB; changes nothing: the system keeps
                                  files that were read in free memory)
    --strict-data                 Stop at the first image that cannot be decoded, instead of using the
                                  next one (or, in validation, leaving it out).
    --normalise-input             ImageNet and photos: subtract means and divide by deviations;
                                  without it, subtract means.
    --image-size N                Height and width; not for CIFAR. Without it, the model's. (pixels)
    --train-with-valid-preprocessing
                                  Prepare training images like validation images.
    --hostside-norm               Normalise images on the host instead of the device.
    --standard-imagenet           Read ImageNet's files as one stream instead of several. (changes
                                  nothing: the files are always one stream, whose order depends on the
                                  seed alone)
    --mixup-alpha X               Parameter of mixup's beta distribution; 0: no mixup. (default 0)
    --cutmix-lambda X             Share of an image that cutmix keeps; 1: no cutmix. (default 1)
    --cutmix-version N            Cutmix variant, 1 or 2. (default 1)
    --hostside-image-mixing       Mix images on the host instead of the device.
    --eight-bit-io                Send images to the device as 8-bit integers.
    --dataset-percentage-to-use N
                                  Share of ImageNet's training records to use, the first ones in file
                                  order; validation always uses all. (default 100 %)
    --fused-preprocessing         Normalise ImageNet images in one fused operation, on the device.
                                  (changes nothing: images are always normalised so without
                                  --hostside-norm)
  
  Training:
    --micro-batch-size N          Samples per forward and backward pass of a replica; without it, the
                                  model's. (samples; also --batch-size)
    --gradient-accumulation-count N
                                  Micro-batches per weight update. (default 1; also
                                  --gradients-to-accumulate, --pipeline-depth)
    --base-learning-rate-exponent X
                                  N of the learning rate 2^N x global batch; without it, the model's.
                                  (also --base-learning-rate)
    --abs-learning-rate X         The learning rate itself; overrides the exponent.
    --epochs X                    Length of the run; without it, the model's. (epochs; also --epoch)
    --iterations N                Length of the run in weight updates, instead of --epochs. In
                                  validation of generated or synthetic data: batches per run.
                                  (iterations; also --num-train-steps)
    --weight-decay X              Coefficient of L2 weight decay; without it, the model's. Biases
                                  decay, too; gammas, betas and EfficientNet's proxies on CIFAR only.
                                  With LARS it applies in addition to --lars-weight-decay.
    --loss-scaling X              Factor on the loss that prevents underflow of 16-bit gradients.
                                  (default 128)
    --label-smoothing X           Share of the target distributed over the other classes. (default 0)
    --smoothing X                 Label smoothing as timm and PyTorch count it, distributed over all C
                                  classes: --label-smoothing X(C-1)/C.
    --variable-filter TEXT ...    Train only variables whose names contain one of these. (default
                                  none)
    --init-path PATH              Checkpoint with the initial weights, or weights of torchvision,
                                  timm, Keras or TensorFlow.
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
    --shards N                    Devices per replica, one pipeline stage each: the number of
                                  --pipeline-splits plus one. 1: any number of stages. All devices are
                                  in this process, and results are the same; see --lanes. (default 1)
    --replicas N                  Data-parallel replicas in this process. They share one set of
                                  weights and one update; results are those of a
                                  --gradient-accumulation-count that is larger by this factor (but see
                                  --BN-span). (default 1)
    --max-cross-replica-buffer-size N
                                  Size of the gradient buckets that processes, or replicas on IPUs,
                                  sum in one operation. Processes send buckets while the backward pass
                                  continues. (default 10485760 bytes; steers --backend cpu or ipu
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
    --pipeline-splits TEXT ...    Names of the first functions of stages 1, 2, ...
                                  (stage1/unit3/relu), which follow stage 0; required with --pipeline.
                                  (also --pipeline-split)
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
    --distributed                 Several workers described by TF_CONFIG. (not available yet)
    --syncs-per-epoch N           Broadcasts of the weights per epoch, under poprun. (default 0)
    --epochs-per-sync X           Epochs between broadcasts of the weights, under poprun. (default 0
                                  epochs)
    --rts                         Split the optimiser's state and its update over the processes, or
                                  over the replicas on IPUs.
    --optimiser NAME              Optimiser. RMSprop's mean square starts at 1, as in TensorFlow 1.
                                  AdamW and LAMB apply weight decay to the weights directly, not
                                  through the gradient. AdamW, LAMB and nesterov need a learning rate.
                                  LAMB's trust ratio is 1 for every gamma, beta and bias. (SGD,
                                  RMSprop, momentum, LARS, AdamW, LAMB, nesterov; default SGD)
    --momentum X                  Momentum coefficient of momentum, nesterov, RMSprop and LARS.
                                  (default 0.9)
    --rmsprop-decay X             RMSprop: decay of the mean square.
    --rmsprop-base-decay-exp X    RMSprop: N of the decay 1 - 2^N x global batch.
    --rmsprop-epsilon X           RMSprop: epsilon inside the square root. (default 0.001)
    --beta1 X                     AdamW, LAMB: decay of the mean of gradients. (default 0.9)
    --beta2 X                     AdamW, LAMB: decay of the mean of squared gradients. (default 0.999)
    --adam-epsilon X              AdamW, LAMB: number added to the root of the mean of squared
                                  gradients. (default 1e-06)
    --offload-fp32-weight-copy    Keep 32-bit masters of 16-bit weights inside the optimiser.
    --lars-epsilon X              LARS: epsilon of the trust ratio. (default 0)
    --lars-skip-list TEXT ...     LARS: variables whose names contain one of these have trust ratio 1
                                  and no weight decay. (default beta gamma bias)
    --lars-weight-decay X         LARS: its own weight decay; without it, the model's.
    --lars-eeta X                 LARS: factor of the trust ratio. (default 0.001)
  
  Learning-rate schedule:
    --warmup-epochs X             Length of the linear warm-up of the learning rate; 0: none. (default
                                  5 epochs)
    --learning-rate-decay X       stepped: factor at each drop. (default 0.1)
    --learning-rate-schedule X ...
                                  stepped: positions of the drops, as comma-separated fractions of the
                                  run; without it, the model's.
    --lr-decay-rate X             exponential: factor at each drop.
    --lr-drops N                  exponential: number of drops, spread evenly over the run.
    --poly-lr-decay-power X       polynomial_decay_lr: exponent. (default 2)
    --poly-lr-end-ratio X         polynomial_decay_lr: final learning rate as a share of the base.
                                  (default 1e-05)
    --abs-end-learning-rate X     polynomial_decay_lr: final learning rate; overrides the ratio.
                                  gradual_warmup_then_dec: learning rate at the end of the decay;
                                  without it, 0.
    --warmup-iterations N         gradual_warmup_then_dec: length of the linear warm-up to the base
                                  learning rate; 0: none. (default 0 iterations)
    --warmup-start-learning-rate X
                                  gradual_warmup_then_dec: learning rate of the first warm-up
                                  iteration. (default 0)
  
  Last layer from features:
    --head-only                   Evaluate the network up to its last layer once for each sample,
                                  solve the last layer by regularised logistic regression, save ckpt-0
                                  and stop. See cnntrain help features.
    --head-first                  Solve the last layer as --head-only does, before training the
                                  network.
    --feature-views N             Views of each training sample: 1 as evaluation reads it, the others
                                  augmented as training does. (default 1)
    --head-strength X             Strength s of the L2 regularisation: the mean loss plus s / 2 times
                                  the squared weights on standardised features is least; without it,
                                  chosen by the loss of held-out samples.
    --feature-cache PATH          File that keeps the features for later runs (default: features.cache
                                  in the run's folder).
  
  Device:
    --precision NAME              Bits of computation and of master weights. 16: weights are stored in
                                  16 bits (bfloat16 on a CPU, half on an IPU) and computed with at
                                  least that precision (--compute-type). (16.16, 16.32, 32.32; default
                                  16.16)
    --compute-type NAME           Data type of computation where the compute type is 16. auto: the
                                  fastest on this processor (bf16 with AMX and on AMD processors with
                                  AVX512-BF16, otherwise f32). 16-bit weights stay 16-bit. (auto,
                                  bf16, f32; default auto; steers --backend cpu only)
    --force-weight-to-fp16 TEXT ...
                                  Store the master weights of variables whose names contain one of
                                  these in 16 bits. (default none)
    --force-weight-to-fp32 TEXT ...
                                  Store the master weights of variables whose names contain one of
                                  these in 32 bits. (default none)
    --stochastic-rounding NAME    Stochastic rounding to 16 bits in training; validation never uses
                                  it. CPUs round weights, IPUs all 16-bit results. RI_prng_stable:
                                  IPUs round stochastically only in updates, in which all replicas are
                                  equal. ON_prng_stable: the same as ON. (ON, ON_prng_stable,
                                  RI_prng_stable, OFF; default ON; also --no-stochastic-rounding;
                                  steers --backend cpu or ipu only)
    --device-iterations N         Maximum number of iterations in one host step. (default 1000
                                  iterations; also --batches-per-step)
    --seed N                      Makes the run reproducible: the same command line gives the same
                                  results on the same processor, with any number of input threads.
                                  Another --threads may change the last digits, unless
                                  --thread-independent is given.
    --BN-span N                   Replicas that share batch-norm statistics: a divisor of --replicas,
                                  or all replicas of several processes. Replicas of one process are
                                  computed together, in micro-batches that are larger by this factor,
                                  in which mixup and cutmix also find their partners. Processes
                                  exchange the statistics at every norm, and then have one lane each.
                                  (default 1)
    --dataset-benchmark           Measure the input pipeline only.
    --compile-only                Build the executable and stop.
    --prefetch-depth N            Micro-batches prepared ahead; with --backend ipu also those in the
                                  buffers of streams to the IPUs.
    --latency                     Measure latencies in validation: the time from when a batch is ready
                                  on the host to its result. It includes waiting in the queue, whose
                                  length is 1 unless --prefetch-depth is given.
    --analyse-nans                Count the NaNs of every checkpoint, for Weights & Biases and
                                  TensorBoard.
    --enable-recomputation        Keep few activations and recompute the others in the backward pass:
                                  less memory, the same results. (also --enable-recompute,
                                  --xla-recompute)
  
  Logging:
    --log-dir TEXT                Folder in which run folders are created; evaluations have one if
                                  this or --logs-path is given. (default ./logs/)
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
                                  Every process writes logs, to its own run folder.
    --mlperf-logging              Write an MLPerf log, result_<seed>.txt, into the run folder.
    --no-tensorboard              Write no TensorBoard event files to the run folder.
    --wandb                       Log to Weights & Biases through the installed wandb client (pip
                                  install wandb).
    --wandb-project TEXT          Weights & Biases project. (default tf-cnn)
    --profile                     Measure --profile-steps weight updates of the training and write
                                  where their time goes to the run folder. `cnntrain profile` measures
                                  any line without a run. (steers --backend cpu only)
  
  IPU:
    --no-proxy-recompute          Keep the proxy norm's activations instead of recomputing them.
                                  (steers IPUs only)
    --gradient-mean-reduce-re TEXT ...
                                  Regular expressions of variables whose gradients are reduced by mean
                                  instead of sum. (default none; steers IPUs only)
    --sharding-exclude-filter TEXT ...
                                  Steered automatic sharding in old releases. (steers IPUs only)
    --sharding-include-filter TEXT ...
                                  Steered automatic sharding in old releases. (steers IPUs only)
    --min-remote-tensor-size N    Smallest state of an optimiser that is stored off the chip. (default
                                  128 bytes; steers IPUs only)
    --stable-norm                 Variances in the norms are means of squared deviations, instead of
                                  mean squares minus squared means. (steers IPUs only)
    --force-unstable-norm         EfficientNet on ImageNet: no --stable-norm, which is its default.
                                  (steers IPUs only)
    --enable-half-partials        Accumulate convolutions and matrix products of halves in half.
                                  (steers IPUs only)
    --gather-conv-output          Gather the output of convolutions before the norm's reduction.
                                  (steers IPUs only)
    --select-ipu TEXT ...         Device to run on: AUTO, its number in Poplar's list, or two of these
                                  for training and validation. (default AUTO; also --select-ipus;
                                  steers IPUs only)
    --fp-exceptions               Stop at invalid operations, divisions by zero and overflows. (steers
                                  IPUs only)
    --identical-replica-seeding   All replicas round stochastically with the same random numbers.
                                  (steers IPUs only)
    --available-memory-proportion X ...
                                  Share of each tile's memory for temporary data of convolutions and
                                  matrix products: one value, or two per pipeline device, of its
                                  forward and of its backward pass. (steers IPUs only)
    --disable-variable-offloading
                                  Keep the optimiser's state on the chip. (steers IPUs only)
    --enable-conv-dithering       Let convolutions begin on different tiles, which spreads their
                                  memory. (steers IPUs only)
    --internal-exchange-optimisation-target NAME
                                  Optimisation target of the exchange. (balanced, cycles, memory;
                                  steers IPUs only)
    --on-demand                   Take the IPU when it is needed. (steers IPUs only)
    --num-io-tiles N              Tiles reserved for input and output. (default 0; steers IPUs only)
    --max-reduce-many-buffer-size N
                                  Buffer that merges reductions. (default 0 bytes; steers IPUs only)
    --saturate-on-overflow        Overflows of half give its largest number instead of NaN. (steers
                                  IPUs only)
    --scheduling-algorithm NAME   Order of operations in the compiled program. (choose-best,
                                  clustering, post-order, look-ahead, shortest-path; default
                                  choose-best; steers IPUs only)
    --only-use-slic-vmac-16       Grouped convolutions with 16 input channels at a time only. (steers
                                  IPUs only)
    --profile-compilation         Profile the compilation. (steers IPUs only)
    --gcl-method NAME             Algorithm of the all-reduce. (auto, broadcast, clockwise_ring,
                                  anticlockwise_ring, bidirectional_ring_pair, meet_in_middle_ring,
                                  quad_directional_ring; steers IPUs only)
    --gcl-max-broadcast-size N    Largest all-reduce done by broadcast. (bytes; steers IPUs only)
    --executable-cache-path TEXT  Folder of compiled executables. (default none; steers IPUs only)
    --poplar-sync-configuration NAME
                                  Which IPUs synchronise with the host. ('',
                                  ipuAndInstanceAndIntraReplicaAndAll; default none; steers IPUs only)
  
  Long options may be shortened while they stay unambiguous; every boolean has a --no- form.
  $ cnntrain restore --help-all
  usage: cnntrain restore [options]
  resume a run from its folder
  
    cnntrain restore --restore-path RUN
  DIR is a data folder, RUN the folder of a run.
  
  Main:
    --restore-path PATH           Run folder to resume (train, restore); checkpoint file or folder to
                                  evaluate (validation).
    --help                        Print the main options; --help NAME prints the option or group NAME.
                                  (also -h)
    --wandb-id TEXT               Weights & Biases run to continue, for a run started with --wandb.
  
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
    --keep-ckpts N                Number of newest checkpoints to keep; 0: all. (default 0)
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
  
  Dataset:
    --data-dir PATH               Folder with TFRecords, CIFAR binaries or photos (train/CLASS/*,
                                  validation/CLASS/* or CLASS/*), tar shards of photos, or a table of
                                  photos and classes (.csv, .jsonl); inference also takes any folder
                                  of photos, or one photo. Without it, the environment's DATA_DIR.
  
  Training:
    --epochs X                    Length of the run; without it, the model's. (epochs; also --epoch)
    --iterations N                Length of the run in weight updates, instead of --epochs. In
                                  validation of generated or synthetic data: batches per run.
                                  (iterations; also --num-train-steps)
    --replicas N                  Data-parallel replicas in this process. They share one set of
                                  weights and one update; results are those of a
                                  --gradient-accumulation-count that is larger by this factor (but see
                                  --BN-span). (default 1)
    --comm-timeout X              Longest wait for another process; after that, the run ends with an
                                  error that names it. (default TIME seconds)
    --lanes N                     Groups of cores that work in parallel, each on its own stage or
                                  micro-batch, with an equal share of --threads; 0: one per stage of a
                                  pipeline that is not Sequential, at most one per thread; otherwise
                                  1. Each further pipeline needs additional memory. The last bits of
                                  results depend on the threads per lane, as on --threads, unless
                                  --thread-independent is given. (default 0; steers --backend cpu
                                  only)
  
  Device:
    --compute-type NAME           Data type of computation where the compute type is 16. auto: the
                                  fastest on this processor (bf16 with AMX and on AMD processors with
                                  AVX512-BF16, otherwise f32). 16-bit weights stay 16-bit. (auto,
                                  bf16, f32; default auto; steers --backend cpu only)
  
  Long options may be shortened while they stay unambiguous; every boolean has a --no- form.
  $ cnntrain validation --help-all
  usage: cnntrain validation [options]
  evaluate one or all checkpoints, or measure inference throughput
  
    cnntrain validation --restore-path RUN          all checkpoints of a run, on its data
    cnntrain validation --restore-path RUN/ckpt-500 --data-dir DIR
  DIR is a data folder, RUN the folder of a run.
  
  Main:
    --model NAME                  Model family. (resnet, resnext, efficientnet; default resnet)
    --restore-path PATH           Run folder to resume (train, restore); checkpoint file or folder to
                                  evaluate (validation).
    --help                        Print the main options; --help NAME prints the option or group NAME.
                                  (also -h)
    --config TEXT                 Named configuration whose values replace the defaults; an unknown
                                  name prints all names.
    --config-path TEXT            File or folder with configurations; without it, the folder configs
                                  of this program.
    --repeat N                    Runs per checkpoint. (default 1)
    --inference [true|false]      Do not average the accuracy across replicas. (changes nothing: there
                                  is one replica)
    --total-batch-size N          Global batch of the training run, to convert a checkpoint's
                                  iterations to logged epochs; without it, the epoch stored in the
                                  checkpoint is logged. (samples; also --global-batch-size)
  
  This program:
    --num-classes N               Number of classes: must agree with the data, where they name their
                                  classes; otherwise the outputs of the network. Without it, as many
                                  as the data have.
    --labels NAME                 Labels of a sample: single (one of several classes) or several (any
                                  of the classes, also none). (single, several; default single)
    --label-separator TEXT        Character between the labels in a cell of a table. (default |)
    --validation-fraction X       Share of each class's photos held out for validation, where no
                                  folder or table says which. (default 0.2)
    --split-seed N                Seed of the choice of these photos; --seed does not change it.
                                  (default 0)
    --help-all                    Print all options.
    --task NAME                   Task to run. --task NAME --help lists the options of another task.
                                  (image-classification, pretraining, text-classification,
                                  question-answering; default image-classification)
    --backend NAME                Backend: cpu, ref (plain loops in double precision, for checking) or
                                  ipu (Poplar's API on an emulator of IPUs, for checking). (cpu, ref,
                                  ipu; default cpu)
    --threads N                   Compute threads; 0: one for every core that the process may use.
                                  (default 0; steers --backend cpu only)
    --input-threads N             Threads that prepare samples; 0: chosen automatically. (default 0)
    --trust-edited-checkpoint     Accept a checkpoint whose checksums do not match because another
                                  tool edited it; not stored for later runs.
    --verbose                     Print the full log on a terminal, including all settings and
                                  variables.
    --quiet                       Print only results (validations, predictions, measurements),
                                  warnings and errors; log.txt has all.
    --log-format NAME             What the standard output gets: text, or json: one object a line for
                                  each event; see cnntrain help screen. (text, json; default text)
    --dry-run                     Print the resolved run: model, data, batches, length, files, and
                                  estimates of a training's images or sequences per second, duration,
                                  memory and disk (CNNTRAIN_DRY_RUN_ESTIMATE=off: disk only); train
                                  and write nothing.
    --print-config                Print all effective values and their sources.
    --ema                         Take the moving averages of --ema-decay from a checkpoint instead of
                                  its weights.
    --crop-fraction X             F of evaluation: the shorter side of a photo becomes floor(S / F),
                                  then the centre S x S is cut out. (default 0.875; also --crop-pct)
    --resize-mode NAME            Evaluation: crop the centre, squash the whole photo, or pad it with
                                  the mean pixel. (crop, squash, pad; default crop)
    --interpolation NAME          How photos are resized: as TensorFlow 1 does, or with antialiasing
                                  as Pillow and torchvision do. (tf1-bilinear, bilinear, bicubic;
                                  default tf1-bilinear)
    --normalise-mean X ...        Photos: means of R, G and B in 0..1, subtracted from x / 255; needs
                                  --normalise-std. Without them, ImageNet's, as --normalise-input
                                  says. (also --normalize-mean)
    --normalise-std X ...         Photos: deviations of R, G and B, by which the difference from the
                                  mean is divided. (also --normalize-std)
    --test-time-flip              Validation and inference: use the mean logits of each image and its
                                  mirror image.
    --crop-area X ...             MIN,MAX: share of a training photo's area that its random crop
                                  covers; without it, 0.05,1. (changes nothing here)
    --rand-augment X ...          N,M: apply N random operations of RandAugment with magnitude M (0 to
                                  30) to each training image. (changes nothing here)
    --colour-jitter X ...         B,C,S,H: change brightness, contrast, saturation (by factors from 1
                                  - x to 1 + x) and hue (by -H to H turns) of training images, in
                                  random order. (also --color-jitter; changes nothing here)
    --random-erasing X            Probability with which a rectangle of a training image is replaced
                                  by the mean pixel. (default 0; changes nothing here)
    --balanced-sampling           Draw each class equally often in training: an epoch has as many
                                  images as ever, those of rare classes more than once, and some of
                                  frequent ones in a later epoch. (changes nothing here)
    --padding NAME                Padding of convolutions and pools with a stride: TensorFlow's SAME,
                                  or symmetric as in PyTorch. Without it, that of the weights of
                                  --init-path; for own photos, a ResNet's and ResNeXt's is symmetric.
                                  (same, symmetric; default same)
    --norm-epsilon X              Epsilon of the norms; without it, the model's.
    --bottleneck-stride NAME      Convolution of a bottleneck that has the stride: 1x1 in the first
                                  ResNet and Keras's. (3x3, 1x1; default 3x3)
    --network-form NAME           Stem and sizes for large images like ImageNet's or small ones like
                                  CIFAR's. Without it, the form of the data set; for photos in
                                  folders, the one that has the --model-size, or, if both have it,
                                  small with an --image-size up to 64. (large, small)
  
  Model:
    --model-size TEXT             Depth of a ResNet or ResNeXt (56b: CIFAR ResNet-56 with
                                  bottlenecks); EfficientNet: B0 to B7, Lite0 to Lite4, V2-B0 to
                                  V2-B3, V2-S, V2-M, V2-L, CIFAR.
    --batch-norm                  Batch normalisation. If no norm is given: batch norm for a ResNet or
                                  ResNeXt on CIFAR, otherwise group norm.
    --group-norm                  Group normalisation.
    --groups N                    Groups of the group norm.
    --BN-decay X                  Decay of batch norm's moving averages. (default 0.97; changes
                                  nothing here)
    --recompute-norms             Recompute results of norms in the backward pass where that lowers
                                  the peak of memory: a third less for ResNet-50, 2 to 4 % more time,
                                  the same results. Without --pipeline only; --enable-recomputation
                                  saves more and takes longer. (steers --backend cpu only; changes
                                  nothing here)
  
  ResNeXt:
    --convolution-groups N        Cardinality: groups of a grouped convolution.
    --group-dim N                 Channels per group of a grouped convolution (ResNeXt and
                                  EfficientNet).
    --widenet                     CIFAR: stages as wide as for ImageNet.
  
  EfficientNet:
    --dropout-rate X              Dropout before the last layer; without it, by size. (changes nothing
                                  here)
    --block-survival-prob X       Drop-connect: survival probability of the deepest block. (default
                                  0.8; changes nothing here)
    --no-se                       No squeeze-excite.
    --depth-divisor N             Channel counts are rounded to multiples of this. (default 8)
    --top-width N                 Channels of the head convolution before scaling. (default 1280)
    --use-relu                    ReLU instead of swish or ReLU6.
    --expand-ratio N              Expansion of the MBConv blocks that have 6 otherwise. (default 6)
    --proxy-norm                  Proxy-normalised activations.
    --proxy-epsilon X             Epsilon of the proxy norm. (default 0.03)
    --width-coefficient X         Scale of the channel counts; 0: by size. (default 0)
    --depth-coefficient X         Scale of the block counts; 0: by size. (default 0)
  
  Dataset:
    --dataset NAME                Data set; without it, inferred from the data folder. (imagenet,
                                  cifar-10, cifar-100, folder)
    --data-dir PATH               Folder with TFRecords, CIFAR binaries or photos (train/CLASS/*,
                                  validation/CLASS/* or CLASS/*), tar shards of photos, or a table of
                                  photos and classes (.csv, .jsonl); inference also takes any folder
                                  of photos, or one photo. Without it, the environment's DATA_DIR.
    --pipeline-num-parallel N     Images processed in parallel. (default 48; changes nothing:
                                  --input-threads says how many threads prepare images)
    --generated-data              One random image from the host, repeated.
    --synthetic-data              Random data made on the device; no input from the host.
    --no-dataset-cache            Do not keep the data set in memory. (changes nothing: the system
                                  keeps files that were read in free memory)
    --dataset-cache-gb X          Memory for records. (default 0 GB; changes nothing: the system keeps
                                  files that were read in free memory)
    --strict-data                 Stop at the first image that cannot be decoded, instead of using the
                                  next one (or, in validation, leaving it out).
    --normalise-input             ImageNet and photos: subtract means and divide by deviations;
                                  without it, subtract means.
    --image-size N                Height and width; not for CIFAR. Without it, the model's. (pixels)
    --train-with-valid-preprocessing
                                  Prepare training images like validation images. (changes nothing
                                  here)
    --hostside-norm               Normalise images on the host instead of the device.
    --standard-imagenet           Read ImageNet's files as one stream instead of several. (changes
                                  nothing: the files are always one stream, whose order depends on the
                                  seed alone)
    --mixup-alpha X               Parameter of mixup's beta distribution; 0: no mixup. (default 0;
                                  changes nothing here)
    --cutmix-lambda X             Share of an image that cutmix keeps; 1: no cutmix. (default 1;
                                  changes nothing here)
    --cutmix-version N            Cutmix variant, 1 or 2. (default 1; changes nothing here)
    --hostside-image-mixing       Mix images on the host instead of the device. (changes nothing here)
    --eight-bit-io                Send images to the device as 8-bit integers.
    --dataset-percentage-to-use N
                                  Share of ImageNet's training records to use, the first ones in file
                                  order; validation always uses all. (default 100 %; changes nothing
                                  here)
    --fused-preprocessing         Normalise ImageNet images in one fused operation, on the device.
                                  (changes nothing: images are always normalised so without
                                  --hostside-norm)
  
  Training:
    --micro-batch-size N          Samples per forward and backward pass of a replica; without it, the
                                  model's. (samples; also --batch-size)
    --gradient-accumulation-count N
                                  Micro-batches per weight update. (default 1; also
                                  --gradients-to-accumulate, --pipeline-depth; changes nothing here)
    --base-learning-rate-exponent X
                                  N of the learning rate 2^N x global batch; without it, the model's.
                                  (also --base-learning-rate; changes nothing here)
    --abs-learning-rate X         The learning rate itself; overrides the exponent. (changes nothing
                                  here)
    --epochs X                    Length of the run; without it, the model's. (epochs; also --epoch;
                                  changes nothing here)
    --iterations N                Length of the run in weight updates, instead of --epochs. In
                                  validation of generated or synthetic data: batches per run.
                                  (iterations; also --num-train-steps)
    --weight-decay X              Coefficient of L2 weight decay; without it, the model's. Biases
                                  decay, too; gammas, betas and EfficientNet's proxies on CIFAR only.
                                  With LARS it applies in addition to --lars-weight-decay. (changes
                                  nothing here)
    --loss-scaling X              Factor on the loss that prevents underflow of 16-bit gradients.
                                  (default 128; changes nothing here)
    --label-smoothing X           Share of the target distributed over the other classes. (default 0;
                                  changes nothing here)
    --smoothing X                 Label smoothing as timm and PyTorch count it, distributed over all C
                                  classes: --label-smoothing X(C-1)/C. (changes nothing here)
    --variable-filter TEXT ...    Train only variables whose names contain one of these. (default
                                  none; changes nothing here)
    --init-path PATH              Checkpoint with the initial weights, or weights of torchvision,
                                  timm, Keras or TensorFlow. (changes nothing here)
    --ckpts-per-epoch N           Checkpoints per epoch; 0: none, so no validation either. (default 1;
                                  changes nothing here)
    --epochs-per-ckpt N           Epochs between checkpoints, instead of --ckpts-per-epoch. (default 0
                                  epochs; changes nothing here)
    --ckpt-epochs-offset N        Epoch from which checkpoints are counted. (default 0 epochs; changes
                                  nothing here)
    --ckpt-all-instances [true|false]
                                  Every process writes checkpoints, to its own run folder. (changes
                                  nothing here)
    --no-validation               Do not validate after training. (changes nothing here)
    --weight-avg-N N ...          Average the weights of the checkpoints of the last N epochs, for
                                  each N. (changes nothing here)
    --weight-avg-exp X ...        Exponential averages of the checkpoints with these decays. (changes
                                  nothing here)
    --shards N                    Devices per replica, one pipeline stage each: the number of
                                  --pipeline-splits plus one. 1: any number of stages. All devices are
                                  in this process, and results are the same; see --lanes. (default 1)
    --replicas N                  Data-parallel replicas in this process. They share one set of
                                  weights and one update; results are those of a
                                  --gradient-accumulation-count that is larger by this factor (but see
                                  --BN-span). (default 1)
    --max-cross-replica-buffer-size N
                                  Size of the gradient buckets that processes, or replicas on IPUs,
                                  sum in one operation. Processes send buckets while the backward pass
                                  continues. (default 10485760 bytes; steers --backend cpu or ipu
                                  only; changes nothing here)
    --comm-timeout X              Longest wait for another process; after that, the run ends with an
                                  error that names it. (default TIME seconds)
    --pipeline                    Split the network into stages, which process the micro-batches of a
                                  weight update in turn (--pipeline-schedule) or in parallel
                                  (--lanes). Results are those of --gradient-accumulation-count alone.
                                  (changes nothing here)
    --pipeline-splits TEXT ...    Names of the first functions of stages 1, 2, ...
                                  (stage1/unit3/relu), which follow stage 0; required with --pipeline.
                                  (also --pipeline-split; changes nothing here)
    --pipeline-schedule NAME      Order of forward and backward passes in a pipeline of K stages.
                                  Grouped: each stage does one of each at a time;
                                  --gradient-accumulation-count must be a multiple of 2K. Interleaved:
                                  each stage alternates between them, with less memory; a multiple of
                                  K. Sequential: one micro-batch after the other, with the least
                                  memory; any number. Results are the same. (Grouped, Interleaved,
                                  Sequential; default Grouped; changes nothing here)
    --distributed                 Several workers described by TF_CONFIG. (changes nothing here)
    --syncs-per-epoch N           Broadcasts of the weights per epoch, under poprun. (default 0;
                                  changes nothing here)
    --epochs-per-sync X           Epochs between broadcasts of the weights, under poprun. (default 0
                                  epochs; changes nothing here)
    --rts                         Split the optimiser's state and its update over the processes, or
                                  over the replicas on IPUs. (changes nothing here)
    --optimiser NAME              Optimiser. RMSprop's mean square starts at 1, as in TensorFlow 1.
                                  AdamW and LAMB apply weight decay to the weights directly, not
                                  through the gradient. AdamW, LAMB and nesterov need a learning rate.
                                  LAMB's trust ratio is 1 for every gamma, beta and bias. (SGD,
                                  RMSprop, momentum, LARS, AdamW, LAMB, nesterov; default SGD; changes
                                  nothing here)
    --momentum X                  Momentum coefficient of momentum, nesterov, RMSprop and LARS.
                                  (default 0.9; changes nothing here)
    --rmsprop-decay X             RMSprop: decay of the mean square. (changes nothing here)
    --rmsprop-base-decay-exp X    RMSprop: N of the decay 1 - 2^N x global batch. (changes nothing
                                  here)
    --rmsprop-epsilon X           RMSprop: epsilon inside the square root. (default 0.001; changes
                                  nothing here)
    --beta1 X                     AdamW, LAMB: decay of the mean of gradients. (default 0.9; changes
                                  nothing here)
    --beta2 X                     AdamW, LAMB: decay of the mean of squared gradients. (default 0.999;
                                  changes nothing here)
    --adam-epsilon X              AdamW, LAMB: number added to the root of the mean of squared
                                  gradients. (default 1e-06; changes nothing here)
    --offload-fp32-weight-copy    Keep 32-bit masters of 16-bit weights inside the optimiser. (changes
                                  nothing here)
    --lars-epsilon X              LARS: epsilon of the trust ratio. (default 0; changes nothing here)
    --lars-skip-list TEXT ...     LARS: variables whose names contain one of these have trust ratio 1
                                  and no weight decay. (default beta gamma bias; changes nothing here)
    --lars-weight-decay X         LARS: its own weight decay; without it, the model's. (changes
                                  nothing here)
    --lars-eeta X                 LARS: factor of the trust ratio. (default 0.001; changes nothing
                                  here)
  
  Device:
    --precision NAME              Bits of computation and of master weights. 16: weights are stored in
                                  16 bits (bfloat16 on a CPU, half on an IPU) and computed with at
                                  least that precision (--compute-type). (16.16, 16.32, 32.32; default
                                  16.16)
    --compute-type NAME           Data type of computation where the compute type is 16. auto: the
                                  fastest on this processor (bf16 with AMX and on AMD processors with
                                  AVX512-BF16, otherwise f32). 16-bit weights stay 16-bit. (auto,
                                  bf16, f32; default auto; steers --backend cpu only)
    --force-weight-to-fp16 TEXT ...
                                  Store the master weights of variables whose names contain one of
                                  these in 16 bits. (default none)
    --force-weight-to-fp32 TEXT ...
                                  Store the master weights of variables whose names contain one of
                                  these in 32 bits. (default none)
    --stochastic-rounding NAME    Stochastic rounding to 16 bits in training; validation never uses
                                  it. CPUs round weights, IPUs all 16-bit results. RI_prng_stable:
                                  IPUs round stochastically only in updates, in which all replicas are
                                  equal. ON_prng_stable: the same as ON. (ON, ON_prng_stable,
                                  RI_prng_stable, OFF; default ON; also --no-stochastic-rounding;
                                  steers --backend cpu or ipu only; changes nothing here)
    --device-iterations N         Maximum number of iterations in one host step. (default 1000
                                  iterations; also --batches-per-step; changes nothing here)
    --seed N                      Makes the run reproducible: the same command line gives the same
                                  results on the same processor, with any number of input threads.
                                  Another --threads may change the last digits, unless
                                  --thread-independent is given.
    --BN-span N                   Replicas that share batch-norm statistics: a divisor of --replicas,
                                  or all replicas of several processes. Replicas of one process are
                                  computed together, in micro-batches that are larger by this factor,
                                  in which mixup and cutmix also find their partners. Processes
                                  exchange the statistics at every norm, and then have one lane each.
                                  (default 1; changes nothing here)
    --dataset-benchmark           Measure the input pipeline only.
    --compile-only                Build the executable and stop.
    --prefetch-depth N            Micro-batches prepared ahead; with --backend ipu also those in the
                                  buffers of streams to the IPUs.
    --latency                     Measure latencies in validation: the time from when a batch is ready
                                  on the host to its result. It includes waiting in the queue, whose
                                  length is 1 unless --prefetch-depth is given.
    --analyse-nans                Count the NaNs of every checkpoint, for Weights & Biases and
                                  TensorBoard.
    --enable-recomputation        Keep few activations and recompute the others in the backward pass:
                                  less memory, the same results. (also --enable-recompute,
                                  --xla-recompute; changes nothing here)
  
  Logging:
    --log-dir TEXT                Folder in which run folders are created; evaluations have one if
                                  this or --logs-path is given. (default ./logs/)
    --logs-path TEXT              Path of the run folder.
    --name-suffix TEXT            Added to the run's name after an underscore.
    --logs-per-epoch N            Log lines per epoch, if the length is given in epochs. (default 16;
                                  changes nothing here)
    --log-freq N                  Iterations between log lines, if the length is given in iterations.
                                  (default 500 iterations; changes nothing here)
    --no-logs                     Create no run folder; checkpoints are written under /tmp.
    --log-all-instances [true|false]
                                  Every process writes logs, to its own run folder. (changes nothing
                                  here)
    --mlperf-logging              Write an MLPerf log, result_<seed>.txt, into the run folder.
                                  (changes nothing here)
    --no-tensorboard              Write no TensorBoard event files to the run folder.
    --wandb                       Log to Weights & Biases through the installed wandb client (pip
                                  install wandb).
    --wandb-project TEXT          Weights & Biases project. (default tf-cnn)
    --profile                     Measure --profile-steps weight updates of the training and write
                                  where their time goes to the run folder. `cnntrain profile` measures
                                  any line without a run. (steers --backend cpu only; changes nothing
                                  here)
  
  IPU:
    --no-proxy-recompute          Keep the proxy norm's activations instead of recomputing them.
                                  (steers IPUs only)
    --gradient-mean-reduce-re TEXT ...
                                  Regular expressions of variables whose gradients are reduced by mean
                                  instead of sum. (default none; steers IPUs only)
    --sharding-exclude-filter TEXT ...
                                  Steered automatic sharding in old releases. (steers IPUs only)
    --sharding-include-filter TEXT ...
                                  Steered automatic sharding in old releases. (steers IPUs only)
    --min-remote-tensor-size N    Smallest state of an optimiser that is stored off the chip. (default
                                  128 bytes; steers IPUs only; changes nothing here)
    --stable-norm                 Variances in the norms are means of squared deviations, instead of
                                  mean squares minus squared means. (steers IPUs only)
    --force-unstable-norm         EfficientNet on ImageNet: no --stable-norm, which is its default.
                                  (steers IPUs only)
    --enable-half-partials        Accumulate convolutions and matrix products of halves in half.
                                  (steers IPUs only)
    --gather-conv-output          Gather the output of convolutions before the norm's reduction.
                                  (steers IPUs only)
    --select-ipu TEXT ...         Device to run on: AUTO, its number in Poplar's list, or two of these
                                  for training and validation. (default AUTO; also --select-ipus;
                                  steers IPUs only)
    --fp-exceptions               Stop at invalid operations, divisions by zero and overflows. (steers
                                  IPUs only)
    --identical-replica-seeding   All replicas round stochastically with the same random numbers.
                                  (steers IPUs only; changes nothing here)
    --available-memory-proportion X ...
                                  Share of each tile's memory for temporary data of convolutions and
                                  matrix products: one value, or two per pipeline device, of its
                                  forward and of its backward pass. (steers IPUs only)
    --disable-variable-offloading
                                  Keep the optimiser's state on the chip. (steers IPUs only; changes
                                  nothing here)
    --enable-conv-dithering       Let convolutions begin on different tiles, which spreads their
                                  memory. (steers IPUs only)
    --internal-exchange-optimisation-target NAME
                                  Optimisation target of the exchange. (balanced, cycles, memory;
                                  steers IPUs only)
    --on-demand                   Take the IPU when it is needed. (steers IPUs only)
    --num-io-tiles N              Tiles reserved for input and output. (default 0; steers IPUs only)
    --max-reduce-many-buffer-size N
                                  Buffer that merges reductions. (default 0 bytes; steers IPUs only)
    --saturate-on-overflow        Overflows of half give its largest number instead of NaN. (steers
                                  IPUs only)
    --scheduling-algorithm NAME   Order of operations in the compiled program. (choose-best,
                                  clustering, post-order, look-ahead, shortest-path; default
                                  choose-best; steers IPUs only)
    --only-use-slic-vmac-16       Grouped convolutions with 16 input channels at a time only. (steers
                                  IPUs only)
    --profile-compilation         Profile the compilation. (steers IPUs only)
    --gcl-method NAME             Algorithm of the all-reduce. (auto, broadcast, clockwise_ring,
                                  anticlockwise_ring, bidirectional_ring_pair, meet_in_middle_ring,
                                  quad_directional_ring; steers IPUs only)
    --gcl-max-broadcast-size N    Largest all-reduce done by broadcast. (bytes; steers IPUs only)
    --executable-cache-path TEXT  Folder of compiled executables. (default none; steers IPUs only)
    --poplar-sync-configuration NAME
                                  Which IPUs synchronise with the host. ('',
                                  ipuAndInstanceAndIntraReplicaAndAll; default none; steers IPUs only)
  
  Long options may be shortened while they stay unambiguous; every boolean has a --no- form.
  $ cnntrain inference --help-all
  usage: cnntrain inference [options]
  measure latency and throughput, or answer samples
  
    cnntrain inference --dataset imagenet --generated-data --model-size 50 --iterations 100   measures
    cnntrain inference --restore-path RUN             classifies the run's validation split
    cnntrain inference --restore-path RUN/ckpt-500 --data-dir 'PHOTOS/*.jpg' --predictions FILE.csv
  Options that the line leaves out are those of the run.
  DIR is a data folder, RUN the folder of a run.
  
  Main:
    --model NAME                  Model family. (resnet, resnext, efficientnet; default resnet)
    --restore-path PATH           Run folder to resume (train, restore); checkpoint file or folder to
                                  evaluate (validation).
    --help                        Print the main options; --help NAME prints the option or group NAME.
                                  (also -h)
    --config TEXT                 Named configuration whose values replace the defaults; an unknown
                                  name prints all names.
    --config-path TEXT            File or folder with configurations; without it, the folder configs
                                  of this program.
    --repeat N                    Runs per checkpoint. (default 1)
    --num-inference-thread N      Concurrent requests; each has its own copy of the model and a share
                                  of the compute threads. (default 1)
    --force-recompile             Rebuild the compiled model even if its file exists.
    --tmp-execs                   Write the compiled model under a random name and delete it after the
                                  run.
  
  This program:
    --num-classes N               Number of classes: must agree with the data, where they name their
                                  classes; otherwise the outputs of the network. Without it, as many
                                  as the data have.
    --labels NAME                 Labels of a sample: single (one of several classes) or several (any
                                  of the classes, also none). (single, several; default single)
    --label-separator TEXT        Character between the labels in a cell of a table. (default |)
    --validation-fraction X       Share of each class's photos held out for validation, where no
                                  folder or table says which. (default 0.2)
    --split-seed N                Seed of the choice of these photos; --seed does not change it.
                                  (default 0)
    --help-all                    Print all options.
    --task NAME                   Task to run. --task NAME --help lists the options of another task.
                                  (image-classification, pretraining, text-classification,
                                  question-answering; default image-classification)
    --backend NAME                Backend: cpu, ref (plain loops in double precision, for checking) or
                                  ipu (Poplar's API on an emulator of IPUs, for checking). (cpu, ref,
                                  ipu; default cpu)
    --threads N                   Compute threads; 0: one for every core that the process may use.
                                  (default 0; steers --backend cpu only)
    --input-threads N             Threads that prepare samples; 0: chosen automatically. (default 0)
    --trust-edited-checkpoint     Accept a checkpoint whose checksums do not match because another
                                  tool edited it; not stored for later runs.
    --predictions PATH            File of the predictions, .csv or .jsonl (JSON lines); without it,
                                  predictions.csv in --logs-path.
    --features PATH               File for what the last layer reads of each sample, .npy (numpy):
                                  float32, a row a prediction.
    --temperature X               Divide the logits by this number: the answers stay, the
                                  probabilities become those that cnntrain report finds to fit the
                                  held-out samples. (default 1)
    --unknown-below X             Call a sample unknown if its best class has a lower probability.
                                  (default 0)
    --top-classes N               Number of classes in a prediction, the most probable ones. (default
                                  5)
    --verbose                     Print the full log on a terminal, including all settings and
                                  variables.
    --quiet                       Print only results (validations, predictions, measurements),
                                  warnings and errors; log.txt has all.
    --log-format NAME             What the standard output gets: text, or json: one object a line for
                                  each event; see cnntrain help screen. (text, json; default text)
    --dry-run                     Print the resolved run: model, data, batches, length, files, and
                                  estimates of a training's images or sequences per second, duration,
                                  memory and disk (CNNTRAIN_DRY_RUN_ESTIMATE=off: disk only); train
                                  and write nothing.
    --print-config                Print all effective values and their sources.
    --ema                         Take the moving averages of --ema-decay from a checkpoint instead of
                                  its weights.
    --crop-fraction X             F of evaluation: the shorter side of a photo becomes floor(S / F),
                                  then the centre S x S is cut out. (default 0.875; also --crop-pct)
    --resize-mode NAME            Evaluation: crop the centre, squash the whole photo, or pad it with
                                  the mean pixel. (crop, squash, pad; default crop)
    --interpolation NAME          How photos are resized: as TensorFlow 1 does, or with antialiasing
                                  as Pillow and torchvision do. (tf1-bilinear, bilinear, bicubic;
                                  default tf1-bilinear)
    --normalise-mean X ...        Photos: means of R, G and B in 0..1, subtracted from x / 255; needs
                                  --normalise-std. Without them, ImageNet's, as --normalise-input
                                  says. (also --normalize-mean)
    --normalise-std X ...         Photos: deviations of R, G and B, by which the difference from the
                                  mean is divided. (also --normalize-std)
    --maps PATH                   Folder for class-activation maps, which show the places of a photo
                                  that speak for its class: pictures, and maps.npy (numpy), float32,
                                  with a map [H,W] for each prediction.
    --test-time-flip              Validation and inference: use the mean logits of each image and its
                                  mirror image.
    --crop-area X ...             MIN,MAX: share of a training photo's area that its random crop
                                  covers; without it, 0.05,1. (changes nothing here)
    --rand-augment X ...          N,M: apply N random operations of RandAugment with magnitude M (0 to
                                  30) to each training image. (changes nothing here)
    --colour-jitter X ...         B,C,S,H: change brightness, contrast, saturation (by factors from 1
                                  - x to 1 + x) and hue (by -H to H turns) of training images, in
                                  random order. (also --color-jitter; changes nothing here)
    --random-erasing X            Probability with which a rectangle of a training image is replaced
                                  by the mean pixel. (default 0; changes nothing here)
    --balanced-sampling           Draw each class equally often in training: an epoch has as many
                                  images as ever, those of rare classes more than once, and some of
                                  frequent ones in a later epoch. (changes nothing here)
    --padding NAME                Padding of convolutions and pools with a stride: TensorFlow's SAME,
                                  or symmetric as in PyTorch. Without it, that of the weights of
                                  --init-path; for own photos, a ResNet's and ResNeXt's is symmetric.
                                  (same, symmetric; default same)
    --norm-epsilon X              Epsilon of the norms; without it, the model's.
    --bottleneck-stride NAME      Convolution of a bottleneck that has the stride: 1x1 in the first
                                  ResNet and Keras's. (3x3, 1x1; default 3x3)
    --network-form NAME           Stem and sizes for large images like ImageNet's or small ones like
                                  CIFAR's. Without it, the form of the data set; for photos in
                                  folders, the one that has the --model-size, or, if both have it,
                                  small with an --image-size up to 64. (large, small)
  
  Model:
    --model-size TEXT             Depth of a ResNet or ResNeXt (56b: CIFAR ResNet-56 with
                                  bottlenecks); EfficientNet: B0 to B7, Lite0 to Lite4, V2-B0 to
                                  V2-B3, V2-S, V2-M, V2-L, CIFAR.
    --batch-norm                  Batch normalisation. If no norm is given: batch norm for a ResNet or
                                  ResNeXt on CIFAR, otherwise group norm.
    --group-norm                  Group normalisation.
    --groups N                    Groups of the group norm.
    --BN-decay X                  Decay of batch norm's moving averages. (default 0.97; changes
                                  nothing here)
    --recompute-norms             Recompute results of norms in the backward pass where that lowers
                                  the peak of memory: a third less for ResNet-50, 2 to 4 % more time,
                                  the same results. Without --pipeline only; --enable-recomputation
                                  saves more and takes longer. (steers --backend cpu only; changes
                                  nothing here)
  
  ResNeXt:
    --convolution-groups N        Cardinality: groups of a grouped convolution.
    --group-dim N                 Channels per group of a grouped convolution (ResNeXt and
                                  EfficientNet).
    --widenet                     CIFAR: stages as wide as for ImageNet.
  
  EfficientNet:
    --dropout-rate X              Dropout before the last layer; without it, by size. (changes nothing
                                  here)
    --block-survival-prob X       Drop-connect: survival probability of the deepest block. (default
                                  0.8; changes nothing here)
    --no-se                       No squeeze-excite.
    --depth-divisor N             Channel counts are rounded to multiples of this. (default 8)
    --top-width N                 Channels of the head convolution before scaling. (default 1280)
    --use-relu                    ReLU instead of swish or ReLU6.
    --expand-ratio N              Expansion of the MBConv blocks that have 6 otherwise. (default 6)
    --proxy-norm                  Proxy-normalised activations.
    --proxy-epsilon X             Epsilon of the proxy norm. (default 0.03)
    --width-coefficient X         Scale of the channel counts; 0: by size. (default 0)
    --depth-coefficient X         Scale of the block counts; 0: by size. (default 0)
  
  Dataset:
    --dataset NAME                Data set; without it, inferred from the data folder. (imagenet,
                                  cifar-10, cifar-100, folder)
    --data-dir PATH               Folder with TFRecords, CIFAR binaries or photos (train/CLASS/*,
                                  validation/CLASS/* or CLASS/*), tar shards of photos, or a table of
                                  photos and classes (.csv, .jsonl); inference also takes any folder
                                  of photos, or one photo. Without it, the environment's DATA_DIR.
    --photos TEXT ...             Photos to classify, instead of --data-dir: files, folders and
                                  patterns, also as words after the run: cnntrain inference RUN *.jpg.
    --pipeline-num-parallel N     Images processed in parallel. (default 48; changes nothing:
                                  --input-threads says how many threads prepare images)
    --generated-data              One random image from the host, repeated.
    --synthetic-data              Random data made on the device; no input from the host.
    --no-dataset-cache            Do not keep the data set in memory. (changes nothing: the system
                                  keeps files that were read in free memory)
    --dataset-cache-gb X          Memory for records. (default 0 GB; changes nothing: the system keeps
                                  files that were read in free memory)
    --strict-data                 Stop at the first image that cannot be decoded, instead of using the
                                  next one (or, in validation, leaving it out).
    --normalise-input             ImageNet and photos: subtract means and divide by deviations;
                                  without it, subtract means.
    --image-size N                Height and width; not for CIFAR. Without it, the model's. (pixels)
    --train-with-valid-preprocessing
                                  Prepare training images like validation images. (changes nothing
                                  here)
    --hostside-norm               Normalise images on the host instead of the device.
    --standard-imagenet           Read ImageNet's files as one stream instead of several. (changes
                                  nothing: the files are always one stream, whose order depends on the
                                  seed alone)
    --mixup-alpha X               Parameter of mixup's beta distribution; 0: no mixup. (default 0;
                                  changes nothing here)
    --cutmix-lambda X             Share of an image that cutmix keeps; 1: no cutmix. (default 1;
                                  changes nothing here)
    --cutmix-version N            Cutmix variant, 1 or 2. (default 1; changes nothing here)
    --hostside-image-mixing       Mix images on the host instead of the device. (changes nothing here)
    --eight-bit-io                Send images to the device as 8-bit integers.
    --dataset-percentage-to-use N
                                  Share of ImageNet's training records to use, the first ones in file
                                  order; validation always uses all. (default 100 %; changes nothing
                                  here)
    --fused-preprocessing         Normalise ImageNet images in one fused operation, on the device.
                                  (changes nothing: images are always normalised so without
                                  --hostside-norm)
  
  Training:
    --micro-batch-size N          Samples per forward and backward pass of a replica; without it, the
                                  model's. (samples; also --batch-size)
    --gradient-accumulation-count N
                                  Micro-batches per weight update. (default 1; also
                                  --gradients-to-accumulate, --pipeline-depth; changes nothing here)
    --base-learning-rate-exponent X
                                  N of the learning rate 2^N x global batch; without it, the model's.
                                  (also --base-learning-rate; changes nothing here)
    --abs-learning-rate X         The learning rate itself; overrides the exponent. (changes nothing
                                  here)
    --epochs X                    Length of the run; without it, the model's. (epochs; also --epoch;
                                  changes nothing here)
    --iterations N                Length of the run in weight updates, instead of --epochs. In
                                  validation of generated or synthetic data: batches per run.
                                  (iterations; also --num-train-steps)
    --weight-decay X              Coefficient of L2 weight decay; without it, the model's. Biases
                                  decay, too; gammas, betas and EfficientNet's proxies on CIFAR only.
                                  With LARS it applies in addition to --lars-weight-decay. (changes
                                  nothing here)
    --loss-scaling X              Factor on the loss that prevents underflow of 16-bit gradients.
                                  (default 128; changes nothing here)
    --label-smoothing X           Share of the target distributed over the other classes. (default 0;
                                  changes nothing here)
    --smoothing X                 Label smoothing as timm and PyTorch count it, distributed over all C
                                  classes: --label-smoothing X(C-1)/C. (changes nothing here)
    --variable-filter TEXT ...    Train only variables whose names contain one of these. (default
                                  none; changes nothing here)
    --init-path PATH              Checkpoint with the initial weights, or weights of torchvision,
                                  timm, Keras or TensorFlow. (changes nothing here)
    --ckpts-per-epoch N           Checkpoints per epoch; 0: none, so no validation either. (default 1;
                                  changes nothing here)
    --epochs-per-ckpt N           Epochs between checkpoints, instead of --ckpts-per-epoch. (default 0
                                  epochs; changes nothing here)
    --ckpt-epochs-offset N        Epoch from which checkpoints are counted. (default 0 epochs; changes
                                  nothing here)
    --ckpt-all-instances [true|false]
                                  Every process writes checkpoints, to its own run folder. (changes
                                  nothing here)
    --no-validation               Do not validate after training. (changes nothing here)
    --weight-avg-N N ...          Average the weights of the checkpoints of the last N epochs, for
                                  each N. (changes nothing here)
    --weight-avg-exp X ...        Exponential averages of the checkpoints with these decays. (changes
                                  nothing here)
    --shards N                    Devices per replica, one pipeline stage each: the number of
                                  --pipeline-splits plus one. 1: any number of stages. All devices are
                                  in this process, and results are the same; see --lanes. (default 1)
    --replicas N                  Data-parallel replicas in this process. They share one set of
                                  weights and one update; results are those of a
                                  --gradient-accumulation-count that is larger by this factor (but see
                                  --BN-span). (default 1)
    --max-cross-replica-buffer-size N
                                  Size of the gradient buckets that processes, or replicas on IPUs,
                                  sum in one operation. Processes send buckets while the backward pass
                                  continues. (default 10485760 bytes; steers --backend cpu or ipu
                                  only; changes nothing here)
    --pipeline                    Split the network into stages, which process the micro-batches of a
                                  weight update in turn (--pipeline-schedule) or in parallel
                                  (--lanes). Results are those of --gradient-accumulation-count alone.
                                  (changes nothing here)
    --pipeline-splits TEXT ...    Names of the first functions of stages 1, 2, ...
                                  (stage1/unit3/relu), which follow stage 0; required with --pipeline.
                                  (also --pipeline-split; changes nothing here)
    --pipeline-schedule NAME      Order of forward and backward passes in a pipeline of K stages.
                                  Grouped: each stage does one of each at a time;
                                  --gradient-accumulation-count must be a multiple of 2K. Interleaved:
                                  each stage alternates between them, with less memory; a multiple of
                                  K. Sequential: one micro-batch after the other, with the least
                                  memory; any number. Results are the same. (Grouped, Interleaved,
                                  Sequential; default Grouped; changes nothing here)
    --distributed                 Several workers described by TF_CONFIG. (changes nothing here)
    --syncs-per-epoch N           Broadcasts of the weights per epoch, under poprun. (default 0;
                                  changes nothing here)
    --epochs-per-sync X           Epochs between broadcasts of the weights, under poprun. (default 0
                                  epochs; changes nothing here)
    --rts                         Split the optimiser's state and its update over the processes, or
                                  over the replicas on IPUs. (changes nothing here)
    --optimiser NAME              Optimiser. RMSprop's mean square starts at 1, as in TensorFlow 1.
                                  AdamW and LAMB apply weight decay to the weights directly, not
                                  through the gradient. AdamW, LAMB and nesterov need a learning rate.
                                  LAMB's trust ratio is 1 for every gamma, beta and bias. (SGD,
                                  RMSprop, momentum, LARS, AdamW, LAMB, nesterov; default SGD; changes
                                  nothing here)
    --momentum X                  Momentum coefficient of momentum, nesterov, RMSprop and LARS.
                                  (default 0.9; changes nothing here)
    --rmsprop-decay X             RMSprop: decay of the mean square. (changes nothing here)
    --rmsprop-base-decay-exp X    RMSprop: N of the decay 1 - 2^N x global batch. (changes nothing
                                  here)
    --rmsprop-epsilon X           RMSprop: epsilon inside the square root. (default 0.001; changes
                                  nothing here)
    --beta1 X                     AdamW, LAMB: decay of the mean of gradients. (default 0.9; changes
                                  nothing here)
    --beta2 X                     AdamW, LAMB: decay of the mean of squared gradients. (default 0.999;
                                  changes nothing here)
    --adam-epsilon X              AdamW, LAMB: number added to the root of the mean of squared
                                  gradients. (default 1e-06; changes nothing here)
    --offload-fp32-weight-copy    Keep 32-bit masters of 16-bit weights inside the optimiser. (changes
                                  nothing here)
    --lars-epsilon X              LARS: epsilon of the trust ratio. (default 0; changes nothing here)
    --lars-skip-list TEXT ...     LARS: variables whose names contain one of these have trust ratio 1
                                  and no weight decay. (default beta gamma bias; changes nothing here)
    --lars-weight-decay X         LARS: its own weight decay; without it, the model's. (changes
                                  nothing here)
    --lars-eeta X                 LARS: factor of the trust ratio. (default 0.001; changes nothing
                                  here)
  
  Device:
    --precision NAME              Bits of computation and of master weights. 16: weights are stored in
                                  16 bits (bfloat16 on a CPU, half on an IPU) and computed with at
                                  least that precision (--compute-type). (16.16, 16.32, 32.32; default
                                  16.16)
    --compute-type NAME           Data type of computation where the compute type is 16. auto: the
                                  fastest on this processor (bf16 with AMX and on AMD processors with
                                  AVX512-BF16, otherwise f32). 16-bit weights stay 16-bit. (auto,
                                  bf16, f32; default auto; steers --backend cpu only)
    --force-weight-to-fp16 TEXT ...
                                  Store the master weights of variables whose names contain one of
                                  these in 16 bits. (default none)
    --force-weight-to-fp32 TEXT ...
                                  Store the master weights of variables whose names contain one of
                                  these in 32 bits. (default none)
    --stochastic-rounding NAME    Stochastic rounding to 16 bits in training; validation never uses
                                  it. CPUs round weights, IPUs all 16-bit results. RI_prng_stable:
                                  IPUs round stochastically only in updates, in which all replicas are
                                  equal. ON_prng_stable: the same as ON. (ON, ON_prng_stable,
                                  RI_prng_stable, OFF; default ON; also --no-stochastic-rounding;
                                  steers --backend cpu or ipu only; changes nothing here)
    --device-iterations N         Maximum number of iterations in one host step. (default 1000
                                  iterations; also --batches-per-step; changes nothing here)
    --seed N                      Makes the run reproducible: the same command line gives the same
                                  results on the same processor, with any number of input threads.
                                  Another --threads may change the last digits, unless
                                  --thread-independent is given.
    --BN-span N                   Replicas that share batch-norm statistics: a divisor of --replicas,
                                  or all replicas of several processes. Replicas of one process are
                                  computed together, in micro-batches that are larger by this factor,
                                  in which mixup and cutmix also find their partners. Processes
                                  exchange the statistics at every norm, and then have one lane each.
                                  (default 1; changes nothing here)
    --dataset-benchmark           Measure the input pipeline only.
    --compile-only                Build the executable and stop.
    --prefetch-depth N            Micro-batches prepared ahead; with --backend ipu also those in the
                                  buffers of streams to the IPUs.
    --latency                     Measure latencies in validation: the time from when a batch is ready
                                  on the host to its result. It includes waiting in the queue, whose
                                  length is 1 unless --prefetch-depth is given. (changes nothing here)
    --analyse-nans                Count the NaNs of every checkpoint, for Weights & Biases and
                                  TensorBoard. (changes nothing here)
    --enable-recomputation        Keep few activations and recompute the others in the backward pass:
                                  less memory, the same results. (also --enable-recompute,
                                  --xla-recompute; changes nothing here)
  
  Logging:
    --log-dir TEXT                Folder in which run folders are created; evaluations have one if
                                  this or --logs-path is given. (default ./logs/)
    --logs-path TEXT              Path of the run folder.
    --overwrite                   Remove the run in --logs-path, except for files that a user has
                                  named, and start a new one there; inference: replace a file of
                                  predictions.
    --name-suffix TEXT            Added to the run's name after an underscore.
    --logs-per-epoch N            Log lines per epoch, if the length is given in epochs. (default 16;
                                  changes nothing here)
    --log-freq N                  Iterations between log lines, if the length is given in iterations.
                                  (default 500 iterations; changes nothing here)
    --no-logs                     Create no run folder; checkpoints are written under /tmp.
    --log-all-instances [true|false]
                                  Every process writes logs, to its own run folder. (changes nothing
                                  here)
    --mlperf-logging              Write an MLPerf log, result_<seed>.txt, into the run folder.
                                  (changes nothing here)
    --no-tensorboard              Write no TensorBoard event files to the run folder.
    --wandb                       Log to Weights & Biases through the installed wandb client (pip
                                  install wandb).
    --wandb-project TEXT          Weights & Biases project. (default tf-cnn)
    --profile                     Measure --profile-steps weight updates of the training and write
                                  where their time goes to the run folder. `cnntrain profile` measures
                                  any line without a run. (steers --backend cpu only; changes nothing
                                  here)
  
  IPU:
    --no-proxy-recompute          Keep the proxy norm's activations instead of recomputing them.
                                  (steers IPUs only)
    --gradient-mean-reduce-re TEXT ...
                                  Regular expressions of variables whose gradients are reduced by mean
                                  instead of sum. (default none; steers IPUs only)
    --sharding-exclude-filter TEXT ...
                                  Steered automatic sharding in old releases. (steers IPUs only)
    --sharding-include-filter TEXT ...
                                  Steered automatic sharding in old releases. (steers IPUs only)
    --min-remote-tensor-size N    Smallest state of an optimiser that is stored off the chip. (default
                                  128 bytes; steers IPUs only; changes nothing here)
    --stable-norm                 Variances in the norms are means of squared deviations, instead of
                                  mean squares minus squared means. (steers IPUs only)
    --force-unstable-norm         EfficientNet on ImageNet: no --stable-norm, which is its default.
                                  (steers IPUs only)
    --enable-half-partials        Accumulate convolutions and matrix products of halves in half.
                                  (steers IPUs only)
    --gather-conv-output          Gather the output of convolutions before the norm's reduction.
                                  (steers IPUs only)
    --select-ipu TEXT ...         Device to run on: AUTO, its number in Poplar's list, or two of these
                                  for training and validation. (default AUTO; also --select-ipus;
                                  steers IPUs only)
    --fp-exceptions               Stop at invalid operations, divisions by zero and overflows. (steers
                                  IPUs only)
    --identical-replica-seeding   All replicas round stochastically with the same random numbers.
                                  (steers IPUs only; changes nothing here)
    --available-memory-proportion X ...
                                  Share of each tile's memory for temporary data of convolutions and
                                  matrix products: one value, or two per pipeline device, of its
                                  forward and of its backward pass. (steers IPUs only)
    --disable-variable-offloading
                                  Keep the optimiser's state on the chip. (steers IPUs only; changes
                                  nothing here)
    --enable-conv-dithering       Let convolutions begin on different tiles, which spreads their
                                  memory. (steers IPUs only)
    --internal-exchange-optimisation-target NAME
                                  Optimisation target of the exchange. (balanced, cycles, memory;
                                  steers IPUs only)
    --on-demand                   Take the IPU when it is needed. (steers IPUs only)
    --num-io-tiles N              Tiles reserved for input and output. (default 0; steers IPUs only)
    --max-reduce-many-buffer-size N
                                  Buffer that merges reductions. (default 0 bytes; steers IPUs only)
    --saturate-on-overflow        Overflows of half give its largest number instead of NaN. (steers
                                  IPUs only)
    --scheduling-algorithm NAME   Order of operations in the compiled program. (choose-best,
                                  clustering, post-order, look-ahead, shortest-path; default
                                  choose-best; steers IPUs only)
    --only-use-slic-vmac-16       Grouped convolutions with 16 input channels at a time only. (steers
                                  IPUs only)
    --profile-compilation         Profile the compilation. (steers IPUs only)
    --gcl-method NAME             Algorithm of the all-reduce. (auto, broadcast, clockwise_ring,
                                  anticlockwise_ring, bidirectional_ring_pair, meet_in_middle_ring,
                                  quad_directional_ring; steers IPUs only)
    --gcl-max-broadcast-size N    Largest all-reduce done by broadcast. (bytes; steers IPUs only)
    --executable-cache-path TEXT  Folder of compiled executables. (default none; steers IPUs only)
    --poplar-sync-configuration NAME
                                  Which IPUs synchronise with the host. ('',
                                  ipuAndInstanceAndIntraReplicaAndAll; default none; steers IPUs only)
  
  Long options may be shortened while they stay unambiguous; every boolean has a --no- form.
