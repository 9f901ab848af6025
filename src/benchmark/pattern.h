// Patterns of benchmarks.yml: Python's regular expressions, matched in time that is linear in the text.
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
    /// `regexp` in Python's syntax, with exactly one group. Error(data) says what is wrong, or which of Python's
    /// features is not there (lookaround, backreferences and the like, which have no linear-time matching).
    explicit Pattern(const std::string& regexp);
    ~Pattern();
    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;

    /// What the group holds in each match of the line, from left to right; "" when it took no part. At most the first
    /// megabyte and the first thousand matches are looked at.
    std::vector<std::string> matches(std::string_view line) const;

private:
    std::unique_ptr<re2::RE2> engine_;
};

/// A Python pattern in the engine's syntax. Error(data) as above.
std::string translated(std::string_view regexp);

}  // namespace cnntrain::benchmark
