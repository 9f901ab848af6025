// Errors: one exception type, eight kinds, each with its own exit code.
//
// A message says where, what was expected, what came and what to do. Libraries throw; only the
// command line turns an Error into printed text and an exit code.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain {

enum class ErrorKind {
    not_found,    // nothing to work on (no checkpoint in the folder): exit code 1
    usage,        // flags, configurations, contradictory settings: exit code 2
    data,         // damaged or missing input files: exit code 3
    unsupported,  // a capability that this program or machine does not have: exit code 4
    storage,      // files that cannot be written (disk full, permissions): exit code 5
    diverged,     // training produced non-finite numbers: exit code 6
    peers,        // another process of the run died, stalled, left or holds other numbers: exit code 7
    internal,     // a defect in cnntrain: exit code 70
};

/// Exit code of the process that ends with an error of this kind.
int exit_code(ErrorKind kind);

/// Exit code after a clean stop asked for by SIGTERM, SIGINT or SIGHUP (128 + 15).
inline constexpr int kInterruptedExitCode = 143;

/// A stop was asked for while this waited for something. Not an error: the process ends with kInterruptedExitCode.
class Interrupted : public std::exception {
public:
    const char* what() const noexcept override { return "stopped by a signal"; }
};

class Error : public std::runtime_error {
public:
    Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

    ErrorKind kind() const { return kind_; }

    /// The same error with "<context>: " in front; used while unwinding to say where.
    Error within(std::string_view context) const;

private:
    ErrorKind kind_;
};

/// Throws Error(internal) with file and line unless `condition` holds. For programmer errors only.
#define CNNTRAIN_CHECK(condition, message)                                                   \
    do {                                                                                     \
        if (!(condition)) ::cnntrain::fail_check(#condition, (message), __FILE__, __LINE__); \
    } while (false)

[[noreturn]] void fail_check(const char* condition, const std::string& message, const char* file, int line);

/// Letters inserted, removed, replaced or swapped with their neighbour to turn one name into the other (Damerau 1964;
/// no letter is edited twice).
int edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name`, or "" when none is near enough to be a plausible slip.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// The end of a message on an unknown name: "; did you mean 'CANDIDATE'?" with the nearest one, or `otherwise` when
/// none is near enough. `before` and `after` stand around the candidate.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates,
                       std::string_view otherwise = "", std::string_view before = "'", std::string_view after = "'");

}  // namespace cnntrain
