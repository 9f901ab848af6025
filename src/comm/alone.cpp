// The communicator of a single rank: every operation completes immediately, without copying.
#include <algorithm>

#include "cnntrain/comm/communicator.h"

namespace cnntrain::comm {
namespace {

class Alone final : public Communicator {
public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    int node() const override { return 0; }
    int local_rank() const override { return 0; }
    int local_size() const override { return 1; }

    void barrier(std::string_view /*what*/) override {}
    void broadcast(std::span<std::byte> /*bytes*/, int /*root*/, std::string_view /*what*/) override {}
    void exchange(std::span<const std::byte> /*out*/, std::span<std::byte> /*in*/, int /*partner*/,
                  std::string_view /*what*/) override {}
    std::vector<std::uint64_t> all_gather(std::span<const std::uint64_t> words, std::string_view /*what*/) override {
        return {words.begin(), words.end()};
    }

    void all_gather_among(Group /*group*/, std::span<const std::byte> mine, std::span<std::byte> all,
                          std::string_view /*what*/) override {
        std::ranges::copy(mine, all.begin());
    }

    Handle start_all_reduce(int bucket, std::span<float> /*values*/, const ReduceOptions& /*options*/) override {
        return {.bucket = bucket};
    }
    Handle start_reduce_scatter(int bucket, std::span<float> /*values*/, Wire /*wire*/) override {
        return {.bucket = bucket};
    }
    Handle start_all_gather(int bucket, std::span<float> /*values*/, Wire /*wire*/) override {
        return {.bucket = bucket};
    }
    bool progress() override { return true; }
    void wait(const Handle& /*handle*/) override {}

    void leave(std::string_view /*reason*/) override {}
    void finish() override {}
};

}  // namespace

std::unique_ptr<Communicator> make_alone() {
    return std::make_unique<Alone>();
}

}  // namespace cnntrain::comm
