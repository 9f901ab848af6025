// Times every op case (the list that the tests use), or those of BERT-Base at full size, on a backend: one row per case, or the
// reason why it is refused.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "bert_cases.h"
#include "cnntrain/backend/cpu.h"
#include "cnntrain/backend/ref.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/spinning.h"
#include "support/op_cases.h"

namespace cnntrain {

namespace {

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
    CLI11_PARSE(app, argc, argv);
    try {
        return cnntrain::run(options);
    } catch (const cnntrain::Error& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return cnntrain::exit_code(error.kind());
    }
}
