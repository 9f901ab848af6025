// Measurements of small steps on the CPU: planted bottlenecks are found.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/parallel/communicator.h"
#include "run/profile/session.h"
#include "support/matchers.h"
#include "support/thread_communicators.h"
#include "support/toy_graph.h"

namespace cnntrain::profile::testing {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::int64_t kBatch = 8;
constexpr std::int64_t kFeatures = 256;
constexpr std::int64_t kClasses = 10;

/// Slow parts of a sample: pauses for reading and decoding, and its pixels.
struct Slowness {
    milliseconds read{};
    milliseconds decode{};
    std::int64_t pixels = 0;
};

/// Made-up rows; reading or decoding one takes as long as `slowness` says.
class SlowDataset final : public data::Dataset {
public:
    explicit SlowDataset(const Slowness& slowness) : slowness_(slowness) {}

    std::int64_t size() const override { return 1000; }
    std::vector<data::Field> fields() const override {
        return {{"images", {DType::f32, {kFeatures}}}, {"labels", {DType::i32, {}}}};
    }
    data::SampleState read(std::int64_t index, data::SamplePosition, data::SampleView out,
                           data::Workspace& workspace) const override {
        workspace.seconds.read += slept(slowness_.read);
        workspace.seconds.decode += slept(slowness_.decode);
        workspace.stored_pixels += slowness_.pixels;
        std::ranges::fill(out[0], std::byte{0});
        const auto label = static_cast<std::int32_t>(index % kClasses);
        std::memcpy(out[1].data(), &label, sizeof(label));
        return data::SampleState::counted;
    }

private:
    /// Seconds of a pause, which takes longer where other programs run.
    static double slept(milliseconds pause) {
        if (pause == milliseconds::zero()) return 0;
        const auto begin = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(pause);
        return seconds_since(begin);
    }

    Slowness slowness_;
};

/// A classifier with `layers` dense layers, its input and its measurements.
class Toy {
public:
    struct Settings {
        int layers = 2;
        int threads = 1;
        std::int64_t width = kFeatures;
        Slowness slowness = {};
        std::int64_t steps_ahead = 0;  // whose input is ready before the measurement; 0: it may wait
        std::shared_ptr<comm::Communicator> communicator = comm::make_alone();
    };

    explicit Toy(const Settings& settings)
        : threads_(settings.threads),
          steps_ahead_(settings.steps_ahead),
          timeline_(std::make_shared<Timeline>()),
          communicator_(settings.communicator) {
        if (communicator_->size() > 1) communicator_ = comm::make_recorded(communicator_, timeline_);
        graph::ValueId x = net_.input("images", {kBatch, kFeatures});
        for (int layer = 0; layer < settings.layers; ++layer)
            x = net_.dense(x, settings.width, "layer" + std::to_string(layer));
        const graph::ValueId loss = net_.cross_entropy(net_.dense(x, kClasses, "classes"));
        net_.update_all(net_.differentiate(loss), {});
        data::LoaderSettings loader;
        loader.micro_batch = kBatch;
        loader.batches_ahead = std::max<std::int64_t>(1, steps_ahead_);
        loader.timeline = timeline_;
        loader.rank = communicator_->rank();
        loader.ranks = communicator_->size();
        stream_ = std::make_unique<data::Loader>(std::make_shared<SlowDataset>(settings.slowness), loader);
        backend::CompileRequest request{&net_.graph, stream_->fields()};
        request.plan.micro_batch = kBatch;
        request.cpu.threads = settings.threads;
        request.peers.communicator = communicator_.get();
        executable_ = backend_->compile(request);
        for (const graph::ValueId id : net_.graph.variables())
            executable_->load(net_.graph.value(id).name, HostTensor(net_.graph.desc(id)));
    }

    /// Measures `steps` updates, after some that are not measured.
    Report measure(std::int64_t steps) {
        Profile facts;
        facts.title = "toy";
        facts.unit = "rows";
        facts.type = "f32";
        facts.micro_batch = kBatch;
        facts.threads = facts.cores = threads_;
        facts.processors = 1;
        facts.image_megapixels = 0.01;
        Session session({*backend_, *executable_, net_.graph, *stream_, *communicator_, *timeline_}, facts);
        run(4);
        while (stream_->stats().filled < kBatch * (iteration_ + steps_ahead_))
            std::this_thread::sleep_for(milliseconds(1));
        session.begin();
        run(steps);
        Report report = session.end(steps, kBatch, 3);
        profile_ = session.profile();
        return report;
    }
    const Profile& measured() const { return profile_; }
    /// The last measurement, as on a machine without other programs.
    Profile profile() const {
        Profile profile = profile_;
        profile.competition = {};
        return profile;
    }

private:
    void run(std::int64_t steps) {
        for (std::int64_t i = 0; i < steps; ++i)
            executable_->train_step(*stream_, {0.01, iteration_++});
    }

    int threads_;
    std::int64_t steps_ahead_;
    std::shared_ptr<Timeline> timeline_;
    std::shared_ptr<comm::Communicator> communicator_;
    test::ToyGraph net_;
    std::unique_ptr<backend::Backend> backend_ = backend::make_cpu_backend();
    std::unique_ptr<data::Stream> stream_;
    std::unique_ptr<backend::Executable> executable_;
    std::int64_t iteration_ = 0;
    Profile profile_;
};

TEST(Session, TheTimesOfAllRowsAndWaitsAddUpToTheStep) {
    constexpr int kTries = 10;  // other programs may take the processor between operations
    Toy toy({.layers = 4, .width = 1024});
    Report report = toy.measure(20);
    for (int i = 1; i < kTries && toy.profile().other() > 0.03 * toy.profile().step_seconds; ++i)
        report = toy.measure(20);
    const Profile profile = toy.profile();
    EXPECT_EQ(profile.steps, 20);
    EXPECT_GT(profile.rows.size(), 20U);
    EXPECT_LE(profile.computed() + profile.waits.total(), profile.step_seconds * 1.001);
    EXPECT_LE(profile.other(), 0.03 * profile.step_seconds);
    for (const Row& row : profile.rows)
        EXPECT_THAT(row.runs, DoubleNear(1, 1e-9)) << row.name;
    EXPECT_GT(profile.peaks.flops_per_second, 1e8);
    EXPECT_THAT(report.table, HasSubstr("Profile of toy"));
}

TEST(Session, TheTraceHasAnIntervalForEveryRunOfAStep) {
    Toy toy({});
    const json trace = json::parse(toy.measure(5).trace);
    std::size_t slices = 0;
    std::size_t prepared = 0;
    for (const json& event : trace["traceEvents"]) {
        if (event["ph"] != "X") continue;
        slices += event["cat"] != "input" && event["cat"] != "wait" ? 1 : 0;
        prepared += event["cat"] == "input" ? 1 : 0;
    }
    EXPECT_EQ(slices, 5 * toy.profile().rows.size());
    EXPECT_GT(prepared, 0U);
}

TEST(Session, MemoryHasOwners) {
    Toy toy({.width = 512});
    toy.measure(1);
    std::map<std::string, std::uint64_t> owners;
    for (const Owner& owner : toy.profile().memory)
        owners[owner.name] = owner.bytes;
    const std::uint64_t weights = 4 * (kFeatures * 512 + 512 + 512 * 512 + 512 + 512 * kClasses + kClasses);
    EXPECT_EQ(owners.at("weights"), weights);
    EXPECT_GT(owners.at("activations and gradients"), 0U);
    EXPECT_EQ(owners.at("batches ahead"), 3 * (kBatch * (kFeatures * 4 + 4)));
    EXPECT_GT(owners.at("program, libraries and others"), 1'000'000U);
}

TEST(PlantedBottleneck, ASlowDisk) {
    Toy toy({.slowness = {.read = milliseconds(2)}});
    toy.measure(4);
    const Verdict verdict = judge(toy.profile());
    EXPECT_EQ(verdict.limit, Limit::disk) << verdict.sentence;
    EXPECT_THAT(toy.profile().input.samples, DoubleNear(kBatch, kBatch / 2.0));
}

TEST(PlantedBottleneck, HugeImages) {
    Toy toy({.slowness = {.decode = milliseconds(2), .pixels = 24'000'000}});
    toy.measure(4);
    const Verdict verdict = judge(toy.profile());
    EXPECT_EQ(verdict.limit, Limit::large_images) << verdict.sentence;
    EXPECT_THAT(verdict.sentence, HasSubstr("24.0 megapixels"));
}

TEST(PlantedBottleneck, OneInputThread) {
    Toy toy({.slowness = {.decode = milliseconds(2)}});
    toy.measure(4);
    Profile profile = toy.profile();
    profile.processors = 2;
    EXPECT_EQ(judge(profile).limit, Limit::input_threads) << judge(profile).sentence;
}

TEST(PlantedBottleneck, OneThread) {
    Toy toy({.layers = 4, .width = 1024, .steps_ahead = 5});
    toy.measure(5);
    Profile profile = toy.profile();
    profile.cores = 2;
    EXPECT_EQ(judge(profile).limit, Limit::threads) << judge(profile).sentence;
}

// Many layers of very little work each. Where other programs run, they interrupt some of the measurements: operations
// then take longer.
TEST(PlantedBottleneck, ATinyBatch) {
    constexpr int kTries = 20;
    Toy toy({.layers = 40, .width = 8, .steps_ahead = 3});
    Verdict verdict;
    for (int i = 0; i < kTries && verdict.limit != Limit::small_batch; ++i) {
        toy.measure(3);
        verdict = judge(toy.profile());
    }
    EXPECT_EQ(verdict.limit, Limit::small_batch) << verdict.sentence;
}

/// Processes that compute for nothing, two for each processor.
class Neighbours {
public:
    Neighbours() {
        for (int i = 0; i < 2 * available_processors(); ++i) {
            const pid_t child = fork();
            if (child == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (volatile bool goes_on = true; goes_on;) {
                }
                _exit(0);
            }
            if (child > 0) children_.push_back(child);
        }
    }
    ~Neighbours() {
        for (const pid_t child : children_) {
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
        }
    }
    Neighbours(const Neighbours&) = delete;
    Neighbours& operator=(const Neighbours&) = delete;

private:
    std::vector<pid_t> children_;
};

TEST(PlantedBottleneck, BusyNeighbours) {
    if (processor_times().own_seconds == 0) GTEST_SKIP() << "the system does not tell how long threads run and wait";
    Toy toy({.layers = 4, .width = 1024});
    const Neighbours neighbours;
    toy.measure(5);
    constexpr double kSeconds = 0.5;  // the system counts the time of processors in hundredths of a second
    toy.measure(static_cast<std::int64_t>(kSeconds / toy.measured().step_seconds) + 5);
    EXPECT_EQ(judge(toy.measured()).limit, Limit::neighbours) << judge(toy.measured()).sentence;
}

TEST(PlantedBottleneck, ASlowRank) {
    auto communicators = comm::make_thread_communicators(2, {.timeout_seconds = 60});
    std::vector<Report> reports(2);
    std::vector<Profile> profiles(2);
    std::vector<std::thread> ranks;
    for (std::size_t rank = 0; rank < 2; ++rank) {
        ranks.emplace_back([&, rank] {
            const std::shared_ptr<comm::Communicator> communicator = std::move(communicators[rank]);
            Toy::Settings settings{.communicator = communicator};
            if (rank == 1) settings.slowness.read = milliseconds(10);
            Toy toy(settings);
            reports[rank] = toy.measure(5);
            profiles[rank] = toy.profile();
            communicator->finish();
        });
    }
    for (std::thread& rank : ranks)
        rank.join();
    ASSERT_EQ(profiles[0].ranks.size(), 2U);
    EXPECT_EQ(judge(profiles[0]).limit, Limit::slow_rank) << judge(profiles[0]).sentence;
    EXPECT_THAT(judge(profiles[0]).sentence, HasSubstr("rank 1"));
    // The first rank has the parts of both.
    EXPECT_EQ(reports[0].json.size(), 2U);
    EXPECT_TRUE(reports[1].json.empty());
    EXPECT_THAT(reports[0].stacks, AllOf(HasSubstr("rank 0;"), HasSubstr("\nrank 1;")));
    std::map<int, int> buckets;
    const json trace = json::parse(reports[0].trace);
    for (const json& event : trace["traceEvents"]) {
        if (event["ph"] == "b") ++buckets[event["pid"].get<int>()];
    }
    EXPECT_GE(buckets[0], 5);
    EXPECT_GE(buckets[1], 5);
}

TEST(Timeline, CountsWhatItHasNoRoomFor) {
    Timeline timeline;
    Timeline::Track& track = timeline.add_track("t", {{"a"}}, Timeline::Order::one_by_one, 2);
    for (int i = 0; i < 5; ++i)
        track.add(0, {}, {}, i);
    EXPECT_EQ(track.intervals().size(), 2U);
    EXPECT_EQ(track.lost(), 3);
}

}  // namespace
}  // namespace cnntrain::profile::testing
