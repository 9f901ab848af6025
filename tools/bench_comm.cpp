// Times messages and sums between the ranks that mpirun started, beside MPI_Allreduce, or beside what the time model of
// `cnntrain plan --processes` makes of the messages.
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/comm/communicator.h"
#include "cnntrain/comm/network.h"
#include "cnntrain/plan/network.h"
#include "run_tool.h"

namespace cnntrain {
namespace {

struct Options {
    std::int64_t smallest_bytes = 4;
    std::int64_t largest_bytes = 64 << 20;
    double seconds = 0.2;
    bool model = false;
    comm::Settings settings;
};

/// Half a round trip between rank 0 and the last rank, with MPI's blocking messages.
double ping_pong(comm::Communicator& communicator, std::vector<float>& values, double seconds) {
    const int last = communicator.size() - 1;
    const auto bytes = static_cast<int>(values.size() * sizeof(float));
    const auto trip = [&](int sender, int receiver) {
        if (communicator.rank() == sender) MPI_Send(values.data(), bytes, MPI_BYTE, receiver, 0, MPI_COMM_WORLD);
        if (communicator.rank() == receiver)
            MPI_Recv(values.data(), bytes, MPI_BYTE, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    };
    return comm::median_seconds(communicator, seconds,
                                [&] {
                                    trip(0, last);
                                    trip(last, 0);
                                }) /
           2;
}

double all_reduce(comm::Communicator& communicator, std::vector<float>& values, double seconds,
                  const comm::ReduceOptions& options) {
    return comm::median_seconds(communicator, seconds,
                                [&] { communicator.wait(communicator.start_all_reduce(0, values, options)); });
}

double mpi_all_reduce(comm::Communicator& communicator, std::vector<float>& values, double seconds) {
    return comm::median_seconds(communicator, seconds, [&] {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    });
}

void print_cell(double seconds, double bytes) {
    std::printf(" %10.1f us %7.2f GB/s", seconds * 1e6, bytes / seconds / 1e9);
}

void sweep(comm::Communicator& communicator, const Options& options) {
    const bool prints = communicator.rank() == 0;
    if (prints) {
        std::printf(
            "%d ranks, %d on the node of rank 0. Medians of the slowest rank; GB/s: bytes of the message or bucket "
            "over time.\n",
            communicator.size(), communicator.local_size());
        std::printf("%10s %22s %23s %23s %23s %23s %23s\n", "bytes", "ping-pong", "flat f32", "flat bf16",
                    "hierarchical f32", "hierarchical bf16", "MPI_Allreduce");
    }
    for (std::int64_t bytes = options.smallest_bytes; bytes <= options.largest_bytes; bytes *= 4) {
        std::vector<float> values(static_cast<std::size_t>(bytes) / sizeof(float));
        std::vector<double> cells = {ping_pong(communicator, values, options.seconds)};
        for (const comm::Route route : {comm::Route::flat, comm::Route::hierarchical}) {
            for (const comm::Wire wire : {comm::Wire::f32, comm::Wire::bf16})
                cells.push_back(all_reduce(communicator, values, options.seconds, {.wire = wire, .route = route}));
        }
        cells.push_back(mpi_all_reduce(communicator, values, options.seconds));
        if (!prints) continue;
        std::printf("%10lld", static_cast<long long>(bytes));
        for (const double seconds : cells)
            print_cell(seconds, static_cast<double>(bytes));
        std::printf("\n");
        std::fflush(stdout);
    }
}

/// Messages alone make the model's network: nothing of it is fitted to the sums.
void compare_with_model(comm::Communicator& communicator, const Options& options) {
    const comm::NetworkTimes times =
        comm::measure_network(communicator, {.largest_bytes = options.largest_bytes, .seconds = options.seconds});
    if (communicator.rank() != 0) return;
    std::printf("%d ranks, %d on the node of rank 0: %s\nratio: model / measured\n%s", communicator.size(),
                communicator.local_size(), plan::measured_text(times).c_str(),
                plan::sums_text(times, {communicator.size(), communicator.local_size()}).c_str());
}

int run(const Options& options) {
    const auto communicator = comm::make_mpi_communicator(options.settings);
    if (communicator->size() < 2)
        throw Error(ErrorKind::usage, "one process has nobody to talk to; start it with mpirun -np 2 or more");
    if (options.model) {
        compare_with_model(*communicator, options);
    } else {
        sweep(*communicator, options);
    }
    communicator->finish();
    return 0;
}

}  // namespace
}  // namespace cnntrain

int main(int argc, char** argv) {
    cnntrain::Options options;
    CLI::App app("Times messages and sums between ranks: mpirun -np 2 bench_comm");
    app.add_option("--smallest-bytes", options.smallest_bytes, "default 4")->check(CLI::Range(4, 1 << 30));
    app.add_option("--largest-bytes", options.largest_bytes, "default 64 MiB")->check(CLI::Range(4, 1 << 30));
    app.add_option("--seconds", options.seconds, "for each number, default 0.2")->check(CLI::PositiveNumber);
    app.add_option("--ranks-per-node", options.settings.ranks_per_node, "divide a host into several nodes")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--comm-timeout", options.settings.timeout_seconds, "seconds")->check(CLI::PositiveNumber);
    app.add_flag("--model", options.model, "compare sums with the time model of cnntrain plan --processes");
    return cnntrain::run_tool(app, argc, argv, [&] { return cnntrain::run(options); });
}
