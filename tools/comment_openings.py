#!/usr/bin/env python3
"""Counts comments that open with a label instead of a sentence: tools/comment_openings.py [-v] [PATH ...]

A label is a preposition or a question word, as in "Of a task: ..." or "What a worker does". A few sentences begin so,
too; more than LIMIT of all openings mean that labels are among them. Exits with 1 then. -v lists them.
"""
import argparse
import pathlib
import re
import sys

LIMIT = 0.02
LABELS = set("""Of What Whether How Behind With Without Within From To In On At By For As Until Between Under Among Over
    Per Before After Beside Against Where""".split())

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("-v", action="store_true", help="list the comments")
parser.add_argument("paths", nargs="*", default=["src", "include", "tests", "tools"])
arguments = parser.parse_args()

root = pathlib.Path(__file__).resolve().parent.parent
named = [root / path for path in arguments.paths]
sources = sorted(path for given in named for path in ([given] if given.is_file() else given.rglob("*"))
                 if path.suffix in (".h", ".cpp"))
openings = labels = 0
for source in sources:
    within = False  # a comment of several lines
    for number, line in enumerate(source.read_text().splitlines(), 1):
        comment = re.match(r"\s*///? ?(\w*)", line)
        if comment and not within:
            openings += 1
            if comment.group(1) in LABELS:
                labels += 1
                if arguments.v:
                    print(f"{source.relative_to(root)}:{number}: {line.strip()}")
        within = bool(comment)
share = 100 * labels / max(openings, 1)
print(f"{labels} of {openings} comments open with a label, {share:.1f} %; limit {100 * LIMIT:.0f} %")
sys.exit(labels > LIMIT * openings)
