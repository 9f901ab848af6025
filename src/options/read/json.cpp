#include "options/read/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/text.h"
#include "options/read/value.h"
#include "options/resolve/resolve.h"

namespace cnntrain::options {
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
        std::int64_t step = -1;
        const auto [end, error] = std::from_chars(step_text.data(), step_text.data() + step_text.size(), step);
        const bool whole = error == std::errc{} && end == step_text.data() + step_text.size() && step >= 0;
        if (!whole || !number.is_number() || number.get<double>() < 0) refuse();
        member[step] = number.get<double>();
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
