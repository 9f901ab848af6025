// benchmarks.yml as typed entries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cnntrain::benchmark {

enum class Reduction : std::uint8_t { mean, final, min, value };
std::string_view name(Reduction reduction);

/// A number that is looked for in the output: the first group of `regexp`.
struct Metric {
    std::string name;
    std::string regexp = {};
    std::int64_t skip = 0;  // matches left out
    Reduction reduction = Reduction::mean;
};

/// A number computed from metrics and parameters.
struct DerivedMetric {
    std::string name;
    std::string expression = {};  // arithmetic; {metric} and {parameter} are replaced
    Reduction reduction = Reduction::mean;
};

/// Parameter values of one run, in the order of the file.
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
    std::string location;                            // below the folder
    std::optional<std::string> reference_directory;  // instead of the spec file's folder
    std::optional<double> timeout_seconds;
    bool allow_wandb = false;
    bool needs_dataset = true;
    bool is_block = false;        // others are made from it; it is never run
    bool is_convergence = false;  // takes very long: only on demand
    std::string refusal;          // not empty: why it cannot be run
    std::string mistake;          // not empty: what is wrong with it and where, which stops those who run it
};

struct Spec {
    std::vector<std::string> files;
    std::vector<Entry> entries;         // in file order, names once
    std::vector<std::string> warnings;  // for the user
};

/// Several files are read in order; an entry of a later one replaces one of the same name. A mistake in an entry is
/// kept with it, and warned of. Error(data) naming file and line when a file is no mapping of names.
Spec read_spec(const std::vector<std::string>& files);

/// "name_alpha_1_beta_2": parameters in alphabetical order.
std::string variant_name(const Entry& entry, const Variant& variant);

/// The entries to run: in the order of `names` when there are any, else of the files. Error(usage) with the nearest
/// name, and when nothing is left; Error(data) naming file, line and entry when one of them has a mistake.
std::vector<const Entry*> select(const Spec& spec, const std::vector<std::string>& names, bool include_convergence);

}  // namespace cnntrain::benchmark
