The log of a documented line, and what follows a training.

  $ . "$TESTDIR/setup.sh"
  $ cnntrain dataset cifar --train 64 --test 32 --output-dir data
  Wrote 64 training and 32 test images of 10 classes to data/cifar-10-batches-bin
  $ cnntrain train.py --data-dir data --dataset cifar-10 --model-size 8 --precision 32.32 --batch-size 8 --epochs 2 --warmup-epochs 0 --seed 1 --logs-path run | without_digits
  Command line: cnntrain train.py --data-dir data --dataset cifar-10 --model-size 8 --precision N --batch-size 8 --epochs 2 --warmup-epochs 0 --seed 1 --logs-path run
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  Using 32-bit IO between the IPU and host
  
  cifar-10
  ResNet-8
   Batch Norm
  Training
   Batch Size: 8
   Base Learning Rate: 2**-6
   Weight Decay: N
   Loss Scaling: 128
   Epochs: 2
  SGD
  Stepped LR schedule
   No warmup
   Drops at [0.5, N]
   Decay factor 0.1
  Validation
   Batch Size: 8
  Using Infeeds
   Max Batches Per Step: 1
  Device
   Precision: N
   Arithmetic: ...
   Half partials: False
   Backend: cpu
   HOST
   DATE
  Logging
   Name: RUN
   Saving to run
   Checkpoints: 3 of 303.1 kB: 909.2 kB
  
  {...}
  Trainable Variables:
  all/stage0/conv0/weight f32[3, 3, 3, 16]
  all/stage0/bn0/batch_norm/beta f32[16]
  all/stage0/bn0/batch_norm/gamma f32[16]
  all/stage1/unit1/conv1/weight f32[3, 3, 16, 16]
  all/stage1/unit1/bn1/batch_norm/beta f32[16]
  all/stage1/unit1/bn1/batch_norm/gamma f32[16]
  all/stage1/unit1/conv2/weight f32[3, 3, 16, 16]
  all/stage1/unit1/bn2/batch_norm/beta f32[16]
  all/stage1/unit1/bn2/batch_norm/gamma f32[16]
  all/stage2/unit1/conv1/weight f32[3, 3, 16, 32]
  all/stage2/unit1/bn1/batch_norm/beta f32[32]
  all/stage2/unit1/bn1/batch_norm/gamma f32[32]
  all/stage2/unit1/conv2/weight f32[3, 3, 32, 32]
  all/stage2/unit1/bn2/batch_norm/beta f32[32]
  all/stage2/unit1/bn2/batch_norm/gamma f32[32]
  all/stage3/unit1/conv1/weight f32[3, 3, 32, 64]
  all/stage3/unit1/bn1/batch_norm/beta f32[64]
  all/stage3/unit1/bn1/batch_norm/gamma f32[64]
  all/stage3/unit1/conv2/weight f32[3, 3, 64, 64]
  all/stage3/unit1/bn2/batch_norm/beta f32[64]
  all/stage3/unit1/bn2/batch_norm/gamma f32[64]
  all/fc1/weight f32[64, 10]
  all/fc1/bias f32[10]
  Total Parameters:75290
  
  Compilation time: TIME.
  Warning: batch norm's moving averages still have N % of their start after the 8 updates before the first validation (--BN-decay N): until about 99 updates are done, validations say little; --BN-decay N leaves N %, and a smaller batch makes more updates
  Saved initial checkpoint to run/ckpt-0
  step: 1, iteration: 1, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 2, iteration: 2, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 3, iteration: 3, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 4, iteration: 4, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 5, iteration: 5, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 6, iteration: 6, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 7, iteration: 7, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 8, iteration: 8, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  Saved checkpoint to run/ckpt-8 in TIMEs
  step: 9, iteration: 9, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 10, iteration: 10, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 11, iteration: 11, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 12, iteration: 12, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 13, iteration: 13, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 14, iteration: 14, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 15, iteration: 15, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 16, iteration: 16, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  Saved checkpoint to run/ckpt-16 in TIMEs
  Training loop completed in TIMEs.
  Validation top-1 accuracy: N % [ckpt-8] (iteration: 8, epoch: N, throughput: RATE samples/sec, time: TIME, latency avg: TIME)
  Validation top-1 accuracy: N % [ckpt-16] (iteration: 16, epoch: N, throughput: RATE samples/sec, time: TIME, latency avg: TIME)
  Time to train: TIMEs.
  $ cnntrain validation.py --restore-path run --data-dir data --dataset cifar-10 --model-size 8 --precision 32.32 --logs-path checked | without_digits
  Command line: cnntrain validation.py --restore-path run --data-dir data --dataset cifar-10 --model-size 8 --precision N --logs-path checked
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  Using 32-bit IO between the IPU and host
  
  cifar-10
  ResNet-8
   Batch Norm
  Validation
   Batch Size: 8
  Device
   Precision: N
   Arithmetic: ...
   Half partials: False
   Backend: cpu
   HOST
   DATE
  Logging
   Name: RUN
   Saving to checked
  
  {...}
  Compilation time: TIME.
  Validation top-1 accuracy: N % [ckpt-0] (iteration: 0, epoch: N, throughput: RATE samples/sec, time: TIME, latency avg: TIME)
  Validation top-1 accuracy: N % [ckpt-8] (iteration: 8, epoch: N, throughput: RATE samples/sec, time: TIME, latency avg: TIME)
  Validation top-1 accuracy: N % [ckpt-16] (iteration: 16, epoch: N, throughput: RATE samples/sec, time: TIME, latency avg: TIME)
  $ cnntrain weight_avg.py --restore-path run --mode mean --filename mean | without_digits
  Checkpoints found: 3
  Checkpoints discarded: 0
  Checkpoints used: 3
  Mode: mean
  Averaging complete: saved to mean.safetensors
  $ cnntrain analyse --restore-path run --find-nans | without_digits
  ckpt-0: no NaNs
  ckpt-8: no NaNs
  ckpt-16: no NaNs
  $ cnntrain inference --generated-data --dataset cifar-10 --model-size 8 --iterations 3 --batch-size 4 --no-logs | without_digits
  [warning] no --restore-path: the weights are random
  Command line: cnntrain inference --generated-data --dataset cifar-10 --model-size 8 --iterations 3 --batch-size 4 --no-logs
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  cifar-10
   Generated random Data
  ResNet-8
   Batch Norm
  Validation
   Batch Size: 4
  Device
   Precision: N
   Arithmetic: ...
   Backend: cpu
   HOST
   DATE
  Logging
   Name: RUN
  
  {...}
  Saved the compiled model to model_resnet8_bs_4_bps_1000_random_nolabels.cnntrain_exec
  Compilation time: TIME.
  latency avg: TIME, latency 99p: TIME ms, latency 99p9: TIME ms, latency max: TIME ms
  Validation top-1 accuracy [random] (iteration: 0, epoch: N, throughput: RATE samples/sec, time: TIME, latency avg: TIME: -N%
  $ cnntrain dataset inspect data | without_digits
  cifar-10 train: cifar-10, 64 records in 5 files, 196.7 kB
    record bytes   3073, median 3073
    image height   32
    image width    32
    image kinds    0 grey, 0 CMYK, 0 progressive, 0 not JPEG
    labels         10 classes, 0..9; records per class 6..7 (mean 6.4)
      most frequent 0 (7), 1 (7), 2 (7), 3 (7), 4 (6)
      rarest       5 (6), 6 (6), 7 (6), 8 (6), 9 (6)
  
  cifar-10 test: cifar-10, 32 records in 1 file, 98.3 kB
    record bytes   3073, median 3073
    image height   32
    image width    32
    image kinds    0 grey, 0 CMYK, 0 progressive, 0 not JPEG
    labels         10 classes, 0..9; records per class 3..4 (mean 3.2)
      most frequent 0 (4), 1 (4), 2 (3), 3 (3), 4 (3)
      rarest       5 (3), 6 (3), 7 (3), 8 (3), 9 (3)
  $ cnntrain dataset verify data | without_digits
  data: nothing is wrong
    files             6
    records           96
    checked           295.0 kB in TIME s, N GB/s
  note: cifar-10 train: 64 images; the published set has 50000
  note: cifar-10 test: 32 images; the published set has 10000
  $ ls run checked | plain | sort
  
  arguments.json
  arguments.json
  checked:
  ckpt-0.safetensors
  ckpt-16.safetensors
  ckpt-8.safetensors
  events.out.tfevents.TIME
  events.out.tfevents.TIME
  log.txt
  log.txt
  run:
  time_split.csv
  training.csv
  validation.csv
  validation.csv
  $ OMP_THREAD_LIMIT=1 cnntrain train --dataset cifar-10 --generated-data --model-size 8 --threads 2 --iterations 1 --no-validation --logs-path limited | grep -c completed
  1
