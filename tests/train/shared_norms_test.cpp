// Ranks that share batch-norm statistics, as threads, where one of them cannot go on in the middle of an update.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/parallel/communicator.h"
#include "support/errors.h"
#include "support/thread_communicators.h"
#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

constexpr int kRanks = 4;
constexpr int kSharing = 2;
constexpr int kFailing = 1;

const char* const kNet =
    "--dataset cifar-10 --model-size 8 --batch-norm --precision 32.32 --micro-batch-size 2 --threads 1 "
    "--gradient-accumulation-count 3";

/// The samples of a net, of which the second micro-batch cannot be read.
class Damaged final : public data::BatchSource {
public:
    explicit Damaged(data::BatchSource& source) : source_(source) {}
    std::vector<data::Field> fields() const override { return source_.fields(); }
    data::Batch next() override {
        if (++taken_ == 2) throw Error(ErrorKind::data, "train-00003: record 7: wrong checksum");
        return source_.next();
    }

private:
    data::BatchSource& source_;
    int taken_ = 0;
};

/// Runs the body on every rank; the errors that it ended with.
std::vector<std::optional<Error>> on_ranks(const std::function<void(CompiledNet&, int rank)>& body) {
    std::vector<std::optional<Error>> errors(kRanks);
    auto communicators = comm::make_thread_communicators(kRanks, {.timeout_seconds = 20});
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < communicators.size(); ++i) {
        threads.emplace_back([&, i] {
            errors[i] = test::error_of([&] {
                CompiledNet net(Line{kNet, {.communicator = communicators[i].get()}, kSharing});
                body(net, communicators[i]->rank());
                communicators[i]->finish();
            });
            if (errors[i]) communicators[i]->leave(errors[i]->what());
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return errors;
}

TEST(SharedNorms, DamagedDataOfOneRankEndTheUpdateOfAll) {
    const auto errors = on_ranks([](CompiledNet& net, int rank) {
        net.step();
        Damaged damaged(net.source());
        data::BatchSource& source = rank == kFailing ? damaged : net.source();
        net.executable().train_step(source, {0.01, 1});
        ADD_FAILURE() << "rank " << rank;
    });
    for (const auto& error : errors) {
        ASSERT_TRUE(error);
        EXPECT_EQ(error->kind(), ErrorKind::data);
    }
}

TEST(SharedNorms, ALossOfOneRankThatIsNotFiniteEndsTheUpdateOfAll) {
    const auto errors = on_ranks([](CompiledNet& net, int rank) {
        if (rank == kFailing) {
            HostTensor bias = net.executable().store("all/fc1/bias");
            bias.set(0, std::numeric_limits<double>::infinity());
            net.executable().load("all/fc1/bias", bias);
        }
        const backend::StepResult result = net.step();
        EXPECT_FALSE(std::isfinite(result.sums.at("loss")));
        EXPECT_TRUE(net.executable().first_non_finite());
    });
    for (const auto& error : errors)
        EXPECT_FALSE(error) << error->what();
}

}  // namespace
}  // namespace cnntrain::run::testing
