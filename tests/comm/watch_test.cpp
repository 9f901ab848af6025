// Timeouts of a waiting rank that is itself stopped meanwhile.
#include "parallel/comm/transport.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cnntrain/base/error.h"

namespace cnntrain::comm {
namespace {

constexpr double kTimeoutSeconds = 1;
constexpr std::chrono::milliseconds kPause{1200};

/// Rank 0 of two, of which the other one sends nothing. While it looks for a notice for the first time, the process is
/// stopped.
class Silence : public Transport {
public:
    int rank() const override { return 0; }
    const Nodes& nodes() const override { return nodes_; }
    Ticket send(int /*to*/, int /*tag*/, std::span<const std::byte> /*bytes*/) override { return 0; }
    Ticket receive(int /*from*/, int /*tag*/, std::span<std::byte> /*bytes*/) override { return 0; }
    bool complete(Ticket /*ticket*/) override { return false; }
    std::span<std::byte> share_memory(std::size_t /*bytes*/, std::size_t /*zeroed*/) override { return {}; }
    void post(const Notice& /*notice*/) override {}
    bool next_notice(Notice& /*notice*/) override {
        if (!was_stopped_) std::this_thread::sleep_for(kPause);
        was_stopped_ = true;
        return false;
    }
    void idle(int /*turn*/) override {}
    void close(bool /*orderly*/) override {}

private:
    Nodes nodes_ = group_nodes(std::vector<std::uint64_t>{1, 2}, 0);
    bool was_stopped_ = false;
};

TEST(Watch, AStopInTheMiddleOfACheckIsNoTimeout) {
    Silence transport;
    Leavers left;
    Watch watch(transport, kTimeoutSeconds, {.name = "all-reduce", .what = "", .number = 0}, left);
    watch.check();
    watch.check();
    const auto begin = std::chrono::steady_clock::now();
    const auto wait = [&] {
        while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)) {
            watch.check();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    };
    EXPECT_THROW(wait(), Error) << "the time of the wait itself counts";
}

}  // namespace
}  // namespace cnntrain::comm
