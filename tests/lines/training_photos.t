Own photos, from their folder to a model for other programs.

  $ . "$TESTDIR/setup.sh"
  $ cnntrain dataset photos --output-dir photos --train 24 --validation 12 --seed 1
  Wrote 24 training and 12 validation photos of 8 shapes to photos
  $ cnntrain train --data-dir photos --model-size 18 --precision 32.32 --image-size 32 --micro-batch-size 8 --epochs 2 --no-validation --seed 1 --logs-path run --dry-run
  [info] for 24 photos and random weights, these settings were chosen:
    --batch-norm: it learns faster than group norm
    --optimiser AdamW: it learns faster than SGD
    --weight-decay 0.05: reduces over-fitting on few photos
    --abs-learning-rate 5e-04: 0.001 at batch size 32, scaled with the batch
    --lr-schedule cosine: it fits every length of a run
    --label-smoothing 0.1: reduces over-fitting on few photos
    --warmup-epochs 0.1: a part of the epochs, for large first gradients
    --BN-decay 0.9: for 3 updates an epoch
    --padding symmetric: as in torchvision and timm, for convert
    --interpolation bilinear: antialiased where photos are shrunk
    --crop-area 0.35 1: random crops, not too small
    --crop-fraction 1: small images fill their frame
    --keep-ckpts 3: the newest, for resuming; 0 keeps all
  Dry run:          train; no sample is computed, nothing is written
  Model:            resnet 18, batch norm, 11180616 parameters, 0.085261 GFLOP forward per image
  Data:             folder from photos, 24 training images of 32 x 32
  Input: ...
  Batch:            8 (micro-batch) x 1 (accumulated) x 1 (replicas) = 8
  Length:           6 iterations, 2 epochs of 3 iterations; a log line every 1, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.05, loss scaling 128, label smoothing 0.1
  Learning rate:    cosine, base 5e-04, warm-up 0 iterations (0.1 epochs)
  Rates:            0.0005 at 0, 0.00046651 at 1, 0.00025 at 3, 0.000125 at 4, 3.3494e-05 at 5
  Checkpoints:      after iterations 3, 6
  Validation:       none
  Precision:        32.32, stochastic rounding ON, backend cpu
  Seed:             1
  Files:            run/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 3 of 134.2 MB: 402.6 MB
  $ cnntrain train --data-dir photos --model-size 18 --precision 32.32 --image-size 32 --micro-batch-size 8 --epochs 2 --no-validation --seed 1 --logs-path run | brief
  [info] for 24 photos and random weights, these settings were chosen:
    --batch-norm: it learns faster than group norm
    --optimiser AdamW: it learns faster than SGD
    --weight-decay N: reduces over-fitting on few photos
    --abs-learning-rate N: N at batch size 32, scaled with the batch
    --lr-schedule cosine: it fits every length of a run
    --label-smoothing 0.1: reduces over-fitting on few photos
    --warmup-epochs 0.1: a part of the epochs, for large first gradients
    --BN-decay 0.9: for 3 updates an epoch
    --padding symmetric: as in torchvision and timm, for convert
    --interpolation bilinear: antialiased where photos are shrunk
    --crop-area N 1: random crops, not too small
    --crop-fraction 1: small images fill their frame
    --keep-ckpts 3: the newest, for resuming; 0 keeps all
  Command line: cnntrain train --data-dir photos --model-size 18 --precision N --image-size 32 --micro-batch-size 8 --epochs 2 --no-validation --seed 1 --logs-path run
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  folder
  ResNet-18
   Batch Norm
    Decay: 0.9
  Training
   Batch Size: 8
   Base Learning Rate: 2**-N
   Weight Decay: N
   Loss Scaling: 128
   Epochs: 2
  AdamW
   Betas: 0.9 N
   Epsilon: N
  Cosine LR schedule
   Warmup: 0.1 epochs
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
   Checkpoints: 3 of 134.2 MB: 402.6 MB
  Image Size: 32x32
  
  {...}
  
  Compilation time: TIME.
  Saved initial checkpoint to run/ckpt-0
  step: 1, iteration: 1, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 2, iteration: 2, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 3, iteration: 3, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  Saved checkpoint to run/ckpt-3 in TIMEs
  step: 4, iteration: 4, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 5, iteration: 5, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 6, iteration: 6, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  Saved checkpoint to run/ckpt-6 in TIMEs
  Training loop completed in TIMEs.
  $ cnntrain restore --restore-path run
  Command line: cnntrain restore --restore-path run
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  folder
   Pipeline Num Parallel: 48
  ResNet-18
   Batch Norm
    Decay: 0.9
  Training
   Batch Size: 8
   Base Learning Rate: 2**-13.965784284662087
   Weight Decay: 0.05
   Loss Scaling: 128
   Epochs: 2
  AdamW
   Betas: 0.9 0.999
   Epsilon: 1e-06
  Cosine LR schedule
   Warmup: 0.1 epochs
  No Validation
  Device
   Precision: 32.32
   Arithmetic: ...
   Backend: cpu
   HOST
   DATE
  Logging
   Name: run
   Saving to run
   Checkpoints: 3 of 134.2 MB: 402.6 MB
  Image Size: 32x32
  
  {...}
  Trainable Variables:
  all/stage0/conv0/weight f32[7, 7, 3, 64]
  all/stage0/bn0/batch_norm/beta f32[64]
  all/stage0/bn0/batch_norm/gamma f32[64]
  all/stage1/unit1/conv1/weight f32[3, 3, 64, 64]
  all/stage1/unit1/bn1/batch_norm/beta f32[64]
  all/stage1/unit1/bn1/batch_norm/gamma f32[64]
  all/stage1/unit1/conv2/weight f32[3, 3, 64, 64]
  all/stage1/unit1/bn2/batch_norm/beta f32[64]
  all/stage1/unit1/bn2/batch_norm/gamma f32[64]
  all/stage1/unit2/conv1/weight f32[3, 3, 64, 64]
  all/stage1/unit2/bn1/batch_norm/beta f32[64]
  all/stage1/unit2/bn1/batch_norm/gamma f32[64]
  all/stage1/unit2/conv2/weight f32[3, 3, 64, 64]
  all/stage1/unit2/bn2/batch_norm/beta f32[64]
  all/stage1/unit2/bn2/batch_norm/gamma f32[64]
  all/stage2/unit1/conv1/weight f32[3, 3, 64, 128]
  all/stage2/unit1/bn1/batch_norm/beta f32[128]
  all/stage2/unit1/bn1/batch_norm/gamma f32[128]
  all/stage2/unit1/conv2/weight f32[3, 3, 128, 128]
  all/stage2/unit1/bn2/batch_norm/beta f32[128]
  all/stage2/unit1/bn2/batch_norm/gamma f32[128]
  all/stage2/unit1/conv1sc/weight f32[1, 1, 64, 128]
  all/stage2/unit1/bnsc/batch_norm/beta f32[128]
  all/stage2/unit1/bnsc/batch_norm/gamma f32[128]
  all/stage2/unit2/conv1/weight f32[3, 3, 128, 128]
  all/stage2/unit2/bn1/batch_norm/beta f32[128]
  all/stage2/unit2/bn1/batch_norm/gamma f32[128]
  all/stage2/unit2/conv2/weight f32[3, 3, 128, 128]
  all/stage2/unit2/bn2/batch_norm/beta f32[128]
  all/stage2/unit2/bn2/batch_norm/gamma f32[128]
  all/stage3/unit1/conv1/weight f32[3, 3, 128, 256]
  all/stage3/unit1/bn1/batch_norm/beta f32[256]
  all/stage3/unit1/bn1/batch_norm/gamma f32[256]
  all/stage3/unit1/conv2/weight f32[3, 3, 256, 256]
  all/stage3/unit1/bn2/batch_norm/beta f32[256]
  all/stage3/unit1/bn2/batch_norm/gamma f32[256]
  all/stage3/unit1/conv1sc/weight f32[1, 1, 128, 256]
  all/stage3/unit1/bnsc/batch_norm/beta f32[256]
  all/stage3/unit1/bnsc/batch_norm/gamma f32[256]
  all/stage3/unit2/conv1/weight f32[3, 3, 256, 256]
  all/stage3/unit2/bn1/batch_norm/beta f32[256]
  all/stage3/unit2/bn1/batch_norm/gamma f32[256]
  all/stage3/unit2/conv2/weight f32[3, 3, 256, 256]
  all/stage3/unit2/bn2/batch_norm/beta f32[256]
  all/stage3/unit2/bn2/batch_norm/gamma f32[256]
  all/stage4/unit1/conv1/weight f32[3, 3, 256, 512]
  all/stage4/unit1/bn1/batch_norm/beta f32[512]
  all/stage4/unit1/bn1/batch_norm/gamma f32[512]
  all/stage4/unit1/conv2/weight f32[3, 3, 512, 512]
  all/stage4/unit1/bn2/batch_norm/beta f32[512]
  all/stage4/unit1/bn2/batch_norm/gamma f32[512]
  all/stage4/unit1/conv1sc/weight f32[1, 1, 256, 512]
  all/stage4/unit1/bnsc/batch_norm/beta f32[512]
  all/stage4/unit1/bnsc/batch_norm/gamma f32[512]
  all/stage4/unit2/conv1/weight f32[3, 3, 512, 512]
  all/stage4/unit2/bn1/batch_norm/beta f32[512]
  all/stage4/unit2/bn1/batch_norm/gamma f32[512]
  all/stage4/unit2/conv2/weight f32[3, 3, 512, 512]
  all/stage4/unit2/bn2/batch_norm/beta f32[512]
  all/stage4/unit2/bn2/batch_norm/gamma f32[512]
  all/fc1/weight f32[512, 8]
  all/fc1/bias f32[8]
  Total Parameters:11180616
  
  Restoring training from latest checkpoint: run/ckpt-6
  Compilation time: TIME.
  The run is finished: all 6 iterations are done; to train on, restore with a larger --epochs
  Training loop completed in TIMEs.
  $ cnntrain restore --restore-path run --epochs 3 | brief
  Command line: cnntrain restore --restore-path run --epochs 3
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  folder
   Pipeline Num Parallel: 48
  ResNet-18
   Batch Norm
    Decay: 0.9
  Training
   Batch Size: 8
   Base Learning Rate: 2**-N
   Weight Decay: N
   Loss Scaling: 128
   Epochs: 3
  AdamW
   Betas: 0.9 N
   Epsilon: N
  Cosine LR schedule
   Warmup: 0.1 epochs
  No Validation
  Device
   Precision: N
   Arithmetic: ...
   Backend: cpu
   HOST
   DATE
  Logging
   Name: run
   Saving to run
   Checkpoints: 4 of 134.2 MB, of which the newest 3 are kept: 402.6 MB
  Image Size: 32x32
  
  {...}
  
  Restoring training from latest checkpoint: run/ckpt-6
  [warning] run/ckpt-6.safetensors was written with other options: the run does not continue exactly as it would have; `restore` without other options takes those of the run
  Compilation time: TIME.
  step: 7, iteration: 7, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 8, iteration: 8, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 9, iteration: 9, epoch: N, lr: N, loss: N, top-1 accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  Saved checkpoint to run/ckpt-9 in TIMEs
  Training loop completed in TIMEs.
  $ cnntrain validation --restore-path run | brief
  Command line: cnntrain validation --restore-path run
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  folder
  ResNet-18
   Batch Norm
  Validation
   Batch Size: 8
  Device
   Precision: N
   Arithmetic: ...
   Backend: cpu
   HOST
   DATE
  Logging
   Name: RUN
  Image Size: 32x32
  
  {...}
  Compilation time: TIME.
  Validation top-1 accuracy: N % [ckpt-3] (iteration: 3, epoch: N, throughput: RATE samples/sec, time: TIME, latency avg: TIME)
  Validation top-1 accuracy: N % [ckpt-6] (iteration: 6, epoch: N, throughput: RATE samples/sec, time: TIME, latency avg: TIME)
  Validation top-1 accuracy: N % [ckpt-9] (iteration: 9, epoch: N, throughput: RATE samples/sec, time: TIME, latency avg: TIME)
  $ ls photos/train | sort
  circle
  crescent
  cross
  heart
  ring
  square
  star
  triangle
  $ cnntrain inference run photos/validation --logs-path results | brief | sed "s/:  *[a-z]* (.*/: .../"
  [info] run photos/validation is read as --restore-path run --photos photos/validation
  [info] --restore-path run: the newest checkpoint is taken, run/ckpt-9.safetensors
  Command line: cnntrain inference run photos/validation --logs-path results
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  folder
  ResNet-18
   Batch Norm
  Validation
   Batch Size: 8
  Device
   Precision: N
   Arithmetic: ...
   Backend: cpu
   HOST
   DATE
  Logging
   Name: RUN
   Saving to results
  Image Size: 32x32
  
  {...}
  circle/circle-0.jpg: ...
  circle/circle-1.jpg: ...
  crescent/crescent-0.jpg: ...
  crescent/crescent-1.jpg: ...
  cross/cross-0.jpg: ...
  cross/cross-1.jpg: ...
  heart/heart-0.jpg: ...
  heart/heart-1.jpg: ...
  ring/ring-0.jpg: ...
  square/square-0.jpg: ...
  star/star-0.jpg: ...
  triangle/triangle-0.jpg: ...
  Inference [ckpt-9]: 12 images, throughput: RATE samples/sec
  top-1 accuracy: N %, top-5 accuracy: N %
  Saved predictions to results/predictions.csv
  $ cnntrain inference run photos/validation --predictions results/predictions.csv
  [info] run photos/validation is read as --restore-path run --photos photos/validation
  error: --predictions results/predictions.csv: the file exists already; choose another name, or replace it with --overwrite
  [2]
  $ cnntrain report run | brief | grep -v "confused\|learn"
  Predicting validation samples with ckpt-9: at most 1000 (--samples; --no-predictions leaves this out)
  Saved the page to run/report.html
  $ cnntrain convert run --to onnx | brief
  [info] --restore-path run: the newest checkpoint is taken, run/ckpt-9.safetensors
  run/ckpt-9.safetensors -> run/model.onnx (ONNX, operator set 18)
  $ cnntrain convert run --to timm | brief
  [info] --restore-path run: the newest checkpoint is taken, run/ckpt-9.safetensors
  run/ckpt-9.safetensors -> run/timm/model.safetensors, run/timm/config.json (timm's resnet18)
  Compared on 12 samples of the validation set: the greatest difference is N of the greatest output
  $ cnntrain dataset suspects run | brief | sed -e "s/^ .*photos.*/  .../" -e "s/^[0-9]* of/N of/" | uniq
  [info] RUN run: the newest checkpoint is taken, run/ckpt-9.safetensors
  Features of 24 training images, 512 each: TIME s, RATE img/s, kept in run/features.cache
  N of 24 labels look wrong:
    score  label -> likelier label (share of the neighbours with the label)  file
    ...
  $ cnntrain train --data-dir photos --init-path run --model-size 18 --precision 32.32 --image-size 32 --micro-batch-size 8 --head-only --seed 1 --logs-path head | brief
  [info] taken from run/ckpt-9.safetensors: --crop-fraction 1, --interpolation bilinear, --padding symmetric, --norm-epsilon N, --network-form large, --batch-norm
  [info] for 24 photos and given weights, these settings were chosen:
    --optimiser AdamW: it learns faster than SGD
    --weight-decay N: reduces over-fitting on few photos
    --abs-learning-rate N: N at batch size 32, scaled with the batch
    --lr-schedule cosine: it fits every length of a run
    --label-smoothing 0.1: reduces over-fitting on few photos
    --epochs 20: pretrained weights need few
    --warmup-epochs 1: a part of the epochs, for large first gradients
    --BN-decay 0.9: for 3 updates an epoch
    --crop-area N 1: random crops, not too small
    --keep-best accuracy: ckpt-best, for inference and convert
    --keep-ckpts 3: the newest, for resuming; 0 keeps all
  [info] --init-path run: the newest checkpoint is taken, run/ckpt-9.safetensors
  Command line: cnntrain train --data-dir photos --init-path run --model-size 18 --precision N --image-size 32 --micro-batch-size 8 --head-only --seed 1 --logs-path head
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  folder
  ResNet-18
   Batch Norm
    Decay: 0.9
  Training
   Batch Size: 8
   Base Learning Rate: 2**-N
   Weight Decay: N
   Loss Scaling: 128
   Epochs: 20
  AdamW
   Betas: 0.9 N
   Epsilon: N
  Cosine LR schedule
   Warmup: 1 epochs
  Validation
   Batch Size: 8
  Device
   Precision: N
   Arithmetic: ...
   Backend: cpu
   HOST
   DATE
  Logging
   Name: RUN
   Saving to head
   Checkpoints: 21 of 134.2 MB, of which the newest 3 are kept: 402.6 MB; the best weights: 44.8 MB
  Image Size: 32x32
  
  {...}
  
  [info] run/ckpt-9.safetensors: the optimiser's state in it is left out: the run's begins anew
  Compilation time: TIME.
  Features of 24 training and 12 validation images, 512 each: TIME s, RATE img/s, kept in head/features.cache
  Last layer: solved in TIME s, L2 strength N on held-out samples)
  Last layer: training accuracy N % (loss N), held-out accuracy N % (loss N) on the validation split
  Saved initial checkpoint to head/ckpt-0
  The run ends here because of --head-only. To train the whole network from here, continue with cnntrain restore --restore-path head
  $ ls run | plain | sort
  arguments.1.json
  arguments.json
  ckpt-3.safetensors
  ckpt-6.safetensors
  ckpt-9.safetensors
  events.out.tfevents.TIME
  events.out.tfevents.TIME
  features.cache
  log.txt
  model.onnx
  report.html
  sample_predictions.json
  time_split.csv
  timm
  training.csv
