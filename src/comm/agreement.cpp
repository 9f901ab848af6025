// Whether all ranks have the same settings, and which differ. A rank with other settings may take part in nothing else,
// so a comparison needs to know no more than the number of ranks.
#include <algorithm>
#include <map>
#include <utility>

#include "cnntrain/base/hash.h"
#include "cnntrain/comm/communicator.h"
#include "comm/watch.h"

namespace cnntrain::comm {
namespace {

using Agreed = std::span<const SharedSetting>;

constexpr char kEnd = '\0';  // of a name and of a value

std::string to_text(Agreed settings) {
    std::string text;
    for (const SharedSetting& setting : settings)
        text += setting.name + kEnd + setting.value + kEnd;
    return text;
}

std::vector<SharedSetting> from_text(std::string_view text) {
    const auto next = [&] {
        const std::size_t end = text.find(kEnd);
        std::string word(text.substr(0, end));
        text.remove_prefix(end + 1);
        return word;
    };
    std::vector<SharedSetting> settings;
    while (!text.empty()) {
        std::string name = next();
        settings.push_back({std::move(name), next()});
    }
    return settings;
}

std::string broadcast_text(Communicator& communicator, std::string text, int root, std::string_view what) {
    std::uint64_t size = text.size();
    communicator.broadcast(std::as_writable_bytes(std::span(&size, 1)), root, what);
    text.resize(size);
    communicator.broadcast(std::as_writable_bytes(std::span(text)), root, what);
    return text;
}

/// Ranks with the same settings.
struct Party {
    std::vector<int> ranks;
    std::map<std::string, std::string> values;  // by name
};

std::string value_in(const Party& party, const std::string& name) {
    const auto found = party.values.find(name);
    if (found == party.values.end()) return "not known";
    return found->second.empty() ? "none" : found->second;
}

std::string shortened(const std::string& value) {
    constexpr std::size_t kMost = 160;
    return value.size() <= kMost ? value : value.substr(0, kMost) + "...";
}

/// "flat on rank 1, hierarchical on ranks 0 and 2"; "" when all parties have the same value.
std::string values_of(const std::vector<Party>& parties, const std::string& name) {
    std::vector<std::pair<std::string, std::vector<int>>> values;
    for (const Party& party : parties) {
        const std::string value = value_in(party, name);
        auto found = std::ranges::find(values, value, [](const auto& entry) { return entry.first; });
        if (found == values.end()) found = values.insert(values.end(), {value, {}});
        found->second.insert(found->second.end(), party.ranks.begin(), party.ranks.end());
    }
    if (values.size() == 1) return {};
    std::string text;
    for (auto& [value, ranks] : values) {
        std::ranges::sort(ranks);
        text += (text.empty() ? "" : ", ") + shortened(value) + " on " + ranks_text(ranks);
    }
    return text;
}

}  // namespace

std::string differences(Communicator& communicator, std::span<const SharedSetting> mine, std::string_view what) {
    const std::string own = to_text(mine);
    const std::vector<std::uint64_t> hashes = communicator.all_gather(hash_text(own), what);
    if (std::ranges::count(hashes, hashes[0]) == std::ssize(hashes)) return {};

    std::vector<Party> parties;
    std::vector<std::string> names;  // in the order of the first rank that has them
    std::map<std::uint64_t, std::size_t> numbers;
    for (int rank = 0; rank < communicator.size(); ++rank) {
        const auto [found, is_new] = numbers.try_emplace(hashes[static_cast<std::size_t>(rank)], parties.size());
        if (is_new) {
            Party& party = parties.emplace_back();
            const std::string text = broadcast_text(communicator, communicator.rank() == rank ? own : "", rank, what);
            for (SharedSetting& setting : from_text(text)) {
                if (std::ranges::find(names, setting.name) == names.end()) names.push_back(setting.name);
                party.values.emplace(std::move(setting.name), std::move(setting.value));
            }
        }
        parties[found->second].ranks.push_back(rank);
    }

    constexpr std::size_t kMost = 6;
    std::size_t count = 0;
    std::string text;
    for (const std::string& name : names) {
        const std::string values = values_of(parties, name);
        if (values.empty() || ++count > kMost) continue;
        text += (text.empty() ? "" : ", ") + name + " (" + values + ")";
    }
    if (count > kMost) text += " and " + std::to_string(count - kMost) + " more";
    return text;
}

}  // namespace cnntrain::comm
