#include "options/read/read.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/option_values.h"

namespace cnntrain::options {
namespace {

std::string number_text(double number) {
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
    return {buffer.data(), end.ptr};
}

[[noreturn]] void reject(const Option& option, const std::string& expected, const std::string& word) {
    constexpr std::size_t kShown = 80;
    const std::string shown = word.size() > kShown ? word.substr(0, kShown) + "..." : word;
    throw Error(ErrorKind::usage, documented_flag(option) + ": expected " + expected + ", got '" + shown + "'");
}

template <typename T> std::optional<T> parse_number(std::string_view word) {
    return as_number<T>(word.substr(word.starts_with('+') ? 1 : 0));
}

/// A limit of a range as text; limits of whole-number options have all their digits.
std::string limit_text(const Option& option, double limit) {
    const bool whole = option.type == Type::integer || option.type == Type::integers;
    return whole ? std::to_string(static_cast<std::int64_t>(limit)) : number_text(limit);
}

void check_range(const Option& option, double number, const std::string& word) {
    const Range& range = option.range;
    if (number >= range.low && number <= range.high) return;
    const bool positive = range.low > 0 && range.low < 1e-300;
    std::string expected = positive ? "a value above 0" : "at least " + limit_text(option, range.low);
    if (std::isfinite(range.high))
        expected = "a value from " + limit_text(option, range.low) + " to " + limit_text(option, range.high);
    reject(option, expected, word);
}

std::int64_t integer(const Option& option, const std::string& word) {
    const auto number = parse_number<std::int64_t>(word);
    if (!number) {
        const bool bounded = std::isfinite(option.range.low) && std::isfinite(option.range.high);
        const std::string limits =
            bounded ? " from " + limit_text(option, option.range.low) + " to " + limit_text(option, option.range.high)
                    : "";
        reject(option, "a whole number" + limits, word);
    }
    check_range(option, static_cast<double>(*number), word);
    return *number;
}

/// Refuses numbers outside float32's range: computation is in float32, where they would become infinite or 0.
void check_precision(const Option& option, double number, const std::string& word) {
    using Floats = std::numeric_limits<float>;
    const double size = std::fabs(number);
    if (size > static_cast<double>(Floats::max()))
        reject(option, "a number that fits into 32 bits (up to 3.4e38)", word);
    if (size > 0 && size < static_cast<double>(Floats::min()))
        reject(option, "a number that fits into 32 bits (0 or from 1.2e-38 on)", word);
}

double real(const Option& option, const std::string& word) {
    const auto number = parse_number<double>(word);
    if (!number || !std::isfinite(*number)) reject(option, "a number", word);
    check_range(option, *number, word);
    check_precision(option, *number, word);
    return *number;
}

/// Parses a boolean: the spellings of YAML 1.1, and the single letters of the BERT programs.
bool truth(const Option& option, const std::string& word) {
    const std::string text = in_lower_case(word);
    for (std::string_view yes : {"true", "yes", "on", "y", "t", "1"}) {
        if (text == yes) return true;
    }
    for (std::string_view no : {"false", "no", "off", "n", "f", "0"}) {
        if (text == no) return false;
    }
    reject(option, "true or false", word);
}

std::string choice(const Option& option, const std::string& word) {
    std::vector<std::string> known;
    for (std::string_view candidate : option.choices) {
        if (equal_but_case(candidate, word)) return std::string(candidate);
        known.emplace_back(candidate);
    }
    std::string expected = "one of";
    for (const std::string& candidate : known)
        expected += " " + (candidate.empty() ? "''" : candidate);
    const std::string nearest = nearest_name(word, known);
    if (!nearest.empty()) expected += " (nearest: " + nearest + ")";
    reject(option, expected, word);
}

/// Normalises JSON text, so that equal values have equal text.
std::string structure(const Option& option, const std::string& word) {
    try {
        return compact_json(word);
    } catch (const Error& error) {
        reject(option, "a list or an object in JSON (" + std::string(error.what()) + ")", word);
    }
}

Value convert_list(const Option& option, const std::vector<std::string>& words) {
    if (option.type == Type::texts) return words;
    if (option.type == Type::integers) {
        std::vector<std::int64_t> numbers;
        numbers.reserve(words.size());
        for (const std::string& word : words)
            numbers.push_back(integer(option, word));
        return numbers;
    }
    std::vector<double> numbers;
    for (const std::string& word : words) {
        for (const std::string_view part : split(word, ',')) {
            const std::size_t begin = std::min(part.find_first_not_of(' '), part.size());
            numbers.push_back(real(option, std::string(part.substr(begin))));
        }
    }
    return numbers;
}

}  // namespace

Value convert(const Option& option, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        if (is_utf8(word)) continue;
        throw Error(ErrorKind::usage, documented_flag(option) + ": '" + word +
                                          "' is not UTF-8, as arguments.json is; give a name or a link that is");
    }
    if (is_list(option)) return convert_list(option, words);
    if (option.type == Type::patterns) return joined(words, ",");
    if (words.size() != 1) {
        const std::string flag = documented_flag(option);
        throw Error(ErrorKind::usage,
                    flag + ": expected one value, got " + std::to_string(words.size()) +
                        (option.names == Names::data ? "; quote a pattern of files: " + flag + " 'PHOTOS/*.jpg'" : ""));
    }
    const std::string& word = words.front();
    switch (option.type) {
        case Type::boolean:
        case Type::boolean_value:
            return truth(option, word);
        case Type::integer:
            return integer(option, word);
        case Type::number:
            return real(option, word);
        case Type::choice:
            return choice(option, word);
        case Type::structure:
            return structure(option, word);
        case Type::text:
        case Type::of_member:
        case Type::integers:
        case Type::numbers:
        case Type::texts:
        case Type::patterns:
            break;
    }
    return word;
}

bool is_unset(const Value& value) {
    return std::holds_alternative<Unset>(value);
}

std::string to_string(const Value& value) {
    struct Text {
        std::string operator()(const Unset& /*value*/) const { return "none"; }
        std::string operator()(bool flag) const { return flag ? "true" : "false"; }
        std::string operator()(std::int64_t number) const { return std::to_string(number); }
        std::string operator()(double number) const { return number_text(number); }
        std::string operator()(const std::string& text) const { return text; }
        std::string operator()(const std::vector<std::int64_t>& list) const {
            return joined(list, " ", [](std::int64_t value) { return std::to_string(value); });
        }
        std::string operator()(const std::vector<double>& list) const { return joined(list, " ", number_text); }
        std::string operator()(const std::vector<std::string>& list) const { return joined(list, " "); }
    };
    return std::visit(Text(), value);
}

OptionValues::OptionValues(const std::vector<const Option*>& options, TaskSettings own, const Launch& launch)
    : launch_(launch) {
    settings_.task = std::move(own);
    settings_.training.processes = launch.processes;
    for (const Option* option : options) {
        index_[key(*option)] = entries_.size();
        write(entries_.emplace_back(Entry{option}), option->fallback);
    }
}

void OptionValues::write(Entry& entry, const Value& value) {
    const Option& option = *entry.option;
    if (option.bind.write == nullptr) {
        entry.unbound = value;
        return;
    }
    try {
        option.bind.write(settings_, value);
    } catch (const Error& error) {
        throw error.within(std::string(option.flag));
    }
}

void OptionValues::apply(const Layer& layer, Source source) {
    for (const auto& [option, value] : layer) {
        if (has(key(*option))) set(key(*option), value, source);
    }
}

void OptionValues::set(std::string_view key, const Value& value, Source source) {
    Entry& target = entry(key);
    write(target, value);
    target.source = source;
}

void OptionValues::reset(std::string_view key) {
    Entry& target = entry(key);
    write(target, target.option->fallback);
    target.source = Source::default_value;
}

bool OptionValues::has(std::string_view key) const {
    return index_.find(key) != index_.end();
}

const OptionValues::Entry& OptionValues::entry(std::string_view key) const {
    const auto found = index_.find(key);
    CNNTRAIN_CHECK(found != index_.end(), "no option with key " + std::string(key) + " here");
    return entries_[found->second];
}

OptionValues::Entry& OptionValues::entry(std::string_view key) {
    return const_cast<Entry&>(std::as_const(*this).entry(key));
}

const Option& OptionValues::option(std::string_view key) const {
    return *entry(key).option;
}

Source OptionValues::source(std::string_view key) const {
    return entry(key).source;
}

ResolvedOption OptionValues::resolved(const Entry& entry) const {
    const Option& option = *entry.option;
    const bool open = entry.source == Source::default_value && is_unset(option.fallback);
    if (open) return {&option, {}, entry.source};
    return {&option, option.bind.read != nullptr ? option.bind.read(settings_) : entry.unbound, entry.source};
}

ResolvedOption OptionValues::at(std::string_view key) const {
    return resolved(entry(key));
}

bool given(Source source) {
    return source == Source::environment || source == Source::config || source == Source::arguments ||
           source == Source::command_line;
}

bool OptionValues::given(std::string_view key) const {
    return has(key) && options::given(source(key));
}

bool OptionValues::is_set(std::string_view key) const {
    return has(key) && !is_unset(at(key).value);
}

std::vector<ResolvedOption> OptionValues::all() const {
    std::vector<ResolvedOption> all;
    for (const Entry& entry : entries_)
        all.push_back(resolved(entry));
    return all;
}

Settings OptionValues::finished() const {
    Settings settings = settings_;
    for (const Entry& entry : entries_) {
        const Binding& bind = entry.option->bind;
        const bool open = entry.source == Source::default_value && is_unset(entry.option->fallback);
        if (open && bind.write != nullptr && bind.initial != nullptr) bind.write(settings, bind.initial());
    }
    return settings;
}

namespace {

using nlohmann::json;

json to_json(const Value& value) {
    return std::visit(
        [](const auto& content) -> json {
            if constexpr (std::is_same_v<std::decay_t<decltype(content)>, Unset>) {
                return nullptr;
            } else {
                return content;
            }
        },
        value);
}

/// A model size that is a depth becomes a JSON number; "B4" and "56b" stay strings.
json to_json(const ResolvedOption& entry) {
    if (entry.option->type == Type::structure && !is_unset(entry.value))
        return json::parse(std::get<std::string>(entry.value));
    if (key(*entry.option) != "model_size" || is_unset(entry.value)) return to_json(entry.value);
    const std::string& size = std::get<std::string>(entry.value);
    const bool digits = !size.empty() && size.size() < 10 && size.find_first_not_of("0123456789") == std::string::npos;
    return digits ? json(std::stoll(size)) : json(size);
}

std::string word_of(const json& node) {
    return node.is_string() ? node.get<std::string>() : node.dump();
}

std::vector<std::string> words_of_node(const Option& option, const json& node) {
    if (!node.is_array() || option.type == Type::structure) return {word_of(node)};
    std::vector<std::string> words;
    for (const json& item : node)
        words.push_back(word_of(item));
    return words;
}

/// False for an option of another --lr-schedule, for example, if the task chose the schedule after the line was read.
bool is_offered(const Option& option, const ParseResult& result) {
    return std::ranges::all_of(option.exists_with, [&](const Need& need) {
        const auto selector = std::ranges::find_if(
            result.options, [&](const ResolvedOption& entry) { return key(*entry.option) == need.key; });
        return selector == result.options.end() || allows(need, *selector->option, selector->value);
    });
}

}  // namespace

std::string arguments_json(const ParseResult& result, const std::map<std::string, Value>& derived) {
    json document = json::object();
    for (const ResolvedOption& entry : result.options) {
        if (!is_action(*entry.option)) document[key(*entry.option)] = to_json(entry);
    }
    for (const auto& [name, value] : derived)
        document[name] = to_json(value);
    return document.dump(4) + "\n";
}

std::string evaluation_json(const ParseResult& result) {
    json document = json::object();
    for (const ResolvedOption& entry : result.options) {
        const bool described = is_of_evaluation(*entry.option, kV | kE) && !is_path(*entry.option);
        if (described && !is_unset(entry.value)) document[key(*entry.option)] = to_json(entry);
    }
    document["task"] = std::string(result.task->name);
    return document.dump();
}

Layer layer_from_json(const OptionSet& options, std::string_view text,
                      const std::function<bool(const Option&)>& wanted) {
    try {
        check_json(text);
    } catch (const Error& error) {
        throw Error(ErrorKind::data, "arguments.json: " + std::string(error.what()) + "; the file is damaged");
    }
    const json document = json::parse(text);
    if (!document.is_object())
        throw Error(ErrorKind::data, "arguments.json: expected a JSON object of options; the file is damaged");
    Layer layer;
    for (const auto& [name, node] : document.items()) {
        const Alias* alias = nullptr;
        const Option* option = options.with_key(name, &alias);
        if (option == nullptr || is_action(*option) || node.is_null()) continue;
        if (wanted && !wanted(*option)) continue;
        if (node.is_object() && option->type != Type::structure) continue;
        if (alias != nullptr && (!alias->fixed_value.empty() || document.contains(key(*option)))) continue;
        try {
            layer[option] = convert(*option, words_of_node(*option, node));
        } catch (const Error& error) {
            throw Error(ErrorKind::data, "arguments.json: " + std::string(error.what()));
        }
    }
    return layer;
}

Layer layer_of_json_config(const OptionSet& options, std::string_view text) {
    check_json(text);
    const json document = json::parse(text);
    if (!document.is_object()) throw Error(ErrorKind::usage, "expected a JSON object of options");
    Layer layer;
    for (const auto& [name, node] : document.items()) {
        const Alias* alias = nullptr;
        const Option* option = options.with_key(name, &alias);
        if (option == nullptr || is_action(*option)) {
            std::vector<std::string> keys;
            for (const Option& known : options.rows())
                keys.push_back(key(known));
            throw Error(ErrorKind::usage, "unknown key '" + name + "'" + suggestion(name, keys));
        }
        const bool not_given = node.is_null() || (node.is_string() && node.get<std::string>().empty());
        if (!not_given) layer[option] = convert(*option, words_of_node(*option, node));
    }
    return layer;
}

std::string compact_json(std::string_view text) {
    check_json(text);
    const json document = json::parse(text);
    if (!document.is_array() && !document.is_object()) throw Error(ErrorKind::data, "neither a list nor an object");
    return document.dump();
}

void assign(std::vector<std::vector<std::string>>& member, const Value& value) {
    member.clear();
    if (is_unset(value)) return;
    const std::string& text = std::get<std::string>(value);
    const json document = json::parse(text);
    const auto is_words = [](const json& list) {
        return list.is_array() && std::ranges::all_of(list, [](const json& word) { return word.is_string(); });
    };
    if (!document.is_array() || !std::ranges::all_of(document, is_words))
        throw Error(ErrorKind::usage, "expected a list of lists of words, got " + text);
    member = document.get<std::vector<std::vector<std::string>>>();
}

Value value_of(const std::vector<std::vector<std::string>>& member) {
    return member.empty() ? Value() : json(member).dump();
}

void assign(std::map<std::int64_t, double>& member, const Value& value) {
    member.clear();
    if (is_unset(value)) return;
    const std::string& text = std::get<std::string>(value);
    const json document = json::parse(text);
    const auto refuse = [&] {
        throw Error(ErrorKind::usage, "expected numbers by step, as in {\"0\": 512, \"1000\": 1024}, got " + text);
    };
    if (!document.is_object() || document.empty()) refuse();
    for (const auto& [step_text, number] : document.items()) {
        const auto step = as_number<std::int64_t>(step_text);
        if (!step || *step < 0 || !number.is_number() || number.get<double>() < 0) refuse();
        member[*step] = number.get<double>();
    }
}

Value value_of(const std::map<std::int64_t, double>& member) {
    if (member.empty()) return {};
    constexpr double kLargestWhole = 1e15;
    json document = json::object();
    for (const auto& [step, number] : member) {
        const bool whole = number == std::floor(number) && number < kLargestWhole;
        document[std::to_string(step)] = whole ? json(static_cast<std::int64_t>(number)) : json(number);
    }
    return document.dump();
}

bool seed_was_drawn(std::string_view text) {
    const json document = json::parse(text, nullptr, false);
    return document.is_object() && document.value("seed_specified", json()) == false;
}

std::string recorded_task(std::string_view text) {
    const json document = json::parse(text, nullptr, false);
    const json task = document.is_object() ? document.value("task", json()) : json();
    return task.is_string() ? task.get<std::string>() : "";
}

std::int64_t recorded_processes(std::string_view text) {
    const json document = json::parse(text, nullptr, false);
    const json count = document.is_object() ? document.value("distributed_worker_count", json(1)) : json(1);
    return count.is_number_integer() && count > 0 ? count.get<std::int64_t>() : 1;
}

std::string numerics_fingerprint(const ParseResult& result) {
    std::uint64_t hash = kHashOfNothing;
    const auto add = [&](const std::string& name, const std::string& value) {
        hash = hash_text(name + "=" + value + "\n", hash);
    };
    const std::uint32_t backend = bit(result.settings.run.backend);
    std::int64_t micro_batches = result.launch.processes;
    for (const ResolvedOption& entry : result.options) {
        const bool of_other_backend = entry.option->acts.on_backends == kIpu && backend != kIpu;
        if (!entry.option->numerics || of_other_backend || !is_offered(*entry.option, result)) continue;
        const std::string name = key(*entry.option);
        const bool multiplies = name == "gradient_accumulation_count" || name == "replicas";
        if (multiplies) {
            micro_batches =
                checked_product(micro_batches, std::get<std::int64_t>(entry.value), "micro-batches of a weight update");
        } else {
            add(name, to_string(entry.value));
        }
    }
    add("passes", std::to_string(micro_batches));
    return hex_text(hash);
}

bool is_of_evaluation(const Option& option, std::uint32_t commands) {
    if ((option.commands & commands) == 0) return false;
    switch (option.recorded) {
        case Recorded::if_numeric:
            return option.numerics && (option.acts.in & commands) != 0;
        case Recorded::taken:
            return true;
        case Recorded::ignored:
        case Recorded::never:
            break;
    }
    return false;
}

Layer recorded_layer(const TaskOptions& task, Command command, const RecordedRun& run,
                     std::vector<std::string>& notices) {
    if (run.text.empty()) return {};
    try {
        return layer_from_json(task.options(), run.text,
                               [&](const Option& option) { return is_of_evaluation(option, bit(command)); });
    } catch (const Error& error) {
        notices.push_back(run.source + ": the run's options are not taken from it: " + error.what());
        return {};
    }
}

void leave_to(const TaskOptions& task, const Layer& given, Layer& recorded) {
    const auto has = [&](std::string_view key_text) {
        const auto found = given.find(task.options().find(key_text));
        return found != given.end() && !is_unset(found->second) && found->second != Value(false);
    };
    for (const Alternatives& pair : task.alternatives) {
        if (has(pair.one)) recorded.erase(task.options().find(pair.other));
        if (has(pair.other)) recorded.erase(task.options().find(pair.one));
    }
}

void notice_differences(const Layer& recorded, Resolution& run) {
    for (const auto& [option, before] : recorded) {
        if (option->recorded != Recorded::if_numeric || !run.values.has(key(*option))) continue;
        const ResolvedOption now = run.values.at(key(*option));
        if (now.source != Source::command_line && now.source != Source::config) continue;
        if (now.value == before || !steers_backend(*option, run.values) || !idle_reason(*option, run).empty()) continue;
        run.notices.push_back(documented_flag(*option) + ": the run has " + to_string(before) + ", this line " +
                              to_string(now.value));
    }
}

}  // namespace cnntrain::options
