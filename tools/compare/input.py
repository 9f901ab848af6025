"""The training input pipeline beside tf.data, on one core: images/s.

Both read the same ImageNet TFRecords in a shuffled order, decode a random crop, resize it bilinearly to 224 x 224,
mirror every other image, and deliver batches of 32 as 8-bit pixels.
"""
import os
import pathlib
import re
import sys
import time

from common import in_turns, ratio, run as run_program, spread

NEEDS = ["tensorflow"]
BATCH, SIDE = 32, 224


def add_options(parser):
    parser.add_argument("data_dir", type=pathlib.Path, help="folder with train-*-of-* files")
    parser.add_argument("--batches", type=int, default=150, help="of a turn")


def tf_data_rate(files, batches):
    """Images/s, after a warm-up."""
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    keys = {"image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64)}

    def prepare(record):
        example = tf.io.parse_single_example(record, keys)
        jpeg = example["image/encoded"]
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.image.extract_jpeg_shape(jpeg), tf.constant([[[0.0, 0.0, 1.0, 1.0]]]), min_object_covered=0.1,
            aspect_ratio_range=(0.75, 1.33), area_range=(0.05, 1.0), max_attempts=100,
            use_image_if_no_bounding_boxes=True)
        window = tf.concat([begin[:2], size[:2]], 0)
        image = tf.image.decode_and_crop_jpeg(jpeg, window, channels=3, dct_method="INTEGER_FAST")
        image = tf.image.random_flip_left_right(image)
        image = tf.compat.v1.image.resize_bilinear(image[None], [SIDE, SIDE])[0]
        return tf.cast(image, tf.uint8), example["image/class/label"]

    data = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files))
    data = data.interleave(tf.data.TFRecordDataset, cycle_length=4).shuffle(1000).repeat()
    data = data.map(prepare, num_parallel_calls=1).batch(BATCH, drop_remainder=True).prefetch(4)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    iterator = iter(data.with_options(options))
    for _ in range(5):
        next(iterator)
    start = time.perf_counter()
    for _ in range(batches):
        next(iterator)
    return batches * BATCH / (time.perf_counter() - start)


def run(args):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    files = sorted(map(str, args.data_dir.rglob("train-*-of-*")))
    own = [args.cnntrain, "train", "--dataset-benchmark", "--dataset", "imagenet", "--data-dir", args.data_dir,
           "--image-size", SIDE, "--micro-batch-size", BATCH, "--iterations", args.batches, "--logs-path",
           args.work / "run", *"--eight-bit-io --input-threads 1 --threads 1 --ckpts-per-epoch 0 --overwrite".split()]
    rates = in_turns(args.rounds, {
        "cnntrain": lambda: float(re.search(r"mean throughput: ([\d.]+)", run_program(own))[1]),
        "tf.data": lambda: float(run_program([sys.executable, __file__, args.batches, *files]).split()[-1])})
    print(f"images/s/core: cnntrain {spread(rates['cnntrain'])}, tf.data {spread(rates['tf.data'])}, ratio "
          f"{ratio(rates['cnntrain'], rates['tf.data'])}")
    return 0


if __name__ == "__main__":  # the peer, in a process of its own
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    print(tf_data_rate(sys.argv[2:], int(sys.argv[1])))
