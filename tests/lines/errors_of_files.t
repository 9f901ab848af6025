Files that are missing, damaged, somebody's or of another kind.

  $ . "$TESTDIR/setup.sh"
  $ cnntrain train --data-dir nowhere --model-size 18
  error: the data folder 'nowhere' does not exist; give --data-dir a folder with a data set (imagenet, cifar-10, cifar-100 or folder)
  [2]
  $ mkdir empty && cnntrain train --data-dir empty --model-size 18
  error: --dataset is not given and cannot be detected from the data folder 'empty'; give --dataset imagenet, cifar-10, cifar-100 or folder; photos lie in a folder for each class, PHOTOS/<class>/, or a table names their files and classes (.csv)
  [2]
  $ cnntrain validation --restore-path nowhere
  error: --restore-path nowhere: there is no such run or checkpoint
  [2]
  $ cnntrain restore --restore-path nowhere
  error: --restore-path nowhere: no arguments.json there; give the folder of a run, or resume with the run's own line and --restore-path (train) or --restore-dir (pretrain)
  [1]
  $ cnntrain report nowhere
  error: nowhere: there is no such folder; give the folder of a run, which holds arguments.json and training.csv
  [1]
  $ cnntrain convert --from nothing.pth --to model.onnx
  error: no checkpoint 'nothing.pth'; there is none in '.'
  [1]
  $ echo "not weights" > weights.pth && cnntrain convert --from weights.pth --to model.onnx
  error: checkpoint 'weights.pth': it does not begin like a safetensors file; the file is damaged or not a checkpoint: use another one
  [3]
  $ echo "not a checkpoint" > ckpt-1.safetensors && cnntrain analyse --restore-path ckpt-1 --list
  error: checkpoint 'ckpt-1.safetensors': it does not begin like a safetensors file; the file is damaged or not a checkpoint: use another one
  [3]
  $ cnntrain dataset cifar --train 64 --test 32 --output-dir data
  Wrote 64 training and 32 test images of 10 classes to data/cifar-10-batches-bin
A run, and what may not be written over it.

  $ cnntrain train --data-dir data --dataset cifar-10 --model-size 8 --precision 32.32 --micro-batch-size 8 --iterations 2 --no-validation --seed 1 --logs-path run --no-tensorboard | brief
  Command line: cnntrain train --data-dir data --dataset cifar-10 --model-size 8 --precision N --micro-batch-size 8 --iterations 2 --no-validation --seed 1 --logs-path run --no-tensorboard
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  cifar-10
  ResNet-8
   Batch Norm
  Training
   Batch Size: 8
   Base Learning Rate: 2**-6
   Weight Decay: N
   Loss Scaling: 128
   Iterations: 2
  SGD
  Stepped LR schedule
   Warmup: 5 epochs
   Drops at [0.5, N]
   Decay factor 0.1
  No Validation
  Device
   Precision: N
   Arithmetic: ...
   Backend: cpu
   HOST
   DATE
  Logging
   Name: RUN
   Saving to run
   Checkpoints: 2 of 303.1 kB: 606.2 kB
  
  {...}
  
  Compilation time: TIME.
  Saved initial checkpoint to run/ckpt-0
  step: 1, iteration: 2, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  Saved checkpoint to run/ckpt-2 in TIMEs
  Training loop completed in TIMEs.
  $ cnntrain train --data-dir data --dataset cifar-10 --model-size 8 --precision 32.32 --micro-batch-size 8 --iterations 2 --no-validation --seed 1 --logs-path run
  error: run: holds an earlier run (ckpt-0.safetensors and 3 more of its results); continue that run from ckpt-2 with cnntrain restore --restore-path run, remove its files with --overwrite, or choose another --logs-path
  [2]
  $ cnntrain train --data-dir data --dataset cifar-10 --model-size 8 --precision 32.32 --logs-path data/cifar-10-batches-bin/data_batch_1.bin/run
  error: data/cifar-10-batches-bin/data_batch_1.bin/run: no folder can be made there, because HERE/data/cifar-10-batches-bin/data_batch_1.bin is no folder; choose another --logs-path
  [2]
  $ cnntrain validation --restore-path run --model-size 14 --data-dir data --dataset cifar-10
  [info] --model-size: the run has 8, this line 14
  Command line: cnntrain validation --restore-path run --model-size 14 --data-dir data --dataset cifar-10
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  cifar-10
  ResNet-14
   Batch Norm
  Validation
   Batch Size: 8
  Device
   Precision: 32.32
   Arithmetic: ...
   Backend: cpu
   HOST
   DATE
  Logging
   Name: RUN
  
  {...}
  Compilation time: TIME.
  error: checkpoint 'run/ckpt-0.safetensors' does not fit the model; give the model flags that it was trained with, or another checkpoint. Tensors:
    missing: all/stage1/unit2/bn1/batch_norm/beta [16]
    missing: all/stage1/unit2/bn1/batch_norm/gamma [16]
    missing: all/stage1/unit2/bn1/batch_norm/moving_mean [16]
    missing: all/stage1/unit2/bn1/batch_norm/moving_variance [16]
    missing: all/stage1/unit2/bn2/batch_norm/beta [16]
    missing: all/stage1/unit2/bn2/batch_norm/gamma [16]
    missing: all/stage1/unit2/bn2/batch_norm/moving_mean [16]
    missing: all/stage1/unit2/bn2/batch_norm/moving_variance [16]
    missing: all/stage1/unit2/conv1/weight [3, 3, 16, 16]
    missing: all/stage1/unit2/conv2/weight [3, 3, 16, 16]
    missing: all/stage2/unit2/bn1/batch_norm/beta [32]
    missing: all/stage2/unit2/bn1/batch_norm/gamma [32]
    missing: all/stage2/unit2/bn1/batch_norm/moving_mean [32]
    missing: all/stage2/unit2/bn1/batch_norm/moving_variance [32]
    missing: all/stage2/unit2/bn2/batch_norm/beta [32]
    missing: all/stage2/unit2/bn2/batch_norm/gamma [32]
    missing: all/stage2/unit2/bn2/batch_norm/moving_mean [32]
    missing: all/stage2/unit2/bn2/batch_norm/moving_variance [32]
    missing: all/stage2/unit2/conv1/weight [3, 3, 32, 32]
    missing: all/stage2/unit2/conv2/weight [3, 3, 32, 32]
    missing: all/stage3/unit2/bn1/batch_norm/beta [64]
    missing: all/stage3/unit2/bn1/batch_norm/gamma [64]
    missing: all/stage3/unit2/bn1/batch_norm/moving_mean [64]
    missing: all/stage3/unit2/bn1/batch_norm/moving_variance [64]
    missing: all/stage3/unit2/bn2/batch_norm/beta [64]
    missing: all/stage3/unit2/bn2/batch_norm/gamma [64]
    missing: all/stage3/unit2/bn2/batch_norm/moving_mean [64]
    missing: all/stage3/unit2/bn2/batch_norm/moving_variance [64]
    missing: all/stage3/unit2/conv1/weight [3, 3, 64, 64]
    missing: all/stage3/unit2/conv2/weight [3, 3, 64, 64]
  [3]
  $ cnntrain validation --restore-path run/ckpt-9
  error: no checkpoint 'run/ckpt-9'; in 'run' there are: ckpt-0, ckpt-2
  [1]
  $ head -c 3000 run/ckpt-2.safetensors > run/ckpt-3.safetensors && cnntrain validation --restore-path run/ckpt-3
  Command line: cnntrain validation --restore-path run/ckpt-3
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  cifar-10
  ResNet-8
   Batch Norm
  Validation
   Batch Size: 8
  Device
   Precision: 32.32
   Arithmetic: ...
   Backend: cpu
   HOST
   DATE
  Logging
   Name: RUN
  
  {...}
  error: checkpoint 'run/ckpt-3.safetensors': it is cut short: its header needs 4920 bytes, the whole file has 3000 bytes; the file is damaged or not a checkpoint: use another one
  [3]
  $ cnntrain report run --output run/training.csv
  error: --output run/training.csv: this is also the run's file run/training.csv, which is read; choose another name
  [2]
  $ cnntrain report run --output run/ckpt-9.safetensors
  error: --output run/ckpt-9.safetensors: the run's own checkpoints have such names; choose another name, for example run/ckpt/mean
  [2]
  $ cnntrain report run --data-dir nowhere
  error: --data-dir nowhere: there is no such folder or file
  [3]
  $ echo "my page" > run/report.html && cnntrain report run
  error: --output run/report.html: the file exists already; choose another name, or replace it with --overwrite
  [2]
  $ cnntrain restore --restore-path run --iterations 1
  error: checkpoint 'run/ckpt-3.safetensors': it is cut short: its header needs 4920 bytes, the whole file has 3000 bytes; the file is damaged or not a checkpoint: use another one
  [3]
  $ truncate -s 1000 data/cifar-10-batches-bin/data_batch_1.bin && cnntrain train --data-dir data --dataset cifar-10 --model-size 8 --precision 32.32 --no-logs --ckpts-per-epoch 0
  error: HERE/data/cifar-10-batches-bin/data_batch_1.bin: a cifar-10 file is a whole number of 3073-byte records; expected 3073 bytes, found 1000; copy the file again
  [3]
  $ cnntrain train --data-dir data --dataset cifar-10 --model-size 8 --precision 32.32 --logs-path /dev/null
  error: HERE/data/cifar-10-batches-bin/data_batch_1.bin: a cifar-10 file is a whole number of 3073-byte records; expected 3073 bytes, found 1000; copy the file again
  [3]
