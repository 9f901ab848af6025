#include "cnntrain/base/text.h"

#include <re2/re2.h>

#include <algorithm>

#include "cnntrain/base/error.h"

namespace cnntrain {

Patterns::Patterns(const std::vector<std::string>& expressions, const std::string& what) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    for (const std::string& expression : expressions) {
        auto engine = std::make_shared<const re2::RE2>(expression, options);
        if (!engine->ok()) {
            throw Error(ErrorKind::usage,
                        what + " '" + expression + "' is no regular expression of RE2: " + engine->error());
        }
        engines_.push_back(std::move(engine));
    }
}

bool Patterns::match(std::string_view name) const {
    const re2::StringPiece text(name.data(), name.size());
    return std::ranges::any_of(engines_, [&](const auto& engine) { return re2::RE2::PartialMatch(text, *engine); });
}

std::vector<std::string> Patterns::idle(const std::vector<std::string>& names) const {
    std::vector<std::string> result;
    for (const auto& engine : engines_) {
        const bool hit =
            std::ranges::any_of(names, [&](const std::string& name) { return re2::RE2::PartialMatch(name, *engine); });
        if (!hit) result.push_back(engine->pattern());
    }
    return result;
}

}  // namespace cnntrain
