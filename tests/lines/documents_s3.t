The lines of the large-batch recipe, as dry runs: a folder of data that is not there, and made-up names.

  $ . "$TESTDIR/setup.sh"
  $ cd / && export DATASETS_DIR=/no/such/data DATA_DIR=/no/such/data HOSTS=a,b TCP_IF_INCLUDE=10.0.0.0/8
  $ export WORKSPACE=/home/somebody USER=somebody

S3-03.

  $ cnntrain resnet_main.py --train_batch_size 24576 --train_steps 4680 --num_intra_threads 22 --num_inter_threads 2 --data_dir=train-dir --model_dir model-dir/model_batch_24k_90ep --use_tpu=False --kmp_blocktime 1 --dry-run
  [info] resnet_main.py is run as: cnntrain train --model resnet --dataset imagenet --batch-norm --normalise-input --precision 32.32 --iterations 4680 --weight-decay 5e-5 --momentum 0.9 --label-smoothing 0 --data-dir train-dir --model-size 50 --threads 1 --BN-decay 0.95 --lr-schedule gradual_warmup_then_dec --warmup-start-learning-rate 0.1 --warmup-iterations 260 --abs-learning-rate 4.8 --no-validation --optimiser nesterov --loss-scaling 1 --log-freq 1 --keep-ckpts 5 --micro-batch-size 48 --gradient-accumulation-count 512 --logs-path model-dir/model_batch_24k_90ep --dry-run
  [info] --num_intra_threads 22 counts as 1, the cores that this process may use
  [info] without effect here: --num_inter_threads and --kmp_blocktime
  [info] 24576 images for each weight update: 48 at once x 512 in turn x 1 worker
  Dry run:          train; no sample is computed, nothing is written
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet from train-dir (not there; counts are those of the published set), 1281167 training images of 224 x 224
  Input: ...
  Batch:            48 (micro-batch) x 512 (accumulated) x 1 (replicas) = 24576
  Length:           4680 iterations, 89.774 epochs of 52 iterations; a log line every 1, host steps of 1
  Optimiser:        nesterov, momentum 0.9, weight decay 5e-05, loss scaling 1, label smoothing 0
  Learning rate:    gradual_warmup_then_dec, base 4.8, warm-up 260 iterations from 0.1, then linear to 0
  Rates:            0.1 at 0, 3.8118 at 1170, 2.5412 at 2340, 1.2706 at 3510, 0.001086 at 4679
  Checkpoints:      after iterations 52, 104, 156, 208, 260, 312, ..., 4680 (90 in all)
  Validation:       none
  Precision:        32.32, stochastic rounding ON, backend cpu
  Files:            model-dir/model_batch_24k_90ep/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 91 of 204.7 MB, of which the newest 5 are kept: 1.0 GB

S3-04.

  $ OMP_NUM_THREADS=46 cnntrain resnet_eval.py --eval_batch_size 200 --num_intra_threads 46 --num_inter_threads 2 --data_dir=validation-dir --model_dir=model-dir/model_batch_24k_90ep --use_tpu=False --kmp_blocktime 1 --dry-run
  [info] resnet_eval.py is run as: cnntrain validation --model resnet --dataset imagenet --batch-norm --normalise-input --precision 32.32 --micro-batch-size 200 --data-dir validation-dir --model-size 50 --threads 1 --restore-path model-dir/model_batch_24k_90ep --logs-path model-dir/model_batch_24k_90ep/eval --dry-run
  [info] --num_intra_threads 46 counts as 1, the cores that this process may use
  [info] without effect here: --num_inter_threads and --kmp_blocktime
  Dry run:          validation; no sample is computed, nothing is written
  Model:            resnet 50, batch norm, 25557032 parameters, 8.2041 GFLOP forward per image
  Data:             imagenet from validation-dir (not there; counts are those of the published set), 50000 validation images of 224 x 224
  Input: ...
  Validation:       250 batches of 200
  Weights:          model-dir/model_batch_24k_90ep, where there is no checkpoint yet
  Precision:        32.32, backend cpu
  Files:            model-dir/model_batch_24k_90ep/eval/: arguments.json, log.txt, validation.csv, events.out.tfevents.*
