// Regular expressions that select names, in RE2's syntax.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace cnntrain {

class Patterns {
public:
    /// Error(usage) describes the first expression that is wrong; the message begins with `what`.
    explicit Patterns(const std::vector<std::string>& expressions, const std::string& what = "pattern");

    /// True if any of them matches a part of the name.
    bool match(std::string_view name) const;
    /// The expressions that match none of the names.
    std::vector<std::string> idle(const std::vector<std::string>& names) const;

private:
    std::vector<std::shared_ptr<const re2::RE2>> engines_;
};

}  // namespace cnntrain
