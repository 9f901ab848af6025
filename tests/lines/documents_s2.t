The lines of the BERT example program, as dry runs: a folder of data that is not there, and made-up names.

  $ . "$TESTDIR/setup.sh"
  $ cd / && export DATASETS_DIR=/no/such/data DATA_DIR=/no/such/data HOSTS=a,b TCP_IF_INCLUDE=10.0.0.0/8
  $ export WORKSPACE=/home/somebody USER=somebody

S2-01.

  $ cnntrain run_pretraining.py --config configs/pretrain_base_128.json","$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/00.tfrecord --train-file $DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/00.tfrecord --num-train-steps 4 --dry-run
  [info] --config: ',/no/such/data/tf_wikipedia/tokenised_128_dup5/00.tfrecord' after configs/pretrain_base_128.json is not part of the name and is ignored; --train-file names the data
  [info] --parallel-io-threads changes nothing: --input-threads sets the number of threads that prepare sequences
  [info] --replicated-tensor-sharding changes nothing: it needs several processes (mpirun, srun or cnntrain poprun)
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --min-remote-tensor-size --available-memory-proportion
  Dry run:          pretrain; no sample is computed, nothing is written
  Configuration:    configs/pretrain_base_128.json
  Model:            BERT of 12 layers, 768 wide, 109383618 parameters, 23.282 GFLOP forward per sequence
  Data:             /no/such/data/tf_wikipedia/tokenised_128_dup5/00.tfrecord, sequences of 128 tokens, at most 20 of them masked
  Missing:          there is no file '/no/such/data/tf_wikipedia/tokenised_128_dup5/00.tfrecord'; in / there is no 'no' but ...; epochs are computed for 10000000 sequences
  Batch:            32 (micro-batch) x 510 (accumulated) x 4 (replicas) = 65280
  Pipeline:         5 stages on one device, split before hid0, hid4, hid8, mlm0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 0.2 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           4 iterations, 0.13056 epochs of 30 iterations; a log line every 1, host steps of 1
  Optimiser:        LAMB, betas 0.9 and 0.999, weight decay 0.01, loss scaling 512
  Learning rate:    polynomial_decay, base 0.006, warm-up 2000
  Rates:            1e-07 at 0, 3e-06 at 1, 6e-06 at 2, 9e-06 at 3
  Checkpoints:      after steps 3
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             1234
  Files:            ./checkpoint/phase1/pretraining_lamb_DATE/: arguments.json, log.txt, ckpt-<step>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 2 of 1.3 GB: 2.6 GB

S2-02.

  $ cnntrain run_pretraining.py --config configs/pretrain_base_384.json","$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/00.tfrecord --train-file $DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord --num-train-steps 4 --dry-run
  [info] --config: ',/no/such/data/tf_wikipedia/tokenised_128_dup5/00.tfrecord' after configs/pretrain_base_384.json is not part of the name and is ignored; --train-file names the data
  [info] --parallel-io-threads changes nothing: --input-threads sets the number of threads that prepare sequences
  [info] --replicated-tensor-sharding changes nothing: it needs several processes (mpirun, srun or cnntrain poprun)
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --min-remote-tensor-size --available-memory-proportion
  Dry run:          pretrain; no sample is computed, nothing is written
  Configuration:    configs/pretrain_base_384.json
  Model:            BERT of 12 layers, 768 wide, 109383618 parameters, 73.375 GFLOP forward per sequence
  Data:             /no/such/data/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord, sequences of 384 tokens, at most 58 of them masked
  Missing:          there is no file '/no/such/data/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord'; in / there is no 'no' but ...; epochs are computed for 10000000 sequences
  Batch:            8 (micro-batch) x 510 (accumulated) x 4 (replicas) = 16320
  Pipeline:         5 stages on one device, split before hid0, hid4, hid8, mlm0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 0.2 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           4 iterations, 0.03264 epochs of 122 iterations; a log line every 1, host steps of 1
  Optimiser:        LAMB, betas 0.9 and 0.999, weight decay 0.01, loss scaling 512
  Learning rate:    polynomial_decay, base 0.002828, warm-up 277
  Rates:            1e-07 at 0, 1.0209e-05 at 1, 2.0419e-05 at 2, 3.0628e-05 at 3
  Checkpoints:      after steps 3
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             1234
  Files:            ./checkpoint/phase1/pretraining_lamb_DATE/: arguments.json, log.txt, ckpt-<step>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 2 of 1.3 GB: 2.6 GB

S2-03.

  $ cnntrain run_pretraining.py --config configs/pretrain_large_128_phase1.json --train-file $DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/00.tfrecord --num-train-steps 4 --dry-run
  [info] --parallel-io-threads changes nothing: --input-threads sets the number of threads that prepare sequences
  [info] --replicated-tensor-sharding changes nothing: it needs several processes (mpirun, srun or cnntrain poprun)
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --min-remote-tensor-size --available-memory-proportion
  Dry run:          pretrain; no sample is computed, nothing is written
  Configuration:    configs/pretrain_large_128_phase1.json
  Model:            BERT of 24 layers, 1024 wide, 334951106 parameters, 80.167 GFLOP forward per sequence
  Data:             /no/such/data/tf_wikipedia/tokenised_128_dup5/00.tfrecord, sequences of 128 tokens, at most 20 of them masked
  Missing:          there is no file '/no/such/data/tf_wikipedia/tokenised_128_dup5/00.tfrecord'; in / there is no 'no' but ...; epochs are computed for 10000000 sequences
  Batch:            8 (micro-batch) x 2050 (accumulated) x 4 (replicas) = 65600
  Pipeline:         5 stages on one device, split before hid3, hid10, hid17, mlm0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 0.0 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           4 iterations, 0.1312 epochs of 30 iterations; a log line every 1, host steps of 1
  Optimiser:        LAMB, betas 0.9 and 0.999, weight decay 0.01, loss scaling 32768
  Learning rate:    polynomial_decay, base 0.006, warm-up 2000
  Rates:            1e-07 at 0, 3e-06 at 1, 6e-06 at 2, 9e-06 at 3
  Checkpoints:      after steps 3
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             1994
  Files:            checkpoint/phase1/pretraining_lamb_DATE/: arguments.json, log.txt, ckpt-<step>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 2 of 4.0 GB: 8.0 GB

S2-04.

  $ cnntrain poprun --dry-run -vv --host xxx.xxx.xxx.xx1,xxx.xxx.xxx.xx2,xxx.xxx.xxx.xx3,xxx.xxx.xx4 --num-instances 16 --num-replicas 16 --ipus-per-replica 4 --numa-aware=yes --vipu-server-host=xxx.xxx.xx1 --vipu-partition=pod64_partition_name --mpi-global-args="--tag-output --mca btl_tcp_if_include xxx.xxx.xxx.0/xx" --mpi-local-args="-x LD_LIBRARY_PATH -x PATH -x PYTHONPATH -x OPAL_PREFIX -x IPUOF_VIPU_API_TIMEOUT=300 -x POPLAR_ENGINE_OPTIONS -x TF_POPLAR_FLAGS=--executable_cache_path=/localdata/$USER/exec_cache" python run_pretraining.py --config configs/pretrain_large_128_phase1_POD64.json --train-file '$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/*.tfrecord'
  error: poprun: names of hosts and networks that cannot be right:
    --host: 'xxx.xxx.xxx.xx1': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx2': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx3': a placeholder, to be replaced
    --host: 'xxx.xxx.xx4': a placeholder, to be replaced
    --vipu-server-host: 'xxx.xxx.xx1': a placeholder, to be replaced
    --mca: 'xxx.xxx.xxx.0/xx': a placeholder, to be replaced
  [2]
  $ cnntrain run_pretraining.py --config configs/pretrain_large_128_phase1_POD64.json --train-file '$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/*.tfrecord' --dry-run
  [info] --parallel-io-threads changes nothing: --input-threads sets the number of threads that prepare sequences
  [info] --replicated-tensor-sharding changes nothing: it needs several processes (mpirun, srun or cnntrain poprun)
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --min-remote-tensor-size --available-memory-proportion
  Dry run:          pretrain; no sample is computed, nothing is written
  Configuration:    configs/pretrain_large_128_phase1_POD64.json
  Model:            BERT of 24 layers, 1024 wide, 334951106 parameters, 80.167 GFLOP forward per sequence
  Data:             /no/such/data/tf_wikipedia/tokenised_128_dup5/*.tfrecord, sequences of 128 tokens, at most 20 of them masked
  Missing:          no file fits the pattern '/no/such/data/tf_wikipedia/tokenised_128_dup5/*.tfrecord'; in / there is no 'no' but ...; epochs are computed for 10000000 sequences
  Batch:            8 (micro-batch) x 520 (accumulated) x 16 (replicas) = 66560
  Pipeline:         5 stages on one device, split before hid3, hid10, hid17, mlm0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 0.0 % with a lane for each stage
  Replicas:         16 in this process, with one set of weights
  Length:           7032 iterations, 234.02 epochs of 30 iterations; a log line every 1, host steps of 1
  Optimiser:        LAMB, betas 0.9 and 0.999, weight decay 0.01, loss scaling 32768
  Learning rate:    polynomial_decay, base 0.006, warm-up 2000
  Rates:            1e-07 at 0, 0.005274 at 1758, 0.0041912 at 3516, 0.002095 at 5274, 1e-07 at 7031
  Checkpoints:      after steps 100, 200, 300, 400, 500, 600, ..., 7031 (71 in all)
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             1234
  Files:            checkpoint/phase1/pretraining_lamb_DATE/: arguments.json, log.txt, ckpt-<step>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 72 of 4.0 GB, of which the newest 5 are kept: 20.1 GB

S2-05.

  $ cnntrain run_pretraining.py --config configs/pretrain_large_384_phase2.json --train-file DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord --num-train-steps 4 --dry-run
  [info] --train-file DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord: there is no 'DATASETS_DIR' here, so it is taken for the variable $DATASETS_DIR: /no/such/data/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord
  [info] --parallel-io-threads changes nothing: --input-threads sets the number of threads that prepare sequences
  [info] --replicated-tensor-sharding changes nothing: it needs several processes (mpirun, srun or cnntrain poprun)
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --min-remote-tensor-size --available-memory-proportion
  Dry run:          pretrain; no sample is computed, nothing is written
  Configuration:    configs/pretrain_large_384_phase2.json
  Model:            BERT of 24 layers, 1024 wide, 334951106 parameters, 250.04 GFLOP forward per sequence
  Data:             /no/such/data/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord, sequences of 384 tokens, at most 58 of them masked
  Missing:          there is no file '/no/such/data/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord'; in / there is no 'no' but ...; epochs are computed for 10000000 sequences
  Batch:            2 (micro-batch) x 2050 (accumulated) x 4 (replicas) = 16400
  Pipeline:         5 stages on one device, split before hid3, hid10, hid17, mlm0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 0.0 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           4 iterations, 0.0328 epochs of 121 iterations; a log line every 1, host steps of 1
  Optimiser:        LAMB, betas 0.9 and 0.999, weight decay 0.01, loss scaling 128
  Learning rate:    polynomial_decay, base 0.002828, warm-up 274
  Rates:            1e-07 at 0, 1.0321e-05 at 1, 2.0642e-05 at 2, 3.0964e-05 at 3
  Checkpoints:      after steps 3
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             1234
  Files:            checkpoint/phase2/pretraining_lamb_DATE/: arguments.json, log.txt, ckpt-<step>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 2 of 4.0 GB: 8.0 GB

S2-06.

  $ cnntrain poprun --dry-run -vv --host xxx.xxx.xxx.xx1,xxx.xxx.xxx.xx2,xxx.xxx.xxx.xx3,xxx.xxx.xx4 --num-instances 16 --num-replicas 16 --ipus-per-replica 4 --numa-aware=yes --vipu-server-host=xxx.xxx.xx1 --vipu-partition=pod64_partition_name --mpi-global-args="--tag-output --mca btl_tcp_if_include xxx.xxx.xxx.0/xx" --mpi-local-args="-x LD_LIBRARY_PATH -x PATH -x PYTHONPATH -x OPAL_PREFIX -x IPUOF_VIPU_API_TIMEOUT=300 -x POPLAR_ENGINE_OPTIONS -x TF_POPLAR_FLAGS=--executable_cache_path=/localdata/$USER/exec_cache" python run_pretraining.py --config configs/pretrain_large_384_phase2_POD64.json --train-file '$DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_msk58/*.tfrecord'
  error: poprun: names of hosts and networks that cannot be right:
    --host: 'xxx.xxx.xxx.xx1': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx2': a placeholder, to be replaced
    --host: 'xxx.xxx.xxx.xx3': a placeholder, to be replaced
    --host: 'xxx.xxx.xx4': a placeholder, to be replaced
    --vipu-server-host: 'xxx.xxx.xx1': a placeholder, to be replaced
    --mca: 'xxx.xxx.xxx.0/xx': a placeholder, to be replaced
  [2]
  $ cnntrain run_pretraining.py --config configs/pretrain_large_384_phase2_POD64.json --train-file '$DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_msk58/*.tfrecord' --dry-run
  [info] --parallel-io-threads changes nothing: --input-threads sets the number of threads that prepare sequences
  [info] --replicated-tensor-sharding changes nothing: it needs several processes (mpirun, srun or cnntrain poprun)
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --min-remote-tensor-size --available-memory-proportion
  Dry run:          pretrain; no sample is computed, nothing is written
  Configuration:    configs/pretrain_large_384_phase2_POD64.json
  Model:            BERT of 24 layers, 1024 wide, 334951106 parameters, 250.04 GFLOP forward per sequence
  Data:             /no/such/data/tf_wikipedia/tokenised_384_dup5_msk58/*.tfrecord, sequences of 384 tokens, at most 58 of them masked
  Missing:          no file fits the pattern '/no/such/data/tf_wikipedia/tokenised_384_dup5_msk58/*.tfrecord'; in / there is no 'no' but ...; epochs are computed for 10000000 sequences
  Batch:            2 (micro-batch) x 520 (accumulated) x 16 (replicas) = 16640
  Pipeline:         5 stages on one device, split before hid3, hid10, hid17, mlm0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 0.0 % with a lane for each stage
  Replicas:         16 in this process, with one set of weights
  Length:           2099 iterations, 17.464 epochs of 120 iterations; a log line every 1, host steps of 1
  Optimiser:        LAMB, betas 0.9 and 0.999, weight decay 0.01, loss scaling 64
  Learning rate:    polynomial_decay, base 0.002828, warm-up 270
  Rates:            1e-07 at 0, 0.0024337 at 524, 0.001622 at 1049, 0.00081021 at 1574, 1e-07 at 2098
  Checkpoints:      after steps 100, 200, 300, 400, 500, 600, ..., 2098 (21 in all)
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             1234
  Files:            checkpoint/phase2/pretraining_lamb_DATE/: arguments.json, log.txt, ckpt-<step>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 22 of 4.0 GB, of which the newest 5 are kept: 20.1 GB
