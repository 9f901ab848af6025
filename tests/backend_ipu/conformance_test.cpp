// The IPU backend against ref, case by case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/text.h"
#include "support/errors.h"
#include "support/op_cases.h"

namespace cnntrain::test {
namespace {

constexpr unsigned kTiles = 8;  // fewer than an IPU has: programs are made faster, and their numbers are the same

/// The cases of one kind of operation, in float or in half.
struct Group {
    OpKind kind = OpKind::count_;
    bool half = false;

    bool has(const OpCase& op_case) const { return op_case.kind == kind && op_case.name.ends_with("/bf16") == half; }
    std::string name() const {
        return std::string(enumerator_names<OpKind>().at(static_cast<std::size_t>(kind))) + (half ? "_half" : "_float");
    }
};

void PrintTo(const Group& group, std::ostream* out) {  // NOLINT(readability-identifier-naming)
    *out << group.name();
}

/// Layers in 8 bits and what belongs to them are refused.
bool is_in_eight_bits(const OpCase& op_case) {
    const bool pools_bytes = op_case.kind == OpKind::max_pool && op_case.inputs[0].desc.dtype == DType::u8;
    return pools_bytes || (op_case.kind >= OpKind::quantise && op_case.kind <= OpKind::quantised_dense);
}

std::vector<Group> groups() {
    std::vector<Group> result;
    for (const OpCase& op_case : op_cases()) {
        if (is_in_eight_bits(op_case)) continue;
        if (std::ranges::none_of(result, [&](const Group& group) { return group.has(op_case); }))
            result.push_back({op_case.kind, op_case.name.ends_with("/bf16")});
    }
    return result;
}

/// Cases of which PopLibs defines a gradient otherwise.
struct Otherwise {
    std::string_view name;
    std::string_view output;
    std::string_view reason;
};
constexpr Otherwise kOtherwise[] = {
    {"max_pool/ties", "grad/x", "every element that equals the maximum gets the gradient, not the first one only"},
};

/// compare_with_ref(), without the outputs of kOtherwise, which must differ.
std::string differences(const backend::Backend& ipu, const OpCase& op_case) {
    std::string text = compare_with_ref(ipu, op_case);
    for (const Otherwise& other : kOtherwise) {
        if (!op_case.name.starts_with(other.name)) continue;
        if (text.empty()) return op_case.name + " agrees, although " + std::string(other.reason);
        std::istringstream lines(text);
        text.clear();
        for (std::string line; std::getline(lines, line);) {
            if (!line.starts_with(other.output) && !line.ends_with("on ipu:")) text += line + "\n";
        }
    }
    return text;
}

class IpuConformance : public testing::TestWithParam<Group> {};

/// The tolerance of cases in half is that of bfloat16, whose numbers have three bits less.
TEST_P(IpuConformance, AgreesWithRef) {
    const auto ipu = backend::make_ipu_backend({.tiles_per_ipu = kTiles});
    for (const OpCase& op_case : op_cases()) {
        if (!GetParam().has(op_case) || is_in_eight_bits(op_case)) continue;
        EXPECT_EQ(differences(*ipu, in_half(op_case)), "");
    }
}

TEST(Ipu, RefusesLayersInEightBits) {
    const auto ipu = backend::make_ipu_backend({.tiles_per_ipu = kTiles});
    for (const OpCase& op_case : op_cases()) {
        const bool is_layer = op_case.kind == OpKind::quantised_conv2d || op_case.kind == OpKind::quantised_dense;
        if (!is_layer || op_case.name.ends_with("/bf16")) continue;
        EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { evaluate_on(*ipu, op_case, false); }),
                    testing::HasSubstr("quantised_"));
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, IpuConformance, testing::ValuesIn(groups()),
                         [](const auto& group) { return group.param.name(); });

}  // namespace
}  // namespace cnntrain::test
