#include "config/read/file_names.h"

#include <algorithm>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/config/option.h"

namespace cnntrain::config {
namespace {

std::string expanded(const std::string& flag, const std::string& name, const Variables& variables,
                     std::vector<std::string>& notices) {
    std::set<std::string> unset;
    std::string result = expand(name, variables, unset);
    if (!unset.empty()) {
        throw Error(ErrorKind::usage, flag + " " + name + ": the variable " + *unset.begin() +
                                          " of the environment is not set; set it (export " + *unset.begin() +
                                          "=FOLDER) or write the name out");
    }
    const std::size_t slash = name.find('/');
    if (result != name || slash == std::string::npos) return result;
    const std::string first = name.substr(0, slash);
    const auto variable = variables.find(first);
    if (variable == variables.end() || exists(posix_files(), first)) return name;
    result = variable->second + name.substr(slash);
    notices.push_back(flag + " " + name + ": there is no '" + first + "' here, so it is taken for the variable $" +
                      first + ": " + result);
    return result;
}

/// Expands each part of a comma-separated list.
std::string expanded_list(const std::string& flag, const std::string& list, const Variables& variables,
                          std::vector<std::string>& notices) {
    std::string result;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        if (begin > 0) result += ',';
        result += expanded(flag, list.substr(begin, end - begin), variables, notices);
        begin = end + 1;
    }
    return result;
}

}  // namespace

void expand_file_names(Layer& layer, const Environment& environment, std::vector<std::string>& notices) {
    for (auto& [option, value] : layer) {
        auto* const name = std::get_if<std::string>(&value);
        if (name == nullptr || !option->expands) continue;
        const std::string flag(option->flag);
        const bool lists = option->type == Type::patterns;
        *name = lists ? expanded_list(flag, *name, environment.variables, notices)
                      : expanded(flag, *name, environment.variables, notices);
    }
}

}  // namespace cnntrain::config
