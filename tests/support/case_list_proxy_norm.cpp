// Cases of proxy norm.
#include "support/case_list.h"

namespace cnntrain::test {

using graph::Activation;
using graph::ProxyNormAttrs;

namespace {

void add_standardise_cases(std::vector<OpCase>& cases, DType type) {
    const auto add = [&](const char* name, const Shape& shape, bool mean, bool scale) {
        const TensorDesc vector{DType::f32, {shape.back()}};
        OpCase op_case{.name = std::string("standardise/") + name,
                       .kind = OpKind::standardise,
                       .attrs = graph::StandardiseAttrs{mean, scale},
                       .inputs = {{"x", {type, shape}, -0.3, 2}},
                       .tolerance = tolerance_of(type)};
        if (mean) op_case.inputs.push_back({"mean", vector, -0.5, 0.5});
        if (scale) op_case.inputs.push_back({"scale", vector, 0.5, 2});
        cases.push_back(std::move(op_case));
    };
    add("both", {3, 4, 5, 16}, true, true);
    add("both_odd", {2, 3, 5, 17}, true, true);
    add("mean", {3, 5, 4, 10}, true, false);
    add("scale", {2, 3, 3, 32}, false, true);
    add("gate", {5, 24}, false, true);
    add("vectors", {7, 9}, true, true);
}

}  // namespace

void add_proxy_norm_cases(std::vector<OpCase>& cases, DType type) {
    add_standardise_cases(cases, type);
    const auto add = [&](std::string name, OpKind kind, const ProxyNormAttrs& attrs, std::vector<CaseInput> inputs) {
        cases.push_back({.name = std::move(name),
                         .kind = kind,
                         .attrs = attrs,
                         .inputs = std::move(inputs),
                         .tolerance = tolerance_of(type)});
    };
    for (const Activation activation : {Activation::swish, Activation::relu}) {
        const std::string suffix = activation == Activation::swish ? "swish" : "relu";
        const ProxyNormAttrs attrs{.activation = activation, .epsilon = 0.03, .weight_decay = 0, .rows = {}};
        for (const std::int64_t channels : {3, 37, 160}) {
            const CaseInput proxy{"proxy", {type, {graph::kProxyRows, 1, 1, channels}}, -1.5, 1.5};
            const CaseInput gradient{"gradient", {DType::f32, proxy.desc.shape}, -1, 1};
            const std::string name = suffix + "_" + std::to_string(channels);
            ProxyNormAttrs decayed = attrs;
            decayed.weight_decay = 0.1;
            add("proxy_norm_gradient/" + name, OpKind::proxy_norm_gradient, decayed,
                {proxy, gradient, {"loss_scaling", {DType::f32, {}}, 0.5, 2}});
            add("proxy_norm_statistics/" + name, OpKind::proxy_norm_statistics, attrs, {proxy});
        }
    }
    add("proxy_norm_rows/odd", OpKind::proxy_norm_rows, {}, {{"proxy", {type, {graph::kProxyRows, 1, 1, 19}}}});
    const TensorDesc row{DType::f32, {19}};
    add("proxy_norm_rows_grad/three", OpKind::proxy_norm_rows_grad, {.rows = {0, 1, 2}},
        {{"dbeta", row}, {"dgamma", row}, {"dmean", row}});
    add("proxy_norm_rows_grad/last", OpKind::proxy_norm_rows_grad, {.rows = {3}}, {{"dinverse", row}});
}

}  // namespace cnntrain::test
