#include "data/sets/damage_log.h"

#include "cnntrain/base/log.h"

namespace cnntrain::data {

void DamageLog::add(const std::string& file, std::string_view message, std::string_view consequence) {
    ++count_;
    {
        const std::lock_guard lock(mutex_);
        if (!told_.insert(file).second) return;
    }
    log::warning(std::string(message) + "; " + std::string(consequence) +
                 " (told once for each file; --strict-data stops instead)");
}

}  // namespace cnntrain::data
