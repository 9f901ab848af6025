#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/task_options.h"

namespace cnntrain::options {
namespace {

std::string key_of_flag(std::string_view flag) {
    std::string result(flag.substr(flag.find_first_not_of('-')));
    std::replace(result.begin(), result.end(), '-', '_');
    return result;
}

/// Fills in members of the row that are not given from the bound member.
void complete(Option& row) {
    if (row.type == Type::of_member) row.type = row.bind.type;
    if (is_unset(row.fallback) && !row.bind.left_open) {
        if (row.bind.initial != nullptr) row.fallback = row.bind.initial();
        if (row.bind.initial == nullptr && is_boolean(row) && !is_action(row)) row.fallback = false;
    }
    if (row.choices.empty() && row.bind.choices != nullptr) row.choices = row.bind.choices();
}

const std::vector<Option>& shared_table() {
    static const std::vector<Option> table = [] {
        std::vector<Option> rows = concatenated(
            {shared_main_options(), shared_run_options(), shared_data_options(), shared_training_options(),
             shared_head_options(), shared_loss_options(), shared_ipu_options(), shared_logging_options()});
        std::ranges::for_each(rows, complete);
        return rows;
    }();
    return table;
}

}  // namespace

Option shared(std::string_view flag) {
    const auto found = std::ranges::find(shared_table(), flag, &Option::flag);
    CNNTRAIN_CHECK(found != shared_table().end(), "no shared option " + std::string(flag));
    Option row = *found;
    row.shared_flag = row.flag;
    return row;
}

std::vector<Option> shared_rows(std::string_view flags) {
    std::vector<Option> rows;
    for (const std::string_view flag : split(flags, ' '))
        rows.push_back(shared(flag));
    return rows;
}

std::vector<Option> for_one_command(std::vector<Option> rows) {
    for (Option& row : rows) {
        row.commands = row.acts.in = row.missing.in = kAll;
        row.main_in = (row.main_in & kT) != 0 ? kAll : 0;
    }
    return rows;
}

OptionSet::OptionSet(std::vector<OptionGroup> groups) {
    for (OptionGroup& group : groups) {
        for (Option& row : group.options) {
            complete(row);
            row.group = group.title;
            if (row.shared_flag.empty()) row.shared_flag = row.flag;
            for (const Need& need : row.exists_with) {
                if (std::ranges::find(selectors_, need.key) == selectors_.end()) selectors_.push_back(need.key);
            }
            rows_.push_back(std::move(row));
        }
    }
}

const Option* OptionSet::with_key(std::string_view wanted, const Alias** alias) const {
    *alias = nullptr;
    for (const Option& option : rows_) {
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

const Option* OptionSet::find(std::string_view wanted) const {
    const auto found = std::ranges::find_if(rows_, [&](const Option& row) { return key(row) == wanted; });
    return found == rows_.end() ? nullptr : &*found;
}

const Option& OptionSet::at(std::string_view wanted) const {
    const Option* const option = find(wanted);
    CNNTRAIN_CHECK(option != nullptr, "no row for " + std::string(wanted));
    return *option;
}

const Option* OptionSet::with_shared(std::string_view flag) const {
    const auto found = std::ranges::find(rows_, flag, &Option::shared_flag);
    return found == rows_.end() ? nullptr : &*found;
}

const Option& OptionSet::of_shared(std::string_view flag) const {
    const Option* const option = with_shared(flag);
    CNNTRAIN_CHECK(option != nullptr, "this task does not have the shared option " + std::string(flag));
    return *option;
}

bool allows(const Need& need, const Option& option, const Value& value) {
    if (need.values.empty()) return value != option.fallback;
    return std::ranges::find(need.values, to_string(value)) != need.values.end();
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

std::vector<Option> concatenated(std::vector<std::vector<Option>> parts) {
    std::vector<Option> all;
    for (std::vector<Option>& part : parts)
        std::ranges::move(part, std::back_inserter(all));
    return all;
}

std::vector<Option> numeric(std::vector<Option> rows) {
    for (Option& row : rows)
        row.numerics = true;
    return rows;
}

std::vector<Option> with_behind(std::vector<Option> rows, std::string_view flag, std::vector<Option> more) {
    const auto found = std::ranges::find(rows, flag, &Option::flag);
    CNNTRAIN_CHECK(found != rows.end(), "no option " + std::string(flag) + " here");
    rows.insert(found + 1, std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    return rows;
}

// Shared options: a last layer solved from features, for tasks that classify.

namespace {

const std::vector<Need> kSolved = {{"head_only"}, {"head_first"}};

}  // namespace

std::vector<Option> shared_head_options() {
    return {
        {.flag = "--head-only",
         .help = "Evaluate the network up to its last layer once for each sample, solve the last layer by regularised "
                 "logistic regression, save ckpt-0 and stop. See cnntrain help features.",
         .commands = kT,
         .bind = to<&Settings::head, &run::HeadSettings::only>()},
        {.flag = "--head-first",
         .help = "Solve the last layer as --head-only does, before training the network.",
         .commands = kT,
         .main_in = kT,
         .bind = to<&Settings::head, &run::HeadSettings::first>()},
        {.flag = "--feature-views",
         .help = "Views of each training sample: 1 as evaluation reads it, the others augmented as training does.",
         .range = between(1, 1000),
         .commands = kT,
         .acts = {.needs = kSolved},
         .bind = to<&Settings::head, &run::HeadSettings::views>()},
        {.flag = "--head-strength",
         .help = "Strength s of the L2 regularisation: the mean loss plus s / 2 times the squared weights on "
                 "standardised features is least; without it, chosen by the loss of held-out samples.",
         .range = between(1e-9, 1e9),
         .commands = kT,
         .acts = {.needs = kSolved},
         .bind = to<&Settings::head, &run::HeadSettings::strength>()},
        {.flag = "--feature-cache",
         .help = "File that keeps the features for later runs (default: features.cache in the run's folder).",
         .commands = kT,
         .acts = {.needs = kSolved},
         .names = Names::path,
         .bind = to<&Settings::head, &run::HeadSettings::cache>()},
    };
}

std::vector<Option> shared_loss_options() {
    std::vector<Option> rows = {
        {.flag = "--class-weights",
         .help =
             "Weights of the classes in the training loss: balanced (by the number of training samples), numbers "
             "w0,w1,..., or a file with a weight or CLASS,WEIGHT a line. With --labels several, of samples that have "
             "the label; balanced: samples without it / samples with it.",
         .bind = to<&Settings::loss, &run::LossSettings::class_weights>()},
        {.flag = "--focal-gamma",
         .help =
             "With --labels several: exponent of the focal loss, in which a label of probability p counts (1 - p)^G "
             "times, such as 2; 0: cross entropy.",
         .range = between(0, 100),
         .acts = {.needs = {{"labels", {spelling(nn::LabelKind::several)}}}},
         .bind = to<&Settings::loss, &run::LossSettings::focal_gamma>()},
        {.flag = "--teacher",
         .help = "Run or file of weights of a network with the same classes, usually a larger one, whose answers the "
                 "training learns, too.",
         .names = Names::path,
         .bind = left_open(to<&Settings::loss, &run::LossSettings::teacher>())},
        {.flag = "--distill",
         .help = "A,T: the loss is 1 - A times the usual one and A times T^2 times the divergence of the network's "
                 "probabilities from the teacher's, both at temperature T; without it, 0.5,4.",
         .range = between(0, 100),
         .acts = {.needs = {{"teacher"}}},
         .bind = left_open(to<&Settings::loss, &run::LossSettings::distill>())},
    };
    for (Option& row : rows) {
        row.commands = kT;
        row.numerics = true;
    }
    return rows;
}

}  // namespace cnntrain::options
