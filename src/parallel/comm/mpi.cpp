// Ranks started by mpirun or srun. The only file that includes MPI's header.
//
// Messages use MPI_Isend and MPI_Irecv, like libnbc, which implements Open MPI's own non-blocking collectives. Notices
// have a separate communicator. Memory shared by a node is an MPI window. Accesses to it are ordered by atomic counters
// in it (MPI 4.0, section 12.4: in the unified model, loads and stores to such memory are the machine's), so a window
// needs only one epoch, which stays open.
#include <mpi.h>
#include <sched.h>

#include <chrono>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "parallel/comm/transport.h"

namespace cnntrain::comm {
namespace {

constexpr int kNoticeTag = 0;
constexpr std::chrono::milliseconds kNoticeTime{200};  // for the network to deliver notices before the process ends

std::string text_of(int code) {
    std::string text(MPI_MAX_ERROR_STRING, '\0');
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) return "error " + std::to_string(code);
    text.resize(static_cast<std::size_t>(length));
    return text;
}

void check(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    throw Error(ErrorKind::peers, std::string(call) + ": " + text_of(code));
}

/// Runs a call in which MPI waits for all ranks without a timeout. Throws Error(peers) if it takes longer than
/// `seconds`; the call then stays in its thread until the process ends, so `work` must own its data.
template <typename Work> auto within(double seconds, const std::string& operation, Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    std::thread thread(std::move(task));
    // Waits in steps, so that time in which this process itself was stopped counts as one step.
    constexpr std::chrono::duration<double> kStep{0.1};
    bool done = false;
    for (auto waited = kStep * 0; !done && waited.count() < seconds; waited += kStep)
        done = result.wait_for(kStep) == std::future_status::ready;
    if (!done) {
        thread.detach();
        throw Error(ErrorKind::peers, operation + ": not all ranks took part within " + decimal(seconds) +
                                          " s; one of them is dead, stalled or cut off; start the run again with "
                                          "restore, or allow more time");
    }
    thread.join();
    return result.get();
}

/// A rank's information about the others once MPI has started.
struct Started {
    int rank = 0;
    int size = 1;
    Nodes nodes;
    MPI_Comm messages = MPI_COMM_NULL;
    MPI_Comm notices = MPI_COMM_NULL;
    MPI_Comm node = MPI_COMM_NULL;
};

/// Ranks that can share memory form a node; its key is its lowest rank.
void find_nodes(Started& world, int ranks_per_node) {
    MPI_Comm host = MPI_COMM_NULL;
    check(MPI_Comm_split_type(world.messages, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &host),
          "MPI_Comm_split_type");
    std::uint64_t key = static_cast<std::uint64_t>(world.rank);
    check(MPI_Bcast(&key, 1, MPI_UINT64_T, 0, host), "MPI_Bcast");
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(world.size));
    check(MPI_Allgather(&key, 1, MPI_UINT64_T, keys.data(), 1, MPI_UINT64_T, world.messages), "MPI_Allgather");
    world.nodes = group_nodes(keys, ranks_per_node);
    const int node = world.nodes.node_of[static_cast<std::size_t>(world.rank)];
    check(MPI_Comm_split(world.messages, node, world.rank, &world.node), "MPI_Comm_split");
    check(MPI_Comm_free(&host), "MPI_Comm_free");
}

Started start_mpi(int ranks_per_node) {
    int level = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
    if (level < MPI_THREAD_SERIALIZED) {
        throw Error(ErrorKind::unsupported,
                    "this MPI serves the thread that initialised it only (MPI_THREAD_SERIALIZED "
                    "is needed); use one that was built with threads");
    }
    Started world;
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world.messages), "MPI_Comm_dup");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world.notices), "MPI_Comm_dup");
    check(MPI_Comm_rank(world.messages, &world.rank), "MPI_Comm_rank");
    check(MPI_Comm_size(world.messages, &world.size), "MPI_Comm_size");
    find_nodes(world, ranks_per_node);
    return world;
}

struct SharedMemory {
    MPI_Win window = MPI_WIN_NULL;
    void* memory = nullptr;
};

SharedMemory share_in_node(MPI_Comm node, std::size_t bytes, std::size_t zeroed) {
    int local = 0;
    check(MPI_Comm_rank(node, &local), "MPI_Comm_rank");
    SharedMemory shared;
    const auto own_bytes = static_cast<MPI_Aint>(local == 0 ? bytes : 0);
    check(
        MPI_Win_allocate_shared(own_bytes, 1, MPI_INFO_NULL, node, static_cast<void*>(&shared.memory), &shared.window),
        "MPI_Win_allocate_shared");
    MPI_Aint shared_bytes = 0;
    int unit = 0;
    check(MPI_Win_shared_query(shared.window, 0, &shared_bytes, &unit, static_cast<void*>(&shared.memory)),
          "MPI_Win_shared_query");
    check(MPI_Win_lock_all(MPI_MODE_NOCHECK, shared.window), "MPI_Win_lock_all");
    if (local == 0) std::memset(shared.memory, 0, zeroed);
    check(MPI_Barrier(node), "MPI_Barrier");
    return shared;
}

void end_mpi(Started world, std::vector<MPI_Win> windows) {
    for (MPI_Win& window : windows) {
        MPI_Win_unlock_all(window);
        MPI_Win_free(&window);
    }
    for (MPI_Comm* communicator : {&world.node, &world.notices, &world.messages})
        MPI_Comm_free(communicator);
    MPI_Finalize();
}

class MpiTransport final : public Transport {
public:
    explicit MpiTransport(const Settings& settings) : timeout_seconds_(settings.timeout_seconds) {
        const int ranks_per_node = settings.ranks_per_node;
        world_ = within(timeout_seconds_, "start of MPI", [ranks_per_node] { return start_mpi(ranks_per_node); });
        expect_notice();
    }

    int rank() const override { return world_.rank; }
    const Nodes& nodes() const override { return world_.nodes; }

    Ticket send(int to, int tag, std::span<const std::byte> bytes) override {
        const Ticket ticket = new_ticket();
        check(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, world_.messages,
                        &requests_[ticket]),
              "MPI_Isend");
        return ticket;
    }

    Ticket receive(int from, int tag, std::span<std::byte> bytes) override {
        const Ticket ticket = new_ticket();
        check(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, tag, world_.messages,
                        &requests_[ticket]),
              "MPI_Irecv");
        return ticket;
    }

    bool complete(Ticket ticket) override {
        int done = 0;
        check(MPI_Test(&requests_[ticket], &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) free_tickets_.push_back(ticket);
        return done != 0;
    }

    std::span<std::byte> share_memory(std::size_t bytes, std::size_t zeroed) override {
        const SharedMemory shared = within(timeout_seconds_, "sharing memory", [node = world_.node, bytes, zeroed] {
            return share_in_node(node, bytes, zeroed);
        });
        windows_.push_back(shared.window);
        return {static_cast<std::byte*>(shared.memory), bytes};
    }

    /// A rank that has ended never receives its notice, so waiting for the network is limited.
    void post(const Notice& notice) override {
        std::vector<MPI_Request> requests;
        for (int to = 0; to < world_.size; ++to) {
            if (to == world_.rank) continue;
            MPI_Request request = MPI_REQUEST_NULL;
            const int code = MPI_Isend(&notice, sizeof notice, MPI_BYTE, to, kNoticeTag, world_.notices, &request);
            if (code == MPI_SUCCESS) requests.push_back(request);
        }
        const auto end = std::chrono::steady_clock::now() + kNoticeTime;
        int done = 0;
        while (done == 0 && std::chrono::steady_clock::now() < end) {
            const int code =
                MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
            if (code != MPI_SUCCESS) return;  // one notice failed; the others have been sent
        }
    }

    bool next_notice(Notice& notice) override {
        int done = 0;
        check(MPI_Test(&incoming_request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done == 0) return false;
        notice = incoming_;
        expect_notice();
        return true;
    }

    /// Spins for the time that a message takes on a fast network, then yields the core, then sleeps. After some
    /// seconds, which only happens if a rank is missing, sleeps longer.
    void idle(int turn) override {
        constexpr int kSpins = 200;
        constexpr int kYields = 2000;
        constexpr int kShortSleeps = 50'000;
        if (turn < kSpins) return;
        if (turn < kYields) {
            sched_yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(turn < kShortSleeps ? 20 : 500));
        }
    }

    /// Ends MPI. No MPI function is called after an error: finalising waits for all ranks, but the process must end. If
    /// another rank stalls while MPI ends, this process ends without it, because the run's work is done.
    void close(bool orderly) override {
        if (!orderly) return;
        MPI_Cancel(&incoming_request_);
        MPI_Wait(&incoming_request_, MPI_STATUS_IGNORE);
        try {
            within(timeout_seconds_, "end of MPI", [world = world_, windows = windows_] { end_mpi(world, windows); });
        } catch (const Error&) {
            return;
        }
    }

private:
    Ticket new_ticket() {
        if (free_tickets_.empty()) {
            requests_.push_back(MPI_REQUEST_NULL);
            return requests_.size() - 1;
        }
        const Ticket ticket = free_tickets_.back();
        free_tickets_.pop_back();
        return ticket;
    }

    void expect_notice() {
        check(MPI_Irecv(&incoming_, sizeof incoming_, MPI_BYTE, MPI_ANY_SOURCE, kNoticeTag, world_.notices,
                        &incoming_request_),
              "MPI_Irecv");
    }

    double timeout_seconds_;
    Started world_;
    std::vector<MPI_Win> windows_;
    std::vector<MPI_Request> requests_;  // by ticket
    std::vector<Ticket> free_tickets_;
    Notice incoming_;
    MPI_Request incoming_request_ = MPI_REQUEST_NULL;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(const Settings& settings) {
    return make_over_transport(std::make_unique<MpiTransport>(settings), settings);
}

}  // namespace cnntrain::comm
