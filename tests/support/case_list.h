// Parts of the case list; only for the files of this folder.
#pragma once

#include "support/op_cases.h"

namespace cnntrain::test {

/// Relative to f32: bf16 keeps 8 bits, so a result that is rounded once or twice is within this.
inline constexpr double kTolerance = 2e-5;
inline constexpr double kHalfTolerance = 1.2e-2;

inline double tolerance_of(DType type) {
    return type == DType::f32 ? kTolerance : kHalfTolerance;
}

/// Class numbers from `low` to `high`; those outside the classes mark samples that do not count.
inline CaseInput labels(std::int64_t samples, double low, double high) {
    return {.name = "labels",
            .desc = {DType::i32, {samples}},
            .low = low,
            .high = high,
            .fill = Fill::integers,
            .fed = true};
}

void add_pointwise_cases(std::vector<OpCase>& cases, DType type);
void add_conv_cases(std::vector<OpCase>& cases, DType type);
void add_pool_cases(std::vector<OpCase>& cases, DType type);
void add_dense_cases(std::vector<OpCase>& cases, DType type);
void add_view_cases(std::vector<OpCase>& cases, DType type);
void add_matmul_cases(std::vector<OpCase>& cases, DType type);
void add_plain_cases(std::vector<OpCase>& cases, DType type);
void add_norm_cases(std::vector<OpCase>& cases, DType type);
void add_proxy_norm_cases(std::vector<OpCase>& cases, DType type);
void add_inference_cases(std::vector<OpCase>& cases, DType type);
void add_group_inference_cases(std::vector<OpCase>& cases, DType type);
void add_loss_cases(std::vector<OpCase>& cases, DType type);
void add_weighted_loss_cases(std::vector<OpCase>& cases, DType type);
void add_weighted_mixing_cases(std::vector<OpCase>& cases, DType type);
void add_tile_cases(std::vector<OpCase>& cases, DType type);
void add_text_cases(std::vector<OpCase>& cases, DType type);
void add_bert_update_cases(std::vector<OpCase>& cases, DType type);
void add_top_k_cases(std::vector<OpCase>& cases, DType type);
void add_mixing_cases(std::vector<OpCase>& cases, DType type);
void add_distillation_cases(std::vector<OpCase>& cases, DType type);
void add_several_label_cases(std::vector<OpCase>& cases, DType type);
void add_quantised_cases(std::vector<OpCase>& cases, DType type);
void add_update_cases(std::vector<OpCase>& cases, DType type);
void add_symmetric_cases(std::vector<OpCase>& cases, DType type);

}  // namespace cnntrain::test
