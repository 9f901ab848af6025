The documented lines of question answering and GLUE, as dry runs. Vocabularies, questions and texts are made up; the
training files of SQuAD are not there, so that lengths follow from the published counts.

  $ . "$TESTDIR/setup.sh"
  $ export DATASETS_DIR="$PWD/data"
  $ data="$CNNTRAIN_SOURCE"/tests/data
  $ for folder in uncased_L-2_H-128_A-2 uncased_L-12_H-768_A-12 uncased_L-24_H-1024_A-16; do
  >     mkdir -p data/ckpts/$folder data/tf_wikipedia/ckpts/$folder
  >     cp "$data"/bert/vocab.txt data/ckpts/$folder
  >     cp "$data"/bert/vocab.txt data/tf_wikipedia/ckpts/$folder
  > done
  $ mkdir -p data/squad data/squad2 data/glue/MRPC tests/configs
  $ cp "$data"/squad/squad-v1.1.json data/squad/dev-v1.1.json
  $ cp "$data"/squad/squad-v2.0.json data/squad2/dev-v2.0.json
  $ cp "$data"/bert/vocab.txt tests/vocab.txt
  $ pair() { printf '1\t%s\t%s\ta cat sat\tthe dog ran\n' $1 $1; }
  $ (echo header; for i in $(seq 100); do pair $i; done) > data/glue/MRPC/train.tsv
  $ (echo header; pair 1; pair 2) > data/glue/MRPC/dev.tsv
  $ (echo header; pair 1) > data/glue/MRPC/test.tsv

Checkpoints of pretraining have the names of the documents, and small widths, which the lines that read them get too.

  $ small="--hidden-size 64 --num-attention-heads 1 --intermediate-size 64 --vocab-size 512"
  $ pretrained() {
  >     cnntrain pretrain --config $1 $small --generated-data --num-train-steps 1 --replicas 1 --micro-batch-size 1 --gradient-accumulation-count 10 --seq-length 16 --max-predictions-per-seq 2 --logs-path pretrained/$1 > log || cat log
  >     mkdir -p checkpoint/phase2
  >     cp pretrained/$1/ckpt-0.safetensors checkpoint/phase2/$2.safetensors
  > }
  $ pretrained pretrain_large_384_phase2 ckpt-2098
  $ pretrained pretrain_base_groupbert_384_POD64 ckpt-1361
  $ cnntrain run_squad.py --config configs/squad_large.json --do-training $small --generated-data --num-synthetic-dataset-samples 10 --num-train-steps 1 --replicas 1 --gradient-accumulation-count 10 --seq-length 16 --doc-stride 4 --max-query-length 4 --vocab-file tests/vocab.txt --logs-path answering > log || cat log

Benchmarks.

  $ cnntrain run_squad.py --config configs/squad_large.json --do-training --init-checkpoint "" --num-train-steps 4 --train-file $DATASETS_DIR/squad/train-v1.1.json --vocab-file $DATASETS_DIR/ckpts/uncased_L-24_H-1024_A-16/vocab.txt --dry-run
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --use-cls-layer changes nothing: only pretraining reads it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    configs/squad_large.json
  Model:            BERT of 24 layers, 1024 wide, 333871106 parameters, 246.9 GFLOP forward per feature
  Data:             88641 features of the published set, as HERE/data/squad/train-v1.1.json is not there, of 384 tokens
  Phases:           training
  Batch:            1 (micro-batch) x 260 (accumulated) x 4 (replicas) = 1040
  Pipeline:         5 stages on one device, split before hid3, hid10, hid17, loc0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 0.4 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           4 iterations, 0.046931 epochs of 85 iterations; a log line every 1, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1024
  Learning rate:    polynomial_decay, base 9e-05, warm-up 0.4
  Rates:            1e-07 at 0, 9e-05 at 1, 3e-05 at 2, 1e-07 at 3
  Checkpoints:      after iterations 4
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             2243
  Files:            checkpoint/squad/bert24x1024_questions_bs1x260px4r_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 2 of 4.0 GB: 8.0 GB
  $ cnntrain poprun --vv --num-instances 1 --num-replicas 1 --ipus-per-replica 4 python3 run_squad.py --config configs/groupbert/squad/squad_base.json --do-training --do-predict --do-evaluation --init-checkpoint "checkpoint/phase2/ckpt-1361" --train-file $DATASETS_DIR/squad/train-v1.1.json --vocab-file $DATASETS_DIR/ckpts/uncased_L-2_H-128_A-2/vocab.txt --predict-file $DATASETS_DIR/squad/dev-v1.1.json --wandb --wandb-name tf1_groupbert_squad_base $small --dry-run | sed '/POPRUN/d'
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 |
  |---|---|
  | replicas | 0 |
  ===
  [info] ************* Using GroupBERT model architecture *************
  [info] --wandb-name changes nothing: the name is that of the run's folder
  [info] --use-cls-layer changes nothing: only pretraining reads it
  [info] --use-lr-fp32 changes nothing: the learning rate always has 32 bits
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    configs/groupbert/squad/squad_base.json
  Model:            GroupBERT of 12 layers, 64 wide, 734210 parameters, 0.97309 GFLOP forward per feature
  Data:             88641 features of the published set, as HERE/data/squad/train-v1.1.json is not there, of 384 tokens
  Phases:           training, evaluation and prediction; results in the folder of the weights
  Batch:            1 (micro-batch) x 40 (accumulated) x 1 (replicas) = 40
  Pipeline:         5 stages on one device, split before hid1, hid5, hid9, loc0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 9.1 % with a lane for each stage
  Length:           4432 iterations, 2 epochs of 2216 iterations; a log line every 138, host steps of 1
  Optimiser:        LAMB, betas 0.9 and 0.999, weight decay 0.01, loss scaling 512
  Learning rate:    polynomial_decay, base 4e-04, warm-up 0.1
  Rates:            1e-07 at 0, 0.00033322 at 1108, 0.00022211 at 2216, 0.00011101 at 3324, 1e-07 at 4431
  Checkpoints:      after iterations 2216, 4432
  Validation:       none
  Initial weights:  checkpoint/phase2/ckpt-1361.safetensors; the state in it is another optimiser's (there is no cls/squad/output_weights/lamb_m) and left out: the run's begins anew; drawn anew: cls/squad/output_bias, cls/squad/output_weights
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/groupbert12x64_questions_bs1x40p_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 3 of 8.8 MB: 26.4 MB
  $ cnntrain poprun --vv --num-instances 1 --num-replicas 4 --ipus-per-replica 4 python3 run_squad.py --config configs/squad_large.json --do-training --do-predict --do-evaluation --init-checkpoint "checkpoint/phase2/ckpt-2098" --train-file $DATASETS_DIR/squad/train-v1.1.json --vocab-file $DATASETS_DIR/ckpts/uncased_L-24_H-1024_A-16/vocab.txt --predict-file $DATASETS_DIR/squad/dev-v1.1.json --wandb --wandb-name tf1_bert_squad_large $small --dry-run | sed '/POPRUN/d'
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 |
  |---|---|
  | replicas | 0 | 1 | 2 | 3 |
  ===
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --wandb-name changes nothing: the name is that of the run's folder
  [info] --use-cls-layer changes nothing: only pretraining reads it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    configs/squad_large.json
  Model:            BERT of 24 layers, 64 wide, 664962 parameters, 1.3728 GFLOP forward per feature
  Data:             88641 features of the published set, as HERE/data/squad/train-v1.1.json is not there, of 384 tokens
  Phases:           training, evaluation and prediction; results in tmp/squad/
  Batch:            1 (micro-batch) x 260 (accumulated) x 4 (replicas) = 1040
  Pipeline:         5 stages on one device, split before hid3, hid10, hid17, loc0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 0.4 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           170 iterations, 2 epochs of 85 iterations; a log line every 1, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1024
  Learning rate:    polynomial_decay, base 9e-05, warm-up 0.4
  Rates:            1e-07 at 0, 5.5588e-05 at 42, 7.4118e-05 at 85, 3.7059e-05 at 127, 1e-07 at 169
  Checkpoints:      after iterations 100, 170
  Validation:       none
  Initial weights:  checkpoint/phase2/ckpt-2098.safetensors; the state in it is another optimiser's (there is no bert/embeddings/word_embeddings/adam_m) and left out: the run's begins anew; drawn anew: cls/squad/output_bias, cls/squad/output_weights
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             2243
  Files:            checkpoint/squad/bert24x64_questions_bs1x260px4r_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 3 of 8.0 MB: 23.9 MB
  $ cnntrain run_classifier.py --config configs/glue_base.json --task-name mrpc --do-training --init-checkpoint "" --num-train-steps 4 --data-dir $DATASETS_DIR/glue/MRPC --dry-run
  [info] --steps-per-tensorboard changes nothing: there are no histograms
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --max-predictions-per-seq and --use-cls-layer change nothing: only pretraining reads it
  [info] --buffer-size changes nothing: all texts are shuffled
  [info] --tfrecord-dir changes nothing: the original program never read it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    configs/glue_base.json
  Model:            BERT of 12 layers, 768 wide, 109353218 parameters, 70.846 GFLOP forward per text
  Data:             100 training texts of at most 384 tokens, 2 classes: 0, 1
  Phases:           training
  Batch:            1 (micro-batch) x 10 (accumulated) x 4 (replicas) = 40
  Pipeline:         5 stages on one device, split before hid0, hid4, hid8, glu0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 9.1 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           4 iterations, 1.6 epochs of 2 iterations; a log line every 1, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1
  Learning rate:    polynomial_decay, base 1.5e-05, warm-up 0.1
  Rates:            1.125e-05 at 0, 7.5e-06 at 1, 3.75e-06 at 2, 1e-07 at 3
  Checkpoints:      after iterations 4
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             7801
  Files:            checkpoint/glue/bert12x768_text_bs1x10px4r_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 2 of 1.3 GB: 2.6 GB
  $ cnntrain run_classifier.py --config configs/glue_large.json --task-name mrpc --do-training --init-checkpoint "" --num-train-steps 4 --data-dir $DATASETS_DIR/glue/MRPC --dry-run
  [info] --steps-per-tensorboard changes nothing: there are no histograms
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --max-predictions-per-seq and --use-cls-layer change nothing: only pretraining reads it
  [info] --buffer-size changes nothing: all texts are shuffled
  [info] --tfrecord-dir changes nothing: the original program never read it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    configs/glue_large.json
  Model:            BERT of 24 layers, 1024 wide, 334920706 parameters, 246.9 GFLOP forward per text
  Data:             100 training texts of at most 384 tokens, 2 classes: 0, 1
  Phases:           training
  Batch:            1 (micro-batch) x 10 (accumulated) x 4 (replicas) = 40
  Pipeline:         5 stages on one device, split before hid3, hid10, hid17, glu0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 9.1 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           4 iterations, 1.6 epochs of 2 iterations; a log line every 1, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1
  Learning rate:    polynomial_decay, base 1.5e-05, warm-up 0.1
  Rates:            1.125e-05 at 0, 7.5e-06 at 1, 3.75e-06 at 2, 1e-07 at 3
  Checkpoints:      after iterations 4
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             7801
  Files:            checkpoint/glue/bert24x1024_text_bs1x10px4r_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 2 of 4.0 GB: 8.0 GB
  $ cnntrain run_squad_runtime.py --config configs/squad_large_inference_2ipu.json --init-checkpoint "" --generated-data --vocab-file $DATASETS_DIR/tf_wikipedia/ckpts/uncased_L-24_H-1024_A-16/vocab.txt --gradient-accumulation-count 80000 --device-iterations 1000 --embedded-runtime --micro-batch-size 1 --num-iter 10000 --dry-run
  [info] --gradient-accumulation-count and --device-iterations change nothing: they are for training
  [info] --embedded-runtime changes nothing: requests always run that way
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --use-cls-layer changes nothing: only pretraining reads it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion --variable-offloading
  Dry run:          inference; no sample is computed, nothing is written
  Configuration:    configs/squad_large_inference_2ipu.json
  Model:            BERT of 24 layers, 1024 wide, 333871106 parameters, 79.079 GFLOP forward per feature
  Data:             1000000 validation questions (1000000 features) of 128 tokens
  Inference:        10000 batches of 1
  Weights:          random
  Precision:        16.32, backend cpu
  Seed:             1234
  Files:            none
  Compiled model:   model_*.cnntrain_exec in the current folder
  $ cnntrain poprun --vv --num-instances 2 --num-replicas 2 python3 run_squad_runtime.py --config configs/squad_large_inference_2ipu.json --init-checkpoint "" --generated-data --vocab-file $DATASETS_DIR/tf_wikipedia/ckpts/uncased_L-24_H-1024_A-16/vocab.txt --gradient-accumulation-count 80000 --device-iterations 1000 --embedded-runtime --micro-batch-size 1 --num-iter 10000 --dry-run | sed '/POPRUN/d'
  [info] the program only says what it would do: it runs once, here, as instance 0 of 2
  [info] 2 instances on 1 core: they will take turns (--oversubscribe)
  ===
  poprun topology
  ===
  | hosts | HOST |
  |---|---|
  | ILDs | 0 |
  |---|---|
  | instances | 0 | 1 |
  |---|---|
  | replicas | 0 | 1 |
  ===
  [info] instance 0 of 2: core 0, as its launcher has bound it
  [info] --gradient-accumulation-count and --device-iterations change nothing: they are for training
  [info] --embedded-runtime changes nothing: requests always run that way
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --use-cls-layer changes nothing: only pretraining reads it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion --variable-offloading
  Dry run:          inference; no sample is computed, nothing is written
  Configuration:    configs/squad_large_inference_2ipu.json
  Model:            BERT of 24 layers, 1024 wide, 333871106 parameters, 79.079 GFLOP forward per feature
  Data:             1000000 validation questions (1000000 features) of 128 tokens
  Inference:        10000 batches of 1
  Weights:          random
  Precision:        16.32, backend cpu
  Seed:             1234
  Files:            none
  Compiled model:   model_*.cnntrain_exec in the current folder

Tests of the original programs, with small configurations.

  $ cat > tests/configs/squad_tiny.json <<END
  > {"task": "SQuAD", "num_hidden_layers": 2, "hidden_size": 128, "num_attention_heads": 2, "intermediate_size": 512,
  >  "vocab_size": 30400, "pipeline_stages": [["emb", "pos", "hid", "hid"], ["loc"]], "device_mapping": [0, 0],
  >  "micro_batch_size": 1, "gradient_accumulation_count": 240, "replicas": 1, "num_train_steps": 210, "seq_length": 384,
  >  "optimizer": "adamw", "base_learning_rate": 3e-5, "warmup": 20}
  > END
  $ cat > tests/configs/glue_tiny.json <<END
  > {"task": "GLUE", "num_hidden_layers": 1, "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096,
  >  "vocab_size": 30400, "pipeline_stages": [["emb", "pos"], ["hid"], ["glu"]], "device_mapping": [0, 1, 0],
  >  "micro_batch_size": 3, "gradient_accumulation_count": 6, "replicas": 1, "epochs": 3, "seq_length": 384,
  >  "optimizer": "adamw", "base_learning_rate": 2e-5, "warmup": 0.1}
  > END
  $ sed 's/"glu"/"glu_reg"/' tests/configs/glue_tiny.json > tests/configs/glue_tiny_regression.json
  $ cnntrain run_squad.py --config tests/configs/squad_tiny.json --num-train-steps 10 --generated-data --do-training --vocab-file tests/vocab.txt --dry-run
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    tests/configs/squad_tiny.json
  Model:            BERT of 2 layers, 128 wide, 4353282 parameters, 0.46282 GFLOP forward per feature
  Data:             1000000 training questions (1000000 features) of 384 tokens
  Phases:           training
  Batch:            1 (micro-batch) x 240 (accumulated) x 1 (replicas) = 240
  Pipeline:         2 stages on one device, split before loc0; Grouped, stash depths 3, 1, bubble 0.4 % with a lane for each stage
  Length:           10 iterations, 0.0024 epochs of 4166 iterations; a log line every 500, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1
  Learning rate:    polynomial_decay, base 3e-05, warm-up 20
  Rates:            1e-07 at 0, 3e-06 at 2, 7.5e-06 at 5, 1.05e-05 at 7, 1.35e-05 at 9
  Checkpoints:      after iterations 10
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/bert2x128_questions_bs1x240p_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 2 of 52.2 MB: 104.5 MB
  $ cnntrain run_classifier.py --config tests/configs/glue_tiny.json --num-train-steps 10 --synthetic-data --do-training --vocab-file tests/vocab.txt --dry-run
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    tests/configs/glue_tiny.json
  Model:            BERT of 1 layer, 1024 wide, 45302786 parameters, 10.31 GFLOP forward per text
  Data:             10000 training texts of at most 384 tokens, 2 classes: 0, 1
  Phases:           training
  Batch:            3 (micro-batch) x 6 (accumulated) x 1 (replicas) = 18
  Pipeline:         3 stages on one device, split before hid0, glu0; Grouped, stash depths 5, 3, 1, bubble 25.0 % with a lane for each stage
  Length:           10 iterations, 0.018 epochs of 555 iterations; a log line every 500, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1
  Learning rate:    polynomial_decay, base 2e-05, warm-up 0.1
  Rates:            1e-07 at 0, 1.5556e-05 at 2, 8.8889e-06 at 5, 4.4444e-06 at 7, 1e-07 at 9
  Checkpoints:      after iterations 10
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/bert1x1024_text_bs3x6p_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 2 of 543.6 MB: 1.1 GB
  $ cnntrain run_classifier.py --config tests/configs/glue_tiny_regression.json --num-train-steps 10 --synthetic-data --do-training --vocab-file tests/vocab.txt --dry-run
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    tests/configs/glue_tiny_regression.json
  Model:            BERT of 1 layer, 1024 wide, 45301761 parameters, 10.31 GFLOP forward per text
  Data:             10000 training texts of at most 384 tokens, each with a score
  Phases:           training
  Batch:            3 (micro-batch) x 6 (accumulated) x 1 (replicas) = 18
  Pipeline:         3 stages on one device, split before hid0, glu0; Grouped, stash depths 5, 3, 1, bubble 25.0 % with a lane for each stage
  Length:           10 iterations, 0.018 epochs of 555 iterations; a log line every 500, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1
  Learning rate:    polynomial_decay, base 2e-05, warm-up 0.1
  Rates:            1e-07 at 0, 1.5556e-05 at 2, 8.8889e-06 at 5, 4.4444e-06 at 7, 1e-07 at 9
  Checkpoints:      after iterations 10
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/bert1x1024_text_bs3x6p_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 2 of 543.6 MB: 1.1 GB
  $ cnntrain run_squad_runtime.py --config tests/configs/squad_large_inference_2ipu.json --gradient-accumulation-count 40 --device-iterations 20 --embedded-runtime --micro-batch-size 2 --vocab-file tests/vocab.txt --generated-data --dry-run
  [info] --gradient-accumulation-count and --device-iterations change nothing: they are for training
  [info] --embedded-runtime changes nothing: requests always run that way
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --use-cls-layer changes nothing: only pretraining reads it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion --variable-offloading
  Dry run:          inference; no sample is computed, nothing is written
  Configuration:    tests/configs/squad_large_inference_2ipu.json
  Model:            BERT of 24 layers, 1024 wide, 333871106 parameters, 79.079 GFLOP forward per feature
  Data:             1000000 validation questions (1000000 features) of 128 tokens
  Inference:        1000 batches of 2
  Weights:          random
  Precision:        16.32, backend cpu
  Seed:             1234
  Files:            none
  Compiled model:   model_*.cnntrain_exec in the current folder
  $ cnntrain run_squad_runtime.py --config configs/squad_large_inference_2ipu.json --generated-data --vocab-file tests/vocab.txt --print-config | grep "^  iterations\|inference_thread"
    num_inference_thread                  2                           command line
    iterations                            1000                        command line

Lines of the scripts.

  $ cnntrain run_squad.py --config configs/squad_large.json --do-training --do-predict --do-evaluation --init-checkpoint checkpoint/phase2/ckpt-2098 --vocab-file tests/vocab.txt $small --dry-run
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --use-cls-layer changes nothing: only pretraining reads it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    configs/squad_large.json
  Model:            BERT of 24 layers, 64 wide, 664962 parameters, 1.3728 GFLOP forward per feature
  Data:             88641 features of the published set, as data/squad/train-v1.1.json is not there, of 384 tokens
  Phases:           training, evaluation and prediction; results in tmp/squad/
  Batch:            1 (micro-batch) x 260 (accumulated) x 4 (replicas) = 1040
  Pipeline:         5 stages on one device, split before hid3, hid10, hid17, loc0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 0.4 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           170 iterations, 2 epochs of 85 iterations; a log line every 1, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1024
  Learning rate:    polynomial_decay, base 9e-05, warm-up 0.4
  Rates:            1e-07 at 0, 5.5588e-05 at 42, 7.4118e-05 at 85, 3.7059e-05 at 127, 1e-07 at 169
  Checkpoints:      after iterations 100, 170
  Validation:       none
  Initial weights:  checkpoint/phase2/ckpt-2098.safetensors; the state in it is another optimiser's (there is no bert/embeddings/word_embeddings/adam_m) and left out: the run's begins anew; drawn anew: cls/squad/output_bias, cls/squad/output_weights
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             2243
  Files:            checkpoint/squad/bert24x64_questions_bs1x260px4r_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 3 of 8.0 MB: 23.9 MB
  $ cnntrain run_squad.py --config configs/squad_large_V2.json --do-training --do-predict --do-evaluation --init-checkpoint checkpoint/phase2/ckpt-2098 --vocab-file tests/vocab.txt $small --dry-run | grep -v "missing:"
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --use-cls-layer changes nothing: only pretraining reads it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion
  error: checkpoint 'checkpoint/phase2/ckpt-2098.safetensors' does not fit the model; give the model flags that it was trained with, or another checkpoint. Tensors:
    and 80 more
  $ cnntrain run_squad.py --config configs/squad_large_V2.json --do-training --do-predict --do-evaluation --init-checkpoint checkpoint/phase2/ckpt-2098 --vocab-file tests/vocab.txt $small --use-qkv-split --no-use-attention-projection-bias --dry-run
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --use-cls-layer changes nothing: only pretraining reads it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    configs/squad_large_V2.json
  Model:            BERT of 24 layers, 64 wide, 664962 parameters, 1.3728 GFLOP forward per feature
  Data:             131944 features of the published set, as data/squad2/train-v2.0.json is not there, of 384 tokens
  Phases:           training, evaluation and prediction; results in tmp/squad/
  Batch:            1 (micro-batch) x 50 (accumulated) x 4 (replicas) = 200
  Pipeline:         5 stages on one device, split before hid3, hid10, hid17, loc0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 2.0 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           1318 iterations, 2 epochs of 659 iterations; a log line every 1, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 256
  Learning rate:    polynomial_decay, base 5e-05, warm-up 0.1
  Rates:            1e-07 at 0, 4.1618e-05 at 329, 2.7717e-05 at 659, 1.3858e-05 at 988, 1e-07 at 1317
  Checkpoints:      after iterations 500, 1000, 1318
  Validation:       none
  Initial weights:  checkpoint/phase2/ckpt-2098.safetensors; the state in it is another optimiser's (there is no bert/embeddings/word_embeddings/adam_m) and left out: the run's begins anew; drawn anew: cls/squad/output_bias, cls/squad/output_weights
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             7801
  Files:            checkpoint/squad/bert24x64_questions_bs1x50px4r_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 4 of 8.0 MB: 31.9 MB
  $ cnntrain run_squad.py --config configs/squad_base.json --do-training --do-predict --do-evaluation --vocab-file tests/vocab.txt --dry-run
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --max-predictions-per-seq and --use-cls-layer change nothing: only pretraining reads it
  [info] --fp-exceptions changes nothing: --stop-on-nan ends a run that diverges
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion --variable-offloading
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    configs/squad_base.json
  Model:            BERT of 12 layers, 768 wide, 108762626 parameters, 70.846 GFLOP forward per feature
  Data:             88641 features of the published set, as data/squad/train-v1.1.json is not there, of 384 tokens
  Phases:           training, evaluation and prediction; results in ./tmp/squad/
  Batch:            1 (micro-batch) x 260 (accumulated) x 4 (replicas) = 1040
  Pipeline:         5 stages on one device, split before hid0, hid4, hid8, loc0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 0.4 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           2100 iterations, 24.639 epochs of 85 iterations; a log line every 1, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1
  Learning rate:    polynomial_decay, base 3e-05, warm-up 276
  Rates:            1e-07 at 0, 2.5888e-05 at 525, 1.7253e-05 at 1050, 8.6184e-06 at 1575, 1e-07 at 2099
  Checkpoints:      after iterations 100, 200, 300, 400, 500, 600, ..., 2100 (21 in all)
  Validation:       none
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             1234
  Files:            ./checkpoint/squad/bert12x768_questions_bs1x260px4r_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 22 of 1.3 GB: 28.7 GB
  $ cnntrain run_squad.py --config configs/squad_base_V2.json --do-training --vocab-file tests/vocab.txt --dry-run | sed 's/; known in.*//'
  error: unknown configuration 'configs/squad_base_V2.json'; did you mean 'squad_base'?
  $ cnntrain run_squad.py --config configs/squad_large.json --do-predict --do-evaluation --predict-file $DATASETS_DIR/squad/dev-v1.1.json --init-checkpoint answering/ckpt-1 --vocab-file tests/vocab.txt $small --dry-run
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --use-cls-layer changes nothing: only pretraining reads it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    configs/squad_large.json
  Model:            BERT of 24 layers, 64 wide, 664962 parameters, 1.3728 GFLOP forward per feature
  Data:             7 validation questions (7 features) of 384 tokens
  Phases:           evaluation and prediction; results in tmp/squad/
  Validation:       1 batches of 1
  Weights:          answering/ckpt-1
  Precision:        16.32, backend cpu
  Seed:             2243
  $ cnntrain run_squad.py --config configs/squad_large.json --do-predict --do-evaluation --predict-file $DATASETS_DIR/squad/dev-v1.1.json --init-checkpoint checkpoint/phase2/ckpt-2098 --vocab-file tests/vocab.txt $small --dry-run | tail -1
  error: checkpoint 'checkpoint/phase2/ckpt-2098.safetensors' has no head for this task, cls/squad/...; train first: cnntrain train with --init-checkpoint checkpoint/phase2/ckpt-2098.safetensors
  $ cnntrain run_classifier.py --config configs/glue_large.json --task-name mrpc --data-dir $DATASETS_DIR/glue --do-training --do-evaluation --do-predict --init-checkpoint checkpoint/phase2/ckpt-2098 --output-dir OUT $small --dry-run
  [info] --steps-per-tensorboard changes nothing: there are no histograms
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --max-predictions-per-seq and --use-cls-layer change nothing: only pretraining reads it
  [info] --buffer-size changes nothing: all texts are shuffled
  [info] --tfrecord-dir changes nothing: the original program never read it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    configs/glue_large.json
  Model:            BERT of 24 layers, 64 wide, 669122 parameters, 1.3727 GFLOP forward per text
  Data:             100 training texts of at most 384 tokens, 2 classes: 0, 1
  Phases:           training, evaluation and prediction; results in OUT
  Batch:            1 (micro-batch) x 10 (accumulated) x 4 (replicas) = 40
  Pipeline:         5 stages on one device, split before hid3, hid10, hid17, glu0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 9.1 % with a lane for each stage
  Replicas:         4 in this process, with one set of weights
  Length:           6 iterations, 3 epochs of 2 iterations; a log line every 1, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1
  Learning rate:    polynomial_decay, base 1.5e-05, warm-up 0.1
  Rates:            1.25e-05 at 0, 1e-05 at 1, 5e-06 at 3, 2.5e-06 at 4, 1e-07 at 5
  Checkpoints:      after iterations 6
  Validation:       none
  Initial weights:  checkpoint/phase2/ckpt-2098.safetensors; the state in it is another optimiser's (there is no bert/embeddings/word_embeddings/adam_m) and left out: the run's begins anew; drawn anew: cls/classifier/output_bias, cls/classifier/output_weights
  Precision:        16.32, stochastic rounding ON, backend cpu
  Seed:             7801
  Files:            checkpoint/glue/bert24x64_text_bs1x10px4r_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 2 of 8.0 MB: 16.1 MB
  $ cnntrain run_classifier.py --config configs/groupbert/glue_base.json --task-name mrpc --data-dir $DATASETS_DIR/glue --do-training --do-evaluation --vocab-file tests/vocab.txt --init-checkpoint checkpoint/phase2/ckpt-1361 $small --dry-run
  [info] ************* Using GroupBERT model architecture *************
  [info] --use-cls-layer changes nothing: only pretraining reads it
  [info] --buffer-size changes nothing: all texts are shuffled
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    configs/groupbert/glue_base.json
  Model:            GroupBERT of 12 layers, 64 wide, 738370 parameters, 0.973 GFLOP forward per text
  Data:             100 training texts of at most 384 tokens, 2 classes: 0, 1
  Phases:           training and evaluation; results in the folder of the weights
  Batch:            1 (micro-batch) x 30 (accumulated) x 1 (replicas) = 30
  Pipeline:         5 stages on one device, split before hid1, hid5, hid9, glu0; Grouped, stash depths 9, 7, 5, 3, 1, bubble 11.8 % with a lane for each stage
  Length:           9 iterations, 3 epochs of 3 iterations; a log line every 1, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1
  Learning rate:    polynomial_decay, base 1e-05, warm-up 0.1
  Rates:            8.8889e-06 at 0, 6.6667e-06 at 2, 4.4444e-06 at 4, 2.2222e-06 at 6, 1e-07 at 8
  Checkpoints:      after iterations 3, 6, 9
  Validation:       none
  Initial weights:  checkpoint/phase2/ckpt-1361.safetensors; the state in it is another optimiser's (there is no bert/embeddings/word_embeddings/adam_m) and left out: the run's begins anew; drawn anew: cls/classifier/output_bias, cls/classifier/output_weights
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/groupbert12x64_text_bs1x30p_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, event/events.out.tfevents.*
  Disk:             checkpoints: 4 of 8.9 MB: 35.4 MB

GLUE's tasks by name.

  $ for task in cola sst2 mrpc stsb qqp mnli mnli-mm qnli rte wnli; do
  >     config=glue_large && [ $task != stsb ] || config=glue_large_regression
  >     cnntrain run_classifier.py $small --config configs/$config.json --task-name $task --data-dir "$data"/glue --do-training --num-train-steps 4 --vocab-file tests/vocab.txt --dry-run | sed -n "s/^Data: */$task: /p"
  > done
  cola: 3 training texts of at most 384 tokens, 2 classes: 0, 1
  sst2: 2 training texts of at most 384 tokens, 2 classes: 0, 1
  mrpc: 2 training texts of at most 384 tokens, 2 classes: 0, 1
  stsb: 2 training texts of at most 384 tokens, each with a score
  qqp: 2 training texts of at most 384 tokens, 2 classes: 0, 1
  mnli: 3 training texts of at most 384 tokens, 3 classes: contradiction, entailment, neutral
  mnli-mm: 3 training texts of at most 384 tokens, 3 classes: contradiction, entailment, neutral
  qnli: 2 training texts of at most 384 tokens, 2 classes: entailment, not_entailment
  rte: 2 training texts of at most 384 tokens, 2 classes: entailment, not_entailment
  wnli: 1 training texts of at most 384 tokens, 2 classes: 0, 1

AX has no labels: it is predicted with MNLI's weights. STS-B's scores need no configuration of their own.

  $ cnntrain run_classifier.py $small --config configs/glue_large.json --task-name mnli --data-dir "$data"/glue --do-training --num-train-steps 1 --replicas 1 --seq-length 16 --vocab-file tests/vocab.txt --logs-path mnli > log || cat log
  $ cnntrain run_classifier.py $small --config configs/glue_large.json --task-name ax --data-dir "$data"/glue --do-predict --init-checkpoint mnli/ckpt-1 --vocab-file tests/vocab.txt --output-dir OUT --dry-run
  [info] --steps-per-tensorboard changes nothing: there are no histograms
  [info] --parallel-io-threads changes nothing: --input-threads sets their number
  [info] --max-predictions-per-seq and --use-cls-layer change nothing: only pretraining reads it
  [info] --buffer-size changes nothing: all texts are shuffled
  [info] --tfrecord-dir changes nothing: the original program never read it
  [info] kept in arguments.json but without effect, because they only steer IPUs: --matmul-serialize-factor --available-memory-proportion
  Dry run:          train; no sample is computed, nothing is written
  Configuration:    configs/glue_large.json
  Model:            BERT of 24 layers, 64 wide, 669187 parameters, 1.3731 GFLOP forward per text
  Data:             1 validation texts of at most 384 tokens, 3 classes: contradiction, entailment, neutral
  Phases:           prediction; results in OUT
  Validation:       1 batches of 1
  Weights:          mnli/ckpt-1
  Precision:        16.32, backend cpu
  Seed:             7801
  $ cnntrain run_classifier.py $small --config configs/glue_large.json --task-name ax --data-dir "$data"/glue --do-training --vocab-file tests/vocab.txt --dry-run | tail -1
  error: GLUE's ax has texts for prediction only; train and evaluate with mnli
  $ cnntrain run_classifier.py $small --config configs/glue_large.json --task-name stsb --data-dir "$data"/glue --do-training --num-train-steps 4 --vocab-file tests/vocab.txt --dry-run | grep Data
  Data:             2 training texts of at most 384 tokens, each with a score

The everyday form.

  $ cnntrain train --task question-answering --data-dir data/squad/dev-v1.1.json --init-checkpoint pretrained/pretrain_large_384_phase2/ckpt-0 --vocab-file tests/vocab.txt --seq-length 64 --doc-stride 16 --dry-run
  [info] chosen for about 7 questions and pretrained weights, which change slowly: --base-learning-rate 1e-04, --micro-batch-size 8, --epochs 20 and --warmup 0.1 (of the run: the first gradients of a new head are large)
  Dry run:          train; no sample is computed, nothing is written
  Model:            BERT of 24 layers, 64 wide, 664962 parameters, 0.10297 GFLOP forward per feature
  Data:             7 training questions (8 features) of 64 tokens
  Batch:            8 (micro-batch) x 1 (accumulated) x 1 (replicas) = 8
  Length:           20 iterations, 20 epochs of 1 iterations; a log line every 1, host steps of 1
  Optimiser:        AdamW, betas 0.9 and 0.999, weight decay 0.01, loss scaling 1
  Learning rate:    polynomial_decay, base 1e-04, warm-up 0.1
  Rates:            1e-07 at 0, 7.7778e-05 at 5, 5e-05 at 10, 2.2222e-05 at 15, 1e-07 at 19
  Checkpoints:      after iterations 1, 2, 3, 4, 5, 6, ..., 20 (20 in all)
  Validation:       none
  Initial weights:  pretrained/pretrain_large_384_phase2/ckpt-0.safetensors; the state in it is another optimiser's (there is no bert/embeddings/word_embeddings/adam_m) and left out: the run's begins anew; drawn anew: cls/squad/output_bias, cls/squad/output_weights
  Precision:        16.32, stochastic rounding ON, backend cpu
  Files:            ./logs/bert24x64_questions_bs8_???/: arguments.json, log.txt, ckpt-<iteration>.safetensors, training.csv, events.out.tfevents.*
  Disk:             checkpoints: 21 of 8.0 MB: 167.6 MB
  $ (printf 'text\tlabel\n'; for i in $(seq 50); do printf 'good film\tlike\nbad plot\tdislike\n'; done) > texts.tsv
  $ cnntrain train --task text-classification --data-dir texts.tsv $small --num-hidden-layers 2 --vocab-file tests/vocab.txt --dry-run | grep "chosen\|^Learning"
  [info] chosen for about 101 texts and random weights, which need many updates at a high rate: --base-learning-rate 5e-04, --micro-batch-size 8, --epochs 50 and --warmup 0.1 (of the run: the first gradients of a new head are large)
  Learning rate:    polynomial_decay, base 5e-04, warm-up 0.1
