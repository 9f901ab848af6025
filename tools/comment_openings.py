#!/usr/bin/env python3
"""Counts comments that open with a label instead of a sentence: tools/comment_openings.py [-v] [PATH ...]

A label is a preposition or a question word, as in "Of a task: ..." or "What a worker does". A few sentences begin so,
too; more than LIMIT of all openings mean that labels are among them. Exits with 1 then. -v lists them.
"""
import argparse
import pathlib
import re
import subprocess
import sys

LIMIT = 0.02
LABELS = set("""Of What Whether How Behind With Without Within From To In On At By For As Until Between Under Among Over
    Per Before After Beside Against Where""".split())

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("-v", action="store_true", help="list the comments")
parser.add_argument("paths", nargs="*", default=["src", "include", "tests", "tools"])
arguments = parser.parse_args()

root = pathlib.Path(__file__).resolve().parent.parent
names = subprocess.run(["git", "ls-files", *arguments.paths], cwd=root, capture_output=True, text=True, check=True)
openings = labels = 0
for name in names.stdout.splitlines():
    if not name.endswith((".h", ".cpp")):
        continue
    within = False  # a comment of several lines
    for number, line in enumerate((root / name).read_text().splitlines(), 1):
        comment = re.match(r"\s*///? ?(\w*)", line)
        if comment and not within:
            openings += 1
            if comment.group(1) in LABELS:
                labels += 1
                if arguments.v:
                    print(f"{name}:{number}: {line.strip()}")
        within = bool(comment)
share = 100 * labels / max(openings, 1)
print(f"{labels} of {openings} comments open with a label, {share:.1f} %; limit {100 * LIMIT:.0f} %")
sys.exit(labels > LIMIT * openings)
