// Names of streams and of tensors that the host reads and writes.
#pragma once

#include <cstdint>
#include <string>

namespace cnntrain::ipu::handle {

inline constexpr const char* kUpdates = "updates";  // UNSIGNED_INT[1]: their number in a run of Programs::train
inline constexpr const char* kCommand = "command";  // Command
inline constexpr const char* kBatches = "batches";  // UNSIGNED_INT[1]: micro-batches of a run of Programs::evaluate
inline constexpr const char* kGo = "go";            // UNSIGNED_INT[1]: 1 before each micro-batch, 0 at the end
inline constexpr const char* kScalars = "scalars";  // FLOAT: the graph's scalars in order of creation
inline constexpr const char* kSums = "sums";        // FLOAT: Slots::sums()
inline constexpr const char* kVerdict = "verdict";  // UNSIGNED_INT[1]: whether the update changes the variables

inline std::string input(const std::string& name, std::size_t slot) {
    return "input " + name + " of slot " + std::to_string(slot);
}
inline std::string keys(std::uint64_t site, std::size_t slot) {
    return "keys of site " + std::to_string(site) + " of slot " + std::to_string(slot);
}
inline std::string variable(const std::string& name) {
    return "variable " + name;
}
inline std::string output(const std::string& name) {
    return "output " + name;
}
inline std::string accumulator(std::size_t index) {
    return "accumulator " + std::to_string(index);
}

}  // namespace cnntrain::ipu::handle
