"""The WordPiece tokeniser beside Hugging Face's `tokenizers`: the same ids, MB of text a second.

Both take the same lines, and give ids. Rates are by processor time of one core. The faster one of the peer's two batch
calls counts; in the slower one it also fills other lists (offsets, masks).
"""
import os
import pathlib
import re
import time

from common import Package, check, in_turns, ratio, result, run as run_program, spread

NEEDS = ["tokenizers"]
tokenizers = Package("tokenizers")


def add_options(parser):
    parser.add_argument("vocabulary", type=pathlib.Path, help="a piece in each line")
    parser.add_argument("text", type=pathlib.Path)


def run(args):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    pieces = {line.strip(): number for number, line in enumerate(args.vocabulary.open(encoding="utf-8"))}
    model = tokenizers.models.WordPiece(vocab=pieces, unk_token="[UNK]", max_input_chars_per_word=200)
    peer = tokenizers.Tokenizer(model)
    peer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    peer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    content = args.text.read_bytes()
    lines = content.decode("utf-8", "ignore").removesuffix("\n").split("\n")
    program = [args.tools / "bench_tokeniser", args.vocabulary, args.text]
    ours = run_program([*program, "--ids"]).split("\n")
    theirs = peer.encode_batch_fast(lines, add_special_tokens=False)
    apart = sum(ids != " ".join(map(str, encoding.ids)) for ids, encoding in zip(ours, theirs))
    check(f"{len(lines)} lines, {apart} with other ids", apart == 0)

    def rate():
        seconds = []
        for encode in (peer.encode_batch, peer.encode_batch_fast, peer.encode_batch_fast):
            start = time.process_time()
            encode(lines, add_special_tokens=False)
            seconds.append(time.process_time() - start)
        return len(content) / 1e6 / min(seconds)

    rates = in_turns(args.rounds, {
        "cnntrain": lambda: float(re.match(r"[\d.]+", run_program([*program, "--rounds", 3]))[0]), "tokenizers": rate})
    print(f"MB/s: cnntrain {spread(rates['cnntrain'])}, tokenizers {spread(rates['tokenizers'])}, ratio "
          f"{ratio(rates['cnntrain'], rates['tokenizers'])}")
    return result()
