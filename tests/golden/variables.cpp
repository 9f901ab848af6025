#include "golden/variables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "golden/formula.h"

namespace cnntrain::golden {

using nlohmann::json;

namespace {

constexpr std::size_t kSigns = 3;

}  // namespace

HostTensor start_of(const graph::Value& variable) {
    HostTensor tensor(variable.desc);
    const std::string& name = variable.name;
    const Stream stream(name);
    double scale = std::sqrt(3.0 / static_cast<double>(variable.desc.shape.at(0)));
    double shift = 0;
    if (name.ends_with("gamma") || name.ends_with("beta") || name.ends_with("bias")) scale = 0.25;
    if (name.ends_with("gamma")) shift = 1;
    if (name.ends_with("embeddings") || name.ends_with("weights")) scale = 0.5;
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set(i, shift + scale * stream.noise(i));
    return tensor;
}

void expect_facts(const HostTensor& tensor, const json& facts, double scale, double tolerance,
                  const std::string& name) {
    double squares = 0;
    std::vector<double> products(kSigns);
    std::vector<Stream> signs;
    for (std::size_t k = 0; k < kSigns; ++k)
        signs.emplace_back(name + "/sign" + std::to_string(k));
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        const double value = tensor.at(i) * scale;
        squares += value * value;
        for (std::size_t k = 0; k < kSigns; ++k)
            products[k] += value * signs[k].sign(i);
    }
    const double norm = facts.at(0);
    EXPECT_NEAR(std::sqrt(squares), norm, tolerance * norm) << name;
    for (std::size_t k = 0; k < kSigns; ++k)
        EXPECT_NEAR(products[k], facts.at(k + 1).get<double>(), tolerance * norm) << name << ", pattern " << k;
}

}  // namespace cnntrain::golden
