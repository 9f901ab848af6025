// Small BERT models against tools/golden/make_bert_golden.py: losses of ten updates, all gradients of the first, the
// last weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/parallel/communicator.h"

namespace cnntrain::golden {

constexpr std::int64_t kMicroBatches = 2;  // of each update

struct Case {
    std::string name;
    nn::BertSettings model = {};
    bool static_mask = false;
    optim::UpdateSettings update = {};
    double rate = 0;
};

std::vector<Case> bert_cases();

/// True if the update takes the norm of all gradients, so that no rank can do with a part of them.
inline bool needs_whole_gradients(const Case& c) {
    return c.update.gradient_norm != optim::GradientNorm::ignored;
}

/// The way in which a case is executed. It does not change the numbers.
struct How {
    bool recomputes = false;
    std::vector<std::string> splits = {};
    schedule::UpdatePlan plan = {.accumulation = kMicroBatches};  // of all ranks
    bool shards = false;                                          // the optimiser's state over the ranks
    bool packed = false;  // the sequences of a micro-batch share rows; not for the static layout
};

struct BertTolerances {
    double loss = 0;
    double gradient = 0;
    double variable = 0;
};

// Gradients and variables are handed out in single precision.
constexpr BertTolerances kExact{1e-9, 1e-6, 1e-6};
constexpr BertTolerances kFloat{1e-5, 1e-4, 1e-4};

void compare(const backend::Backend& backend, const Case& c, const How& how, const BertTolerances& tolerances);
/// One rank's part of a comparison: all ranks have equally many micro-batches, and each knows the numbers of all.
void compare(const backend::Backend& backend, const Case& c, const How& how, const BertTolerances& tolerances,
             comm::Communicator& all);

}  // namespace cnntrain::golden
