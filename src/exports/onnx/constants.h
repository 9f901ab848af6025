// Values of a graph that depend on its variables alone.
#pragma once

#include <map>
#include <string>

#include "cnntrain/exports/onnx_export.h"

namespace cnntrain::exports {

class Constants {
public:
    explicit Constants(const NetworkPart& network) : network_(network) {}

    bool has(graph::ValueId value);
    /// In f32, or the integer type that it has; has() must be true.
    const HostTensor& at(graph::ValueId value);

private:
    void compute(graph::NodeId node);

    const NetworkPart& network_;
    std::map<graph::ValueId, bool> known_;
    std::map<graph::ValueId, HostTensor> values_;
};

}  // namespace cnntrain::exports
