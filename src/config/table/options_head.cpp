// Shared options: a last layer solved from features, for tasks that classify.
#include "cnntrain/config/shared_options.h"

namespace cnntrain::config {
namespace {

const std::vector<Need> kSolved = {{"head_only"}, {"head_first"}};

}  // namespace

std::vector<Option> shared_head_options() {
    return {
        {.flag = "--head-only",
         .help = "Evaluate the network up to its last layer once for each sample, solve the last layer by regularised "
                 "logistic regression, save ckpt-0 and stop. See cnntrain help features.",
         .commands = kT,
         .bind = to<&Settings::head, &train::HeadSettings::only>()},
        {.flag = "--head-first",
         .help = "Solve the last layer as --head-only does, before training the network.",
         .commands = kT,
         .main_in = kT,
         .bind = to<&Settings::head, &train::HeadSettings::first>()},
        {.flag = "--feature-views",
         .help = "Views of each training sample: 1 as evaluation reads it, the others augmented as training does.",
         .range = between(1, 1000),
         .commands = kT,
         .needs = kSolved,
         .bind = to<&Settings::head, &train::HeadSettings::views>()},
        {.flag = "--head-strength",
         .help = "Strength s of the L2 regularisation: the mean loss plus s / 2 times the squared weights on "
                 "standardised features is least; without it, chosen by the loss of held-out samples.",
         .range = between(1e-9, 1e9),
         .commands = kT,
         .needs = kSolved,
         .bind = to<&Settings::head, &train::HeadSettings::strength>()},
        {.flag = "--feature-cache",
         .help = "File that keeps the features for later runs (default: features.cache in the run's folder).",
         .commands = kT,
         .needs = kSolved,
         .path = true,
         .bind = to<&Settings::head, &train::HeadSettings::cache>()},
    };
}

}  // namespace cnntrain::config
