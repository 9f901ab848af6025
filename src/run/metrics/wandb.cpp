#include "run/metrics/wandb.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <optional>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"

namespace cnntrain::metrics {
namespace {

// The Python part of the Weights & Biases integration.

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

using Clock = std::chrono::steady_clock;

constexpr const char* kInstall = "install the client with `pip install wandb`, or leave --wandb out";
constexpr int kChannel = 3;           // file descriptor in the script
constexpr int kSendTimeoutMs = 5000;  // a client that reads nothing for this time counts as hanging

Error cannot_start(const std::string& what) {
    return Error(ErrorKind::unsupported, "--wandb: " + what + "; " + kInstall);
}

int milliseconds(double seconds) {
    return static_cast<int>(std::lround(1e3 * seconds));
}

nlohmann::json json_of(const Field& field) {
    return std::visit(
        [](const auto& value) -> nlohmann::json {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) {
                if (std::isnan(value)) return "nan";  // JSON cannot represent these numbers
                if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
            }
            return value;
        },
        field.value);
}

}  // namespace

/// The child process and the socket to it.
class Wandb::Client {
public:
    explicit Client(std::vector<std::string> python) {
        std::array<int, 2> ends = {-1, -1};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
            throw cannot_start(std::string("no socket to talk to the client: ") + std::strerror(errno));
        socket_ = ends[0];
        python.insert(python.end(), {"-c", kWandbScript});
        const int error = spawn(python, ends[1]);
        close(ends[1]);
        if (error == 0) return;
        close(socket_);
        throw cannot_start("cannot run " + python.front() + ": " + std::strerror(error));
    }
    ~Client() { close(socket_); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// Returns false if the client has ended or does not read.
    bool send(std::string_view text) {
        while (!text.empty()) {
            const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent >= 0) {
                text.remove_prefix(static_cast<std::size_t>(sent));
            } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
                if (!wait_for(POLLOUT, kSendTimeoutMs)) return false;
            } else if (errno != EINTR) {
                return false;
            }
        }
        return true;
    }

    /// The next line from the client; empty if it ends or the time is up first.
    std::optional<std::string> receive(double timeout_seconds) {
        const Clock::time_point end = Clock::now() + std::chrono::milliseconds(milliseconds(timeout_seconds));
        while (true) {
            const std::size_t line_end = received_.find('\n');
            if (line_end != std::string::npos) {
                std::string line = received_.substr(0, line_end);
                received_.erase(0, line_end + 1);
                return line;
            }
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
            if (left <= 0 || !wait_for(POLLIN, static_cast<int>(left))) return std::nullopt;
            std::array<char, 4096> buffer{};
            const ssize_t count = recv(socket_, buffer.data(), buffer.size(), 0);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) return std::nullopt;
            received_.append(buffer.data(), static_cast<std::size_t>(count));
        }
    }

    /// Closes the connection for writing and waits for the process; returns false if it has not ended in time.
    bool end(double timeout_seconds) {
        shutdown(socket_, SHUT_WR);
        const bool closed = !receive(timeout_seconds).has_value();
        constexpr int kTries = 100;
        for (int i = 0; closed && i < kTries; ++i) {
            if (waitpid(process_, nullptr, WNOHANG) != 0) return true;
            usleep(10000);
        }
        return false;
    }

    void kill() {
        ::kill(-process_, SIGKILL);  // kills the client's process group, including processes it started
        waitpid(process_, nullptr, 0);
    }

private:
    /// The client gets its own process group: Ctrl-C stops this process, but the client must survive until the end of
    /// the run. Its output goes to standard error.
    int spawn(const std::vector<std::string>& words, int child_end) {
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, child_end, kChannel);
        posix_spawnattr_t attributes;
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        posix_spawnattr_setpgroup(&attributes, 0);
        std::vector<char*> argv;
        argv.reserve(words.size() + 1);
        for (const std::string& word : words)
            argv.push_back(const_cast<char*>(word.c_str()));
        argv.push_back(nullptr);
        const int error = posix_spawnp(&process_, argv.front(), &actions, &attributes, argv.data(), environ);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }

    bool wait_for(short event, int timeout_ms) const {
        pollfd waiting{socket_, event, 0};
        int ready = poll(&waiting, 1, timeout_ms);
        while (ready < 0 && errno == EINTR)
            ready = poll(&waiting, 1, timeout_ms);
        return ready > 0;
    }

    int socket_ = -1;
    pid_t process_ = -1;
    std::string received_;
};

Wandb::Wandb(const WandbSettings& settings)
    : client_(std::make_unique<Client>(settings.python)),
      finish_timeout_seconds_(settings.finish_timeout_seconds),
      exceptions_at_start_(std::uncaught_exceptions()) {
    const nlohmann::json request = {{"command", "init"},
                                    {"project", settings.project},
                                    {"name", settings.name},
                                    {"id", settings.id},
                                    {"config", nlohmann::json::parse(settings.config)}};
    const bool sent = client_->send(request.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
    const auto answer = sent ? client_->receive(settings.start_timeout_seconds) : std::nullopt;
    if (!answer) {
        client_->kill();
        throw cannot_start(settings.python.front() + " did not begin a run (it ended, or said nothing for " +
                           std::to_string(std::lround(settings.start_timeout_seconds)) + " s)");
    }
    const nlohmann::json reply = nlohmann::json::parse(*answer);
    if (reply.contains("error")) {
        client_->end(1);
        std::string text = reply.at("error");
        while (text.ends_with('.'))
            text.pop_back();
        if (reply.contains("missing")) throw cannot_start(settings.python.front() + " has no wandb client: " + text);
        throw Error(ErrorKind::unsupported,
                    "--wandb: the client cannot begin a run: " + text +
                        "; log in with `wandb login`, or keep the run on this machine with WANDB_MODE=offline");
    }
    description_ = "run " + reply.at("run").get<std::string>();
    const std::string url = reply.at("url");
    if (!url.empty()) description_ += ", " + url;
}

Wandb::~Wandb() {
    if (!client_) return;
    const bool failed = std::uncaught_exceptions() > exceptions_at_start_;
    if (failed && compilation_status_ == kCompiling) handle(Status{kCompilationStatus, "failed"});
    const nlohmann::json request = {{"command", "finish"}, {"exit_code", failed ? 1 : 0}};
    send(request.dump() + "\n");
    if (client_ && !client_->end(finish_timeout_seconds_))
        log::warning("Weights & Biases: the client has not finished; it goes on by itself");
}

void Wandb::handle(const Row& row) {
    if (row.use != Row::Use::logged) return;
    nlohmann::json values;
    for (const Field& field : row.record.fields) {
        if (field.measured) values[field.name] = json_of(field);
    }
    const nlohmann::json request = {{"command", "log"}, {"values", values}};
    send(request.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
}

void Wandb::handle(const Status& status) {
    if (status.key == kCompilationStatus) compilation_status_ = status.value;
    const nlohmann::json request = {{"command", "summary"},
                                    {"values", {{std::string(status.key), std::string(status.value)}}}};
    send(request.dump() + "\n");
}

void Wandb::send(const std::string& line) {
    if (!client_ || client_->send(line)) return;
    log::warning("Weights & Biases: the client has stopped; the run goes on without it");
    client_->kill();
    client_.reset();
}

}  // namespace cnntrain::metrics
