#include <poplar/Engine.hpp>

#include "ipu_emulator/model/machine.h"

namespace poplar {

using ipu_emulator::Machine;

// NOLINTNEXTLINE(performance-unnecessary-value-param): Poplar's signature
Engine::Engine(const Graph& graph, ArrayRef<Program> programs, const OptionFlags& options, ProgressFunc,
               const DebugContext&)
    : machine_(std::make_unique<Machine>(ipu_emulator::Access::shared(graph),
                                         std::span(programs.data(), programs.size()), options)) {}

// NOLINTNEXTLINE(performance-unnecessary-value-param): Poplar's signature
Engine::Engine(const Graph& graph, Program program, const OptionFlags& options, ProgressFunc progressCallBack,
               const DebugContext& debugContext)
    : Engine(graph, ArrayRef<Program>(&program, 1), options, std::move(progressCallBack), debugContext) {}

Engine::Engine(Engine&&) noexcept = default;
Engine::~Engine() = default;

void Engine::load(const Device& device) {
    machine_->load(device.getTarget());
}

void Engine::run(unsigned programIndex, const std::string&) {
    machine_->run(programIndex);
}

void Engine::connectStream(StringRef handle, void* begin, void* end) {
    machine_->port(handle.cloneAsString()).connect(static_cast<std::byte*>(begin), static_cast<std::byte*>(end));
}

void Engine::connectStream(StringRef handle, void* begin) {
    machine_->port(handle.cloneAsString()).connect(static_cast<std::byte*>(begin));
}

void Engine::connectStreamToCallback(StringRef handle, StreamCallbackHandle callback) {
    machine_->port(handle.cloneAsString()).connect(callback.takeCallback());
}

void Engine::connectStreamToCallback(StringRef handle, unsigned replica, StreamCallbackHandle callback) {
    machine_->port(handle.cloneAsString()).connect(replica, callback.takeCallback());
}

void Engine::copyFromRemoteBuffer(StringRef handle, void* w, std::uint64_t repeatIndex, unsigned replicationIndex) {
    machine_->copy_row(handle.cloneAsString(), repeatIndex, replicationIndex, nullptr, w);
}

void Engine::copyToRemoteBuffer(void* w, StringRef handle, std::uint64_t repeatIndex, unsigned replicationIndex) {
    machine_->copy_row(handle.cloneAsString(), repeatIndex, replicationIndex, w, nullptr);
}

void Engine::readTensor(StringRef handle, void* buf, void* bufEnd) {
    machine_->read_tensor(handle.cloneAsString(), static_cast<std::byte*>(buf), static_cast<std::byte*>(bufEnd));
}

void Engine::writeTensor(StringRef handle, const void* buf, const void* bufEnd) {
    machine_->write_tensor(handle.cloneAsString(), static_cast<const std::byte*>(buf),
                           static_cast<const std::byte*>(bufEnd));
}

}  // namespace poplar
