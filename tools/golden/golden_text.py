"""Writes the files of tests/golden. No tool by itself."""
import json
import pathlib

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"


def write(name, text):
    (GOLDEN / name).write_text(text)
    print(GOLDEN / name)


def lines(document):
    """Each entry is a line."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items()) + "\n}\n"


def compact(document):
    """A line for each list of lists."""
    return json.dumps(document, separators=(",", ":")).replace("],\"", "],\n\"") + "\n"


def golden_text(document, whole=()):
    """Each entry of a list or of an object within the document is a line; those named in `whole` are one line."""
    def lines_of(key, value):
        if not isinstance(value, (dict, list)) or key in whole or not value:
            return json.dumps(value)
        if isinstance(value, list):
            return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n]"
        return "{\n  " + ",\n  ".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in value.items()) + "\n}"
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {lines_of(key, value)}" for key, value in document.items()) + "\n}\n"
