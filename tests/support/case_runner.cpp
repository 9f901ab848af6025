// Running cases on backends and comparing the results.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "support/op_cases.h"

namespace cnntrain::test {

TensorSource case_source(const graph::Graph& graph, const std::map<std::string, HostTensor>& tensors) {
    std::vector<std::pair<std::string, HostTensor>> fed;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::input)) {
        const std::string& name = graph.value(id).name;
        fed.emplace_back(name, tensors.at(name));
    }
    return TensorSource(std::move(fed));
}

std::map<std::string, HostTensor> evaluate_on(const backend::Backend& backend, const OpCase& op_case,
                                              bool with_gradient, int threads) {
    const CaseGraph case_graph = build_case(op_case, with_gradient);
    const graph::Graph& graph = case_graph.graph;
    const std::map<std::string, HostTensor> inputs = random_inputs(op_case, case_graph);
    TensorSource source = case_source(graph, inputs);
    backend::CompileRequest request;
    request.graph = &graph;
    request.runtime.stochastic_rounding = false;
    request.cpu.threads = threads;
    request.fields = source.fields();
    const std::unique_ptr<backend::Executable> executable = backend.compile(request);
    for (const std::string& name : executable->variable_names())
        executable->load(name, inputs.at(name));

    const graph::Node& node = graph.node(case_graph.node);
    const bool reads_scalars =
        !graph.values_with_role(graph::Role::scalar).empty();  // which an evaluation does not set
    if (with_gradient || reads_scalars || node.phase == graph::Phase::update) {
        const auto scalar = [&](const char* name, double otherwise) {
            const auto given = inputs.find(name);
            return given == inputs.end() ? otherwise : given->second.at(0);
        };
        executable->train_step(
            source, {.learning_rate = scalar("learning_rate", 0), .loss_scaling = scalar("loss_scaling", 1)});
    } else {
        executable->evaluate(source, 1);
    }

    std::map<std::string, HostTensor> results;
    for (const graph::Output& output : graph.outputs())
        results[output.name] = executable->output(output.name);
    for (const std::size_t index : graph.def(node).overwritten_inputs(node.inputs.size())) {
        const std::string& name = op_case.inputs.at(index).name;
        results[name] = executable->store(name);
    }
    return results;
}

namespace {

std::string differences(const std::string& name, const HostTensor& got, const HostTensor& want, double tolerance) {
    if (got.desc() != want.desc())
        return name + " is " + to_string(got.desc()) + ", not " + to_string(want.desc()) + "\n";
    double squares = 0;
    for (std::int64_t i = 0; i < want.elements(); ++i)
        squares += want.at(i) * want.at(i);
    const double floor = std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(want.elements(), 1)));
    std::ostringstream text;
    text.precision(9);
    int count = 0;
    for (std::int64_t i = 0; i < want.elements(); ++i) {
        // Written so that NaN differs.
        if (std::abs(got.at(i) - want.at(i)) <= tolerance * std::max(std::abs(want.at(i)), floor)) continue;
        if (++count <= 3) text << name << "[" << i << "] is " << got.at(i) << ", ref has " << want.at(i) << "\n";
    }
    if (count > 3) text << name << ": " << count << " of " << want.elements() << " elements differ\n";
    return text.str();
}

}  // namespace

std::string compare_with_ref(const backend::Backend& backend, const OpCase& op_case) {
    const std::unique_ptr<backend::Backend> ref = backend::make_ref_backend();
    std::string text;
    for (const bool with_gradient : {false, true}) {
        if (with_gradient && !has_gradient(op_case)) continue;
        try {
            const auto got = evaluate_on(backend, op_case, with_gradient);
            for (const auto& [name, want] : evaluate_on(*ref, op_case, with_gradient))
                text += differences(name, got.at(name), want, op_case.tolerance);
        } catch (const Error& error) {
            text += std::string(error.what()) + "\n";
        }
    }
    return text.empty() ? "" : op_case.name + " on " + std::string(backend.name()) + ":\n" + text;
}

std::vector<std::string> check_backend(const backend::Backend& backend) {
    std::vector<std::string> failures;
    for (const OpCase& op_case : op_cases()) {
        std::string text = compare_with_ref(backend, op_case);
        if (!text.empty()) failures.push_back(std::move(text));
    }
    return failures;
}

}  // namespace cnntrain::test
