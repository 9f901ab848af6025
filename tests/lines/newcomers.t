Lines that newcomers type from habit with timm, Keras, torchvision, Hugging Face and git, and the answers: an error
whole, otherwise what the program read differently.

  $ . "$TESTDIR/setup.sh"
  $ answer() { cnntrain "$@" > answer || { code=$?; cat answer; return $code; }; grep -E "is read as|^usage|^cnntrain" answer || true; }

Asking for help.

  $ answer -h
  usage: cnntrain <command> [options]
  cnntrain <command> --help lists a command's main options, --help-all all of them.
  cnntrain help TOPIC explains: data-folders, preparation, run-folders, screen, checkpoints, exports,
  cnntrain --version --verbose describes this machine and its fastest arithmetic.
  $ answer --help train
  usage: cnntrain train [options]
  $ answer help fit
  [info] fit is read as train
  usage: cnntrain train [options]
  $ answer predict --help
  [info] predict is read as inference
  usage: cnntrain inference [options]
  $ answer version
  [info] version is read as --version
  cnntrain VERSION
  $ answer --verison
  error: '--verison' is not a command; did you mean --version?
  [2]
  $ answer --data-dir photos
  error: '--data-dir' is not a command, with which each line begins: cnntrain train --data-dir ...; see cnntrain help
  [2]

Commands of other programs.

  $ answer trian
  error: unknown command 'trian'; did you mean 'train'? Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer status
  error: unknown command 'status'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer log
  error: unknown command 'log'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer init
  error: unknown command 'init'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer run train.py
  error: unknown command 'run'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer models
  [info] models is read as weights
  $ answer download cifar10
  [info] download is read as weights
  error: no published weights fit this; cnntrain weights lists all of them
  [2]
  $ answer resume
  [info] resume is read as restore
  error: restore needs --restore-path, the folder of the run to resume
  [2]
  $ answer resume no-such-run
  [info] resume is read as restore
  error: --restore-path no-such-run: no arguments.json there; give the folder of a run, or resume with the run's own line and --restore-path (train) or --restore-dir (pretrain)
  [1]
  $ answer predict no-such-photo.jpg
  [info] predict is read as inference
  error: --restore-path no-such-photo.jpg: there is no such run or checkpoint
  [2]
  $ answer eval --checkpoint best.pth --data photos
  [info] eval is read as validation
  error: --restore-path best.pth: there is no such run or checkpoint
  [2]

Training.

  $ answer fit
  [info] fit is read as train
  error: no data: give --data-dir (or set DATA_DIR), a folder of photos, CIFAR's files or ImageNet's TFRecords, or use --generated-data with --dataset
  [2]
  $ answer train no-such-folder/
  error: the data folder 'no-such-folder/' does not exist; give --data-dir a folder with a data set (imagenet, cifar-10, cifar-100 or folder)
  [2]
  $ answer train data=photos epochs=5
  error: unexpected word 'data=photos': options start with --
  [2]
  $ answer train -m resnet50 -b 32 -e 5 --dataset imagenet --generated-data --dry-run
  [info] -m resnet50 is read as --model resnet --model-size 50; -b 32 as --micro-batch-size 32; -e 5 as --epochs 5
  $ answer train -d photos -x 3
  error: unknown option -x; see --help
  [2]
  $ answer train --arch resnet18 --lr 0.1 --epochs 5 --workers 4 --dataset imagenet --generated-data --dry-run
  [info] --arch resnet18 is read as --model resnet --model-size 18; --lr 0.1 as --abs-learning-rate 0.1; --workers 4 as --input-threads 4
  $ answer train --dataset CIFAR10 --generated-data --dry-run
  [info] --dataset CIFAR10 is read as --dataset cifar-10
  $ answer train --epcohs 5 --dataset cifar-10 --generated-data --dry-run
  error: unknown option --epcohs; did you mean --epochs?
  [2]
  $ answer train --verbose 2 --dataset cifar-10 --generated-data --dry-run
  [info] --verbose 2 is read as --verbose
  $ answer train -q --dataset cifar-10 --generated-data --dry-run
  $ answer train --gpu 0 --dataset cifar-10 --generated-data --dry-run
  error: unknown option --gpu; see --help
  [2]
  $ answer train --no-cuda --dataset cifar-10 --generated-data --dry-run
  [info] --no-cuda is read as --backend cpu
  $ answer train --pretrained --data-dir photos
  [info] weights resnet18.a1_in1k: resnet 18 of timm, 224 pixels, 1000 classes, licence apache-2.0
  error: resnet18.a1_in1k: it cannot be fetched: ...
    download https://github.com/huggingface/pytorch-image-models/releases/download/v0.1-rsb-weights/resnet18_a1_0-d63eafa0.pth elsewhere, save it as HERE/cache/cnntrain/weights/resnet18.a1_in1k/pytorch_model.bin, and give the same command again
  [3]
  $ answer train --save-every 2 --dataset cifar-10 --generated-data --dry-run
  [info] --save-every 2 is read as --epochs-per-ckpt 2
  $ answer train --do_train --output_dir out --dataset cifar-10 --generated-data --dry-run
  error: unknown option --do_train; see --help
  [2]
  $ answer train --num_train_epochs 3 --per_device_train_batch_size 8 --dataset cifar-10 --generated-data --dry-run
  [info] --num_train_epochs 3 is read as --epochs 3; --per_device_train_batch_size 8 as --micro-batch-size 8
  $ answer train --nproc-per-node 2 --dataset cifar-10 --generated-data --dry-run
  error: unknown option --nproc-per-node; see --help
  [2]
  $ answer quickstart --epochs 0
  [info] quickstart is read as demo
  error: cnntrain demo: --epochs expects a whole number from 1 to 10000, got '0'
  [2]
  $ answer /tmp
  error: '/tmp' is a file or folder, and a line begins with a command: cnntrain train /tmp, or cnntrain inference RUN /tmp
  [2]
  $ answer --list-models
  error: '--list-models' is not a command, with which each line begins: cnntrain train --list-models ...; see cnntrain help
  [2]
  $ answer diff RUN1 RUN2
  error: unknown command 'diff'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer plot RUN
  error: unknown command 'plot'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer ls
  error: unknown command 'ls'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer config
  error: unknown command 'config'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer inspect photos
  error: unknown command 'inspect'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer completion bash
  error: unknown command 'completion'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer man
  error: unknown command 'man'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer checks
  error: unknown command 'checks'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer lr-find
  error: unknown command 'lr-find'. Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert quantise weights report profile plan
  [2]
  $ answer train --aa rand-m9-mstd0.5 --dataset cifar-10 --generated-data --dry-run
  error: unknown option --aa; see --help
  [2]
  $ answer train --auto-augment ta_wide --dataset imagenet --generated-data --dry-run
  error: unknown option --auto-augment; see --help
  [2]
  $ answer train --reprob 0.25 --lr 0.1 --dataset imagenet --generated-data --dry-run
  [info] --reprob 0.25 is read as --random-erasing 0.25; --lr 0.1 as --abs-learning-rate 0.1
  $ answer train --color-jitter 0.4 --dataset imagenet --generated-data --dry-run
  error: --colour-jitter takes four numbers: brightness, contrast, saturation, and hue from 0 to 0.5, such as 0.4,0.4,0.4,0.1
  [2]
  $ answer train --lr-step-size 30 --lr-gamma 0.1 --dataset cifar-10 --generated-data --dry-run
  error: unknown option --lr-step-size; see --help
  [2]
  $ answer train --gamma 0.2 --dataset cifar-10 --generated-data --dry-run
  [info] --gamma 0.2 is read as --learning-rate-decay 0.2
  $ answer train --cos-lr --dataset cifar-10 --generated-data --dry-run
  [info] --cos-lr is read as --lr-schedule cosine
  $ answer train --min-lr 1e-5 --dataset cifar-10 --generated-data --dry-run
  error: unknown option --min-lr; see --help
  [2]
  $ answer train --val-resize-size 256 --dataset imagenet --generated-data --dry-run
  error: unknown option --val-resize-size; see --help
  [2]
  $ answer train --train-crop-size 176 --lr 0.1 --dataset imagenet --generated-data --dry-run
  [info] --train-crop-size 176 is read as --image-size 176; --lr 0.1 as --abs-learning-rate 0.1
  $ answer train --channels-last --dataset cifar-10 --generated-data --dry-run
  error: unknown option --channels-last; see --help
  [2]
  $ answer fit --loss categorical_crossentropy --dataset cifar-10 --generated-data --dry-run
  [info] fit is read as train
  error: --loss-scaling: expected a number, got 'categorical_crossentropy'
  [2]
  $ answer fit --metrics accuracy --dataset cifar-10 --generated-data --dry-run
  [info] fit is read as train
  error: unknown option --metrics; see --help
  [2]
  $ answer train --model_name_or_path microsoft/resnet-50 --dataset cifar-10 --generated-data --dry-run
  error: unknown option --model_name_or_path; see --help
  [2]
  $ answer train --evaluation_strategy epoch --save_total_limit 2 --dataset cifar-10 --generated-data --dry-run
  [info] --evaluation_strategy epoch is read as --validate-every 1; --save_total_limit 2 as --keep-ckpts 2
  $ answer train --load_best_model_at_end --overwrite_output_dir --output_dir out --dataset cifar-10 --generated-data --dry-run
  [info] --load_best_model_at_end is read as --keep-best accuracy; --overwrite_output_dir as --overwrite; --output_dir out as --logs-path out
  $ answer train --accelerator gpu --devices 2 --dataset cifar-10 --generated-data --dry-run
  error: unknown option --accelerator; see --help
  [2]
  $ answer train --accelerator cpu --devices 2 --dataset cifar-10 --generated-data --dry-run
  error: unknown option --devices; see --help
  [2]
  $ answer train --ckpt_path last --dataset cifar-10 --generated-data --dry-run
  [info] --ckpt_path last is read as --restore-path last
  error: --restore-path last: no such folder; give the folder of the run
  [1]
  $ answer train --log-wandb --dataset cifar-10 --generated-data --dry-run
  [info] --log-wandb is read as --wandb
  $ answer train --model vgg16 --dataset cifar-10 --generated-data --dry-run
  error: --model: expected one of resnet resnext efficientnet, got 'vgg16'
  [2]
  $ answer train --drop-path 0.1 --dataset imagenet --generated-data --dry-run
  error: unknown option --drop-path; see --help
  [2]
  $ answer train --clip-grad 1.0 --dataset imagenet --generated-data --dry-run
  error: unknown option --clip-grad; see --help
  [2]
  $ answer train --freeze 3 --dataset imagenet --generated-data --dry-run
  error: --freeze 3: expected patterns of names of variables, not a number of layers, as in --freeze '/stage[0-3]/'; for all but the last layer, --head-only
  [2]
  $ answer inference --restore-path RUN a.jpg b.jpg
  error: --restore-path RUN: there is no such run or checkpoint
  [2]
  $ answer train --train-split train --val-split validation --dataset cifar-10 --generated-data --dry-run
  error: unknown option --train-split; see --help
  [2]
