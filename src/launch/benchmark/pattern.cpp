#include "launch/benchmark/pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "cnntrain/base/error.h"

namespace cnntrain::benchmark {
namespace {

constexpr std::size_t kLongestLine = 1'000'000;
constexpr std::size_t kMostMatches = 1000;  // per line, because each match may scan the rest of the line

[[noreturn]] void refuse_pattern(const std::string& what) {
    throw Error(ErrorKind::data, what);
}

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return (static_cast<unsigned char>(c) & 0x80U) == 0; });
}

}  // namespace

Pattern::Pattern(const std::string& regexp) {
    RE2::Options options;
    options.set_log_errors(false);
    // Lines may contain bytes that are not UTF-8. Only a pattern with non-ASCII characters needs to know where
    // characters end.
    if (is_ascii(regexp)) options.set_encoding(RE2::Options::EncodingLatin1);
    engine_ = std::make_unique<RE2>(regexp, options);
    if (!engine_->ok()) {
        const std::string& where = engine_->error_arg();
        refuse_pattern("cannot be read as a pattern of RE2, which has no lookaround and no backreferences: " +
                       engine_->error() + (where.empty() ? "" : " (at '" + where + "')"));
    }
    const int groups = engine_->NumberOfCapturingGroups();
    if (groups != 1) refuse_pattern("expected exactly one group in parentheses, has " + std::to_string(groups));
}

Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

std::vector<std::string> Pattern::matches(std::string_view line) const {
    const re2::StringPiece text(line.data(), std::min(line.size(), kLongestLine));
    std::vector<std::string> found;
    std::array<re2::StringPiece, 2> groups;  // the whole match and the group
    std::size_t begin = 0;
    while (found.size() < kMostMatches && begin <= text.size() &&
           engine_->Match(text, begin, text.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
        found.emplace_back(groups[1].data(), groups[1].size());
        const auto end = static_cast<std::size_t>(groups[0].data() - text.data()) + groups[0].size();
        begin = groups[0].empty() ? end + 1 : end;
    }
    return found;
}

}  // namespace cnntrain::benchmark
