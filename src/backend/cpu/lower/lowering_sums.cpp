// Sums of gradients over micro-batches and ranks: what the update reads.
#include <algorithm>

#include "backend/cpu/lower/lowering.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::Node;
using graph::NodeId;
using graph::Phase;
using graph::ValueId;

/// Every copy adds to the same sum, in the order of the micro-batches: the sum does not depend on the number of copies.
void Lowering::accumulate(ValueId result) {
    const Placed value = operand(result);
    CNNTRAIN_CHECK(value.dtype == DType::f32, "only f32 values are summed over micro-batches, not " + node().name);
    const auto found = sums_.find(result);
    const Sum sum = found != sums_.end()
                        ? found->second
                        : sums_.emplace(result, make_sum(value.buffer->name, value.desc)).first->second;
    CNNTRAIN_CHECK(sum.placed.desc == value.desc, "copies of " + node().name + " lie differently");
    const auto count = static_cast<std::int64_t>(value.desc.get_size() / sizeof(float));
    Step step = empty_step(node().name + ":sum", "accumulate", 0);
    step.reads = {value, sum.placed};
    step.writes = {sum.placed};
    step.run = summing({sum.placed}, [value, sum, count](bool is_first) {
        if (is_first) clear(count, sum.placed.as<float>());
        cpu::accumulate(count, value.as<float>(), sum.placed.as<float>());
    });
    program_.add_step(section(), std::move(step));
}

const Lowering::Sum& Lowering::sum_at(const Placed& placed) const {
    const auto found =
        std::ranges::find_if(sums_, [&](const auto& entry) { return entry.second.placed.buffer == placed.buffer; });
    CNNTRAIN_CHECK(found != sums_.end(), node().name + " adds to what is no sum");
    return found->second;
}

std::function<void(const StepContext&)> Lowering::summing(const OwnSum& own,
                                                          std::function<void(bool is_first)> run) const {
    return [own, run = std::move(run), turn = sum_at(own.placed).turn, number = sum_at(own.placed).number,
            last = program_.plan().micro_batches - 1](const StepContext& context) {
        const bool waits = own.begins && context.turns != nullptr;
        if (waits && !context.turns->wait_for(turn, context.micro_batch)) throw LaneStopped();
        run(context.micro_batch == 0 && own.begins);
        if (!own.ends) return;
        if (context.turns != nullptr) context.turns->finish(turn);
        if (context.exchange != nullptr && context.micro_batch == last) context.exchange->is_ready(number);
    };
}

ValueId Lowering::summed_result(ValueId result) const {
    const graph::Value& value = graph_.value(result);
    if (is_output(result)) return {};
    if (facts_.crosses_into_update(result)) {
        const bool is_read_before =
            std::ranges::any_of(value.users, [&](NodeId user) { return graph_.node(user).phase != Phase::update; });
        return is_read_before ? ValueId{} : result;
    }
    if (value.users.size() != 1) return {};
    const Node& reader = graph_.node(value.users.front());
    const std::optional<std::size_t> addend = graph_.def(reader).addend;
    const bool is_added = addend && reader.inputs.size() > *addend && reader.inputs[*addend] == result;
    if (!is_added || section_of(value.users.front()) != section()) return {};
    return summed_result(reader.outputs[0]);
}

std::optional<Lowering::OwnSum> Lowering::own_sum(ValueId result, const Desc& desc) {
    if (!updates_from_sums() || !section().has_site()) return std::nullopt;
    const ValueId summed = summed_result(result);
    if (!summed.valid()) return std::nullopt;
    CNNTRAIN_CHECK(graph_.desc(summed).dtype == DType::f32,
                   "only f32 values are summed over micro-batches, not " + node().name);
    auto found = sums_.find(summed);
    if (found == sums_.end()) found = sums_.emplace(summed, make_sum(graph_.value(summed).name, desc)).first;
    found->second.is_added_to = true;
    const Placed sum = found->second.placed;
    CNNTRAIN_CHECK(sum.desc == desc, "those who add to " + graph_.value(summed).name + " want it to lie differently");
    const bool begins = std::ranges::none_of(node().inputs, [&](ValueId input) {
        return placed_[static_cast<std::size_t>(input.index)].buffer == sum.buffer;
    });
    placed_[static_cast<std::size_t>(result.index)] = sum;
    return OwnSum{sum, begins, summed == result};
}

void Lowering::add_summing_primitive(const OwnSum& sum, const Primitive& first, const Primitive& further,
                                     const Arguments& arguments) {
    Step step = empty_step(node().name, std::string(graph_.def(node()).name), graph_.node_flops(current_));
    const auto [run_first, run_further] = program_.bind_pair(section(), step, first, further, arguments, DNNL_ARG_DST);
    step.run = summing(sum, [run_first = run_first, run_further = run_further](bool is_first) {
        (is_first ? run_first : run_further)();
    });
    program_.add_step(section(), std::move(step));
}

Placed Lowering::place_squares(ValueId gradient, std::int64_t parts) {
    const bool is_wanted = std::ranges::any_of(graph_.value(gradient).users, [&](NodeId user) {
        return graph_.node(user).kind == graph::OpKind::gradient_factor;
    });
    if (!is_wanted || exchange_ != nullptr) return {};
    const auto found = squares_.find(gradient);
    if (found != squares_.end()) return found->second;
    const TensorDesc desc{DType::f32, {parts}};
    return squares_[gradient] =
               place(graph_.value(gradient).name + ":squares", row_major(desc), DType::f32, Storage::persistent);
}

Placed Lowering::squares_of(ValueId gradient) const {
    const auto found = squares_.find(gradient);
    return found != squares_.end() ? found->second : Placed{};
}

Lowering::Sum Lowering::make_sum(const std::string& name, const Desc& desc) {
    Sum sum;
    sum.placed = place(name + ":sum", desc, DType::f32, Storage::persistent);
    sum.turn = program_.add_turn();
    if (exchange_ != nullptr) {
        sum.placed.buffer->exchanged = true;
        const auto floats = static_cast<std::int64_t>(Program::persistent_room(*sum.placed.buffer) / sizeof(float));
        sum.number = exchange_->add(name, floats, layout_name(desc));
    }
    return sum;
}

}  // namespace cnntrain::cpu
