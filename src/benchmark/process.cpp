#include "benchmark/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cnntrain/base/error.h"

namespace cnntrain::benchmark {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

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

/// What execve wants: pointers that end with a null.
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
    for (const auto& [name, value] : environment)
        result.push_back(name + "=" + value);
    return result;
}

/// What happens in the child between fork and exec: system calls only.
[[noreturn]] void become(const char* file, char* const* words, char* const* environment, const char* folder, int out,
                         int err, int report, pid_t parent) {
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody would read its output any more
    int failure = 0;
    if (getppid() != parent) _exit(127);
    for (const int number : {SIGTERM, SIGINT, SIGPIPE})
        signal(number, SIG_DFL);
    const int nothing = open("/dev/null", O_RDONLY);
    const bool ready = nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
                       dup2(err, STDERR_FILENO) >= 0 && chdir(folder) == 0;
    if (ready) execve(file, words, environment);
    failure = errno;
    const ssize_t ignored = write(report, &failure, sizeof failure);
    static_cast<void>(ignored);
    _exit(127);
}

/// Every process of the session that `leader` began with setsid().
std::vector<pid_t> processes_of_session(pid_t leader) {
    std::vector<pid_t> found;
    std::error_code ignored;
    for (const auto& folder : fs::directory_iterator("/proc", ignored)) {
        const std::string name = folder.path().filename();
        pid_t pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error != std::errc{} || end != name.data() + name.size()) continue;
        std::ifstream file(folder.path() / "stat");
        std::string text;
        std::getline(file, text);
        const std::size_t close = text.rfind(')');  // of the program's name, which may hold anything
        if (close == std::string::npos) continue;
        char state = ' ';
        long parent = 0;
        long group = 0;
        long session = 0;
        if (std::sscanf(text.c_str() + close + 1, " %c %ld %ld %ld", &state, &parent, &group, &session) != 4) continue;
        if (session == leader && state != 'Z') found.push_back(pid);
    }
    return found;
}

void signal_session(pid_t leader, int number) {
    for (const pid_t pid : processes_of_session(leader))
        kill(pid, number);
}

/// SIGTERM, and SIGKILL for what is still there `patience` later.
void end_session(pid_t leader, std::chrono::milliseconds patience) {
    signal_session(leader, SIGTERM);
    const auto limit = Clock::now() + patience;
    while (!processes_of_session(leader).empty() && Clock::now() < limit)
        usleep(20'000);
    signal_session(leader, SIGKILL);
}

/// A process that outlives this one for a moment, to end a session when this one is killed without being asked.
class Guard {
public:
    Guard(pid_t leader, std::chrono::milliseconds patience) {
        pid_ = fork();
        if (pid_ == 0) watch(leader, patience);
        alive_.close_read();
    }
    ~Guard() {
        if (pid_ < 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

private:
    /// Nothing is ever written to the pipe: it ends when the process that holds its other end does.
    [[noreturn]] void watch(pid_t leader, std::chrono::milliseconds patience) {
        setsid();  // Ctrl-C on the terminal is not meant for it
        alive_.close_write();
        const int nothing = open("/dev/null", O_RDWR);
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
            dup2(nothing, stream);
        char byte = 0;
        while (read(alive_.read_end(), &byte, 1) < 0 && errno == EINTR) {
        }
        end_session(leader, patience);
        _exit(0);
    }

    Pipe alive_;
    pid_t pid_ = -1;
};

class Child {
public:
    explicit Child(const ProcessRequest& request) : request_(request) {
        start();
        guard_.emplace(pid_, request.patience);
    }
    ~Child() {
        if (reaped_) return;
        signal_session(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    ProcessResult run() {
        const auto begin = Clock::now();
        while (!ended()) {
            read_some(std::chrono::milliseconds(100));
            if (request_.on_tick) request_.on_tick();
            const std::chrono::duration<double> age = Clock::now() - begin;
            if (request_.stop_requested && request_.stop_requested()) stop(ProcessEnd::stopped);
            if (request_.timeout_seconds && age.count() >= *request_.timeout_seconds) stop(ProcessEnd::timed_out);
        }
        finish();
        result_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        return std::move(result_);
    }

private:
    void start() {
        const std::string file = find_program(request_.words.front(), request_.environment);
        if (file.empty()) refuse(request_.words.front() + ": there is no such program");
        Pointers words(request_.words);
        Pointers environment(assignments(request_.environment));
        Pipe report;
        const pid_t parent = getpid();
        pid_ = fork();
        if (pid_ < 0) refuse(std::string("no process can be started: ") + std::strerror(errno));
        if (pid_ == 0) {
            become(file.c_str(), words.get(), environment.get(), request_.folder.c_str(), out_.write_end(),
                   err_.write_end(), report.write_end(), parent);
        }
        out_.close_write();
        err_.close_write();
        report.close_write();
        int failure = 0;
        if (read(report.read_end(), &failure, sizeof failure) != sizeof failure) return;
        waitpid(pid_, nullptr, 0);
        reaped_ = true;
        refuse(file + ": cannot be started in " + request_.folder + ": " + std::strerror(failure));
    }

    bool ended() {
        int status = 0;
        if (reaped_ || waitpid(pid_, &status, WNOHANG) != pid_) return reaped_;
        reaped_ = true;
        result_.exit_code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
        return true;
    }

    void take(Pipe& pipe, std::string& text) {
        std::array<char, 65536> buffer{};
        const ssize_t count = read(pipe.read_end(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) return;
        if (count <= 0) {
            pipe.close_read();
            return;
        }
        const std::string_view chunk(buffer.data(), static_cast<std::size_t>(count));
        text += chunk;
        if (request_.on_output) request_.on_output(chunk);
    }

    /// Waits for output, at most so long; false when there was none.
    bool read_some(std::chrono::milliseconds most) {
        std::array<pollfd, 2> both = {{{out_.read_end(), POLLIN, 0}, {err_.read_end(), POLLIN, 0}}};
        if (poll(both.data(), both.size(), static_cast<int>(most.count())) <= 0) return false;
        if (both[0].revents != 0) take(out_, result_.out);
        if (both[1].revents != 0) take(err_, result_.err);
        return true;
    }

    bool open() const { return out_.read_end() >= 0 || err_.read_end() >= 0; }

    void stop(ProcessEnd why) {
        result_.end = why;
        signal_session(pid_, SIGTERM);
        const auto limit = Clock::now() + request_.patience;
        while (!ended() && Clock::now() < limit)
            read_some(std::chrono::milliseconds(20));
        if (reaped_) return;
        signal_session(pid_, SIGKILL);
        while (!ended())
            read_some(std::chrono::milliseconds(20));
    }

    /// What is left behind goes, and its output is read to the end.
    void finish() {
        signal_session(pid_, SIGKILL);
        while (open() && read_some(std::chrono::milliseconds(1000))) {
        }
    }

    const ProcessRequest& request_;
    Pipe out_;
    Pipe err_;
    pid_t pid_ = -1;
    std::optional<Guard> guard_;
    bool reaped_ = false;
    ProcessResult result_;
};

bool is_program(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

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

}  // namespace cnntrain::benchmark
