// Times every op case (the list that the tests use), or those of BERT-Base at full size, on a backend: one row per
// case, or the reason why it is refused.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "cnntrain/backend/cpu.h"
#include "cnntrain/backend/ref.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/spinning.h"
#include "run_tool.h"
#include "support/op_cases.h"

namespace cnntrain {

using graph::OpKind;
using test::CaseInput;
using test::Fill;
using test::OpCase;

namespace {

constexpr std::int64_t kHeads = 12;
constexpr std::int64_t kFeatures = 768;
constexpr std::int64_t kInner = 3072;
constexpr std::int64_t kVocabulary = 30400;
constexpr double kKeep = 0.9;

CaseInput numbers(const char* name, const Shape& shape, std::int64_t below) {
    return {.name = name,
            .desc = {DType::i32, shape},
            .low = 0,
            .high = static_cast<double>(below - 1),
            .fill = Fill::integers,
            .fed = true};
}

void add_dense(std::vector<OpCase>& cases, const char* name, const TensorDesc& x, std::int64_t out, bool bias,
               bool transposed) {
    const std::int64_t in = x.shape.back();
    OpCase dense{.name = std::string("dense/") + name,
                 .kind = OpKind::dense,
                 .attrs = graph::DenseAttrs{.bias = bias, .transposed = transposed},
                 .inputs = {{"x", x}, {"w", {x.dtype, transposed ? Shape{out, in} : Shape{in, out}}}},
                 .tolerance = 0};
    if (bias) dense.inputs.push_back({"bias", {DType::f32, {out}}});
    cases.push_back(std::move(dense));
}

void add_attention(std::vector<OpCase>& cases, const TensorDesc& x) {
    const std::int64_t batch = x.shape[0];
    const std::int64_t sequence = x.shape[1];
    const TensorDesc qkv{x.dtype, {batch, sequence, 3 * kFeatures}};
    for (const double keep : {1.0, kKeep}) {
        cases.push_back(
            {.name = keep < 1 ? "attention/dropout" : "attention/plain",
             .kind = OpKind::attention,
             .attrs = graph::AttentionAttrs{.heads = kHeads, .scale = 0.125, .keep = keep},
             .inputs = {{"qkv", qkv},
                        {.name = "mask", .desc = {DType::f32, {batch, sequence}}, .high = 0, .fed = true}}});
    }
    const TensorDesc heads{x.dtype, {batch, kHeads, sequence, kFeatures / kHeads}};
    const TensorDesc scores{x.dtype, {batch, kHeads, sequence, sequence}};
    cases.push_back({.name = "batched_matmul/scores",
                     .kind = OpKind::batched_matmul,
                     .attrs = graph::MatmulAttrs{false, true},
                     .inputs = {{"q", heads}, {"k", heads}}});
    cases.push_back({.name = "batched_matmul/values",
                     .kind = OpKind::batched_matmul,
                     .attrs = graph::MatmulAttrs{},
                     .inputs = {{"p", scores}, {"v", heads}}});
}

/// Every op that an encoder layer, the embeddings and the masked-token head of BERT-Base run, at full size; and the two
/// plain matrix products of attention with all scores in memory.
std::vector<OpCase> bert_cases(std::int64_t batch, std::int64_t sequence, DType type) {
    std::vector<OpCase> cases;
    const TensorDesc x{type, {batch, sequence, kFeatures}};
    const TensorDesc inner{type, {batch, sequence, kInner}};
    const std::int64_t picked = std::lround(0.15 * static_cast<double>(sequence)) + 1;
    const TensorDesc tokens{type, {batch * picked, kFeatures}};
    const TensorDesc vector{DType::f32, {kFeatures}};
    add_attention(cases, x);
    add_dense(cases, "qkv", x, 3 * kFeatures, false, false);
    add_dense(cases, "projection", x, kFeatures, false, false);
    add_dense(cases, "up", x, kInner, true, false);
    add_dense(cases, "down", inner, kFeatures, true, false);
    add_dense(cases, "tied_head", tokens, kVocabulary, true, true);
    cases.push_back({.name = "activation/gelu_tanh",
                     .kind = OpKind::activation,
                     .attrs = graph::ActivationAttrs{graph::Activation::gelu_tanh},
                     .inputs = {{"x", inner}}});
    for (const double keep : {1.0, kKeep}) {
        cases.push_back({.name = keep < 1 ? "layer_norm/dropout" : "layer_norm/residual",
                         .kind = OpKind::layer_norm,
                         .attrs = graph::LayerNormAttrs{.residual = true, .keep = keep},
                         .inputs = {{"x", x}, {"gamma", vector}, {"beta", vector}, {"residual", x}}});
    }
    cases.push_back(
        {.name = "embedding/words",
         .kind = OpKind::embedding,
         .attrs = graph::EmbeddingAttrs{type},
         .inputs = {numbers("ids", {batch, sequence}, kVocabulary), {"table", {type, {kVocabulary, kFeatures}}}}});
    cases.push_back({.name = "gather_rows/masked",
                     .kind = OpKind::gather_rows,
                     .attrs = graph::GatherRowsAttrs{},
                     .inputs = {{"x", x}, numbers("positions", {batch, picked}, sequence)}});
    cases.push_back({.name = "token_cross_entropy/masked",
                     .kind = OpKind::token_cross_entropy,
                     .attrs = graph::NoAttrs{},
                     .inputs = {{"logits", {type, {batch * picked, kVocabulary}}},
                                numbers("labels", {batch * picked}, kVocabulary),
                                {.name = "weights", .desc = {DType::f32, {batch * picked}}, .low = 0.5, .fed = true}}});
    return cases;
}

struct Options {
    std::string backend = "cpu";
    std::string filter;
    int repeats = 20;
    int threads = 0;
    bool gradients = false;
    std::int64_t bert_batch = 0;  // 0: the cases of the tests
    std::int64_t sequence = 128;
};

std::vector<test::OpCase> cases_of(const Options& options) {
    if (options.bert_batch == 0) return test::op_cases();
    std::vector<test::OpCase> cases;
    for (const DType type : {DType::f32, DType::bf16}) {
        for (test::OpCase& op_case : bert_cases(options.bert_batch, options.sequence, type)) {
            op_case.name += "/" + std::string(name(type));
            cases.push_back(std::move(op_case));
        }
    }
    return cases;
}

/// Loads the case's inputs and runs its step `repeats` times.
std::vector<backend::ProfileRow> time_case(const backend::Backend& backend, const test::OpCase& op_case,
                                           const Options& options) {
    const test::CaseGraph built =
        test::build_case(op_case, options.gradients && test::has_gradient(op_case), ops::op_table());
    const auto inputs = test::random_inputs(op_case, built);
    test::TensorSource source = test::case_source(built.graph, inputs);
    const auto executable = backend.compile({&built.graph, source.fields(), {}, {.threads = options.threads}});
    for (const std::string& name : executable->variable_names())
        executable->load(name, inputs.at(name));
    executable->inspection().set_profiling(true);
    for (int i = 0; i < options.repeats; ++i)
        executable->train_step(source, {0.01, i});
    return executable->inspection().profile();
}

int run(const Options& options) {
    const auto backend = options.backend == "ref" ? backend::make_ref_backend() : backend::make_cpu_backend();
    std::printf("%-46s %-26s %-30s %10s %9s %8s\n", "case", "operation", "implementation", "us", "GFLOP/s", "GB/s");
    for (const test::OpCase& op_case : cases_of(options)) {
        if (op_case.name.find(options.filter) == std::string::npos) continue;
        try {
            for (const backend::ProfileRow& row : time_case(*backend, op_case, options)) {
                std::printf("%-46s %-26s %-30s %10.1f %9.2f %8.2f\n", op_case.name.c_str(), row.op.c_str(),
                            row.implementation.c_str(), 1e3 * row.milliseconds, row.gflops / row.milliseconds * 1e3,
                            row.megabytes / row.milliseconds);
            }
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::unsupported) throw;
            std::printf("%-46s not supported: %s\n", op_case.name.c_str(), error.what());
        }
    }
    return 0;
}

}  // namespace
}  // namespace cnntrain

int main(int argc, char** argv) {
    cnntrain::limit_spinning(argv);
    cnntrain::Options options;
    CLI::App app{"Times the op cases of the tests on a backend."};
    app.add_option("--backend", options.backend, "cpu or ref")
        ->capture_default_str()
        ->check(CLI::IsMember({"cpu", "ref"}));
    app.add_option("--filter", options.filter, "only cases whose name contains this");
    app.add_option("--repeats", options.repeats, "runs per case, of which the mean is printed")->capture_default_str();
    app.add_option("--threads", options.threads, "compute threads, 0: all cores")->capture_default_str();
    app.add_flag("--gradients", options.gradients, "the gradients too");
    app.add_option("--bert", options.bert_batch, "the ops of BERT-Base at full size, for so many sequences");
    app.add_option("--sequence", options.sequence, "tokens of a sequence, with --bert")->capture_default_str();
    return cnntrain::run_tool(app, argc, argv, [&] { return cnntrain::run(options); });
}
