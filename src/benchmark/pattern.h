// Patterns of benchmarks.yml: Python's regular expressions, matched in time linear in the text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace cnntrain::benchmark {

class Pattern {
public:
    /// `regexp`: in Python's syntax, with exactly one group. Error(data) describes a mistake, or names an unsupported
    /// feature (such as lookaround or backreferences, which have no linear-time matching).
    explicit Pattern(const std::string& regexp);
    ~Pattern();
    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;

    /// The text of the group in each match in the line, from left to right; "" if the group took no part in the match.
    /// Considers at most the first megabyte and the first thousand matches.
    std::vector<std::string> matches(std::string_view line) const;

private:
    std::unique_ptr<re2::RE2> engine_;
};

/// Translates a Python pattern to RE2's syntax. Throws Error(data) like the constructor.
std::string translated(std::string_view regexp);

}  // namespace cnntrain::benchmark
