// The contents of benchmarks.yml as typed entries.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace re2 {

// Patterns of benchmarks.yml: regular expressions as RE2 reads them, matched in time linear in the text.

class RE2;
}  // namespace re2

namespace cnntrain::benchmark {

class Pattern {
public:
    /// `regexp`: has exactly one group. RE2's syntax is Python's, but for lookaround, backreferences and rare spellings
    /// (\Z, {,n}, (?#...)). Error(data) describes a mistake.
    explicit Pattern(const std::string& regexp);

    /// The text of the group in each match in the line, from left to right; "" if the group took no part in the match.
    /// Considers at most the first megabyte and the first thousand matches.
    std::vector<std::string> matches(std::string_view line) const;

private:
    std::shared_ptr<const re2::RE2> engine_;
};

enum class Reduction : std::uint8_t { mean, final, min, value };
std::string_view name(Reduction reduction);

/// A number found in the output: the first group of `regexp`.
struct Metric {
    std::string name;
    std::string regexp = {};
    std::int64_t skip = 0;  // number of matches to leave out
    Reduction reduction = Reduction::mean;
};

/// A number computed from metrics and parameters.
struct DerivedMetric {
    std::string name;
    std::string expression = {};  // arithmetic expression; {metric} and {parameter} are replaced
    Reduction reduction = Reduction::mean;
};

/// Parameter values of one run, in file order.
using Variant = std::vector<std::pair<std::string, std::string>>;

struct Column {
    std::string label;
    std::string source;  // a metric or a parameter
};

struct Entry {
    std::string name;
    std::string file;
    int line = 0;
    std::string command;            // as written; empty: none
    std::vector<Variant> variants;  // at least one
    std::vector<std::pair<std::string, std::string>> environment;
    std::vector<Metric> metrics;
    std::vector<DerivedMetric> derived;
    std::vector<Column> columns;
    std::string location;                            // working directory, relative to the spec file's folder
    std::optional<std::string> reference_directory;  // replaces the spec file's folder
    std::optional<double> timeout_seconds;
    bool allow_wandb = false;
    bool needs_dataset = true;
    bool is_block = false;        // a template for other entries; never run
    bool is_convergence = false;  // takes very long; run only on request
    std::string refusal;          // not empty: why it cannot be run
    std::string mistake;          // not empty: a mistake and its position; an error if the entry is selected
};

struct Spec {
    std::vector<std::string> files;
    std::vector<Entry> entries;         // in file order, names unique
    std::vector<std::string> warnings;  // messages for the user
};

/// Reads the files in order; an entry of a later file replaces an earlier one of the same name. A mistake in an entry
/// is stored with it and causes a warning. Throws Error(data) naming file and line if a file is not a mapping of names.
Spec read_spec(const std::vector<std::string>& files);

/// "name_alpha_1_beta_2", with parameters in alphabetical order.
std::string variant_name(const Entry& entry, const Variant& variant);

/// The entries to run, in the order of `names`, or in file order if `names` is empty. Throws Error(usage) for unknown
/// names (giving the nearest), and if no entry is left; Error(data), naming file, line and entry, if an entry has a
/// mistake.
std::vector<const Entry*> select(const Spec& spec, const std::vector<std::string>& names, bool include_convergence);

}  // namespace cnntrain::benchmark
