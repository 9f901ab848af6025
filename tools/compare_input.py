#!/usr/bin/env python3
"""The training input pipeline of cnntrain beside tf.data's and DALI's, on one core, in turns, as images/s and ratios.

usage: compare_input.py BENCH_INPUT DATA_DIR [--peers tf.data dali] [--rounds 5] [--seconds 5] [--core 0]

BENCH_INPUT is build/tools/bench_input, DATA_DIR a folder of ImageNet TFRecords (train-*). Needs tensorflow-cpu and
nvidia-dali-cuda120 (its CPU part; no GPU is used) from PyPI in a virtual environment, which nothing else does.
Everybody reads the same records in a shuffled order, decodes a random crop, resizes it bilinearly to 224 x 224, mirrors
every other image, and delivers batches of 32 as 8-bit pixels. Every program is bound to the same core.
"""
import argparse
import glob
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

BATCH = 32
SIDE = 224


def count_batches(take, seconds):
    """Images/s of a peer's iterator, after a warm-up."""
    for _ in range(5):
        take()
    start, batches = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        take()
        batches += 1
    return batches * BATCH / (time.perf_counter() - start)


def run_tf_data(files, seconds):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    whole = tf.constant([0.0, 0.0, 1.0, 1.0], shape=[1, 1, 4])
    keys = {"image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64)}

    def prepare(record):
        example = tf.io.parse_single_example(record, keys)
        jpeg = example["image/encoded"]
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.image.extract_jpeg_shape(jpeg), whole, min_object_covered=0.1, aspect_ratio_range=(0.75, 1.33),
            area_range=(0.05, 1.0), max_attempts=100, use_image_if_no_bounding_boxes=True)
        top, left, _ = tf.unstack(begin)
        height, width, _ = tf.unstack(size)
        image = tf.image.decode_and_crop_jpeg(jpeg, tf.stack([top, left, height, width]), channels=3,
                                              dct_method="INTEGER_FAST")
        image = tf.image.random_flip_left_right(image)
        image = tf.compat.v1.image.resize_bilinear(image[None], [SIDE, SIDE])[0]
        return tf.cast(image, tf.uint8), example["image/class/label"]

    data = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files)).interleave(tf.data.TFRecordDataset,
                                                                                    cycle_length=4)
    data = data.shuffle(1000).repeat().map(prepare, num_parallel_calls=1).batch(BATCH, drop_remainder=True).prefetch(4)
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


def run_dali(files, seconds):
    from nvidia.dali import fn, pipeline_def, tfrecord, types

    folder = tempfile.mkdtemp()
    indexes = [os.path.join(folder, os.path.basename(path)) for path in files]
    for path, out in zip(files, indexes):
        write_dali_index(path, out)

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


def run_cnntrain(program, data_dir, seconds):
    command = [program, "--data-dir", data_dir, "--dtype", "u8", "--batch", str(BATCH), "--seconds", str(seconds),
               "--rounds", "1"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rates = {name: float(rate) for name, rate in re.findall(r"^(\S.*?) +([\d.]+) images/s/core", text, re.MULTILINE)}
    return rates["stream"], rates["decode, whole images"], rates["decode, training crops"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data_dir")
    parser.add_argument("--peers", nargs="*", default=["tf.data", "dali"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--only", help=argparse.SUPPRESS)  # one measurement in a process of its own
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})

    files = sorted(glob.glob(os.path.join(options.data_dir, "**", "train-*-of-*"), recursive=True))
    if not files:
        sys.exit(f"no train-* files below {options.data_dir}")
    if options.only:
        print({"tf.data": run_tf_data, "dali": run_dali}[options.only](files, options.seconds))
        return
    rates = {name: [] for name in ["cnntrain", *options.peers]}
    for _ in range(options.rounds):
        stream, whole, crops = run_cnntrain(options.program, options.data_dir, options.seconds)
        rates["cnntrain"].append(stream)
        for peer in options.peers:
            command = [sys.executable, __file__, options.program, options.data_dir, "--only", peer, "--core",
                       str(options.core), "--seconds", str(options.seconds)]
            rates[peer].append(float(subprocess.run(command, check=True, capture_output=True,
                                                    text=True).stdout.split()[-1]))
        print("  ".join(f"{name} {values[-1]:.0f}" for name, values in rates.items()),
              f" (decoding alone: whole images {whole:.0f}, training crops {crops:.0f})", flush=True)
    for peer in options.peers:
        ratios = [ours / theirs for ours, theirs in zip(rates["cnntrain"], rates[peer])]
        print(f"cnntrain / {peer}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), "
              "images/s/core "
              f"{statistics.median(rates['cnntrain']):.0f} and {statistics.median(rates[peer]):.0f}")


if __name__ == "__main__":
    main()
