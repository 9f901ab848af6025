The lines of the CNN example programs, as dry runs: a folder of data that is not there, and made-up names.

  $ . "$TESTDIR/setup.sh"
  $ cd / && export DATASETS_DIR=/no/such/data DATA_DIR=/no/such/data HOSTS=a,b TCP_IF_INCLUDE=10.0.0.0/8
  $ export WORKSPACE=/home/somebody USER=somebody

S1-02.

  $ cnntrain train.py --dataset imagenet --data-dir path-to/imagenet --dry-run
  Dry run:          train; no sample is computed, nothing is written
  Model:            resnet 18, group norm of 32, 11689512 parameters, 3.6477 GFLOP forward per image
  Data:             imagenet from path-to/imagenet (not there; counts are those of the published set), 1281167 training and 50000 validation images of 224 x 224
  Input: ...
  Batch:            4 (micro-batch) x 1 (accumulated) x 1 (replicas) = 4
  Length:           32029175 iterations, 100 epochs of 320291 iterations; a log line every 20018, host steps of 1000
  Optimiser:        SGD, weight decay 1e-04, loss scaling 128, label smoothing 0
  Learning rate:    stepped, base 0.015625, warm-up 1.6015e+06 iterations (5 epochs), times 0.1 after iterations 9608752, 19217505, 25623340, 28826257
  Rates:            4.8784e-06 at 500, 0.015625 at 8007500, 0.0015625 at 16014500, 0.00015625 at 24021500, 1.5625e-06 at 32029087
  Checkpoints:      after iterations 320291, 640582, 960873, 1281164, 1601455, 1921746, ..., 32029175 (100 in all)
  Validation:       of each of them, 12500 batches of 4
  Precision:        16.16, stochastic rounding ON, backend cpu
  Files:            ./logs/RN18_bs4_GN32_16.16_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, validation.csv, events.out.tfevents.*
  Disk:             checkpoints: 101 of 23.4 MB: 2.4 GB

S1-03.

  $ cnntrain restore.py --restore-path logs/RN20_bs32_BN_16.16_v0.9.115_3S9/ --dry-run
  error: --restore-path logs/RUN: no arguments.json there; give the folder of a run, or resume with the run's own line and --restore-path (train) or --restore-dir (pretrain)
  [1]

S1-05.

  $ cnntrain -m examples_utils benchmark --spec benchmarks.yml --dry-run
  note: --spec benchmarks.yml is not there: using the shipped SOURCE/configs/benchmarks.yml
  note: tf1_resnet50_infer_gen_pod4: --bind-to socket became --bind-to none: each process keeps to its share of cores
  note: tf1_resnet50_infer_gen_pod4: 4 processes on 1 cores: --oversubscribe added
  note: tf1_resnext101_long_infer_gen_pod4: --bind-to socket became --bind-to none: each process keeps to its share of cores
  note: tf1_resnext101_long_infer_gen_pod4: 4 processes on 1 cores: --oversubscribe added
  note: tf1_efficientnet_b0_long_infer_gen_pod4: --bind-to socket became --bind-to none: each process keeps to its share of cores
  note: tf1_efficientnet_b0_long_infer_gen_pod4: 4 processes on 1 cores: --oversubscribe added
  note: tf1_efficientnet_b0_infer_gen_pod4: --bind-to socket became --bind-to none: each process keeps to its share of cores
  note: tf1_efficientnet_b0_infer_gen_pod4: 4 processes on 1 cores: --oversubscribe added
  note: tf1_efficientnet_b0_g16_low_latency_infer_gen_pod4: --bind-to socket became --bind-to none: each process keeps to its share of cores
  note: tf1_efficientnet_b0_g16_low_latency_infer_gen_pod4: 4 processes on 1 cores: --oversubscribe added
  note: tf1_efficientnet_b4_g16_infer_gen_pod4: --bind-to socket became --bind-to none: each process keeps to its share of cores
  note: tf1_efficientnet_b4_g16_infer_gen_pod4: 4 processes on 1 cores: --oversubscribe added
  note: tf1_efficientnet_b4_infer_gen_pod4: --bind-to socket became --bind-to none: each process keeps to its share of cores
  note: tf1_efficientnet_b4_infer_gen_pod4: 4 processes on 1 cores: --oversubscribe added
  note: tf1_efficientnet_b4_low_latency_infer_gen_pod4: --bind-to socket became --bind-to none: each process keeps to its share of cores
  note: tf1_efficientnet_b4_low_latency_infer_gen_pod4: 4 processes on 1 cores: --oversubscribe added
  tf1_resnet50_train_synth_1ipu
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain train.py --config resnet50_mlperf_pod16 --replicas 1 --epochs 1 --no-validation --gradient-accumulation-count 144 --synthetic-data --logs-per-epoch 16 --BN-span 1
  tf1_resnet50_train_real_pod4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--executable_cache_path=/tmp/tf_cache/
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 2 --num-replicas 4 python3 train.py --config resnet50_mlperf_pod16_lars --identical-replica-seeding --data-dir /no/such/data/ --no-validation --epochs 1 --epochs-per-ckpt 0 --gradient-accumulation-count 40
  tf1_resnext101_train_real_pod4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain poprun -vv '--mpi-local-args=-x POPLAR_RUNTIME_OPTIONS' --num-instances 2 --num-replicas 2 --ipus-per-replica 2 python3 train.py --config resnext101_16ipus --replicas 2 --ckpts-per-epoch 0 --epochs 1 --logs-per-epoch 16 --no-validation --data-dir /no/such/data --gradient-accumulation-count 64 --num-io-tiles 32 --prefetch-depth 4
  tf1_resnet50_serving_infer_real_1ipu_batchsize_1
    skipped: send_request.py: a client of a TensorFlow Serving server, which cnntrain is not; type: cnntrain inference --dataset imagenet --generated-data --model-size 50 --iterations 1000, which measures requests of its own threads; cnntrain convert RUN --to onnx writes a network for servers
  tf1_resnet50_serving_infer_real_1ipu_batchsize_8
    skipped: send_request.py: a client of a TensorFlow Serving server, which cnntrain is not; type: cnntrain inference --dataset imagenet --generated-data --model-size 50 --iterations 1000, which measures requests of its own threads; cnntrain convert RUN --to onnx writes a network for servers
  tf1_resnet50_serving_infer_real_1ipu_batchsize_16
    skipped: send_request.py: a client of a TensorFlow Serving server, which cnntrain is not; type: cnntrain inference --dataset imagenet --generated-data --model-size 50 --iterations 1000, which measures requests of its own threads; cnntrain convert RUN --to onnx writes a network for servers
  tf1_resnext101_train_real_pod16
    skipped: 8 instances on 1 core: at most 4 can run here
  tf1_efficientnet_b4_train_real_pod16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain poprun -vv '--mpi-local-args=-x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 --ipus-per-replica 4 python3 train.py --config efficientnet_b4_g1_16ipus --identical-replica-seeding --epochs 1 --data-dir /no/such/data/ --logs-per-epoch 16 --epochs-per-ckpt 1 --no-validation --eight-bit-io
  tf1_efficientnet_b4_g16_train_real_pod16
    skipped: 8 instances on 1 core: at most 4 can run here
  tf1_resnet50_infer_synth_1ipu_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 1 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnet50_infer_synth_1ipu_batchsize_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 4 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnet50_infer_synth_1ipu_batchsize_16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 16 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnet50_infer_synth_1ipu_batchsize_32
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 32 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnet50_infer_synth_1ipu_batchsize_64
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 64 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnet50_infer_synth_1ipu_batchsize_90
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 90 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnet50_infer_gen_pod4_batchsize_1_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 1 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_resnet50_infer_gen_pod4_batchsize_4_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 4 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_resnet50_infer_gen_pod4_batchsize_16_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 16 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_resnet50_infer_gen_pod4_batchsize_32_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 32 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_resnet50_infer_gen_pod4_batchsize_64_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 64 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_resnet50_infer_gen_pod4_batchsize_80_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 80 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_resnet50_infer_gen_pod4_batchsize_1_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 1 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_resnet50_infer_gen_pod4_batchsize_4_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 4 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_resnet50_infer_gen_pod4_batchsize_16_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 16 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_resnet50_infer_gen_pod4_batchsize_32_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 32 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_resnet50_infer_gen_pod4_batchsize_64_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 64 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_resnet50_infer_gen_pod4_batchsize_80_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 80 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_resnet50_low_latency_infer_gen_pod4_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model resnet --config resnet50_base --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 1 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_resnet50_low_latency_infer_gen_pod4_batchsize_2
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model resnet --config resnet50_base --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 2 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_resnet50_low_latency_infer_gen_pod4_batchsize_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model resnet --config resnet50_base --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 4 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_resnet50_low_latency_infer_gen_pod4_batchsize_8
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model resnet --config resnet50_base --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 8 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_resnet50_low_latency_infer_gen_pod4_batchsize_16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model resnet --config resnet50_base --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 16 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_resnet50_low_latency_infer_gen_pod4_batchsize_32
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model resnet --config resnet50_base --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 32 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_resnet50_low_latency_infer_gen_pod4_batchsize_64
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model resnet --config resnet50_base --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 64 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_resnext101_infer_gen_1ipu_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 1 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnext101_infer_gen_1ipu_batchsize_16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 16 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnext101_long_infer_synth_1ipu_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 1 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnext101_long_infer_synth_1ipu_batchsize_2
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 2 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnext101_long_infer_synth_1ipu_batchsize_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 4 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnext101_long_infer_synth_1ipu_batchsize_8
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 8 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnext101_long_infer_synth_1ipu_batchsize_16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 16 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnext101_long_infer_gen_pod4_batchsize_1_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 1 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_resnext101_long_infer_gen_pod4_batchsize_2_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 2 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_resnext101_long_infer_gen_pod4_batchsize_4_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 4 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_resnext101_long_infer_gen_pod4_batchsize_8_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 8 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_resnext101_long_infer_gen_pod4_batchsize_16_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 16 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_resnext101_long_infer_gen_pod4_batchsize_1_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 1 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_resnext101_long_infer_gen_pod4_batchsize_2_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 2 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_resnext101_long_infer_gen_pod4_batchsize_4_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 4 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_resnext101_long_infer_gen_pod4_batchsize_8_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 8 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_resnext101_long_infer_gen_pod4_batchsize_16_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model resnext --model-size 101 --dataset imagenet --micro-batch-size 16 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_resnext101_low_latency_infer_gen_pod4_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model resnext --model-size 101 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 1 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_resnext101_low_latency_infer_gen_pod4_batchsize_2
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model resnext --model-size 101 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 2 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_resnext101_low_latency_infer_gen_pod4_batchsize_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model resnext --model-size 101 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 4 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_resnext101_low_latency_infer_gen_pod4_batchsize_8
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model resnext --model-size 101 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 8 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_resnext101_low_latency_infer_gen_pod4_batchsize_16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model resnext --model-size 101 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 16 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_infer_synth_1ipu_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 1 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b0_infer_synth_1ipu_batchsize_36
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 36 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b0_long_infer_synth_1ipu_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 1 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b0_long_infer_synth_1ipu_batchsize_8
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 8 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b0_long_infer_synth_1ipu_batchsize_16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 16 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b0_long_infer_synth_1ipu_batchsize_32
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 32 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b0_g16_infer_synth_1ipu_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 1 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b0_g16_infer_synth_1ipu_batchsize_8
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 8 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b0_g16_infer_synth_1ipu_batchsize_16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 16 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b0_g16_infer_synth_1ipu_batchsize_32
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 32 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b0_g16_infer_synth_1ipu_batchsize_64
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 64 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b0_g16_infer_synth_1ipu_batchsize_88
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 88 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b0_long_infer_gen_pod4_batchsize_1_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 1 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_efficientnet_b0_long_infer_gen_pod4_batchsize_8_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 8 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_efficientnet_b0_long_infer_gen_pod4_batchsize_16_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 16 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_efficientnet_b0_long_infer_gen_pod4_batchsize_32_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 32 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_efficientnet_b0_long_infer_gen_pod4_batchsize_1_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 1 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_efficientnet_b0_long_infer_gen_pod4_batchsize_8_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 8 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_efficientnet_b0_long_infer_gen_pod4_batchsize_16_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 16 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_efficientnet_b0_long_infer_gen_pod4_batchsize_32_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --dataset imagenet --micro-batch-size 32 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 4
  tf1_efficientnet_b0_infer_gen_pod4_batchsize_1_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 1 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_infer_gen_pod4_batchsize_8_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 8 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_infer_gen_pod4_batchsize_16_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 16 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_infer_gen_pod4_batchsize_32_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 32 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_infer_gen_pod4_batchsize_64_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 64 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_infer_gen_pod4_batchsize_88_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 88 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_infer_gen_pod4_batchsize_1_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 1 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_infer_gen_pod4_batchsize_8_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 8 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_infer_gen_pod4_batchsize_16_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 16 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_infer_gen_pod4_batchsize_32_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 32 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_infer_gen_pod4_batchsize_64_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 64 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_infer_gen_pod4_batchsize_88_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 0 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 88 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 64 --prefetch-depth 3
  tf1_efficientnet_b0_g16_low_latency_infer_gen_pod4_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain inference_embedded.py --model efficientnet --model-size 0 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 1 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b0_g16_low_latency_infer_gen_pod4_batchsize_2
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain inference_embedded.py --model efficientnet --model-size 0 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 2 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b0_g16_low_latency_infer_gen_pod4_batchsize_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain inference_embedded.py --model efficientnet --model-size 0 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 4 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b0_g16_low_latency_infer_gen_pod4_batchsize_8
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain inference_embedded.py --model efficientnet --model-size 0 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 8 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b0_g16_low_latency_infer_gen_pod4_batchsize_16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain inference_embedded.py --model efficientnet --model-size 0 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 16 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b0_g16_low_latency_infer_gen_pod4_batchsize_32
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain inference_embedded.py --model efficientnet --model-size 0 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 32 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b0_g16_low_latency_infer_gen_pod4_batchsize_64
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain inference_embedded.py --model efficientnet --model-size 0 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 64 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b0_g16_low_latency_infer_gen_pod4_batchsize_88
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain inference_embedded.py --model efficientnet --model-size 0 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 88 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b0_low_latency_infer_gen_pod4_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 0 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 1 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_efficientnet_b0_low_latency_infer_gen_pod4_batchsize_2
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 0 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 2 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_efficientnet_b0_low_latency_infer_gen_pod4_batchsize_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 0 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 4 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_efficientnet_b0_low_latency_infer_gen_pod4_batchsize_8
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 0 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 8 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_efficientnet_b0_low_latency_infer_gen_pod4_batchsize_16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 0 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 16 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_efficientnet_b0_low_latency_infer_gen_pod4_batchsize_32
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 0 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 32 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_efficientnet_b0_low_latency_infer_gen_pod4_batchsize_40
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 0 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 40 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_efficientnet_b0_low_latency_infer_gen_pod4_batchsize_42
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 0 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 42 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 2
  tf1_efficientnet_b4_infer_synth_1ipu_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --dataset imagenet --micro-batch-size 1 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing --eight-bit-io
  tf1_efficientnet_b4_infer_synth_1ipu_batchsize_2
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --dataset imagenet --micro-batch-size 2 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing --eight-bit-io
  tf1_efficientnet_b4_infer_synth_1ipu_batchsize_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --dataset imagenet --micro-batch-size 4 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing --eight-bit-io
  tf1_efficientnet_b4_infer_synth_1ipu_batchsize_5
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --dataset imagenet --micro-batch-size 5 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing --eight-bit-io
  tf1_efficientnet_b4_g16_infer_synth_1ipu_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 1 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing --eight-bit-io
  tf1_efficientnet_b4_g16_infer_synth_1ipu_batchsize_2
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 2 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing --eight-bit-io
  tf1_efficientnet_b4_g16_infer_synth_1ipu_batchsize_8
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 8 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing --eight-bit-io
  tf1_efficientnet_b4_g16_infer_synth_1ipu_batchsize_16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 16 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing --eight-bit-io
  tf1_efficientnet_b4_g16_infer_synth_1ipu_batchsize_20
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 20 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing --eight-bit-io
  tf1_efficientnet_b4_g16_infer_gen_pod4_batchsize_1_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 1 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_g16_infer_gen_pod4_batchsize_2_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 2 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_g16_infer_gen_pod4_batchsize_8_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 8 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_g16_infer_gen_pod4_batchsize_16_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 16 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_g16_infer_gen_pod4_batchsize_20_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 20 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_g16_infer_gen_pod4_batchsize_1_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 1 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_g16_infer_gen_pod4_batchsize_2_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 2 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_g16_infer_gen_pod4_batchsize_8_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 8 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_g16_infer_gen_pod4_batchsize_16_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 16 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_g16_infer_gen_pod4_batchsize_20_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --micro-batch-size 20 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_infer_gen_pod4_batchsize_1_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --dataset imagenet --micro-batch-size 1 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_infer_gen_pod4_batchsize_2_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --dataset imagenet --micro-batch-size 2 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_infer_gen_pod4_batchsize_4_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --dataset imagenet --micro-batch-size 4 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_infer_gen_pod4_batchsize_5_replicas_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --tag-output --allow-run-as-root --np 1 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --dataset imagenet --micro-batch-size 5 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_infer_gen_pod4_batchsize_1_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --dataset imagenet --micro-batch-size 1 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_infer_gen_pod4_batchsize_2_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --dataset imagenet --micro-batch-size 2 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_infer_gen_pod4_batchsize_4_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --dataset imagenet --micro-batch-size 4 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_infer_gen_pod4_batchsize_5_replicas_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain validation.py --model efficientnet --model-size 4 --precision 16.16 --dataset imagenet --micro-batch-size 5 --generated-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --eight-bit-io --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_low_latency_infer_gen_pod4_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain inference_embedded.py --model efficientnet --model-size 4 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 1 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_low_latency_infer_gen_pod4_batchsize_2
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain inference_embedded.py --model efficientnet --model-size 4 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 2 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_low_latency_infer_gen_pod4_batchsize_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain inference_embedded.py --model efficientnet --model-size 4 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 4 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_low_latency_infer_gen_pod4_batchsize_5
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: mpirun --oversubscribe --tag-output --allow-run-as-root --np 4 --bind-to none cnntrain inference_embedded.py --model efficientnet --model-size 4 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 5 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 32 --prefetch-depth 3
  tf1_efficientnet_b4_g16_low_latency_infer_gen_pod4_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 4 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 1 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b4_g16_low_latency_infer_gen_pod4_batchsize_2
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 4 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 2 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b4_g16_low_latency_infer_gen_pod4_batchsize_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 4 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 4 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b4_g16_low_latency_infer_gen_pod4_batchsize_8
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 4 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 8 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b4_g16_low_latency_infer_gen_pod4_batchsize_16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 4 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 16 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b4_g16_low_latency_infer_gen_pod4_batchsize_20
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"2"}
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 4 --expand-ratio 4 --depth-divisor 8 --group-dim 16 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 20 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 1000 --num-inference-thread 6 --enable-half-partials --fused-preprocessing --num-io-tiles 64 --prefetch-depth 2
  tf1_efficientnet_b7_infer_gen_pod4_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 7 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 1 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 100 --num-inference-thread 3 --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b7_infer_gen_pod4_batchsize_2
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain poprun -vv '--mpi-local-args=-x TF_POPLAR_FLAGS -x POPLAR_RUNTIME_OPTIONS' --num-instances 4 --num-replicas 4 python3 inference_embedded.py --model efficientnet --model-size 7 --dataset imagenet --generated-data --batch-norm --iterations 8000 --micro-batch-size 2 --eight-bit-io --no-dataset-cache --tmp-execs --device-iterations 100 --num-inference-thread 3 --enable-half-partials --fused-preprocessing
  tf1_efficientnet_b4_batchnorm_train_real_pod16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"unlimited"}
    command: cnntrain poprun --num-instances 2 --num-replicas 16 python3 train.py --config efficientnet_b4_g1_with_batch_norm_16ipus --epochs 1 --data-dir /no/such/data/ --logs-per-epoch 16 --seed 1 --no-validation
  tf1_efficientnet_b4_batchnorm_infer_real_pod16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--executable_cache_path=./tf_cache/
    set:     POPLAR_ENGINE_OPTIONS={"opt.enableMultiAccessCopies":"false"}
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"unlimited"}
    command: cnntrain validation.py --config efficientnet_b4_g1_with_batch_norm_16ipus --data-dir /no/such/data/imagenet-data --restore-path ./logs/checkpoints --log-dir ./logs/checkpoints --epochs-per-ckpt 1 --logs-per-epoch 2
  tf1_bert_large_pretrain_real_pod16_config_configs/pretrain_large_128_phase1.json_train_file_$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5_mask20/wiki_00_cleaned.tfrecord
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--executable_cache_path=/tmp/tf_cache/
    command: cnntrain run_pretraining.py --config configs/pretrain_large_128_phase1.json --train-file /no/such/data/tf_wikipedia/tokenised_128_dup5_mask20/wiki_00_cleaned.tfrecord --num-train-steps 4
  tf1_bert_large_pretrain_real_pod16_config_configs/pretrain_large_384_phase2.json_train_file_$DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--executable_cache_path=/tmp/tf_cache/
    command: cnntrain run_pretraining.py --config configs/pretrain_large_384_phase2.json --train-file /no/such/data/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord --num-train-steps 4
  tf1_bert_base_pretrain_real_pod16_config_configs/pretrain_base_128_phase1.json_train_file_$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5_mask20/wiki_00_cleaned.tfrecord
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--executable_cache_path=/tmp/tf_cache/
    command: cnntrain run_pretraining.py --config configs/pretrain_base_128_phase1.json --train-file /no/such/data/tf_wikipedia/tokenised_128_dup5_mask20/wiki_00_cleaned.tfrecord --num-train-steps 4
  tf1_bert_base_pretrain_real_pod16_config_configs/pretrain_base_384_phase2.json_train_file_$DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--executable_cache_path=/tmp/tf_cache/
    command: cnntrain run_pretraining.py --config configs/pretrain_base_384_phase2.json --train-file /no/such/data/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord --num-train-steps 4
  tf1_groupbert_base_pretrain_real_pod16_phase_128
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--executable_cache_path=/tmp/tf_cache/
    command: cnntrain run_pretraining.py --config configs/groupbert/pretrain_base_groupbert_128.json --train-file '/no/such/data/wikipedia/128/wiki_1[0-1]*.tfrecord' --num-train-steps 10 --steps-per-logs 1
  tf1_groupbert_base_pretrain_real_pod16_phase_384
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--executable_cache_path=/tmp/tf_cache/
    command: cnntrain run_pretraining.py --config configs/groupbert/pretrain_base_groupbert_384.json --train-file '/no/such/data/wikipedia/384/wiki_1[0-1]*.tfrecord' --num-train-steps 10 --steps-per-logs 1
  tf1_bert_squad_large_train_real_pod16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--null_data_feed --executable_cache_path=/tmp/tf_cache/
    command: cnntrain run_squad.py --config configs/squad_large.json --do-training --init-checkpoint '' --num-train-steps 4 --train-file /no/such/data/squad/train-v1.1.json --vocab-file /no/such/data/ckpts/uncased_L-24_H-1024_A-16/vocab.txt
  tf1_bert_squad_large_infer_gen_2ipu
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--null_data_feed --executable_cache_path=/tmp/tf_cache/
    command: cnntrain run_squad_runtime.py --config configs/squad_large_inference_2ipu.json --init-checkpoint '' --generated-data --vocab-file /no/such/data/tf_wikipedia/ckpts/uncased_L-24_H-1024_A-16/vocab.txt --gradient-accumulation-count 80000 --device-iterations 1000 --embedded-runtime --micro-batch-size 1 --num-iter 10000
  tf1_bert_squad_large_infer_gen_4ipu
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--null_data_feed --executable_cache_path=/tmp/tf_cache/
    command: cnntrain poprun --vv --num-instances 2 --num-replicas 2 python3 run_squad_runtime.py --config configs/squad_large_inference_2ipu.json --init-checkpoint '' --generated-data --vocab-file /no/such/data/tf_wikipedia/ckpts/uncased_L-24_H-1024_A-16/vocab.txt --gradient-accumulation-count 80000 --device-iterations 1000 --embedded-runtime --micro-batch-size 1 --num-iter 10000
  tf1_glue_base_train_real_pod16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--executable_cache_path=/tmp/tf_cache/
    command: cnntrain run_classifier.py --config configs/glue_base.json --task-name mrpc --do-training --init-checkpoint '' --num-train-steps 4 --data-dir /no/such/data/glue/MRPC
  tf1_glue_large_train_real_pod16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--executable_cache_path=/tmp/tf_cache/
    command: cnntrain run_classifier.py --config configs/glue_large.json --task-name mrpc --do-training --init-checkpoint '' --num-train-steps 4 --data-dir /no/such/data/glue/MRPC

S1-06.

  $ cnntrain -m examples_utils benchmark --spec benchmarks.yml --benchmark tf1_resnet50_infer_synth_1ipu --dry-run
  note: --spec benchmarks.yml is not there: using the shipped SOURCE/configs/benchmarks.yml
  tf1_resnet50_infer_synth_1ipu_batchsize_1
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 1 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnet50_infer_synth_1ipu_batchsize_4
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 4 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnet50_infer_synth_1ipu_batchsize_16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 16 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnet50_infer_synth_1ipu_batchsize_32
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 32 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnet50_infer_synth_1ipu_batchsize_64
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 64 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing
  tf1_resnet50_infer_synth_1ipu_batchsize_90
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    command: cnntrain validation.py --model resnet --model-size 50 --dataset imagenet --micro-batch-size 90 --synthetic-data --repeat 10 --device-iterations 1000 --batch-norm --enable-half-partials --fused-preprocessing

S1-07.

  $ cnntrain train.py --config my_config --dry-run
  error: unknown configuration 'my_config'; configurations in SOURCE/configs SOURCE/configs: efficientnet_b4_16ipus_base efficientnet_b4_g16_16ipus efficientnet_b4_g16_32ipus efficientnet_b4_g16_64ipus efficientnet_b4_g16_large_batch_size_high_throughput efficientnet_b4_g1_16ipus efficientnet_b4_g1_32ipus efficientnet_b4_g1_64ipus efficientnet_b4_g1_with_batch_norm_16ipus efficientnet_b4_g1_with_batch_norm_64ipus efficientnet_b4_g1_with_batch_norm_base efficientnet_b4_g1_with_batch_norm_pod64_modification mk1_resnet50_16ipus mk2_efficientnet_b4_g16_128ipus mk2_efficientnet_b4_g16_256ipus mk2_efficientnet_b4_g16_64ipus mk2_resnet50_bn_128ipus mk2_resnet50_mlperf_pod128_bs20 mk2_resnet50_mlperf_pod128_lars mk2_resnet50_mlperf_pod16_lars mk2_resnet50_mlperf_pod256_lars mk2_resnet50_mlperf_pod64_lars resnet50_base resnet50_bn_16ipus resnet50_bn_32ipus resnet50_bn_64ipus resnet50_gn_16ipus resnet50_mlperf_pod16 resnet50_mlperf_pod16_bs20 resnet50_mlperf_pod16_lars resnet50_mlperf_pod32_lars resnet50_mlperf_pod64_bs20 resnet50_mlperf_pod64_lars resnet8_test resnext101_16ipus
  [2]

S1-08.

  $ cnntrain train.py --config my_config --epochs 50 --dry-run
  error: unknown configuration 'my_config'; configurations in SOURCE/configs SOURCE/configs: efficientnet_b4_16ipus_base efficientnet_b4_g16_16ipus efficientnet_b4_g16_32ipus efficientnet_b4_g16_64ipus efficientnet_b4_g16_large_batch_size_high_throughput efficientnet_b4_g1_16ipus efficientnet_b4_g1_32ipus efficientnet_b4_g1_64ipus efficientnet_b4_g1_with_batch_norm_16ipus efficientnet_b4_g1_with_batch_norm_64ipus efficientnet_b4_g1_with_batch_norm_base efficientnet_b4_g1_with_batch_norm_pod64_modification mk1_resnet50_16ipus mk2_efficientnet_b4_g16_128ipus mk2_efficientnet_b4_g16_256ipus mk2_efficientnet_b4_g16_64ipus mk2_resnet50_bn_128ipus mk2_resnet50_mlperf_pod128_bs20 mk2_resnet50_mlperf_pod128_lars mk2_resnet50_mlperf_pod16_lars mk2_resnet50_mlperf_pod256_lars mk2_resnet50_mlperf_pod64_lars resnet50_base resnet50_bn_16ipus resnet50_bn_32ipus resnet50_bn_64ipus resnet50_gn_16ipus resnet50_mlperf_pod16 resnet50_mlperf_pod16_bs20 resnet50_mlperf_pod16_lars resnet50_mlperf_pod32_lars resnet50_mlperf_pod64_bs20 resnet50_mlperf_pod64_lars resnet8_test resnext101_16ipus
  [2]

S1-09.

  $ cnntrain validation.py --config my_config --data-dir path-to-dataset --restore-path logs/training-dir/ckpt-id --dry-run
  error: unknown configuration 'my_config'; configurations in SOURCE/configs SOURCE/configs: efficientnet_b4_16ipus_base efficientnet_b4_g16_16ipus efficientnet_b4_g16_32ipus efficientnet_b4_g16_64ipus efficientnet_b4_g16_large_batch_size_high_throughput efficientnet_b4_g1_16ipus efficientnet_b4_g1_32ipus efficientnet_b4_g1_64ipus efficientnet_b4_g1_with_batch_norm_16ipus efficientnet_b4_g1_with_batch_norm_64ipus efficientnet_b4_g1_with_batch_norm_base efficientnet_b4_g1_with_batch_norm_pod64_modification mk1_resnet50_16ipus mk2_efficientnet_b4_g16_128ipus mk2_efficientnet_b4_g16_256ipus mk2_efficientnet_b4_g16_64ipus mk2_resnet50_bn_128ipus mk2_resnet50_mlperf_pod128_bs20 mk2_resnet50_mlperf_pod128_lars mk2_resnet50_mlperf_pod16_lars mk2_resnet50_mlperf_pod256_lars mk2_resnet50_mlperf_pod64_lars resnet50_base resnet50_bn_16ipus resnet50_bn_32ipus resnet50_bn_64ipus resnet50_gn_16ipus resnet50_mlperf_pod16 resnet50_mlperf_pod16_bs20 resnet50_mlperf_pod16_lars resnet50_mlperf_pod32_lars resnet50_mlperf_pod64_bs20 resnet50_mlperf_pod64_lars resnet8_test resnext101_16ipus
  [2]

S1-10.

  $ cnntrain validation.py --config my_config --data-dir path-to-dataset --restore-path logs/training-dir --dry-run
  error: unknown configuration 'my_config'; configurations in SOURCE/configs SOURCE/configs: efficientnet_b4_16ipus_base efficientnet_b4_g16_16ipus efficientnet_b4_g16_32ipus efficientnet_b4_g16_64ipus efficientnet_b4_g16_large_batch_size_high_throughput efficientnet_b4_g1_16ipus efficientnet_b4_g1_32ipus efficientnet_b4_g1_64ipus efficientnet_b4_g1_with_batch_norm_16ipus efficientnet_b4_g1_with_batch_norm_64ipus efficientnet_b4_g1_with_batch_norm_base efficientnet_b4_g1_with_batch_norm_pod64_modification mk1_resnet50_16ipus mk2_efficientnet_b4_g16_128ipus mk2_efficientnet_b4_g16_256ipus mk2_efficientnet_b4_g16_64ipus mk2_resnet50_bn_128ipus mk2_resnet50_mlperf_pod128_bs20 mk2_resnet50_mlperf_pod128_lars mk2_resnet50_mlperf_pod16_lars mk2_resnet50_mlperf_pod256_lars mk2_resnet50_mlperf_pod64_lars resnet50_base resnet50_bn_16ipus resnet50_bn_32ipus resnet50_bn_64ipus resnet50_gn_16ipus resnet50_mlperf_pod16 resnet50_mlperf_pod16_bs20 resnet50_mlperf_pod16_lars resnet50_mlperf_pod32_lars resnet50_mlperf_pod64_bs20 resnet50_mlperf_pod64_lars resnet8_test resnext101_16ipus
  [2]

S1-11.

  $ cnntrain poprun --dry-run -v --num-instances 8 --num-replicas 16 python3 train.py --config resnet50_gn_16ipus --data-dir your_dataset_dir_path --no-validation
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 8 -x POPDIST_NUM_TOTAL_REPLICAS=16 -x POPDIST_NUM_LOCAL_REPLICAS=2 -x POPDIST_NUM_IPUS_PER_REPLICA=1 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain train.py --config resnet50_gn_16ipus --data-dir your_dataset_dir_path --no-validation
  [warning] it could not be started here: 8 instances on 1 core: at most 4 can run here
  $ cnntrain train.py --config resnet50_gn_16ipus --data-dir your_dataset_dir_path --no-validation --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    resnet50_gn_16ipus
  Model:            resnet 50, group norm of 32, 25557032 parameters, 8.2584 GFLOP forward per image
  Data:             imagenet from your_dataset_dir_path (not there; counts are those of the published set), 1281167 training images of 224 x 224
  Input: ...
  Batch:            8 (micro-batch) x 8 (accumulated) x 16 (replicas) = 1024
  Replicas:         16 in this process, with one set of weights
  Length:           81324 iterations, 65 epochs of 1251 iterations; a log line every 1251, host steps of 1251
  Optimiser:        momentum, momentum 0.9, weight decay 1e-04, loss scaling 128, label smoothing 0.1
  Learning rate:    cosine, base 0.5, warm-up 6255 iterations (5 epochs)
  Rates:            0.049953 at 625, 0.42465 at 20641, 0.25005 at 40657, 0.075422 at 60673, 4.6635e-09 at 81319
  Checkpoints:      after iterations 1251, 2502, 3753, 5004, 6255, 7506, ..., 81324 (65 in all)
  Validation:       none
  Precision:        16.16, stochastic rounding ON, backend cpu
  Files:            ./logs/RN50_bs8x16rx8a_GN32_16.16_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 66 of 102.2 MB: 6.7 GB

S1-12.

  $ cnntrain poprun --dry-run -v --num-instances 8 --num-replicas 16 python3 validation.py --config resnet50_gn_16ipus --data-dir your_dataset_dir_path --restore-path generated_checkpoints_dir_path
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 8 -x POPDIST_NUM_TOTAL_REPLICAS=16 -x POPDIST_NUM_LOCAL_REPLICAS=2 -x POPDIST_NUM_IPUS_PER_REPLICA=1 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain validation.py --config resnet50_gn_16ipus --data-dir your_dataset_dir_path --restore-path generated_checkpoints_dir_path
  [warning] it could not be started here: 8 instances on 1 core: at most 4 can run here
  $ cnntrain validation.py --config resnet50_gn_16ipus --data-dir your_dataset_dir_path --restore-path generated_checkpoints_dir_path --dry-run
  [info] --replicas 16 counts as 1: one device evaluates
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --internal-exchange-optimisation-target
  Dry run:          validation; no sample is computed, nothing is written
  Configuration:    resnet50_gn_16ipus
  Model:            resnet 50, group norm of 32, 25557032 parameters, 8.2584 GFLOP forward per image
  Data:             imagenet from your_dataset_dir_path (not there; counts are those of the published set), 50000 validation images of 224 x 224
  Input: ...
  Validation:       6250 batches of 8
  Weights:          generated_checkpoints_dir_path, where there is no checkpoint yet
  Precision:        16.16, backend cpu
  Files:            none

S1-13.

  $ cnntrain poprun --dry-run -v --num-instances 4 --num-replicas 4 --ipus-per-replica 4 python3 train.py --config resnet50_bn_16ipus --data-dir your_dataset_path --no-validation
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
  mpirun --tag-output --bind-to none --oversubscribe -np 4 -x POPDIST_NUM_TOTAL_REPLICAS=4 -x POPDIST_NUM_LOCAL_REPLICAS=1 -x POPDIST_NUM_IPUS_PER_REPLICA=4 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain train.py --config resnet50_bn_16ipus --data-dir your_dataset_path --no-validation
  $ cnntrain train.py --config resnet50_bn_16ipus --data-dir your_dataset_path --no-validation --dry-run
  [info] --pipeline-num-parallel changes nothing: --input-threads says how many threads prepare images
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --available-memory-proportion --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    resnet50_bn_16ipus
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet from your_dataset_path (not there; counts are those of the published set), 1281167 training images of 224 x 224
  Input: ...
  Batch:            16 (micro-batch) x 256 (accumulated) x 4 (replicas) = 16384
  Pipeline:         4 stages on 4 devices, split before stage1/unit3/relu, stage2/unit4/relu, stage3/unit4/relu; Grouped, stash depths 7, 5, 3, 1, bubble 0.3 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           7819 iterations, 100 epochs of 78 iterations; a log line every 78, host steps of 78
  Optimiser:        momentum, momentum 0.9, weight decay 1e-04, loss scaling 128, label smoothing 0.1
  Learning rate:    cosine, base 2, warm-up 390 iterations (5 epochs)
  Rates:            0.19999 at 39, 1.6973 at 1989, 0.98815 at 3939, 0.2859 at 5889, 8.0717e-06 at 7809
  Checkpoints:      after iterations 78, 156, 234, 312, 390, 468, ..., 7819 (100 in all)
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/RN50_bs16x4rx256p_BN_16.32_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 101 of 204.7 MB: 20.7 GB

S1-14.

  $ cnntrain poprun --dry-run -v --num-instances 8 --num-replicas 16 python3 validation.py --config resnet50_bn_16ipus --shards 1 --data-dir your_dataset_dir_path --restore-path generated_checkpoints_dir_path
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 8 -x POPDIST_NUM_TOTAL_REPLICAS=16 -x POPDIST_NUM_LOCAL_REPLICAS=2 -x POPDIST_NUM_IPUS_PER_REPLICA=1 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain validation.py --config resnet50_bn_16ipus --shards 1 --data-dir your_dataset_dir_path --restore-path generated_checkpoints_dir_path
  [warning] it could not be started here: 8 instances on 1 core: at most 4 can run here
  $ cnntrain validation.py --config resnet50_bn_16ipus --shards 1 --data-dir your_dataset_dir_path --restore-path generated_checkpoints_dir_path --dry-run
  [info] --replicas 4 counts as 1: one device evaluates
  [info] --pipeline-num-parallel changes nothing: --input-threads says how many threads prepare images
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --available-memory-proportion --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          validation; no sample is computed, nothing is written
  Configuration:    resnet50_bn_16ipus
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet from your_dataset_dir_path (not there; counts are those of the published set), 50000 validation images of 224 x 224
  Input: ...
  Validation:       3125 batches of 16
  Weights:          generated_checkpoints_dir_path, where there is no checkpoint yet
  Precision:        16.32, backend cpu
  Files:            none

S1-15.

  $ cnntrain poprun --dry-run -v --host xxx.xxx.xxx.1,xxx.xxx.xxx.2,xxx.xxx.xxx.3,xxx.xxx.xxx.4 --vipu-server-host=xxx.xxx.xxx.xxx \ --vipu-partition=pod64_partition_name --reset-partition=yes --mpi-global-args=" --mca btl_tcp_if_include xxx.xxx.xxx.0/24" --mpi-local-args="-x LD_LIBRARY_PATH -x PYTHONPATH -x TF_CPP_VMODULE=poplar_compiler=1 -x IPUOF_VIPU_API_TIMEOUT=300 -x TF_POPLAR_FLAGS=--executable_cache_path=$WORKSPACE/exec_cache" \ --num-replicas=16 --num-instances=16 --ipus-per-replica 4 python3 $WORKSPACE/examples/vision/cnns/tensorflow1/training/train.py --config resnet50_bn_64ipus --no-validation --data-dir your_dataset_path
  error: poprun: names of hosts and networks that cannot be right:
    --host: 'xxx.xxx.xxx.1': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.2': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.3': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.4': a placeholder, to be replaced
    --vipu-server-host: 'xxx.xxx.xxx.xxx': a placeholder, to be replaced
    --mca: 'xxx.xxx.xxx.0/24': a placeholder, to be replaced
  [2]
  $ cnntrain $WORKSPACE/examples/vision/cnns/tensorflow1/training/train.py --config resnet50_bn_64ipus --no-validation --data-dir your_dataset_path --dry-run
  [info] --pipeline-num-parallel changes nothing: --input-threads says how many threads prepare images
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --available-memory-proportion --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    resnet50_bn_64ipus
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet from your_dataset_path (not there; counts are those of the published set), 1281167 training images of 224 x 224
  Input: ...
  Batch:            16 (micro-batch) x 64 (accumulated) x 16 (replicas) = 16384
  Pipeline:         4 stages on 4 devices, split before stage1/unit3/relu, stage2/unit4/relu, stage3/unit4/relu; Grouped, stash depths 7, 5, 3, 1, bubble 0.3 % with a lane for each stage
  Replicas:         16 in this process, with one set of weights
  Length:           7819 iterations, 100 epochs of 78 iterations; a log line every 78, host steps of 78
  Optimiser:        momentum, momentum 0.9, weight decay 1e-04, loss scaling 128, label smoothing 0.1
  Learning rate:    cosine, base 2, warm-up 390 iterations (5 epochs)
  Rates:            0.19999 at 39, 1.6973 at 1989, 0.98815 at 3939, 0.2859 at 5889, 8.0717e-06 at 7809
  Checkpoints:      after iterations 78, 156, 234, 312, 390, 468, ..., 7819 (100 in all)
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/RN50_bs16x16rx64p_BN_16.32_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 101 of 204.7 MB: 20.7 GB

S1-16.

  $ cnntrain poprun --dry-run -v --host xxx.xxx.xxx.1,xxx.xxx.xxx.2,xxx.xxx.xxx.3,xxx.xxx.xxx.4 --vipu-server-host=xxx.xxx.xxx.xxx \ --vipu-partition=pod64_partition_name --reset-partition=yes --mpi-global-args=" --mca btl_tcp_if_include xxx.xxx.xxx.0/24" --mpi-local-args="-x LD_LIBRARY_PATH -x PYTHONPATH -x TF_CPP_VMODULE=poplar_compiler=1 -x IPUOF_VIPU_API_TIMEOUT=300 -x TF_POPLAR_FLAGS=--executable_cache_path=$WORKSPACE/exec_cache" --num-replicas=64 --num-instances=32 --ipus-per-replica 1 python3 $WORKSPACE/examples/vision/cnns/tensorflow1/training/validation.py --config resnet50_bn_64ipus --shards 1 --data-dir your_dataset_path --restore-path generated_checkpoints_dir_path
  error: poprun: names of hosts and networks that cannot be right:
    --host: 'xxx.xxx.xxx.1': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.2': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.3': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.4': a placeholder, to be replaced
    --vipu-server-host: 'xxx.xxx.xxx.xxx': a placeholder, to be replaced
    --mca: 'xxx.xxx.xxx.0/24': a placeholder, to be replaced
  [2]
  $ cnntrain $WORKSPACE/examples/vision/cnns/tensorflow1/training/validation.py --config resnet50_bn_64ipus --shards 1 --data-dir your_dataset_path --restore-path generated_checkpoints_dir_path --dry-run
  [info] --replicas 16 counts as 1: one device evaluates
  [info] --pipeline-num-parallel changes nothing: --input-threads says how many threads prepare images
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --available-memory-proportion --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          validation; no sample is computed, nothing is written
  Configuration:    resnet50_bn_64ipus
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet from your_dataset_path (not there; counts are those of the published set), 50000 validation images of 224 x 224
  Input: ...
  Validation:       3125 batches of 16
  Weights:          generated_checkpoints_dir_path, where there is no checkpoint yet
  Precision:        16.32, backend cpu
  Files:            none

S1-17.

  $ POPLAR_ENGINE_OPTIONS='{"opt.enableMultiAccessCopies":"false"}' cnntrain poprun --dry-run -vv --mpi-local-args='-x POPLAR_ENGINE_OPTIONS' --num-instances 8 --num-replicas 16 python train.py --config resnet50_mlperf_pod16_bs20 --epochs-per-sync 20 --data-dir your_dataset_path --no-validation
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 8 -x POPDIST_NUM_TOTAL_REPLICAS=16 -x POPDIST_NUM_LOCAL_REPLICAS=2 -x POPDIST_NUM_IPUS_PER_REPLICA=1 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x POPLAR_ENGINE_OPTIONS -x PATH cnntrain poprun-instance cnntrain train.py --config resnet50_mlperf_pod16_bs20 --epochs-per-sync 20 --data-dir your_dataset_path --no-validation
  [warning] it could not be started here: 8 instances on 1 core: at most 4 can run here
  $ cnntrain train.py --config resnet50_mlperf_pod16_bs20 --epochs-per-sync 20 --data-dir your_dataset_path --no-validation --dry-run
  [info] --standard-imagenet changes nothing: the files are always one stream, whose order depends on the seed alone
  [info] --fused-preprocessing changes nothing: images are always normalised so without --hostside-norm
  [info] --max-cross-replica-buffer-size and --epochs-per-sync change nothing: they need several processes (mpirun, srun or cnntrain poprun)
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --gather-conv-output --available-memory-proportion --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    resnet50_mlperf_pod16_bs20
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet from your_dataset_path (not there; counts are those of the published set), 1281167 training images of 224 x 224
  Input: ...
  Batch:            20 (micro-batch) x 6 (accumulated) x 16 (replicas) = 1920
  Pipeline:         7 stages on one device, split before stage1/unit1/relu, stage1/unit3/relu, stage2/unit1/relu, stage2/unit3/relu, stage3/unit1/relu, stage3/unit4/relu; Sequential, stash depths 1, 1, 1, 1, 1, 1, 1, bubble 85.7 % with a lane for each stage
  Replicas:         16 in this process, with one set of weights; 2 share batch-norm statistics, in micro-batches of 40
  Length:           26690 iterations, 40 epochs of 667 iterations; a log line every 133, host steps of 133
  Optimiser:        momentum, momentum 0.9, weight decay 2.5e-05, loss scaling 128, label smoothing 0.1
  Learning rate:    polynomial_decay_lr, base 3.824, warm-up 3336 iterations (5 epochs)
  Rates:            0.075655 at 66, 2.7972 at 6716, 1.2448 at 13366, 0.31239 at 20016, 0.0001142 at 26645
  Checkpoints:      after iterations 2668, 5336, 8004, 10672, 13340, 16008, ..., 26690 (10 in all)
  Validation:       none
  Precision:        16.16, stochastic rounding ON, backend cpu
  Files:            ./logs/RN50_bs20x16rx6p_BN_16.16_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*, result_<seed>.txt
  Disk:             checkpoints: 11 of 102.3 MB: 1.1 GB

S1-18.

  $ POPLAR_ENGINE_OPTIONS='{"opt.enableMultiAccessCopies":"false"}' cnntrain poprun --dry-run -vv --mpi-local-args='-x POPLAR_ENGINE_OPTIONS' --num-instances 8 --num-replicas 16 python validation.py --config resnet50_mlperf_pod16_bs20 --no-stochastic-rounding --micro-batch-size 25 --available-memory-proportion 0.6 --data-dir your_dataset_path --restore-path generated_checkpoints_dir_path
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 8 -x POPDIST_NUM_TOTAL_REPLICAS=16 -x POPDIST_NUM_LOCAL_REPLICAS=2 -x POPDIST_NUM_IPUS_PER_REPLICA=1 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x POPLAR_ENGINE_OPTIONS -x PATH cnntrain poprun-instance cnntrain validation.py --config resnet50_mlperf_pod16_bs20 --no-stochastic-rounding --micro-batch-size 25 --available-memory-proportion 0.6 --data-dir your_dataset_path --restore-path generated_checkpoints_dir_path
  [warning] it could not be started here: 8 instances on 1 core: at most 4 can run here
  $ cnntrain validation.py --config resnet50_mlperf_pod16_bs20 --no-stochastic-rounding --micro-batch-size 25 --available-memory-proportion 0.6 --data-dir your_dataset_path --restore-path generated_checkpoints_dir_path --dry-run
  [info] --replicas 16 counts as 1: one device evaluates
  [info] --standard-imagenet changes nothing: the files are always one stream, whose order depends on the seed alone
  [info] --fused-preprocessing changes nothing: images are always normalised so without --hostside-norm
  [info] --stochastic-rounding changes nothing: it is for training
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --gather-conv-output --available-memory-proportion --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          validation; no sample is computed, nothing is written
  Configuration:    resnet50_mlperf_pod16_bs20
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet from your_dataset_path (not there; counts are those of the published set), 50000 validation images of 224 x 224
  Input: ...
  Validation:       2000 batches of 25
  Weights:          generated_checkpoints_dir_path, where there is no checkpoint yet
  Precision:        16.16, backend cpu
  Files:            none

S1-19.

  $ POPLAR_ENGINE_OPTIONS='{"opt.enableMultiAccessCopies":"false"}' POPLAR_TARGET_OPTIONS='{"gatewayMode":"false"}' cnntrain poprun --dry-run -vv --host xxx.xxx.1.1,xxx.xxx.1.2,xxx.xxx.1.3,xxx.xxx.1.4 --mpi-global-args='--mca oob_tcp_if_include xxx.xxx.xxx.0/24 \  --mca btl_tcp_if_include xxx.xxx.xxx.0/24' --mpi-local-args=' -x OPAL_PREFIX -x LD_LIBRARY_PATH -x PATH \  -x PYTHONPATH -x IPUOF_VIPU_API_TIMEOUT=600 -x POPLAR_LOG_LEVEL=WARN -x POPLAR_ENGINE_OPTIONS' --reset-partition=yes --vipu-server-timeout 300 --only-output-from-instance 0 --vipu-server-host xxx.xxx.xxx.xxx --vipu-partition=pod64_partition_name --num-instances 32 --num-replicas 64 python train.py --config resnet50_mlperf_pod64_bs20 --epochs-per-sync 20 --data-dir your_dataset_path --no-validation
  error: poprun: names of hosts and networks that cannot be right:
    --host: 'xxx.xxx.1.1': a placeholder, to be replaced
    --host: 'xxx.xxx.1.2': a placeholder, to be replaced
    --host: 'xxx.xxx.1.3': a placeholder, to be replaced
    --host: 'xxx.xxx.1.4': a placeholder, to be replaced
    --vipu-server-host: 'xxx.xxx.xxx.xxx': a placeholder, to be replaced
    --mca: 'xxx.xxx.xxx.0/24': a placeholder, to be replaced
    --mca: 'xxx.xxx.xxx.0/24': a placeholder, to be replaced
  [2]
  $ cnntrain train.py --config resnet50_mlperf_pod64_bs20 --epochs-per-sync 20 --data-dir your_dataset_path --no-validation --dry-run
  [info] --standard-imagenet changes nothing: the files are always one stream, whose order depends on the seed alone
  [info] --fused-preprocessing changes nothing: images are always normalised so without --hostside-norm
  [info] --max-cross-replica-buffer-size and --epochs-per-sync change nothing: they need several processes (mpirun, srun or cnntrain poprun)
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --gather-conv-output --available-memory-proportion --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    resnet50_mlperf_pod64_bs20
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet from your_dataset_path (not there; counts are those of the published set), 1281167 training images of 224 x 224
  Input: ...
  Batch:            20 (micro-batch) x 2 (accumulated) x 64 (replicas) = 2560
  Pipeline:         7 stages on one device, split before stage1/unit1/relu, stage1/unit3/relu, stage2/unit1/relu, stage2/unit3/relu, stage3/unit1/relu, stage3/unit4/relu; Sequential, stash depths 1, 1, 1, 1, 1, 1, 1, bubble 85.7 % with a lane for each stage
  Replicas:         64 in this process, with one set of weights; 2 share batch-norm statistics, in micro-batches of 40
  Length:           20518 iterations, 41 epochs of 500 iterations; a log line every 100, host steps of 100
  Optimiser:        momentum, momentum 0.9, weight decay 2.5e-05, loss scaling 128, label smoothing 0.1
  Learning rate:    polynomial_decay_lr, base 5.098, warm-up 2502 iterations (5 epochs)
  Rates:            0.10188 at 50, 3.7095 at 5150, 1.656 at 10250, 0.41959 at 15350, 0.00010127 at 20509
  Checkpoints:      after iterations 500, 2500, 4500, 6500, 8500, 10500, ..., 20518 (11 in all)
  Validation:       none
  Precision:        16.16, stochastic rounding ON, backend cpu
  Files:            ./logs/RN50_bs20x64rx2p_BN_16.16_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*, result_<seed>.txt
  Disk:             checkpoints: 12 of 102.3 MB: 1.2 GB

S1-20.

  $ cnntrain poprun --dry-run --num-replicas 8 --ipus-per-replica 2 --num-instances 8 python3 train.py --config resnext101_16ipus --data-dir your_dataset_path --no-validation
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
  mpirun --tag-output --bind-to none --oversubscribe -np 8 -x POPDIST_NUM_TOTAL_REPLICAS=8 -x POPDIST_NUM_LOCAL_REPLICAS=1 -x POPDIST_NUM_IPUS_PER_REPLICA=2 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain train.py --config resnext101_16ipus --data-dir your_dataset_path --no-validation
  [warning] it could not be started here: 8 instances on 1 core: at most 4 can run here
  $ cnntrain train.py --config resnext101_16ipus --data-dir your_dataset_path --no-validation --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    resnext101_16ipus
  Model:            resnext 101, group norm of 32, 44177704 parameters, 16.091 GFLOP forward per image
  Data:             imagenet from your_dataset_path (not there; counts are those of the published set), 1281167 training images of 224 x 224
  Input: ...
  Batch:            6 (micro-batch) x 16 (accumulated) x 8 (replicas) = 768
  Pipeline:         2 stages on 2 devices, split before stage3/unit4/relu; Grouped, stash depths 3, 1, bubble 0.8 % with a lane for each stage
  Replicas:         8 in this process, with one set of weights
  Length:           200182 iterations, 120 epochs of 1668 iterations; a log line every 104, host steps of 104
  Optimiser:        momentum, momentum 0.9, weight decay 1e-04, loss scaling 128, label smoothing 0.1
  Learning rate:    cosine, base 0.375, warm-up 8340 iterations (5 epochs)
  Rates:            0.0023381 at 52, 0.32002 at 50076, 0.18747 at 100100, 0.054943 at 150124, 4.2693e-08 at 200139
  Checkpoints:      after iterations 1668, 3336, 5004, 6672, 8340, 10008, ..., 200182 (120 in all)
  Validation:       none
  Precision:        16.16, stochastic rounding ON, backend cpu
  Files:            ./logs/RNX101_bs6x8rx16p_GN32_16.16_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 121 of 176.7 MB: 21.4 GB

S1-21.

  $ cnntrain poprun --dry-run --num-replicas 16 --num-instances 16 python3 validation.py --config resnext101_16ipus --shards 1 --data-dir your_dataset_path --restore-path generated_checkpoints_dir_path
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 16 -x POPDIST_NUM_TOTAL_REPLICAS=16 -x POPDIST_NUM_LOCAL_REPLICAS=1 -x POPDIST_NUM_IPUS_PER_REPLICA=1 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain validation.py --config resnext101_16ipus --shards 1 --data-dir your_dataset_path --restore-path generated_checkpoints_dir_path
  [warning] it could not be started here: 16 instances on 1 core: at most 4 can run here
  $ cnntrain validation.py --config resnext101_16ipus --shards 1 --data-dir your_dataset_path --restore-path generated_checkpoints_dir_path --dry-run
  [info] --replicas 8 counts as 1: one device evaluates
  [info] kept in arguments.json but without effect, because they only steer IPUs: --stable-norm --enable-half-partials --disable-variable-offloading --internal-exchange-optimisation-target
  Dry run:          validation; no sample is computed, nothing is written
  Configuration:    resnext101_16ipus
  Model:            resnext 101, group norm of 32, 44177704 parameters, 16.091 GFLOP forward per image
  Data:             imagenet from your_dataset_path (not there; counts are those of the published set), 50000 validation images of 224 x 224
  Input: ...
  Validation:       8334 batches of 6
  Weights:          generated_checkpoints_dir_path, where there is no checkpoint yet
  Precision:        16.16, backend cpu
  Files:            none

S1-22.

  $ cnntrain poprun --dry-run --num-replicas 4 --num-instances 4 --ipus-per-replica 4 \ python3 train.py --config efficientnet_b4_g1_16ipus --data-dir your_dataset_path --no-validation
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
  mpirun --tag-output --bind-to none --oversubscribe -np 4 -x POPDIST_NUM_TOTAL_REPLICAS=4 -x POPDIST_NUM_LOCAL_REPLICAS=1 -x POPDIST_NUM_IPUS_PER_REPLICA=4 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain train.py --config efficientnet_b4_g1_16ipus --data-dir your_dataset_path --no-validation
  $ cnntrain train.py --config efficientnet_b4_g1_16ipus --data-dir your_dataset_path --no-validation --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --available-memory-proportion --disable-variable-offloading --enable-conv-dithering --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    efficientnet_b4_g1_16ipus
  Model:            efficientnet B4, group norm of 4, 19341616 parameters, 9.1773 GFLOP forward per image
  Data:             imagenet from your_dataset_path (not there; counts are those of the published set), 1281167 training images of 380 x 380
  Input: ...
  Batch:            3 (micro-batch) x 64 (accumulated) x 4 (replicas) = 768
  Pipeline:         4 stages on 4 devices, split before block2b, block4b, block6c; Grouped, stash depths 7, 5, 3, 1, bubble 1.2 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           583865 iterations, 350 epochs of 1668 iterations; a log line every 104, host steps of 104
  Optimiser:        RMSprop, momentum 0.9, weight decay 1e-05, loss scaling 128, label smoothing 0.1
  Learning rate:    exponential, base 0.046875, warm-up 8340.9 iterations (5 epochs), times 0.97 at each of 146 drops
  Rates:            0.00029223 at 52, 0.015658 at 145964, 0.0050732 at 291980, 0.0016946 at 437892, 0.00056603 at 583860
  Checkpoints:      after iterations 1668, 3336, 5004, 6672, 8340, 10008, ..., 583865 (350 in all)
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/EfficientNet-B4_bs3x64px4r_GN4_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 351 of 232.1 MB: 81.5 GB

S1-23.

  $ cnntrain poprun --dry-run -v --num-instances 8 --num-replicas 16 python3 validation.py --config efficientnet_b4_g1_16ipus --shards 1 --data-dir your_dataset_dir_path --restore-path generated_checkpoints_dir_path
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 8 -x POPDIST_NUM_TOTAL_REPLICAS=16 -x POPDIST_NUM_LOCAL_REPLICAS=2 -x POPDIST_NUM_IPUS_PER_REPLICA=1 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain validation.py --config efficientnet_b4_g1_16ipus --shards 1 --data-dir your_dataset_dir_path --restore-path generated_checkpoints_dir_path
  [warning] it could not be started here: 8 instances on 1 core: at most 4 can run here
  $ cnntrain validation.py --config efficientnet_b4_g1_16ipus --shards 1 --data-dir your_dataset_dir_path --restore-path generated_checkpoints_dir_path --dry-run
  [info] --replicas 4 counts as 1: one device evaluates
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --available-memory-proportion --disable-variable-offloading --enable-conv-dithering --internal-exchange-optimisation-target
  Dry run:          validation; no sample is computed, nothing is written
  Configuration:    efficientnet_b4_g1_16ipus
  Model:            efficientnet B4, group norm of 4, 19341616 parameters, 9.1773 GFLOP forward per image
  Data:             imagenet from your_dataset_dir_path (not there; counts are those of the published set), 50000 validation images of 380 x 380
  Input: ...
  Validation:       16667 batches of 3
  Weights:          generated_checkpoints_dir_path, where there is no checkpoint yet
  Precision:        16.32, backend cpu
  Files:            none

S1-24.

  $ cnntrain poprun --dry-run --num-replicas 8 --num-instances 8 --ipus-per-replica 2 python3 train.py --config efficientnet_b4_g16_16ipus --data-dir your_dataset_path --no-validation --identical-replica-seeding
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
  mpirun --tag-output --bind-to none --oversubscribe -np 8 -x POPDIST_NUM_TOTAL_REPLICAS=8 -x POPDIST_NUM_LOCAL_REPLICAS=1 -x POPDIST_NUM_IPUS_PER_REPLICA=2 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain train.py --config efficientnet_b4_g16_16ipus --data-dir your_dataset_path --no-validation --identical-replica-seeding
  [warning] it could not be started here: 8 instances on 1 core: at most 4 can run here
  $ cnntrain train.py --config efficientnet_b4_g16_16ipus --data-dir your_dataset_path --no-validation --identical-replica-seeding --dry-run
  [info] --standard-imagenet changes nothing: the files are always one stream, whose order depends on the seed alone
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --identical-replica-seeding --available-memory-proportion --disable-variable-offloading --enable-conv-dithering --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    efficientnet_b4_g16_16ipus
  Model:            efficientnet B4, group norm of 4, 19328168 parameters, 12.651 GFLOP forward per image
  Data:             imagenet from your_dataset_path (not there; counts are those of the published set), 1281167 training images of 380 x 380
  Input: ...
  Batch:            3 (micro-batch) x 256 (accumulated) x 8 (replicas) = 6144
  Pipeline:         2 stages on 2 devices, split before block4a; Grouped, stash depths 3, 1, bubble 0.0 % with a lane for each stage
  Replicas:         8 in this process, with one set of weights
  Length:           72983 iterations, 350 epochs of 208 iterations; a log line every 13, host steps of 13
  Optimiser:        LARS, momentum 0.885, weight decay 0, loss scaling 128, label smoothing 0.1
  Learning rate:    polynomial_decay_lr, base 8.485281374238571, warm-up 14596 iterations (70 epochs)
  Rates:            0.0034881 at 6, 7.4578 at 18245, 3.3135 at 36497, 0.82881 at 54736, 8.4855e-05 at 72982
  Checkpoints:      after iterations 208, 416, 624, 832, 1040, 1248, ..., 72983 (351 in all)
  Validation:       none
  Precision:        16.16, stochastic rounding ON, backend cpu
  Files:            ./logs/EfficientNet-B4_bs3x256px8r_GN4_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 352 of 77.3 MB: 27.2 GB

S1-25.

  $ cnntrain poprun --dry-run --num-replicas 32 --num-instances 8 --ipus-per-replica 2 python3 train.py --config efficientnet_b4_g16_64ipus --data-dir your_dataset_path --no-validation --identical-replica-seeding
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22 | 23 | 24 | 25 | 26 | 27 | 28 | 29 | 30 | 31 |
  ===
  mpirun --tag-output --bind-to none --oversubscribe -np 8 -x POPDIST_NUM_TOTAL_REPLICAS=32 -x POPDIST_NUM_LOCAL_REPLICAS=4 -x POPDIST_NUM_IPUS_PER_REPLICA=2 -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 -x PATH cnntrain poprun-instance cnntrain train.py --config efficientnet_b4_g16_64ipus --data-dir your_dataset_path --no-validation --identical-replica-seeding
  [warning] it could not be started here: 8 instances on 1 core: at most 4 can run here
  $ cnntrain train.py --config efficientnet_b4_g16_64ipus --data-dir your_dataset_path --no-validation --identical-replica-seeding --dry-run
  [info] --standard-imagenet changes nothing: the files are always one stream, whose order depends on the seed alone
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials --identical-replica-seeding --available-memory-proportion --disable-variable-offloading --enable-conv-dithering --internal-exchange-optimisation-target
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    efficientnet_b4_g16_64ipus
  Model:            efficientnet B4, group norm of 4, 19328168 parameters, 12.651 GFLOP forward per image
  Data:             imagenet from your_dataset_path (not there; counts are those of the published set), 1281167 training images of 380 x 380
  Input: ...
  Batch:            3 (micro-batch) x 64 (accumulated) x 32 (replicas) = 6144
  Pipeline:         2 stages on 2 devices, split before block4a; Grouped, stash depths 3, 1, bubble 0.0 % with a lane for each stage
  Replicas:         32 in this process, with one set of weights
  Length:           72983 iterations, 350 epochs of 208 iterations; a log line every 13, host steps of 13
  Optimiser:        LARS, momentum 0.885, weight decay 0, loss scaling 128, label smoothing 0.1
  Learning rate:    polynomial_decay_lr, base 8.485281374238571, warm-up 14596 iterations (70 epochs)
  Rates:            0.0034881 at 6, 7.4578 at 18245, 3.3135 at 36497, 0.82881 at 54736, 8.4855e-05 at 72982
  Checkpoints:      after iterations 208, 416, 624, 832, 1040, 1248, ..., 72983 (351 in all)
  Validation:       none
  Precision:        16.16, stochastic rounding ON, backend cpu
  Files:            ./logs/EfficientNet-B4_bs3x64px32r_GN4_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 352 of 77.3 MB: 27.2 GB

S1-26.

  $ cnntrain train.py --config efficientnet_b4_g1_with_batch_norm_16ipus --dry-run
  [info] --standard-imagenet changes nothing: the files are always one stream, whose order depends on the seed alone
  [info] --fused-preprocessing changes nothing: images are always normalised so without --hostside-norm
  [info] --max-cross-replica-buffer-size changes nothing: it needs several processes (mpirun, srun or cnntrain poprun)
  [info] kept in arguments.json but without effect, because they only steer IPUs: --min-remote-tensor-size --force-unstable-norm --enable-half-partials --gather-conv-output --available-memory-proportion --enable-conv-dithering --internal-exchange-optimisation-target --max-reduce-many-buffer-size --only-use-slic-vmac-16 --gcl-max-broadcast-size --executable-cache-path
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    efficientnet_b4_g1_with_batch_norm_16ipus
  Model:            efficientnet B4, batch norm, 19341616 parameters, 8.8424 GFLOP forward per image
  Data:             imagenet from ./datasets (not there; counts are those of the published set), 1281167 training and 50000 validation images of 380 x 380
  Input: ...
  Batch:            6 (micro-batch) x 64 (accumulated) x 16 (replicas) = 6144
  Pipeline:         15 stages on one device, split before block0, block2a, block2a/b, block2b, block2c, block2d, block3a, block3c, block4a, block4c, block5a, block5d, block6a, block6e; Sequential, stash depths 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, bubble 93.3 % with a lane for each stage
  Replicas:         16 in this process, with one set of weights; 8 share batch-norm statistics, in micro-batches of 48
  Length:           72983 iterations, 350 epochs of 208 iterations; a log line every 13, host steps of 13
  Optimiser:        LARS, momentum 0.885, weight decay 0, loss scaling 128, label smoothing 0.1
  Learning rate:    polynomial_decay_lr, base 6, warm-up 14596 iterations (70 epochs)
  Rates:            0.0024664 at 6, 5.2735 at 18245, 2.343 at 36497, 0.58606 at 54736, 6.0002e-05 at 72982
  Checkpoints:      after iterations 208, 416, 624, 832, 1040, 1248, ..., 72983 (351 in all)
  Validation:       of each of them, 8334 batches of 6
  Precision:        16.16, stochastic rounding ON, backend cpu
  Files:            ./logs/EfficientNet-B4_bs6x64px16r_BN__LARS_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, validation.csv, events.out.tfevents.*
  Disk:             checkpoints: 352 of 77.7 MB: 27.4 GB

S1-27.

  $ cnntrain -m examples_utils benchmark --spec benchmarks.yml --benchmark tf1_efficientnet_b4_batchnorm_train_real_pod64_conv tf1_efficientnet_b4_batchnorm_infer_real_pod16 --dry-run
  note: --spec benchmarks.yml is not there: using the shipped SOURCE/configs/benchmarks.yml
  note: tf1_efficientnet_b4_batchnorm_train_real_pod64_conv: --vipu-partition left out: its variable is not set, and no V-IPU server is needed
  note: tf1_efficientnet_b4_batchnorm_train_real_pod64_conv: --vipu-server-host left out: its variable is not set, and no V-IPU server is needed
  tf1_efficientnet_b4_batchnorm_train_real_pod64_conv
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--executable_cache_path=./tf_cache/
    set:     POPLAR_ENGINE_OPTIONS={"opt.enableMultiAccessCopies":"false"}
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"unlimited"}
    command: cnntrain poprun --vv --host a,b --num-instances 8 --num-replicas 64 --ipus-per-replica 1 '--mpi-global-args=--mca oob_tcp_if_include 10.0.0.0/8 --mca btl_tcp_if_include 10.0.0.0/8' '--mpi-local-args=-x OPAL_PREFIX -x LD_LIBRARY_PATH -x PATH -x PYTHONPATH -x IPUOF_VIPU_API_TIMEOUT=600 -x POPLAR_LOG_LEVEL=WARN -x TF_POPLAR_FLAGS -x DATASETS_DIR -x POPLAR_ENGINE_OPTIONS -x POPLAR_TARGET_OPTIONS' --update-partition no --reset-partition no --vipu-server-timeout 300 python3 train.py --config efficientnet_b4_g1_with_batch_norm_64ipus --identical-replica-seeding --epochs 350 --logs-per-epoch 16 --epochs-per-ckpt 1 --no-validation --data-dir /no/such/data --seed 1 --log-dir ./logs/checkpoints
  tf1_efficientnet_b4_batchnorm_infer_real_pod16
    folder:  /
    set:     POPLAR_LOG_LEVEL=INFO
    set:     POPART_LOG_LEVEL=INFO
    set:     TF_CPP_VMODULE=poplar_compiler=1
    set:     TF_POPLAR_FLAGS=--executable_cache_path=./tf_cache/
    set:     POPLAR_ENGINE_OPTIONS={"opt.enableMultiAccessCopies":"false"}
    set:     POPLAR_RUNTIME_OPTIONS={"streamCallbacks.maxLookahead":"unlimited"}
    command: cnntrain validation.py --config efficientnet_b4_g1_with_batch_norm_16ipus --data-dir /no/such/data/imagenet-data --restore-path ./logs/checkpoints --log-dir ./logs/checkpoints --epochs-per-ckpt 1 --logs-per-epoch 2

S1-28.

  $ cnntrain validation.py --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 8 --generated-data --repeat 10 --batch-norm --dry-run
  Dry run:          validation; no sample is computed, nothing is written
  Model:            efficientnet B0, batch norm, 5288548 parameters, 0.78005 GFLOP forward per image
  Data:             imagenet, one generated image, 50000 validation images of 224 x 224
  Validation:       6250 batches of 8, 10 times
  Weights:          random
  Precision:        16.16, backend cpu
  Files:            none

S1-29.

  $ cnntrain inference_embedded.py --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 1 --iterations 1000 --device-iterations 100 --eight-bit-io --no-dataset-cache --generated-data --dry-run
  [info] --no-dataset-cache changes nothing: the system keeps files that were read in free memory
  [info] --device-iterations changes nothing: it is for training
  Dry run:          inference; no sample is computed, nothing is written
  Model:            efficientnet B0, group norm of 4, 5288548 parameters, 0.82402 GFLOP forward per image
  Data:             imagenet, one generated image, 50000 validation images of 224 x 224
  Inference:        1000 batches of 1
  Weights:          random
  Precision:        16.16, backend cpu
  Files:            none
  Compiled model:   model_*.cnntrain_exec in the current folder

S1-30.

  $ cnntrain train.py --config resnet8_test --wandb --data-dir your_dataset_path --dry-run
  [info] kept in arguments.json but without effect, because they only steer IPUs: --enable-half-partials
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    resnet8_test
  Model:            resnet 8, batch norm, 75290 parameters, 0.024558 GFLOP forward per image
  Data:             cifar-10 from your_dataset_path (not there; counts are those of the published set), 50000 training images of 32 x 32
  Input: ...
  Batch:            32 (micro-batch) x 1 (accumulated) x 1 (replicas) = 32
  Length:           15625 iterations, 10 epochs of 1562 iterations; a log line every 1562, host steps of 781
  Optimiser:        SGD, weight decay 1e-06, loss scaling 128, label smoothing 0
  Learning rate:    stepped, base 0.5, warm-up 7812 iterations (5 epochs), times 0.1 after iterations 7812, 11718
  Rates:            0.024962 at 390, 0.2749 at 4295, 0.05 at 8200, 0.005 at 12105, 0.005 at 15622
  Checkpoints:      after iterations 1562, 3124, 4686, 6248, 7810, 9372, ..., 15625 (10 in all)
  Validation:       none
  Precision:        16.16, stochastic rounding ON, backend cpu
  Files:            ./logs/RN8_bs32_BN_16.16_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 11 of 151.5 kB: 1.7 MB

S1-31.

  $ cnntrain train.py --model efficientnet --help --dry-run
  usage: train.py [options]
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

S1-32.

  $ cnntrain train.py --dataset imagenet --data-dir $DATASETS_DIR --model-size 50 --pipeline --shards 1 --pipeline-schedule Sequential --enable-recompute --pipeline-splits b1/0/relu b2/0/relu --dry-run
  Dry run:          train; no sample is computed, nothing is written
  Model:            resnet 50, group norm of 32, 25557032 parameters, 8.2584 GFLOP forward per image
  Data:             imagenet from /no/such/data (not there; counts are those of the published set), 1281167 training and 50000 validation images of 224 x 224
  Input: ...
  Batch:            4 (micro-batch) x 1 (accumulated) x 1 (replicas) = 4
  Pipeline:         3 stages on one device, split before stage1/unit1/relu, stage2/unit1/relu; Sequential, stash depths 1, 1, 1, bubble 66.7 % with a lane for each stage
  Length:           32029175 iterations, 100 epochs of 320291 iterations; a log line every 20018, host steps of 1000
  Optimiser:        SGD, weight decay 1e-04, loss scaling 128, label smoothing 0
  Learning rate:    stepped, base 0.015625, warm-up 1.6015e+06 iterations (5 epochs), times 0.1 after iterations 9608752, 19217505, 25623340, 28826257
  Rates:            4.8784e-06 at 500, 0.015625 at 8007500, 0.0015625 at 16014500, 0.00015625 at 24021500, 1.5625e-06 at 32029087
  Checkpoints:      after iterations 320291, 640582, 960873, 1281164, 1601455, 1921746, ..., 32029175 (100 in all)
  Validation:       of each of them, 12500 batches of 4
  Precision:        16.16, stochastic rounding ON, backend cpu
  Files:            ./logs/RN50_bs4x1p_GN32_16.16_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, validation.csv, events.out.tfevents.*
  Disk:             checkpoints: 101 of 51.1 MB: 5.2 GB
