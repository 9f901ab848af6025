// Settings files of --import-config and --export-config.
#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/config/yaml_text.h"
#include "launch/poprun_options.h"

namespace cnntrain::launch {
namespace {

const PoprunOption& option_of(const std::string& key) {
    std::vector<std::string> names;
    for (const PoprunOption& option : poprun_options()) {
        if (!option.in_files) continue;
        names.emplace_back(option.flag.substr(2));
        if (names.back() == key) return option;
    }
    refuse_line("unknown setting '" + key + "'" + suggestion(key, names, "", "", ""));
}

/// In a file, a switch has a boolean value; the resulting option has no text.
void add(const PoprunOption& option, const YAML::Node& node, std::vector<GivenOption>& given) {
    if (!node.IsScalar()) refuse_line(std::string(option.flag) + " expects one value");
    const std::string text = node.as<std::string>();
    if (option.takes != Takes::nothing) {
        given.push_back({&option, text, std::string(option.flag)});
        return;
    }
    static constexpr PoprunOption kSwitch = {"a switch", Takes::boolean};
    if (read_value({&kSwitch, text, ""}).on) given.push_back({&option, "", std::string(option.flag)});
}

std::vector<GivenOption> settings_of(const std::string& text) {
    std::vector<GivenOption> given;
    config::check_yaml(text, ErrorKind::usage);
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) refuse_line("expected a mapping like 'num-instances: 8'");
    for (const auto& entry : root) {
        const PoprunOption& option = option_of(entry.first.as<std::string>());
        if (!entry.second.IsSequence() || option.takes != Takes::words) {
            add(option, entry.second, given);
            continue;
        }
        for (const auto& one : entry.second)
            add(option, one, given);
    }
    return given;
}

}  // namespace

std::vector<GivenOption> read_settings(const std::string& path, const FileSystem& files) {
    constexpr std::uint64_t kLargestBytes = 1'000'000;
    const std::string text = read_text(files, path, kLargestBytes);
    try {
        return settings_of(text);
    } catch (const YAML::Exception& error) {
        throw Error(ErrorKind::usage, path + ": " + error.what());
    } catch (const Error& error) {
        throw error.within(path);
    }
}

std::string settings_text(const std::vector<GivenOption>& given) {
    std::string text;
    for (const PoprunOption& option : poprun_options()) {
        std::vector<std::string> values;
        for (const GivenOption& one : given)
            if (one.option == &option) values.push_back(one.text);
        if (values.empty() || !option.in_files) continue;
        const bool is_list = option.takes == Takes::words && values.size() > 1;
        text += std::string(option.flag.substr(2)) + ": ";
        if (option.takes == Takes::nothing) {
            text += "yes";
        } else {
            text += is_list ? nlohmann::json(values).dump() : nlohmann::json(values.back()).dump();
        }
        text += "\n";
    }
    return text;
}

}  // namespace cnntrain::launch
