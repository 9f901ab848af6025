#include "plan/text.h"

#include <algorithm>

#include "cnntrain/base/text.h"

namespace cnntrain::plan {

std::string topic(const std::string& name, const std::string& text) {
    constexpr std::size_t kColumn = 15;
    const std::string shown = name.empty() ? "" : name + ":";
    return shown + std::string(kColumn - std::min(kColumn, shown.size()), ' ') + text + "\n";
}

std::string percent(double share) {
    return formatted("%.1f %%", 100 * share);
}

}  // namespace cnntrain::plan
