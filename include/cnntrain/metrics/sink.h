// What a run reports to others than its own log: TensorBoard, Weights & Biases.
#pragma once

#include <string_view>

#include "cnntrain/metrics/rows.h"

namespace cnntrain::metrics {

class Sink {
public:
    virtual ~Sink() = default;
    /// A row that has just been printed.
    virtual void add(const Record& record) = 0;
    /// A fact about the run as a whole: "compilation_status", "compiled".
    virtual void status(std::string_view key, std::string_view value) = 0;
};

}  // namespace cnntrain::metrics
