#include "cnntrain/backend/backends.h"

#include <array>
#include <new>

#include "backend/cpu/isa.h"
#include "backend/cpu/lower/lowering.h"
#include "backend/cpu/run/executable.h"
#include "backend/cpu/run/placement.h"
#include "cnntrain/base/error.h"

namespace cnntrain::backend {
namespace {

class CpuBackend : public Backend {
public:
    CpuBackend() {
        cpu::limit_kernels(isa_);
        // Memory-bound kernels are fused with their neighbours.
        static constexpr std::array kTraining{graph::kMoveActivationsToSender, graph::kFuseNormActivation};
        static constexpr std::array kBackward{graph::kFuseGradientSums, graph::kRemoveDeadNodes};
        static constexpr std::array kEvaluation{graph::kFuseNormActivation, graph::kFoldInferenceNorms,
                                                graph::kRemoveDeadNodes};
        static constexpr std::array kOneStage{graph::kRecomputeNorms};
        // Update kernels read f32 gradients and keep slots in the type of their weights.
        info_ = {.name = "cpu",
                 .library = cpu::library_text(),
                 .half_type = DType::bf16,
                 .fastest = cpu::fastest_arithmetic(isa_),
                 .rewrites = {kTraining, kBackward, kEvaluation, kOneStage},
                 .update_types = {},
                 .multiplies_bytes = cpu::multiplies_bytes(),
                 .why_unsupported = [this](const auto& graph, const auto& node) { return refusal(graph, node); },
                 .describe =
                     [this](const CompileRequest& request) {
                         return compiled(request, cpu::CpuExecutable::Aim::description)->report();
                     },
                 .measure_products = cpu::measure_products};
    }

    const BackendInfo& info() const override { return info_; }

    schedule::Placement placement(const schedule::UpdatePlan& plan, const CpuSettings& cpu) const override {
        return cpu::placement_of(plan, cpu);
    }

    std::unique_ptr<Executable> compile(const CompileRequest& request) const override {
        return compiled(request, cpu::CpuExecutable::Aim::run);
    }

private:
    std::string refusal(const graph::Graph& graph, const graph::Node& node) const {
        const cpu::LoweringEntry* lowering = cpu::lowering_of(node.kind);
        if (lowering == nullptr) return "the cpu backend has no implementation of this operation";
        for (const auto* values : {&node.inputs, &node.outputs}) {
            for (const graph::ValueId value : *values) {
                const DType type = graph.desc(value).dtype;
                if (type == DType::f16 || type == DType::f64)
                    return "the cpu backend computes in f32 and bf16, not in " + std::string(cnntrain::name(type));
                if (type == DType::bf16 && lowering->is_primitive && !isa_.avx512)
                    return "in bfloat16 it needs AVX-512, which this processor does not have; use --compute-type f32";
            }
        }
        return {};
    }

    std::unique_ptr<Executable> compiled(const CompileRequest& request, cpu::CpuExecutable::Aim aim) const {
        check_request(*this, request);
        try {
            return std::make_unique<cpu::CpuExecutable>(request, placement(request.plan, request.cpu), aim);
        } catch (const dnnl::error& error) {
            if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
            throw Error(ErrorKind::internal,
                        "cpu backend: oneDNN refused while compiling: " + std::string(error.what()));
        }
    }

    cpu::Isa isa_ = cpu::effective_isa();
    BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() {
    return std::make_unique<CpuBackend>();
}

}  // namespace cnntrain::backend
