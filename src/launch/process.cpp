#include "launch/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/commands.h"

namespace cnntrain::launch {
namespace {

struct Tag {
    enum class Kind { none, incomplete, whole };
    Kind kind = Kind::none;
    int rank = 0;
    std::size_t length = 0;
};

/// Reads digits from position `at` and moves `at` past them. Empty if there are none.
std::optional<int> read_number(std::string_view text, std::size_t& at) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc{} || value < 0) return std::nullopt;
    at = static_cast<std::size_t>(end - text.data());
    return value;
}

/// Reads the tag "[job,rank]<stdout>:" or "<stderr>:" at the start of `text`.
Tag read_tag(std::string_view text, Stream stream) {
    const std::string_view rest = stream == Stream::out ? "]<stdout>:" : "]<stderr>:";
    if (text.empty() || text.front() != '[') return {};
    std::size_t at = 1;
    Tag tag;
    for (const char behind : {',', ']'}) {
        if (at == text.size()) return {Tag::Kind::incomplete};
        const auto number = read_number(text, at);
        if (!number) return {};
        tag.rank = *number;
        if (at == text.size()) return {Tag::Kind::incomplete};
        if (text[at] != behind) return {};
        if (behind == ',') ++at;
    }
    const std::string_view left = text.substr(at, rest.size());
    if (!rest.starts_with(left)) return {};
    if (left.size() < rest.size()) return {Tag::Kind::incomplete};
    return {Tag::Kind::whole, tag.rank, at + rest.size()};
}

/// The number after the text `begin` in `line`.
std::optional<int> number_behind(std::string_view line, std::string_view begin) {
    std::size_t at = line.find(begin);
    if (at == std::string_view::npos) return std::nullopt;
    at += begin.size();
    return read_number(line, at);
}

}  // namespace

void OutputFilter::add(Stream stream, std::string_view chunk) {
    Input& input = inputs_[static_cast<std::size_t>(stream)];
    input.pending += chunk;
    std::string_view text = input.pending;
    while (!text.empty()) {
        const Tag tag = read_tag(text, stream);
        if (tag.kind == Tag::Kind::incomplete) break;
        if (tag.kind == Tag::Kind::whole) input.owner = tag.rank;
        const std::size_t from = std::max<std::size_t>(tag.length, 1);
        const std::size_t line_end = text.find('\n', tag.length);
        const std::size_t next_tag = text.find('[', from);  // mpirun may also write tags in the middle of a line
        const bool ends_line = line_end < next_tag;
        const std::size_t end = std::min({ends_line ? line_end + 1 : next_tag, text.size()});
        take(stream, text.substr(0, end));
        if (ends_line) input.owner.reset();
        text.remove_prefix(end);
    }
    input.pending = std::string(text);
}

void OutputFilter::finish() {
    for (const Stream stream : {Stream::out, Stream::err}) {
        Input& input = inputs_[static_cast<std::size_t>(stream)];
        take(stream, input.pending);
        input.pending.clear();
    }
}

void OutputFilter::take(Stream stream, std::string_view text) {
    constexpr std::size_t kMostLines = 50;
    const Input& input = inputs_[static_cast<std::size_t>(stream)];
    if (!input.owner && stream == Stream::err) read_verdict(text);
    if (!input.owner || *input.owner == shown_) {
        if (!text.empty()) sink_(stream, text);
        return;
    }
    if (stream == Stream::out) return;
    std::deque<std::string>& lines = last_lines_[*input.owner];
    if (lines.empty() || lines.back().ends_with('\n')) lines.emplace_back();
    lines.back() += text.substr(read_tag(text, stream).length);
    if (lines.size() > kMostLines) lines.pop_front();
}

/// Recognises mpirun's report of a failed process: "Process name: [[7119,1],2]", by Open MPI 5 "Process name:
/// [prterun-vm-4221@1,2]", if it exited with a code; "process rank 2 with PID" if a signal ended it.
void OutputFilter::read_verdict(std::string_view text) {
    verdict_line_ += text;
    if (!verdict_line_.ends_with('\n')) return;
    const std::string line = std::move(verdict_line_);
    verdict_line_.clear();
    if (failed_) return;
    failed_ = number_behind(line, "process rank ");
    const std::size_t name = line.find("Process name: [");
    const std::size_t comma = line.rfind(',');
    if (name != std::string::npos && comma != std::string::npos && comma > name)
        failed_ = number_behind(std::string_view(line).substr(comma), ",");
}

std::map<int, std::string> OutputFilter::last_lines_of_failed() const {
    std::map<int, std::string> result;
    for (const auto& [instance, lines] : last_lines_) {
        if (failed_ && instance != *failed_) continue;
        for (const std::string& line : lines)
            result[instance] += line;
    }
    return result;
}

namespace {

// The guard is a process between this program and one that it starts. It ensures that no process is left behind.

/// A word written by the guard: first the guarded process's id, later its status from waitpid() or kStayedBehind.
using GuardWord = int;
constexpr GuardWord kStayedBehind = -1;

struct GuardOrder {
    pid_t leader = 0;     // the requested process, a child of the guard
    int alive = -1;       // pipe that ends if this program wants a stop or has ended
    int status_out = -1;  // pipe for GuardWords
    std::chrono::milliseconds patience{0};
    std::string asked_first;  // see ProcessRequest
};

/// Time for the leader to end after it was signalled because its children did not end, or after all of them have ended.
constexpr std::chrono::seconds kLeaderTime{5};

namespace fs = std::filesystem;
using GuardClock = std::chrono::steady_clock;

struct Relation {
    pid_t process = 0;
    pid_t parent = 0;
};

/// All running processes, from /proc.
std::vector<Relation> running_processes() {
    std::vector<Relation> found;
    std::error_code ignored;
    for (const auto& folder : fs::directory_iterator("/proc", ignored)) {
        const std::string name = folder.path().filename();
        const auto process = as_number<pid_t>(name);
        if (!process) continue;
        std::ifstream file(folder.path() / "stat");
        std::string text;
        std::getline(file, text);
        const std::size_t close = text.rfind(')');  // of the program's name, which may contain any character
        if (close == std::string::npos) continue;
        Relation relation{*process};
        char state = ' ';
        if (std::sscanf(text.c_str() + close + 1, " %c %d", &state, &relation.parent) != 2) continue;
        if (state != 'Z') found.push_back(relation);
    }
    return found;
}

std::vector<pid_t> descendants(pid_t ancestor) {
    const std::vector<Relation> all = running_processes();
    std::vector<pid_t> tree = {ancestor};
    for (std::size_t i = 0; i < tree.size(); ++i) {
        for (const Relation& relation : all)
            if (relation.parent == tree[i]) tree.push_back(relation.process);
    }
    return {tree.begin() + 1, tree.end()};
}

void signal_all(const std::vector<pid_t>& processes, int number) {
    for (const pid_t process : processes)
        kill(process, number);
}

bool has_variable(pid_t process, const std::string& name) {
    std::ifstream file("/proc/" + std::to_string(process) + "/environ");
    for (std::string entry; std::getline(file, entry, '\0');) {
        if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') return true;
    }
    return false;
}

/// The guard, in a process that is the reaper of its descendants (PR_SET_CHILD_SUBREAPER): every process that the
/// leader starts stays below the guard, even if its parent ends or it changes session.
class Guard {
public:
    explicit Guard(const GuardOrder& order) : order_(order) {}

    /// Exits when no process is left.
    [[noreturn]] void run() {
        report(order_.leader);
        for (;;) {
            reap();
            if (GuardClock::now() > limit_) {
                if (next_ == Next::ask_leader) {
                    ask_leader();
                } else {
                    kill_all();
                }
            }
            watch_leader();
            wait_for_stop();
        }
    }

private:
    enum class Next { nothing, ask_leader, kill };

    void report(GuardWord word) const {
        const ssize_t ignored = write(order_.status_out, &word, sizeof word);
        static_cast<void>(ignored);
    }

    void reap() {
        int status = 0;
        pid_t ended = 0;
        while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
            if (ended != order_.leader) continue;
            report(stays_behind_ ? kStayedBehind : status);
            leader_ended_ = true;
            const bool others_may_finish = asked_ && order_.asked_first.empty();
            if (!others_may_finish) limit_ = GuardClock::now() - std::chrono::seconds(1);
            next_ = Next::kill;
        }
        if (ended < 0) _exit(0);  // no process is left
    }

    /// Ends the processes that the leader's children have left, and kills a leader that has started other processes and
    /// stays long after they have ended.
    void watch_leader() {
        constexpr std::chrono::milliseconds kBetweenLooks{500};
        const GuardClock::time_point now = GuardClock::now();
        if (order_.asked_first.empty() || leader_ended_ || now < next_look_) return;
        next_look_ = now + kBetweenLooks;
        if (!descendants(order_.leader).empty() || end_orphans()) {
            has_started_others_ = true;
            last_seen_with_others_ = now;
        } else if (has_started_others_ && now > last_seen_with_others_ + kLeaderTime) {
            stays_behind_ = true;
            kill(order_.leader, SIGKILL);
        }
    }

    /// Background processes of processes that have ended: they keep the pipes open on which mpirun waits. The first
    /// call that finds some leaves them a moment, the second one asks them to end, each later one kills them. False
    /// when there are none.
    bool end_orphans() {
        std::vector<pid_t> orphans = descendants(getpid());
        std::erase(orphans, order_.leader);
        if (orphans.empty()) return false;
        constexpr int kAsks = 1;
        if (looks_at_orphans_ >= kAsks) signal_all(orphans, looks_at_orphans_ == kAsks ? SIGTERM : SIGKILL);
        ++looks_at_orphans_;
        return true;
    }

    void wait_for_stop() {
        constexpr int kMilliseconds = 20;
        pollfd lifeline{asked_ ? -1 : order_.alive, POLLIN, 0};
        if (poll(&lifeline, 1, kMilliseconds) <= 0) return;
        asked_ = true;
        if (leader_ended_) return;
        limit_ = GuardClock::now() + order_.patience;
        next_ = Next::kill;
        if (order_.asked_first.empty()) {
            signal_all(descendants(getpid()), SIGTERM);
        } else if (ask_marked()) {
            next_ = Next::ask_leader;
        } else {
            ask_leader();
        }
    }

    /// Returns false if there are none.
    bool ask_marked() const {
        bool any = false;
        for (const pid_t process : descendants(order_.leader)) {
            if (!has_variable(process, order_.asked_first)) continue;
            any = true;
            kill(process, SIGTERM);
        }
        return any;
    }

    void ask_leader() {
        kill(order_.leader, SIGTERM);
        limit_ = GuardClock::now() + kLeaderTime;
        next_ = Next::kill;
    }

    static void kill_all() { signal_all(descendants(getpid()), SIGKILL); }

    const GuardOrder& order_;
    bool asked_ = false;
    bool leader_ended_ = false;
    bool has_started_others_ = false;
    bool stays_behind_ = false;
    int looks_at_orphans_ = 0;
    GuardClock::time_point next_look_ = GuardClock::now();
    GuardClock::time_point last_seen_with_others_;
    Next next_ = Next::nothing;
    GuardClock::time_point limit_ = GuardClock::time_point::max();
};

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
        Guard({leader, alive_.read_end(), status_.write_end(), request_.patience, request_.asked_first}).run();
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
    const std::string folders = path == environment.end() ? "/usr/bin:/bin" : path->second;
    for (const std::string_view folder : split(folders, ':')) {
        const fs::path candidate = fs::path(folder) / program;
        if (is_program(candidate)) return candidate;
    }
    return "";
}

namespace {

/// True for a script that this program stands for. Throws Error(unsupported) for one that it lacks.
bool is_own_script(std::string_view word) {
    if (!options::why_not_here(word).empty()) options::command_named(word);
    return options::is_script(word);
}

}  // namespace

bool is_interpreter(std::string_view word) {
    const std::string_view file = last_part(word);
    return file == "python3" || file == "python";
}

std::vector<std::string> with_own_commands(std::vector<std::string> words, const std::string& self) {
    if (words.empty()) return words;
    if (words.front() == "cnntrain") {
        words.front() = self;
        return words;
    }
    if (is_interpreter(words.front()) && words.size() > 1 && is_own_script(words[1])) {
        words.front() = self;
        return words;
    }
    if (is_own_script(words.front())) words.insert(words.begin(), self);
    return words;
}

bool only_describes(const std::vector<std::string>& words, const std::string& self) {
    const bool own = !words.empty() && (words.front() == self || last_part(words.front()) == "cnntrain");
    return own && std::ranges::any_of(words, [](const std::string& word) {
               return word == "--dry-run" || word == "--dry_run" || word == "--print-config" ||
                      options::asks_help(word);
           });
}

}  // namespace cnntrain::launch
