// Settings of tasks with a BERT model, in addition to those of every task.
#pragma once

#include "cnntrain/config/settings.h"
#include "cnntrain/nn/bert.h"
#include "cnntrain/optim/settings.h"

namespace cnntrain::tasks {

/// Base of a task's settings.
struct BertTaskSettings : config::OwnSettings {
    nn::BertSettings model;
    optim::StepRateSettings learning_rate;
};

}  // namespace cnntrain::tasks
