// Adds steps and memory to a program on behalf of the node that is being lowered.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/lower/node_walk.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/program/program.h"

namespace cnntrain::cpu {

class StepBuilder {
public:
    using Run = std::function<void(const StepContext&)>;

    StepBuilder(const NodeWalk& walk, Program& program) : walk_(walk), program_(program) {}

    /// Memory that the node's section uses first.
    Placed place(const std::string& name, const Desc& desc, DType dtype, Storage storage);
    /// Memory between steps of the node.
    Placed temporary(const std::string& name, const Desc& desc, DType dtype);
    Placed temporary_floats(const std::string& name, std::int64_t count);
    /// Room for `count` floats while a step runs; valid once the program is finished.
    std::function<std::span<float>()> scratch_floats(std::int64_t count);

    /// The node's own step, still without operands and function.
    Step node_step() const;
    /// A step that moves data for the node; `suffix` is added to the node's name.
    Step data_step(const std::string& suffix, const std::string& op) const;
    /// Appends the step to the node's section.
    void add(Step step);
    void add(std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes, Run run);
    /// Like add(), for a step that runs after all other steps of the optimiser.
    void add_late(std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes, Run run);
    /// Appends the late steps.
    void add_late_steps();
    bool has_late_steps() const { return !late_steps_.empty(); }
    void add_copy(const std::string& op, const Placed& from, const Placed& to, Run run);
    void add_copy_primitive(const std::string& op, const Primitive& primitive, const Placed& from, const Placed& to);
    void add_primitive(const Primitive& primitive, const Arguments& arguments, const std::vector<int>& written);
    /// Adds a step that runs a single-threaded primitive on several lists of arguments side by side.
    void add_parts(const Primitive& primitive, const std::vector<Arguments>& parts, const std::vector<int>& written);

private:
    const NodeWalk& walk_;
    Program& program_;
    std::vector<Step> late_steps_;  // of the update
};

}  // namespace cnntrain::cpu
