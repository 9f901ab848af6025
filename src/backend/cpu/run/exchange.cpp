#include "backend/cpu/run/exchange.h"

#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"

namespace cnntrain::cpu {
namespace {

bool is_data_error(const std::exception_ptr& failure) {
    if (!failure) return false;
    try {
        std::rethrow_exception(failure);
    } catch (const Error& error) {
        return error.kind() == ErrorKind::data || error.kind() == ErrorKind::not_found;
    } catch (...) {
        return false;
    }
}

std::string message_of(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& error) {
        return error.what();
    }
}

/// "rank 1 and rank 3"
std::string ranks_that(const comm::AgreedStatus& agreed, bool comm::UpdateStatus::*say) {
    std::string text;
    for (std::size_t rank = 0; rank < agreed.ranks.size(); ++rank) {
        if (agreed.ranks[rank].*say) text += (text.empty() ? "rank " : " and rank ") + std::to_string(rank);
    }
    return text;
}

}  // namespace

std::size_t GradientExchange::add(std::string name, std::int64_t elements, const std::string& layout) {
    layouts_ = hash_text(std::to_string(layouts_) + " " + layout);
    sums_.push_back({std::move(name), elements});
    return sums_.size() - 1;
}

void GradientExchange::shard(std::size_t sum, DType type, std::function<void()> publish,
                             std::function<void()> collect) {
    sums_[sum].sharded = true;
    sharded_.push_back({sum, type, std::move(publish), std::move(collect)});
}

void GradientExchange::plan() {
    plan_ = comm::plan_buckets(sums_, bucket_bytes_);
    for (std::size_t b = 0; b < plan_.buckets.size(); ++b)
        bucket_of_.insert(bucket_of_.end(), static_cast<std::size_t>(plan_.buckets[b].count), b);
    handles_.reserve(plan_.buckets.size());
    squares_.resize(sums_.size());
    comm::check_same(*peers_.communicator, plan_.digest, "gradients (their names, sizes, order or buckets)");
    comm::check_same(*peers_.communicator, layouts_,
                     "the layouts of gradients (processors of one run must choose the same ones)");
}

GradientExchange::Piece GradientExchange::piece(std::size_t sum, int rank) const {
    const comm::Bucket& bucket = plan_.buckets[bucket_of_[sum]];
    const comm::Shard shard = comm::shard_of(bucket.elements, rank, peers_.communicator->size());
    const std::int64_t offset = plan_.offsets[sum] - bucket.offset;  // of the sum within the bucket
    const std::int64_t begin = std::clamp(shard.begin - offset, std::int64_t{0}, sums_[sum].elements);
    const std::int64_t end = std::clamp(shard.begin + shard.count - offset, std::int64_t{0}, sums_[sum].elements);
    return {begin, end - begin};
}

void GradientExchange::give_squares(std::size_t sum, double target, double other) {
    squares_[sum] = {target, other};
}

void GradientExchange::share_squares() {
    std::vector<double> mine;
    for (const Sharded& parameter : sharded_) {
        mine.push_back(squares_[parameter.sum].first);
        mine.push_back(squares_[parameter.sum].second);
    }
    const std::vector<double> all = comm::agree(*peers_.communicator, {}, mine).sums;
    for (std::size_t i = 0; i < sharded_.size(); ++i)
        squares_[sharded_[i].sum] = {all[2 * i], all[2 * i + 1]};
}

double GradientExchange::sum_over_ranks(double mine) const {
    return comm::agree(*peers_.communicator, {}, std::span(&mine, 1)).sums.at(0);
}

/// 16-bit parameters are exact on a 16-bit wire.
void GradientExchange::share_parameters() {
    std::vector<comm::Wire> wires(plan_.buckets.size(), comm::Wire::bf16);
    for (const Sharded& parameter : sharded_) {
        parameter.publish();
        if (parameter.type != DType::bf16) wires[bucket_of_[parameter.sum]] = comm::Wire::f32;
    }
    std::vector<comm::Handle> gathered;
    for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
        if (!plan_.buckets[b].sharded) continue;
        gathered.push_back(
            peers_.communicator->start_all_gather(static_cast<int>(b), values_of(plan_.buckets[b]), wires[b]));
    }
    for (const comm::Handle& handle : gathered)
        peers_.communicator->wait(handle);
    for (const Sharded& parameter : sharded_)
        parameter.collect();
}

void GradientExchange::begin(bool waits_for_last) {
    missing_.clear();
    for (const comm::Bucket& bucket : plan_.buckets)
        missing_.push_back(bucket.count);
    handles_.clear();
    may_travel_ = !waits_for_last;
    giving_up_ = 0;
}

void GradientExchange::last_micro_batch_begins() {
    const std::lock_guard lock(mutex_);
    tell(false);
}

/// Sends to all ranks, once in an update, whether this one gives up. The message has a bucket of its own and travels
/// while the passes go on.
void GradientExchange::tell(bool gives_up) {
    if (may_travel_ || told_ || giving_up_ > 0) return;
    giving_up_ = gives_up ? 1 : 0;
    told_ =
        peers_.communicator->start_all_reduce(static_cast<int>(plan_.buckets.size()), std::span(&giving_up_, 1), {});
    under_way_ = true;
}

/// Receives what all ranks have sent by tell(). Called when nothing is under way.
void GradientExchange::hear() {
    if (!told_) return;
    peers_.communicator->wait(*told_);
    told_.reset();
    may_travel_ = giving_up_ == 0;
    start_ready();
}

std::span<float> GradientExchange::values_of(const comm::Bucket& bucket) {
    return memory_.subspan(static_cast<std::size_t>(bucket.offset), static_cast<std::size_t>(bucket.elements));
}

void GradientExchange::start_next() {
    if (handles_.empty()) start_ = Clock::now();
    const auto number = static_cast<int>(handles_.size());
    const comm::Bucket& bucket = plan_.buckets[handles_.size()];
    comm::Communicator& all = *peers_.communicator;
    handles_.push_back(bucket.sharded ? all.start_reduce_scatter(number, values_of(bucket), peers_.reduce.wire)
                                      : all.start_all_reduce(number, values_of(bucket), peers_.reduce));
    under_way_ = true;
}

/// Starts buckets in the order of the plan, which is the same on all ranks, independent of the order in which lanes
/// finish.
void GradientExchange::start_ready() {
    if (!overlap_ || !may_travel_) return;
    while (handles_.size() < missing_.size() && missing_[handles_.size()] == 0)
        start_next();
}

void GradientExchange::is_ready(std::size_t sum) {
    const std::lock_guard lock(mutex_);
    --missing_[bucket_of_[sum]];
    start_ready();
}

void GradientExchange::progress() {
    if (!under_way_.load(std::memory_order_relaxed)) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;  // another lane is doing it
    if (!peers_.communicator->progress()) return;
    under_way_ = false;
    hear();
}

void GradientExchange::finish(backend::StepResult& result) {
    const Clock::time_point begin = Clock::now();
    const std::lock_guard lock(mutex_);
    tell(true);
    hear();
    while (may_travel_ && handles_.size() < plan_.buckets.size())
        start_next();
    for (const comm::Handle& handle : handles_)
        peers_.communicator->wait(handle);
    under_way_ = false;
    const Clock::time_point end = Clock::now();
    if (!handles_.empty()) result.exchange_seconds = std::chrono::duration<double>(end - start_).count();
    result.exposed_exchange_seconds = std::chrono::duration<double>(end - begin).count();
}

void GradientExchange::agree(const Outcome& mine, backend::StepResult& result,
                             std::optional<std::string>& first_non_finite) {
    const bool damaged = is_data_error(mine.failure);
    if (mine.failure && !damaged) std::rethrow_exception(mine.failure);
    finish(result);
    std::vector<double> values = {static_cast<double>(result.samples), result.stopped ? 1.0 : 0.0};
    for (const auto& [name, sum] : result.sums)
        values.push_back(sum);
    const comm::UpdateStatus status{
        .stop = result.stop_requested, .not_finite = mine.not_finite, .damaged_data = damaged};
    const comm::AgreedStatus agreed = comm::agree(*peers_.communicator, status, values);
    result.samples = static_cast<std::int64_t>(agreed.sums[0]);
    result.stopped = agreed.sums[1] > 0;
    for (std::size_t next = 2; auto& [name, sum] : result.sums)
        sum = agreed.sums[next++];
    result.stop_requested = agreed.any.stop;
    if (agreed.any.damaged_data) {
        constexpr auto kSay = &comm::UpdateStatus::damaged_data;
        const std::string text =
            text_of_first(*peers_.communicator, agreed, kSay, damaged ? message_of(mine.failure) : "");
        if (damaged) std::rethrow_exception(mine.failure);
        throw Error(ErrorKind::data,
                    ranks_that(agreed, kSay) + " met data that cannot be used; the update has not happened: " + text);
    }
    if (agreed.any.not_finite) {
        constexpr auto kSay = &comm::UpdateStatus::not_finite;
        const std::string text = text_of_first(*peers_.communicator, agreed, kSay, first_non_finite.value_or("?"));
        if (!first_non_finite) first_non_finite = "on " + ranks_that(agreed, kSay) + ": " + text;
    }
}

NormExchange::NormExchange(comm::Communicator& communicator, std::int32_t ranks)
    : communicator_(communicator),
      group_{.first = communicator.rank() / ranks * ranks, .count = ranks},
      words_(static_cast<std::size_t>(ranks)) {
    CNNTRAIN_CHECK(communicator.size() % ranks == 0, "ranks that share statistics divide all ranks");
}

void NormExchange::reserve(std::int64_t channels) {
    const auto needed = 2 * static_cast<std::size_t>(channels);
    if (sent_.size() >= needed) return;
    sent_.resize(needed);
    received_.resize(needed * static_cast<std::size_t>(group_.count));
}

void NormExchange::gather(std::span<const float> first, std::span<const float> second, std::string_view what) {
    const std::size_t length = first.size();
    CNNTRAIN_CHECK(second.size() == length && 2 * length <= sent_.size(), "a norm whose channels were not reserved");
    std::ranges::copy(first, sent_.begin());
    std::ranges::copy(second, sent_.begin() + static_cast<std::ptrdiff_t>(length));
    communicator_.all_gather_among(
        group_, std::as_bytes(std::span(sent_).first(2 * length)),
        std::as_writable_bytes(std::span(received_).first(2 * length * static_cast<std::size_t>(group_.count))), what);
}

/// Chan, Golub and LeVeque 1979, "Updating formulae and a pairwise algorithm for computing sample variances", for
/// samples of equal size: the variance is the mean of the variances plus the mean squared distance from the common
/// mean.
void NormExchange::merge_moments(std::span<float> mean, std::span<float> variance) {
    gather(mean, variance, "statistics of a batch norm");
    const std::size_t length = mean.size();
    const auto count = static_cast<double>(group_.count);
    for (std::size_t c = 0; c < length; ++c) {
        double sum = 0;
        for (std::int64_t rank = 0; rank < group_.count; ++rank)
            sum += static_cast<double>(received(rank, 0, length, c));
        const double common = sum / count;
        double squares = 0;
        for (std::int64_t rank = 0; rank < group_.count; ++rank) {
            const double distance = static_cast<double>(received(rank, 0, length, c)) - common;
            squares += static_cast<double>(received(rank, 1, length, c)) + distance * distance;
        }
        mean[c] = static_cast<float>(common);
        variance[c] = static_cast<float>(squares / count);
    }
}

void NormExchange::add_up(std::span<float> first, std::span<float> second) {
    gather(first, second, "gradient of a batch norm");
    const std::size_t length = first.size();
    for (std::size_t c = 0; c < length; ++c) {
        double sum_first = 0;
        double sum_second = 0;
        for (std::int64_t rank = 0; rank < group_.count; ++rank) {
            sum_first += static_cast<double>(received(rank, 0, length, c));
            sum_second += static_cast<double>(received(rank, 1, length, c));
        }
        first[c] = static_cast<float>(sum_first);
        second[c] = static_cast<float>(sum_second);
    }
}

bool NormExchange::all_go_on(bool this_one) {
    const std::uint64_t word = this_one ? 1 : 0;
    communicator_.all_gather_among(group_, std::as_bytes(std::span(&word, 1)),
                                   std::as_writable_bytes(std::span(words_)), "who goes on with the micro-batch");
    return std::ranges::find(words_, std::uint64_t{0}) == words_.end();
}

}  // namespace cnntrain::cpu
