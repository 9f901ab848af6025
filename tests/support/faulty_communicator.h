// A communicator of which one operation fails.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/parallel/communicator.h"
#include "support/faults.h"

namespace cnntrain::test {

/// Fails in one operation as a broken network does. progress() is not counted: how often it is called is a matter of
/// time.
class FaultyCommunicator : public comm::Communicator {
public:
    FaultyCommunicator(std::shared_ptr<comm::Communicator> inner, Fault& fault)
        : inner_(std::move(inner)), fault_(fault) {}

    int rank() const override { return inner_->rank(); }
    int size() const override { return inner_->size(); }
    int node() const override { return inner_->node(); }
    int local_rank() const override { return inner_->local_rank(); }
    int local_size() const override { return inner_->local_size(); }

    void barrier(std::string_view what) override {
        step("barrier");
        inner_->barrier(what);
    }
    void broadcast(std::span<std::byte> bytes, int root, std::string_view what) override {
        step("broadcast");
        inner_->broadcast(bytes, root, what);
    }
    void exchange(std::span<const std::byte> out, std::span<std::byte> in, int partner,
                  std::string_view what) override {
        step("exchange");
        inner_->exchange(out, in, partner, what);
    }
    std::vector<std::uint64_t> all_gather(std::span<const std::uint64_t> words, std::string_view what) override {
        step("all_gather");
        return inner_->all_gather(words, what);
    }
    void all_gather_among(comm::Group group, std::span<const std::byte> mine, std::span<std::byte> all,
                          std::string_view what) override {
        step("all_gather_among");
        inner_->all_gather_among(group, mine, all, what);
    }
    comm::Handle start_all_reduce(int bucket, std::span<float> values, const comm::ReduceOptions& options) override {
        step("start_all_reduce");
        return inner_->start_all_reduce(bucket, values, options);
    }
    comm::Handle start_reduce_scatter(int bucket, std::span<float> values, comm::Wire wire) override {
        step("start_reduce_scatter");
        return inner_->start_reduce_scatter(bucket, values, wire);
    }
    comm::Handle start_all_gather(int bucket, std::span<float> values, comm::Wire wire) override {
        step("start_all_gather");
        return inner_->start_all_gather(bucket, values, wire);
    }
    bool progress() override { return inner_->progress(); }
    void wait(const comm::Handle& handle) override {
        step("wait");
        inner_->wait(handle);
    }
    void leave(std::string_view reason) override { inner_->leave(reason); }
    void finish() override {
        step("finish");
        inner_->finish();
    }

private:
    void step(const char* operation) {
        if (fault_.strikes(operation)) throw Error(ErrorKind::peers, std::string("the network fails in ") + operation);
    }

    std::shared_ptr<comm::Communicator> inner_;
    Fault& fault_;
};

}  // namespace cnntrain::test
