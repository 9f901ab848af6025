// Models with weights that Hugging Face's transformers had, too: do they answer the same?
#pragma once

#include <string>

#include "cnntrain/graph/bert.h"

namespace cnntrain::golden {

/// Makes a checkpoint in Hugging Face's layout by the formula of tools/golden/make_hugging_face_golden.py, imports it,
/// and compares all logits that tests/golden/hugging_face_<name>.json has of its sentences, in f32 on the CPU backend,
/// within 1e-4.
void compare_with_transformers(const std::string& name, nn::BertSettings model);

/// The same for a network that classifies texts, with hugging_face_classes.json.
void compare_classes_with_transformers(nn::BertSettings model);

}  // namespace cnntrain::golden
