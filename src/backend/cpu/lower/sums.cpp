#include "backend/cpu/lower/sums.h"

#include <algorithm>
#include <utility>

#include "backend/cpu/run/lanes.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::Node;
using graph::NodeId;
using graph::Phase;
using graph::ValueId;

Sums::Sums(const NodeWalk& walk, StepBuilder& steps, Values& values, Program& program, std::int64_t micro_batches,
           GradientExchange* exchange)
    : walk_(walk),
      steps_(steps),
      values_(values),
      program_(program),
      micro_batches_(micro_batches),
      exchange_(exchange) {}

void Sums::accumulate_results() {
    if (!are_summed()) return;
    for (const ValueId result : walk_.node().outputs) {
        const auto sum = sums_.find(result);
        const bool is_summed = sum != sums_.end() && sum->second.is_added_to;
        if (walk_.facts().crosses_into_update(result) && !is_summed) accumulate(result);
    }
}

void Sums::give_to_update() {
    for (const auto& [result, sum] : sums_)
        values_.define_alias(result, sum.placed);
}

std::optional<std::size_t> Sums::sharded_sum(ValueId gradient, const Placed& as_read) const {
    if (exchange_ == nullptr || !exchange_->shards()) return std::nullopt;
    const auto sum = sums_.find(gradient);
    if (sum == sums_.end() || sum->second.placed.buffer != as_read.buffer) return std::nullopt;
    return sum->second.number;
}

void Sums::accumulate(ValueId result) {
    const Placed value = values_.operand(result);
    CNNTRAIN_CHECK(value.dtype == DType::f32,
                   "only f32 values are summed over micro-batches, not " + walk_.node().name);
    const auto found = sums_.find(result);
    const Sum sum = found != sums_.end()
                        ? found->second
                        : sums_.emplace(result, make_sum(value.buffer->name, value.desc)).first->second;
    CNNTRAIN_CHECK(sum.placed.desc == value.desc, "accumulators of " + walk_.node().name + " lie differently");
    const auto count = static_cast<std::int64_t>(value.desc.get_size() / sizeof(float));
    Step step = steps_.data_step("sum", "accumulate");
    step.reads = {value, sum.placed};
    step.writes = {sum.placed};
    step.run = summing({sum.placed}, [value, sum, count](bool is_first) {
        if (is_first) clear(count, sum.placed.as<float>());
        cpu::accumulate(count, value.as<float>(), sum.placed.as<float>());
    });
    steps_.add(std::move(step));
}

const Sums::Sum& Sums::sum_at(const Placed& placed) const {
    const auto found =
        std::ranges::find_if(sums_, [&](const auto& entry) { return entry.second.placed.buffer == placed.buffer; });
    CNNTRAIN_CHECK(found != sums_.end(), walk_.node().name + " adds to what is no sum");
    return found->second;
}

StepBuilder::Run Sums::summing(const Accumulator& own, std::function<void(bool is_first)> run) const {
    return [own, run = std::move(run), turn = sum_at(own.placed).turn, number = sum_at(own.placed).number,
            last = micro_batches_ - 1](const StepContext& context) {
        const bool waits = own.begins && context.turns != nullptr;
        if (waits && !context.turns->wait_for(turn, context.micro_batch)) throw LaneStopped();
        run(context.micro_batch == 0 && own.begins);
        if (!own.ends) return;
        if (context.turns != nullptr) context.turns->finish(turn);
        if (context.exchange != nullptr && context.micro_batch == last) context.exchange->is_ready(number);
    };
}

/// The result that the update reads and that this one becomes as nodes of the section add to it; often itself.
ValueId Sums::summed_result(ValueId result) const {
    const graph::Value& value = graph().value(result);
    if (is_output(graph(), result)) return {};
    if (walk_.facts().crosses_into_update(result)) {
        const bool is_read_before =
            std::ranges::any_of(value.users, [&](NodeId user) { return graph().node(user).phase != Phase::update; });
        return is_read_before ? ValueId{} : result;
    }
    if (value.users.size() != 1) return {};
    const Node& reader = graph().node(value.users.front());
    const std::optional<std::size_t> addend = graph().def(reader).addend;
    const bool is_added = addend && reader.inputs.size() > *addend && reader.inputs[*addend] == result;
    if (!is_added || walk_.section_of(value.users.front()) != walk_.section()) return {};
    return summed_result(reader.outputs[0]);
}

std::optional<Sums::Accumulator> Sums::accumulator(ValueId result, const Desc& desc) {
    if (!are_summed()) return std::nullopt;
    const ValueId summed = summed_result(result);
    if (!summed.valid()) return std::nullopt;
    CNNTRAIN_CHECK(graph().desc(summed).dtype == DType::f32,
                   "only f32 values are summed over micro-batches, not " + walk_.node().name);
    auto found = sums_.find(summed);
    if (found == sums_.end()) found = sums_.emplace(summed, make_sum(graph().value(summed).name, desc)).first;
    found->second.is_added_to = true;
    const Placed sum = found->second.placed;
    CNNTRAIN_CHECK(sum.desc == desc, "those who add to " + graph().value(summed).name + " want it to lie differently");
    const bool begins = std::ranges::none_of(walk_.node().inputs, [&](ValueId input) {
        const auto earlier = added_.find(input);
        return earlier != added_.end() && earlier->second == sum.buffer;
    });
    added_[result] = sum.buffer;
    values_.define_alias(result, sum);
    return Accumulator{sum, begins, summed == result};
}

Sums::Gradient Sums::define_gradient(ValueId result, const Desc& desc) {
    const std::optional<Accumulator> sum = accumulator(result, desc);
    if (!sum) return {values_.define(result, desc), {}, {}};
    const bool is_only = sum->begins && micro_batches_ == 1;
    return {sum->placed, sum, is_only ? Placed{} : steps_.temporary("addend", desc, DType::f32)};
}

/// Adds a step that computes the gradient: write() puts it into its memory, add() into the addend, for later
/// micro-batches. Pipelines compute at the same time and take turns only to add. The first step lists the addend, which
/// needs memory during it, and the second one the sum, so that bytes are counted once.
void Sums::add_gradient(const Gradient& gradient, Step step, std::function<void()> write, std::function<void()> add) {
    if (!gradient.addend) {
        const auto run = [write = std::move(write)](bool) { write(); };
        step.writes = {gradient.placed};
        step.run = gradient.sum ? summing(*gradient.sum, run) : [run](const StepContext&) { run(true); };
        return steps_.add(std::move(step));
    }
    step.reads.push_back(gradient.addend);
    step.run = [write = std::move(write), add = std::move(add), begins = gradient.sum->begins](
                   const StepContext& context) { (begins && context.micro_batch == 0 ? write : add)(); };
    steps_.add(std::move(step));
    const auto count = static_cast<std::int64_t>(gradient.placed.desc.get_size() / sizeof(float));
    Step further = steps_.data_step("sum", "accumulate");
    further.reads = {gradient.addend, gradient.placed};
    further.writes = {gradient.placed};
    further.run = summing(*gradient.sum, [addend = gradient.addend, sum = gradient.placed, count](bool is_first) {
        if (!is_first) cpu::accumulate(count, addend.as<float>(), sum.as<float>());
    });
    steps_.add(std::move(further));
}

void Sums::add_gradient_step(const Gradient& gradient, const std::string& op, const std::vector<Placed>& reads,
                             const std::function<void(float* to)>& run, const std::string& implementation) {
    Step step = op.empty() ? steps_.node_step() : steps_.data_step(op, op);
    step.implementation = implementation;
    step.reads = reads;
    add_gradient_step(gradient, std::move(step), run);
}

void Sums::add_gradient_step(const Gradient& gradient, Step step, const std::function<void(float* to)>& run) {
    const auto into = [&](const Placed& memory) { return [run, memory] { run(memory.as<float>()); }; };
    add_gradient(gradient, std::move(step), into(gradient.placed), into(gradient.addend));
}

void Sums::add_gradient_primitive(const Gradient& gradient, const Primitive& primitive, const Arguments& operands,
                                  int written, const Desc& view) {
    Step step = steps_.node_step();
    step.implementation = primitive.implementation;
    for (const auto& [argument, tensor] : operands)
        step.reads.push_back(tensor);
    const auto into = [&](Placed memory) -> std::function<void()> {
        if (!memory) return {};
        memory.desc = view;
        Arguments all = operands;
        all.emplace_back(written, memory);
        return program_.bound_call(walk_.section(), primitive, all);
    };
    add_gradient(gradient, std::move(step), into(gradient.placed), into(gradient.addend));
}

void Sums::add_primitives(const Accumulator& sum, const Primitive& first, const Primitive& further,
                          const Arguments& arguments) {
    Step step = steps_.node_step();
    step.implementation = first.implementation;
    for (const auto& [argument, tensor] : arguments)
        (argument == DNNL_ARG_DST ? step.writes : step.reads).push_back(tensor);
    step.run = summing(sum, [run_first = program_.bound_call(walk_.section(), first, arguments),
                             run_further = program_.bound_call(walk_.section(), further, arguments)](bool is_first) {
        (is_first ? run_first : run_further)();
    });
    steps_.add(std::move(step));
}

Placed Sums::place_squares(ValueId gradient, std::int64_t parts) {
    const bool is_wanted = std::ranges::any_of(graph().value(gradient).users, [&](NodeId user) {
        return graph().node(user).kind == graph::OpKind::gradient_factor;
    });
    if (!is_wanted || exchange_ != nullptr) return {};
    const auto found = squares_.find(gradient);
    if (found != squares_.end()) return found->second;
    const TensorDesc desc{DType::f32, {parts}};
    return squares_[gradient] = steps_.place(graph().value(gradient).name + ":squares", row_major(desc), DType::f32,
                                             Storage::persistent);
}

Placed Sums::squares_of(ValueId gradient) const {
    const auto found = squares_.find(gradient);
    return found != squares_.end() ? found->second : Placed{};
}

Sums::Sum Sums::make_sum(const std::string& name, const Desc& desc) {
    Sum sum;
    sum.placed = steps_.place(name + ":sum", desc, DType::f32, Storage::persistent);
    sum.turn = program_.add_turn();
    program_.add_accumulator(sum.placed.buffer, layout_name(desc));
    if (exchange_ != nullptr) {
        sum.placed.buffer->exchanged = true;
        const auto floats = static_cast<std::int64_t>(Program::persistent_room(*sum.placed.buffer) / sizeof(float));
        sum.number = exchange_->add(name, floats, layout_name(desc));
    }
    return sum;
}

}  // namespace cnntrain::cpu
