#include <gtest/gtest.h>

#include "golden/hugging_face.h"

namespace cnntrain::golden {
namespace {

TEST(GoldenHuggingFace, ATinyModelWithItsUsualEpsilonAndActivation) {
    nn::BertSettings model;
    model.hidden = 128;
    model.layers = model.heads = 2;
    model.intermediate = 256;
    model.positions = 64;
    model.head_activation = graph::Activation::gelu;
    model.norm_epsilon = 1e-12;
    compare_with_transformers("tiny", model);
}

TEST(GoldenHuggingFace, ANetworkThatTellsClasses) {
    nn::BertSettings model;
    model.vocabulary = 97;
    model.hidden = 128;
    model.layers = model.heads = 2;
    model.intermediate = 192;
    model.positions = 40;
    model.head_activation = graph::Activation::gelu;
    model.norm_epsilon = 1e-12;
    compare_classes_with_transformers(model);
}

}  // namespace
}  // namespace cnntrain::golden
