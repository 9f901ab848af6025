#include "launch/benchmark/spec.h"

#include <re2/re2.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/options/line.h"
#include "launch/benchmark/measure.h"

namespace cnntrain::benchmark {
namespace {

constexpr std::size_t kLongestLine = 1'000'000;
constexpr std::size_t kMostMatches = 1000;  // per line, because each match may scan the rest of the line

[[noreturn]] void refuse_spec(const std::string& message) {
    throw Error(ErrorKind::data, message);
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
    engine_ = std::make_shared<const RE2>(regexp, options);
    if (!engine_->ok()) {
        const std::string& where = engine_->error_arg();
        refuse_spec("cannot be read as a pattern of RE2, which has no lookaround and no backreferences: " +
                    engine_->error() + (where.empty() ? "" : " (at '" + where + "')"));
    }
    const int groups = engine_->NumberOfCapturingGroups();
    if (groups != 1) refuse_spec("expected exactly one group in parentheses, has " + std::to_string(groups));
}

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

namespace {

std::string at_line(const YAML::Node& node) {
    return "line " + std::to_string(node.Mark().line + 1) + ": ";
}

/// Keys and values in file order; the keys of a mapping are unique.
using Fields = std::vector<std::pair<std::string, YAML::Node>>;

YAML::Node* find(Fields& fields, std::string_view key) {
    const auto found = std::ranges::find_if(fields, [&](const auto& field) { return field.first == key; });
    return found == fields.end() ? nullptr : &found->second;
}

void put(Fields& fields, const std::string& key, const YAML::Node& value) {
    if (YAML::Node* there = find(fields, key)) {
        there->reset(value);
    } else {
        fields.emplace_back(key, value);
    }
}

std::string text_of(const YAML::Node& node, const std::string& what) {
    if (!node.IsScalar()) refuse_spec(at_line(node) + what + ": expected a text or a number");
    return node.Scalar();
}

/// The fields of a mapping after its merge keys are resolved. The mapping's own key replaces a merged one completely;
/// of two merges the later one wins; in a list of merged mappings the earlier one wins.
Fields fields_of(const YAML::Node& mapping, const std::string& what) {
    if (!mapping.IsMap()) refuse_spec(at_line(mapping) + "expected " + what + ": a mapping of keys and values");
    Fields merged;
    Fields own;
    for (const auto& item : mapping) {
        const std::string key = text_of(item.first, "a key of " + what);
        const YAML::Node& value = item.second;
        if (key != "<<") {
            put(own, key, value);
            continue;
        }
        const std::size_t count = value.IsSequence() ? value.size() : 1;
        for (std::size_t i = count; i > 0; --i) {
            const YAML::Node& source = value.IsSequence() ? value[i - 1] : value;
            for (const auto& [merged_key, node] : fields_of(source, "what is merged"))
                put(merged, merged_key, node);
        }
    }
    for (const auto& [key, value] : own)
        put(merged, key, value);
    return merged;
}

bool flag_of(const YAML::Node& node, const std::string& what) {
    bool value = false;
    if (!YAML::convert<bool>::decode(node, value)) refuse_spec(at_line(node) + what + ": expected true or false");
    return value;
}

double seconds_of(const YAML::Node& node, const std::string& what) {
    constexpr double kMostSeconds = 1e9;
    double value = 0;
    if (!YAML::convert<double>::decode(node, value) || !(value > 0 && value <= kMostSeconds))
        refuse_spec(at_line(node) + what + ": expected a number of seconds above 0 and up to 1e9");
    return value;
}

constexpr std::size_t kMostVariants = 10'000;  // per entry, and over all entries

/// Reads `name: v1,v2` or `name: [v1, v2]`: all combinations; the first parameter varies fastest.
std::vector<Variant> combinations(const YAML::Node& node) {
    std::vector<Variant> variants = {{}};
    for (const auto& [name, value] : fields_of(node, "parameters")) {
        std::vector<std::string> choices;
        if (value.IsSequence()) {
            for (const YAML::Node& item : value)
                choices.push_back(text_of(item, "parameter " + name));
        } else {
            const std::string text = text_of(value, "parameter " + name);
            for (const std::string_view choice : split(text, ','))
                choices.emplace_back(choice);
        }
        if (choices.empty()) refuse_spec(at_line(value) + "parameter " + name + " has no values");
        if (choices.size() > kMostVariants / variants.size()) {
            refuse_spec(at_line(value) + "up to parameter " + name + " there are more than " +
                        std::to_string(kMostVariants) + " combinations; name fewer values, or list the combinations");
        }
        std::vector<Variant> longer;
        for (const std::string& choice : choices) {
            for (const Variant& variant : variants) {
                longer.push_back(variant);
                longer.back().emplace_back(name, choice);
            }
        }
        variants = std::move(longer);
    }
    return variants;
}

/// Reads a list of lists: first the names, then the values of one variant each. Extra values are dropped.
std::vector<Variant> rows(const YAML::Node& node) {
    std::vector<std::vector<std::string>> table;
    for (const YAML::Node& row : node) {
        if (!row.IsSequence())
            refuse_spec(at_line(row) + "parameters: expected a list of lists, the first holding names");
        table.emplace_back();
        for (const YAML::Node& item : row)
            table.back().push_back(text_of(item, "parameters"));
    }
    if (table.size() < 2)
        refuse_spec(at_line(node) + "parameters: expected a list of names and at least one of values");
    std::vector<Variant> variants;
    for (std::size_t i = 1; i < table.size(); ++i) {
        variants.emplace_back();
        if (table[i].size() < table[0].size()) {
            refuse_spec(at_line(node[i]) + "parameters: " + std::to_string(table[0].size()) + " names but " +
                        std::to_string(table[i].size()) + " values");
        }
        for (std::size_t k = 0; k < table[0].size(); ++k)
            variants.back().emplace_back(table[0][k], table[i][k]);
    }
    return variants;
}

void read_parameters(Entry& entry, const YAML::Node& node) {
    if (node.IsNull()) return;
    if (!node.IsMap() && !node.IsSequence())
        refuse_spec(at_line(node) + "parameters: expected a mapping of names and values, or a list of lists");
    entry.variants = node.IsMap() ? combinations(node) : rows(node);
}

Reduction reduction_of(const YAML::Node& node) {
    const std::string text = text_of(node, "reduction_type");
    constexpr std::array kAll = {Reduction::mean, Reduction::final, Reduction::min, Reduction::value};
    std::vector<std::string> names;
    for (const Reduction reduction : kAll) {
        if (name(reduction) == text) return reduction;
        names.emplace_back(name(reduction));
    }
    refuse_spec(at_line(node) + "reduction_type '" + text + "' is none of mean, final, min, value" +
                suggestion(text, names));
}

std::int64_t count_of(const YAML::Node& node, const std::string& what) {
    const std::string text = text_of(node, what);
    const auto value = as_number<std::int64_t>(text);
    if (!value || *value < 0)
        refuse_spec(at_line(node) + what + ": expected a whole number from 0 on, got '" + text + "'");
    return *value;
}

[[noreturn]] void refuse_key(const YAML::Node& node, const std::string& key, const std::vector<std::string>& known) {
    refuse_spec(at_line(node) + "unknown key '" + key + "'" + suggestion(key, known));
}

void read_metrics(Entry& entry, const YAML::Node& node) {
    if (node.IsNull()) return;
    for (const auto& [name, body] : fields_of(node, "data")) {
        try {
            Metric metric{.name = name};
            Fields fields = fields_of(body, "a metric");
            for (const auto& [key, value] : fields) {
                if (key == "regexp") {
                    metric.regexp = text_of(value, key);
                } else if (key == "skip") {
                    metric.skip = count_of(value, key);
                } else if (key == "reduction_type") {
                    metric.reduction = reduction_of(value);
                } else {
                    refuse_key(value, key, {"regexp", "skip", "reduction_type"});
                }
            }
            if (find(fields, "regexp") == nullptr) refuse_spec(at_line(body) + "the key 'regexp' is missing");
            const std::string mistake = pattern_mistake(metric.regexp);
            if (!mistake.empty())
                refuse_spec(at_line(*find(fields, "regexp")) + "regexp " + metric.regexp + ": " + mistake);
            entry.metrics.push_back(std::move(metric));
        } catch (const Error& error) {
            throw error.within("metric " + name);
        }
    }
}

void read_derived(Entry& entry, const YAML::Node& node) {
    if (node.IsNull()) return;
    for (const auto& [name, body] : fields_of(node, "derived")) {
        DerivedMetric metric{.name = name};
        for (const auto& [key, value] : fields_of(body, "a derived metric")) {
            if (key == "expr") {
                metric.expression = text_of(value, key);
            } else if (key == "reduction_type") {
                metric.reduction = reduction_of(value);
            } else {
                refuse_key(value, key, {"expr", "reduction_type"});
            }
        }
        if (metric.expression.empty()) refuse_spec(at_line(body) + "metric " + name + ": the key 'expr' is missing");
        entry.derived.push_back(std::move(metric));
    }
}

void read_columns(Entry& entry, const YAML::Node& node) {
    if (node.IsNull()) return;
    if (!node.IsSequence()) refuse_spec(at_line(node) + "output: expected a list, of which each item is [label, name]");
    for (const YAML::Node& item : node) {
        if (!item.IsSequence() || item.size() != 2)
            refuse_spec(at_line(item) + "output: expected a list of [label, name]");
        entry.columns.push_back({text_of(item[0], "output"), text_of(item[1], "output")});
    }
}

void read_environment(Entry& entry, const YAML::Node& node) {
    if (node.IsNull()) return;
    for (const auto& [name, value] : fields_of(node, "env"))
        entry.environment.emplace_back(name, text_of(value, "env: " + name));
}

/// The keys of an entry and their readers. Keys without a reader are for people or other programs.
struct Key {
    std::string_view name;
    void (*read)(Entry& entry, const YAML::Node& value);
};

constexpr Key kKeys[] = {
    {"cmd", [](Entry& entry, const YAML::Node& value) { entry.command = text_of(value, "cmd"); }},
    {"parameters", read_parameters},
    {"env", read_environment},
    {"data", read_metrics},
    {"derived", read_derived},
    {"output", read_columns},
    {"location", [](Entry& entry, const YAML::Node& value) { entry.location = text_of(value, "location"); }},
    {"reference_directory",
     [](Entry& entry, const YAML::Node& value) { entry.reference_directory = text_of(value, "reference_directory"); }},
    {"timeout", [](Entry& entry, const YAML::Node& value) { entry.timeout_seconds = seconds_of(value, "timeout"); }},
    {"allow_wandb", [](Entry& entry, const YAML::Node& value) { entry.allow_wandb = flag_of(value, "allow_wandb"); }},
    {"generated", [](Entry& entry, const YAML::Node& value) { entry.needs_dataset &= !flag_of(value, "generated"); }},
    {"synthetic", [](Entry& entry, const YAML::Node& value) { entry.needs_dataset &= !flag_of(value, "synthetic"); }},
    {"notebook",
     [](Entry& entry, const YAML::Node&) { entry.refusal = "it is a notebook, which cnntrain cannot run"; }},
    {"description", nullptr},
    {"readme", nullptr},
    {"requirements_file", nullptr},
    {"requirements_path", nullptr},
    {"pre_run_commands", nullptr},
    {"benchmark_path", nullptr},
};

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// An entry's initial values, before its fields are read.
Entry named_entry(const std::string& name, const YAML::Node& body, const std::string& file) {
    Entry entry;
    entry.name = name;
    entry.file = file;
    entry.line = body.Mark().line + 1;
    entry.is_block = contains(name, "options");
    return entry;
}

Entry read_entry(const std::string& name, const YAML::Node& body, const std::string& file,
                 std::vector<std::string>& warnings) {
    Entry entry = named_entry(name, body, file);
    entry.variants = {{}};
    entry.is_convergence = contains(name, "_conv");
    entry.needs_dataset = !contains(name, "gen") && !contains(name, "synth");
    for (const auto& [key, value] : fields_of(body, "an entry")) {
        const auto* known = std::ranges::find(kKeys, key, &Key::name);
        if (known == std::end(kKeys)) {
            std::vector<std::string> names;
            for (const Key& row : kKeys)
                names.emplace_back(row.name);
            warnings.push_back(file + ": " + at_line(value) + name + ": the key '" + key + "' has no meaning" +
                               suggestion(key, names));
        } else if (known->read != nullptr) {
            known->read(entry, value);
        }
    }
    return entry;
}

YAML::Node load(const std::string& file) {
    const FileKind kind = posix_files().kind(file);
    if (kind == FileKind::absent) refuse_spec(file + ": no such file; give a benchmarks.yml with --spec");
    if (kind == FileKind::directory) refuse_spec(file + ": a folder; give a benchmarks.yml with --spec");
    YAML::Node root = YAML::Load(options::yaml_text(file, ErrorKind::data));
    if (!root.IsMap()) refuse_spec(file + ": expected a mapping of benchmark names and entries");
    return root;
}

void add(Spec& spec, Entry entry) {
    const auto there = std::ranges::find_if(spec.entries, [&](const Entry& other) { return other.name == entry.name; });
    if (there == spec.entries.end()) {
        spec.entries.push_back(std::move(entry));
        return;
    }
    if (there->file == entry.file) {
        spec.warnings.push_back(entry.file + ": " + entry.name + " stands in lines " + std::to_string(there->line) +
                                " and " + std::to_string(entry.line) + "; the later one counts");
    }
    *there = std::move(entry);
}

std::vector<std::string> names_of(const Spec& spec) {
    std::vector<std::string> names;
    for (const Entry& entry : spec.entries) {
        if (!entry.is_block) names.push_back(entry.name);
    }
    return names;
}

const Entry& entry_named(const Spec& spec, const std::string& wanted) {
    for (const Entry& entry : spec.entries) {
        if (entry.name != wanted) continue;
        if (!entry.is_block) return entry;
        throw Error(ErrorKind::usage, "--benchmark " + wanted + ": names with 'options' in them are parts of others");
    }
    const std::vector<std::string> names = names_of(spec);
    const std::string message =
        "--benchmark " + wanted + ": there is no such benchmark in" + each_behind(" ", spec.files);
    throw Error(ErrorKind::usage, message + suggestion(wanted, names, ";", "", "") + " --list shows all");
}

void check_runnable(const Entry& entry) {
    const std::string where = entry.file + ": line " + std::to_string(entry.line) + ": " + entry.name;
    if (!entry.mistake.empty()) refuse_spec(entry.mistake);
    if (!entry.refusal.empty()) throw Error(ErrorKind::unsupported, where + ": " + entry.refusal);
    if (entry.command.empty()) refuse_spec(where + ": the key 'cmd' is missing: what is to be run");
}

}  // namespace

std::string_view name(Reduction reduction) {
    return enumerator_name(reduction);
}

Spec read_spec(const std::vector<std::string>& files) {
    Spec spec;
    spec.files = files;
    std::size_t variants = 0;
    for (const std::string& file : files) {
        for (const auto& item : load(file)) {
            if (!item.first.IsScalar())
                refuse_spec(file + ": " + at_line(item.first) + "expected the name of a benchmark");
            const std::string name = item.first.Scalar();
            try {
                Entry entry = read_entry(name, item.second, file, spec.warnings);
                variants += entry.variants.size();
                if (variants > kMostVariants) {
                    refuse_spec(at_line(item.second) + "all benchmarks up to this one have more than " +
                                std::to_string(kMostVariants) + " combinations of parameters; split the file");
                }
                add(spec, std::move(entry));
            } catch (const Error& error) {
                Entry broken = named_entry(name, item.second, file);
                broken.mistake = error.within(name).within(file).what();
                spec.warnings.push_back(broken.mistake + "; the other benchmarks can be run");
                add(spec, std::move(broken));
            }
        }
    }
    return spec;
}

std::string variant_name(const Entry& entry, const Variant& variant) {
    Variant sorted = variant;
    std::ranges::sort(sorted);
    std::string result = entry.name;
    for (const auto& [parameter, value] : sorted)
        result += "_" + parameter + "_" + value;
    return result;
}

std::vector<const Entry*> select(const Spec& spec, const std::vector<std::string>& names, bool include_convergence) {
    std::vector<const Entry*> selected;
    for (const std::string& name : names) {
        const Entry& entry = entry_named(spec, name);
        if (std::ranges::find(selected, &entry) == selected.end()) selected.push_back(&entry);
    }
    for (const Entry& entry : spec.entries) {
        if (!names.empty() || entry.is_block) continue;
        if (!entry.is_convergence || include_convergence) selected.push_back(&entry);
    }
    if (selected.empty() && names_of(spec).empty())
        refuse_spec(spec.files.front() + ": no benchmark in it, only parts of some");
    if (selected.empty()) {
        throw Error(ErrorKind::usage, "nothing to run: " + std::to_string(names_of(spec).size()) +
                                          " benchmarks are there, all of them of convergence; name one with "
                                          "--benchmark or give --include-convergence");
    }
    for (const Entry* entry : selected)
        check_runnable(*entry);
    return selected;
}

}  // namespace cnntrain::benchmark
