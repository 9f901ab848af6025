// Every backend against ref, case by case.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cnntrain/backend/backends.h"
#include "support/bf16_products.h"
#include "support/op_cases.h"

namespace cnntrain::test {
namespace {

TEST(Conformance, RefAgreesWithItself) {
    EXPECT_EQ(check_backend(*backend::make_ref_backend()), std::vector<std::string>{});
}

TEST(Conformance, CpuAgreesWithRef) {
    const auto cpu = backend::make_cpu_backend();
    std::vector<std::string> failures = check_backend(*cpu);
    if (!has_bf16_products()) {
        const auto refusals = std::erase_if(failures, [](const std::string& failure) {
            return failure.find("in bfloat16 it needs AVX-512") != std::string::npos;
        });
        EXPECT_GT(refusals, 0U);
    }
    EXPECT_EQ(failures, std::vector<std::string>{});
}

/// The cases' tolerance is that of bfloat16, which has three digits less.
TEST(Conformance, RefInHalfPrecisionAgreesWithExactRef) {
    const auto half = backend::make_ref_backend({.half = DType::f16, .rounds = true});
    int count = 0;
    for (const OpCase& op_case : op_cases()) {
        if (!op_case.name.ends_with("/bf16")) continue;
        EXPECT_EQ(compare_with_ref(*half, in_half(op_case)), "");
        ++count;
    }
    EXPECT_GT(count, 100);
}

TEST(Conformance, CpuRefusesHalfPrecision) {
    const auto cpu = backend::make_cpu_backend();
    const auto op_case = std::ranges::find_if(op_cases(), [](const auto& c) { return c.name.ends_with("/bf16"); });
    EXPECT_NE(compare_with_ref(*cpu, in_half(*op_case)).find("the cpu backend computes in f32 and bf16, not in f16"),
              std::string::npos);
}

/// An executable that leaves everything to another one but gets every output slightly wrong.
class OffByALittle : public backend::Backend {
public:
    const backend::BackendInfo& info() const override { return info_; }
    schedule::Placement placement(const schedule::UpdatePlan& plan, const backend::CpuSettings& cpu) const override {
        return inner_->placement(plan, cpu);
    }
    std::unique_ptr<backend::Executable> compile(const backend::CompileRequest& request) const override {
        return std::make_unique<Wrong>(inner_->compile(request));
    }

private:
    class Wrong : public backend::Executable {
    public:
        explicit Wrong(std::unique_ptr<backend::Executable> inner) : inner_(std::move(inner)) {}
        const backend::CompileReport& report() const override { return inner_->report(); }
        void load(const backend::NamedTensors& tensors) override { inner_->load(tensors); }
        backend::NamedTensors store(std::span<const std::string> names) const override {
            backend::NamedTensors tensors = inner_->store(names);
            for (auto& [name, tensor] : tensors)
                tensor = spoil(std::move(tensor));
            return tensors;
        }
        void train(data::BatchSource& source, std::span<const backend::StepScalars> updates,
                   const backend::UpdateDone& done, backend::PartialUpdate* partial) override {
            inner_->train(source, updates, done, partial);
        }
        backend::StepResult evaluate(data::BatchSource& source, std::int64_t batches) override {
            return inner_->evaluate(source, batches);
        }
        HostTensor read(backend::Result result, const std::string& name) const override {
            const bool is_output = result == backend::Result::output;
            return is_output ? spoil(inner_->output(name)) : inner_->gradient(name);
        }
        std::optional<std::string> first_non_finite() const override { return inner_->first_non_finite(); }
        void set_profiling(bool enabled, Timeline* timeline) override { inner_->set_profiling(enabled, timeline); }
        backend::StepTimes profile() const override { return inner_->profile(); }

    private:
        static HostTensor spoil(HostTensor tensor) {
            const double value = tensor.at(0);
            const bool is_byte = tensor.dtype() == DType::u8 || tensor.dtype() == DType::i8;
            const double change = is_byte ? (value > 0 ? -100 : 100) : std::max(0.1, std::abs(value) / 4);
            tensor.set(0, value + change);
            return tensor;
        }
        std::unique_ptr<backend::Executable> inner_;
    };

    std::unique_ptr<backend::Backend> inner_ = backend::make_ref_backend();
    backend::BackendInfo info_ = {
        .name = "off", .library = inner_->library(), .why_unsupported = inner_->info().why_unsupported};
};

TEST(Conformance, WrongNumbersAreNoticedInEveryCase) {
    const OffByALittle wrong;
    for (const OpCase& op_case : op_cases()) {
        EXPECT_NE(compare_with_ref(wrong, op_case).find(op_case.name + " on off"), std::string::npos) << op_case.name;
    }
}

}  // namespace
}  // namespace cnntrain::test
