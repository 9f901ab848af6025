// Names of the numbered files that a set of records is divided into.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cnntrain::data {

inline constexpr std::size_t kShardDigits = 5;  // of a shard's number and of the count
inline constexpr std::string_view kRecordSuffix = ".tfrecord";

/// "<prefix>-<index>-of-<count>", with or without ".tfrecord" behind it.
struct ShardName {
    std::string prefix;
    int index = 0;
    int count = 0;
    std::string suffix;  // ".tfrecord" or ""
};
std::optional<ShardName> parse_shard_name(std::string_view file_name);

}  // namespace cnntrain::data
