#include "cnntrain/backend/backends.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <poplar/DeviceManager.hpp>
#include <poplar/exceptions.hpp>
#include <poputil/exceptions.hpp>

#include "backend/ipu/device.h"
#include "backend/ipu/executable.h"
#include "backend/ipu/lower/support.h"
#include "cnntrain/base/error.h"
#include "cnntrain/parallel/pipeline.h"

namespace cnntrain::backend {
namespace {

class IpuBackend : public Backend {
public:
    explicit IpuBackend(const IpuModelSettings& model) : model_(model) {
        static constexpr std::array kDeadCode{graph::kRemoveDeadNodes};
        info_ = {.name = "ipu",
                 .library = ipu::executed_by(),
                 .half_type = DType::f16,
                 .fastest = {DType::f16, "IPUs compute in IEEE half"},
                 .rewrites = {{}, kDeadCode, kDeadCode, {}},
                 .update_types = {.gradients = std::nullopt, .slots = std::nullopt, .f32_means = true},
                 .emulated = ipu::is_emulated(),
                 .why_unsupported = refusal};
    }

    const BackendInfo& info() const override { return info_; }

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
        try {
            return std::make_unique<ipu::IpuExecutable>(request,
                                                        device(static_cast<unsigned>(ipus), request.ipu.device));
        } catch (const poplar::poplar_error& error) {
            throw Error(ErrorKind::unsupported, std::string("Poplar refuses the program: ") + error.what());
        } catch (const poputil::poplibs_error& error) {
            throw Error(ErrorKind::unsupported, std::string("PopLibs refuses the program: ") + error.what());
        }
    }

private:
    static std::string refusal(const graph::Graph& graph, const graph::Node& node) {
        if (ipu::lowering_of(node.kind) == nullptr) return "it has no program for this operation yet";
        for (const std::vector<graph::ValueId>* values : {&node.inputs, &node.outputs}) {
            for (const graph::ValueId value : *values) {
                const DType type = graph.desc(value).dtype;
                if (!ipu::has_device_type(type)) return "IPUs do not compute in " + std::string(cnntrain::name(type));
            }
        }
        return "";
    }

    poplar::Device device(unsigned ipus, std::optional<unsigned> number) const {
        if (number) return chosen_device(poplar::DeviceManager::createDeviceManager(), ipus, *number);
        return ipu::attach_device(ipus, model_.tiles_per_ipu);
    }

    static poplar::Device chosen_device(const poplar::DeviceManager& manager, unsigned ipus, unsigned number) {
        std::string fitting;
        std::vector<poplar::Device> devices = manager.getDevices();
        for (poplar::Device& candidate : devices) {
            const unsigned size = candidate.getTarget().getNumIPUs();
            if (size == ipus) fitting += (fitting.empty() ? "" : ", ") + std::to_string(candidate.getId());
            if (candidate.getId() != number) continue;
            if (size != ipus) {
                throw Error(ErrorKind::usage, "--select-ipu " + std::to_string(number) + " is a device of " +
                                                  std::to_string(size) + " IPUs, the run needs " +
                                                  std::to_string(ipus) + ": choose a device of this size, or AUTO");
            }
            if (!candidate.attach()) {
                throw Error(ErrorKind::usage, "--select-ipu " + std::to_string(number) +
                                                  ": another program uses this device; choose another one, or AUTO");
            }
            return std::move(candidate);  // NOLINT(performance-move-const-arg): as an SDK needs it
        }
        throw Error(ErrorKind::usage, "--select-ipu " + std::to_string(number) +
                                          ": there is no such device; those of " + std::to_string(ipus) + " IPUs are " +
                                          (fitting.empty() ? "none" : fitting));
    }

    static void check_plan(const schedule::UpdatePlan& plan) {
        if (plan.replicas % plan.norm_span != 0) {
            throw Error(ErrorKind::usage, "--BN-span " + std::to_string(plan.norm_span) +
                                              " does not divide the number of replicas, " +
                                              std::to_string(plan.replicas) +
                                              ": with --backend ipu, replicas of one process share statistics");
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

    IpuModelSettings model_;
    BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> make_ipu_backend(const IpuModelSettings& model) {
    return std::make_unique<IpuBackend>(model);
}

}  // namespace cnntrain::backend
