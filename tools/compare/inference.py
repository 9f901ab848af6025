"""Rates and answers of inference beside ONNX Runtime, OpenVINO and PyTorch.

Every network is trained for a few updates and exported to ONNX. ONNX Runtime (float32 only: it has no 16-bit
convolutions for x86) and OpenVINO read the file; PyTorch runs torchvision's network with random weights, eager and
compiled. In 8 bits, the engines read the file that cnntrain has exported from its own choice of ranges. Each turn is
a process of its own that answers one request of a batch at a time, with all threads.
Answers are logits less their mean; their differences from ONNX Runtime's are shares of the spread. Engines that are not
installed are left out.
"""
import importlib.util
import json
import pathlib
import re
import statistics
import sys
import time

from common import (Package, centred, check, head, in_turns, own_logits, prepared, ratio, result, row,
                    run as run_program, spread)
from training import image_network

NEEDS = ["numpy", "onnx", "onnxruntime", "PIL"]
np, onnx, onnxruntime, torch, openvino = map(Package, ["numpy", "onnx", "onnxruntime", "torch", "openvino"])

MODELS = {  # options of the network, and the size of its images
    "resnet18": ("--model resnet --model-size 18", 224),
    "resnet50": ("--model resnet --model-size 50", 224),
    "resnext101": ("--model resnext --model-size 101", 224),
    "efficientnet-b0": ("--model efficientnet --model-size B0 --network-form large", 224),
    "efficientnet-b4": ("--model efficientnet --model-size B4 --network-form large", 380),
    "efficientnet-lite0": ("--model efficientnet --model-size Lite0 --network-form large", 224),
    "efficientnet-v2-b0": ("--model efficientnet --model-size V2-B0 --network-form large", 224),
    "efficientnet-v2-s": ("--model efficientnet --model-size V2-S --network-form large", 384),
}
PHOTOS = 64
ALLOWED = {32: 1e-3, 16: 0.15, 8: 1}


def add_options(parser):
    parser.add_argument("--models", nargs="+", default=["resnet50", "efficientnet-b0"], choices=MODELS)
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 16, 64], metavar="N", help=f"up to {PHOTOS}")
    parser.add_argument("--bits", nargs="+", type=int, default=[32, 16], choices=[32, 16, 8])
    parser.add_argument("--seconds", type=float, default=1, help="about the length of a turn")
    parser.add_argument("--compile", action="store_true", help="try torch.compile, too, which is slow to start")


def load_onnx_runtime(model, shape, _bits, threads):
    network = onnx.load(model)
    for tensor in list(network.graph.input) + list(network.graph.output):
        tensor.type.tensor_type.shape.dim[0].dim_value = shape[0]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(network.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda images: session.run(["logits"], {"images": images})[0]


def load_openvino(model, shape, bits, threads):
    core = openvino.Core()
    network = core.read_model(model)
    network.reshape(list(shape))
    request = core.compile_model(network, "CPU", {
        "INFERENCE_PRECISION_HINT": "f32" if bits == 32 else "bf16", "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads}).create_infer_request()
    return lambda images: request.infer([images])["logits"]


def load_torch(model, bits, threads, compiled):
    torch.set_num_threads(threads)
    element = torch.bfloat16 if bits == 16 else torch.float32
    network = image_network(pathlib.Path(model).stem).eval().to(element).to(memory_format=torch.channels_last)
    network = torch.compile(network, options={"freezing": True}) if compiled else network

    def answer(images):
        with torch.inference_mode():
            given = torch.from_numpy(images).to(element).to(memory_format=torch.channels_last)
            network(given)

    return answer


PEERS = {  # package, loader of a function from images to logits, bits
    "ONNX Runtime": ("onnxruntime", load_onnx_runtime, [32, 8]),
    "OpenVINO": ("openvino", load_openvino, [32, 16, 8]),
    "PyTorch": ("torchvision", lambda model, _, bits, threads: load_torch(model, bits, threads, False), [32, 16]),
    "compiled": ("torchvision", lambda model, _, bits, threads: load_torch(model, bits, threads, True), [32, 16]),
}


class Own:
    """A trained and exported network of cnntrain."""

    def __init__(self, args, model):
        self.args, self.run, self.onnx = args, args.work / model, args.work / f"{model}.onnx"
        options, self.size = MODELS[model]
        if not self.onnx.exists():
            # A few small updates of large batches, after which the statistics fit the weights: no value overflows,
            # and deep networks do not amplify rounding.
            run_program([args.cnntrain, "train", "--data-dir", args.work / "photos", "--logs-path", self.run,
                         "--overwrite", "--image-size", self.size, *options.split(),
                         *"--iterations 4 --micro-batch-size 16 --BN-decay 0.3 --abs-learning-rate 0.0001 --precision "
                         "32.32 --batch-norm --padding symmetric --no-validation".split()])
            run_program([args.cnntrain, "convert", self.run, self.onnx, "--to", "onnx"])
        metadata = {entry.key: json.loads(entry.value) for entry in onnx.load(self.onnx).metadata_props
                    if entry.key in ("preprocessing", "classes")}
        self.how, self.classes = metadata["preprocessing"], metadata["classes"]

    def weights(self, bits):
        """The run, and its ONNX file."""
        if bits != 8:
            return self.run, self.onnx
        narrow, onnx_file = self.run / "8bit", self.onnx.with_suffix(".8bit.onnx")
        if not onnx_file.exists():
            run_program([self.args.cnntrain, "quantise", self.run, "--most-loss", 100])
            run_program([self.args.cnntrain, "convert", narrow, onnx_file, "--to", "onnx"])
        return narrow, onnx_file

    def options(self, bits, batch):
        bits = max(bits, 16)  # of what is not computed in 8 bits
        return ["--precision", f"{bits}.{bits}", "--micro-batch-size", batch, "--threads", self.args.threads]

    def latency(self, bits, batch, requests):
        """Mean seconds of a request."""
        text = run_program([self.args.cnntrain, "inference", "--restore-path", self.weights(bits)[0],
                            *self.options(bits, batch),
                            "--dataset", "imagenet", "--num-classes", len(self.classes), "--generated-data",
                            "--iterations", requests, "--no-logs", "--tmp-execs"])
        return float(re.search(r"latency avg: *([\d.]+) ms", text)[1]) / 1e3


def compare(args, model, own, bits, batch):
    """The row of a cell, and whether the answers agree."""
    def peer_turn(name):
        words = {"name": name, "model": str(own.onnx), "file": str(own.weights(bits)[1]), "bits": bits,
                 "batch": batch, "threads": args.threads, "seconds": args.seconds}
        rate, apart[name] = json.loads(run_program([sys.executable, __file__, json.dumps(words)]).splitlines()[-1])
        return rate

    found = own_logits(args, own.weights(bits)[0], args.work / "photos/validation", own.classes,
                       own.options(bits, batch))
    logits = np.stack([found[name] for name in sorted(found)])
    apart = {"cnntrain": apart_from(np.load(f"{own.onnx}.logits.npy"), logits)}
    requests = max(2, round(args.seconds / own.latency(bits, batch, 2)))
    sides = {"cnntrain": lambda: batch / own.latency(bits, batch, requests)}
    for name, (package, _, possible) in PEERS.items():
        if bits in possible and importlib.util.find_spec(package) and (args.compile or name != "compiled"):
            sides[name] = lambda name=name: peer_turn(name)
    rates = in_turns(args.rounds, sides)
    best = max(list(rates)[1:], key=lambda name: statistics.median(rates[name]))
    row(model, bits, batch, *[spread(rates[name]) if name in rates else "-" for name in ("cnntrain", *PEERS)],
        f"{ratio(rates['cnntrain'], rates[best])}, {best}")
    for name, value in apart.items():
        check(f"  {name}: logits differ by {value:.0e} of their spread", value <= ALLOWED[bits])


def apart_from(wanted, logits):
    wanted = centred(wanted[:len(logits)])
    return float(abs(wanted - centred(logits)).max() / wanted.std())


def run(args):
    if not (args.work / "photos").exists():
        run_program([args.cnntrain, "dataset", "photos", "--output-dir", args.work / "photos", "--train", 64,
                     "--validation", PHOTOS])
    photos = sorted((args.work / "photos/validation").rglob("*.*"), key=lambda path: path.name)
    head("network", "bits", "batch", "cnntrain, images/s", *PEERS, "ratio to the best")
    for model in args.models:
        own = Own(args, model)
        images = np.stack([prepared(path, own.how) for path in photos])
        np.save(f"{own.onnx}.images.npy", images)
        np.save(f"{own.onnx}.logits.npy", load_onnx_runtime(str(own.onnx), images.shape, 32, args.threads)(images))
        for bits in args.bits:
            for batch in args.batches:
                compare(args, model, own, bits, batch)
    return result()


def peer(name, model, file, bits, batch, threads, seconds):
    """Rate and difference of the answers of a peer, in a process of its own."""
    images = np.load(f"{model}.images.npy")[:batch]
    answer = PEERS[name][1](file, images.shape, bits, threads)
    logits, count, start = answer(images), 0, time.perf_counter()
    while count < 2 or time.perf_counter() - start < seconds:
        answer(images)
        count += 1
    rate = count * batch / (time.perf_counter() - start)
    print(json.dumps([rate, 0 if logits is None else apart_from(np.load(f"{model}.logits.npy"), logits)]))


if __name__ == "__main__":
    peer(**json.loads(sys.argv[1]))
