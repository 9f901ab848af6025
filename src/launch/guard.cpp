#include "launch/guard.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

namespace cnntrain::launch {
namespace {

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
        Relation relation;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), relation.process);
        if (error != std::errc{} || end != name.data() + name.size()) continue;
        std::ifstream file(folder.path() / "stat");
        std::string text;
        std::getline(file, text);
        const std::size_t close = text.rfind(')');  // of the program's name, which may contain any character
        if (close == std::string::npos) continue;
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

class Guard {
public:
    explicit Guard(const GuardOrder& order) : order_(order) {}

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

}  // namespace

void guard(const GuardOrder& order) {
    Guard(order).run();
}

}  // namespace cnntrain::launch
