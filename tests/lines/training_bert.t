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
  $ cnntrain pretrain --train-file text.tfrecord --vocab-size 14 --hidden-size 64 --num-attention-heads 1 --num-hidden-layers 1 --intermediate-size 64 --max-position-embeddings 32 --seq-length 32 --max-predictions-per-seq 4 --static-mask --micro-batch-size 2 --gradient-accumulation-count 2 --num-train-steps 4 --steps-per-logs 2 --precision 32 --seed 1 --logs-path run | brief
  error: neither --gradient-accumulation-count nor --global-batch-size is given; choose one
  $ cnntrain pretrain --evaluate --restore-dir run --valid-file text.tfrecord | brief
  error: not given: --micro-batch-size, --vocab-size, --hidden-size, --num-hidden-layers, --num-attention-heads, --intermediate-size; a configuration gives them (--config pretrain_base_128_phase1)
  $ (printf 'text\tlabel\n'; for i in 1 2 3 4 5 6 7 8; do printf 'good film\tlike\nbad plot\tdislike\n'; done) > texts.tsv
  $ cnntrain train --task text-classification --data-dir texts.tsv --validation-file texts.tsv --vocab-file vocab.txt --init-checkpoint run/ckpt-3 --seq-length 8 --micro-batch-size 4 --epochs 2 --seed 1 --precision 32 --logs-path texts | brief
  error: the model's sizes are not known: give --init-checkpoint (or --restore-path) with an arguments.json or a config.json beside it, or --vocab-size, --hidden-size, --num-hidden-layers, --num-attention-heads and --intermediate-size
  $ cnntrain validation --restore-path texts | brief
  error: --restore-path texts: there is no such run or checkpoint
  $ cnntrain inference --restore-path texts --data-dir texts.tsv | brief
  error: --restore-path texts: there is no such run or checkpoint
  $ cnntrain report texts | brief | grep -v "confused\|learn"
  error: texts: there is no such folder; give the folder of a run, which holds arguments.json and training.csv
  $ cnntrain convert --from texts/ckpt-8.safetensors --to hf/model.safetensors
  error: no checkpoint 'texts/ckpt-8.safetensors'; there is none in 'texts'
  [1]
