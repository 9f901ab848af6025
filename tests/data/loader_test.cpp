#include "cnntrain/data/loader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "cnntrain/base/rng.h"
#include "cnntrain/data/batch.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::data {
namespace {

/// Four bytes per sample: record, epoch, index in the epoch, and a byte that depends on all of them.
class CountingDataset final : public Dataset {
public:
    explicit CountingDataset(std::int64_t size) : size_(size) {}

    std::int64_t size() const override { return size_; }
    std::vector<Field> fields() const override { return image_fields({DType::u8, {2, 2, 1}}); }
    SampleState read(std::int64_t index, SamplePosition position, SampleView out, Workspace&) const override {
        if (index == kPaddingSample) {
            write(out, {}, kNoLabel);
            return SampleState::padding;
        }
        ++reads;
        if (slow) std::this_thread::sleep_for(std::chrono::microseconds(50 * (index % 7)));
        if (undecodable.contains(index)) {
            write(out, {}, kLeftOut);
            return SampleState::undecodable;
        }
        if (bad_records.contains(index)) throw Error(ErrorKind::data, "record " + std::to_string(index) + " is bad");
        Rng rng(1, RngStream::test, position.epoch, position.index);
        const std::array<std::int64_t, 4> values = {index, position.epoch, static_cast<std::int64_t>(position.index),
                                                    rng.integer(0, 256)};
        write(out, values, static_cast<std::int32_t>(index));
        return SampleState::counted;
    }
    void will_need(std::int64_t index) const noexcept override {
        const std::lock_guard lock(mutex);
        announced.push_back(index);
    }

    mutable std::atomic<int> reads = 0;
    bool slow = false;
    std::set<std::int64_t> bad_records;
    std::set<std::int64_t> undecodable;
    mutable std::mutex mutex;
    mutable std::vector<std::int64_t> announced;

private:
    static void write(SampleView out, const std::array<std::int64_t, 4>& values, std::int32_t label) {
        for (std::size_t i = 0; i < 4; ++i)
            out[0][i] = static_cast<std::byte>(values[i]);
        std::memcpy(out[1].data(), &label, sizeof label);
    }

    std::int64_t size_;
};

struct Copied {
    std::vector<std::byte> images;
    std::vector<std::int32_t> labels;
    std::int64_t valid_count;
    std::int64_t first_sample;
    bool operator==(const Copied&) const = default;
};

Copied copy(const Batch& batch) {
    return {{images_in(batch).begin(), images_in(batch).end()},
            {labels_in(batch).begin(), labels_in(batch).end()},
            batch.valid_count,
            batch.first_sample};
}

std::vector<Copied> take(Stream& stream, int batches) {
    std::vector<Copied> result;
    for (int i = 0; i < batches; ++i)
        result.push_back(copy(stream.next()));
    return result;
}

std::vector<std::int32_t> labels_of(const std::vector<Copied>& batches) {
    std::vector<std::int32_t> labels;
    for (const Copied& batch : batches)
        labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
    return labels;
}

/// Ten samples of class 7, two of class 3: each class is drawn six times an epoch, and each of its samples as often as
/// the others.
TEST(Loader, ClassesAreDrawnEquallyOften) {
    const std::vector<std::int32_t> classes = {7, 7, 3, 7, 7, 7, 7, 3, 7, 7, 7, 7};
    const auto drawn = [&](std::int64_t first, int threads) {
        Loader loader(std::make_shared<CountingDataset>(12),
                      {.micro_batch = 12, .first_sample = first, .threads = threads, .seed = 5, .classes = classes});
        return take(loader, 5);
    };
    const std::vector<Copied> epochs = drawn(0, 1);
    EXPECT_EQ(epochs, drawn(0, 3));
    EXPECT_EQ(epochs[3], drawn(36, 2)[0]) << "a resumed run goes on with the same samples";
    std::map<std::int32_t, int> times;
    for (const Copied& epoch : epochs) {
        int rare = 0;
        for (const std::int32_t sample : epoch.labels) {
            rare += classes.at(static_cast<std::size_t>(sample)) == 3 ? 1 : 0;
            ++times[sample];
        }
        EXPECT_EQ(rare, 6);
    }
    for (const auto& [sample, count] : times)
        EXPECT_EQ(count, classes.at(static_cast<std::size_t>(sample)) == 3 ? 15 : 3) << sample;
    EXPECT_EQ(times.size(), 12U);
    EXPECT_NE(epochs[0].labels, epochs[1].labels);
}

TEST(Loader, AFailureOfTheTransformIsThrownByNextAndNotInTheWorker) {
    LoaderSettings settings{.micro_batch = 1, .threads = 2};
    settings.transform = mixing_transform({.mixup_alpha = 0.5}, 0, DType::f32);  // one sample cannot be mixed
    Loader loader(std::make_shared<CountingDataset>(10), settings);
    for (int i = 0; i < 2; ++i) {
        EXPECT_THAT(message_of(ErrorKind::internal, [&] { loader.next(); }), Not(IsEmpty()));
    }
}

/// Waits in read() until it may go on.
class BlockedDataset final : public Dataset {
public:
    std::int64_t size() const override { return 4; }
    std::vector<Field> fields() const override { return image_fields({DType::u8, {1, 1, 1}}); }
    SampleState read(std::int64_t, SamplePosition, SampleView, Workspace&) const override {
        blocked.wait(true);
        return SampleState::counted;
    }
    mutable std::atomic<bool> blocked = true;
};

TEST(Loader, AStopEndsTheWaitForABatch) {
    const auto data = std::make_shared<BlockedDataset>();
    std::atomic<bool> stop = false;
    Loader loader(data, {.micro_batch = 2, .threads = 1, .stop_requested = [&] { return stop.load(); }});
    std::thread asks([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        stop = true;
    });
    EXPECT_THROW(loader.next(), Interrupted);
    asks.join();
    data->blocked = false;
    data->blocked.notify_all();
    while (loader.stats().filled < 2)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(loader.next().valid_count, 2) << "a batch that is there is delivered all the same";
}

TEST(Loader, TrainingFollowsTheShuffledOrderAndStraddlesEpochs) {
    const auto data = std::make_shared<CountingDataset>(10);
    Loader loader(data, {.micro_batch = 4, .threads = 2, .batches_ahead = 3, .seed = 21});
    EXPECT_EQ(loader.fields(),
              (std::vector<Field>{{"images", {DType::u8, {4, 2, 2, 1}}}, {"labels", {DType::i32, {4}}}}));
    EXPECT_EQ(loader.micro_batch(), 4);
    EXPECT_EQ(loader.samples(), 10);
    const std::vector<Copied> batches = take(loader, 10);
    const std::vector<std::int32_t> labels = labels_of(batches);
    for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
        const std::vector<std::uint32_t> order = shuffled_order(21, epoch, 10);
        for (std::size_t i = 0; i < 10; ++i) {
            const std::size_t sample = epoch * 10 + i;
            ASSERT_EQ(labels[sample], static_cast<std::int32_t>(order[i]));
            const std::byte* image = batches[sample / 4].images.data() + sample % 4 * 4;
            EXPECT_EQ(image[1], static_cast<std::byte>(epoch));
            EXPECT_EQ(image[2], static_cast<std::byte>(i));
        }
    }
    EXPECT_EQ(batches[0].valid_count, 4);
}

TEST(Loader, SameBytesAtAnyThreadCountAndRingSize) {
    const auto data = std::make_shared<CountingDataset>(37);
    data->slow = true;
    std::vector<std::vector<Copied>> results;
    for (const auto& [threads, ahead] : {std::pair{1, 1}, {4, 1}, {3, 8}}) {
        Loader loader(data, {.micro_batch = 8, .threads = threads, .batches_ahead = ahead, .seed = 5});
        results.push_back(take(loader, 12));
    }
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
}

TEST(Loader, SeekingIsSkipping) {
    const auto data = std::make_shared<CountingDataset>(13);
    Loader whole(data, {.micro_batch = 4, .threads = 2, .seed = 3});
    const std::vector<Copied> all = take(whole, 20);
    EXPECT_EQ(whole.position(), 80);
    for (const int skipped : {1, 3, 4, 11}) {
        Loader rest(data, {.micro_batch = 4, .first_sample = skipped * 4, .threads = 2, .seed = 3});
        EXPECT_EQ(rest.position(), skipped * 4);
        EXPECT_EQ(take(rest, 20 - skipped), std::vector<Copied>(all.begin() + skipped, all.end()));
    }
    Loader odd(data, {.micro_batch = 4, .first_sample = 7, .seed = 3});  // another batch size may have been used before
    const std::vector<std::int32_t> labels = labels_of(all);
    EXPECT_EQ(labels_in(odd.next())[0], labels[7]);
}

TEST(Loader, ASweepHasEverySampleOnceWhateverTheBatch) {
    const auto data = std::make_shared<CountingDataset>(11);
    for (const std::int64_t batch : {1, 2, 3, 4, 10, 11, 12, 50}) {
        Loader loader(data, {.feed = Feed::sweeps, .micro_batch = batch, .threads = 2});
        ASSERT_EQ(loader.batches_per_sweep(), (11 + batch - 1) / batch);
        for (int sweep = 0; sweep < 3; ++sweep) {
            std::vector<std::int32_t> labels;
            std::int64_t valid = 0;
            for (const Copied& taken : take(loader, static_cast<int>(loader.batches_per_sweep()))) {
                valid += taken.valid_count;
                for (std::size_t i = 0; i < taken.labels.size(); ++i) {
                    if (static_cast<std::int64_t>(i) < taken.valid_count) {
                        labels.push_back(taken.labels[i]);
                        continue;
                    }
                    EXPECT_EQ(taken.labels[i], -1);
                    EXPECT_EQ(taken.images[i * 4], std::byte{0});
                    EXPECT_EQ(taken.images[i * 4 + 3], std::byte{0});
                }
            }
            EXPECT_EQ(valid, 11);
            EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})) << batch;
        }
    }
}

TEST(Loader, RanksShareASweepAndEverySampleComesOnce) {
    const auto data = std::make_shared<CountingDataset>(23);
    for (const std::int64_t ranks : {1, 2, 3, 5, 30}) {
        for (const std::int64_t batch : {1, 2, 4, 25}) {
            std::vector<std::int32_t> labels;
            for (std::int64_t rank = 0; rank < ranks; ++rank) {
                Loader loader(data, {.feed = Feed::sweeps, .micro_batch = batch, .rank = rank, .ranks = ranks});
                ASSERT_EQ(loader.batches_per_sweep(), (23 + batch * ranks - 1) / (batch * ranks));
                for (const Copied& taken : take(loader, static_cast<int>(loader.batches_per_sweep())))
                    labels.insert(labels.end(), taken.labels.begin(), taken.labels.begin() + taken.valid_count);
            }
            std::sort(labels.begin(), labels.end());
            std::vector<std::int32_t> all(23);
            std::iota(all.begin(), all.end(), 0);
            EXPECT_EQ(labels, all) << ranks << " ranks, batches of " << batch;
        }
    }
}

TEST(Loader, RanksTogetherTrainOnTheStreamOfOneRank) {
    const auto data = std::make_shared<CountingDataset>(17);
    Loader alone(data, {.micro_batch = 2, .first_sample = 12, .seed = 8});
    const std::vector<Copied> expected = take(alone, 15);
    std::vector<Copied> got(15);
    for (std::int64_t rank = 0; rank < 3; ++rank) {
        Loader loader(data, {.micro_batch = 2, .first_sample = 12, .rank = rank, .ranks = 3, .seed = 8});
        const std::vector<Copied> mine = take(loader, 5);
        EXPECT_EQ(loader.position(), 12 + 5 * 6);
        for (std::size_t i = 0; i < 5; ++i)
            got[i * 3 + static_cast<std::size_t>(rank)] = mine[i];
    }
    EXPECT_EQ(got, expected);
}

TEST(Loader, ABatchKnowsItsPlaceInTheStreamOfAllRanks) {
    const auto data = std::make_shared<CountingDataset>(17);
    for (const std::int64_t resumed : {0, 7}) {  // micro-batches done before, by all ranks
        for (const std::int64_t ranks : {1, 3}) {
            for (std::int64_t rank = 0; rank < ranks; ++rank) {
                Loader loader(data, {.micro_batch = 2, .first_sample = resumed * 2, .rank = rank, .ranks = ranks});
                for (std::int64_t i = 0; i < 20; ++i)  // beyond the end of an epoch
                    EXPECT_EQ(loader.next().first_sample, (resumed + i * ranks + rank) * 2);
            }
        }
    }
}

TEST(Loader, ABatchKnowsItsPlaceInTheSweep) {
    const auto data = std::make_shared<CountingDataset>(11);
    for (std::int64_t rank = 0; rank < 2; ++rank) {
        Loader loader(data, {.feed = Feed::sweeps, .micro_batch = 4, .rank = rank, .ranks = 2});
        for (int sweep = 0; sweep < 3; ++sweep) {
            const std::vector<Copied> batches = take(loader, 2);
            EXPECT_EQ(batches[0].first_sample, rank * 4);
            EXPECT_EQ(batches[1].first_sample, 8 + rank * 4);  // of rank 1: all padding
            EXPECT_EQ(batches[0].labels[0], rank * 4);
            EXPECT_EQ(batches[1].labels[0], rank == 0 ? 8 : kNoLabel);
        }
    }
}

TEST(Loader, SamplesLeftOutAreNotCounted) {
    const auto data = std::make_shared<CountingDataset>(10);
    data->undecodable = {3, 8, 9};
    Loader loader(data, {.feed = Feed::sweeps, .micro_batch = 4, .threads = 2});
    const std::vector<Copied> batches = take(loader, 3);
    EXPECT_EQ(batches[0].valid_count, 3);
    EXPECT_EQ(batches[0].labels, (std::vector<std::int32_t>{0, 1, 2, kLeftOut}));
    EXPECT_EQ(batches[1].valid_count, 4);
    EXPECT_EQ(batches[2].valid_count, 0);
    EXPECT_EQ(batches[2].labels, (std::vector<std::int32_t>{kLeftOut, kLeftOut, kNoLabel, kNoLabel}));
    EXPECT_EQ(loader.stats().images, 7);
    EXPECT_EQ(loader.stats().left_out, 3);
}

TEST(Loader, AnnouncesABatchAhead) {
    const auto data = std::make_shared<CountingDataset>(12);
    {
        Loader loader(data, {.feed = Feed::sweeps, .micro_batch = 4, .batches_ahead = 1});
        take(loader, 3);
    }
    ASSERT_GE(data->announced.size(), 8u);
    EXPECT_EQ(std::vector(data->announced.begin(), data->announced.begin() + 8),
              (std::vector<std::int64_t>{4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(Loader, ErrorsComeWithTheirBatchAndStay) {
    for (const int threads : {1, 4}) {
        const auto data = std::make_shared<CountingDataset>(40);
        data->bad_records = {21, 22, 30};
        Loader loader(data, {.feed = Feed::sweeps, .micro_batch = 8, .threads = threads});
        EXPECT_EQ(take(loader, 2).size(), 2u);
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(message_of(ErrorKind::data, [&] { loader.next(); }), "record 21 is bad");
        }
    }
}

TEST(Loader, WorkersStopAheadOfAFullRing) {
    const auto data = std::make_shared<CountingDataset>(1000);
    Loader loader(data, {.micro_batch = 10, .threads = 2, .batches_ahead = 3});
    const auto settled = [&](int expected) {
        for (int i = 0; i < 2000 && data->reads < expected; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return data->reads == expected;
    };
    EXPECT_TRUE(settled(50));  // 3 ahead, and the two slots that a running consumer occupies
    Batch held = loader.next();
    EXPECT_TRUE(settled(50));  // its slot is leased
    held = {};
    EXPECT_TRUE(settled(60));
}

TEST(Loader, RingShrinksToItsBytes) {
    const auto data = std::make_shared<CountingDataset>(1000);
    Loader loader(data, {.micro_batch = 10, .threads = 1, .batches_ahead = 50, .ring_bytes = 40 * (4 + 4)});
    for (int i = 0; i < 2000 && data->reads < 40; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(data->reads, 40);
}

TEST(Loader, TheRingIsWhatRingSizeSays) {
    const auto data = std::make_shared<CountingDataset>(1000);
    for (const std::int64_t bytes : {1, 40 * 8, 1 << 20}) {
        const LoaderSettings settings{.micro_batch = 10, .batches_ahead = 5, .ring_bytes = bytes};
        const RingSize ring = ring_size(data->fields(), settings);
        const Loader loader(data, settings);
        EXPECT_EQ(loader.stats().ring_bytes, ring.bytes);
        EXPECT_EQ(loader.stats().ring_batches, ring.batches());
    }
    const std::vector<Field> image = image_fields({DType::bf16, {2, 3, 3}});  // 36 bytes, and 4 of the label
    const RingSize ring = ring_size(image, {.micro_batch = 10, .batches_ahead = 5});
    EXPECT_EQ(ring.ahead, 5);
    EXPECT_EQ(ring.batches(), 7);
    EXPECT_EQ(ring.bytes, 7u * 400);
    EXPECT_EQ(ring_size(image, {.micro_batch = 10, .batches_ahead = 5, .ring_bytes = 4 * 400}).ahead, 2);
    // Batches that the host mixes are kept as they were before, too.
    const LoaderSettings mixing{.micro_batch = 10,
                                .batches_ahead = 5,
                                .transform = mixing_transform({.mixup_alpha = 0.2, .on_host = true}, 0, DType::bf16)};
    const std::vector<Field> unmixed = image_fields({DType::f32, {2, 3, 3}});
    const std::uint64_t shares = 10 * 2 * sizeof(float);
    EXPECT_EQ(ring_size(unmixed, mixing).bytes, 7u * (400 + 720 + shares));
}

TEST(Loader, HoldingEveryBatchIsADefectNotAHang) {
    const auto data = std::make_shared<CountingDataset>(100);
    Loader loader(data, {.micro_batch = 10, .batches_ahead = 1});
    std::vector<Batch> held;
    for (int i = 0; i < 3; ++i)
        held.push_back(loader.next());
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { loader.next(); }), HasSubstr("held"));
}

TEST(Loader, BatchesOutliveTheLoader) {
    Batch batch;
    {
        Loader loader(std::make_shared<CountingDataset>(5), {.feed = Feed::sweeps, .micro_batch = 5});
        batch = loader.next();
    }
    EXPECT_EQ(labels_in(batch)[4], 4);
    EXPECT_EQ(images_in(batch)[16], std::byte{4});
}

TEST(Loader, CountsImagesAndTime) {
    const auto data = std::make_shared<CountingDataset>(7);
    data->slow = true;
    Loader loader(data, {.feed = Feed::sweeps, .micro_batch = 4});
    take(loader, 2);
    EXPECT_EQ(loader.stats().images, 7);
    EXPECT_GT(loader.stats().work_seconds, 0);
    EXPECT_GT(loader.stats().wait_seconds, 0);
}

TEST(Loader, ManyTinyBatchesUnderManyThreads) {
    const auto data = std::make_shared<CountingDataset>(3);
    Loader loader(data, {.micro_batch = 1, .threads = 8, .batches_ahead = 2, .seed = 1});
    std::map<std::int32_t, int> counts;
    for (int i = 0; i < 3000; ++i)
        ++counts[labels_in(loader.next())[0]];
    EXPECT_EQ(counts[0], 1000);
    EXPECT_EQ(counts[1], 1000);
    EXPECT_EQ(counts[2], 1000);
}

}  // namespace
}  // namespace cnntrain::data
