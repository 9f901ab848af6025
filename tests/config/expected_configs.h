// The original programs' configurations, copied entry by entry: `entries` laid over those of `base`.
#pragma once

#include <string_view>
#include <vector>

namespace cnntrain::options::testing {

struct ExpectedConfig {
    std::string_view name;
    std::string_view base;
    std::vector<std::string_view> entries;
};

inline const std::vector<ExpectedConfig>& expected_configs() {
    // clang-format off
    static const std::vector<ExpectedConfig> all = {
        {"resnet8_test", "", {"model: resnet", "model_size: 8", "dataset: cifar-10", "ckpts_per_epoch: 1",
         "logs_per_epoch: 1", "enable_half_partials: true", "gradient_accumulation_count: 1", "replicas: 1",
         "epochs: 10", "validation: false"}},
        {"resnet50_mlperf_pod16", "", {"model: resnet", "model_size: 50", "replicas: 16", "micro_batch_size: 16",
         "pipeline: true", "shards: 1", "pipeline_splits: [stage1/unit1/relu, stage1/unit3/relu, stage2/unit4/relu]",
         "gradient_accumulation_count: 9", "enable_recomputation: true", "optimiser: momentum", "momentum: 0.9",
         "normalise_input: true", "pipeline_schedule: Sequential", "available_memory_proportion: [0.2]",
         "epochs_per_ckpt: 4", "batch_norm: true", "dataset: imagenet", "data_dir: /localdata/datasets/",
         "internal_exchange_optimisation_target: memory", "enable_half_partials: true", "eight_bit_io: true",
         "lr_schedule: polynomial_decay_lr", "warmup_epochs: 5", "abs_learning_rate: 4.588",
         "abs_end_learning_rate: 0.0001", "epochs: 44", "label_smoothing: 0.1", "weight_decay: 2.5e-05",
         "BN_decay: 0.9", "BN_span: 2", "disable_variable_offloading: true", "mlperf_logging: true",
         "standard_imagenet: true", "max_cross_replica_buffer_size: 52428800", "gather_conv_output: false",
         "logs_per_epoch: 5", "fused_preprocessing: true"}},
        {"resnet50_mlperf_pod16_bs20", "resnet50_mlperf_pod16", {"micro_batch_size: 20",
         ("pipeline_splits: [stage1/unit1/relu, stage1/unit3/relu, stage2/unit1/relu, stage2/unit3/relu, "
         "stage3/unit1/relu, stage3/unit4/relu]"), "gradient_accumulation_count: 6",
         "available_memory_proportion: [0.15]", "abs_learning_rate: 3.824", "epochs: 40",
         "gather_conv_output: true"}},
        {"resnet50_mlperf_pod64_bs20", "resnet50_mlperf_pod16_bs20", {"replicas: 64",
         "gradient_accumulation_count: 2", "available_memory_proportion: [0.145]", "abs_learning_rate: 5.098",
         "epochs: 41", "ckpt_epochs_offset: 1", "device_iterations: 100000"}},
        {"resnet50_mlperf_pod16_lars", "resnet50_mlperf_pod16_bs20", {"micro_batch_size: 22",
         "gradient_accumulation_count: 10", "optimiser: LARS", "warmup_epochs: 2", "abs_learning_rate: 10.72",
         "epochs: 38", "weight_decay: 5e-05", "loss_scaling: 128", "lars_weight_decay: 5e-05",
         "max_reduce_many_buffer_size: 216"}},
        {"resnet50_mlperf_pod32_lars", "resnet50_mlperf_pod16_lars", {"replicas: 32",
         "gradient_accumulation_count: 6", "abs_learning_rate: 11.42"}},
        {"resnet50_mlperf_pod64_lars", "resnet50_mlperf_pod16_lars", {"replicas: 64", "micro_batch_size: 20",
         "gradient_accumulation_count: 4", "abs_learning_rate: 14.225", "epochs: 40"}},
        {"resnet50_base", "", {"model: resnet", "model_size: 50", "dataset: imagenet",
         "data_dir: /localdata/datasets/", "stable_norm: true", "internal_exchange_optimisation_target: balanced",
         "enable_half_partials: true", "normalise_input: true", "enable_recomputation: true", "ckpts_per_epoch: 1",
         "logs_per_epoch: 1", "eight_bit_io: true", "weight_decay: 0.0001", "loss_scaling: 128", "epochs: 100"}},
        {"resnet50_gn_16ipus", "resnet50_base", {"epochs: 65", "micro_batch_size: 8",
         "gradient_accumulation_count: 8", "replicas: 16", "optimiser: momentum", "momentum: 0.9",
         "lr_schedule: cosine", "label_smoothing: 0.1"}},
        {"resnet50_bn_16ipus", "resnet50_base", {"micro_batch_size: 16", "gradient_accumulation_count: 256",
         "replicas: 4", "optimiser: momentum", "momentum: 0.9", "pipeline_num_parallel: 32",
         "pipeline_schedule: Grouped", "shards: 4",
         "pipeline_splits: [stage1/unit3/relu, stage2/unit4/relu, stage3/unit4/relu]", "pipeline: true",
         "batch_norm: true", "available_memory_proportion: [0.15]", "disable_variable_offloading: true",
         "precision: 16.32", "lr_schedule: cosine", "base_learning_rate_exponent: -13", "label_smoothing: 0.1"}},
        {"resnet50_bn_32ipus", "resnet50_bn_16ipus", {"gradient_accumulation_count: 128", "replicas: 8"}},
        {"resnet50_bn_64ipus", "resnet50_bn_16ipus", {"gradient_accumulation_count: 64", "replicas: 16"}},
        {"resnext101_16ipus", "", {"model: resnext", "model_size: 101", "dataset: imagenet",
         "data_dir: /localdata/datasets", "shards: 2", "replicas: 8", "micro_batch_size: 6",
         "gradient_accumulation_count: 16", "epochs: 120", "enable_recomputation: true",
         "pipeline_splits: [stage3/unit4/relu]", "pipeline_schedule: Grouped", "pipeline: true",
         "optimiser: momentum", "momentum: 0.9", "ckpts_per_epoch: 1",
         "internal_exchange_optimisation_target: balanced", "disable_variable_offloading: true",
         "normalise_input: true", "stable_norm: true", "base_learning_rate_exponent: -11",
         "enable_half_partials: true", "lr_schedule: cosine", "label_smoothing: 0.1", "eight_bit_io: true"}},
        {"efficientnet_b4_16ipus_base", "", {"model: efficientnet", "model_size: 4", "dataset: imagenet",
         "data_dir: /localdata/datasets", "precision: 16.32", "groups: 4", "optimiser: RMSprop",
         "lr_schedule: exponential", "enable_recomputation: true", "enable_conv_dithering: true",
         "available_memory_proportion: [0.15]", "internal_exchange_optimisation_target: balanced",
         "pipeline_schedule: Grouped", "weight_avg_exp: [0.97]", "enable_half_partials: true", "cutmix_lambda: 0.85",
         "cutmix_version: 1", "mixup_alpha: 0.2", "disable_variable_offloading: true", "shards: 4", "pipeline: true",
         "replicas: 4", "eight_bit_io: true"}},
        {"efficientnet_b4_g1_16ipus", "efficientnet_b4_16ipus_base", {"group_dim: 1", "expand_ratio: 6",
         "micro_batch_size: 3", "gradient_accumulation_count: 64", "pipeline_splits: [block2b, block4b, block6c]"}},
        {"efficientnet_b4_g1_32ipus", "efficientnet_b4_g1_16ipus", {"replicas: 8",
         "gradient_accumulation_count: 32"}},
        {"efficientnet_b4_g1_64ipus", "efficientnet_b4_g1_16ipus", {"replicas: 16",
         "gradient_accumulation_count: 16"}},
        {"efficientnet_b4_g16_large_batch_size_high_throughput", "efficientnet_b4_16ipus_base", {"precision: 16.16",
         "optimiser: LARS", "lr_schedule: polynomial_decay_lr", "available_memory_proportion: [0.4]",
         "internal_exchange_optimisation_target: memory", "shards: 2", "standard_imagenet: true",
         "pipeline_splits: [block4a]", "group_dim: 16", "expand_ratio: 4", "label_smoothing: 0.1",
         "warmup_epochs: 70", "micro_batch_size: 3", "base_learning_rate_exponent: -9.5", "momentum: 0.885",
         "lars_weight_decay: 2.5e-06"}},
        {"efficientnet_b4_g16_16ipus", "efficientnet_b4_g16_large_batch_size_high_throughput", {"replicas: 8",
         "gradient_accumulation_count: 256"}},
        {"efficientnet_b4_g16_32ipus", "efficientnet_b4_g16_large_batch_size_high_throughput", {"replicas: 16",
         "gradient_accumulation_count: 128"}},
        {"efficientnet_b4_g16_64ipus", "efficientnet_b4_g16_large_batch_size_high_throughput", {"replicas: 32",
         "gradient_accumulation_count: 64"}},
        {"efficientnet_b4_g1_with_batch_norm_base", "", {"data_dir: ./datasets",
         "executable_cache_path: ./poplar_executable_cache", "gather_conv_output: true", "fused_preprocessing: true",
         "normalise_input: true", "eight_bit_io: true", "group_dim: 1", "shards: 1", "expand_ratio: 6",
         "batch_norm: true", "force_weight_to_fp32: [batch_norm/moving_variance]", "only_use_slic_vmac_16: true",
         "max_cross_replica_buffer_size: 38934496", "stable_norm: false", "force_unstable_norm: true",
         "gcl_max_broadcast_size: 100000", "min_remote_tensor_size: 65536", "max_reduce_many_buffer_size: 1000000000",
         "pipeline_schedule: Sequential",
         ("pipeline_splits: [block0, block2a, block2a/b, block2b, block2c, block2d, block3a, block3c, block4a, "
         "block4c, block5a, block5d, block6a, block6e]")}},
        {"efficientnet_b4_g1_with_batch_norm_16ipus", "efficientnet_b4_g16_large_batch_size_high_throughput",
         {"data_dir: ./datasets", "available_memory_proportion: [0.15]", "pipeline_schedule: Sequential",
         "disable_variable_offloading: false", "shards: 1", "replicas: 16",
         ("pipeline_splits: [block0, block2a, block2a/b, block2b, block2c, block2d, block3a, block3c, block4a, "
         "block4c, block5a, block5d, block6a, block6e]"), "group_dim: 1", "expand_ratio: 6", "micro_batch_size: 6",
         "base_learning_rate_exponent: -10", "executable_cache_path: ./poplar_executable_cache",
         "gather_conv_output: true", "fused_preprocessing: true", "normalise_input: true", "batch_norm: true",
         "force_weight_to_fp32: [batch_norm/moving_variance]", "only_use_slic_vmac_16: true",
         "max_cross_replica_buffer_size: 38934496", "stable_norm: false", "force_unstable_norm: true",
         "gcl_max_broadcast_size: 100000", "min_remote_tensor_size: 65536", "max_reduce_many_buffer_size: 1000000000",
         "BN_span: 8", "gradient_accumulation_count: 64", "weight_decay: 0", "name_suffix: _LARS"}},
        {"efficientnet_b4_g1_with_batch_norm_pod64_modification", "", {"replicas: 64",
         "identical_replica_seeding: true", "seed: 1", "gradient_mean_reduce_re: [.*]"}},
        {"efficientnet_b4_g1_with_batch_norm_64ipus", "efficientnet_b4_g1_with_batch_norm_16ipus", {"replicas: 64",
         "gradient_accumulation_count: 16", "identical_replica_seeding: true", "seed: 1",
         "gradient_mean_reduce_re: [.*]"}},
    };
    // clang-format on
    return all;
}

}  // namespace cnntrain::options::testing
