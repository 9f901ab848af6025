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
  error: unknown command 'trian'; did you mean 'train'? Commands: demo train validation restore inference pretrain average analyse dataset benchmark poprun convert report profile plan
  [2]
  $ answer status
  error: no command 'status': a run reports in its folder: RUN/log.txt, RUN/training.csv and RUN/validation.csv; see cnntrain help run-folders
  [2]
  $ answer log
  error: no command 'log': a run reports in its folder: RUN/log.txt, RUN/training.csv and RUN/validation.csv; see cnntrain help run-folders
  [2]
  $ answer init
  error: no command 'init': nothing needs to be set up; a training makes its own folder: cnntrain train --data-dir PHOTOS --logs-path RUN
  [2]
  $ answer run train.py
  error: no command 'run': say what it does: cnntrain train --data-dir PHOTOS; several processes: cnntrain poprun
  [2]
  $ answer models
  error: no command 'models': networks are chosen by --model and --model-size: cnntrain train --data-dir PHOTOS --model resnet --model-size 50
  [2]
  $ answer download cifar10
  error: no command 'download': nothing is downloaded; images to try with are made by: cnntrain dataset cifar --output-dir DIR
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
  error: data=photos epochs=5: options start with --: cnntrain train --data-dir PHOTOS --epochs 10
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
  error: --gpu 0: there is no GPU backend; leave the option out, or choose the processor: cnntrain train --data-dir PHOTOS --backend cpu
  [2]
  $ answer train --no-cuda --dataset cifar-10 --generated-data --dry-run
  [info] --no-cuda is read as --backend cpu
  $ answer train --pretrained --data-dir photos
  error: --pretrained: weights are not downloaded; give the file of a checkpoint: cnntrain train --data-dir PHOTOS --init-path FILE
  [2]
  $ answer train --save-every 2 --dataset cifar-10 --generated-data --dry-run
  [info] --save-every 2 is read as --epochs-per-ckpt 2
  $ answer train --do_train --output_dir out --dataset cifar-10 --generated-data --dry-run
  error: --do_train: the command says it; leave the option out: cnntrain train --data-dir PHOTOS
  [2]
  $ answer train --num_train_epochs 3 --per_device_train_batch_size 8 --dataset cifar-10 --generated-data --dry-run
  [info] --num_train_epochs 3 is read as --epochs 3; --per_device_train_batch_size 8 as --micro-batch-size 8
  $ answer train --nproc-per-node 2 --dataset cifar-10 --generated-data --dry-run
  error: --nproc-per-node 2: processes are started by poprun, or by mpirun: cnntrain poprun --num-instances 2 --num-replicas 2 train.py --data-dir PHOTOS
  [2]
  $ answer quickstart --epochs 0
  [info] quickstart is read as demo
  error: cnntrain demo: --epochs expects a whole number from 1 to 10000, got '0'
  [2]
  $ answer /tmp
  error: '/tmp' is a file or folder, and a line begins with a command: cnntrain train /tmp, or cnntrain inference RUN /tmp
  [2]
  $ answer --list-models
  error: no command '--list-models': networks are chosen by --model and --model-size: cnntrain train --data-dir PHOTOS --model resnet --model-size 50
  [2]
  $ answer diff RUN1 RUN2
  error: no command 'diff': a page about a run, with its curves, is written by cnntrain report RUN; cnntrain report RUN EARLIER_RUN compares them
  [2]
  $ answer plot RUN
  error: no command 'plot': a page about a run, with its curves, is written by cnntrain report RUN; cnntrain report RUN EARLIER_RUN compares them
  [2]
  $ answer ls
  error: no command 'ls': cnntrain help lists commands and topics, cnntrain train --help options and networks
  [2]
  $ answer config
  error: no command 'config': the values of a line, and who sets them: cnntrain train --data-dir PHOTOS --print-config
  [2]
  $ answer inspect photos
  error: no command 'inspect': it is a kind of dataset: cnntrain dataset inspect DIR; see cnntrain dataset
  [2]
  $ answer completion bash
  error: no command 'completion': a script that completes lines in a shell is printed by cnntrain help --completion bash (or fish, zsh)
  [2]
  $ answer man
  error: no command 'man': a manual page is printed by cnntrain help --man PAGE, the names of all pages by cnntrain help --man
  [2]
  $ answer checks
  error: no command 'checks': the machine is described by cnntrain --version --verbose, data by cnntrain dataset inspect DIR
  [2]
  $ answer lr-find
  error: no command 'lr-find': rates are not searched; what a line leaves open follows from the number of photos: cnntrain train --data-dir PHOTOS --dry-run
  [2]
  $ answer train --aa rand-m9-mstd0.5 --dataset cifar-10 --generated-data --dry-run
  error: --aa rand-m9-mstd0.5: --rand-augment takes the number of operations and their magnitude: --rand-augment 2,9
  [2]
  $ answer train --auto-augment ta_wide --dataset imagenet --generated-data --dry-run
  error: --auto-augment ta_wide: --rand-augment takes the number of operations and their magnitude: --rand-augment 2,9
  [2]
  $ answer train --reprob 0.25 --lr 0.1 --dataset imagenet --generated-data --dry-run
  [info] --reprob 0.25 is read as --random-erasing 0.25; --lr 0.1 as --abs-learning-rate 0.1
  $ answer train --color-jitter 0.4 --dataset imagenet --generated-data --dry-run
  error: --colour-jitter takes four numbers: brightness, contrast, saturation, and hue from 0 to 0.5, such as 0.4,0.4,0.4,0.1
  [2]
  $ answer train --lr-step-size 30 --lr-gamma 0.1 --dataset cifar-10 --generated-data --dry-run
  error: --lr-step-size 30: a rate that drops at positions of the run is --lr-schedule stepped --learning-rate-schedule 0.5,0.75
  [2]
  $ answer train --gamma 0.2 --dataset cifar-10 --generated-data --dry-run
  [info] --gamma 0.2 is read as --learning-rate-decay 0.2
  $ answer train --cos-lr --dataset cifar-10 --generated-data --dry-run
  [info] --cos-lr is read as --lr-schedule cosine
  $ answer train --min-lr 1e-5 --dataset cifar-10 --generated-data --dry-run
  error: --min-lr 1e-5: cosine ends at 0; a schedule with another end: --lr-schedule polynomial_decay_lr --abs-end-learning-rate 1e-5
  [2]
  $ answer train --val-resize-size 256 --dataset imagenet --generated-data --dry-run
  error: --val-resize-size 256: training and evaluation share --image-size; in evaluation, --crop-fraction is crop size / resized size: --image-size 224 --crop-fraction 0.875
  [2]
  $ answer train --train-crop-size 176 --lr 0.1 --dataset imagenet --generated-data --dry-run
  [info] --train-crop-size 176 is read as --image-size 176; --lr 0.1 as --abs-learning-rate 0.1
  $ answer train --channels-last --dataset cifar-10 --generated-data --dry-run
  error: --channels-last: the program chooses layouts, kernels and buffers by itself; leave the option out: cnntrain train --data-dir PHOTOS
  [2]
  $ answer fit --loss categorical_crossentropy --dataset cifar-10 --generated-data --dry-run
  [info] fit is read as train
  error: --loss categorical_crossentropy: the loss is the cross-entropy; leave the option out, or change it by --label-smoothing 0.1 or --class-weights balanced
  [2]
  $ answer fit --metrics accuracy --dataset cifar-10 --generated-data --dry-run
  [info] fit is read as train
  error: --metrics accuracy: loss and accuracies are measured in every run, also by class; leave the option out: cnntrain train --data-dir PHOTOS
  [2]
  $ answer train --model_name_or_path microsoft/resnet-50 --dataset cifar-10 --generated-data --dry-run
  error: --model_name_or_path microsoft/resnet-50: --model is a family (resnet, resnext, efficientnet); weights come from a file: cnntrain train --data-dir PHOTOS --model resnet --model-size 50 --init-path FILE
  [2]
  $ answer train --evaluation_strategy epoch --save_total_limit 2 --dataset cifar-10 --generated-data --dry-run
  [info] --evaluation_strategy epoch is read as --validate-every 1; --save_total_limit 2 as --keep-ckpts 2
  $ answer train --load_best_model_at_end --overwrite_output_dir --output_dir out --dataset cifar-10 --generated-data --dry-run
  [info] --load_best_model_at_end is read as --keep-best accuracy; --overwrite_output_dir as --overwrite; --output_dir out as --logs-path out
  $ answer train --accelerator gpu --devices 2 --dataset cifar-10 --generated-data --dry-run
  error: --accelerator gpu: there is no GPU backend; leave the option out, or choose the processor: cnntrain train --data-dir PHOTOS --backend cpu
  [2]
  $ answer train --accelerator cpu --devices 2 --dataset cifar-10 --generated-data --dry-run
  error: --devices 2: processes are started by poprun, or by mpirun: cnntrain poprun --num-instances 2 --num-replicas 2 train.py --data-dir PHOTOS
  [2]
  $ answer train --ckpt_path last --dataset cifar-10 --generated-data --dry-run
  error: --ckpt_path last: name the folder of the run: cnntrain restore --restore-path RUN
  [2]
  $ answer train --log-wandb --dataset cifar-10 --generated-data --dry-run
  [info] --log-wandb is read as --wandb
  $ answer train --model vgg16 --dataset cifar-10 --generated-data --dry-run
  error: --model: expected one of resnet resnext efficientnet, got 'vgg16'
  [2]
  $ answer train --drop-path 0.1 --dataset imagenet --generated-data --dry-run
  error: --drop-path 0.1: EfficientNets leave out whole blocks, by the share that survives at the deepest one (1 - the rate of drop path): --model efficientnet --block-survival-prob 0.8; other networks have no such option
  [2]
  $ answer train --clip-grad 1.0 --dataset imagenet --generated-data --dry-run
  error: --clip-grad 1.0: gradients are not clipped, but for BERT by --optimizer adamw; an optimiser that bounds each update by the weights' norm: --optimiser LAMB --abs-learning-rate 0.01
  [2]
  $ answer train --freeze 3 --dataset imagenet --generated-data --dry-run
  error: --freeze 3: expected patterns of names of variables, not a number of layers, as in --freeze '/stage[0-3]/'; for all but the last layer, --head-only
  [2]
  $ answer inference --restore-path RUN a.jpg b.jpg
  error: --restore-path RUN: there is no such run or checkpoint
  [2]
  $ answer train --train-split train --val-split validation --dataset cifar-10 --generated-data --dry-run
  error: --train-split train: one folder holds both splits, as PHOTOS/train/<class>/ and PHOTOS/validation/<class>/ (or val/): cnntrain train --data-dir PHOTOS
  [2]
