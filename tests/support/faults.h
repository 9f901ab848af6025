// Faults by number, as SQLite's tests make them: the n-th operation of a run fails, for n = 1, 2, 3, ... until a run
// meets no fault.
#pragma once

#include <csignal>
#include <ctime>

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <string>

namespace cnntrain::test {

/// The operation with a number fails, the others are only counted.
class Fault {
public:
    explicit Fault(int number) : number_(number) {}

    int number() const { return number_; }
    /// True for the operation that fails.
    bool strikes(const std::string& operation) {
        if (++counted_ != number_) return false;
        strike(operation);
        return true;
    }
    /// The operation has failed.
    void strike(const std::string& operation) { struck_ = operation; }
    /// Name of the operation that failed; empty: none did.
    const std::string& struck() const { return struck_; }

private:
    int number_;
    int counted_ = 0;
    std::string struck_;
};

/// Kills the process, and so the test, when its scope lasts longer: threads that wait for each other cannot be stopped.
class TimeLimit {
public:
    explicit TimeLimit(time_t seconds) {
        sigevent kill = {};
        kill.sigev_notify = SIGEV_SIGNAL;
        kill.sigev_signo = SIGKILL;
        timer_create(CLOCK_MONOTONIC, &kill, &timer_);
        const itimerspec time = {.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_nsec = 0}};
        timer_settime(timer_, 0, &time, nullptr);
    }
    ~TimeLimit() { timer_delete(timer_); }
    TimeLimit(const TimeLimit&) = delete;
    TimeLimit& operator=(const TimeLimit&) = delete;

private:
    timer_t timer_{};
};

/// Prints the faults tried, and those of each kind, under the name of the running test.
inline void tell_faults(const std::map<std::string, int>& tried) {
    int all = 0;
    std::string text;
    for (const auto& [operation, count] : tried) {
        text += (text.empty() ? "" : ", ") + operation + " " + std::to_string(count);
        all += count;
    }
    std::cout << all << " faults: " << text << "\n";
    testing::Test::RecordProperty("faults", all);
    testing::Test::RecordProperty("kinds", text);
}

/// Calls `attempt(fault)` with one number after another until no operation was struck or an expectation failed.
/// `next` gives the number that follows another one. Returns the faults tried by kind.
template <typename Attempt, typename Next>
std::map<std::string, int> try_faults(const Attempt& attempt, const Next& next) {
    constexpr time_t kSeconds = 120;
    std::map<std::string, int> tried;
    for (int number = 1;; number = next(number)) {
        const TimeLimit limit(kSeconds);
        Fault fault(number);
        attempt(fault);
        if (testing::Test::HasFailure()) {
            ADD_FAILURE() << "after operation " << number << ", which failed in: " << fault.struck();
            break;
        }
        if (fault.struck().empty()) break;
        ++tried[fault.struck()];
    }
    tell_faults(tried);
    return tried;
}

/// Every number.
template <typename Attempt> std::map<std::string, int> try_every_fault(const Attempt& attempt) {
    return try_faults(attempt, [](int number) { return number + 1; });
}

}  // namespace cnntrain::test
