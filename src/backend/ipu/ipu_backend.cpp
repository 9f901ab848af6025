#include "cnntrain/backend/ipu.h"

#include <algorithm>
#include <vector>

#include <poplar/IPUModel.hpp>
#include <poplar/exceptions.hpp>
#include <poputil/exceptions.hpp>

#include "backend/ipu/executable.h"
#include "backend/ipu/lower/types.h"
#include "cnntrain/base/error.h"
#include "cnntrain/schedule/pipeline.h"

namespace cnntrain::backend {

namespace {

class IpuBackend : public Backend {
public:
    explicit IpuBackend(const IpuSettings& settings) : settings_(settings) {
        static constexpr std::array kDeadCode{graph::kRemoveDeadNodes};
        info_ = {.name = "ipu",
                 .library = "Poplar's API on an emulator of IPUs",
                 .half_type = DType::f16,
                 .fastest = {DType::f16, "IPUs compute in IEEE half"},
                 .passes = {{}, kDeadCode, kDeadCode}};
    }

    const BackendInfo& info() const override { return info_; }

    std::string why_unsupported(const graph::Graph& graph, const graph::Node& node) const override {
        if (ipu::lowering_of(node.kind) == nullptr) return "it has no program for this operation yet";
        for (const std::vector<graph::ValueId>* values : {&node.inputs, &node.outputs}) {
            for (const graph::ValueId value : *values) {
                const DType type = graph.desc(value).dtype;
                if (!ipu::has_device_type(type)) return "IPUs do not compute in " + std::string(cnntrain::name(type));
            }
        }
        return "";
    }

    schedule::Placement placement(const schedule::UpdatePlan& plan, const CpuSettings& /*cpu*/) const override {
        check_plan(plan);
        schedule::Placement placement;
        placement.micro_batches = plan.accumulation * plan.replicas;
        placement.stages = plan.stages();
        placement.schedule = plan.schedule;
        placement.samples = plan.micro_batch;
        return placement;
    }

    std::unique_ptr<Executable> compile(const CompileRequest& request) const override {
        check_request(*this, request);
        check_plan(request.plan);
        if (request.peers.communicator != nullptr && request.peers.communicator->size() > 1) {
            throw Error(ErrorKind::unsupported,
                        "--backend ipu runs in one process: IPUs exchange gradients themselves; start one process with "
                        "--replicas " +
                            std::to_string(request.plan.replicas * request.peers.communicator->size()));
        }
        const std::int64_t ipus = (std::ranges::max(request.plan.devices) + 1) * request.plan.replicas;
        if (ipus > kMostIpus) {
            throw Error(ErrorKind::unsupported, std::to_string(ipus) + " IPUs are needed, there are " +
                                                    std::to_string(kMostIpus) + ": use fewer --replicas or stages");
        }
        try {
            poplar::IPUModel model;
            model.numIPUs = static_cast<unsigned>(ipus);
            model.tilesPerIPU = settings_.tiles_per_ipu;
            return std::make_unique<ipu::IpuExecutable>(request, model.createDevice());
        } catch (const poplar::poplar_error& error) {
            throw Error(ErrorKind::unsupported, std::string("Poplar refuses the program: ") + error.what());
        } catch (const poputil::poplibs_error& error) {
            throw Error(ErrorKind::unsupported, std::string("PopLibs refuses the program: ") + error.what());
        }
    }

private:
    static constexpr std::int64_t kMostIpus = 64;  // of one host

    static void check_plan(const schedule::UpdatePlan& plan) {
        if (plan.norm_span > 1) {
            throw Error(ErrorKind::unsupported,
                        "--BN-span is not available yet with --backend ipu; leave it out, or use --backend cpu");
        }
        std::vector<std::int32_t> devices = plan.devices;
        std::ranges::sort(devices);
        const bool shared = std::ranges::adjacent_find(devices) != devices.end();
        if (shared && plan.stages() > 1 && plan.schedule == schedule::PipelineSchedule::interleaved) {
            throw Error(ErrorKind::usage,
                        "an Interleaved pipeline needs an IPU for each stage: use --pipeline-schedule Grouped or "
                        "Sequential, or " +
                            std::to_string(plan.stages()) + " IPUs (--shards, --device-mapping)");
        }
        schedule::check_micro_batches({plan.stages(), plan.schedule}, plan.accumulation);
    }

private:
    IpuSettings settings_;
    BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> make_ipu_backend(const IpuSettings& settings) {
    return std::make_unique<IpuBackend>(settings);
}

}  // namespace cnntrain::backend
