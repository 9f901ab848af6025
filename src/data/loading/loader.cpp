#include "cnntrain/data/loader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/data/dataset.h"
#include "data/loading/stream_places.h"

namespace cnntrain::data {

// Maps the positions of a stream to samples of a data set.

struct PlannedSample {
    std::int64_t record = kPaddingSample;
    SamplePosition position;
};

/// The samples of an epoch in which each class is drawn equally often, within one. A class of n samples goes through a
/// permutation of them with every n draws, over all epochs. `classes`: of each sample.
std::vector<std::uint32_t> balanced_order(std::uint64_t seed, std::uint32_t epoch,
                                          const std::vector<std::int32_t>& classes) {
    std::map<std::int32_t, std::vector<std::uint32_t>> samples;
    for (std::uint32_t i = 0; i < classes.size(); ++i)
        samples[classes[i]].push_back(i);
    std::vector<std::uint32_t> draws(classes.size());  // draw j of class number c at j * classes + c
    std::size_t number = 0;
    for (const auto& [label, own] : samples) {
        std::vector<std::uint32_t> order;
        const std::size_t each = (classes.size() - number + samples.size() - 1) / samples.size();
        for (std::size_t j = 0; j < each; ++j) {
            const std::size_t draw = epoch * each + j;
            if (order.empty() || draw % own.size() == 0) {
                const auto pass = static_cast<std::uint32_t>(draw / own.size());
                order =
                    shuffled_order(Rng(seed, RngStream::balance, pass, number), static_cast<std::uint32_t>(own.size()));
            }
            draws[j * samples.size() + number] = own[order[draw % own.size()]];
        }
        ++number;
    }
    std::vector<std::uint32_t> result = shuffled_order(seed, epoch, static_cast<std::uint32_t>(classes.size()));
    for (std::uint32_t& place : result)
        place = draws[place];
    return result;
}

/// Pure function of the data set's size, the settings and the batch number.
class BatchPlanner {
public:
    BatchPlanner(std::int64_t samples, const LoaderSettings& settings)
        : samples_(samples),
          seed_(settings.seed),
          feed_(settings.feed),
          classes_(settings.classes),
          places_(samples, settings) {}

    const StreamPlaces& places() const { return places_; }

    void plan(std::int64_t batch, std::vector<PlannedSample>& out) {
        const std::int64_t first = places_.first_sample(batch);
        const auto sweep = static_cast<std::uint32_t>(batch / places_.batches_per_sweep());
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::int64_t place = first + static_cast<std::int64_t>(i);
            out[i] = feed_ == Feed::training ? training_sample(place) : sweep_sample(sweep, place);
        }
    }

    std::uint64_t held_bytes() const { return order_.capacity() * sizeof(order_[0]); }

private:
    PlannedSample training_sample(std::int64_t position) {
        const auto epoch = static_cast<std::uint32_t>(position / samples_);
        const auto index = static_cast<std::uint64_t>(position % samples_);
        if (order_.empty() || order_epoch_ != epoch) {
            order_ = classes_.empty() ? shuffled_order(seed_, epoch, static_cast<std::uint32_t>(samples_))
                                      : balanced_order(seed_, epoch, classes_);
            order_epoch_ = epoch;
        }
        return {order_[index], {epoch, index}};
    }

    PlannedSample sweep_sample(std::uint32_t sweep, std::int64_t index) const {
        if (index >= samples_) return {};
        return {index, {sweep, static_cast<std::uint64_t>(index)}};
    }

    std::int64_t samples_;
    std::uint64_t seed_;
    Feed feed_;
    std::vector<std::int32_t> classes_;
    StreamPlaces places_;
    std::vector<std::uint32_t> order_;
    std::uint32_t order_epoch_ = 0;
};

// The memory of one micro-batch in a loader's ring.

enum class SlotState { free, filling, ready, leased };

struct Slot {
    SlotState state = SlotState::free;
    std::int64_t batch = -1;                         // number in the stream
    std::vector<HostTensor> tensors;                 // the filled fields, then the transform's
    std::vector<std::span<std::byte>> filled;        // written by the workers
    std::vector<std::span<const std::byte>> source;  // the same memory as `filled`, read by the transform
    std::vector<std::span<std::byte>> made;          // written by the transform
    std::vector<std::span<const std::byte>> fields;  // as delivered
    std::vector<PlannedSample> plan;
    std::chrono::steady_clock::time_point created;  // time at which it became ready
    std::int64_t claimed = 0;                       // samples claimed by workers
    std::int64_t finished = 0;                      // samples finished
    std::int64_t left_out = 0;                      // finished samples that were left out
    std::exception_ptr error;                       // of the first bad sample in batch order, for any thread count
    std::int64_t error_sample = 0;
};

namespace {

/// Fields of a micro-batch as filled by the workers.
std::vector<Field> filled_fields(std::vector<Field> sample, std::int64_t micro_batch) {
    for (Field& field : sample)
        field.desc.shape.insert(field.desc.shape.begin(), micro_batch);
    return sample;
}

std::vector<MadeField> made_fields(const std::vector<Field>& filled, const LoaderSettings& settings) {
    return settings.transform ? settings.transform->makes(filled) : std::vector<MadeField>{};
}

}  // namespace

std::vector<Field> batch_fields(const std::vector<Field>& sample, const LoaderSettings& settings) {
    std::vector<Field> fields = filled_fields(sample, settings.micro_batch);
    for (MadeField& made : made_fields(fields, settings)) {
        if (made.replaces) {
            fields.at(*made.replaces) = std::move(made.field);
        } else {
            fields.push_back(std::move(made.field));
        }
    }
    return fields;
}

RingSize ring_size(const std::vector<Field>& sample, const LoaderSettings& settings) {
    const std::vector<Field> filled = filled_fields(sample, settings.micro_batch);
    std::uint64_t batch_bytes = total_bytes(filled);
    for (const MadeField& made : made_fields(filled, settings))
        batch_bytes += made.field.desc.bytes();
    RingSize ring;
    const std::int64_t fitting = settings.ring_bytes / static_cast<std::int64_t>(batch_bytes) - ring.batches();
    ring.ahead = std::clamp<std::int64_t>(fitting, 1, std::max<std::int64_t>(settings.batches_ahead, 1));
    ring.bytes = static_cast<std::uint64_t>(ring.batches()) * batch_bytes;
    return ring;
}

namespace {

/// `sample`: the data set's fields.
void allocate(Slot& slot, const std::vector<Field>& sample, const LoaderSettings& settings) {
    slot.plan.resize(static_cast<std::size_t>(settings.micro_batch));
    const std::vector<Field> filled = filled_fields(sample, settings.micro_batch);
    for (const Field& field : filled) {
        HostTensor& tensor = slot.tensors.emplace_back(field.desc);
        slot.filled.push_back(tensor.bytes());
        slot.source.emplace_back(tensor.bytes());
    }
    slot.fields = slot.source;
    for (const MadeField& made : made_fields(filled, settings)) {
        slot.made.push_back(slot.tensors.emplace_back(made.field.desc).bytes());
        if (!made.replaces) slot.fields.emplace_back();
        (made.replaces ? slot.fields[*made.replaces] : slot.fields.back()) = slot.made.back();
    }
}

using Clock = std::chrono::steady_clock;

/// Estimated memory of one worker besides its stack: an image and the decoder's buffers.
constexpr std::uint64_t kWorkerBytes = std::uint64_t{4} << 20;
/// Interval at which a waiting next() checks for a stop request.
constexpr std::chrono::milliseconds kStopPollInterval{100};

// Labels of a worker's track.
constexpr std::int32_t kFillLabel = 0;
constexpr std::int32_t kTransformLabel = 1;
std::vector<Timeline::Label> worker_labels() {
    return {{"prepare samples", "", "input"}, {"mix the batch", "", "input"}};
}

}  // namespace

std::uint64_t loader_bytes(const std::vector<Field>& sample, const LoaderSettings& settings) {
    const auto workers = static_cast<std::uint64_t>(std::max(settings.threads, 1));
    return ring_size(sample, settings).bytes + workers * (thread_stack_bytes() + kWorkerBytes);
}

namespace {

/// The slots and the workers that fill them. Batches are opened in order. Workers claim small groups of samples of the
/// newest open batch, so that all workers share the work even on a single batch.
class Ring final : public Stream, public SlotOwner, public std::enable_shared_from_this<Ring> {
public:
    Ring(std::shared_ptr<const Dataset> dataset, const LoaderSettings& settings)
        : dataset_(std::move(dataset)), settings_(settings), planner_(dataset_->size(), settings) {
        const std::vector<Field> sample = dataset_->fields();
        for (const Field& field : sample)
            sample_bytes_.push_back(field.desc.bytes());
        filled_ = filled_fields(sample, settings.micro_batch);
        fields_ = batch_fields(sample, settings);
        const RingSize ring = ring_size(sample, settings);
        stats_.ring_batches = ring.batches();
        stats_.ring_bytes = ring.bytes;
        stats_.workers = std::max(settings.threads, 1);
        if (settings.checks_memory) require_memory(loader_bytes(sample, settings), "the input pipeline");
        slots_.resize(static_cast<std::size_t>(ring.batches()));
        for (Slot& slot : slots_)
            allocate(slot, sample, settings_);
        const std::int64_t threads = std::max(settings.threads, 1);
        ahead_.resize(static_cast<std::size_t>(settings.micro_batch));
        planner_.plan(0, ahead_);
        group_ = std::clamp<std::int64_t>(settings.micro_batch / (4 * threads), 1, 32);
    }
    ~Ring() override { stop(); }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    void start() {
        for (int i = 0; i < std::max(settings_.threads, 1); ++i) {
            Timeline::Track* track = nullptr;
            if (settings_.timeline)
                track = &settings_.timeline->add_track("loader " + std::to_string(i), worker_labels());
            threads_.emplace_back([this, track] { work(track); });
        }
    }

    void stop() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        work_.notify_all();
        for (std::thread& thread : threads_)
            thread.join();
        threads_.clear();
    }

    Batch next() override {
        const Clock::time_point start = Clock::now();
        std::unique_lock lock(mutex_);
        const auto find_next = [&]() -> Slot* {
            const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
                return slot.state == SlotState::ready && slot.batch == delivered_;
            });
            return found == slots_.end() ? nullptr : &*found;
        };
        CNNTRAIN_CHECK(
            std::any_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.state != SlotState::leased; }),
            "every batch of the ring is still held");
        Slot* slot = nullptr;
        const auto is_over = [&] { return (slot = find_next()) != nullptr || failure_; };
        while (!ready_.wait_for(lock, kStopPollInterval, is_over)) {
            if (settings_.stop_requested && settings_.stop_requested()) throw Interrupted();
        }
        stats_.wait_seconds += seconds_since(start);
        if (slot == nullptr) std::rethrow_exception(failure_);
        if (slot->error) std::rethrow_exception(slot->error);
        slot->state = SlotState::leased;
        ++delivered_;
        std::int64_t valid = -slot->left_out;
        for (const PlannedSample& sample : slot->plan)
            valid += sample.record == kPaddingSample ? 0 : dataset_->samples_in(sample.record);
        stats_.images += valid;
        stats_.left_out += slot->left_out;
        lock.unlock();
        const auto number = static_cast<std::size_t>(slot - slots_.data());
        const std::int64_t first_sample = planner_.places().first_sample(slot->batch);
        return {slot->fields, valid, first_sample, Lease(shared_from_this(), number), slot->created};
    }

    std::vector<Field> fields() const override { return fields_; }
    std::int64_t micro_batch() const override { return settings_.micro_batch; }
    std::int64_t samples() const override { return dataset_->samples(); }
    std::int64_t batches_per_sweep() const override { return planner_.places().batches_per_sweep(); }
    std::int64_t position() const override {
        const std::lock_guard lock(mutex_);
        return planner_.places().round_begin(delivered_);
    }

    StreamStats stats() const override {
        const std::lock_guard lock(mutex_);
        StreamStats stats = stats_;
        const DatasetState state = dataset_->state();
        stats.damaged = state.damaged;
        stats.dataset_bytes = state.memory_bytes + planner_.held_bytes();
        return stats;
    }

    void release(std::size_t slot) noexcept override {
        {
            const std::lock_guard lock(mutex_);
            slots_[slot].state = SlotState::free;
        }
        work_.notify_one();
    }

private:
    struct Claim {
        Slot* slot = nullptr;
        std::int64_t first = 0;
        std::int64_t end = 0;
    };
    struct Outcome {
        std::int64_t left_out = 0;
        std::exception_ptr error;
        std::int64_t error_sample = 0;
    };

    // These functions require the lock.
    bool has_work() const { return open_ != nullptr || (!failed_ && find_slot(SlotState::free) != nullptr); }

    Slot* find_slot(SlotState state) const {
        const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.state == state; });
        return found == slots_.end() ? nullptr : &*found;
    }

    /// Stores the plan of the batch after the opened one in `next`.
    void open_batch(std::vector<PlannedSample>& next) {
        Slot& slot = *find_slot(SlotState::free);
        slot.plan.swap(ahead_);
        slot.state = SlotState::filling;
        slot.batch = opened_++;
        slot.claimed = 0;
        slot.finished = 0;
        slot.left_out = 0;
        open_ = &slot;
        planner_.plan(opened_, ahead_);
        next = ahead_;
        work_.notify_all();
    }

    Claim claim(std::vector<PlannedSample>& next) {
        if (open_ == nullptr) open_batch(next);
        Slot& slot = *open_;
        const std::int64_t first = slot.claimed;
        slot.claimed = std::min(first + group_, settings_.micro_batch);
        if (slot.claimed == settings_.micro_batch) open_ = nullptr;
        return {&slot, first, slot.claimed};
    }

    /// Returns true if these were the last samples of their batch.
    bool finish(const Claim& claim, const Outcome& outcome) {
        Slot& slot = *claim.slot;
        if (outcome.error && (!slot.error || outcome.error_sample < slot.error_sample)) {
            slot.error = outcome.error;
            slot.error_sample = outcome.error_sample;
            failed_ = true;
        }
        slot.left_out += outcome.left_out;
        slot.finished += claim.end - claim.first;
        stats_.filled += claim.end - claim.first;
        return slot.finished == settings_.micro_batch;
    }

    void deliver(Slot& slot) {
        slot.state = SlotState::ready;
        slot.created = Clock::now();
        ready_.notify_one();
    }

    // These functions are called without the lock.

    /// An exception other than a sample's error, thrown while a worker plans or transforms, ends the stream, not the
    /// process.
    void work(Timeline::Track* track) {
        try {
            fill_batches(track);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
            failed_ = true;
            ready_.notify_all();
        }
    }

    /// `track`: of this worker; null: nothing is recorded.
    void fill_batches(Timeline::Track* track) {
        Workspace workspace;
        std::vector<std::span<std::byte>> view(sample_bytes_.size());  // fields of the sample being read
        std::vector<PlannedSample> next;                               // records to announce
        std::uint64_t held_bytes = 0;
        std::unique_lock lock(mutex_);
        while (true) {
            work_.wait(lock, [&] { return stopping_ || has_work(); });
            if (stopping_) return;
            const Claim mine = claim(next);
            lock.unlock();
            const Clock::time_point start = Clock::now();
            announce(next);
            workspace.seconds = {};
            workspace.stored_pixels = 0;
            const Outcome outcome = fill(mine, view, workspace);
            const Clock::time_point end = Clock::now();
            if (records(track)) track->add(kFillLabel, start, end, mine.slot->batch);
            lock.lock();
            stats_.work_seconds += std::chrono::duration<double>(end - start).count();
            stats_.stages += workspace.seconds;
            stats_.stored_pixels += workspace.stored_pixels;
            stats_.worker_bytes += workspace.held_bytes() - std::exchange(held_bytes, workspace.held_bytes());
            if (!finish(mine, outcome)) continue;
            if (settings_.transform && !mine.slot->error) {
                lock.unlock();
                const Clock::time_point transform_start = Clock::now();
                transform(*mine.slot);
                const Clock::time_point transform_end = Clock::now();
                if (records(track)) track->add(kTransformLabel, transform_start, transform_end, mine.slot->batch);
                lock.lock();
                stats_.work_seconds += std::chrono::duration<double>(transform_end - transform_start).count();
            }
            deliver(*mine.slot);
        }
    }

    bool records(const Timeline::Track* track) const { return track != nullptr && settings_.timeline->is_on(); }

    /// Announces the records of the batch after the one being filled, so that the disk works while processors decode.
    void announce(std::vector<PlannedSample>& next) const {
        for (const PlannedSample& sample : next) {
            if (sample.record != kPaddingSample) dataset_->will_need(sample.record);
        }
        next.clear();
    }

    Outcome fill(const Claim& claim, std::vector<std::span<std::byte>>& view, Workspace& workspace) const {
        Outcome outcome;
        for (std::int64_t i = claim.first; i < claim.end; ++i) {
            const auto at = static_cast<std::size_t>(i);
            for (std::size_t field = 0; field < view.size(); ++field)
                view[field] = claim.slot->filled[field].subspan(at * sample_bytes_[field], sample_bytes_[field]);
            const PlannedSample& sample = claim.slot->plan[at];
            try {
                const SampleState state = dataset_->read(sample.record, sample.position, view, workspace);
                if (state == SampleState::undecodable) ++outcome.left_out;
            } catch (...) {
                outcome.error = std::current_exception();
                outcome.error_sample = i;
                return outcome;
            }
        }
        return outcome;
    }

    /// Called by the worker that finished the batch. No other thread uses the slot until it is delivered.
    void transform(Slot& slot) const {
        const std::int64_t number = planner_.places().first_sample(slot.batch) / settings_.micro_batch;
        settings_.transform->make(number, filled_, slot.source, slot.made);
    }

    std::shared_ptr<const Dataset> dataset_;
    LoaderSettings settings_;
    std::vector<Field> filled_;              // of a batch as filled by the workers
    std::vector<Field> fields_;              // of a batch as delivered
    std::vector<std::size_t> sample_bytes_;  // size of each field of one sample
    std::int64_t group_ = 1;

    mutable std::mutex mutex_;
    std::condition_variable work_;   // signals a free slot, an open batch or a stop
    std::condition_variable ready_;  // signals a ready batch
    BatchPlanner planner_;
    mutable std::vector<Slot> slots_;
    std::vector<PlannedSample> ahead_;  // the plan of the next batch to open
    Slot* open_ = nullptr;              // the batch whose samples are being claimed
    std::int64_t opened_ = 0;
    std::int64_t delivered_ = 0;
    bool failed_ = false;         // no further batch is opened
    std::exception_ptr failure_;  // error of a worker that is not an error of one sample
    bool stopping_ = false;
    StreamStats stats_;
    std::vector<std::thread> threads_;
};

}  // namespace

Loader::Loader(std::shared_ptr<const Dataset> dataset, const LoaderSettings& settings) {
    CNNTRAIN_CHECK(settings.micro_batch > 0, "a batch holds at least one sample");
    CNNTRAIN_CHECK(dataset->size() > 0 && dataset->size() <= std::numeric_limits<std::uint32_t>::max(),
                   "data set size out of range");
    CNNTRAIN_CHECK(settings.ranks > 0 && settings.rank >= 0 && settings.rank < settings.ranks, "no such rank");
    CNNTRAIN_CHECK(settings.first_sample >= 0, "the stream starts at sample 0");
    CNNTRAIN_CHECK(settings.feed == Feed::training || settings.first_sample == 0, "a sweep starts at its first sample");
    const auto ring = std::make_shared<Ring>(std::move(dataset), settings);
    ring->start();
    ring_ = std::shared_ptr<Stream>(ring.get(), [ring](Stream*) { ring->stop(); });
}

}  // namespace cnntrain::data
