#!/usr/bin/env python3
"""The WordPiece tokeniser of cnntrain beside Hugging Face's `tokenizers` (Rust), on one core, in turns, as MB of text
for a second of processor time, and their ratio.

usage: compare_tokeniser.py BENCH_TOKENISER VOCABULARY TEXT [--rounds 5] [--core 0] [--cased]

BENCH_TOKENISER is build/tools/bench_tokeniser. Needs tokenizers from PyPI in a virtual environment, which nothing else
does. Both take the same lines, lower their case and strip accents, and give ids; the ids are compared first. Of the
peer the faster one of its two batch calls counts; it fills its other lists (offsets, masks) in the slower one.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import time


def make_peer(vocabulary, cased):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    with open(vocabulary, encoding="utf-8") as file:
        pieces = {line.strip(): number for number, line in enumerate(file)}
    peer = Tokenizer(models.WordPiece(vocab=pieces, unk_token="[UNK]", max_input_chars_per_word=200))
    peer.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    peer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return peer


def compare_ids(program, vocabulary, text, lines, peer, options):
    command = [program, vocabulary, text, "--ids", *options]
    ours = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    different = 0
    for line, ids, encoding in zip(lines, ours, peer.encode_batch_fast(lines, add_special_tokens=False)):
        if ids != " ".join(map(str, encoding.ids)):
            different += 1
            if different <= 3:
                print(f"different ids: {line[:100]!r}")
    print(f"{len(lines)} lines, {different} with different ids")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("vocabulary")
    parser.add_argument("text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--cased", action="store_true")
    args = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.sched_setaffinity(0, {args.core})

    peer = make_peer(args.vocabulary, args.cased)
    with open(args.text, "rb") as file:
        content = file.read()
    lines = content.decode("utf-8", "ignore").split("\n")
    if not lines[-1]:
        lines.pop()
    options = ["--cased"] if args.cased else []
    compare_ids(args.program, args.vocabulary, args.text, lines, peer, options)

    rates = {"cnntrain": [], "tokenizers": []}
    for _ in range(args.rounds):
        command = [args.program, args.vocabulary, args.text, "--rounds", "3", *options]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rates["cnntrain"].append(float(re.match(r"[\d.]+", text).group()))
        best = float("inf")
        for encode in [peer.encode_batch, peer.encode_batch_fast, peer.encode_batch_fast]:
            start = time.process_time()
            encode(lines, add_special_tokens=False)
            best = min(best, time.process_time() - start)
        rates["tokenizers"].append(len(content) / 1e6 / best)
        print("  ".join(f"{name} {values[-1]:.2f}" for name, values in rates.items()), "MB/s", flush=True)
    ratios = [ours / theirs for ours, theirs in zip(rates["cnntrain"], rates["tokenizers"])]
    print(f"cnntrain / tokenizers: {statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})")


if __name__ == "__main__":
    sys.exit(main())
