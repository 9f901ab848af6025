The lines of the CNN benchmarking document, as dry runs: a folder of data that is not there, and made-up names.

  $ . "$TESTDIR/setup.sh"
  $ cd / && export DATASETS_DIR=/no/such/data DATA_DIR=/no/such/data HOSTS=a,b TCP_IF_INCLUDE=10.0.0.0/8
  $ export WORKSPACE=/home/somebody USER=somebody

S0-01.

  $ cnntrain train.py --model resnet --model-size 50 --dataset imagenet --data-dir $DATASETS_DIR/ --ckpts-per-epoch 0 --batch-size 16 --replicas 1 --gradient-accumulation-count 1024 --epochs 1 --no-validation --enable-recomputation --optimiser momentum --momentum 0.9 --normalise-input --stable-norm --internal-exchange-optimisation-target balanced --enable-half-partials --standard-imagenet --pipeline-num-parallel 32 --pipeline-schedule Grouped --no-dataset-cache --shards=4 --pipeline-splits b1/2/relu b2/3/relu b3/3/relu --pipeline --batch-norm --available-memory-proportion 0.15 --disable-variable-offloading --precision 16.32 --eight-bit-io --dry-run
  [info] --pipeline-num-parallel changes nothing: --input-threads says how many threads prepare images
  [info] --no-dataset-cache changes nothing: the system keeps files that were read in free memory
  [info] --standard-imagenet changes nothing: the files are always one stream, whose order depends on the seed alone
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --available-memory-proportion --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet from /no/such/data/ (not there; counts are those of the published set), 1281167 training images of 224 x 224
  Input: ...
  Batch:            16 (micro-batch) x 1024 (accumulated) x 1 (replicas) = 16384
  Pipeline:         4 stages on 4 devices, split before stage1/unit3/relu, stage2/unit4/relu, stage3/unit4/relu; Grouped, stash depths 7, 5, 3, 1, bubble 0.3 % with a lane for each stage
  Length:           78 iterations, 1 epochs of 78 iterations; a log line every 4, host steps of 4
  Optimiser:        momentum, momentum 0.9, weight decay 1e-04, loss scaling 128, label smoothing 0
  Learning rate:    stepped, base 8, warm-up 390 iterations (5 epochs), longer than the run, times 0.1 after iterations 23, 46, 62, 70
  Rates:            0.041026 at 2, 0.36923 at 18, 0.077949 at 38, 0.011897 at 58, 0.00015795 at 77
  Checkpoints:      none
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/RN50_bs16x1024p_BN_16.32_???/: arguments.json, log.txt, training.csv, events.out.tfevents.*
  Disk:             checkpoints: none

S0-02.

  $ cnntrain poprun --dry-run --numa-aware=yes --num-replicas=4 --num-instances=4 --ipus-per-replica 4 python train.py --model resnet --model-size 50 --dataset imagenet --data-dir $DATASETS_DIR/ --ckpts-per-epoch 0 --batch-size 16 --gradient-accumulation-count 256 --epochs 1 --no-validation --enable-recomputation --optimiser momentum --momentum 0.9 --normalise-input --stable-norm --internal-exchange-optimisation-target balanced --enable-half-partials --standard-imagenet --pipeline-num-parallel 32 --pipeline-schedule Grouped --no-dataset-cache --shards=4 --pipeline-splits b1/2/relu b2/3/relu b3/3/relu --pipeline --batch-norm --available-memory-proportion 0.15 --disable-variable-offloading --precision 16.32 --eight-bit-io
  [info] 4 instances on 1 core: they will take turns (--oversubscribe)
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 4 -x POPDIST_NUM_TOTAL_REPLICAS=4 -x POPDIST_NUM_LOCAL_REPLICAS=1 -x POPDIST_NUM_IPUS_PER_REPLICA=4 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain train.py --model resnet --model-size 50 --dataset imagenet --data-dir /no/such/data/ --ckpts-per-epoch 0 --batch-size 16 --gradient-accumulation-count 256 --epochs 1 --no-validation --enable-recomputation --optimiser momentum --momentum 0.9 --normalise-input --stable-norm --internal-exchange-optimisation-target balanced --enable-half-partials --standard-imagenet --pipeline-num-parallel 32 --pipeline-schedule Grouped --no-dataset-cache --shards=4 --pipeline-splits b1/2/relu b2/3/relu b3/3/relu --pipeline --batch-norm --available-memory-proportion 0.15 --disable-variable-offloading --precision 16.32 --eight-bit-io
  $ cnntrain train.py --model resnet --model-size 50 --dataset imagenet --data-dir $DATASETS_DIR/ --ckpts-per-epoch 0 --batch-size 16 --gradient-accumulation-count 256 --epochs 1 --no-validation --enable-recomputation --optimiser momentum --momentum 0.9 --normalise-input --stable-norm --internal-exchange-optimisation-target balanced --enable-half-partials --standard-imagenet --pipeline-num-parallel 32 --pipeline-schedule Grouped --no-dataset-cache --shards=4 --pipeline-splits b1/2/relu b2/3/relu b3/3/relu --pipeline --batch-norm --available-memory-proportion 0.15 --disable-variable-offloading --precision 16.32 --eight-bit-io --dry-run
  [info] --pipeline-num-parallel changes nothing: --input-threads says how many threads prepare images
  [info] --no-dataset-cache changes nothing: the system keeps files that were read in free memory
  [info] --standard-imagenet changes nothing: the files are always one stream, whose order depends on the seed alone
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --available-memory-proportion --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet from /no/such/data/ (not there; counts are those of the published set), 1281167 training images of 224 x 224
  Input: ...
  Batch:            16 (micro-batch) x 256 (accumulated) x 1 (replicas) = 4096
  Pipeline:         4 stages on 4 devices, split before stage1/unit3/relu, stage2/unit4/relu, stage3/unit4/relu; Grouped, stash depths 7, 5, 3, 1, bubble 1.2 % with a lane for each stage
  Length:           312 iterations, 1 epochs of 312 iterations; a log line every 19, host steps of 19
  Optimiser:        momentum, momentum 0.9, weight decay 1e-04, loss scaling 128, label smoothing 0
  Learning rate:    stepped, base 2, warm-up 1560 iterations (5 epochs), longer than the run, times 0.1 after iterations 93, 187, 249, 280
  Rates:            0.011538 at 9, 0.10897 at 85, 0.020641 at 161, 0.0030385 at 237, 3.9487e-05 at 308
  Checkpoints:      none
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/RN50_bs16x256p_BN_16.32_???/: arguments.json, log.txt, training.csv, events.out.tfevents.*
  Disk:             checkpoints: none

S0-03.

  $ cnntrain poprun --dry-run -vv --host xxx.xxx.xxx.xx1,xxx.xxx.xxx.xx2,xxx.xxx.xxx.xx3,xxx.xxx.xxx.xx4 --numa-aware=yes --vipu-server-host=xxx.xxx.xxx.xxx --vipu-partition=pod64_partition_name --reset-partition=no --update-partition=no --mpi-global-args="--tag-output --mca btl_tcp_if_include xxx.xxx.xxx.0/xx" --mpi-local-args="--tag-output -x LD_LIBRARY_PATH -x PATH -x PYTHONPATH -x IPUOF_VIPU_API_TIMEOUT=300 -x OPAL_PREFIX -x TF_POPLAR_FLAGS=--executable_cache_path=/localdata/$USER/exec_cache" --num-replicas=16 --num-instances=16 --ipus-per-replica 4 python3 train.py --config mk2_resnet50_bn_64ipus --no-validation --epochs 10 --ckpts-per-epoch 0
  error: poprun: names of hosts and networks that cannot be right:
    --host: 'xxx.xxx.xxx.xx1': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx2': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx3': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx4': a placeholder, to be replaced
    --vipu-server-host: 'xxx.xxx.xxx.xxx': a placeholder, to be replaced
    --mca: 'xxx.xxx.xxx.0/xx': a placeholder, to be replaced
  [2]
  $ cnntrain train.py --config mk2_resnet50_bn_64ipus --no-validation --epochs 10 --ckpts-per-epoch 0 --dry-run
  [info] --pipeline-num-parallel changes nothing: --input-threads says how many threads prepare images
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --available-memory-proportion --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    mk2_resnet50_bn_64ipus
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet from /localdata/datasets/ (not there; counts are those of the published set), 1281167 training images of 224 x 224
  Input: ...
  Batch:            16 (micro-batch) x 64 (accumulated) x 16 (replicas) = 16384
  Pipeline:         4 stages on 4 devices, split before stage1/unit3/relu, stage2/unit4/relu, stage3/unit4/relu; Grouped, stash depths 7, 5, 3, 1, bubble 0.3 % with a lane for each stage
  Replicas:         16 in this process, with one set of weights
  Length:           781 iterations, 10 epochs of 78 iterations; a log line every 78, host steps of 78
  Optimiser:        momentum, momentum 0.9, weight decay 1e-04, loss scaling 128, label smoothing 0.1
  Learning rate:    cosine, base 2, warm-up 390 iterations (5 epochs)
  Rates:            0.19877 at 39, 0.85391 at 195, 0.84575 at 429, 0.29503 at 585, 8.0903e-06 at 780
  Checkpoints:      none
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/RN50_bs16x16rx64p_BN_16.32_???/: arguments.json, log.txt, training.csv, events.out.tfevents.*
  Disk:             checkpoints: none

S0-04.

  $ cnntrain train.py --model resnext --model-size 101 --dataset imagenet --data-dir $DATASETS_DIR --shards 2 --replicas 2 --batch-size 6 --pipeline --gradient-accumulation-count 64 --pipeline-splits b3/3/relu --epoch 2 --ckpts-per-epoch 0 --enable-recomputation --normalise-input --internal-exchange-optimisation-target balanced --enable-half-partials --stable-norm --base-learning-rate -11 --pipeline-schedule Grouped --optimiser momentum --momentum 0.9 --lr-schedule cosine --label-smoothing 0.1 --no-validation --disable-variable-offloading --eight-bit-io --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Model:            resnext 101, group norm of 32, 44177704 parameters, 16.091 GFLOP forward per image
  Data:             imagenet from /no/such/data (not there; counts are those of the published set), 1281167 training images of 224 x 224
  Input: ...
  Batch:            6 (micro-batch) x 64 (accumulated) x 2 (replicas) = 768
  Pipeline:         2 stages on 2 devices, split before stage3/unit4/relu; Grouped, stash depths 3, 1, bubble 0.8 % with a lane for each stage
  Replicas:         2 in this process, with one set of weights
  Length:           3336 iterations, 2 epochs of 1668 iterations; a log line every 104, host steps of 104
  Optimiser:        momentum, momentum 0.9, weight decay 1e-04, loss scaling 128, label smoothing 0.1
  Learning rate:    cosine, base 0.375, warm-up 8340 iterations (5 epochs), longer than the run
  Rates:            0.0023367 at 52, 0.03325 at 884, 0.036836 at 1716, 0.015062 at 2548, 5.3147e-07 at 3332
  Checkpoints:      none
  Validation:       none
  Precision:        16.16, stochastic rounding ON, backend cpu
  Files:            ./logs/RNX101_bs6x2rx64p_GN32_16.16_???/: arguments.json, log.txt, training.csv, events.out.tfevents.*
  Disk:             checkpoints: none

S0-05.

  $ cnntrain poprun --dry-run --numa-aware 1 --num-replicas 8 --ipus-per-replica 2 --num-instances 8 python train.py --model resnext --model-size 101 --dataset imagenet --data-dir $DATASETS_DIR --shards 2 --batch-size 6 --pipeline --gradient-accumulation-count 16 --pipeline-splits b3/3/relu --standard-imagenet --epoch 2 --ckpts-per-epoch 0 --enable-recomputation --normalise-input --internal-exchange-optimisation-target balanced --enable-half-partials --stable-norm --base-learning-rate -11 --pipeline-schedule Grouped --optimiser momentum --momentum 0.9 --lr-schedule cosine --label-smoothing 0.1 --no-validation --disable-variable-offloading --eight-bit-io
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 8 -x POPDIST_NUM_TOTAL_REPLICAS=8 -x POPDIST_NUM_LOCAL_REPLICAS=1 -x POPDIST_NUM_IPUS_PER_REPLICA=2 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain train.py --model resnext --model-size 101 --dataset imagenet --data-dir /no/such/data --shards 2 --batch-size 6 --pipeline --gradient-accumulation-count 16 --pipeline-splits b3/3/relu --standard-imagenet --epoch 2 --ckpts-per-epoch 0 --enable-recomputation --normalise-input --internal-exchange-optimisation-target balanced --enable-half-partials --stable-norm --base-learning-rate -11 --pipeline-schedule Grouped --optimiser momentum --momentum 0.9 --lr-schedule cosine --label-smoothing 0.1 --no-validation --disable-variable-offloading --eight-bit-io
  [warning] it could not be started here: 8 instances on 1 core: at most 4 can run here
  $ cnntrain train.py --model resnext --model-size 101 --dataset imagenet --data-dir $DATASETS_DIR --shards 2 --batch-size 6 --pipeline --gradient-accumulation-count 16 --pipeline-splits b3/3/relu --standard-imagenet --epoch 2 --ckpts-per-epoch 0 --enable-recomputation --normalise-input --internal-exchange-optimisation-target balanced --enable-half-partials --stable-norm --base-learning-rate -11 --pipeline-schedule Grouped --optimiser momentum --momentum 0.9 --lr-schedule cosine --label-smoothing 0.1 --no-validation --disable-variable-offloading --eight-bit-io --dry-run
  [info] --standard-imagenet changes nothing: the files are always one stream, whose order depends on the seed alone
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Model:            resnext 101, group norm of 32, 44177704 parameters, 16.091 GFLOP forward per image
  Data:             imagenet from /no/such/data (not there; counts are those of the published set), 1281167 training images of 224 x 224
  Input: ...
  Batch:            6 (micro-batch) x 16 (accumulated) x 1 (replicas) = 96
  Pipeline:         2 stages on 2 devices, split before stage3/unit4/relu; Grouped, stash depths 3, 1, bubble 5.9 % with a lane for each stage
  Length:           26690 iterations, 2 epochs of 13345 iterations; a log line every 834, host steps of 834
  Optimiser:        momentum, momentum 0.9, weight decay 1e-04, loss scaling 128, label smoothing 0.1
  Learning rate:    cosine, base 0.046875, warm-up 66725 iterations (5 epochs), longer than the run
  Rates:            0.00029277 at 417, 0.0041624 at 7089, 0.004597 at 13761, 0.0018601 at 20433, 6.4942e-11 at 26689
  Checkpoints:      none
  Validation:       none
  Precision:        16.16, stochastic rounding ON, backend cpu
  Files:            ./logs/RNX101_bs6x16p_GN32_16.16_???/: arguments.json, log.txt, training.csv, events.out.tfevents.*
  Disk:             checkpoints: none

S0-06.

  $ cnntrain train.py --model=efficientnet --model-size=4 --data-dir $DATASETS_DIR/ --precision=16.32 --group-dim=16 --expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=40 --epochs 2 --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --available-memory-proportion --disable-variable-offloading --enable-conv-dithering --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Model:            efficientnet B4, group norm of 4, 19328168 parameters, 12.651 GFLOP forward per image
  Data:             imagenet from /no/such/data/ (not there; counts are those of the published set), 1281167 training images of 380 x 380
  Input: ...
  Batch:            5 (micro-batch) x 40 (accumulated) x 1 (replicas) = 200
  Pipeline:         4 stages on 4 devices, split before block2c, block4c, block6a; Grouped, stash depths 7, 5, 3, 1, bubble 7.0 % with a lane for each stage
  Length:           12811 iterations, 2 epochs of 6405 iterations; a log line every 400, host steps of 400
  Optimiser:        RMSprop, momentum 0.9, weight decay 1e-05, loss scaling 128, label smoothing 0.1
  Learning rate:    exponential, base 0.01220703125, warm-up 32028 iterations (5 epochs), longer than the run, times 0.97 at each of 146 drops
  Rates:            7.1723e-05 at 200, 0.00040728 at 3400, 0.00025616 at 6600, 0.00012705 at 9800, 5.8934e-05 at 12805
  Checkpoints:      after iterations 6405, 12811
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/EfficientNet-B4_bs5x40p_GN4_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 3 of 231.9 MB: 695.8 MB

S0-07.

  $ cnntrain poprun --dry-run --numa-aware 1 --num-replicas 4 --ipus-per-replica 4 --num-instances 4 python3 train.py --model=efficientnet --model-size=4 --data-dir $DATASETS_DIR/ --precision=16.32 --group-dim=16 --expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=40 --epochs 1
  [info] 4 instances on 1 core: they will take turns (--oversubscribe)
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 4 -x POPDIST_NUM_TOTAL_REPLICAS=4 -x POPDIST_NUM_LOCAL_REPLICAS=1 -x POPDIST_NUM_IPUS_PER_REPLICA=4 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain train.py --model=efficientnet --model-size=4 --data-dir /no/such/data/ --precision=16.32 --group-dim=16 --expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=40 --epochs 1
  $ cnntrain train.py --model=efficientnet --model-size=4 --data-dir $DATASETS_DIR/ --precision=16.32 --group-dim=16 --expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=40 --epochs 1 --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --available-memory-proportion --disable-variable-offloading --enable-conv-dithering --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Model:            efficientnet B4, group norm of 4, 19328168 parameters, 12.651 GFLOP forward per image
  Data:             imagenet from /no/such/data/ (not there; counts are those of the published set), 1281167 training images of 380 x 380
  Input: ...
  Batch:            5 (micro-batch) x 40 (accumulated) x 1 (replicas) = 200
  Pipeline:         4 stages on 4 devices, split before block2c, block4c, block6a; Grouped, stash depths 7, 5, 3, 1, bubble 7.0 % with a lane for each stage
  Length:           6405 iterations, 1 epochs of 6405 iterations; a log line every 400, host steps of 400
  Optimiser:        RMSprop, momentum 0.9, weight decay 1e-05, loss scaling 128, label smoothing 0.1
  Learning rate:    exponential, base 0.01220703125, warm-up 32025 iterations (5 epochs), longer than the run, times 0.97 at each of 146 drops
  Rates:            6.749e-05 at 200, 0.0001968 at 1800, 0.00012417 at 3400, 6.0995e-05 at 5000, 2.9467e-05 at 6402
  Checkpoints:      after iterations 6405
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/EfficientNet-B4_bs5x40p_GN4_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 2 of 231.9 MB: 463.9 MB

S0-08.

  $ cnntrain poprun --dry-run -vv --host xxx.xxx.xxx.xx1,xxx.xxx.xxx.xx2,xxx.xxx.xxx.xx3,xxx.xxx.xxx.xx4 --numa-aware=yes --vipu-server-host=xxx.xxx.xxx.xxx --vipu-partition=pod64_partition_name --reset-partition=no --update-partition=no --mpi-global-args="--tag-output --mca btl_tcp_if_include xxx.xxx.xxx.0/xx" --mpi-local-args="--tag-output -x LD_LIBRARY_PATH -x PATH -x PYTHONPATH -x IPUOF_VIPU_API_TIMEOUT=300 -x OPAL_PREFIX -x TF_POPLAR_FLAGS=--executable_cache_path=/localdata/$USER/exec_cache" --num-replicas=16 --num-instances=16 --ipus-per-replica 4 python3 train.py --config mk2_efficientnet_b4_g1_64ipus --no-validation --epochs 10
  error: poprun: names of hosts and networks that cannot be right:
    --host: 'xxx.xxx.xxx.xx1': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx2': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx3': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx4': a placeholder, to be replaced
    --vipu-server-host: 'xxx.xxx.xxx.xxx': a placeholder, to be replaced
    --mca: 'xxx.xxx.xxx.0/xx': a placeholder, to be replaced
  [2]
  $ cnntrain train.py --config mk2_efficientnet_b4_g1_64ipus --no-validation --epochs 10 --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --available-memory-proportion --disable-variable-offloading --enable-conv-dithering --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    mk2_efficientnet_b4_g1_64ipus
  Model:            efficientnet B4, group norm of 4, 19341616 parameters, 9.1773 GFLOP forward per image
  Data:             imagenet from /localdata/datasets (not there; counts are those of the published set), 1281167 training images of 380 x 380
  Input: ...
  Batch:            3 (micro-batch) x 16 (accumulated) x 16 (replicas) = 768
  Pipeline:         4 stages on 4 devices, split before block2b, block4b, block6c; Grouped, stash depths 7, 5, 3, 1, bubble 1.2 % with a lane for each stage
  Replicas:         16 in this process, with one set of weights
  Length:           16681 iterations, 10 epochs of 1668 iterations; a log line every 104, host steps of 104
  Optimiser:        RMSprop, momentum 0.9, weight decay 1e-05, loss scaling 128, label smoothing 0.1
  Learning rate:    exponential, base 0.046875, warm-up 8340.5 iterations (5 epochs), times 0.97 at each of 146 drops
  Rates:            0.00029225 at 52, 0.0079072 at 4212, 0.0050732 at 8372, 0.0016946 at 12532, 0.00056603 at 16660
  Checkpoints:      after iterations 1668, 3336, 5004, 6672, 8340, 10008, ..., 16681 (10 in all)
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/EfficientNet-B4_bs3x16px16r_GN4_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 11 of 232.1 MB: 2.6 GB

S0-09.

  $ cnntrain train.py --model=efficientnet --model-size=4 --data-dir $DATASETS_DIR/ --precision=16.32 --group-dim=16 --expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=160 --epochs 2 --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --available-memory-proportion --disable-variable-offloading --enable-conv-dithering --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Model:            efficientnet B4, group norm of 4, 19328168 parameters, 12.651 GFLOP forward per image
  Data:             imagenet from /no/such/data/ (not there; counts are those of the published set), 1281167 training images of 380 x 380
  Input: ...
  Batch:            5 (micro-batch) x 160 (accumulated) x 1 (replicas) = 800
  Pipeline:         4 stages on 4 devices, split before block2c, block4c, block6a; Grouped, stash depths 7, 5, 3, 1, bubble 1.8 % with a lane for each stage
  Length:           3202 iterations, 2 epochs of 1601 iterations; a log line every 100, host steps of 100
  Optimiser:        RMSprop, momentum 0.9, weight decay 1e-05, loss scaling 128, label smoothing 0.1
  Learning rate:    exponential, base 0.048828125, warm-up 8005 iterations (5 epochs), longer than the run, times 0.97 at each of 146 drops
  Rates:            0.00028696 at 50, 0.0016295 at 850, 0.0010249 at 1650, 0.00050832 at 2450, 0.00023577 at 3201
  Checkpoints:      after iterations 1601, 3202
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/EfficientNet-B4_bs5x160p_GN4_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 3 of 231.9 MB: 695.8 MB

S0-10.

  $ cnntrain poprun --dry-run --numa-aware 1 --num-replicas 4 --ipus-per-replica 4 --num-instances 4 python3 train.py --model=efficientnet --model-size=4 --data-dir $DATASETS_DIR/ --precision=16.32 --group-dim=16 --expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=40 --epochs 1
  [info] 4 instances on 1 core: they will take turns (--oversubscribe)
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 4 -x POPDIST_NUM_TOTAL_REPLICAS=4 -x POPDIST_NUM_LOCAL_REPLICAS=1 -x POPDIST_NUM_IPUS_PER_REPLICA=4 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain train.py --model=efficientnet --model-size=4 --data-dir /no/such/data/ --precision=16.32 --group-dim=16 --expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=40 --epochs 1
  $ cnntrain train.py --model=efficientnet --model-size=4 --data-dir $DATASETS_DIR/ --precision=16.32 --group-dim=16 --expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=40 --epochs 1 --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --available-memory-proportion --disable-variable-offloading --enable-conv-dithering --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Model:            efficientnet B4, group norm of 4, 19328168 parameters, 12.651 GFLOP forward per image
  Data:             imagenet from /no/such/data/ (not there; counts are those of the published set), 1281167 training images of 380 x 380
  Input: ...
  Batch:            5 (micro-batch) x 40 (accumulated) x 1 (replicas) = 200
  Pipeline:         4 stages on 4 devices, split before block2c, block4c, block6a; Grouped, stash depths 7, 5, 3, 1, bubble 7.0 % with a lane for each stage
  Length:           6405 iterations, 1 epochs of 6405 iterations; a log line every 400, host steps of 400
  Optimiser:        RMSprop, momentum 0.9, weight decay 1e-05, loss scaling 128, label smoothing 0.1
  Learning rate:    exponential, base 0.01220703125, warm-up 32025 iterations (5 epochs), longer than the run, times 0.97 at each of 146 drops
  Rates:            6.749e-05 at 200, 0.0001968 at 1800, 0.00012417 at 3400, 6.0995e-05 at 5000, 2.9467e-05 at 6402
  Checkpoints:      after iterations 6405
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/EfficientNet-B4_bs5x40p_GN4_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 2 of 231.9 MB: 463.9 MB

S0-11.

  $ cnntrain poprun --dry-run -vv --host xxx.xxx.xxx.xx1,xxx.xxx.xxx.xx2,xxx.xxx.xxx.xx3,xxx.xxx.xxx.xx4 --numa-aware=yes --vipu-server-host=xxx.xxx.xxx.xxx --vipu-partition=pod64_partition_name --reset-partition=no --update-partition=no --mpi-global-args="--tag-output --mca btl_tcp_if_include xxx.xxx.xxx.0/xx" --mpi-local-args="--tag-output -x LD_LIBRARY_PATH -x PATH -x PYTHONPATH -x IPUOF_VIPU_API_TIMEOUT=300 -x OPAL_PREFIX -x TF_POPLAR_FLAGS=--executable_cache_path=/localdata/$USER/exec_cache" --num-replicas=16 --num-instances=16 --ipus-per-replica 4 python3 train.py --config mk2_efficientnet_b4_g16_64ipus --no-validation --epochs 10
  error: poprun: names of hosts and networks that cannot be right:
    --host: 'xxx.xxx.xxx.xx1': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx2': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx3': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx4': a placeholder, to be replaced
    --vipu-server-host: 'xxx.xxx.xxx.xxx': a placeholder, to be replaced
    --mca: 'xxx.xxx.xxx.0/xx': a placeholder, to be replaced
  [2]
  $ cnntrain train.py --config mk2_efficientnet_b4_g16_64ipus --no-validation --epochs 10 --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --available-memory-proportion --disable-variable-offloading --enable-conv-dithering --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    mk2_efficientnet_b4_g16_64ipus
  Model:            efficientnet B4, group norm of 4, 19328168 parameters, 12.651 GFLOP forward per image
  Data:             imagenet from /localdata/datasets (not there; counts are those of the published set), 1281167 training images of 380 x 380
  Input: ...
  Batch:            5 (micro-batch) x 8 (accumulated) x 16 (replicas) = 640
  Pipeline:         4 stages on 4 devices, split before block2c, block4c, block6a; Grouped, stash depths 7, 5, 3, 1, bubble 2.3 % with a lane for each stage
  Replicas:         16 in this process, with one set of weights
  Length:           20018 iterations, 10 epochs of 2001 iterations; a log line every 125, host steps of 125
  Optimiser:        RMSprop, momentum 0.9, weight decay 1e-05, loss scaling 128, label smoothing 0.1
  Learning rate:    exponential, base 0.0390625, warm-up 10009 iterations (5 epochs), times 0.97 at each of 146 drops
  Rates:            0.00024197 at 62, 0.0065989 at 5062, 0.0042276 at 10062, 0.0014121 at 15062, 0.0004717 at 20009
  Checkpoints:      after iterations 2001, 4002, 6003, 8004, 10005, 12006, ..., 20018 (10 in all)
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/EfficientNet-B4_bs5x8px16r_GN4_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 11 of 231.9 MB: 2.6 GB

S0-12.

  $ cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --batch-size 1 --synthetic-data --repeat 10 --batch-norm --enable-half-partials --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials
  Dry run:          validation; no sample is computed, nothing is written
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet, synthetic images, 50000 validation images of 224 x 224
  Validation:       50000 batches of 1, 10 times
  Weights:          random
  Precision:        16.16, backend cpu
  Files:            none

S0-13.

  $ cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --batch-size 1 --synthetic-data --repeat 10 --batch-norm --enable-half-partials --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials
  Dry run:          validation; no sample is computed, nothing is written
  Model:            resnext 101, batch norm, 44177704 parameters, 15.984 GFLOP forward per image
  Data:             imagenet, synthetic images, 50000 validation images of 224 x 224
  Validation:       50000 batches of 1, 10 times
  Weights:          random
  Precision:        16.16, backend cpu
  Files:            none

S0-14.

  $ cnntrain validation.py --model efficientnet --model-size 0 --dataset imagenet --precision 16.16 --batch-size 1 --synthetic-data --repeat 10 --batch-norm --enable-half-partials --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials
  Dry run:          validation; no sample is computed, nothing is written
  Model:            efficientnet B0, batch norm, 5288548 parameters, 0.78005 GFLOP forward per image
  Data:             imagenet, synthetic images, 50000 validation images of 224 x 224
  Validation:       50000 batches of 1, 10 times
  Weights:          random
  Precision:        16.16, backend cpu
  Files:            none

S0-15.

  $ cnntrain poprun --dry-run --num-replicas 4 --ipus-per-replica 1 --num-instances 4 --numa-aware 1 python3 validation.py --model resnet --model-size 50 --dataset imagenet --batch-size 1 --generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io
  [info] 4 instances on 1 core: they will take turns (--oversubscribe)
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 4 -x POPDIST_NUM_TOTAL_REPLICAS=4 -x POPDIST_NUM_LOCAL_REPLICAS=1 -x POPDIST_NUM_IPUS_PER_REPLICA=1 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --batch-size 1 --generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io
  $ cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --batch-size 1 --generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials
  Dry run:          validation; no sample is computed, nothing is written
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet, one generated image, 50000 validation images of 224 x 224
  Validation:       50000 batches of 1, 10 times
  Weights:          random
  Precision:        16.16, backend cpu
  Files:            none

S0-16.

  $ cnntrain poprun --dry-run --num-replicas 4 --ipus-per-replica 1 --num-instances 4 --numa-aware 1 python3 validation.py --model resnext --model-size 101 --dataset imagenet --batch-size 2 --generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io
  [info] 4 instances on 1 core: they will take turns (--oversubscribe)
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 4 -x POPDIST_NUM_TOTAL_REPLICAS=4 -x POPDIST_NUM_LOCAL_REPLICAS=1 -x POPDIST_NUM_IPUS_PER_REPLICA=1 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --batch-size 2 --generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io
  $ cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --batch-size 2 --generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials
  Dry run:          validation; no sample is computed, nothing is written
  Model:            resnext 101, batch norm, 44177704 parameters, 15.984 GFLOP forward per image
  Data:             imagenet, one generated image, 50000 validation images of 224 x 224
  Validation:       25000 batches of 2, 10 times
  Weights:          random
  Precision:        16.16, backend cpu
  Files:            none

S0-17.

  $ cnntrain poprun --dry-run --num-replicas 4 --ipus-per-replica 1 --num-instances 4 --numa-aware 1 python3 validation.py --model efficientnet --model-size 0 --dataset imagenet --precision 16.16 --batch-size 8 --generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io
  [info] 4 instances on 1 core: they will take turns (--oversubscribe)
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 4 -x POPDIST_NUM_TOTAL_REPLICAS=4 -x POPDIST_NUM_LOCAL_REPLICAS=1 -x POPDIST_NUM_IPUS_PER_REPLICA=1 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain validation.py --model efficientnet --model-size 0 --dataset imagenet --precision 16.16 --batch-size 8 --generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io
  $ cnntrain validation.py --model efficientnet --model-size 0 --dataset imagenet --precision 16.16 --batch-size 8 --generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials
  Dry run:          validation; no sample is computed, nothing is written
  Model:            efficientnet B0, batch norm, 5288548 parameters, 0.78005 GFLOP forward per image
  Data:             imagenet, one generated image, 50000 validation images of 224 x 224
  Validation:       6250 batches of 8, 10 times
  Weights:          random
  Precision:        16.16, backend cpu
  Files:            none
