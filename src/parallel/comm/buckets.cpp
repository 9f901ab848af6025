#include "cnntrain/parallel/communicator.h"

#include "cnntrain/base/checked.h"
#include "cnntrain/base/hash.h"

namespace cnntrain::comm {
namespace {

std::uint64_t digest_of(std::span<const Parameter> parameters, const BucketPlan& plan) {
    Digest digest;
    for (const Parameter& parameter : parameters) {
        digest.add(parameter.name);
        digest.add(static_cast<std::uint64_t>(parameter.elements));
    }
    for (const Bucket& bucket : plan.buckets) {
        digest.add(static_cast<std::uint64_t>(bucket.count));
        digest.add(static_cast<std::uint64_t>(bucket.sharded));
    }
    return hash_text(digest.text());
}

}  // namespace

BucketPlan plan_buckets(std::span<const Parameter> parameters, std::int64_t max_bytes) {
    constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
    if (max_bytes < kFloat) {
        throw Error(ErrorKind::usage, "buckets of gradients of " + std::to_string(max_bytes) +
                                          " bytes: expected at least " + std::to_string(kFloat));
    }
    BucketPlan plan;
    for (const Parameter& parameter : parameters) {
        CNNTRAIN_CHECK(parameter.elements > 0, "elements of " + parameter.name);
        checked_product(plan.elements + parameter.elements, kFloat, "the buffer of gradients");
        const bool fits = !plan.buckets.empty() && plan.buckets.back().sharded == parameter.sharded &&
                          plan.buckets.back().elements + parameter.elements <= max_bytes / kFloat;
        if (!fits) {
            plan.buckets.push_back({.offset = plan.elements,
                                    .first = static_cast<int>(plan.offsets.size()),
                                    .sharded = parameter.sharded});
        }
        plan.buckets.back().elements += parameter.elements;
        ++plan.buckets.back().count;
        plan.offsets.push_back(plan.elements);
        plan.elements += parameter.elements;
    }
    plan.digest = digest_of(parameters, plan);
    return plan;
}

}  // namespace cnntrain::comm
