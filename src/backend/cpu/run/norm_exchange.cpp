#include "backend/cpu/run/norm_exchange.h"

#include <algorithm>

#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

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
