BERT: records from text, pretraining, evaluation, and texts classified.

  $ . "$TESTDIR/setup.sh"
  $ printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' good bad film plot cast the is a . > vocab.txt
  $ for i in 1 2 3 4 5 6 7 8; do printf 'the film is good .\nthe plot is bad .\na cast is good .\n\n'; done > text.txt
  $ cnntrain dataset bert --input-file text.txt --vocab-file vocab.txt --output-file text.tfrecord --sequence-length 32 --mask-tokens 4 --duplication-factor 2 --remask
  1 files of text: 8 documents, 24 sentences, 120 tokens (0.0 % unknown)
  Wrote 27 records to 1 files, 11.1 kB, TIME s; 63.0 % with a random next sentence, 2.7 masked tokens each
  $ cnntrain dataset inspect text.tfrecord
  text.tfrecord: TFRecord, 27 records in 1 file, 11.1 kB
    record bytes   389..398 (mean 394.3), median 394
  
    key                   type   records  values in a record  bytes of a value  values
    input_ids             int64  27       32                  -                 0..13 (mean 4.2)
    input_position        int64  27       32                  -                 0..384 (mean 179.3)
    mask_padding_index    int64  27       1                   -                 2..3 (mean 2.7)
    masked_labels         int64  27       4                   -                 0..13 (mean 6.7)
    masked_lm_ids         int64  27       4                   -                 0..13 (mean 6.7)
    masked_lm_positions   int64  27       2..3 (mean 2.7)     -                 1..20 (mean 8.5)
    masked_lm_weights     float  27       4                   -                 0.000..1.000 (mean 0.7)
    next_sentence_labels  int64  27       1                   -                 0..1 (mean 0.6)
    segment_ids           int64  27       32                  -                 0..1 (mean 0.3)
    seq_padding_index     int64  27       1                   -                 15..24 (mean 18.7)
  $ cnntrain pretrain --train-file text.tfrecord --vocab-size 14 --hidden-size 64 --num-attention-heads 4 --num-hidden-layers 1 --intermediate-size 64 --max-position-embeddings 400 --seq-length 32 --max-predictions-per-seq 4 --static-mask --micro-batch-size 2 --gradient-accumulation-count 2 --num-train-steps 4 --steps-per-logs 2 --precision 32 --seed 1 --logs-path run | brief
  DATE: I Command line: cnntrain pretrain --train-file text.tfrecord --vocab-size 14 --hidden-size 64 --num-attention-heads 4 --num-hidden-layers 1 --intermediate-size 64 --max-position-embeddings 400 --seq-length 32 --max-predictions-per-seq 4 --static-mask --micro-batch-size 2 --gradient-accumulation-count 2 --num-train-steps 4 --steps-per-logs 2 --precision 32 --seed 1 --logs-path run
  DATE: I Processor: ...
  DATE: I Cores: 1 core; threads: 1 compute, 1 prepare input
  DATE: I Backend: cpu, oneDNN ...
  DATE: I Fastest arithmetic ...
  
  DATE: I BERT pretraining
  DATE: I  1 layers, 64 wide, 4 attention heads, vocabulary of 14
  DATE: I  Sequences of 32 tokens, at most 4 masked; mask static
  DATE: I Training
  DATE: I  Global batch size: 4 (micro-batch 2, accumulated 2, replicas 1)
  DATE: I  Stages: 1
  DATE: I  Steps: 4, each host call 1
  DATE: I  Checkpoint every 256 steps
  DATE: I  Learning rate schedule: polynomial_decay
  DATE: I  Loss scaling: static, 1
  DATE: I  Optimiser: momentum, epsilon N, weight decay 0, debiasing off
  DATE: I No Validation
  DATE: I Device
  DATE: I  Precision: N
  DATE: I  Arithmetic: ...
  DATE: I  Backend: cpu
  DATE: I  vm
  DATE: I  DATE
  DATE: I Logging
  DATE: I  Name: pretraining_momentum_DATE
  DATE: I  Saving to run
  DATE: I  Checkpoints: 2 of 482.9 kB: 965.9 kB
  
  DATE: I {"arithmetic":"f32","attention_probs_dropout_prob":0.0,"available_memory_proportion":[N],"backend":"cpu","base_learning_rate":N,"beta1":0.9,"beta2":N,"checkpoint_dtype":"stored","checkpoint_path":"run/ckpt","comm_overlap":true,"comm_route":"hierarchical","comm_timeout":300.0,"comm_wire":"f32","command":"pretrain","compile_only":false,"compute_acc":true,"compute_type":"auto","config":null,"dataset_benchmark":false,"dataset_cache_gb":0.0,"dataset_repeat":1,"datetime":"DATE","decay_rate":0.0,"decay_steps":1,"device_iterations":1,"device_mapping":null,"disable_acc":false,"distributed_cluster":null,"distributed_worker_count":1,"distributed_worker_index":0,"duplicate_factor":5.0,"early_stop":0,"ema":false,"ema_decay":0.0,"enable_recomputation":false,"epochs":null,"epsilon":N,"evaluate":false,"execution_profile":false,"fp_exceptions":false,"generated_data":false,"global_batch_size":4,"glue_dropout_prob":0.1,"grad_scale":1.0,"gradient_accumulation_count":2,"groupbert":false,"groupbert_conv_group_size":16,"groupbert_conv_kernel_size":7,"groupbert_ffn_output_groups":4,"hidden_act":"gelu","hidden_dropout_prob":0.0,"hidden_size":64,"hostname":"vm","increase_optimiser_precision":false,"init_checkpoint":null,"initializer_range":N,"input_threads":0,"intermediate_size":64,"ipu_replica_identical_seed":false,"keep_best":null,"lanes":1,"layer_norm_epsilon":N,"log_all_workers":false,"log_dir":"./logs/","logs_path":"run","loss_scaling":1.0,"loss_scaling_by_step":null,"lr_power":[1.0],"lr_scale":1.0,"lr_schedule":"polynomial_decay","lr_schedule_by_step":null,"matmul_serialize_factor":1,"max_cross_replica_sum_buffer_size":10485760,"max_position_embeddings":400,"max_predictions_per_seq":4,"max_reduce_scatter_buffer_size":0,"max_to_keep":5,"memory_profile":false,"micro_batch_size":2,"min_remote_tensor_size":128,"momentum":N,"name":"pretraining_momentum_DATE","name_suffix":null,"no_logs":false,"no_outlining":false,"num_attention_heads":4,"num_hidden_layers":1,"num_train_steps":4,"optimizer":"momentum","packed":false,"parallel_io_threads":4,"partials_type":"half","pipeline_schedule":"Interleaved","pipeline_stages":null,"planned_iterations":4,"poplar_version":null,"precision":"32","prefetch_depth":null,"profile_dir":"./","profile_steps":10,"program_version":"cnntrain VERSION","progress_bar":"auto","recomputation_mode":"RecomputeAndBackpropagateInterleaved","reduction_type":"mean","replicas":1,"replicated_tensor_sharding":false,"restore_dir":null,"restore_optimiser_from_checkpoint":true,"restoring":false,"save_optimiser_to_checkpoint":true,"save_path":"checkpoints","scheduler":"CLUSTERING","seed":1,"seed_specified":true,"select_ipu":["AUTO"],"seq_length":32,"sloppy_parallel_interleave":true,"static_mask":true,"steps_per_ckpts":256,"steps_per_logs":2,"steps_per_tensorboard":0,"stochastic_rounding":true,"stop_on_nan":true,"sync_replicas_independently":false,"synthetic_data":false,"task":"pretraining","tensorboard":true,"thread_independent":false,"threads":0,"total_replicas":1,"total_steps":4,"train_file":"HERE/text.tfrecord","training":true,"type_vocab_size":2,"use_attention_projection_bias":true,"use_cls_layer":true,"use_debiasing":false,"use_lr_fp32":false,"use_mpclip":false,"use_nvlamb":false,"use_popdist":false,"use_prediction_bias":true,"use_qkv_bias":false,"use_qkv_split":false,"valid_file":null,"validate_every":0.0,"validate_every_updates":0,"validation_global_batch_size":2,"variable_offloading":true,"vocab_size":14,"wandb":false,"wandb_id":null,"wandb_name":null,"wandb_project":"tf-bert","warmup":0.1,"wd_exclude":["bias","beta"],"weight_decay_rate":0.0,"weight_norm_clip":0.0}
  DATE: I Trainable Variables:
  DATE: I bert/embeddings/word_embeddings f32[14, 64]
  DATE: I bert/embeddings/position_embeddings f32[400, 64]
  DATE: I bert/embeddings/token_type_embeddings f32[2, 64]
  DATE: I bert/embeddings/LayerNorm/beta f32[64]
  DATE: I bert/embeddings/LayerNorm/gamma f32[64]
  DATE: I bert/encoder/layer_0/attention/self/kernel/qkv_weight f32[64, 192]
  DATE: I bert/encoder/layer_0/attention/projection/dense/kernel f32[64, 64]
  DATE: I bert/encoder/layer_0/attention/projection/dense/bias f32[64]
  DATE: I bert/encoder/layer_0/attention/projection/LayerNorm/beta f32[64]
  DATE: I bert/encoder/layer_0/attention/projection/LayerNorm/gamma f32[64]
  DATE: I bert/encoder/layer_0/intermediate/dense/kernel f32[64, 64]
  DATE: I bert/encoder/layer_0/intermediate/dense/bias f32[64]
  DATE: I bert/encoder/layer_0/output/dense/kernel f32[64, 64]
  DATE: I bert/encoder/layer_0/output/dense/bias f32[64]
  DATE: I bert/encoder/layer_0/output/LayerNorm/beta f32[64]
  DATE: I bert/encoder/layer_0/output/LayerNorm/gamma f32[64]
  DATE: I cls/predictions/transform/dense/kernel f32[64, 64]
  DATE: I cls/predictions/transform/dense/bias f32[64]
  DATE: I cls/predictions/transform/LayerNorm/beta f32[64]
  DATE: I cls/predictions/transform/LayerNorm/gamma f32[64]
  DATE: I cls/predictions/output_bias f32[14]
  DATE: I bert/pooler/dense/kernel f32[64, 64]
  DATE: I bert/pooler/dense/bias f32[64]
  DATE: I cls/seq_relationship/output_weights f32[2, 64]
  DATE: I cls/seq_relationship/output_bias f32[2]
  DATE: I Total Parameters:60368
  
  DATE: I Compilation time: TIME.
  DATE: I Saved initial checkpoint to run/ckpt-0
  DATE: I step: 0, epoch: N, lr: N, mlm_loss: N, nsp_loss: N,        mlm_acc: N %, nsp_acc: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  DATE: I step: 2, epoch: N, lr: N, mlm_loss: N, nsp_loss: N,        mlm_acc: N %, nsp_acc: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  DATE: I Saved checkpoint to run/ckpt-3 in TIMEs
  DATE: I Training loop completed in TIMEs.
  $ cnntrain pretrain --evaluate --restore-dir run --valid-file text.tfrecord | brief
  DATE: I Command line: cnntrain pretrain --evaluate --restore-dir run --valid-file text.tfrecord
  DATE: I Processor: ...
  DATE: I Cores: 1 core; threads: 1 compute, 1 prepare input
  DATE: I Backend: cpu, oneDNN ...
  DATE: I Fastest arithmetic ...
  
  DATE: I BERT pretraining
  DATE: I  1 layers, 64 wide, 4 attention heads, vocabulary of 14
  DATE: I  Sequences of 32 tokens, at most 4 masked; mask static
  DATE: I Validation
  DATE: I  Batch Size: 2
  DATE: I Device
  DATE: I  Precision: N
  DATE: I  Arithmetic: ...
  DATE: I  Backend: cpu
  DATE: I  vm
  DATE: I  DATE
  DATE: I Logging
  DATE: I  Name: pretraining_evaluation_DATE
  
  DATE: I {"arithmetic":"f32","attention_probs_dropout_prob":0.0,"available_memory_proportion":[N],"backend":"cpu","base_learning_rate":N,"beta1":0.9,"beta2":N,"checkpoint_dtype":"stored","checkpoint_path":"/tmp/pretraining_evaluation_DATE/ckpt","comm_overlap":true,"comm_route":"hierarchical","comm_timeout":300.0,"comm_wire":"f32","command":"pretrain","compile_only":false,"compute_acc":true,"compute_type":"auto","config":null,"dataset_benchmark":false,"dataset_cache_gb":0.0,"dataset_repeat":1,"datetime":"DATE","decay_rate":0.0,"decay_steps":1,"device_iterations":1,"device_mapping":null,"disable_acc":false,"distributed_cluster":null,"distributed_worker_count":1,"distributed_worker_index":0,"duplicate_factor":5.0,"early_stop":0,"ema":false,"ema_decay":0.0,"enable_recomputation":false,"epochs":null,"epsilon":N,"evaluate":true,"execution_profile":false,"fp_exceptions":false,"generated_data":false,"global_batch_size":2,"glue_dropout_prob":0.1,"grad_scale":1.0,"gradient_accumulation_count":null,"groupbert":false,"groupbert_conv_group_size":16,"groupbert_conv_kernel_size":7,"groupbert_ffn_output_groups":4,"hidden_act":"gelu","hidden_dropout_prob":0.0,"hidden_size":64,"hostname":"vm","increase_optimiser_precision":false,"init_checkpoint":null,"initializer_range":N,"input_threads":0,"intermediate_size":64,"ipu_replica_identical_seed":false,"keep_best":null,"lanes":1,"layer_norm_epsilon":N,"log_all_workers":false,"log_dir":"./logs/","logs_path":null,"loss_scaling":1.0,"loss_scaling_by_step":null,"lr_power":[1.0],"lr_scale":1.0,"lr_schedule":"polynomial_decay","lr_schedule_by_step":null,"matmul_serialize_factor":1,"max_cross_replica_sum_buffer_size":10485760,"max_position_embeddings":400,"max_predictions_per_seq":4,"max_reduce_scatter_buffer_size":0,"max_to_keep":5,"memory_profile":false,"micro_batch_size":2,"min_remote_tensor_size":128,"momentum":N,"name":"pretraining_evaluation_DATE","name_suffix":null,"no_logs":false,"no_outlining":false,"num_attention_heads":4,"num_hidden_layers":1,"num_train_steps":null,"optimizer":"momentum","packed":false,"parallel_io_threads":4,"partials_type":"half","pipeline_schedule":"Interleaved","pipeline_stages":null,"poplar_version":null,"precision":"32","prefetch_depth":null,"profile_dir":"./","profile_steps":10,"program_version":"cnntrain VERSION","progress_bar":"auto","recomputation_mode":"RecomputeAndBackpropagateInterleaved","reduction_type":"mean","replicas":1,"replicated_tensor_sharding":false,"restore_dir":"HERE/run","restore_optimiser_from_checkpoint":true,"restoring":false,"save_optimiser_to_checkpoint":true,"save_path":"checkpoints","scheduler":"CLUSTERING","seed":null,"seed_specified":false,"select_ipu":["AUTO"],"seq_length":32,"sloppy_parallel_interleave":true,"static_mask":true,"steps_per_ckpts":256,"steps_per_logs":1,"steps_per_tensorboard":0,"stochastic_rounding":true,"stop_on_nan":true,"sync_replicas_independently":false,"synthetic_data":false,"task":"pretraining","tensorboard":true,"thread_independent":false,"threads":0,"total_replicas":1,"train_file":null,"training":false,"type_vocab_size":2,"use_attention_projection_bias":true,"use_cls_layer":true,"use_debiasing":false,"use_lr_fp32":false,"use_mpclip":false,"use_nvlamb":false,"use_popdist":false,"use_prediction_bias":true,"use_qkv_bias":false,"use_qkv_split":false,"valid_file":"HERE/text.tfrecord","validate_every":0.0,"validate_every_updates":0,"validation_device_iterations":14,"validation_global_batch_size":2,"validation_iterations":1,"variable_offloading":true,"vocab_size":14,"wandb":false,"wandb_id":null,"wandb_name":null,"wandb_project":"tf-bert","warmup":0.1,"wd_exclude":["bias","beta"],"weight_decay_rate":0.0,"weight_norm_clip":0.0}
  DATE: I Compilation time: TIME.
  DATE: I Validation mlm_loss: N, nsp_loss: N, mlm_acc: N, nsp_acc: N [ckpt-0] (steps: 0, epoch: N, throughput: RATE samples/sec, time: TIME)
  DATE: I Validation mlm_loss: N, nsp_loss: N, mlm_acc: N, nsp_acc: N [ckpt-3] (steps: 4, epoch: N, throughput: RATE samples/sec, time: TIME)
  $ (printf 'text\tlabel\n'; for i in 1 2 3 4 5 6 7 8; do printf 'good film\tlike\nbad plot\tdislike\n'; done) > texts.tsv
  $ cnntrain train --task text-classification --data-dir texts.tsv --validation-file texts.tsv --vocab-file vocab.txt --init-checkpoint run/ckpt-3 --seq-length 8 --micro-batch-size 4 --epochs 2 --seed 1 --precision 32 --logs-path texts | body
  
  Drawn anew, because run/ckpt-3.safetensors does not have them: cls/classifier/output_bias, cls/classifier/output_weights
  Not read from run/ckpt-3.safetensors, because the network does not have them: cls/predictions/output_bias, cls/predictions/transform/LayerNorm/beta, cls/predictions/transform/LayerNorm/gamma, cls/predictions/transform/dense/bias, cls/predictions/transform/dense/kernel, cls/seq_relationship/output_bias, cls/seq_relationship/output_weights
  [info] run/ckpt-3.safetensors: the state in it is another optimiser's (there is no bert/embeddings/word_embeddings/adam_m) and left out: the run's begins anew
  Compilation time: TIME.
  Saved initial checkpoint to texts/ckpt-0
  step: 1, iteration: 1, epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 2, iteration: 2, epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 3, iteration: 3, epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 4, iteration: 4, epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  Saved checkpoint to texts/ckpt-4 in TIMEs
  step: 5, iteration: 5, epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 6, iteration: 6, epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 7, iteration: 7, epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  step: 8, iteration: 8, epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  Saved checkpoint to texts/ckpt-8 in TIMEs
  Training loop completed in TIMEs.
  Validation accuracy: N % [ckpt-4] (loss: N, iteration: 4, epoch: N, throughput: RATE samples/sec, time: TIME)
  Validation accuracy: N % [ckpt-8] (loss: N, iteration: 8, epoch: N, throughput: RATE samples/sec, time: TIME)
  Time to train: TIMEs.
  $ cnntrain validation --restore-path texts | body
  Compilation time: TIME.
  Validation accuracy: N % [ckpt-0] (loss: N, iteration: 0, epoch: N, throughput: RATE samples/sec, time: TIME)
  Validation accuracy: N % [ckpt-4] (loss: N, iteration: 4, epoch: N, throughput: RATE samples/sec, time: TIME)
  Validation accuracy: N % [ckpt-8] (loss: N, iteration: 8, epoch: N, throughput: RATE samples/sec, time: TIME)
  $ cnntrain inference --restore-path texts --data-dir texts.tsv | body
  1 good film: like (N) dislike (N)
  2 bad plot: like (N) dislike (N)
  3 good film: like (N) dislike (N)
  4 bad plot: like (N) dislike (N)
  5 good film: like (N) dislike (N)
  6 bad plot: like (N) dislike (N)
  7 good film: like (N) dislike (N)
  8 bad plot: like (N) dislike (N)
  9 good film: like (N) dislike (N)
  10 bad plot: like (N) dislike (N)
  11 good film: like (N) dislike (N)
  12 bad plot: like (N) dislike (N)
  13 good film: like (N) dislike (N)
  14 bad plot: like (N) dislike (N)
  15 good film: like (N) dislike (N)
  16 bad plot: like (N) dislike (N)
  Inference [ckpt-8]: 16 texts, throughput: RATE samples/sec
  top-1 accuracy: N %
  $ cnntrain report texts | brief | grep -v "confused\|learn"
  Predicting validation samples with ckpt-8: at most 1000 (--samples; --no-predictions leaves this out)
  Saved the page to texts/report.html
  $ cnntrain convert --from texts/ckpt-8.safetensors --to hf/model.safetensors
  texts/ckpt-8.safetensors -> hf/model.safetensors (Hugging Face's layout): 25 tensors, 56258 numbers
  Left out: 40 optimiser slots
  $ grep num_attention_heads hf/config.json
    "num_attention_heads": 4,

A classifier of transformers answers without a run, by the sizes, the words and the classes in its folder.

  $ cp vocab.txt hf/vocab.txt
  $ printf 'text\ngood film\nbad plot\n' > asked.tsv
  $ cnntrain inference --task text-classification --restore-path hf/model.safetensors --seq-length 8 --data-dir asked.tsv --no-logs | body
  1 good film: like (N) dislike (N)
  2 bad plot: like (N) dislike (N)
  Inference [model]: 2 texts, throughput: RATE samples/sec

Questions on texts: training, answers, evaluation; the phases of the original program. The answers of so little
training differ between processors.

  $ answers() { sed -E "s/ -> .*/ -> ANSWER/"; }
  $ cp "$CNNTRAIN_SOURCE"/tests/data/squad/squad-v1.1.json questions.json
  $ cp "$CNNTRAIN_SOURCE"/tests/data/squad/squad-v2.0.json questions2.json
  $ cp "$CNNTRAIN_SOURCE"/tests/data/bert/vocab.txt words.txt
  $ cnntrain train --task question-answering --data-dir questions.json --validation-file questions.json --vocab-file words.txt --vocab-size 1000 --hidden-size 64 --num-hidden-layers 2 --num-attention-heads 2 --intermediate-size 128 --max-position-embeddings 64 --seq-length 32 --doc-stride 8 --max-query-length 6 --epochs 2 --base-learning-rate 1e-3 --seed 1 --precision 32 --logs-path asked | body
  
  Compilation time: TIME.
  Saved initial checkpoint to asked/ckpt-0
  step: 1, iteration: 1, epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  step: 2, iteration: 2, epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  step: 3, iteration: 3, epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  Saved checkpoint to asked/ckpt-3 in TIMEs
  step: 4, iteration: 4, epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  step: 5, iteration: 5, epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  step: 6, iteration: 6, epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  step: 7, iteration: 7, epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  Saved checkpoint to asked/ckpt-7 in TIMEs
  Training loop completed in TIMEs.
  SQuAD 1.1 evaluation results: Exact Match: N, F1: N [ckpt-3] (iteration: 3, epoch: N, throughput: RATE samples/sec, time: TIME)
  SQuAD 1.1 evaluation results: Exact Match: N, F1: N [ckpt-7] (iteration: 7, epoch: N, throughput: RATE samples/sec, time: TIME)
  Time to train: TIMEs.
  $ cnntrain inference --restore-path asked --data-dir questions.json --logs-path answers | body | answers
  What sat on the mat? -> ANSWER
  Who ran over the road? -> ANSWER
  cat bird dog tree road mat the a hello world -> ANSWER
  walk? -> ANSWER
  the dog? -> ANSWER
  x -> ANSWER
  z y x ? ? ? ! -> ANSWER
  Inference [ckpt-7]: 28 features, throughput: RATE samples/sec
  SQuAD 1.1 evaluation results: Exact Match: N, F1: N
  Saved predictions to answers/predictions.csv
  Saved answers/predictions.json
  Saved answers/best_predictions.json
  $ ls answers
  arguments.json
  best_predictions.json
  log.txt
  predictions.csv
  predictions.json

More of it learns these questions: each answer is printed with its probability and its place in the text.

  $ cnntrain train --task question-answering --data-dir questions.json --vocab-file words.txt --vocab-size 512 --hidden-size 32 --num-hidden-layers 1 --num-attention-heads 2 --intermediate-size 64 --max-position-embeddings 32 --seq-length 32 --doc-stride 8 --max-query-length 6 --micro-batch-size 4 --epochs 120 --epochs-per-ckpt 120 --base-learning-rate 0.003 --precision 32 --seed 5 --logs-path learnt > log || cat log
  $ cnntrain inference --restore-path learnt --data-dir questions.json --no-logs | body
  What sat on the mat? -> The cat (N)  in: The cat sat on the mat. A dog (the bi...
  Who ran over the road? -> dog (N)  in: The cat sat on the mat. A dog (the bird) ran over the road,...
  cat bird dog tree road mat the a hello world -> the bird (N)  in: ...he cat sat on the mat. A dog (the bird) ran over the road, and the c...
  walk? -> cats walked to (N)  in: ...d) ran over the road, and the cats walked to the tree! Hello world: 1-2 12...
  the dog? -> dog flew (N)  in: Caf\xc3\xa9 \xe5\x8c\x97\xe4\xba\xac the dog flew. The bird's tree. the cat sat... (esc)
  x -> bird (N)  in: ...af\xc3\xa9 \xe5\x8c\x97\xe4\xba\xac the dog flew. The bird's tree. the cat sat on the ma... (esc)
  z y x ? ? ? ! -> mat . the cat (N)  in: ...rd's tree. the cat sat on the mat . the cat sat on the mat . the cat sat ...
  Inference [ckpt-840]: 28 features, throughput: RATE samples/sec
  SQuAD 1.1 evaluation results: Exact Match: N, F1: N

  $ cnntrain validation --restore-path asked --data-dir questions.json | body
  Compilation time: TIME.
  SQuAD 1.1 evaluation results: Exact Match: N, F1: N [ckpt-0] (iteration: 0, epoch: N, throughput: RATE samples/sec, time: TIME)
  SQuAD 1.1 evaluation results: Exact Match: N, F1: N [ckpt-3] (iteration: 3, epoch: N, throughput: RATE samples/sec, time: TIME)
  SQuAD 1.1 evaluation results: Exact Match: N, F1: N [ckpt-7] (iteration: 7, epoch: N, throughput: RATE samples/sec, time: TIME)
  $ cat > tiny.json <<END
  > {"task": "SQuAD", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128,
  >  "vocab_size": 1000, "max_position_embeddings": 64, "pipeline_stages": [["emb", "pos", "hid", "hid"], ["loc"]],
  >  "device_mapping": [0, 1], "gradient_accumulation_count": 4, "micro_batch_size": 2, "epochs": 4, "seq_length": 24,
  >  "doc_stride": 5, "max_query_length": 4, "base_learning_rate": 0.001, "optimizer": "adamw",
  >  "lr_schedule": "polynomial_decay", "do_lower_case": true, "save_path": "checkpoint/squad", "seed": 7,
  >  "init_checkpoint": "", "precision": "32", "steps_per_ckpts": 10, "steps_per_logs": 10, "tfrecord_dir": "cache",
  >  "version_2_with_negative": true}
  > END
  $ cnntrain run_squad.py --config tiny.json --do-training --do-predict --do-evaluation --train-file questions2.json --predict-file questions2.json --vocab-file words.txt --n-best-size 2 --output-dir out | body | answers
  Total samples 50
  Training will last 24 iterations and 24 steps will be executed.
  Using learning rate schedule polynomial_decay
  Warmup period set to 2 steps
  
  Memory of the stages:
    stage 0: weights and states 2.2 MB, kept for the backward pass 261.5 kB a micro-batch, of 3 at a time, with what is sent on 807.4 kB
    stage 1: weights and states 2.1 kB, kept for the backward pass 12.7 kB a micro-batch, of 1 at a time, with what is sent on 12.7 kB
    activations and gradients of all stages: 1.0 MB
  Compilation time: TIME.
  Saved initial checkpoint to checkpoint/squad/RUN/ckpt-0
  step: 1, iteration: 1, epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  step: 10, iteration: 10, epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  Saved checkpoint to checkpoint/squad/RUN/ckpt-10 in TIMEs
  step: 20, iteration: 20, epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  step: 23, iteration: 23, epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  step: 24, iteration: 24, epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  Saved checkpoint to checkpoint/squad/RUN/ckpt-24 in TIMEs
  Training loop completed in TIMEs.
  training times: TIME s
  [info] the trained weights checkpoint/squad/RUN: the newest checkpoint is taken, checkpoint/squad/RUN/ckpt-24.safetensors
  Command line: cnntrain run_squad.py --config tiny.json --do-training --do-predict --do-evaluation --train-file questions2.json --predict-file questions2.json --vocab-file words.txt --n-best-size 2 --output-dir out
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  BERT question answering
   2 layers, 64 wide, 2 attention heads, vocabulary of 1000
   Sequences of 24 tokens
  Validation
   Batch Size: 2
  Device
   Precision: N
   Arithmetic: ...
   Half partials: False
   Backend: cpu
   HOST
   DATE
  Logging
   Name: RUN
   Saving to out
  
  {...}
  What sat on the mat? -> ANSWER
  Who ran over the road? -> ANSWER
  cat bird dog tree road mat the a hello world -> ANSWER
  walk? -> ANSWER
  the dog? -> ANSWER
  x -> ANSWER
  z y x ? ? ? ! -> ANSWER
  Inference [ckpt-24]: 50 features, throughput: RATE samples/sec
  inference throughput: RATE exmples/sec - Latency: N N N (mean min max) sec 
  Using SQuAD 2.0 evaluation file
  SQuAD 2.0 evaluation results: Exact Match: N, F1: N
  Saved predictions to out/predictions.csv
  Saved out/predictions.json
  Saved out/best_predictions.json
  Saved out/null_odds.json
  $ ls out cache | sed -E "s/-[0-9a-f]{16}/-DIGEST/"
  cache:
  24_5_4_2_SQuAD20-DIGEST_eval.tfrecord
  24_5_4_SQuAD20-DIGEST_train.tfrecord
  eval_24_5_4_2_SQuAD20-DIGEST.metadata
  train_24_5_4_SQuAD20-DIGEST.metadata
  
  out:
  arguments.json
  best_predictions.json
  log.txt
  null_odds.json
  predictions.csv
  predictions.json
  $ python3 -c 'import json; print(max(map(len, json.load(open("out/best_predictions.json")).values())) <= 2)'
  True
  $ cnntrain run_squad_runtime.py --config tiny.json --predict-file questions2.json --vocab-file words.txt --init-checkpoint checkpoint/squad/*/ckpt-24.safetensors --num-iter 3 --do-predict --n-best-size 2 --output-dir again | without_digits | grep -E "^(batch size|Inference|Using|SQuAD|Saved again)"
  batch size: 2, latency avg: TIME, latency 99p: TIME ms, latency 99p9: TIME ms, throughput: RATE samples/sec, 
  Inference [ckpt-24]: 50 features, throughput: RATE samples/sec
  Using SQuAD 2.0 evaluation file
  SQuAD 2.0 evaluation results: Exact Match: N, F1: N
  Saved again/predictions.json
  Saved again/best_predictions.json
  Saved again/null_odds.json
  $ cmp out/predictions.json again/predictions.json
  $ cnntrain run_squad_runtime.py --config tiny.json --generated-data --vocab-file words.txt --do-predict --init-checkpoint checkpoint/squad/*/ckpt-24.safetensors
  error: --do-predict and --do-evaluation need real questions: give --predict-file FILE.json without --generated-data
  [2]
  $ cnntrain run_squad.py --config tiny.json --train-file questions2.json --vocab-file words.txt
  [info] nothing to do: give --do-training, --do-evaluation or --do-predict
  $ cnntrain run_squad.py --config tiny.json --do-predict --predict-file questions2.json --vocab-file words.txt
  error: --do-evaluation and --do-predict without --do-training need --init-checkpoint
  [2]
  $ cnntrain run_squad.py --config pretrain_base_128_phase1 --do-training
  error: SOURCE/configs/bert/pretrain_base_128_phase1.json: expected a configuration of the task SQuAD, found one of "pretraining"; run_pretraining.py, run_squad.py and run_classifier.py have their own
  [2]

GLUE's tasks, scores and several labels.

  $ sed 's/SQuAD/GLUE/; s/"loc"/"glu"/; s/, "doc_stride": 5, "max_query_length": 4//; s/"doc_stride": 5, "max_query_length": 4, //; s/"version_2_with_negative": true/"buffer_size": 100/' tiny.json > glue.json
  $ sed 's/"glu"/"glu_reg"/' glue.json > score.json
  $ cnntrain run_classifier.py --config glue.json --task-name mrpc --data-dir "$CNNTRAIN_SOURCE"/tests/data/glue --do-training --do-evaluation --do-predict --vocab-file words.txt --output-dir mrpc --gradient-accumulation-count 4 --micro-batch-size 1 | body | grep -v "^ " | sed -E "s/: [01]$/: CLASS/"
  
  Memory of the stages:
  Compilation time: TIME.
  Saved initial checkpoint to checkpoint/squad/RUN/ckpt-0
  step: 1, iteration: 1 (N%),  epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  step: 2, iteration: 2 (N%),  epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  Saved checkpoint to checkpoint/squad/RUN/ckpt-2 in TIMEs
  Training loop completed in TIMEs.
  [info] the trained weights checkpoint/squad/RUN: the newest checkpoint is taken, checkpoint/squad/RUN/ckpt-2.safetensors
  Command line: cnntrain run_classifier.py --config glue.json --task-name mrpc --data-dir SOURCE/tests/data/glue --do-training --do-evaluation --do-predict --vocab-file words.txt --output-dir mrpc --gradient-accumulation-count 4 --micro-batch-size 1
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  BERT text classification
  Validation
  Device
  Logging
  
  {...}
  Compilation time: TIME.
  Validation accuracy: N % [ckpt-2] (matthews: N, f1: N, macro_f1: N, loss: N, iteration: 2, epoch: N, throughput: RATE samples/sec, time: TIME)
  [warning] the rate of 1 calls in all includes the first, slow ones
  inference throughput: RATE exmples/sec - Latency: N N N (mean min max) sec 
  Saved mrpc/eval_results.txt
  Command line: cnntrain run_classifier.py --config glue.json --task-name mrpc --data-dir SOURCE/tests/data/glue --do-training --do-evaluation --do-predict --vocab-file words.txt --output-dir mrpc --gradient-accumulation-count 4 --micro-batch-size 1
  Processor: ...
  Cores: 1 core; threads: 1 compute, 1 prepare input
  Backend: cpu, oneDNN ...
  Fastest arithmetic ...
  
  BERT text classification
  Validation
  Device
  Logging
  
  {...}
  1 a dog\x09a bird: CLASS
  Inference [ckpt-2]: 1 text, throughput: RATE samples/sec
  [warning] the rate of 1 calls in all includes the first, slow ones
  inference throughput: RATE exmples/sec - Latency: N N N (mean min max) sec 
  Saved predictions to mrpc/predictions.csv
  Saved mrpc/predict_results.txt
  $ sed -E 's/= .*/= N/' mrpc/eval_results.txt
  acc = N
  average_acc = N
  average_loss = N
  confusion = N
  f1 = N
  loss = N
  macro_f1 = N
  matthews = N
  preds = N
  $ cat mrpc/predict_results.txt | sed -E 's/\t[01]$/\tCLASS/'
  index\tprediction (esc)
  0\tCLASS (esc)
  $ cnntrain run_classifier.py --config score.json --task-name stsb --data-dir "$CNNTRAIN_SOURCE"/tests/data/glue/STS-B --do-training --do-evaluation --vocab-file words.txt --output-dir stsb --gradient-accumulation-count 4 --micro-batch-size 1 | body | grep -E "^step|^Validation"
  step: 1, iteration: 1 (N%),  epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  step: 2, iteration: 2 (N%),  epoch: N, lr: N, loss: N, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  Validation
  Validation [ckpt-2] (pearson: N, spearman: N, loss: N, iteration: 2, epoch: N, throughput: RATE samples/sec, time: TIME)
  $ sed -E 's/= .*/= N/' stsb/eval_results.txt
  average_loss = N
  average_pearson = N
  average_spearman = N
  loss = N
  pearson = N
  preds = N
  spearman = N
  $ cnntrain run_classifier.py --config glue.json --task-name ax --data-dir "$CNNTRAIN_SOURCE"/tests/data/glue --do-training --vocab-file words.txt
  [info] --buffer-size changes nothing: all texts are shuffled
  [info] --tfrecord-dir changes nothing: the original program never read it
  error: GLUE's ax has texts for prediction only; train and evaluate with mnli
  [2]
  $ cnntrain run_classifier.py --config glue.json --task-name squad --data-dir . --do-training --vocab-file words.txt
  error: --task-name: expected one of cola sst2 mrpc stsb qqp mnli mnli-mm ax qnli rte wnli, got 'squad'
  [2]
  $ cnntrain run_classifier.py --config glue.json --synthetic-data --do-training --vocab-file words.txt --num-train-steps 4 | body
  
  Memory of the stages:
    stage 0: weights and states 2.2 MB, kept for the backward pass 261.5 kB a micro-batch, of 3 at a time, with what is sent on 795.1 kB
    stage 1: weights and states 68.6 kB, kept for the backward pass 1.6 kB a micro-batch, of 1 at a time, with what is sent on 13.8 kB
    activations and gradients of all stages: 1.0 MB
  Compilation time: TIME.
  Saved initial checkpoint to checkpoint/squad/RUN/ckpt-0
  step: 1, iteration: 1 (N%),  epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  step: 3, iteration: 3 (N%),  epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  step: 4, iteration: 4 (N%),  epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, batch time: TIME, total_time: TIME
  Saved checkpoint to checkpoint/squad/RUN/ckpt-4 in TIMEs
  Training loop completed in TIMEs.
  $ printf 'text\tlabels\ngood film\tjoy|art\nbad plot\tsorrow|art\na cat\t\nthe dog\tjoy\n' > several.tsv
  $ cnntrain train --task text-classification --labels several --data-dir several.tsv --vocab-file words.txt --vocab-size 1000 --hidden-size 64 --num-hidden-layers 2 --num-attention-heads 2 --intermediate-size 128 --seq-length 16 --epochs 30 --base-learning-rate 2e-3 --seed 1 --precision 32 --logs-path several --keep-ckpts 1 --no-validation | body | tail -4
  Saved checkpoint to several/ckpt-14 in TIMEs
  step: 15, iteration: 15, epoch: N, lr: N, loss: N, accuracy: N %, throughput: RATE samples/sec, time: TIME, total_time: TIME
  Saved checkpoint to several/ckpt-15 in TIMEs
  Training loop completed in TIMEs.
  $ cnntrain inference --restore-path several --data-dir several.tsv | body
  1 good film: art
  2 bad plot: art
  3 a cat: art
  4 the dog: art
  Inference [ckpt-15]: 4 texts, throughput: RATE samples/sec

Networks of answers and scores for other programs.

  $ cnntrain convert asked --to onnx | tail -1
  asked/ckpt-7.safetensors -> asked/model.onnx (ONNX, operator set 18)
  $ mkdir theirs
  $ cnntrain convert --from asked/ckpt-7.safetensors --to theirs/model.safetensors --vocab-file words.txt | head -1
  asked/ckpt-7.safetensors -> theirs/model.safetensors (Hugging Face's layout): 39 tensors, 135426 numbers
  $ grep -A1 architectures theirs/config.json | tr -d '\n '
  "architectures":["BertForQuestionAnswering" (no-eol)
