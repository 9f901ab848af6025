#include "cnntrain/base/error.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "cnntrain/base/text.h"

namespace cnntrain {

int exit_code(ErrorKind kind) {
    constexpr int kCodes[] = {1, 2, 3, 4, 5, 6, 7, 70};
    return entry_of(kCodes, kind);
}

Error Error::within(std::string_view context) const {
    return Error(kind_, std::string(context) + ": " + what());
}

void fail_check(const char* condition, const std::string& message, const char* file, int line) {
    throw Error(ErrorKind::internal, std::string(file) + ":" + std::to_string(line) + ": " + message +
                                         " (expected: " + condition + "); this is a defect in cnntrain");
}

int edit_distance(std::string_view a, std::string_view b) {
    const std::size_t width = b.size() + 1;
    std::vector<int> before(width);  // two rows up
    std::vector<int> above(width);
    std::vector<int> row(width);
    std::iota(above.begin(), above.end(), 0);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = static_cast<int>(i);
        for (std::size_t j = 1; j < width; ++j) {
            const int substituted = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({substituted, row[j - 1] + 1, above[j] + 1});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, above);
        std::swap(above, row);
    }
    return above[b.size()];
}

namespace {

/// A word that ends in a number, such as "B7" or "152".
struct Numbered {
    std::string_view word;
    int number = 0;
};

std::optional<Numbered> numbered(std::string_view name) {
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;  // 0 if all are digits
    Numbered result{name.substr(0, digits)};
    const auto [end, failed] = std::from_chars(name.data() + digits, name.data() + name.size(), result.number);
    return failed == std::errc() && digits < name.size() ? std::optional(result) : std::nullopt;
}

/// The candidate with the same word and the nearest number; "" if there is none or its number is far away.
std::string nearest_number(std::string_view name, const std::vector<std::string>& candidates) {
    const std::optional<Numbered> given = numbered(name);
    if (!given) return "";
    int least = std::max(2, given->number / 4) + 1;
    std::string best;
    for (const std::string& candidate : candidates) {
        const std::optional<Numbered> other = numbered(candidate);
        if (!other || other->word != given->word) continue;
        const int apart = std::abs(other->number - given->number);
        if (apart >= least) continue;
        least = apart;
        best = candidate;
    }
    return best;
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
    if (std::string near = nearest_number(name, candidates); !near.empty()) return near;
    constexpr std::size_t kLongestName = 200;  // longer ones are no slip of a person, and comparing them takes long
    if (name.size() > kLongestName) return "";
    // One slip in four letters is plausible; more is another word.
    const std::size_t letters = name.size() - std::min(name.size(), name.find_first_not_of('-'));
    int best_distance = std::max(1, static_cast<int>(letters) / 4) + 1;
    std::string best;
    for (const std::string& candidate : candidates) {
        if (candidate.size() > 2 * kLongestName) continue;
        // Each letter that one of the names has more is an edit.
        const auto longer =
            static_cast<int>(std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size()));
        if (longer >= best_distance) continue;
        const int distance = edit_distance(name, candidate);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates, std::string_view otherwise,
                       std::string_view before, std::string_view after) {
    const std::string nearest = nearest_name(name, candidates);
    if (nearest.empty()) return std::string(otherwise);
    return "; did you mean " + std::string(before) + nearest + std::string(after) + "?";
}

}  // namespace cnntrain
