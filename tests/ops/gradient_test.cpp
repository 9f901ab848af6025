// The gradient rules against central differences, for every case that has one.
#include <gtest/gtest.h>

#include <set>

#include "cnntrain/graph/passes.h"
#include "support/matchers.h"
#include "support/op_cases.h"

namespace cnntrain::test {
namespace {

using graph::GradContext;

TEST(OpCases, CoverEveryOp) {
    std::set<OpKind> covered;
    std::set<std::string> names;
    for (const OpCase& op_case : op_cases()) {
        EXPECT_TRUE(names.insert(op_case.name).second) << op_case.name << " is listed twice";
        const CaseGraph case_graph = build_case(op_case, has_gradient(op_case));
        case_graph.graph.verify();
        for (const graph::Node& node : case_graph.graph.nodes())
            covered.insert(node.kind);
    }
    for (const graph::OpDef& def : ops::op_table())
        EXPECT_TRUE(covered.contains(def.kind)) << def.name;
}

TEST(OpGradients, AgreeWithCentralDifferences) {
    int checked = 0;
    for (const OpCase& op_case : op_cases()) {
        if (!has_gradient(op_case) || op_case.gradient_step == 0) continue;
        EXPECT_EQ(check_gradient(op_case), "");
        ++checked;
    }
    EXPECT_GE(checked, 70);
}

const OpCase& case_named(const std::string& name) {
    for (const OpCase& op_case : op_cases()) {
        if (op_case.name == name) return op_case;
    }
    throw std::out_of_range(name);
}

/// An instrument that cannot fail measures nothing.
TEST(OpGradients, WrongOnesAreCaughtWithTheirIndices) {
    graph::OpTable wrong = ops::op_table();
    wrong[static_cast<std::size_t>(OpKind::activation)].gradient = [](GradContext& context) {
        context.set_grad(0, context.grad_output(0));  // forgets the mask
    };
    EXPECT_THAT(check_gradient(case_named("activation/relu/f32"), wrong), HasSubstr("d/dx["));

    wrong[static_cast<std::size_t>(OpKind::dense)].gradient = [](GradContext& context) {
        const graph::ValueId dy = context.grad_output(0);
        context.set_grad(0,
                         context.add_one(OpKind::dense_input_grad, graph::DenseAttrs{}, {dy, context.input(1)}, "x"));
        context.set_grad(1,
                         context.add_one(OpKind::dense_weight_grad, graph::DenseAttrs{}, {context.input(0), dy}, "w"));
        context.set_grad(2, context.input(2));
    };
    const std::string text = check_gradient(case_named("dense/17_to_10/f32"), wrong);
    EXPECT_THAT(text, HasSubstr("d/dbias[0] is "));
    EXPECT_THAT(text, Not(HasSubstr("d/dw[")));
}

TEST(OpGradients, ATooLargeStepFails) {
    OpCase op_case = case_named("softmax_cross_entropy/c10/f32");
    op_case.gradient_step = 1;
    EXPECT_NE(check_gradient(op_case), "");
}

}  // namespace
}  // namespace cnntrain::test
