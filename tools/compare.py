#!/usr/bin/env python3
"""Compares cnntrain with other programs, or with itself under other conditions: tools/compare.py SUBJECT [OPTIONS].

Programs that are compared in speed take turns, because machines are seldom quiet: a figure is the median over the
rounds, the lowest and the highest stand in brackets, and a ratio is the median of the ratios of each round. A subject
whose answers must agree ends with 1 if they do not. The peers are Python packages, which nothing else of cnntrain
needs: install them in a virtual environment, and start this file with its Python.
"""
import argparse
import ast
import importlib
import importlib.util
import os
import pathlib
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().with_name("compare")
PIP_NAMES = {"PIL": "pillow", "sklearn": "scikit-learn", "tensorflow": "tensorflow-cpu"}


def subjects():
    """The first sentence of each subject's file."""
    return {path.stem: ast.get_docstring(ast.parse(path.read_text())).split("\n\n")[0].replace("\n", " ")
            for path in sorted(FOLDER.glob("*.py")) if path.stem != "common"}


def check_packages(subject, needed):
    missing = [name for name in needed if not importlib.util.find_spec(name)]
    if missing:
        pip = " ".join(PIP_NAMES.get(name, name) for name in needed)
        print(f"{subject} needs {', '.join(missing)}: {sys.executable} -m pip install {pip}", file=sys.stderr)
        sys.exit(2)


def main():
    sentences = subjects()
    own = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__,
                                  epilog="\n".join(f"  {name:12}{text}" for name, text in sentences.items()))
    own.add_argument("subject", choices=sentences, metavar="SUBJECT", help="one of those below; SUBJECT --help")
    name = own.parse_args(sys.argv[1:2]).subject
    sys.path.insert(0, str(FOLDER))
    subject = importlib.import_module(name)
    parser = argparse.ArgumentParser(prog=f"compare.py {name}", description=subject.__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=FOLDER.parents[1] / "build", help="default: build")
    parser.add_argument("--work", type=pathlib.Path, help="folder for files, which is kept (default: a temporary one)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each program where speed is compared")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of each program")
    parser.add_argument("--beside", type=int, default=0, metavar="N", help="busy programs that run beside each turn")
    subject.add_options(parser)
    args = parser.parse_args(sys.argv[2:])
    check_packages(name, subject.NEEDS)
    importlib.import_module("common").beside = args.beside
    args.build = args.build.resolve()
    args.cnntrain, args.tools = args.build / "cnntrain", args.build / "tools"
    with tempfile.TemporaryDirectory(prefix="compare_") as folder:
        args.work = (args.work or pathlib.Path(folder)).resolve()
        args.work.mkdir(parents=True, exist_ok=True)
        return subject.run(args)


if __name__ == "__main__":
    sys.exit(main())
