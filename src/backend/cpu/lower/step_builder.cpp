#include "backend/cpu/lower/step_builder.h"

#include <utility>

namespace cnntrain::cpu {

namespace {

Step with_operands(Step step, std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes,
                   StepBuilder::Run run) {
    step.implementation = std::move(implementation);
    step.reads = std::move(reads);
    step.writes = std::move(writes);
    step.run = std::move(run);
    return step;
}

}  // namespace

Placed StepBuilder::place(const std::string& name, const Desc& desc, DType dtype, Storage storage) {
    return Placed{program_.add_buffer(name, desc.get_size(), storage, walk_.section()), desc, dtype};
}

Placed StepBuilder::temporary(const std::string& name, const Desc& desc, DType dtype) {
    return place(walk_.node().name + ":" + name, desc, dtype, Storage::arena);
}

Placed StepBuilder::temporary_floats(const std::string& name, std::int64_t count) {
    return temporary(name, row_major({DType::f32, {count}}), DType::f32);
}

std::function<std::span<float>()> StepBuilder::scratch_floats(std::int64_t count) {
    program_.reserve_scratch(walk_.section(), static_cast<std::size_t>(count) * sizeof(float));
    return [count, where = walk_.section(), &program = program_] {
        return std::span<float>(reinterpret_cast<float*>(program.scratch(where)), static_cast<std::size_t>(count));
    };
}

Step StepBuilder::node_step() const {
    const graph::Node& node = walk_.node();
    Step step;
    step.name = node.name;
    step.op = walk_.graph().def(node).name;
    step.implementation = "kernel";
    step.flops = walk_.graph().node_flops(walk_.id());
    step.stage = node.stage.index;
    return step;
}

Step StepBuilder::data_step(const std::string& suffix, const std::string& op) const {
    Step step = node_step();
    step.name += ":" + suffix;
    step.op = op;
    step.flops = 0;
    return step;
}

void StepBuilder::add(Step step) {
    program_.add_step(walk_.section(), std::move(step));
}

void StepBuilder::add(std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes, Run run) {
    add(with_operands(node_step(), std::move(implementation), std::move(reads), std::move(writes), std::move(run)));
}

void StepBuilder::add_late(std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes, Run run) {
    Step step = node_step();
    step.flops = 0;
    late_steps_.push_back(
        with_operands(std::move(step), std::move(implementation), std::move(reads), std::move(writes), std::move(run)));
}

void StepBuilder::add_late_steps() {
    for (Step& step : late_steps_)
        program_.add_step(Section::update(), std::move(step));
    late_steps_.clear();
}

void StepBuilder::add_copy(const std::string& op, const Placed& from, const Placed& to, Run run) {
    add(with_operands(data_step(op, op), "kernel", {from}, {to}, std::move(run)));
}

void StepBuilder::add_copy_primitive(const std::string& op, const Primitive& primitive, const Placed& from,
                                     const Placed& to) {
    program_.add_primitive(walk_.section(), data_step(op, op), primitive, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}},
                           {DNNL_ARG_TO});
}

void StepBuilder::add_primitive(const Primitive& primitive, const Arguments& arguments,
                                const std::vector<int>& written) {
    program_.add_primitive(walk_.section(), node_step(), primitive, arguments, written);
}

void StepBuilder::add_parts(const Primitive& primitive, const std::vector<Arguments>& parts,
                            const std::vector<int>& written) {
    program_.add_parts(walk_.section(), node_step(), primitive, parts, written);
}

}  // namespace cnntrain::cpu
