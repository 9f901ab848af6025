Training lines of the documents can be planned as they are written.

  $ . "$TESTDIR/setup.sh"
  $ cd / && export DATASETS_DIR=/no/such/data DATA_DIR=/no/such/data

S0-01.

  $ cnntrain plan train.py --model resnet --model-size 50 --dataset imagenet --data-dir $DATASETS_DIR/ --ckpts-per-epoch 0 --batch-size 16 --replicas 1 --gradient-accumulation-count 1024 --epochs 1 --no-validation --enable-recomputation --optimiser momentum --momentum 0.9 --normalise-input --stable-norm --internal-exchange-optimisation-target balanced --enable-half-partials --standard-imagenet --pipeline-num-parallel 32 --pipeline-schedule Grouped --no-dataset-cache --shards=4 --pipeline-splits b1/2/relu b2/3/relu b3/3/relu --pipeline --batch-norm --available-memory-proportion 0.15 --disable-variable-offloading --precision 16.32 --eight-bit-io --no-measure | grep -c "images/s\|^Best splits:"
  2

S0-02.

  $ cnntrain plan train.py --model resnet --model-size 50 --dataset imagenet --data-dir $DATASETS_DIR/ --ckpts-per-epoch 0 --batch-size 16 --gradient-accumulation-count 256 --epochs 1 --no-validation --enable-recomputation --optimiser momentum --momentum 0.9 --normalise-input --stable-norm --internal-exchange-optimisation-target balanced --enable-half-partials --standard-imagenet --pipeline-num-parallel 32 --pipeline-schedule Grouped --no-dataset-cache --shards=4 --pipeline-splits b1/2/relu b2/3/relu b3/3/relu --pipeline --batch-norm --available-memory-proportion 0.15 --disable-variable-offloading --precision 16.32 --eight-bit-io --no-measure | grep -c "images/s\|^Best splits:"
  2

S0-03.

  $ cnntrain plan train.py --config mk2_resnet50_bn_64ipus --no-validation --epochs 10 --ckpts-per-epoch 0 --no-measure | grep -c "images/s\|^Best splits:"
  2

S0-04.

  $ cnntrain plan train.py --model resnext --model-size 101 --dataset imagenet --data-dir $DATASETS_DIR --shards 2 --replicas 2 --batch-size 6 --pipeline --gradient-accumulation-count 64 --pipeline-splits b3/3/relu --epoch 2 --ckpts-per-epoch 0 --enable-recomputation --normalise-input --internal-exchange-optimisation-target balanced --enable-half-partials --stable-norm --base-learning-rate -11 --pipeline-schedule Grouped --optimiser momentum --momentum 0.9 --lr-schedule cosine --label-smoothing 0.1 --no-validation --disable-variable-offloading --eight-bit-io --no-measure | grep -c "images/s\|^Best splits:"
  2

S0-05.

  $ cnntrain plan train.py --model resnext --model-size 101 --dataset imagenet --data-dir $DATASETS_DIR --shards 2 --batch-size 6 --pipeline --gradient-accumulation-count 16 --pipeline-splits b3/3/relu --standard-imagenet --epoch 2 --ckpts-per-epoch 0 --enable-recomputation --normalise-input --internal-exchange-optimisation-target balanced --enable-half-partials --stable-norm --base-learning-rate -11 --pipeline-schedule Grouped --optimiser momentum --momentum 0.9 --lr-schedule cosine --label-smoothing 0.1 --no-validation --disable-variable-offloading --eight-bit-io --no-measure | grep -c "images/s\|^Best splits:"
  2

S0-06.

  $ cnntrain plan train.py --model=efficientnet --model-size=4 --data-dir $DATASETS_DIR/ --precision=16.32 --group-dim=16 --expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=40 --epochs 2 --no-measure | grep -c "images/s\|^Best splits:"
  3

S0-07.

  $ cnntrain plan train.py --model=efficientnet --model-size=4 --data-dir $DATASETS_DIR/ --precision=16.32 --group-dim=16 --expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=40 --epochs 1 --no-measure | grep -c "images/s\|^Best splits:"
  3

S0-08.

  $ cnntrain plan train.py --config mk2_efficientnet_b4_g1_64ipus --no-validation --epochs 10 --no-measure | grep -c "images/s\|^Best splits:"
  3

S0-09.

  $ cnntrain plan train.py --model=efficientnet --model-size=4 --data-dir $DATASETS_DIR/ --precision=16.32 --group-dim=16 --expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=160 --epochs 2 --no-measure | grep -c "images/s\|^Best splits:"
  3

S0-10.

  $ cnntrain plan train.py --model=efficientnet --model-size=4 --data-dir $DATASETS_DIR/ --precision=16.32 --group-dim=16 --expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=40 --epochs 1 --no-measure | grep -c "images/s\|^Best splits:"
  3

S0-11.

  $ cnntrain plan train.py --config mk2_efficientnet_b4_g16_64ipus --no-validation --epochs 10 --no-measure | grep -c "images/s\|^Best splits:"
  3

S1-02.

  $ cnntrain plan train.py --dataset imagenet --data-dir path-to/imagenet --no-measure | grep -c "images/s\|^Best splits:"
  3

S1-11.

  $ cnntrain plan train.py --config resnet50_gn_16ipus --data-dir your_dataset_dir_path --no-validation --no-measure | grep -c "images/s\|^Best splits:"
  3

S1-13.

  $ cnntrain plan train.py --config resnet50_bn_16ipus --data-dir your_dataset_path --no-validation --no-measure | grep -c "images/s\|^Best splits:"
  2

S1-15.

  $ cnntrain plan train.py --config resnet50_bn_64ipus --no-validation --data-dir your_dataset_path --no-measure | grep -c "images/s\|^Best splits:"
  2

S1-17.

  $ cnntrain plan train.py --config resnet50_mlperf_pod16_bs20 --epochs-per-sync 20 --data-dir your_dataset_path --no-validation --no-measure | grep -c "images/s\|^Best splits:"
  2

S1-19.

  $ cnntrain plan train.py --config resnet50_mlperf_pod64_bs20 --epochs-per-sync 20 --data-dir your_dataset_path --no-validation --no-measure | grep -c "images/s\|^Best splits:"
  2

S1-20.

  $ cnntrain plan train.py --config resnext101_16ipus --data-dir your_dataset_path --no-validation --no-measure | grep -c "images/s\|^Best splits:"
  2

S1-22.

  $ cnntrain plan train.py --config efficientnet_b4_g1_16ipus --data-dir your_dataset_path --no-validation --no-measure | grep -c "images/s\|^Best splits:"
  3

S1-24.

  $ cnntrain plan train.py --config efficientnet_b4_g16_16ipus --data-dir your_dataset_path --no-validation --identical-replica-seeding --no-measure | grep -c "images/s\|^Best splits:"
  2

S1-25.

  $ cnntrain plan train.py --config efficientnet_b4_g16_64ipus --data-dir your_dataset_path --no-validation --identical-replica-seeding --no-measure | grep -c "images/s\|^Best splits:"
  2

S1-26.

  $ cnntrain plan train.py --config efficientnet_b4_g1_with_batch_norm_16ipus --no-measure | grep -c "images/s\|^Best splits:"
  2

S1-30.

  $ cnntrain plan train.py --config resnet8_test --wandb --data-dir your_dataset_path --no-measure | grep -c "images/s\|^Best splits:"
  3

S1-32.

  $ cnntrain plan train.py --dataset imagenet --data-dir $DATASETS_DIR --model-size 50 --pipeline --shards 1 --pipeline-schedule Sequential --enable-recompute --pipeline-splits b1/0/relu b2/0/relu --no-measure | grep -c "images/s\|^Best splits:"
  2
