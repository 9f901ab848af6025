#include "cnntrain/base/error.h"

#include <algorithm>
#include <numeric>

namespace cnntrain {

int exit_code(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::not_found:
            return 1;
        case ErrorKind::usage:
            return 2;
        case ErrorKind::data:
            return 3;
        case ErrorKind::unsupported:
            return 4;
        case ErrorKind::storage:
            return 5;
        case ErrorKind::diverged:
            return 6;
        case ErrorKind::internal:
            break;
    }
    return 70;
}

Error Error::within(std::string_view context) const {
    return Error(kind_, std::string(context) + ": " + what());
}

void fail_check(const char* condition, const std::string& message, const char* file, int line) {
    throw Error(ErrorKind::internal, std::string(file) + ":" + std::to_string(line) + ": " + message +
                                         " (expected: " + condition + "); this is a defect in cnntrain");
}

int edit_distance(std::string_view a, std::string_view b) {
    std::vector<int> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
        int diagonal = row[0];
        row[0] = static_cast<int>(i) + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const int substituted = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row[b.size()];
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
    // One slip in three letters is plausible; more is another word.
    int best_distance = std::max(1, static_cast<int>(name.size()) / 3) + 1;
    std::string best;
    for (const std::string& candidate : candidates) {
        const int distance = edit_distance(name, candidate);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

}  // namespace cnntrain
