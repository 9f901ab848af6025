"""PyTorch's side of compare_bert.py: transformers' BertForPreTraining, trained on the sequences that cnntrain trains
on. No tool by itself.

As a program it is what `compare_bert.py speed` measures: it takes steps on made-up sequences and prints the seconds of
each. It is a file of its own because a process that measures others must be small: the system counts the memory of the
one that starts a process as that process's, too. `model` is the dictionary of compare_bert.py's model_of, as JSON on
the command line.
"""
import json
import random
import sys
import time

import torch
from torch.nn import functional as F
from transformers import BertConfig, BertForPreTraining


class Peer(torch.nn.Module):
    """The loss of a micro-batch: masked tokens in front, weighted, and the next sentence."""

    def __init__(self, model):
        super().__init__()
        config = BertConfig(vocab_size=model["words"], hidden_size=model["hidden"], num_hidden_layers=model["layers"],
                            num_attention_heads=model["heads"], intermediate_size=model["wide"],
                            max_position_embeddings=512, hidden_act="gelu_new", hidden_dropout_prob=model["dropout"],
                            attention_probs_dropout_prob=model["dropout"], layer_norm_eps=1e-3)
        config._attn_implementation = "sdpa"
        self.model = BertForPreTraining(config)
        self.predictions = model["predictions"]

    def forward(self, batch):
        m = self.predictions
        x = self.model.bert(input_ids=batch["input_ids"], attention_mask=batch["keep"],
                            token_type_ids=batch["segment_ids"],
                            position_ids=batch["input_position"]).last_hidden_state
        words = self.model.cls.predictions(x[:, :m]).float()
        pooled = self.model.bert.pooler(x[:, m:m + 1])
        sentence = self.model.cls.seq_relationship(pooled).float()
        losses = F.cross_entropy(words.flatten(0, 1), batch["masked_labels"].flatten(), reduction="none")
        weights = batch["masked_lm_weights"].flatten()
        return (losses * weights).sum(), weights.sum(), F.cross_entropy(sentence,
                                                                        batch["next_sentence_labels"].flatten())


def made_up(model, batch):
    length, words, m = model["length"], model["words"], model["predictions"]
    return {"input_ids": torch.randint(0, words, (batch, length)), "segment_ids": torch.randint(0, 2, (batch, length)),
            "input_position": torch.arange(length).expand(batch, length).contiguous(),
            "keep": torch.ones(batch, length, dtype=torch.long), "masked_labels": torch.randint(0, words, (batch, m)),
            "masked_lm_weights": torch.ones(batch, m), "next_sentence_labels": torch.randint(0, 2, (batch,))}


def make_optimiser(peer, model):
    plain = [p for name, p in peer.named_parameters() if "bias" in name or "LayerNorm" in name]
    decayed = [p for name, p in peer.named_parameters() if not ("bias" in name or "LayerNorm" in name)]
    return torch.optim.AdamW([{"params": decayed, "weight_decay": model["decay"]},
                              {"params": plain, "weight_decay": 0.0}],
                             lr=model["rate"], eps=1e-6, foreach=True)


def batch_of(records, predictions):
    batch = {name: torch.tensor([record[name] for record in records])
             for name in ("input_ids", "segment_ids", "input_position", "masked_labels", "masked_lm_weights",
                          "next_sentence_labels", "mask_padding_index", "seq_padding_index")}
    batch["input_position"].clamp_(max=511)
    places = torch.arange(batch["input_ids"].shape[1])[None]
    seen = (places < batch["mask_padding_index"]) | (places >= predictions)
    batch["keep"] = (seen & (places < batch["seq_padding_index"])).long()
    return batch


def loss_after_training(train, test, model, rates, batch):
    """Of the masked tokens of the test records, after a step with each of the rates."""
    predictions = model["predictions"]
    torch.manual_seed(1)
    peer = Peer(model).train()
    optimiser = make_optimiser(peer, model)
    order = random.Random(1)
    for step, rate in enumerate(rates):
        for group in optimiser.param_groups:
            group["lr"] = max(rate, 1e-7)
        loss, weight, sentence = peer(batch_of(order.sample(train, batch), predictions))
        total = loss / (weight + 1e-5) + sentence
        optimiser.zero_grad(set_to_none=True)
        total.backward()
        torch.nn.utils.clip_grad_norm_(peer.parameters(), 1.0)
        optimiser.step()
        if step % 100 == 0:
            print(f"PyTorch, step {step}: {(loss / weight).item():.3f}", file=sys.stderr, flush=True)
    peer.eval()
    losses = weights = 0.0
    with torch.no_grad():
        for begin in range(0, len(test), batch):
            loss, weight, _ = peer(batch_of(test[begin:begin + batch], predictions))
            losses += loss.item()
            weights += weight.item()
    return losses / weights


def main(model, batch, precision, steps, compiled):
    peer = Peer(model).train()
    optimiser = make_optimiser(peer, model)
    forward = torch.compile(peer) if compiled else peer
    inputs = made_up(model, batch)
    for step in range(steps):
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision != "32"):
            loss, weight, sentence = forward(inputs)
        optimiser.zero_grad(set_to_none=True)
        (loss / weight + sentence).backward()
        optimiser.step()
        print(f"step: {step}, time: {time.perf_counter() - start:.6f}", flush=True)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
