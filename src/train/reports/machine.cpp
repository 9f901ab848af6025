#include "cnntrain/train/machine.h"

#include "cnntrain/base/cores.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/train/backends.h"

namespace cnntrain::train {

std::string version_line() {
    return "cnntrain " CNNTRAIN_VERSION;
}

std::vector<std::string> machine_lines(const backend::Backend& backend, const RunSettings& settings) {
    const Processor processor = this_processor();
    const CoreBudget budget = core_budget(settings);
    const backend::Arithmetic& fastest = backend.fastest_arithmetic();
    std::vector<std::string> lines = {
        "Processor: " + to_string(processor),
        "Cores: " + to_string(count_cores()) + "; threads: " + std::to_string(budget.compute_threads) + " compute, " +
            std::to_string(budget.input_threads) + " prepare input",
        "Backend: " + std::string(backend.name()) + ", " + backend.library(),
        "Fastest arithmetic of 16 bits: " + std::string(name(fastest.type)) + " (" + fastest.reason + ")",
    };
    if (backend.info().emulated) lines.at(2) += "; no IPU";
    if (const std::string hidden = hidden_instructions(processor); !hidden.empty())
        lines.push_back("Faster: " + hidden);
    return lines;
}

}  // namespace cnntrain::train
