// A rank of a run that goes wrong: `mpi_fault <how> <rank> <timeout in seconds> <marker>`. All ranks sum a bucket over
// and over; after some sums the given rank is killed, stops, ends, or throws; or it stops before MPI starts, or once
// all have met at the end; or it comes late to the last sum, so that all ranks can be stopped while they wait. The
// others print their error and end with its exit code.
// The marker only distinguishes these processes from others.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/parallel/communicator.h"

namespace {

void fail_as(const std::string& how) {
    if (how == "killed") std::raise(SIGKILL);
    if (how == "stopped") std::raise(SIGSTOP);
    if (how == "returns") std::_Exit(0);
    if (how == "paused") {
        std::puts("waiting");
        std::fflush(stdout);
        constexpr int kTenths = 15;  // one by one: what a sleep has left passes while a process is stopped
        for (int i = 0; i < kTenths; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    if (how == "throws") throw cnntrain::Error(cnntrain::ErrorKind::storage, "no space left on the disk");
}

bool is_launched_as(int rank) {
    const auto launched = cnntrain::comm::read_launched(cnntrain::process_variables());
    return launched.world && launched.world->rank == rank;
}

void run(const std::string& how, int failing, double timeout_seconds) {
    if (how == "absent" && is_launched_as(failing)) std::raise(SIGSTOP);
    const auto communicator = cnntrain::comm::make_mpi_communicator({.timeout_seconds = timeout_seconds});
    try {
        std::vector<float> values(100'000, 1.0F);
        const int updates = how == "last" || how == "paused" ? 21 : 1'000'000;
        for (int update = 0; update < updates; ++update) {
            if (update == 20 && communicator->rank() == failing) fail_as(how);
            communicator->wait(communicator->start_all_reduce(3, values, {}));
        }
        communicator->finish();
        if (how == "last" && communicator->rank() == failing) std::raise(SIGSTOP);
    } catch (const cnntrain::Error& error) {
        communicator->leave(error.what());
        throw;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: mpi_fault killed|stopped|returns|throws|absent|last|paused RANK SECONDS MARKER\n");
        return 2;
    }
    try {
        run(argv[1], std::stoi(argv[2]), std::stod(argv[3]));
    } catch (const cnntrain::Error& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        std::fflush(stderr);
        std::_Exit(cnntrain::exit_code(error.kind()));
    }
    return 0;
}
