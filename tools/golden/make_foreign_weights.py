#!/usr/bin/env python3
"""Files in tests/golden/foreign: small weights as PyTorch, Keras and TensorFlow write them, and foreign_weights.json,
which says what is in them: name, type and shape of each tensor, and its numbers.

usage: make_foreign_weights.py torch | keras | tensorflow
"""

import argparse
import collections
import json
import os
import pathlib
import sys

import numpy as np

from golden_text import GOLDEN, write

FOLDER = GOLDEN / "foreign"
TYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
         "uint8": "u8", "bool": "u8"}


def row(dtype, values):
    values = np.asarray(values)
    return {"type": TYPES[dtype], "shape": list(values.shape), "values": values.astype(np.float64).ravel().tolist()}


def record(kind, files):
    """Replaces the files of one kind in foreign_weights.json."""
    path = GOLDEN / "foreign_weights.json"
    document = {**json.loads(path.read_text()), kind: files}
    kinds = []
    for kind, files in sorted(document.items()):
        lines = [f" {json.dumps(file)}: {{\n  " + ",\n  ".join(
            f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(tensors.items())) + "}"
            for file, tensors in sorted(files.items())]
        kinds.append(f"{json.dumps(kind)}: {{\n" + ",\n".join(lines) + "}")
    write("foreign_weights.json", "{" + ",\n".join(kinds) + "}\n")


def make_torch():
    import torch
    files = {}

    def save(name, content, tensors, **more):
        torch.save(content, FOLDER / name, **more)
        files[name] = {key: row(str(t.dtype).removeprefix("torch."), t.detach().to(torch.float64).numpy())
                       for key, t in tensors.items()}

    torch.manual_seed(1)
    # A real module: parameters, moving averages, an int64 scalar, _metadata.
    net = torch.nn.Sequential(collections.OrderedDict(
        stem=torch.nn.Conv2d(2, 3, 3, bias=False), norm=torch.nn.BatchNorm2d(3), head=torch.nn.Linear(3, 2)))
    state = net.state_dict()
    save("module.pth", state, state)
    save("module_legacy.pth", state, state, _use_new_zipfile_serialization=False)

    # Views: transposed, every other row, one storage twice, from the middle, without elements.
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    views = {"whole": base, "transposed": base.t(), "rows": base[::2], "corner": base[1:3, 2:5],
             "permuted": torch.arange(24, dtype=torch.float64).reshape(2, 3, 4).permute(2, 0, 1),
             "one": base[2, 3], "empty": base[:0], "parameter": torch.nn.Parameter(base[1])}
    for name, dtype in (("half", torch.float16), ("bfloat16", torch.bfloat16), ("int64", torch.int64),
                        ("int32", torch.int32), ("uint8", torch.uint8)):
        views[name] = torch.tensor([[0, 1], [100, 7]], dtype=dtype)
    views["bool"] = torch.tensor([True, False, True])
    unread = {"int16": torch.tensor([1], dtype=torch.int16), "complex64": torch.tensor([1j]), "text": "no tensor"}
    save("views.pt", {**views, **unread}, views)
    save("views_legacy.pt", {**views, **unread}, views, _use_new_zipfile_serialization=False)

    # A training as torchvision's references and timm save it: the weights among other values.
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for parameter in net.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimiser.step()
    training = {
        "model": net.state_dict(), "model_ema": torch.optim.swa_utils.AveragedModel(net).state_dict(),
        "optimizer": optimiser.state_dict(),
        "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimiser, 2).state_dict(), "epoch": 3,
        "args": argparse.Namespace(lr=0.1, path=pathlib.PurePosixPath("x").name, device=torch.device("cpu")),
        "best": np.float64(0.5), "large": 1 << 80, "rng": torch.tensor([1], dtype=torch.uint8).numpy(),
        "set": {1, 2}, "list": [None, True, 1.5, b"bytes", (1, 2, 3, 4)], "size": torch.Size([1, 2])}
    save("training.pth", training, training["model"])
    save("training_protocol_5.pth", training, training["model"], pickle_protocol=5)
    record("torch", files)


def make_keras():
    import h5py
    import keras

    keras.utils.set_random_seed(1)

    def rows(model, names):
        return {name: row(keras.backend.standardize_dtype(w.dtype), np.asarray(w, np.float64))
                for name, w in zip(names, model.weights, strict=True)}

    # A layer's own name, numbered classes, a model in the model, norms with their moving averages.
    inputs = keras.Input((4, 4, 2))
    x = keras.layers.Conv2D(3, 3, use_bias=False, name="stem")(inputs)
    x = keras.layers.BatchNormalization(name="norm")(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    x = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="inner")], name="block")(x)
    outputs = keras.layers.Dense(2, name="head")(x)
    model = keras.Model(inputs, outputs, name="small")
    model.compile(optimizer=keras.optimizers.SGD(momentum=0.9), loss="mse")
    model.train_on_batch(np.ones((2, 4, 4, 2)), np.ones((2, 2)))
    names = ["stem/kernel", "norm/gamma", "norm/beta", "norm/moving_mean", "norm/moving_variance",
             "block/inner/kernel", "block/inner/bias", "head/kernel", "head/bias"]
    files = {}
    for name in ("model.keras", "model.h5"):
        model.save(FOLDER / name)
        files[name] = rows(model, names)

    half = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="head", dtype="bfloat16")])
    half.save_weights(FOLDER / "bfloat16.weights.h5")
    files["bfloat16.weights.h5"] = rows(half, ["head/kernel", "head/bias"])

    # Names of weights as in Keras 2; other types; what is not read.
    with h5py.File(FOLDER / "keras2.h5", "w") as file:
        contents = {"conv1/conv1/kernel:0": np.arange(6, dtype=np.float32).reshape(1, 2, 3),
                    "conv1/conv1/bias:0": np.array([1, 2, 3], np.float16), "count/count:0": np.int64(1 << 40),
                    "double/w:0": np.array([0.1]), "empty/w:0": np.zeros((0, 3), np.float32)}
        for i in range(20):  # a tree of several tables
            contents[f"many/many/w{i}:0"] = np.float32(i)
        for path, values in contents.items():
            file[path] = values
        file.create_dataset("packed/w", data=np.zeros(10, np.float32), compression="gzip")
        file.create_dataset("big_endian/w", data=np.zeros(2, ">f4"))
        file["alias"] = h5py.SoftLink("/conv1")
    read = {"conv1/kernel": row("float32", contents["conv1/conv1/kernel:0"]),
            "conv1/bias": row("float16", contents["conv1/conv1/bias:0"]),
            "count/count": row("int64", contents["count/count:0"]), "double/w": row("float64", contents["double/w:0"]),
            "empty/w": row("float32", contents["empty/w:0"])}
    read |= {f"many/w{i}": row("float32", i) for i in range(20)}
    files["keras2.h5"] = read
    with h5py.File(FOLDER / "latest.h5", "w", libver="latest") as file:  # other headers, links in them
        file["a/kernel"] = np.arange(3, dtype=np.float32)
        file["b/bias"] = np.arange(2, dtype=np.int32)
    files["latest.h5"] = {"a/kernel": row("float32", [0, 1, 2]), "b/bias": row("int32", [0, 1])}
    record("keras", files)


def make_tensorflow():
    import tensorflow as tf

    tf.keras.utils.set_random_seed(1)
    files = {}
    values = {"conv/kernel": tf.random.normal((2, 2, 1, 3)), "conv/kernel/Momentum": tf.zeros((2, 2, 1, 3)),
              "global_step": tf.constant(1 << 40, tf.int64), "steps": tf.constant([3, -4], tf.int32),
              "double": tf.constant([0.1], tf.float64), "half": tf.constant([1, -2], tf.float16),
              "bfloat16": tf.constant([[1, 3]], tf.bfloat16), "flag": tf.constant([True, False]),
              "bytes": tf.constant([1, 255], tf.uint8), "empty": tf.zeros((0, 4))}
    unread = {"text": tf.constant(["words"]), "complex64": tf.constant([1j], tf.complex64)}
    everything = values | unread

    def rows(tensors):
        return {name: row(t.dtype.name, t.numpy().astype(np.float64)) for name, t in tensors.items()}

    # Variables as tf.train.Saver of version 1 writes them.
    tf.raw_ops.SaveV2(prefix=str(FOLDER / "v1.ckpt-7"), tensor_names=list(everything),
                      shape_and_slices=[""] * len(everything), tensors=list(everything.values()))
    files["v1.ckpt-7.index"] = rows(values)

    # Several data files.
    for i, name in enumerate(("a", "b")):
        tf.raw_ops.SaveV2(prefix=f"/tmp/foreign_part{i}", tensor_names=[name], shape_and_slices=[""],
                          tensors=[tf.constant([i + 1.0])])
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=["/tmp/foreign_part0", "/tmp/foreign_part1"],
                                  destination_prefix=str(FOLDER / "two_files"))
    files["two_files.index"] = {"a": row("float32", [1]), "b": row("float32", [2])}

    # Version 2: objects.
    variable = tf.Variable([1.0, 2.0], name="w")
    tf.train.Checkpoint(model=tf.train.Checkpoint(kernel=variable)).write(str(FOLDER / "v2"))
    files["v2.index"] = {"model/kernel/.ATTRIBUTES/VARIABLE_VALUE": row("float32", [1, 2])}
    record("tensorflow", files)


if __name__ == "__main__":
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    {"torch": make_torch, "keras": make_keras, "tensorflow": make_tensorflow}[sys.argv[1]]()
