"""The training input pipeline beside tf.data and DALI, on one core: images/s.

Everybody reads the same ImageNet TFRecords in a shuffled order, decodes a random crop, resizes it bilinearly to
224 x 224, mirrors every other image, and delivers batches of 32 as 8-bit pixels. Peers that are not installed
(tensorflow-cpu, nvidia-dali-cuda120, whose CPU part is used) are left out.
"""
import importlib.util
import os
import pathlib
import re
import struct
import sys
import tempfile
import time

from common import check, in_turns, ratio, result, run as run_program, spread

NEEDS = []
BATCH, SIDE = 32, 224


def add_options(parser):
    parser.add_argument("data_dir", type=pathlib.Path, help="folder with train-*-of-* files")
    parser.add_argument("--seconds", type=float, default=5, help="of a turn")


def count_batches(take, seconds):
    """Images/s of an iterator, after a warm-up."""
    for _ in range(5):
        take()
    start, batches = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        take()
        batches += 1
    return batches * BATCH / (time.perf_counter() - start)


def run_tf_data(files, seconds):
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
    return count_batches(lambda: next(iterator), seconds)


def write_dali_index(path, out):
    with open(path, "rb") as file, open(out, "w") as index:
        while header := file.read(8):
            start = file.tell() - 8
            file.seek(struct.unpack("<Q", header)[0] + 8, os.SEEK_CUR)
            index.write(f"{start} {file.tell() - start}\n")
    return out


def run_dali(files, seconds):
    from nvidia.dali import fn, pipeline_def, tfrecord, types

    folder = tempfile.mkdtemp()
    indexes = [write_dali_index(path, os.path.join(folder, os.path.basename(path))) for path in files]

    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, prefetch_queue_depth=2)
    def pipeline():
        inputs = fn.readers.tfrecord(
            path=files, index_path=indexes, random_shuffle=True, initial_fill=1000,
            features={"image/encoded": tfrecord.FixedLenFeature((), tfrecord.string, ""),
                      "image/class/label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1)})
        image = fn.decoders.image_random_crop(inputs["image/encoded"], device="cpu", output_type=types.RGB,
                                              random_area=[0.05, 1.0], random_aspect_ratio=[0.75, 1.33],
                                              use_fast_idct=True)
        image = fn.resize(image, size=[SIDE, SIDE], interp_type=types.INTERP_LINEAR, antialias=False)
        return fn.flip(image, horizontal=fn.random.coin_flip()), inputs["image/class/label"]

    pipe = pipeline()
    pipe.build()
    return count_batches(pipe.run, seconds)


PEERS = {"tf.data": ("tensorflow", run_tf_data), "DALI": ("nvidia.dali", run_dali)}


def installed(package):
    return importlib.util.find_spec(package.split(".")[0]) and importlib.util.find_spec(package)


def run(args):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    own = [args.tools / "bench_input", "--data-dir", args.data_dir, "--dtype", "u8", "--batch", BATCH, "--seconds",
           args.seconds, "--rounds", 1]
    sides = {"cnntrain": lambda: float(re.search(r"^stream +([\d.]+)", run_program(own), re.MULTILINE)[1])}
    files = sorted(map(str, args.data_dir.rglob("train-*-of-*")))
    for name, (package, _) in PEERS.items():
        if installed(package):
            line = [sys.executable, __file__, name, args.seconds, *files]
            sides[name] = lambda line=line: float(run_program(line).split()[-1])
        else:
            print(f"without {name}: no package {package}")
    check(f"{len(files)} files of records", files != [])
    for name, rates in (found := in_turns(args.rounds, sides)).items():
        print(f"{name}: {spread(rates)} images/s/core, cnntrain beside it {ratio(found['cnntrain'], rates)}")
    return result()


if __name__ == "__main__":  # a peer, in a process of its own
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    print(PEERS[sys.argv[1]][1](sys.argv[3:], float(sys.argv[2])))
