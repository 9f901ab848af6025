#include "cnntrain/launch/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cnntrain/base/error.h"
#include "launch/guard.h"

namespace cnntrain::launch {
namespace {

namespace fs = std::filesystem;
using ProcessClock = std::chrono::steady_clock;

/// Maximum time to wait for killed processes to end.
constexpr std::chrono::seconds kKillTime{1};

[[noreturn]] void refuse(const std::string& message) {
    throw Error(ErrorKind::data, message);
}

class Pipe {
public:
    Pipe() {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) != 0) refuse(std::string("no pipe for a process: ") + std::strerror(errno));
        read_ = ends[0];
        write_ = ends[1];
    }
    ~Pipe() {
        close_read();
        close_write();
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    int read_end() const { return read_; }
    int write_end() const { return write_; }
    void close_read() { close_end(read_); }
    void close_write() { close_end(write_); }

private:
    static void close_end(int& end) {
        if (end >= 0) close(end);
        end = -1;
    }
    int read_ = -1;
    int write_ = -1;
};

/// A null-terminated array of pointers, as execve expects.
class Pointers {
public:
    explicit Pointers(std::vector<std::string> texts) : texts_(std::move(texts)) {
        for (std::string& text : texts_)
            pointers_.push_back(text.data());
        pointers_.push_back(nullptr);
    }
    char* const* get() { return pointers_.data(); }

private:
    std::vector<std::string> texts_;
    std::vector<char*> pointers_;
};

std::vector<std::string> assignments(const std::map<std::string, std::string>& environment) {
    std::vector<std::string> result;
    result.reserve(environment.size());
    for (const auto& [name, value] : environment)
        result.push_back(name + "=" + value);
    return result;
}

/// Parameters of a new process. A stream of -1 is inherited.
struct Start {
    const char* file;
    char* const* words;
    char* const* environment;
    const char* folder;
    int in = -1;
    int out = -1;
    int err = -1;
};

/// Runs in the child between fork and exec, and makes only system calls.
[[noreturn]] void become(const Start& start, int report, pid_t parent) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // without a parent, no process would wait for this one
    int failure = 0;
    if (getppid() != parent) _exit(127);
    for (const int number : {SIGTERM, SIGPIPE})  // other signals ignored by the caller stay ignored
        signal(number, SIG_DFL);
    const auto takes = [](int from, int to) { return from < 0 || dup2(from, to) >= 0; };
    const bool ready = takes(start.in, STDIN_FILENO) && takes(start.out, STDOUT_FILENO) &&
                       takes(start.err, STDERR_FILENO) && chdir(start.folder) == 0;
    if (ready) execve(start.file, start.words, start.environment);
    failure = errno;
    const ssize_t ignored = write(report, &failure, sizeof failure);
    static_cast<void>(ignored);
    _exit(127);
}

/// The requested process, below its own guard.
class Child {
public:
    explicit Child(const ProcessRequest& request) : request_(request) { start(); }
    ~Child() {
        for (Pipe* pipe : {&out_, &err_, &status_})
            pipe->close_read();
        alive_.close_write();
        const auto limit = ProcessClock::now() + longest_end();
        while (waitpid(guard_, nullptr, WNOHANG) == 0) {
            if (ProcessClock::now() > limit) kill(guard_, SIGKILL);
            usleep(5'000);
        }
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    ProcessResult run() {
        const auto begin = ProcessClock::now();
        while (!ended_ && result_.end == ProcessEnd::exited) {
            read_some(std::chrono::milliseconds(100));
            if (request_.on_tick) request_.on_tick();
            if (ended_) break;
            const std::chrono::duration<double> age = ProcessClock::now() - begin;
            if (request_.timeout_seconds && age.count() >= *request_.timeout_seconds)
                result_.end = ProcessEnd::timed_out;
            if (request_.stop_requested && request_.stop_requested()) result_.end = ProcessEnd::stopped;
        }
        if (result_.end != ProcessEnd::exited) alive_.close_write();
        finish();
        result_.out = out_text_.text();
        result_.err = err_text_.text();
        result_.left_out_bytes = out_text_.left_out() + err_text_.left_out();
        result_.seconds = std::chrono::duration<double>(ProcessClock::now() - begin).count();
        return std::move(result_);
    }

private:
    /// Maximum time from a stop until all processes have ended.
    std::chrono::milliseconds longest_end() const {
        return request_.patience + kKillTime + (request_.asked_first.empty() ? std::chrono::seconds(0) : kLeaderTime);
    }

    void start() {
        const std::string file = find_program(request_.words.front(), request_.environment);
        if (file.empty()) refuse(request_.words.front() + ": there is no such program");
        Pointers words(request_.words);
        Pointers environment(assignments(request_.environment));
        Pipe report;
        guard_ = fork();
        if (guard_ < 0) refuse(std::string("no process can be started: ") + std::strerror(errno));
        if (guard_ == 0)
            start_below_guard({file.c_str(), words.get(), environment.get(), request_.folder.c_str()}, report);
        for (Pipe* pipe : {&out_, &err_, &report, &status_})
            pipe->close_write();
        alive_.close_read();
        if (request_.keeps_output) {
            out_.close_read();
            err_.close_read();
        }
        int failure = 0;
        if (read(report.read_end(), &failure, sizeof failure) == sizeof failure) {
            waitpid(guard_, nullptr, 0);
            refuse(file + ": cannot be started in " + request_.folder + ": " + std::strerror(failure));
        }
        GuardWord leader = 0;
        const bool started = read(status_.read_end(), &leader, sizeof leader) == sizeof leader;
        if (started && request_.on_start) request_.on_start(leader);
    }

    [[noreturn]] void start_below_guard(Start start, Pipe& report) {
        setsid();  // separates it from Ctrl-C on the terminal
        signal(SIGPIPE, SIG_IGN);
        signal(SIGCHLD, SIG_DFL);  // if SIGCHLD were ignored, exit codes would be lost
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (!request_.keeps_input) start.in = nothing;
        if (!request_.keeps_output) {
            start.out = out_.write_end();
            start.err = err_.write_end();
        }
        const pid_t self = getpid();
        const pid_t leader = fork();
        if (leader == 0) become(start, report.write_end(), self);
        if (leader < 0) {
            const int failure = errno;
            const ssize_t ignored = write(report.write_end(), &failure, sizeof failure);
            static_cast<void>(ignored);
            _exit(127);
        }
        for (const int number : {SIGTERM, SIGINT, SIGHUP})  // the guard ends after the last process below it
            signal(number, SIG_IGN);
        for (Pipe* pipe : {&out_, &err_, &report, &alive_})  // each pipe closes when its other users have ended
            pipe->close_write();
        for (Pipe* pipe : {&out_, &err_, &report, &status_})
            pipe->close_read();
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
            dup2(nothing, stream);
        guard({leader, alive_.read_end(), status_.write_end(), request_.patience, request_.asked_first});
    }

    void take(Stream stream, Pipe& pipe, BoundedText& text) {
        std::array<char, 65536> buffer{};
        const ssize_t count = read(pipe.read_end(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) return;
        if (count <= 0) {
            pipe.close_read();
            return;
        }
        const std::string_view chunk(buffer.data(), static_cast<std::size_t>(count));
        text.add(chunk);
        if (request_.on_output) request_.on_output(stream, chunk);
    }

    /// The first call reads how the process ended. The second call finds the end of the pipe: the guard and all guarded
    /// processes have ended.
    void take_status() {
        GuardWord status = SIGKILL;  // used if another program killed the guard
        const bool told = read(status_.read_end(), &status, sizeof status) == sizeof status;
        if (!told) status_.close_read();
        if (ended_) return;
        ended_ = true;
        if (status == kStayedBehind) {
            result_.end = ProcessEnd::stayed_behind;
            status = SIGKILL;
        }
        result_.exit_code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    }

    /// Waits at most `most` for output or an end; returns false if nothing arrived.
    bool read_some(std::chrono::milliseconds most) {
        std::array<pollfd, 3> all = {
            {{out_.read_end(), POLLIN, 0}, {err_.read_end(), POLLIN, 0}, {status_.read_end(), POLLIN, 0}}};
        const int ready = poll(all.data(), all.size(), static_cast<int>(most.count()));
        if (ready <= 0) return ready < 0 && errno == EINTR;  // after a signal, the state of the pipes is unknown
        if (all[0].revents != 0) take(Stream::out, out_, out_text_);
        if (all[1].revents != 0) take(Stream::err, err_, err_text_);
        if (all[2].revents != 0) take_status();
        return true;
    }

    /// Reads the remaining output. Gives up on a process that no signal ends, or on another process that keeps the
    /// pipes open.
    void finish() {
        const auto limit = ProcessClock::now() + longest_end();
        const auto in_time = [&] { return ProcessClock::now() < limit; };
        while (status_.read_end() >= 0 && in_time())
            read_some(std::chrono::milliseconds(20));
        while (in_time() && read_some(std::chrono::milliseconds(0))) {
        }
    }

    const ProcessRequest& request_;
    Pipe out_;
    Pipe err_;
    Pipe status_;  // from the guard
    Pipe alive_;   // never written to; it closes when this process closes it or ends
    pid_t guard_ = -1;
    bool ended_ = false;
    BoundedText out_text_{request_.most_output_bytes};
    BoundedText err_text_{request_.most_output_bytes};
    ProcessResult result_;
};

bool is_program(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

void BoundedText::add(std::string_view chunk) {
    const std::size_t to_begin = std::min(chunk.size(), most_ - begin_.size());
    begin_ += chunk.substr(0, to_begin);
    end_ += chunk.substr(to_begin);
    if (end_.size() <= 2 * most_) return;
    left_out_ += end_.size() - most_;
    end_.erase(0, end_.size() - most_);
}

std::string BoundedText::text() const {
    if (left_out_ == 0) return begin_ + end_;
    return begin_ + "\n[" + std::to_string(left_out_) + " bytes are left out here]\n" + end_;
}

ProcessResult run_process(const ProcessRequest& request) {
    CNNTRAIN_CHECK(!request.words.empty(), "a process has a program");
    return Child(request).run();
}

std::string find_program(const std::string& program, const std::map<std::string, std::string>& environment) {
    if (program.find('/') != std::string::npos) return is_program(program) ? program : "";
    const auto path = environment.find("PATH");
    std::string folders = path == environment.end() ? "/usr/bin:/bin" : path->second;
    for (std::size_t begin = 0; begin <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', begin), folders.size());
        const fs::path candidate = fs::path(folders.substr(begin, end - begin)) / program;
        if (is_program(candidate)) return candidate;
        begin = end + 1;
    }
    return "";
}

}  // namespace cnntrain::launch
