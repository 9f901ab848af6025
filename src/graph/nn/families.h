// The table of model families: each is a file like resnet.cpp that exports its row.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/model.h"
#include "graph/nn/layers.h"
#include "graph/nn/source_format.h"

namespace cnntrain::nn {

struct FamilyRow {
    /// The sizes, smallest first.
    std::vector<std::string> (*sizes)(NetworkForm form);
    /// `settings.size` is one of sizes(). Error(usage) for impossible values, such as groups that do not divide
    /// channels.
    Network (*network)(const NetworkSettings& settings);
    /// True if shortcuts that change shape are padded (type A) instead of projected (B). Null: projected.
    bool (*pads_shortcuts)(const NetworkSettings& settings) = nullptr;
    /// The network of which these are the tensors; empty for one of another family. Error(unsupported) for one that
    /// the family does not have.
    std::optional<NetworkSettings> (*network_of)(const SourceShapes& shapes);
    /// Formats of other programs' weights; null: another family has them.
    const std::vector<SourceFormat>& (*formats)() = nullptr;
    std::string_view head_scope;  // of the variables of the last layer
    FamilyInfo info;
};

FamilyRow resnet_family();        // He et al. 2015, bottlenecks with the stride on the 3x3 convolution (v1.5)
FamilyRow resnext_family();       // Xie et al. 2016
FamilyRow efficientnet_family();  // Tan and Le 2019

/// A family without a row does not compile.
FamilyRow row_of(Family family);

}  // namespace cnntrain::nn
