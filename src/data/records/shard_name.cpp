#include "data/records/shard_name.h"

#include <charconv>

namespace cnntrain::data {
namespace {

/// Removes the number at the front of `text` and returns it; nothing unless it has kShardDigits digits.
std::optional<int> take_number(std::string_view& text) {
    if (text.size() < kShardDigits) return std::nullopt;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + kShardDigits, value);
    if (error != std::errc{} || end != text.data() + kShardDigits || text.front() == '-') return std::nullopt;
    text.remove_prefix(kShardDigits);
    return value;
}

}  // namespace

std::optional<ShardName> parse_shard_name(std::string_view file_name) {
    constexpr std::string_view kOf = "-of-";
    ShardName shard;
    if (file_name.ends_with(kRecordSuffix)) {
        shard.suffix = kRecordSuffix;
        file_name.remove_suffix(kRecordSuffix.size());
    }
    constexpr std::size_t kTail = 1 + kShardDigits + kOf.size() + kShardDigits;
    if (file_name.size() <= kTail) return std::nullopt;
    shard.prefix = file_name.substr(0, file_name.size() - kTail);
    std::string_view rest = file_name.substr(shard.prefix.size());
    if (!rest.starts_with('-')) return std::nullopt;
    rest.remove_prefix(1);
    const std::optional<int> index = take_number(rest);
    if (!index || !rest.starts_with(kOf)) return std::nullopt;
    rest.remove_prefix(kOf.size());
    const std::optional<int> count = take_number(rest);
    if (!count || *count == 0) return std::nullopt;
    shard.index = *index;
    shard.count = *count;
    return shard;
}

}  // namespace cnntrain::data
