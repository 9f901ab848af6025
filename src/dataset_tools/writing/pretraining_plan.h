// Which tokens the pretraining sequences are made of: pairs of sentences, cut to length, and what is masked in them.
//
// All random draws of the reference program depend on lengths alone, so that they are made here, one after the other,
// for all sequences; putting the tokens together is left to as many threads as there are.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cnntrain/dataset_tools/pretraining_writer.h"
#include "dataset_tools/writing/corpus.h"
#include "dataset_tools/writing/python_random.h"

namespace cnntrain::dataset_tools {

/// Tokens of neighbouring segments.
struct TokenRange {
    std::uint32_t segment = 0;
    std::uint32_t skipped = 0;  // tokens before the first one, from the segment's begin
    std::uint32_t tokens = 0;
};

/// What stands in the place of a masked token, apart from a vocabulary's id.
inline constexpr data::TokenId kMaskToken = ~data::TokenId{0};
inline constexpr data::TokenId kUnchanged = kMaskToken - 1;

struct MaskedToken {
    std::uint32_t position = 0;              // in the sequence [CLS] first [SEP] second [SEP]
    data::TokenId replacement = kUnchanged;  // or kMaskToken, or an index into Vocabulary::distinct()
};

struct Instance {
    TokenRange first;
    TokenRange second;
    bool random_next = false;      // the second part is from another place
    std::uint32_t masks = 0;       // masked tokens
    std::uint64_t first_mask = 0;  // in InstancePlan::masks
};

struct InstancePlan {
    std::vector<Instance> instances;   // in the order in which they are made
    std::vector<MaskedToken> masks;    // of all instances; those of one in ascending positions
    std::vector<std::uint32_t> order;  // the shuffled instances: the order of the records

    std::span<const MaskedToken> masks_of(const Instance& instance) const {
        return std::span(masks).subspan(instance.first_mask, instance.masks);
    }
};

/// Error(usage) for settings that cannot be.
void check_instances(const InstanceSettings& settings);

/// min(M, max(1, round(share * length))), a half to the even neighbour; and as many more as leave S - M other tokens.
std::int64_t masked_tokens(std::int64_t length, const InstanceSettings& settings);

struct PlanEvents {
    std::function<bool()> stop_requested = {};
    /// Documents done, of all passes, and how many there are.
    std::function<void(std::int64_t done, std::int64_t total)> progress = {};
};

/// `vocabulary_pieces`: size of Vocabulary::distinct(). The settings are checked ones. Error(data) when there are too
/// many sequences. Throws Interrupted when a stop is asked for.
InstancePlan plan_instances(const Corpus& corpus, std::uint32_t vocabulary_pieces, const InstanceSettings& settings,
                            const PlanEvents& events = {});

}  // namespace cnntrain::dataset_tools
