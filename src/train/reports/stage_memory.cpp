#include "train/reports/stage_memory.h"

#include "cnntrain/base/size_text.h"

namespace cnntrain::train {

std::string stage_memory(const backend::CompileReport& report, const schedule::Placement& plan) {
    if (plan.stages == 1 || report.stage_held_bytes.empty()) return "";  // the reference backend has no memory plan
    const bool one_by_one = plan.micro_batches == plan.pipelines;
    std::string text = "Memory of the stages:\n";
    for (std::int32_t stage = 0; stage < plan.stages; ++stage) {
        const auto at = static_cast<std::size_t>(stage);
        const std::int64_t depth = one_by_one ? 1 : schedule::stash_depth(plan.pipeline(), stage);
        const std::uint64_t one = static_cast<std::uint64_t>(plan.pipelines) * report.stash_bytes[at];
        text += "  stage " + std::to_string(stage) + ": weights and states " +
                size_text(report.stage_variable_bytes[at]) + ", kept for the backward pass " + size_text(one) +
                " a micro-batch, of " + std::to_string(depth) + " at a time, with what is sent on " +
                size_text(report.stage_held_bytes[at]);
        if (plan.pipelines > 1) text += ", in " + std::to_string(plan.pipelines) + " copies";
        text += '\n';
    }
    return text + "  activations and gradients of all stages: " + size_text(report.arena_bytes);
}

}  // namespace cnntrain::train
