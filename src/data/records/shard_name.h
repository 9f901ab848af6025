// Names of the shards of a set of records.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cnntrain::data {

inline constexpr std::size_t kShardDigits = 5;  // of a shard's number and of the count
inline constexpr std::string_view kRecordSuffix = ".tfrecord";

/// "<prefix>-<index>-of-<count>", optionally followed by ".tfrecord".
struct ShardName {
    std::string prefix;
    int index = 0;
    int count = 0;
    std::string suffix;  // ".tfrecord" or ""
};
std::optional<ShardName> parse_shard_name(std::string_view file_name);

}  // namespace cnntrain::data
