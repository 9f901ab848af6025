#include "backend/cpu/lower/lowering.h"

namespace cnntrain::cpu {

using graph::NodeId;
using graph::OpKind;

namespace {

using Family = std::span<const LoweringEntry> (*)();

constexpr Family kFamilies[] = {
    attention_lowerings, conv_lowerings,       dense_lowerings,     gate_lowerings,  loss_lowerings,   norm_lowerings,
    pointwise_lowerings, proxy_norm_lowerings, quantised_lowerings, token_lowerings, update_lowerings, view_lowerings,
};

}  // namespace

const LoweringEntry* lowering_of(OpKind kind) {
    for (const Family family : kFamilies) {
        for (const LoweringEntry& entry : family()) {
            if (entry.kind == kind) return &entry;
        }
    }
    return nullptr;
}

Lowering::Lowering(const graph::Graph& graph, const backend::CompileRequest& request, const OneDnn& onednn,
                   Program& program, GradientExchange* exchange)
    : graph_(graph),
      request_(request),
      onednn_(onednn),
      program_(program),
      exchange_(exchange),
      walk_(graph, program),
      layouts_(graph, walk_.facts()),
      steps_(walk_, program),
      weights_(walk_, layouts_, onednn, program, steps_),
      values_(walk_, layouts_, onednn, program, steps_, weights_,
              Sums::are_read(program.plan().micro_batches, exchange)),
      sums_(walk_, steps_, values_, program, program.plan().micro_batches, exchange) {}

void Lowering::lower(NodeId id) {
    walk_.go_to(id);
    const graph::Node& node = walk_.node();
    lowering_of(node.kind)->lower({graph_, node, request_, onednn_, walk_, layouts_, steps_, weights_, values_, sums_,
                                   program_.plan().micro_batches});
    sums_.accumulate_results();
}

void Lowering::lower_prepare() {
    for (const NodeId id : walk_.order()) {
        if (walk_.section_of(id) == Section::prepare()) lower(id);
    }
}

void Lowering::lower_pipeline(std::int32_t pipeline, const Lanes& lanes) {
    walk_.begin_pipeline(pipeline);
    values_.begin_pipeline();
    for (const NodeId id : walk_.order()) {
        const Section section = walk_.section_of(id);
        if (!section.has_site()) continue;
        const Threads team(lanes.threads(program_.lane(section)));
        lower(id);
    }
    for (const graph::Output& output : graph_.outputs())
        program_.keep_to_end(values_.as_it_lies(output.value).buffer);
}

void Lowering::lower_update() {
    sums_.give_to_update();
    const auto lower_nodes = [&](bool round_copies) {
        for (const NodeId id : walk_.order()) {
            const bool is_round_copy = graph_.node(id).kind == OpKind::round_copy;
            if (walk_.section_of(id) == Section::update() && is_round_copy == round_copies) lower(id);
        }
    };
    lower_nodes(false);
    if (exchange_ != nullptr) add_shared_steps();
    lower_nodes(true);
    weights_.emit_copies([&](graph::ValueId folded) { return values_.operand(folded); });
}

/// Steps that all ranks do together: norms before the updates that read them, whole parameters after all updates.
void Lowering::add_shared_steps() {
    exchange_->plan();
    weights_.size_pieces(*exchange_);
    if (!exchange_->shards()) return;
    const auto add = [&](const char* name, auto run) {
        Step step;
        step.name = name;
        step.op = "exchange";
        step.implementation = "comm";
        step.run = [exchange = exchange_, run](const StepContext&) { (exchange->*run)(); };
        program_.add_step(Section::update(), std::move(step));
    };
    if (steps_.has_late_steps()) add("norms", &GradientExchange::share_squares);
    steps_.add_late_steps();
    add("parameters", &GradientExchange::share_parameters);
}

std::vector<std::string> Lowering::reorders() const {
    std::vector<std::string> all = values_.reorders();
    all.insert(all.end(), weights_.reorders().begin(), weights_.reorders().end());
    return all;
}

}  // namespace cnntrain::cpu
