// Layout of gradients in memory: one buffer, cut into buckets that are summed over ranks one by one during backward.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/parallel/settings.h"

namespace cnntrain::comm {

struct Parameter {
    std::string name;
    std::int64_t elements = 0;
    bool sharded = false;  // each rank needs only the sum of its shard
};

struct Bucket {
    std::int64_t offset = 0, elements = 0;  // within the buffer
    int first = 0, count = 0;               // its parameters
    bool sharded = false;
};

struct BucketPlan {
    std::vector<Bucket> buckets;        // contiguous, covering the buffer
    std::vector<std::int64_t> offsets;  // of each parameter within the buffer, elements
    std::int64_t elements = 0;
    /// Hash of names, sizes, order and buckets; ranks compare it before the first update.
    std::uint64_t digest = 0;
};

/// Parameters in the order in which backward finishes their gradients; the buffer has the same order without gaps. A
/// bucket takes parameters while it holds at most `max_bytes`, and while all or none of them are sharded. A larger
/// parameter gets its own bucket. Throws Error(usage) unless `max_bytes` is at least one float.
BucketPlan plan_buckets(std::span<const Parameter> parameters, std::int64_t max_bytes = kDefaultBucketBytes);

}  // namespace cnntrain::comm
