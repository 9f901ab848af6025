// What tasks with a BERT model let the user say beyond what every task has.
#pragma once

#include "cnntrain/config/settings.h"
#include "cnntrain/nn/bert_settings.h"
#include "cnntrain/optim/settings.h"

namespace cnntrain::tasks {

/// Base of such a task's settings.
struct BertTaskSettings : config::OwnSettings {
    nn::BertSettings model;
    optim::StepRateSettings learning_rate;
};

}  // namespace cnntrain::tasks
