// The Python part of the Weights & Biases integration.
#pragma once

namespace cnntrain::metrics {

/// Executed by `python3 -c`. Communicates in JSON lines through the socket with file descriptor 3: replies to "init"
/// with {"run": ..., "url": ...} or {"error": ...}, and exits on "finish".
inline constexpr const char* kWandbScript = R"python(
import sys
sys.path = [folder for folder in sys.path if folder]  # the client's own ./wandb is no module
import json, socket

channel = socket.socket(fileno=3)

def answer(**message):
    channel.sendall((json.dumps(message) + "\n").encode())

def number(value):
    return float(value) if value in ("nan", "inf", "-inf") else value

def begin(request):
    import wandb
    options = {"project": request["project"], "name": request["name"], "config": request["config"]}
    if request["id"]:
        options.update(id=request["id"], resume="allow")
    run = wandb.init(**options)
    if run is None:
        raise RuntimeError("wandb.init() returned no run")
    if hasattr(run, "define_metric"):
        run.define_metric("iteration")
        run.define_metric("*", step_metric="iteration")
    return run

def main():
    run = None
    exit_code = 1
    for line in channel.makefile("r", encoding="utf-8"):
        request = json.loads(line)
        command = request["command"]
        if command == "init":
            try:
                run = begin(request)
            except ImportError as error:
                return answer(error=str(error), missing=True)
            except BaseException as error:
                return answer(error="%s: %s" % (type(error).__name__, error))
            answer(run=str(getattr(run, "id", "") or ""), url=str(getattr(run, "url", "") or ""))
        elif command == "log":
            run.log({key: number(value) for key, value in request["values"].items()})
        elif command == "summary":
            run.summary.update(request["values"])
        elif command == "finish":
            exit_code = request["exit_code"]
            break
    if run is not None:
        run.finish(exit_code=exit_code)

main()
)python";

}  // namespace cnntrain::metrics
