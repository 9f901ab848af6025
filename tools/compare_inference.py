#!/usr/bin/env python3
"""Inference of cnntrain and of other engines on one network with the same weights: latency, rate, answers.

usage: compare_inference.py CNNTRAIN PHOTO_INPUT WORK [--models resnet50 ...] [--batches 1 16 64] [--bits 32 16]

CNNTRAIN is build/cnntrain, PHOTO_INPUT build/tools/photo_input, WORK a folder for runs and exports, which are reused.
Engines whose packages are not installed are named and left out:
  ONNX Runtime  float32; it has no 16-bit convolutions for x86
  OpenVINO      fixed batch, latency hint, float32 or bfloat16
  zentorch      torch.compile(backend="zentorch"), bfloat16 as PyTorch
  compiled      PyTorch: torch.compile with frozen weights, channels last; for 16 bits the network cast to bfloat16
  eager         PyTorch: the same network, not compiled

Every network is trained for a few updates and exported by `cnntrain convert --to onnx`. ONNX Runtime and OpenVINO read
the file, PyTorch runs its nodes. Each peer lives in a process of its own. An engine answers one request of a batch at a
time, with all threads; the engines take turns. A turn is at least two requests and about --seconds.

Answers: every engine classifies the first photos of a folder of 64, the peers from the input that PHOTO_INPUT writes,
cnntrain from the photos. Compared are the logits less their mean, as a share of their spread.
Prints a Markdown row for each network, precision and batch: medians over the turns with the lowest and highest, and the
ratio of cnntrain's rate to the best peer's, turn by turn. The exit code is 1 if an answer differs.
"""
import argparse
import importlib.util
import json
import multiprocessing
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

import numpy as np

# Options of the network, and the size of its images.
MODELS = {
    "resnet50": ("--model resnet --model-size 50", 224),
    "resnext101": ("--model resnext --model-size 101", 224),
    "efficientnet-b0": ("--model efficientnet --model-size B0 --network-form large", 224),
    "efficientnet-b4": ("--model efficientnet --model-size B4 --network-form large", 380),
}
PHOTOS = 64
ALLOWED = {32: 1e-3, 16: 0.15}  # difference of logits, as a share of their spread


# ---- peers, each in its own process: load() returns a function from images to logits ----


def load_onnx_runtime(model, shape, _bits, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(with_batch(model, shape[0]), options, providers=["CPUExecutionProvider"])
    return lambda images: session.run(["logits"], {"images": images})[0]


def with_batch(model, batch):
    """The file's bytes, with a fixed batch."""
    import onnx
    network = onnx.load(model)
    for tensor in list(network.graph.input) + list(network.graph.output):
        tensor.type.tensor_type.shape.dim[0].dim_value = batch
    return network.SerializeToString()


def load_openvino(model, shape, bits, threads):
    import openvino
    core = openvino.Core()
    network = core.read_model(model)
    network.reshape(list(shape))
    request = core.compile_model(network, "CPU", {
        "INFERENCE_PRECISION_HINT": "bf16" if bits == 16 else "f32", "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads}).create_infer_request()
    return lambda images: request.infer([images])["logits"]


def load_torch(model, bits, threads, compiled):
    import torch
    torch.set_num_threads(threads)
    element = torch.bfloat16 if bits == 16 else torch.float32
    network = torch_network(model).eval().to(element).to(memory_format=torch.channels_last)
    run = compiled(torch, network)

    def answer(images):
        with torch.inference_mode():
            given = torch.from_numpy(images).to(element).to(memory_format=torch.channels_last)
            return run(given).float().numpy()

    return answer


def load_zentorch(model, _shape, bits, threads):
    import zentorch  # noqa: F401  (registers the backend)
    return load_torch(model, bits, threads, lambda torch, network: torch.compile(network, backend="zentorch"))


def load_compiled(model, _shape, bits, threads):
    return load_torch(model, bits, threads,
                      lambda torch, network: torch.compile(network, options={"freezing": True}))


def load_eager(model, _shape, bits, threads):
    return load_torch(model, bits, threads, lambda torch, network: network)


PEERS = {  # name: package, loader, bits
    "ONNX Runtime": ("onnxruntime", load_onnx_runtime, [32]),
    "OpenVINO": ("openvino", load_openvino, [32, 16]),
    "zentorch": ("zentorch", load_zentorch, [32, 16]),
    "compiled": ("torch", load_compiled, [32, 16]),
    "eager": ("torch", load_eager, [32, 16]),
}


def torch_network(path):
    """A module that runs the nodes of the file."""
    import onnx
    import torch
    from torch.nn import functional as F
    model = onnx.load(path).graph
    constants = {tensor.name: torch.from_numpy(onnx.numpy_helper.to_array(tensor).copy())
                 for tensor in model.initializer}

    def symmetric(attributes):
        """The file leaves out pixels below and to the right that no window reads."""
        pads, strides = attributes["pads"], attributes["strides"]
        assert all(0 <= pads[i] - pads[i + 2] < strides[i] for i in (0, 1)), f"{path}: pads {pads}"
        return pads[:2]

    functions = {
        "Conv": lambda a, x, w, b=None: F.conv2d(x, w, b, a["strides"], symmetric(a), 1, a["group"]),
        "MaxPool": lambda a, x: F.max_pool2d(x, a["kernel_shape"], a["strides"], symmetric(a)),
        "Gemm": lambda a, x, w, b: F.linear(x, w if a.get("transB") else w.t(), b),
        "Relu": lambda a, x: F.relu(x),
        "Sigmoid": lambda a, x: torch.sigmoid(x),
        "Add": lambda a, x, y: x + y,
        "Mul": lambda a, x, y: x * y,
        "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdim=True),
        "Flatten": lambda a, x: torch.flatten(x, a["axis"]),
        "Unsqueeze": lambda a, x, axes: x[..., None, None],
        "Identity": lambda a, x: x,
    }
    steps = [(functions[node.op_type],
              {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}, list(node.input), node.output[0])
             for node in model.node]

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.places = {name: f"constant{i}" for i, name in enumerate(constants)}
            for name, value in constants.items():
                self.register_buffer(self.places[name], value)

        def forward(self, images):
            values = {name: getattr(self, place) for name, place in self.places.items()}
            values[model.input[0].name] = images
            for function, attributes, inputs, output in steps:
                values[output] = function(attributes, *[values[name] for name in inputs])
            return values["logits"]

    return Network()


def serve(pipe, name, model, images, bits, threads):
    """Answers each number of seconds with the mean seconds of a request, the first time with the logits."""
    try:
        answer = PEERS[name][1](model, images.shape, bits, threads)
        pipe.send(answer(images))
    except Exception as error:  # pylint: disable=broad-except
        pipe.send(f"{type(error).__name__}: {str(error).splitlines()[0]}")
        return
    while (seconds := pipe.recv()) is not None:
        answer(images)
        count, start = 0, time.perf_counter()
        while count < 2 or time.perf_counter() - start < seconds:
            answer(images)
            count += 1
        pipe.send((time.perf_counter() - start) / count)


class Peer:
    def __init__(self, name, *what):
        self.name = name
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, name, *what), daemon=True)
        self.process.start()
        self.logits = self.pipe.recv()

    def failed(self):
        return isinstance(self.logits, str)

    def turn(self, seconds):
        self.pipe.send(seconds)
        return self.pipe.recv()

    def end(self):
        if not self.failed():
            self.pipe.send(None)
        self.process.join()


# ---- cnntrain ----


def run(program, words, folder):
    line = [str(program)] + [str(word) for word in words]
    done = subprocess.run(line, capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        sys.exit(f"{' '.join(line)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Own:
    """A trained and exported network of cnntrain."""

    def __init__(self, args, model):
        self.program, self.model, self.threads = args.program, model, args.threads
        self.home = args.work / model
        self.home.mkdir(parents=True, exist_ok=True)
        self.photos = args.work / "photos"
        options, self.size = MODELS[model]
        if not (self.home / "model.onnx").exists():
            # A few small updates of large batches, after which the statistics fit the weights: no value overflows,
            # and deep networks do not amplify rounding.
            run(self.program, ["train", "--data-dir", self.photos, "--iterations", 4, "--micro-batch-size", 16,
                               "--BN-decay", 0.3, "--abs-learning-rate", 0.0001, "--precision", "32.32",
                               "--image-size", self.size, "--batch-norm", "--padding", "symmetric", "--no-validation",
                               "--logs-path", "run"] + options.split(), self.home)
            run(self.program, ["convert", "run", "model.onnx", "--to", "onnx"], self.home)
        metadata = onnx_metadata(self.home / "model.onnx")
        self.preparation, self.classes = json.loads(metadata["preprocessing"]), json.loads(metadata["classes"])

    def options(self, bits, batch):
        return ["inference", "--restore-path", "run", "--precision", "16.16" if bits == 16 else "32.32",
                "--micro-batch-size", batch, "--threads", self.threads, "--no-logs"]

    def images(self, photo_input):
        """[64, 3, size, size], the network's input of the photos, in the order of their names."""
        how = self.preparation
        paths = sorted((self.photos / "validation").rglob("*.*"))[:PHOTOS]
        raw = subprocess.run(
            [photo_input, *map(str, paths), "--image-size", str(self.size),
             "--crop-fraction", str(how["crop_fraction"]), "--interpolation", how["interpolation"],
             "--normalise-mean", *map(str, how["mean"]), "--normalise-std", *map(str, how["std"])],
            capture_output=True, check=True).stdout
        pixels = np.frombuffer(raw, np.float32).reshape(len(paths), self.size, self.size, 3)
        return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2)), [path.name for path in paths]

    def logits(self, bits, batch, names):
        """Of the named photos, less a constant: logarithms of the probabilities."""
        (self.home / "answers.jsonl").unlink(missing_ok=True)
        run(self.program, self.options(bits, batch) + [
            "--data-dir", self.photos / "validation", "--predictions", "answers.jsonl", "--top-classes",
            len(self.classes)], self.home)
        answers = {}
        for line in (self.home / "answers.jsonl").read_text().splitlines():
            row = json.loads(line)
            values = np.zeros(len(self.classes))
            values[[self.classes.index(name) for name in row["classes"]]] = np.log(row["probabilities"])
            answers[pathlib.Path(row["image"]).name] = values
        return np.stack([answers[name] for name in names])

    def turn(self, bits, batch, requests):
        """Mean seconds of a request."""
        out = run(self.program, self.options(bits, batch) + [
            "--dataset", "imagenet", "--num-classes", len(self.classes), "--generated-data", "--iterations", requests,
            "--tmp-execs"], self.home)
        return float(re.search(r"latency avg: *([\d.]+) ms", out).group(1)) / 1e3


def onnx_metadata(path):
    import onnx
    return {entry.key: entry.value for entry in onnx.load(path, load_external_data=False).metadata_props}


# ---- comparison ----


def centred(logits):
    return logits - logits.mean(axis=1, keepdims=True)


def difference(reference, logits):
    return float(np.abs(centred(reference) - centred(logits)).max() / centred(reference).std())


def spread(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def rates(seconds, batch):
    values = [batch / value for value in seconds]
    return spread(values, 1 if statistics.median(values) >= 10 else 2)


def compare(args, own, images, names, reference, bits, batch):
    """Prints the row of a cell; returns the engines whose answers are wrong."""
    peers = [Peer(name, str(own.home / "model.onnx"), images[:batch], bits, args.threads)
             for name in args.engines if bits in PEERS[name][2]]
    for peer in [peer for peer in peers if peer.failed()]:
        print(f"{own.model}, {bits} bits, batch {batch}: without {peer.name}, {peer.logits}", file=sys.stderr)
    peers = [peer for peer in peers if not peer.failed()]
    apart = {peer.name: difference(reference[:batch], peer.logits) for peer in peers}
    apart["cnntrain"] = difference(reference, own.logits(bits, batch, names))
    theirs = {peer.name: [] for peer in peers}
    mine, requests = [], 2
    for _ in range(args.turns):
        for peer in peers:
            theirs[peer.name].append(peer.turn(args.seconds))
        if not mine and peers:
            requests = max(2, round(args.seconds / min(seconds[0] for seconds in theirs.values())))
        mine.append(own.turn(bits, batch, requests))
    for peer in peers:
        peer.end()
    best = min(theirs, key=lambda name: statistics.median(theirs[name]))
    ratios = [peer / ours for peer, ours in zip(theirs[best], mine)]
    cells = [rates(theirs[name], batch) if name in theirs else "-" for name in args.engines]
    print(f"| {own.model} | {bits} | {batch} | {rates(mine, batch)} | " + " | ".join(cells) +
          f" | {spread(ratios)}, {best} | {1e3 * statistics.median(mine):.1f} / "
          f"{1e3 * statistics.median(theirs[best]):.1f} | {apart['cnntrain']:.0e} / "
          f"{max(value for name, value in apart.items() if name != 'cnntrain'):.0e} |", flush=True)
    return [f"{own.model}, {bits} bits, batch {batch}: the answers of {name} differ by {value:.1e}"
            for name, value in apart.items() if value > ALLOWED[bits]]


def installed(engines):
    found = [name for name in engines if importlib.util.find_spec(PEERS[name][0])]
    for name in [name for name in engines if name not in found]:
        print(f"without {name}: no package {PEERS[name][0]}", file=sys.stderr)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("photo_input", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("work", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 16, 64], choices=range(1, PHOTOS + 1),
                        metavar="N")
    parser.add_argument("--bits", nargs="+", type=int, default=[32, 16], choices=[32, 16])
    parser.add_argument("--engines", nargs="+", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="about the length of a turn")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--prepare", action="store_true", help="only train and export")
    args = parser.parse_args()
    args.engines = installed(args.engines)
    args.work.mkdir(parents=True, exist_ok=True)
    if not (args.work / "photos").exists():
        run(args.program, ["dataset", "photos", "--output-dir", "photos", "--train", 64, "--validation", PHOTOS],
            args.work)
    networks = [Own(args, model) for model in args.models]
    if args.prepare:
        return 0
    print(f"{args.threads} threads; rates are images/s\n\n| network | bits | batch | cnntrain | " +
          " | ".join(args.engines) + " | ratio to the best | ms a request: cnntrain / best | answers apart: cnntrain "
          "/ peers |\n|" + "---|" * (len(args.engines) + 7), flush=True)
    wrong = []
    for own in networks:
        images, names = own.images(args.photo_input)
        reference = load_onnx_runtime(str(own.home / "model.onnx"), images.shape, 32, args.threads)(images)
        for bits in args.bits:
            for batch in args.batches:
                wrong += compare(args, own, images, names, reference, bits, batch)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
