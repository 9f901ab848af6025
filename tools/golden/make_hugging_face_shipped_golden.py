#!/usr/bin/env python3
"""Golden numbers for tests/golden/hugging_face_shipped.json: how transformers judges networks that cnntrain has
trained.

Each shipped configuration of BERT is trained for two steps, in small sizes that its line gives, on the records of
tests/data/bert, and converted. transformers must load the folder with no tensor missing, left over or of another shape,
and its losses and accuracies on the same records, in float64, are the golden numbers: tests/cli/convert_test.cpp
repeats the lines and compares them with `cnntrain pretrain --evaluate`, which this script does, too.

usage: make_hugging_face_shipped_golden.py build/cnntrain
"""

import itertools
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import torch
from torch.nn.functional import cross_entropy
from transformers import (AutoModelForPreTraining, AutoTokenizer, BertForMaskedLM, BertForNextSentencePrediction,
                          BertForSequenceClassification, BertModel)

from golden_text import write

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DATA = SOURCE / "tests" / "data" / "bert"
PREDICTIONS = 5
RECORDS = ["--do-lower-case", "--remask", "--sequence-length", "32", "--mask-tokens", str(PREDICTIONS),
           "--duplication-factor", "2"]
# Both the training and the evaluation need these.
MODEL = [*("--vocab-size 40 --hidden-size 128 --num-attention-heads 2 --num-hidden-layers 2 --intermediate-size 192 "
           "--matmul-serialize-factor 1 --seq-length 32 --max-predictions-per-seq 5 --precision 32 --threads 1 "
           "--micro-batch-size 2 --pipeline-stages").split(), '[["emb", "pos", "hid"], ["hid"], ["mlm", "nsp"]]',
         "--device-mapping", "0", "1", "0"]
TRAINING = ["--gradient-accumulation-count", "6", "--replicas", "1", "--num-train-steps", "2", "--warmup", "0",
            "--base-learning-rate", "0.02"]


def run(words):
    result = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}\nended with {result.returncode}:\n{result.stdout[-3000:]}")
    return result.stdout


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def fields_of(data):
    """(number, content) of each field of a message; all have a length here."""
    stream = iter(data)
    numbers = varints(stream)
    for key in numbers:
        yield key >> 3, bytes(itertools.islice(stream, next(numbers)))


def read_records(path):
    """tf.Examples of packed numbers."""
    data, at, records = pathlib.Path(path).read_bytes(), 0, []
    while at < len(data):
        length, = struct.unpack_from("<Q", data, at)
        (_, features), = fields_of(data[at + 12:at + 12 + length])
        record = {}
        for _, entry in fields_of(features):
            parts = dict(fields_of(entry))
            (kind, numbers), = fields_of(parts[2])
            packed = dict(fields_of(numbers))[1]
            record[parts[1].decode()] = (list(struct.unpack(f"<{len(packed) // 4}f", packed)) if kind == 2
                                         else list(varints(packed)))
        records.append(record)
        at += 16 + length
    return records


def results(text):
    """The losses and accuracies in the line that --evaluate prints."""
    line = re.search(r"Validation (mlm_loss.*) \[", text)[1]
    return {name: float(value) for name, value in re.findall(r"(\w+): +([\d.]+)", line)}


def load_strictly(folder):
    """The pretraining network, after every other class has found what it needs there."""
    model, found = AutoModelForPreTraining.from_pretrained(folder, trust_remote_code=True, output_loading_info=True)
    assert not any(found[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), found
    for other in (BertModel, BertForNextSentencePrediction, BertForSequenceClassification, BertForMaskedLM):
        missing = other.from_pretrained(folder, output_loading_info=True)[1]["missing_keys"]
        assert all(key.startswith(("classifier.", "cls.predictions.transform.")) for key in missing), missing
    words = AutoTokenizer.from_pretrained(folder)
    assert words.convert_tokens_to_ids("[MASK]") == 4, words
    return model.double().eval()


def judged_by_transformers(model, records):
    """The masked tokens stand in front, the first token of the sequence after them: it is brought to the front, where
    transformers pools it; positions say where each token belongs."""
    losses, right, weight, sentence_losses, sentences_right = 0.0, 0.0, 0.0, 0.0, 0
    for record in records:
        length = len(record["input_ids"])
        order = [PREDICTIONS] + [i for i in range(length) if i != PREDICTIONS]
        masked, end = record["mask_padding_index"][0], record["seq_padding_index"][0]
        keep = [int((i < masked or i >= PREDICTIONS) and i < end) for i in range(length)]
        row = lambda values: torch.tensor([[values[i] for i in order]])  # noqa: E731
        answer = model(input_ids=row(record["input_ids"]), attention_mask=row(keep),
                       token_type_ids=row(record["segment_ids"]),
                       position_ids=row(record["input_position"]).clamp(max=model.config.max_position_embeddings - 1))
        logits = answer.prediction_logits[0, 1:PREDICTIONS + 1]
        labels = torch.tensor(record["masked_labels"])
        weights = torch.tensor(record["masked_lm_weights"], dtype=torch.float64)
        losses += (cross_entropy(logits, labels, reduction="none") * weights).sum().item()
        right += ((logits.argmax(1) == labels) * weights).sum().item()
        weight += weights.sum().item()
        sentence = torch.tensor(record["next_sentence_labels"])
        sentence_losses += cross_entropy(answer.seq_relationship_logits, sentence).item()
        sentences_right += int(answer.seq_relationship_logits.argmax(1) == sentence)
    return {"mlm_loss": losses / weight, "nsp_loss": sentence_losses / len(records), "mlm_acc": right / weight,
            "nsp_acc": sentences_right / len(records)}


def judge(program, config, work):
    records = work / "records.tfrecord"
    run([program, "pretrain", "--config", config, "--train-file", records,
         "--logs-path", work / config] + MODEL + TRAINING)
    hugging = work / f"{config}_hf"
    run([program, "convert", "--from", work / config / "ckpt-1", "--to", f"{hugging}/",
         "--vocab-file", DATA / "vocab.txt"])
    with torch.no_grad():
        theirs = judged_by_transformers(load_strictly(hugging), read_records(records))
    ours = results(run([program, "pretrain", "--config", config, "--evaluate", "--init-checkpoint",
                        hugging / "model.safetensors", "--valid-file", records, "--no-logs"] + MODEL))
    theirs = {name: theirs[name] for name in ours}  # with "disable_acc", the losses alone
    for name, value in theirs.items():
        assert abs(value - ours[name]) < 1e-4, (config, name, value, ours[name])
    print(config, theirs, ours)
    return theirs


if __name__ == "__main__":
    program = pathlib.Path(sys.argv[1]).resolve()
    configs = sorted(path.stem for path in (SOURCE / "configs" / "bert").glob("*.json"))
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        run([program, "dataset", "bert", "--input-file", DATA / "corpus.txt", "--vocab-file", DATA / "vocab.txt",
             "--output-file", work / "records.tfrecord"] + RECORDS)
        judged = {config: judge(program, config, work) for config in configs}
    document = {"records": RECORDS, "model": MODEL, "training": TRAINING, "results": judged}
    write("hugging_face_shipped.json", json.dumps(document, indent=1) + "\n")
