// The settings of a run as plain typed values. Each module declares its part in its settings.h; parse.h fills in all of
// them. Members with a default always have a value; std::optional is used only where "not given" has a meaning of its
// own. Settings that all tasks share are members here; a task adds its own struct as TaskSettings.
#pragma once

#include <concepts>
#include <memory>
#include <string_view>
#include <utility>

#include "cnntrain/backend/settings.h"
#include "cnntrain/base/error.h"
#include "cnntrain/parallel/settings.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/settings.h"
#include "cnntrain/nn/bert.h"
#include "cnntrain/train/settings.h"

namespace cnntrain::config {

/// The spelling in flags, configurations and files: "resnet", "cifar-10", "16.32", "polynomial_decay_lr", ...
std::string_view name(backend::BackendKind value);
std::string_view name(backend::StochasticRounding value);
std::string_view name(data::DatasetId value);
std::string_view name(nn::Family value);
std::string_view name(nn::Precision value);
std::string_view name(nn::ComputeType value);
std::string_view name(optim::LrSchedule value);
std::string_view name(graph::UpdateRule value);
std::string_view name(train::Metric value);

/// Base class of a task's own settings.
struct OwnSettings {
    virtual ~OwnSettings() = default;
};

/// Holds a task's own settings, with value semantics.
class TaskSettings {
public:
    TaskSettings() = default;
    template <std::derived_from<OwnSettings> T> explicit TaskSettings(T value)
        : value_(std::make_unique<T>(std::move(value))), copy_([](const OwnSettings& other) {
              return std::unique_ptr<OwnSettings>(std::make_unique<T>(static_cast<const T&>(other)));
          }) {}
    TaskSettings(const TaskSettings& other)
        : value_(other.value_ ? other.copy_(*other.value_) : nullptr), copy_(other.copy_) {}
    TaskSettings(TaskSettings&&) noexcept = default;
    TaskSettings& operator=(TaskSettings other) noexcept {
        value_ = std::move(other.value_);
        copy_ = other.copy_;
        return *this;
    }
    ~TaskSettings() = default;

    /// The settings as type T or as a base T of them. Error(internal) if they belong to another task.
    template <typename T> T& as() { return checked(dynamic_cast<T*>(value_.get())); }
    template <typename T> const T& as() const { return checked(dynamic_cast<const T*>(value_.get())); }

private:
    template <typename T> static T& checked(T* settings) {
        CNNTRAIN_CHECK(settings != nullptr, "these are not the settings of this task");
        return *settings;
    }

    std::unique_ptr<OwnSettings> value_;
    std::unique_ptr<OwnSettings> (*copy_)(const OwnSettings&) = nullptr;
};

/// Words of --select-ipu for any device with enough IPUs: AUTO, and -1 in arguments.json of the original programs.
constexpr bool is_any_ipu(std::string_view word) {
    return word == "AUTO" || word == "-1";
}

struct Settings {
    train::RunSettings run;
    train::MainSettings main;
    train::TrainingSettings training;
    train::HeadSettings head;
    optim::OptimiserSettings optimiser;
    train::CheckpointSettings checkpoint;
    train::ValidationSettings validation;
    train::DeviceSettings device;
    train::LoggingSettings logging;
    comm::CommSettings comm;
    backend::IpuSettings ipu;
    TaskSettings task;
};

}  // namespace cnntrain::config
