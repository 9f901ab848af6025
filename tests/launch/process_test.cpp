// Child processes: output, exit codes, limits, and that nothing stays behind.
#include "launch/process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::launch {
namespace {

ProcessRequest shell(const std::string& script) {
    ProcessRequest request;
    request.words = {"sh", "-c", script};
    request.environment = {{"PATH", "/usr/bin:/bin"}, {"COLOUR", "green"}};
    request.folder = "/";
    request.patience = std::chrono::milliseconds(300);
    return request;
}

/// A process may take a moment to go.
bool is_gone(int pid) {
    for (int i = 0; i < 100; ++i) {
        if (kill(pid, 0) != 0) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
}

TEST(Process, KeepsTheStreamsApartAndShowsThemTogether) {
    ProcessRequest request = shell("echo out $COLOUR; pwd; echo err >&2; exit 3");
    std::string together;
    request.on_output = [&](Stream, std::string_view chunk) { together += chunk; };
    const ProcessResult result = run_process(request);
    EXPECT_EQ(result.end, ProcessEnd::exited);
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_EQ(result.out, "out green\n/\n");
    EXPECT_EQ(result.err, "err\n");
    EXPECT_EQ(together.size(), result.out.size() + result.err.size());
}

TEST(Process, MuchOutputIsReadWhole) {
    const ProcessResult result = run_process(shell("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"));
    EXPECT_THAT(result.out, ::testing::EndsWith("line 19999\n"));
}

TEST(BoundedText, KeepsBeginningAndEnd) {
    BoundedText text(4);
    text.add("abcd");
    text.add("efghijkl");
    EXPECT_EQ(text.text(), "abcdefghijkl");
    EXPECT_EQ(text.left_out(), 0U);
    text.add("m");
    EXPECT_EQ(text.text(), "abcd\n[5 bytes are left out here]\njklm");
    EXPECT_EQ(text.left_out(), 5U);
    BoundedText at_once(2);
    at_once.add("abcdefghi");
    EXPECT_EQ(at_once.text(), "ab\n[5 bytes are left out here]\nhi");
}

TEST(Process, AFloodOfOutputIsBoundedAndStopped) {
    ProcessRequest request = shell("yes");
    request.most_output_bytes = 100'000;
    std::uint64_t seen = 0;
    request.on_output = [&](Stream, std::string_view chunk) { seen += chunk.size(); };
    request.stop_requested = [&] { return seen > 10'000'000; };
    const ProcessResult result = run_process(request);
    EXPECT_EQ(result.end, ProcessEnd::stopped);
    EXPECT_LT(result.out.size(), 400'000U);
    EXPECT_GT(result.left_out_bytes, 9'000'000U);
}

TEST(Process, ASignalIsNegative) {
    EXPECT_EQ(run_process(shell("kill -KILL $$")).exit_code, -SIGKILL);
}

TEST(Process, TheTimeLimitEndsTheWholeTree) {
    ProcessRequest request = shell("sleep 1000 & echo $!; trap '' TERM; while true; do sleep 1; done");
    request.timeout_seconds = 0.3;
    const ProcessResult result = run_process(request);
    EXPECT_EQ(result.end, ProcessEnd::timed_out);
    EXPECT_LT(result.seconds, 30);
    EXPECT_TRUE(is_gone(std::stoi(result.out)));
}

TEST(Process, AStopAsksBeforeItKills) {
    ProcessRequest request = shell("trap 'echo asked; exit 0' TERM; echo ready; while true; do sleep 0.05; done");
    request.patience = std::chrono::seconds(20);
    bool ready = false;
    request.on_output = [&](Stream, std::string_view) { ready = true; };
    request.stop_requested = [&] { return ready; };
    const ProcessResult result = run_process(request);
    EXPECT_EQ(result.end, ProcessEnd::stopped);
    EXPECT_EQ(result.out, "ready\nasked\n");
}

TEST(Process, WhatIsLeftBehindIsEnded) {
    const ProcessResult result = run_process(shell("sleep 1000 & echo $!"));
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(is_gone(std::stoi(result.out)));
}

/// A shell line that starts a process in a session of its own, prints its number and leaves it without a parent.
std::string escaped(const std::string& what_it_does) {
    return "(setsid sh -c 'echo $$; " + what_it_does + "' &); sleep 0.3; ";
}

TEST(Process, AnEscapedProcessThatWritesOnHoldsNobodyUp) {
    ProcessRequest request = shell(escaped("while true; do echo noise; sleep 0.05; done"));
    request.timeout_seconds = 20;
    const ProcessResult result = run_process(request);
    EXPECT_EQ(result.end, ProcessEnd::exited);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_LT(result.seconds, 10);
    EXPECT_TRUE(is_gone(std::stoi(result.out)));
}

TEST(Process, TheTimeLimitEndsEscapedProcessesToo) {
    ProcessRequest request =
        shell(escaped("trap \"\" TERM; while true; do echo noise; sleep 0.05; done") + "sleep 1000");
    request.timeout_seconds = 0.5;
    const ProcessResult result = run_process(request);
    EXPECT_EQ(result.end, ProcessEnd::timed_out);
    EXPECT_LT(result.seconds, 10);
    EXPECT_TRUE(is_gone(std::stoi(result.out)));
}

TEST(Process, AStrangerThatWritesIntoThePipeIsNotWaitedFor) {
    signal(SIGPIPE, SIG_IGN);
    ProcessRequest request = shell("echo $$; sleep 0.5");
    std::thread stranger;
    request.on_output = [&](Stream, std::string_view chunk) {
        if (stranger.joinable()) return;
        const int pipe = open(("/proc/" + std::to_string(std::stoi(std::string(chunk))) + "/fd/1").c_str(), O_WRONLY);
        stranger = std::thread([pipe] {
            while (write(pipe, "noise\n", 6) > 0) {
            }
            close(pipe);
        });
    };
    const ProcessResult result = run_process(request);
    stranger.join();
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("noise"));
    EXPECT_LT(result.seconds, 10);
}

TEST(Process, TheNumberIsToldAtTheStart) {
    ProcessRequest request = shell("echo $$");
    int number = 0;
    request.on_start = [&](int started) { number = started; };
    const ProcessResult result = run_process(request);
    EXPECT_EQ(result.out, std::to_string(number) + "\n");
}

/// A file in place of one of this process's streams, until it is destroyed.
class Redirected {
public:
    Redirected(int stream, const std::string& text) : stream_(stream), kept_(dup(stream)), file_(std::tmpfile()) {
        std::fputs(text.c_str(), file_);
        std::rewind(file_);
        dup2(fileno(file_), stream_);
    }
    ~Redirected() {
        restore();
        std::fclose(file_);
    }
    Redirected(const Redirected&) = delete;
    Redirected& operator=(const Redirected&) = delete;

    void restore() {
        if (kept_ < 0) return;
        dup2(kept_, stream_);
        close(kept_);
        kept_ = -1;
    }
    std::string text() {
        restore();
        std::string result;
        std::rewind(file_);
        for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_))
            result += static_cast<char>(c);
        return result;
    }

private:
    int stream_;
    int kept_;
    std::FILE* file_;
};

TEST(Process, StreamsMayStayThoseOfThisProcess) {
    ProcessRequest request = shell("cat; echo err >&2");
    Redirected input(STDIN_FILENO, "from the input\n");
    EXPECT_EQ(run_process(request).out, "");
    request.keeps_input = true;
    request.keeps_output = true;
    Redirected output(STDOUT_FILENO, "");
    Redirected error(STDERR_FILENO, "");
    const ProcessResult result = run_process(request);
    EXPECT_EQ(output.text(), "from the input\n");
    EXPECT_EQ(error.text(), "err\n");
    EXPECT_EQ(result.out + result.err, "");
}

/// A process that ends when the two that it has started do, which have the variable MARK.
constexpr const char* kLeader =
    "trap 'echo leader asked' TERM; MARK=1 sh -c 'trap \"echo asked; exit 0\" TERM; echo ready; while :; do sleep "
    "0.05; done' & MARK=1 sh -c 'trap \"echo asked; exit 0\" TERM; echo ready; while :; do sleep 0.05; done' & wait; "
    "wait; echo end";

TEST(Process, AStopAsksTheMarkedOnesFirst) {
    ProcessRequest request = shell(kLeader);
    request.patience = std::chrono::seconds(20);
    request.asked_first = "MARK";
    std::string seen;
    request.on_output = [&](Stream, std::string_view chunk) { seen += chunk; };
    request.stop_requested = [&] { return seen == "ready\nready\n"; };
    const ProcessResult result = run_process(request);
    EXPECT_EQ(result.end, ProcessEnd::stopped);
    EXPECT_EQ(result.out, "ready\nready\nasked\nasked\nend\n");
}

TEST(Process, TheLeaderIsAskedWhenTheMarkedOnesStay) {
    ProcessRequest request = shell(
        "trap 'echo leader asked; exit 5' TERM; MARK=1 sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.05; done' & "
        "wait");
    request.asked_first = "MARK";
    bool ready = false;
    request.on_output = [&](Stream, std::string_view) { ready = true; };
    request.stop_requested = [&] { return ready; };
    const ProcessResult result = run_process(request);
    EXPECT_THAT(result.out, ::testing::EndsWith("leader asked\n"));
    EXPECT_TRUE(is_gone(std::stoi(result.out)));
    request.words = {"sh", "-c", "trap 'echo alone; exit 5' TERM; echo ready; while :; do sleep 0.05; done"};
    EXPECT_THAT(run_process(request).out, ::testing::EndsWith("alone\n"));
}

TEST(Process, ALeaderThatStaysBehindItsOwnIsEnded) {
    ProcessRequest request = shell("sleep 1 & wait; kill -STOP $$");
    request.asked_first = "MARK";
    const ProcessResult result = run_process(request);
    EXPECT_EQ(result.end, ProcessEnd::stayed_behind);
    EXPECT_GT(result.seconds, 5);
    EXPECT_LT(result.seconds, 12);
}

TEST(Process, WhatCannotBeStartedIsNamed) {
    ProcessRequest request = shell("");
    request.words = {"no-such-program"};
    EXPECT_THAT(message_of(ErrorKind::data, [&] { run_process(request); }), Not(IsEmpty()));
    request = shell("true");
    request.folder = "/no/such/folder";
    EXPECT_THAT(message_of(ErrorKind::data, [&] { run_process(request); }), HasSubstr("/no/such/folder"));
}

}  // namespace
}  // namespace cnntrain::launch
