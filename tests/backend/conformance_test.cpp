// Every backend against ref, case by case.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cnntrain/backend/cpu.h"
#include "cnntrain/backend/ref.h"
#include "support/bf16_products.h"
#include "support/op_cases.h"

namespace cnntrain::test {
namespace {

TEST(Conformance, RefAgreesWithItself) {
    EXPECT_EQ(check_backend(*backend::make_ref_backend()), std::vector<std::string>{});
}

TEST(Conformance, CpuAgreesWithRef) {
    std::vector<std::string> failures = check_backend(*backend::make_cpu_backend());
    if (!has_bf16_products()) {
        const auto refusals = std::erase_if(failures, [](const std::string& failure) {
            return failure.find("in bfloat16 it needs AVX-512") != std::string::npos;
        });
        EXPECT_GT(refusals, 0U);
    }
    EXPECT_EQ(failures, std::vector<std::string>{});
}

/// An executable that passes everything to another one but gets every output slightly wrong.
class OffByALittle : public backend::Backend {
public:
    std::string_view name() const override { return "off"; }
    std::string library() const override { return inner_->library(); }
    DType half_type() const override { return inner_->half_type(); }
    backend::Arithmetic fastest_arithmetic() const override { return inner_->fastest_arithmetic(); }
    graph::PassLists passes() const override { return inner_->passes(); }
    std::string why_unsupported(const graph::Graph& graph, const graph::Node& node) const override {
        return inner_->why_unsupported(graph, node);
    }
    std::unique_ptr<backend::Executable> compile(const backend::CompileRequest& request) const override {
        return std::make_unique<Wrong>(inner_->compile(request));
    }

private:
    class Wrong : public backend::Executable {
    public:
        explicit Wrong(std::unique_ptr<backend::Executable> inner) : inner_(std::move(inner)) {}
        const backend::CompileReport& report() const override { return inner_->report(); }
        void load(const std::string& name, const HostTensor& tensor) override { inner_->load(name, tensor); }
        HostTensor store(const std::string& name) const override { return spoil(inner_->store(name)); }
        std::vector<std::string> variable_names() const override { return inner_->variable_names(); }
        backend::StepResult train_step(data::BatchSource& source, const backend::StepScalars& scalars) override {
            return inner_->train_step(source, scalars);
        }
        backend::StepResult evaluate(data::BatchSource& source, std::int64_t batches) override {
            return inner_->evaluate(source, batches);
        }
        HostTensor output(const std::string& name) const override { return spoil(inner_->output(name)); }
        backend::Inspection& inspection() override { return inner_->inspection(); }

    private:
        static HostTensor spoil(HostTensor tensor) {
            tensor.set(0, tensor.at(0) + std::max(0.1, std::abs(tensor.at(0)) / 4));
            return tensor;
        }
        std::unique_ptr<backend::Executable> inner_;
    };

    std::unique_ptr<backend::Backend> inner_ = backend::make_ref_backend();
};

TEST(Conformance, WrongNumbersAreNoticedInEveryCase) {
    const OffByALittle wrong;
    for (const OpCase& op_case : op_cases()) {
        EXPECT_NE(compare_with_ref(wrong, op_case).find(op_case.name + " on off"), std::string::npos) << op_case.name;
    }
}

}  // namespace
}  // namespace cnntrain::test
