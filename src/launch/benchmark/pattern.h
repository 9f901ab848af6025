// Patterns of benchmarks.yml: regular expressions as RE2 reads them, matched in time linear in the text.
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
    /// `regexp`: has exactly one group. RE2's syntax is Python's, but for lookaround, backreferences and rare spellings
    /// (\Z, {,n}, (?#...)). Error(data) describes a mistake.
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

}  // namespace cnntrain::benchmark
