// A network as data: its functions in order. A pipeline stage may begin at any of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nn/layers.h"

namespace cnntrain::nn {

struct Function {
    std::string name;  // "stage1/unit1/relu"
    /// Extends the graph by this function; `scope` is "all/" + name.
    std::function<graph::ValueId(Layers&, graph::ValueId x, const std::string& scope)> build;
};

using Network = std::vector<Function>;

}  // namespace cnntrain::nn
