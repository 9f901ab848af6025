"""The subjects of compare.py share this: packages, processes, medians, tables, logits."""
import contextlib
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

failures = []  # of answers that should agree
beside = 0  # busy programs during each turn


class Package:
    """A package that is imported when it is first used, so that --help does without it."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, attribute):
        try:
            return getattr(importlib.import_module(self.name), attribute)
        except AttributeError:
            return importlib.import_module(f"{self.name}.{attribute}")


def run_measured(words, **more):
    """Returns the output of a program, and its greatest memory in MB. A failure ends the comparison."""
    words = [str(word) for word in words]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **more)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        sys.exit(f"{' '.join(words)}\nended with {process.returncode}:\n{text[-3000:]}")
    return text, usage.ru_maxrss * 1024 / 1e6


def run(words, **more):
    return run_measured(words, **more)[0]


@contextlib.contextmanager
def busy_programs():
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(beside)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def in_turns(rounds, sides):
    """The values of each side; a side is a function that is called once a round."""
    values = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            with busy_programs():
                values[name].append(side())
    return values


def spread(values):
    """Median, lowest and highest, with three digits or more."""
    median = statistics.median(values)
    digits = 0 if median >= 1000 else 1 if median >= 100 else 2
    low, high = (f"({min(values):.{digits}f}", f" to {max(values):.{digits}f})") if len(values) > 1 else ("", "")
    return f"{median:.{digits}f} {low}{high}".strip()


def ratio(ours, theirs):
    return spread([a / b for a, b in zip(ours, theirs)])


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*cells):
    row(*cells)
    print("|" + "---|" * len(cells), flush=True)


def check(text, good):
    """Prints a line, and remembers what is wrong for result()."""
    print(text + ("" if good else "  <-- WRONG"), flush=True)
    if not good:
        failures.append(text)


def result():
    """The exit code."""
    print("\n".join(["These do not agree:", *failures]) if failures else "All agree.")
    return 1 if failures else 0


def difference(expected, found):
    """The greatest difference, as a share of the greatest expected value."""
    return float(abs(expected - found).max() / max(1, abs(expected).max()))


def centred(logits):
    return logits - logits.mean(axis=-1, keepdims=True)


def pixels_of(path):
    """An upright photo."""
    from PIL import Image, ImageOps
    return ImageOps.exif_transpose(Image.open(path)).convert("RGB")


def prepared(path, how):
    """The network's input of a photo, as the metadata of an export describes it; Pillow's antialiased resizes."""
    import numpy as np
    image, size, side = pixels_of(path), how["image_size"], how["shorter_side"]
    scale = side / min(image.size)
    width, height = (side if length == min(image.size) else int(length * scale) for length in image.size)
    image = image.resize((width, height), {"bilinear": 2, "bicubic": 3}[how["interpolation"]])
    left, top = round((width - size) / 2), round((height - size) / 2)
    pixels = np.asarray(image.crop((left, top, left + size, top + size)), np.float32) / 255
    return ((pixels - np.float32(how["mean"])) / np.float32(how["std"])).transpose(2, 0, 1)


def answers(args, weights, photos, options=()):
    """The row of --predictions of each photo, by the photo's name."""
    path = args.work / "predictions.jsonl"
    path.unlink(missing_ok=True)
    run([args.cnntrain, "inference", "--restore-path", weights, "--data-dir", photos, "--predictions", path,
         "--no-logs", *options])
    return {pathlib.Path(found["image"]).name: found for found in map(json.loads, path.read_text().splitlines())}


def own_logits(args, weights, photos, classes, options=("--precision", "32.32")):
    """Logits less their mean, by photo: they are the logarithms of the printed probabilities less their mean."""
    import numpy as np
    logits = {}
    for name, found in answers(args, weights, photos, ["--top-classes", len(classes), *options]).items():
        values = np.zeros(len(classes))
        values[[classes.index(a_class) for a_class in found["classes"]]] = np.log(found["probabilities"])
        logits[name] = centred(values)
    return logits


def decayed_apart(model, decay):
    """Parameter groups of AdamW: biases and norms do not decay."""
    plain = [p for name, p in model.named_parameters() if "bias" in name or "LayerNorm" in name]
    decayed = [p for name, p in model.named_parameters() if not ("bias" in name or "LayerNorm" in name)]
    return [{"params": decayed, "weight_decay": decay}, {"params": plain, "weight_decay": 0.0}]
