// What a run does, as plain typed values: each module declares what it acts on in its settings.h, and the options fill
// it in (parse.h). Every value that has a default is set; std::optional stands only where "not given" means something to
// the reader.
#pragma once

#include <string>
#include <string_view>

#include "cnntrain/backend/settings.h"
#include "cnntrain/comm/settings.h"
#include "cnntrain/data/pretraining_settings.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/nn/bert_settings.h"
#include "cnntrain/nn/settings.h"
#include "cnntrain/optim/settings.h"
#include "cnntrain/train/settings.h"

namespace cnntrain::config {

/// The spelling used by flags, configurations and files: "resnet", "cifar-10", "16.32", "polynomial_decay_lr", ...
std::string_view name(backend::BackendKind value);
std::string_view name(backend::StochasticRounding value);
std::string_view name(data::DatasetId value);
std::string_view name(nn::Family value);
std::string_view name(nn::Precision value);
std::string_view name(nn::ComputeType value);
std::string_view name(optim::LrSchedule value);
std::string_view name(optim::Optimiser value);

struct Settings {
    train::RunSettings run;
    train::MainSettings main;
    nn::ModelSettings model;
    data::DataSettings data;
    train::TrainingSettings training;
    optim::OptimiserSettings optimiser;
    optim::LearningRateSettings learning_rate;
    train::CheckpointSettings checkpoint;
    train::ValidationSettings validation;
    train::DeviceSettings device;
    train::LoggingSettings logging;
    comm::CommSettings comm;
    // Of `pretrain`, which leaves `model`, `data` and `learning_rate` alone.
    nn::BertSettings bert;
    data::PretrainingSettings text;
    optim::StepRateSettings step_rate;
    train::PretrainingSettings pretraining;
};

/// Name of a run's folder: `RN20_bs32_BN_16.16_3S9`. `random` is three characters of
/// [A-Z0-9] drawn by the caller.
std::string run_name(const Settings& settings, std::string_view random);

}  // namespace cnntrain::config
