"""Rate and memory of training steps beside PyTorch: image networks and BERT.

Whole steps on made-up data: forward, backward, update. Image networks have batch norm and SGD with momentum; images are
224 x 224, those of ResNet-20 32 x 32. BERT has dropout 0.1 and AdamW, and both sides score masked tokens only. For 16
bits both keep float32 weights and compute in bfloat16, PyTorch by autocast. PyTorch runs in each way that its users
have, and the fastest one counts. Every turn is a process of its own; memory is the most that the process has held.
"""
import itertools
import json
import re
import statistics
import sys
import time

from common import Package, decayed_apart, head, in_turns, ratio, row, run_measured, spread

NEEDS = ["torch", "torchvision", "transformers"]
torch, torchvision, transformers = map(Package, NEEDS)
timm = Package("timm")

IMAGES = {  # options of cnntrain
    "resnet20": "--model resnet --model-size 20 --dataset cifar-10",
    "resnet50": "--model resnet --model-size 50 --dataset imagenet --image-size 224",
    "resnext101": "--model resnext --model-size 101 --dataset imagenet --image-size 224",
    "efficientnet-b0": "--model efficientnet --model-size B0 --dataset imagenet --image-size 224",
    "efficientnet-b4": "--model efficientnet --model-size B4 --dataset imagenet --image-size 224",
    "efficientnet-lite0": "--model efficientnet --model-size Lite0 --dataset imagenet --image-size 224",
    "efficientnet-v2-b0": "--model efficientnet --model-size V2-B0 --dataset imagenet --image-size 224",
}
OF_TIMM = {"efficientnet-lite0": "tf_efficientnet_lite0", "efficientnet-v2-b0": "tf_efficientnetv2_b0"}
BERTS = {"bert-base": (768, 12, 12, 3072), "bert-large": (1024, 24, 16, 4096), "bert-small": (256, 4, 4, 1024)}
MASKED = {128: 20, 384: 58, 512: 77}
WORDS, DROPOUT, RATE, DECAY = 30400, 0.1, 5e-4, 0.01


def add_options(parser):
    parser.add_argument("--models", nargs="+", default=["resnet50", "efficientnet-b0"], choices=[*IMAGES, *BERTS])
    parser.add_argument("--precisions", nargs="+", default=["32", "16"], choices=["32", "16"])
    parser.add_argument("--batches", nargs="+", type=int, default=[32])
    parser.add_argument("--length", type=int, default=128, choices=MASKED, help="tokens of a sequence")
    parser.add_argument("--steps", type=int, default=4, help="timed steps of a turn")
    parser.add_argument("--compile", action="store_true", help="try torch.compile, too, which is slow to start")


def own_line(args, model, precision, batch):
    line = [args.tools / "bench_step", "--step-only", "--warmup", 2, "--steps", args.steps]
    if model in IMAGES:
        line += [*IMAGES[model].split(), "--batch-norm", "--precision", f"{precision}.32", "--optimiser", "momentum",
                 "--momentum", 0.9, "--weight-decay", 1e-4]
    else:
        hidden, layers, heads, wide = BERTS[model]
        line += ["pretrain", *f"--vocab-size {WORDS} --hidden-size {hidden} --num-hidden-layers {layers} "
                 f"--num-attention-heads {heads} --intermediate-size {wide} --seq-length {args.length} "
                 f"--max-predictions-per-seq {MASKED[args.length]} --max-position-embeddings 512 --use-qkv-split "
                 f"--use-qkv-bias --static-mask --hidden-dropout-prob {DROPOUT} --attention-probs-dropout-prob "
                 f"{DROPOUT} --gradient-accumulation-count 1 --optimizer adamw --weight-decay-rate {DECAY} --epsilon "
                 f"1e-6 --use-debiasing --precision {precision} --num-train-steps 1000000".split()]
    return [*line, "--micro-batch-size", batch, "--threads", args.threads]


class Side:
    """A command, and the memory of its turns."""

    def __init__(self, words):
        self.words, self.megabytes = words, 0

    def __call__(self):
        text, megabytes = run_measured(self.words)
        self.megabytes = max(self.megabytes, megabytes)
        return float(re.search(r"whole step: ([\d.]+)", text)[1])


def run(args):
    head("model", "batch", "precision", "cnntrain, samples/s", "PyTorch, samples/s", "ratio", "MB", "PyTorch, MB")
    for model, batch, precision in itertools.product(args.models, args.batches, args.precisions):
        sides = {"cnntrain": Side(own_line(args, model, precision, batch))}
        ways = ["eager"] if model in BERTS else ["channels last", "contiguous"]
        for way in ways + ["compiled"] * args.compile:
            words = {"model": model, "way": way, "precision": precision, "batch": batch, "steps": args.steps,
                     "length": args.length, "threads": args.threads}
            sides[way] = Side([sys.executable, __file__, json.dumps(words)])
        rates = in_turns(args.rounds, sides)
        own = rates.pop("cnntrain")
        best = max(rates, key=lambda way: statistics.median(rates[way]))
        row(model, batch, precision, spread(own), f"{spread(rates[best])}, {best}", ratio(own, rates[best]),
            round(sides["cnntrain"].megabytes), round(sides[best].megabytes))
    return 0


def resnet20():
    """The network for CIFAR-10; its shortcuts drop pixels and add channels of zeros."""
    class Shortcut(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, x.shape[1]))

    block, nn = torchvision.models.resnet.BasicBlock, torch.nn
    units = [block(16, 16) for _ in range(3)]
    for width in (32, 64):
        units += [block(width // 2, width, 2, Shortcut()), block(width, width), block(width, width)]
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), *units,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def image_network(model):
    models = torchvision.models
    if model == "resnext101":
        return models.ResNet(models.resnet.Bottleneck, [3, 4, 23, 3], groups=32, width_per_group=4)
    if model in OF_TIMM:
        return timm.create_model(OF_TIMM[model])
    return resnet20() if model == "resnet20" else models.get_model(model.replace("-", "_"))


def image_peer(model, way, batch):
    """Loss of a forward pass, and the optimiser."""
    network = image_network(model)
    side, classes = (32, 10) if model == "resnet20" else (224, 1000)
    memory = torch.contiguous_format if way == "contiguous" else torch.channels_last
    network, images = network.to(memory_format=memory), torch.randn(batch, 3, side, side).to(memory_format=memory)
    labels = torch.randint(0, classes, (batch,))
    forward = torch.compile(network) if way == "compiled" else network
    return (lambda: torch.nn.functional.cross_entropy(forward(images).float(), labels),
            torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, foreach=True))


def bert_peer(model, way, batch, length):
    hidden, layers, heads, wide = BERTS[model]
    config = transformers.BertConfig(
        vocab_size=WORDS, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=wide, max_position_embeddings=512, hidden_act="gelu_new", hidden_dropout_prob=DROPOUT,
        attention_probs_dropout_prob=DROPOUT, layer_norm_eps=1e-3)
    config._attn_implementation = "sdpa"
    network = transformers.BertForPreTraining(config).train()
    masked = MASKED[length]
    ids, segments = torch.randint(0, WORDS, (batch, length)), torch.randint(0, 2, (batch, length))
    labels, order = torch.randint(0, WORDS, (batch * masked,)), torch.randint(0, 2, (batch,))
    keep = torch.ones(batch, length, dtype=torch.long)

    def loss():
        x = network.bert(input_ids=ids, attention_mask=keep, token_type_ids=segments).last_hidden_state
        words = network.cls.predictions(x[:, :masked]).float()  # the masked tokens stand in front
        sentence = network.cls.seq_relationship(network.bert.pooler(x[:, masked:masked + 1])).float()
        entropy = torch.nn.functional.cross_entropy
        return entropy(words.flatten(0, 1), labels) + entropy(sentence, order)

    return (torch.compile(loss) if way == "compiled" else loss,
            torch.optim.AdamW(decayed_apart(network, DECAY), lr=RATE, eps=1e-6, foreach=True))


def peer(model, way, precision, batch, steps, length, threads):
    """PyTorch, in a process of its own: one that measures others would hand its memory on to them."""
    torch.set_num_threads(threads)
    loss_of, optimiser = image_peer(model, way, batch) if model in IMAGES else bert_peer(model, way, batch, length)
    seconds = []
    for _ in range(2 + steps):
        start = time.perf_counter()
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "16"):
            loss = loss_of()
        loss.backward()
        optimiser.step()
        seconds.append(time.perf_counter() - start)
    print(f"whole step: {batch / statistics.median(seconds[2:]):.4f}")


if __name__ == "__main__":
    peer(**json.loads(sys.argv[1]))
