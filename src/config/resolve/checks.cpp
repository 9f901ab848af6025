// Rules between options: one function and one message each.
// What needs the model's graph or the data's files is checked where those are.
#include <algorithm>
#include <string>

#include "cnntrain/base/cores.h"
#include "config/resolve/resolve.h"

namespace cnntrain::config {

namespace {

using Violation = std::string;  // empty: the rule holds

Violation one_norm(const OptionValues& values) {
    if (!values.flag("batch_norm") || !values.flag("group_norm")) return {};
    return "--batch-norm and --group-norm are both given; choose one";
}

Violation compute_type_of_16(const OptionValues& values) {
    const bool asks = values.has("compute_type") && values.text("compute_type") == name(nn::ComputeType::bf16);
    if (!asks || values.text("precision") != name(nn::Precision::p32_32)) return {};
    return "--precision 32.32 computes in f32: leave out --compute-type bf16 or choose --precision 16.32";
}

Violation one_length(const OptionValues& values) {
    if (values.number("epochs") == 0.0 || values.integer("iterations") == 0) return {};
    return "--epochs and --iterations are both given; choose one";
}

Violation one_data_source(const OptionValues& values) {
    if (!values.flag("generated_data") || !values.flag("synthetic_data")) return {};
    return "--generated-data and --synthetic-data are both given; choose one";
}

Violation cache_or_not(const OptionValues& values) {
    if (!values.flag("no_dataset_cache") || values.number("dataset_cache_gb") == 0.0) return {};
    return "--no-dataset-cache and --dataset-cache-gb are both given; choose one";
}

Violation memory_proportions(const OptionValues& values) {
    if (!values.is_set("available_memory_proportion")) return {};
    const auto& list = std::get<std::vector<double>>(values.at("available_memory_proportion").value);
    const auto count = static_cast<std::int64_t>(list.size());
    if (count <= 1) return {};
    if (!values.flag("pipeline")) return "--available-memory-proportion takes several values only with --pipeline";
    const std::int64_t needed = 2 * values.integer("shards");
    if (count == needed) return {};
    return "--available-memory-proportion takes one value or two per device: " + std::to_string(needed) +
           " for --shards " + std::to_string(values.integer("shards")) + ", got " + std::to_string(count);
}

Violation shards_need_pipeline(const OptionValues& values) {
    if (values.integer("shards") <= 1 || values.flag("pipeline")) return {};
    return "--shards above 1 needs --pipeline";
}

std::string nearest_norm_spans(std::int64_t wanted, std::int64_t replicas, std::int64_t processes) {
    const auto fits = [&](std::int64_t span) { return schedule::norm_span_fits(span, replicas, processes); };
    const std::int64_t most = replicas * processes;
    std::int64_t below = std::min(wanted, most);
    while (!fits(below))
        --below;
    std::int64_t above = wanted;
    while (above <= most && !fits(above))
        ++above;
    return std::to_string(below) + (above <= most ? " or " + std::to_string(above) : "");
}

Violation span_fits_replicas(const OptionValues& values) {
    const std::int64_t replicas = values.integer("replicas");
    const std::int64_t span = values.integer("BN_span");
    const std::int64_t processes = values.launch().processes;
    if (values.flag("group_norm") || schedule::norm_span_fits(span, replicas, processes)) return {};
    const std::string nearest = nearest_norm_spans(span, replicas, processes);
    const std::string what =
        "--BN-span " + std::to_string(span) + " must divide --replicas " + std::to_string(replicas);
    if (processes == 1) return what + "; the nearest that does: " + nearest;
    return what + ", or be that times a divisor of the " + std::to_string(processes) +
           " processes; the nearest that fits: " + nearest;
}

Violation splits_need_pipeline(const OptionValues& values) {
    if (values.flag("pipeline") || values.texts("pipeline_splits").size() <= 1) return {};
    return "several --pipeline-splits need --pipeline";
}

Violation checkpoint_frequency(const OptionValues& values) {
    if (values.integer("epochs_per_ckpt") == 0 || values.integer("ckpts_per_epoch") == 1) return {};
    return "--epochs-per-ckpt and --ckpts-per-epoch are both given; choose one";
}

Violation sync_frequency(const OptionValues& values) {
    if (values.number("epochs_per_sync") == 0.0 || values.integer("syncs_per_epoch") == 0) return {};
    return "--epochs-per-sync and --syncs-per-epoch are both given; choose one";
}

Violation syncs_need_processes(const OptionValues& values) {
    if (values.integer("syncs_per_epoch") == 0 || values.launch().processes > 1) return {};
    return "--syncs-per-epoch needs several processes under poprun";
}

Violation fixed_image_size(const OptionValues& values) {
    const auto dataset = dataset_of(values);
    const std::int64_t size = values.integer("image_size");
    if (!dataset || size == 0) return {};
    const data::DatasetInfo& info = data::dataset_info(*dataset);
    if (info.any_image_size || size == info.image_size) return {};
    std::string text = "image size " + std::to_string(size) + " with " + std::string(name(*dataset)) +
                       ": its images have " + std::to_string(info.image_size) + " x " +
                       std::to_string(info.image_size) + " pixels";
    if (family_of(values) == nn::Family::efficientnet) return text + "; use --model-size cifar";
    return text + "; leave out --image-size";
}

Violation made_images_need_a_published_set(const OptionValues& values) {
    const auto dataset = dataset_of(values);
    const bool made = values.flag("generated_data") || values.flag("synthetic_data");
    if (!made || !dataset || data::dataset_info(*dataset).classes > 0) return {};
    return "--generated-data and --synthetic-data do not work with --dataset " + std::string(name(*dataset)) +
           ", whose classes are counted in its files; choose another --dataset";
}

Violation lars_companions(const OptionValues& values) {
    if (values.text("optimiser") != name(optim::Optimiser::lars)) return {};
    for (const char* other : {"offload_fp32_weight_copy", "proxy_norm"}) {
        if (values.flag(other))
            return "--optimiser LARS does not work with " + std::string(values.at(other).option->flag);
    }
    return {};
}

Violation accumulation_companions(const OptionValues& values) {
    if (values.integer("gradient_accumulation_count") <= 1 || values.flag("pipeline")) return {};
    for (const char* other : {"offload_fp32_weight_copy", "proxy_norm"}) {
        if (!values.flag(other)) continue;
        return std::string(values.at(other).option->flag) +
               " with --gradient-accumulation-count above 1 needs --pipeline";
    }
    return {};
}

Violation data_folder(const OptionValues& values) {
    const bool real = !values.flag("generated_data") && !values.flag("synthetic_data");
    const bool known = dataset_of(values).has_value();  // else infer_dataset has complained
    if (!real || !known || !values.text("data_dir").empty()) return {};
    return "no data folder: give --data-dir, set DATA_DIR, or use --generated-data";
}

Violation mixing_needs_pairs(const OptionValues& values) {
    const bool mixes = values.number("mixup_alpha") > 0.0 || values.number("cutmix_lambda") != 1.0;
    if (!values.has("cutmix_lambda") || !mixes || values.integer("micro_batch_size") != 1) return {};
    return "mixup and cutmix need --micro-batch-size above 1";
}

Violation cutmix_share(const OptionValues& values) {
    const double share = values.number("cutmix_lambda");
    if (share >= 0.0 && share <= 1.0) return {};
    return "--cutmix-lambda must lie between 0 and 1, got " + to_string(Value(share));
}

Violation lars_signs(const OptionValues& values) {
    if (values.text("optimiser") != name(optim::Optimiser::lars)) return {};
    if (values.number("momentum") >= 0.0 && values.number("lars_weight_decay") >= 0.0) return {};
    return "--momentum and --lars-weight-decay must not be negative with --optimiser LARS";
}

Violation one_profile(const OptionValues& values) {
    if (!values.flag("profile") || !values.flag("profile_compilation")) return {};
    return "--profile and --profile-compilation are both given; choose one";
}

Violation selected_ipus(const OptionValues& values) {
    if (values.texts("select_ipu").size() <= 2) return {};
    return "--select-ipu takes one or two numbers, got " + std::to_string(values.texts("select_ipu").size());
}

Violation learning_rate(const OptionValues& values) {
    if (values.is_set("abs_learning_rate") || values.is_set("base_learning_rate_exponent")) return {};
    if (!family_of(values) || !dataset_of(values)) return {};
    return values.text("model") + " with " + values.text("dataset") + " has no default learning rate for " +
           values.text("optimiser") + "; give --base-learning-rate-exponent or --abs-learning-rate";
}

Violation rmsprop_decay(const OptionValues& values) {
    if (values.text("optimiser") != name(optim::Optimiser::rmsprop)) return {};
    if (values.is_set("rmsprop_decay") || values.is_set("rmsprop_base_decay_exp")) return {};
    return "--optimiser RMSprop needs --rmsprop-decay or --rmsprop-base-decay-exp";
}

Violation exponential_decay(const OptionValues& values) {
    if (!values.has("lr_drops") || !dataset_of(values)) return {};
    if (values.is_set("lr_decay_rate") && values.integer("lr_drops") != 0) return {};
    return values.text("model") + " has no default for the exponential schedule; give --lr-decay-rate and --lr-drops";
}

Violation restore_folder(const OptionValues& values) {
    if (!values.text("restore_path").empty()) return {};
    return "restore needs --restore-path, the folder of the run to resume";
}

Violation rmsprop_decay_range(const OptionValues& values) {
    if (values.text("optimiser") != name(optim::Optimiser::rmsprop) || values.is_set("rmsprop_decay")) return {};
    if (!values.is_set("rmsprop_base_decay_exp")) return {};
    const schedule::BatchPlan plan{.micro_batch = values.integer("micro_batch_size"),
                                   .accumulation = values.integer("gradient_accumulation_count"),
                                   .replicas = values.integer("replicas"),
                                   .processes = values.launch().processes};
    optim::OptimiserSettings settings;
    settings.rmsprop_base_decay_exp = values.number("rmsprop_base_decay_exp");
    const double decay = optim::rmsprop_decay(settings, plan.global_batch());
    if (decay >= 0) return {};
    return "--rmsprop-base-decay-exp " + to_string(values.at("rmsprop_base_decay_exp").value) +
           " and a global batch of " + std::to_string(plan.global_batch()) + " give RMSprop the decay " +
           to_string(Value(decay)) + ", which must lie between 0 and 1; lower the exponent or give --rmsprop-decay";
}

Violation adam_betas(const OptionValues& values) {
    if (values.number("beta1") < 1 && values.number("beta2") < 1) return {};
    return "--beta1 and --beta2 must be below 1: a mean of gradients that never decays would stay 0";
}

bool averages_weights(const OptionValues& values) {
    return values.is_set("weight_avg_N") || values.is_set("weight_avg_exp");
}

Violation averaging_needs_checkpoints(const OptionValues& values) {
    if (!averages_weights(values) || values.integer("ckpts_per_epoch") > 0) return {};
    if (values.integer("epochs_per_ckpt") > 0) return {};
    return "--weight-avg-N and --weight-avg-exp average checkpoints, and --ckpts-per-epoch 0 writes none";
}

Violation averaging_keeps_checkpoints(const OptionValues& values) {
    if (!averages_weights(values) || values.integer("keep_ckpts") == 0) return {};
    return "--weight-avg-N and --weight-avg-exp need the checkpoints that --keep-ckpts removes; leave --keep-ckpts out";
}

Violation thread_counts(const OptionValues& values) {
    const int cores = available_cores();
    const int most = most_threads();
    for (const char* key : {"threads", "input_threads", "num_inference_thread"}) {
        if (values.integer(key) <= most) continue;
        return std::string(values.at(key).option->flag) + " " + std::to_string(values.integer(key)) + ": at most " +
               std::to_string(most) + " on this machine, of which the process may use " + std::to_string(cores) +
               (cores == 1 ? " core" : " cores");
    }
    return {};
}

Violation overwritten_folder(const OptionValues& values) {
    if (!values.flag("overwrite")) return {};
    if (!values.text("restore_path").empty()) return "--overwrite and --restore-path are both given; choose one";
    if (!values.text("logs_path").empty() && !values.flag("no_logs")) return {};
    return "--overwrite needs --logs-path, the folder whose run is removed; without it a run gets a new folder";
}

Violation name_suffix(const OptionValues& values) {
    const std::string suffix = values.text("name_suffix");
    if (suffix.find('/') == std::string::npos) return {};
    return "--name-suffix '" + suffix +
           "' has a slash, and it is part of a folder's name; --log-dir and --logs-path say where the folder is";
}

struct Rule {
    std::uint32_t commands;
    Violation (*check)(const OptionValues& values);
};

constexpr Rule kRules[] = {
    {kTVE, one_norm},
    {kTVE, compute_type_of_16},
    {kTVE, one_length},
    {kTVE, one_data_source},
    {kTVE, cache_or_not},
    {kT, memory_proportions},
    {kT, shards_need_pipeline},
    {kT, splits_need_pipeline},
    {kT, span_fits_replicas},
    {kT, checkpoint_frequency},
    {kT, sync_frequency},
    {kT, syncs_need_processes},
    {kTVE, fixed_image_size},
    {kTVE, made_images_need_a_published_set},
    {kT, lars_companions},
    {kT, accumulation_companions},
    {kTVE, data_folder},
    {kT, mixing_needs_pairs},
    {kT, cutmix_share},
    {kT, lars_signs},
    {kT | kV, one_profile},
    {kTVE, selected_ipus},
    {kT, learning_rate},
    {kT, rmsprop_decay},
    {kT, rmsprop_decay_range},
    {kT, adam_betas},
    {kT, averaging_needs_checkpoints},
    {kT, averaging_keeps_checkpoints},
    {kT, exponential_decay},
    {kT, overwritten_folder},
    {kTVE, name_suffix},
    {kR, restore_folder},
    {kTVE | kR, thread_counts},
};

}  // namespace

void check(Resolution& run) {
    for (const Rule& rule : kRules) {
        if ((rule.commands & bit(run.command)) == 0) continue;
        Violation violation = rule.check(run.values);
        if (!violation.empty()) run.violations.push_back(std::move(violation));
    }
}

}  // namespace cnntrain::config
