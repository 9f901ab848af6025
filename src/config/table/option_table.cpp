#include <algorithm>

#include "config/table/option.h"

namespace cnntrain::config {

namespace {

struct TableGroup {
    Group group;
    std::string_view title;
    std::vector<Option> (*options)();
};

constexpr TableGroup kGroups[] = {
    {Group::main, "Main", main_options},
    {Group::run, "This program", run_options},
    {Group::model, "Model", model_options},
    {Group::resnext, "ResNeXt", resnext_options},
    {Group::efficientnet, "EfficientNet", efficientnet_options},
    {Group::dataset, "Dataset", dataset_options},
    {Group::training, "Training", training_options},
    {Group::schedule, "Learning-rate schedule", schedule_options},
    {Group::ipu, "IPU", ipu_options},
    {Group::logging, "Logging", logging_options},
    {Group::pretraining_main, "Pretraining", pretraining_main_options},
    {Group::bert, "BERT", bert_options},
    {Group::text, "Data", text_options},
    {Group::pretraining, "Batches, optimiser, stages", pretraining_options},
    {Group::pretraining_ipu, "IPUs", pretraining_ipu_options},
    {Group::pretraining_logging, "Logs", pretraining_logging_options},
};

std::vector<Option> build_table() {
    std::vector<Option> table;
    for (const TableGroup& group : kGroups) {
        for (Option& option : group.options()) {
            option.group = group.group;
            table.push_back(std::move(option));
        }
    }
    return table;
}

std::string key_of_flag(std::string_view flag) {
    std::string result(flag.substr(flag.find_first_not_of('-')));
    std::replace(result.begin(), result.end(), '-', '_');
    return result;
}

}  // namespace

const std::vector<Option>& option_table() {
    static const std::vector<Option> table = build_table();
    return table;
}

std::string_view title(Group group) {
    for (const TableGroup& entry : kGroups) {
        if (entry.group == group) return entry.title;
    }
    return {};
}

std::string key(const Option& option) {
    return key_of_flag(option.flag);
}

std::string negated(std::string_view flag) {
    constexpr std::string_view kNo = "--no-";
    if (flag.starts_with(kNo)) return "--" + std::string(flag.substr(kNo.size()));
    return std::string(kNo) + std::string(flag.substr(2));
}

std::string documented_flag(const Option& option) {
    return option.off_switch ? negated(option.flag) : std::string(option.flag);
}

bool is_boolean(const Option& option) {
    return option.type == Type::boolean || option.type == Type::boolean_value;
}

bool is_list(const Option& option) {
    return option.type == Type::integers || option.type == Type::numbers || option.type == Type::texts;
}

std::vector<const Option*> active_options(Command command, nn::Family family, optim::LrSchedule schedule) {
    std::vector<const Option*> active;
    for (const Option& option : option_table()) {
        if ((option.commands & bit(command)) != 0 && (option.models & bit(family)) != 0 &&
            (option.schedules & bit(schedule)) != 0) {
            active.push_back(&option);
        }
    }
    return active;
}

const Option* option_with_key(std::string_view wanted, Command command, const Alias** alias) {
    *alias = nullptr;
    for (const Option& option : option_table()) {
        if ((option.commands & program_of(command)) == 0) continue;
        if (key(option) == wanted) return &option;
        for (const Alias& old : option.aliases) {
            if (key_of_flag(old.flag) == wanted) {
                *alias = &old;
                return &option;
            }
        }
    }
    return nullptr;
}

}  // namespace cnntrain::config
