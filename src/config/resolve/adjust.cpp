// What becomes of the given values before they are judged: alternatives settled, the data set found, values that
// cannot be honoured changed with a notice.
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "cnntrain/base/io.h"
#include "cnntrain/base/listed.h"
#include "config/resolve/resolve.h"

namespace cnntrain::config {

namespace {

bool is_zero(const Value& value) {
    return value == Value(false) || value == Value(std::int64_t{0}) || value == Value(0.0);
}

bool given_other_than_default(const OptionValues& values, std::string_view key) {
    return values.given(key) && values.at(key).value != values.at(key).option->fallback;
}

/// Two ways to say one thing: a configuration's gives way to the command line's.
struct Alternatives {
    std::string_view one;
    std::string_view other;
    bool zero_counts = false;  // does 0 for `one` say something?
};

constexpr Alternatives kAlternatives[] = {
    {"batch_norm", "group_norm"},
    {"epochs", "iterations"},
    {"base_learning_rate_exponent", "abs_learning_rate"},
    {"ckpts_per_epoch", "epochs_per_ckpt", true},
    {"syncs_per_epoch", "epochs_per_sync", true},
    {"generated_data", "synthetic_data"},
    {"micro_batch_size", "batch_size"},
};

/// The option that a flag means, with or without its hyphens, also in its --no- form or by an old name; null if none does.
const Option* option_of_flag(std::string_view flag) {
    std::string key_text(flag.substr(std::min(flag.size(), flag.find_first_not_of('-'))));
    std::replace(key_text.begin(), key_text.end(), '-', '_');
    const Alias* alias = nullptr;
    const Option* option = option_with_key(key_text, Command::train, &alias);
    if (option == nullptr && key_text.starts_with("no_"))
        option = option_with_key(key_text.substr(3), Command::train, &alias);
    return option;
}

void settle(OptionValues& values, const Alternatives& pair) {
    if (!values.given(pair.one) || !values.given(pair.other)) return;
    const ResolvedOption& one = values.at(pair.one);
    const ResolvedOption& other = values.at(pair.other);
    if (one.source > other.source && (pair.zero_counts || !is_zero(one.value))) {
        values.reset(pair.other);
    } else if (other.source > one.source && !is_zero(other.value)) {
        values.reset(pair.one);
    }
}

/// Does a stronger source than that of `key`, say the command line over a configuration, give `by`?
bool overruled(const OptionValues& values, std::string_view key, std::string_view by) {
    return values.given(key) && values.given(by) && values.at(key).source < values.at(by).source;
}

void leave_out(Resolution& run, std::string_view key, const std::string& because) {
    const ResolvedOption& entry = run.values.at(key);
    run.notices.push_back(std::string(entry.option->flag) + " " + to_string(entry.value) + " is left out because of " +
                          because);
    run.values.reset(key);
}

/// --no-pipeline and --shards take back what a configuration has said about the stages.
void settle_pipeline(Resolution& run) {
    OptionValues& values = run.values;
    if (!values.has("pipeline")) return;
    if (!values.flag("pipeline")) {
        for (const char* key : {"pipeline_splits", "shards"}) {
            if (overruled(values, key, "pipeline")) leave_out(run, key, "--no-pipeline");
        }
    }
    constexpr const char* kProportion = "available_memory_proportion";
    const auto* proportions = std::get_if<std::vector<double>>(&values.at(kProportion).value);
    if (proportions == nullptr || proportions->size() <= 1) return;
    if (!values.flag("pipeline") && overruled(values, kProportion, "pipeline")) {
        leave_out(run, kProportion, "--no-pipeline");
    } else if (overruled(values, kProportion, "shards")) {
        leave_out(run, kProportion, "--shards " + std::to_string(values.integer("shards")));
    }
}

/// --replicas takes back a configuration's --BN-span that does not fit them.
void settle_norm_span(Resolution& run) {
    constexpr const char* kSpan = "BN_span";
    if (!run.values.has(kSpan) || !overruled(run.values, kSpan, "replicas")) return;
    const std::int64_t replicas = run.values.integer("replicas");
    if (!schedule::norm_span_fits(run.values.integer(kSpan), replicas, run.values.launch().processes))
        leave_out(run, kSpan, "--replicas " + std::to_string(replicas));
}

/// Seeds of old releases write b1/2/relu, counting units from 0, for stage1/unit3/relu.
std::string new_split_name(const std::string& name) {
    std::size_t at = 1;
    const auto digits = [&] {
        const std::size_t begin = at;
        while (at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0)
            ++at;
        return name.substr(begin, at - begin);
    };
    if (name.empty() || name[0] != 'b') return name;
    const std::string stage = digits();
    if (stage.empty()) return name;
    if (at == name.size()) return "stage" + stage;
    if (name[at++] != '/') return name;
    const std::string unit = digits();
    const std::string rest = name.substr(at);
    if (unit.empty() || unit.size() > 6 || (!rest.empty() && rest != "/relu")) return name;
    return "stage" + stage + "/unit" + std::to_string(std::stoi(unit) + 1) + rest;
}

/// EfficientNet sizes: "4" and "b4" are B4, "cifar" is CIFAR.
std::string efficientnet_size(std::string size) {
    std::transform(size.begin(), size.end(), size.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const bool bare =
        !size.empty() && std::all_of(size.begin(), size.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    return bare ? "B" + size : size;
}

std::optional<data::DatasetId> dataset_from_name(std::string path) {
    std::transform(path.begin(), path.end(), path.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const data::DatasetInfo& info : data::kDatasets) {
        const auto is_in_path = [&](std::string_view part) {
            return !part.empty() && path.find(part) != std::string::npos;
        };
        if (std::ranges::any_of(info.path_part, is_in_path)) return info.id;
    }
    return std::nullopt;
}

/// Is there such a file or folder in `folder`? Each part of the path may have shell wildcards.
bool holds(const std::string& folder, std::string_view path) {
    const std::size_t slash = path.find('/');
    const std::string part(path.substr(0, slash));
    return std::ranges::any_of(posix_files().list(folder), [&](const std::string& name) {
        if (fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) != 0) return false;
        if (slash == std::string_view::npos) return true;
        const std::string inner = folder + "/" + name;
        return posix_files().is_directory(inner) && holds(inner, path.substr(slash + 1));
    });
}

/// By the files that the folder holds, when its name says nothing. Error(data) when it cannot be read.
std::optional<data::DatasetId> dataset_from_content(const std::string& folder) {
    posix_files().check_reachable(folder);
    if (!posix_files().is_directory(folder)) return std::nullopt;
    std::vector<data::DatasetId> found;
    for (const data::DatasetInfo& info : data::kDatasets) {
        if (holds(folder, info.mark) || holds(folder, info.folder)) found.push_back(info.id);
    }
    return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

void turn_off(Resolution& run, std::string_view key, const std::string& reason) {
    run.values.set(key, false, Source::adjusted);
    run.notices.push_back(documented_flag(*run.values.at(key).option) + " is switched off: " + reason);
}

void adjust_data(Resolution& run) {
    OptionValues& values = run.values;
    const auto dataset = dataset_of(values);
    if (values.flag("fused_preprocessing") && dataset && !data::dataset_info(*dataset).normalised_by_channel) {
        turn_off(run, "fused_preprocessing", "it exists for ImageNet only");
    }
    for (const char* other : {"fused_preprocessing", "eight_bit_io"}) {
        if (values.flag(other) && values.flag("hostside_norm")) {
            turn_off(run, "hostside_norm",
                     "with " + std::string(values.at(other).option->flag) + " the device normalises");
        }
    }
    if (values.flag("generated_data") || values.flag("synthetic_data")) {
        for (const char* mixing : {"mixup_alpha", "cutmix_lambda"}) {
            if (!given_other_than_default(values, mixing)) continue;
            const Option& option = *values.at(mixing).option;
            values.set(mixing, option.fallback, Source::adjusted);
            run.notices.push_back(std::string(option.flag) + " is ignored: the images are not real");
        }
    }
    if (values.is_set("rmsprop_decay") && values.given("rmsprop_base_decay_exp")) {
        run.notices.push_back("--rmsprop-base-decay-exp is ignored: --rmsprop-decay is given");
    }
    if (values.flag("synthetic_data") && values.flag("latency")) {
        turn_off(run, "latency", "synthetic data never passes the host");
    }
}

}  // namespace

bool takes_place_of(std::string_view flag, std::string_view other) {
    const Option* const one = option_of_flag(flag);
    const Option* const two = option_of_flag(other);
    if (one == nullptr || two == nullptr) return false;
    return one == two || std::ranges::any_of(kAlternatives, [&](const Alternatives& pair) {
               return (pair.one == key(*one) && pair.other == key(*two)) ||
                      (pair.one == key(*two) && pair.other == key(*one));
           });
}

void settle_alternatives(Resolution& run) {
    OptionValues& values = run.values;
    for (const Alternatives& pair : kAlternatives)
        settle(values, pair);
    settle_pipeline(run);
    settle_norm_span(run);
    if (values.integer("batch_size") != 0 && values.integer("micro_batch_size") != 0) {
        run.violations.push_back(
            "--batch-size and --micro-batch-size are two names of one value; give --micro-batch-size only");
    } else if (values.integer("batch_size") != 0) {
        const ResolvedOption old = values.at("batch_size");
        values.set("micro_batch_size", old.value, old.source);
        values.reset("batch_size");
    }
    if (values.is_set("pipeline_splits")) {
        std::vector<std::string> splits = values.texts("pipeline_splits");
        for (std::string& split : splits)
            split = new_split_name(split);
        values.set("pipeline_splits", splits, values.at("pipeline_splits").source);
    }
    if (family_of(values) == nn::Family::efficientnet && values.is_set("model_size")) {
        values.set("model_size", efficientnet_size(values.text("model_size")), values.at("model_size").source);
    }
}

namespace {

/// For a sentence; `published`: only those of which the table knows the classes.
std::string dataset_names(bool published = false) {
    std::vector<std::string> names;
    for (const std::string_view name : config::names<data::DatasetId>()) {
        if (!published || data::dataset_info(*named<data::DatasetId>(name)).classes > 0) names.emplace_back(name);
    }
    return listed(names, "or");
}

}  // namespace

void infer_dataset(Resolution& run) {
    OptionValues& values = run.values;
    if (!values.has("dataset") || values.is_set("dataset")) return;
    if (values.flag("generated_data") || values.flag("synthetic_data")) {
        run.violations.push_back("--generated-data and --synthetic-data need --dataset (" +
                                 dataset_names(/*published=*/true) + ")");
        return;
    }
    const std::string folder = values.text("data_dir");
    if (folder.empty()) {
        run.violations.emplace_back(
            "no data: give --data-dir (or set DATA_DIR) and --dataset, or use --generated-data with --dataset");
        return;
    }
    auto dataset = dataset_from_name(folder);
    if (!dataset) dataset = dataset_from_content(folder);
    if (dataset) {
        values.set("dataset", std::string(name(*dataset)), Source::adjusted);
        return;
    }
    if (!posix_files().exists(folder)) {
        run.violations.push_back("the data folder '" + folder +
                                 "' does not exist; give --data-dir a folder with a data set (" + dataset_names() +
                                 ")");
        return;
    }
    run.violations.push_back("--dataset is not given and cannot be told from the data folder '" + folder +
                             "'; give --dataset " + dataset_names());
}

/// poprun has divided the replicas among the processes, whatever the line says.
void adjust_replicas(Resolution& run) {
    const std::optional<std::int64_t> local = run.values.launch().replicas;
    if (run.command != Command::train || !local) return;
    const std::int64_t asked = run.values.integer("replicas");
    if (asked == *local) return;
    if (run.values.given("replicas")) {
        run.notices.push_back("--replicas " + std::to_string(asked) + " is ignored: poprun gives each process " +
                              std::to_string(*local));
    }
    run.values.set("replicas", *local, Source::adjusted);
}

/// Evaluation is one replica on one device, whatever a run's configuration says.
void adjust_devices(Resolution& run) {
    for (const char* key : {"replicas", "shards"}) {
        if (run.command == Command::train || !run.values.has(key) || run.values.integer(key) == 1) continue;
        run.notices.push_back(std::string(run.values.at(key).option->flag) + " " +
                              std::to_string(run.values.integer(key)) + " counts as 1: one device evaluates");
        run.values.set(key, std::int64_t{1}, Source::adjusted);
    }
}

void adjust(Resolution& run) {
    OptionValues& values = run.values;
    adjust_data(run);
    adjust_replicas(run);
    adjust_devices(run);
    const auto dataset = dataset_of(values);
    const bool validates_imagenet = run.command != Command::train && dataset &&
                                    data::dataset_info(*dataset).in_records && !values.flag("generated_data") &&
                                    !values.flag("synthetic_data");
    if (values.has("standard_imagenet") && validates_imagenet && !values.flag("standard_imagenet")) {
        values.set("standard_imagenet", true, Source::adjusted);
    }
    if (values.flag("enable_half_partials") && values.text("precision") == name(nn::Precision::p32_32)) {
        run.notices.emplace_back("--enable-half-partials has no defined use with --precision 32.32");
    }
    // A configuration's whole number of epochs puts the last checkpoint on the last epoch.
    const double epochs = values.number("epochs");
    const std::int64_t period = values.integer("epochs_per_ckpt");
    if (run.command == Command::train && period > 0 && values.integer("ckpt_epochs_offset") == 0 &&
        values.at("epochs").source == Source::config && epochs == std::floor(epochs)) {
        const double offset = std::fmod(epochs, static_cast<double>(period));
        if (offset != 0.0) values.set("ckpt_epochs_offset", static_cast<std::int64_t>(offset), Source::adjusted);
    }
    const bool batch_norm_only = values.flag("batch_norm") && !values.flag("group_norm");
    if (family_of(values) == nn::Family::efficientnet && batch_norm_only) {
        values.set("groups", std::int64_t{1}, Source::adjusted);
    }
}

}  // namespace cnntrain::config
