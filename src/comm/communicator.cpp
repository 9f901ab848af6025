#include "cnntrain/comm/communicator.h"

#include <algorithm>
#include <bit>
#include <span>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"

namespace cnntrain::comm {
namespace {

constexpr std::int64_t kShardUnit = 16;  // in elements

// Bits of the word that ranks exchange.
constexpr std::uint64_t kStop = 1;
constexpr std::uint64_t kNotFinite = 2;
constexpr std::uint64_t kDamagedData = 4;
constexpr std::uint64_t kCheckpointDue = 8;

std::uint64_t to_word(const UpdateStatus& status) {
    return (status.stop ? kStop : 0) | (status.not_finite ? kNotFinite : 0) | (status.damaged_data ? kDamagedData : 0) |
           (status.checkpoint_due ? kCheckpointDue : 0);
}

UpdateStatus to_status(std::uint64_t word) {
    return {.stop = (word & kStop) != 0,
            .not_finite = (word & kNotFinite) != 0,
            .damaged_data = (word & kDamagedData) != 0,
            .checkpoint_due = (word & kCheckpointDue) != 0};
}

}  // namespace

Shard shard_of(std::int64_t elements, int rank, int size) {
    const auto begin_of = [&](int number) {
        if (number == size) return elements;
        return elements / kShardUnit * number / size * kShardUnit;
    };
    return {begin_of(rank), begin_of(rank + 1) - begin_of(rank)};
}

AgreedStatus agree(Communicator& communicator, const UpdateStatus& mine, std::span<const double> values) {
    std::vector<std::uint64_t> words = {to_word(mine)};
    for (const double value : values)
        words.push_back(std::bit_cast<std::uint64_t>(value));
    AgreedStatus agreed;
    agreed.sums.resize(values.size());
    std::uint64_t any = 0;
    const std::vector<std::uint64_t> all = communicator.all_gather(words, "status of the update");
    for (std::size_t begin = 0; begin < all.size(); begin += words.size()) {
        agreed.ranks.push_back(to_status(all[begin]));
        any |= all[begin];
        for (std::size_t i = 0; i < values.size(); ++i)
            agreed.sums[i] += std::bit_cast<double>(all[begin + 1 + i]);
    }
    agreed.any = to_status(any);
    return agreed;
}

std::string told_by_first(Communicator& all, const AgreedStatus& agreed, bool UpdateStatus::*say,
                          const std::string& mine) {
    const auto first = std::ranges::find_if(agreed.ranks, [&](const auto& status) { return status.*say; });
    const auto teller = static_cast<int>(first - agreed.ranks.begin());
    std::string text = all.rank() == teller ? mine : "";
    std::uint64_t size = text.size();
    all.broadcast(std::as_writable_bytes(std::span(&size, 1)), teller, "size of an error text");
    text.resize(size);
    all.broadcast(std::as_writable_bytes(std::span(text)), teller, "error text");
    return text;
}

void check_same(Communicator& communicator, std::uint64_t value, std::string_view what) {
    const std::vector<std::uint64_t> values = communicator.all_gather(value, what);
    std::string differing;
    for (std::size_t rank = 1; rank < values.size(); ++rank) {
        if (values[rank] == values[0]) continue;
        differing += ", rank " + std::to_string(rank) + ": " + hex_text(values[rank]);
    }
    if (differing.empty()) return;
    throw Error(ErrorKind::peers,
                std::string(what) + " differ between ranks: rank 0: " + hex_text(values[0]) + differing);
}

}  // namespace cnntrain::comm
