// Numeric gradients of op cases.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "cnntrain/backend/backends.h"
#include "support/op_cases.h"

namespace cnntrain::test {
namespace {

constexpr std::size_t kMostElements = 48;  // checked per input

std::vector<RefTensor> initial_values(const OpCase& op_case, const CaseGraph& case_graph) {
    const graph::Graph& graph = case_graph.graph;
    std::vector<RefTensor> values;
    for (std::int32_t i = 0; i < graph.value_count(); ++i) {
        const TensorDesc& desc = graph.desc(ValueId{i});
        values.push_back({desc, std::vector<double>(static_cast<std::size_t>(desc.elements()))});
    }
    for (const auto& [name, tensor] : random_inputs(op_case, case_graph)) {
        RefTensor& value = values.at(static_cast<std::size_t>(graph.find(name)->index));
        for (std::size_t i = 0; i < value.values.size(); ++i)
            value.values[i] = tensor.at(static_cast<std::int64_t>(i));
    }
    return values;
}

/// The op's first output.
const std::vector<double>& computed(const CaseGraph& case_graph, std::vector<RefTensor>& values) {
    const graph::Graph& graph = case_graph.graph;
    backend::evaluate_node(graph, case_graph.node, values);
    const ValueId output = graph.node(case_graph.node).outputs.front();
    return values.at(static_cast<std::size_t>(output.index)).values;
}

/// The slope of the first output, projected onto "d/out0", in an element of an input. Elements are subtracted before
/// they are summed: differences of sums would round to the digits of the sums.
double numeric_slope(const CaseGraph& case_graph, std::vector<RefTensor>& values, double& element, double step) {
    const auto incoming = static_cast<std::size_t>(case_graph.graph.find("d/out0")->index);
    const double original = element;
    element = original + step;
    const std::vector<double> above = computed(case_graph, values);
    element = original - step;
    const std::vector<double> below = computed(case_graph, values);
    element = original;
    const std::vector<double>& weights = values.at(incoming).values;
    double sum = 0;
    for (std::size_t i = 0; i < above.size(); ++i)
        sum += (above[i] - below[i]) * weights[i];
    return sum / (2 * step);
}

}  // namespace

std::string check_gradient(const OpCase& op_case, const graph::OpTable& ops) {
    const CaseGraph case_graph = build_case(op_case, true, ops);
    const graph::Graph& graph = case_graph.graph;
    std::vector<RefTensor> values = initial_values(op_case, case_graph);
    for (std::int32_t i = 0; i < graph.node_count(); ++i)
        backend::evaluate_node(graph, graph::NodeId{i}, values);

    std::ostringstream text;
    text.precision(10);
    for (const auto& [name, gradient_id] : case_graph.gradients) {
        const std::vector<double> gradient = values.at(static_cast<std::size_t>(gradient_id.index)).values;
        std::vector<double>& input = values.at(static_cast<std::size_t>(graph.find(name)->index)).values;
        double largest = 0;
        for (const double g : gradient)
            largest = std::max(largest, std::abs(g));
        const std::size_t stride = std::max<std::size_t>(gradient.size() / kMostElements, 1);
        for (std::size_t i = 0; i < gradient.size(); i += stride) {
            const double numeric = numeric_slope(case_graph, values, input[i], op_case.gradient_step);
            const double scale = std::max({std::abs(numeric), std::abs(gradient[i]), largest / 100});
            if (std::abs(numeric - gradient[i]) <= kGradientTolerance * scale) continue;
            text << op_case.name << ": d/d" << name << "[" << i << "] is " << gradient[i] << ", numerically " << numeric
                 << "\n";
        }
    }
    return text.str();
}

}  // namespace cnntrain::test
