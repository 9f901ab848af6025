"""Stands in for the wandb client: notes every call in the file that FAKE_WANDB_LOG names."""
import json
import os


def note(**call):
    with open(os.environ["FAKE_WANDB_LOG"], "a") as log:
        log.write(json.dumps(call) + "\n")


class Summary:
    def update(self, values):
        note(call="summary", **values)


class Run:
    id = "abc123"
    url = "https://example.org/abc123"
    summary = Summary()

    def define_metric(self, name, step_metric=None):
        note(call="define_metric", name=name, step_metric=step_metric)

    def log(self, values):
        if os.environ.get("FAKE_WANDB_DIES"):
            os._exit(9)
        note(call="log", **{key: repr(value) for key, value in values.items()})

    def finish(self, exit_code=None):
        note(call="finish", exit_code=exit_code)


def init(**options):
    if os.environ.get("FAKE_WANDB_REFUSES"):
        raise RuntimeError("not logged in")
    note(call="init", **options)
    print("wandb: printed by the client")
    return Run()
