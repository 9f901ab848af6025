#include "cnntrain/backend/ipu.h"

#include <algorithm>
#include <chrono>
#include <set>

#include <poplar/IPUModel.hpp>
#include <poplar/exceptions.hpp>
#include <poputil/exceptions.hpp>

#include "backend/ipu/executable.h"
#include "backend/ipu/lower/types.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"

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
        const bool one_ipu = std::ranges::all_of(plan.devices, [](std::int32_t device) { return device == 0; });
        if (!one_ipu || plan.replicas > 1 || plan.norm_span > 1) {
            throw Error(ErrorKind::unsupported,
                        "--backend ipu runs on one IPU in this version: several stages on several IPUs, --replicas and "
                        "--BN-span are not available yet; use one of each, or --backend cpu");
        }
        return schedule::in_one_lane(plan);
    }

    std::unique_ptr<Executable> compile(const CompileRequest& request) const override {
        check_request(*this, request);
        if (request.peers.communicator != nullptr && request.peers.communicator->size() > 1) {
            throw Error(ErrorKind::unsupported,
                        "--backend ipu runs in one process: IPUs exchange gradients themselves; start one process");
        }
        const schedule::Placement placement = this->placement(request.plan, request.cpu);
        try {
            poplar::IPUModel model;
            model.tilesPerIPU = settings_.tiles_per_ipu;
            return std::make_unique<ipu::IpuExecutable>(request, model.createDevice(), placement.micro_batches);
        } catch (const poplar::poplar_error& error) {
            throw Error(ErrorKind::unsupported, std::string("Poplar refuses the program: ") + error.what());
        } catch (const poputil::poplibs_error& error) {
            throw Error(ErrorKind::unsupported, std::string("PopLibs refuses the program: ") + error.what());
        }
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
