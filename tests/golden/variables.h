// BERT's variables as tools/golden/make_bert_golden.py makes and describes them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::golden {

/// The value that a variable starts from, by its name.
HostTensor start_of(const graph::Value& variable);

/// `facts`: the norm, and the products with patterns of signs, of `scale` times the tensor. `tolerance` is relative to
/// the norm.
void expect_facts(const HostTensor& tensor, const nlohmann::json& facts, double scale, double tolerance,
                  const std::string& name);

}  // namespace cnntrain::golden
