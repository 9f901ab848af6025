#include "cnntrain/train/backends.h"

#include "cnntrain/backend/cpu.h"
#include "cnntrain/backend/ipu.h"
#include "cnntrain/backend/ref.h"
#include "cnntrain/base/error.h"
#include "cnntrain/config/names.h"

namespace cnntrain::train {

std::unique_ptr<backend::Backend> available_backend(backend::BackendKind kind) {
    switch (kind) {
        case backend::BackendKind::cpu:
            return backend::make_cpu_backend();
        case backend::BackendKind::ref:
            return backend::make_ref_backend();
        case backend::BackendKind::ipu:
            return backend::make_ipu_backend();
    }
    throw Error(ErrorKind::internal, "unknown backend");
}

std::unique_ptr<backend::Backend> make_backend(backend::BackendKind kind) {
    std::unique_ptr<backend::Backend> backend = available_backend(kind);
    if (backend == nullptr) {
        throw Error(ErrorKind::unsupported, "this program was built without --backend " +
                                                std::string(config::name(kind)) +
                                                " (-DCNNTRAIN_IPU=OFF); use --backend cpu");
    }
    return backend;
}

bool is_emulated(const RunSettings& settings) {
    const std::unique_ptr<backend::Backend> backend = available_backend(settings.backend);
    return backend != nullptr && backend->info().emulated;
}

CoreBudget core_budget(const RunSettings& settings) {
    return plan_cores(available_cores(), available_processors(), static_cast<int>(settings.threads),
                      static_cast<int>(settings.input_threads));
}

int compute_threads(const RunSettings& settings) {
    return core_budget(settings).compute_threads;
}

backend::Arithmetic arithmetic(const nn::PrecisionSettings& settings, const backend::Backend& backend) {
    if (settings.precision == nn::Precision::p32_32) return {DType::f32, "--precision 32.32"};
    if (backend.half_type() != DType::bf16) return backend.fastest_arithmetic();
    switch (settings.compute_type) {
        case nn::ComputeType::automatic:
            return backend.fastest_arithmetic();
        case nn::ComputeType::bf16:
            return {DType::bf16, "--compute-type bf16"};
        case nn::ComputeType::f32:
            return {DType::f32, "--compute-type f32"};
    }
    throw Error(ErrorKind::internal, "unknown compute type");
}

nn::NumericsSettings numerics(const nn::PrecisionSettings& settings, const backend::Backend& backend) {
    nn::NumericsSettings result;
    result.compute = arithmetic(settings, backend).type;
    result.half = backend.half_type();
    result.parameters = settings.precision == nn::Precision::p16_16 ? result.half : DType::f32;
    result.force_weight_to_fp16 = settings.force_weight_to_fp16;
    result.force_weight_to_fp32 = settings.force_weight_to_fp32;
    return result;
}

}  // namespace cnntrain::train
