// Values that are not finite in weights and results of an evaluation. Training has its own check, of each loss.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/tensor.h"

namespace cnntrain::train {

/// The first variable with a NaN, an infinity or a negative variance, as "all/fc1/weight[3] is nan".
std::optional<std::string> first_bad_number(const std::map<std::string, HostTensor>& variables);

/// Where an evaluated batch was not finite: a sum, the output `logits` ("" for none), or a value before them that the
/// executable has noticed. Asks the executable only if `looks_inside`, or an output is not finite.
std::optional<std::string> not_finite_in(backend::Executable& executable, const backend::StepResult& result,
                                         const std::string& logits, bool looks_inside);

/// Error(diverged). `what`: "validation of ckpt-7".
[[noreturn]] void fail_not_finite(const std::string& what, const std::string& where);

}  // namespace cnntrain::train
