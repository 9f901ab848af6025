Lines that cannot be obeyed: what is wrong, and what would be right.

  $ . "$TESTDIR/setup.sh"
  $ cnntrain trian
  error: unknown command 'trian'; did you mean 'train'? Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ cnntrain train --model-sise 18 --dry-run
  error: unknown option --model-sise; did you mean --model-size?
  [2]
  $ cnntrain train --dataset cifar-10 --generated-data --model-size 19 --dry-run
  error: resnet for small images has no size '19'; sizes: 8, 11, 14, 20, 29, 32, 38, 44, 47, 56, 56b, 65, 110; did you mean '20'?
  [2]
  $ cnntrain train --dataset cifar-10 --generated-data --model-size --dry-run
  error: --model-size: expected a value
  [2]
  $ cnntrain train --dataset cifar-10 --generated-data --micro-batch-size many --dry-run
  error: --micro-batch-size: expected a whole number from 0 to 1000000, got 'many'
  [2]
  $ cnntrain train --dataset cifar-10 --generated-data --epochs 1 --iterations 3 --dry-run
  error: --epochs and --iterations are both given; choose one
  [2]
  $ cnntrain train --dataset cifar-10 --generated-data --epochs 0 --dry-run
  error: --epochs 0: a run has one weight update at least; without --epochs it has the default length
  [2]
  $ cnntrain train --dataset cifar-10 --generated-data --validate-every 0 --keep-best accuracy --dry-run
  error: --keep-best and --early-stop need validations, and --validate-every 0 makes none: leave it out
  [2]
  $ cnntrain train --dataset cifar-10 --generated-data --keep-best speed --dry-run
  error: --keep-best: expected one of accuracy balanced-accuracy top-5 loss, got 'speed'
  [2]
  $ cnntrain train --dataset cifar-10 --generated-data --no-validation --early-stop 3 --dry-run
  error: --early-stop needs validations: leave --no-validation out
  [2]
  $ cnntrain train --dataset cifar-10 --generated-data --head-only --head-first --dry-run
  error: --head-only and --head-first are both given; choose one
  [2]
  $ cnntrain train --dataset cifar-10 --generated-data --freeze all/stage9 --dry-run
  error: --freeze 'all/stage9' matches no variable; near it there are all/stage0, all/stage1, all/stage2, all/stage3, all/stage0/bn0
  [2]
  $ cnntrain train --model efficientnet --model-size B9 --generated-data --dataset imagenet --dry-run
  error: efficientnet for large images has no size 'B9'; sizes: CIFAR, B0, B1, B2, B3, B4, B5, B6, B7, Lite0, Lite1, Lite2, Lite3, Lite4, V2-B0, V2-B1, V2-B2, V2-B3, V2-S, V2-M, V2-L; did you mean 'B7'?
  [2]
  $ cnntrain train --config my_config --dry-run
  error: unknown configuration 'my_config'; configurations in SOURCE/configs SOURCE/configs: efficientnet_b4_16ipus_base efficientnet_b4_g16_16ipus efficientnet_b4_g16_32ipus efficientnet_b4_g16_64ipus efficientnet_b4_g16_large_batch_size_high_throughput efficientnet_b4_g1_16ipus efficientnet_b4_g1_32ipus efficientnet_b4_g1_64ipus efficientnet_b4_g1_with_batch_norm_16ipus efficientnet_b4_g1_with_batch_norm_64ipus efficientnet_b4_g1_with_batch_norm_base efficientnet_b4_g1_with_batch_norm_pod64_modification mk1_resnet50_16ipus mk2_efficientnet_b4_g16_128ipus mk2_efficientnet_b4_g16_256ipus mk2_efficientnet_b4_g16_64ipus mk2_resnet50_bn_128ipus mk2_resnet50_mlperf_pod128_bs20 mk2_resnet50_mlperf_pod128_lars mk2_resnet50_mlperf_pod16_lars mk2_resnet50_mlperf_pod256_lars mk2_resnet50_mlperf_pod64_lars resnet50_base resnet50_bn_16ipus resnet50_bn_32ipus resnet50_bn_64ipus resnet50_gn_16ipus resnet50_mlperf_pod16 resnet50_mlperf_pod16_bs20 resnet50_mlperf_pod16_lars resnet50_mlperf_pod32_lars resnet50_mlperf_pod64_bs20 resnet50_mlperf_pod64_lars resnet8_test resnext101_16ipus
  [2]
  $ cnntrain train --model vgg --generated-data --dataset cifar-10 --dry-run
  error: --model: expected one of resnet resnext efficientnet, got 'vgg'
  [2]
  $ cnntrain train --optimizer adagrad --generated-data --dataset cifar-10 --dry-run
  error: --optimiser: expected one of SGD RMSprop momentum LARS AdamW LAMB nesterov, got 'adagrad'
  [2]
  $ cnntrain train --dataset cifar-10 --generated-data --shards 4 --distributed --dry-run
  error: --shards above 1 needs --pipeline
  [2]
  $ cnntrain train --dataset cifar-10 --generated-data --image-size 33 --dry-run
  error: image size 33 with cifar-10: its images have 32 x 32 pixels; leave out --image-size
  [2]
  $ cnntrain pretrain --generated-data --dry-run
  error: not given: --micro-batch-size, --vocab-size, --hidden-size, --num-hidden-layers, --num-attention-heads, --intermediate-size, --num-train-steps; a configuration gives them (--config pretrain_base_128_phase1)
  [2]
  $ cnntrain pretrain --config pretrain_tiny_128_lamb --generated-data --keep-best accuracy --dry-run
  [info] --train-file is ignored: --generated-data is given
  [info] --parallel-io-threads changes nothing: --input-threads sets the number of threads that prepare sequences
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion
  Dry run:          pretrain; no sample is computed, nothing is written
  Configuration:    pretrain_tiny_128_lamb
  Model:            BERT of 2 layers, 128 wide, 4369538 parameters, 0.27312 GFLOP forward per sequence
  Data:             generated sequences, sequences of 128 tokens, at most 20 of them masked
  Batch:            1 (micro-batch) x 12 (accumulated) x 1 (replicas) = 12
  Pipeline:         3 stages on one device, split before hid0, mlm0; Grouped, stash depths 5, 3, 1, bubble 14.3 % with a lane for each stage
  Length:           1000 iterations, 60 epochs of 16 iterations; a log line every 1, host steps of 1
  Optimiser:        LAMB, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1
  Learning rate:    polynomial_decay, base 0.001, warm-up 10
  Rates:            1e-07 at 0, 0.00075657 at 250, 0.00050404 at 500, 0.00025152 at 750, 1e-07 at 999
  Checkpoints:      after steps 100, 200, 300, 400, 500, 600, ..., 999 (10 in all)
  Validation:       during training, every 16 steps, 63 times, the best kept by accuracy, 1000 batches of 1
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             1234
  Files:            checkpoint/phase1/pretraining_lamb_DATE/: arguments.json, log.txt, ckpt-<step>.safetensors, ckpt-best.safetensors, training.csv, validation.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 11 of 52.4 MB, of which the newest 5 are kept: 262.2 MB; the best weights: 17.5 MB
  $ cnntrain restore
  error: restore needs --restore-path, the folder of the run to resume
  [2]
  $ cnntrain validation
  error: no data: give --data-dir (or set DATA_DIR), a folder of photos, CIFAR's files or ImageNet's TFRecords, or use --generated-data with --dataset
  [2]
  $ cnntrain inference --top-classes 3
  error: no data: give --data-dir (or set DATA_DIR), a folder of photos, CIFAR's files or ImageNet's TFRecords, or use --generated-data with --dataset; a run and its photos: cnntrain inference RUN PHOTO.jpg
  [2]
  $ cnntrain report
  error: cnntrain report: RUN is needed
  [2]
  $ cnntrain convert
  error: give a run (cnntrain convert RUN --to onnx) or a file (cnntrain convert --from FILE --to PATH)
  [2]
  $ cnntrain convert --from a --to b --dtype f8
  error: cnntrain convert: unknown flag '--dtype'
  [2]
  $ cnntrain average --mode median --restore-path RUN
  error: cnntrain average: --filename is needed
  [2]
  $ cnntrain plan --stages 0
  error: cnntrain plan: --stages expects a whole number from 2 to 10000, got '0'
  [2]
  $ cnntrain dataset
  usage: cnntrain dataset <kind> [options]
  
    cifar     write a small, learnable generated set in CIFAR-10's format
    photos    write small, learnable photos of shapes in class folders
    imagenet  write TFRecord files from folders of images (also imagenet_to_gcs.py)
    bert      write TFRecord files for BERT pretraining from text (also create_pretraining_data.py)
    inspect   show the contents of TFRecord or CIFAR files: records, keys, sizes, labels
    verify    check that a data set is complete and undamaged: checksums, missing files, images
    suspects  list samples of a run's data that look wrongly labelled, and near-duplicates across splits
  
  cnntrain dataset <kind> --help lists the options.
  $ cnntrain dataset write
  error: cnntrain dataset: 'write' is none of its kinds, which are cifar, photos, imagenet, bert, inspect, verify, suspects
  [2]
  $ cnntrain benchmark --spec nothing.yml
  error: nothing.yml: no such file; give a benchmarks.yml with --spec
  [3]
  $ cnntrain poprun --num-instances 2
  error: poprun: expected a program after the options, as in: poprun --num-instances 2 --num-replicas 2 train.py
  [2]
  $ cnntrain poprun --num-replicas 3 --num-instances 2 train.py
  error: poprun: --num-replicas 3 cannot be divided among --num-instances 2; possible are --num-replicas 2 or 4, or --num-instances 1 or 3
  [2]

Scripts of the original programs that are not run, each with its replacement.

  $ for script in send_request.py download_glue.py wiki_preprocess.py create_wikipedia_dataset.sh evaluate_squad.py fine_tune_squad.sh fine_tune_glue.sh fine_tune_GroupBERT_glue.sh pretrain.sh pretrain_and_finetune_BERT.sh pretrain_distributed.sh upload_run.py run_and_time.sh run_benchmark.py export_for_serving.py get_weights.py benchmark.py resnet.py; do cnntrain $script; done
  error: send_request.py: a client of a TensorFlow Serving server, which cnntrain is not; type: cnntrain inference --dataset imagenet --generated-data --model-size 50 --iterations 1000, which measures requests of its own threads; cnntrain convert RUN --to onnx writes a network for servers
  error: download_glue.py: cnntrain fetches weights alone; download the tasks from https://gluebenchmark.com/tasks and name their folder: cnntrain run_classifier.py --task-name mrpc --data-dir DIR
  error: wiki_preprocess.py: cnntrain dataset bert --input-file TEXT --vocab-file V reads texts with a sentence a line and an empty line between documents; other programs extract them from Wikipedia's dump
  error: create_wikipedia_dataset.sh: type its two lines, for texts with a sentence a line: cnntrain dataset bert --input-file TEXT --vocab-file V --output-file F --sequence-length 128 --mask-tokens 20 --duplication-factor 5 --remask --do-lower-case, then with 384 and 58
  error: evaluate_squad.py: cnntrain validation --restore-path RUN --data-dir dev-v1.1.json evaluates a network, and so does cnntrain run_squad.py --do-predict --do-evaluation
  error: fine_tune_squad.sh: type its line: cnntrain run_squad.py --config configs/squad_large.json --do-training --do-predict --do-evaluation --train-file F --predict-file F --vocab-file V --init-checkpoint CKPT
  error: fine_tune_glue.sh: type its line: cnntrain run_classifier.py --config configs/glue_large.json --task-name mrpc --data-dir DIR --do-training --do-evaluation --do-predict --vocab-file V --init-checkpoint CKPT --output-dir OUT
  error: fine_tune_GroupBERT_glue.sh: type its line: cnntrain run_classifier.py --config configs/groupbert/glue_base.json --task-name mrpc --data-dir DIR --do-training --do-evaluation --vocab-file V --init-checkpoint CKPT
  error: pretrain.sh: type its two lines: cnntrain pretrain --config pretrain_large_128_phase1 --train-file F, then --config pretrain_large_384_phase2 --init-checkpoint RUN/ckpt-7031
  error: pretrain_and_finetune_BERT.sh: type its lines: two of cnntrain pretrain, one of cnntrain run_squad.py
  error: pretrain_distributed.sh: type its lines with poprun: cnntrain poprun --num-instances N --num-replicas N cnntrain pretrain --config ...
  error: upload_run.py: --wandb on the line of a training reports the run while it trains
  error: run_and_time.sh: type its line: cnntrain train --mlperf-logging --config resnet50_mlperf_pod16_lars --data-dir DIR
  error: run_benchmark.py: type: cnntrain inference --dataset imagenet --generated-data --model-size 50 --iterations 100
  error: export_for_serving.py: cnntrain convert RUN --to onnx writes a network for servers
  error: get_weights.py: type: cnntrain weights resnet50.a1_in1k, or cnntrain weights for a list; train --init-path and convert read files of torchvision, timm, Keras and TensorFlow
  error: benchmark.py: type: cnntrain train --dataset imagenet --synthetic-data --iterations 100, which measures a network
  error: resnet.py: type: cnntrain train --dataset imagenet --synthetic-data --model-size 50 --iterations 100
  [4]
