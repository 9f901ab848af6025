// The steps between what the user gave and Settings. Each works on the values of one command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/read/option_values.h"

namespace cnntrain::config {

struct Resolution {
    Command command;
    OptionValues values;
    std::vector<std::string> notices;
    std::vector<std::string> violations;  // of rules; all are reported together
};

/// Of two options that mean the same thing, the one from the stronger source stays; old spellings become new ones.
void settle_alternatives(Resolution& run);
/// Sets `dataset` when it was not given.
void infer_dataset(Resolution& run);
/// What a model or data set sets when the user did not.
void fill_model_defaults(Resolution& run);
/// Values changed with a notice.
void adjust(Resolution& run);
/// Rules between options.
void check(Resolution& run);
/// Why an option changes nothing, whatever its value; "" when it acts. What only steers IPUs is not meant.
std::string idle_reason(const Option& option, Command command, const OptionValues& values);
/// Notices that name the options that were given and change nothing: one of all that only steer IPUs.
void notice_idle_options(Resolution& run);
/// Settings of resolved values.
Settings to_settings(const Resolution& run);

// Of `pretrain`, in the places of adjust(), check() and to_settings().
void adjust_pretraining(Resolution& run);
void check_pretraining(Resolution& run);
Settings pretraining_settings(const Resolution& run);

std::optional<nn::Family> family_of(const OptionValues& values);
std::optional<data::DatasetId> dataset_of(const OptionValues& values);

}  // namespace cnntrain::config
