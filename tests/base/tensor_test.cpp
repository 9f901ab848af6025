#include "cnntrain/base/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cnntrain/base/error.h"

namespace cnntrain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// `value` as stored in one element of `type`.
double stored(DType type, double value) {
    HostTensor tensor({type, {1}});
    tensor.set(0, value);
    return tensor.at(0);
}

TEST(Tensor, DescriptionsArePrinted) {
    EXPECT_EQ(to_string(Shape{32, 224, 3}), "[32, 224, 3]");
    EXPECT_EQ(to_string(TensorDesc{DType::bf16, {}}), "bf16[]");
    EXPECT_EQ((TensorDesc{DType::f16, {2, 3}}).bytes(), 12u);
    EXPECT_EQ(element_count({}), 1);
    EXPECT_EQ(element_count({4, 0}), 0);
}

TEST(Tensor, SizesThatDoNotFitAreErrors) {
    constexpr std::int64_t kHuge = std::int64_t{1} << 32;
    const TensorDesc fits{DType::u8, {kHuge, kHuge / 4}};
    EXPECT_EQ(fits.bytes(), std::size_t{1} << 62);
    EXPECT_THROW(element_count({kHuge, kHuge}), Error);
    EXPECT_THROW((TensorDesc{DType::f64, fits.shape}).bytes(), Error);
    EXPECT_EQ(element_count({0, kHuge, kHuge}), 0);
}

TEST(Tensor, StartsAlignedAndZero) {
    HostTensor tensor({DType::f32, {3, 5}});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % 64, 0u);
    for (const float value : tensor.as<float>())
        EXPECT_EQ(value, 0.0f);
}

TEST(Tensor, CopiesAreDeep) {
    HostTensor first = HostTensor::of<float>({2}, {1.0f, 2.0f});
    HostTensor second = first;
    second.set(0, 7);
    EXPECT_EQ(first.at(0), 1);
    first = second;
    second.set(1, 9);
    EXPECT_EQ(first.at(0), 7);
    EXPECT_EQ(first.at(1), 2);
    second = HostTensor();
    EXPECT_EQ(second.bytes().data(), nullptr);
    const HostTensor copy_of_nothing = second;
    EXPECT_EQ(copy_of_nothing.bytes().data(), nullptr);
}

TEST(Tensor, WrongTypeIndexAndExtentAreDefects) {
    HostTensor tensor({DType::f32, {2}});
    EXPECT_THROW(tensor.as<double>(), Error);
    EXPECT_THROW(tensor.at(2), Error);
    EXPECT_THROW(tensor.set(-1, 0), Error);
    EXPECT_THROW(HostTensor({DType::f32, {-1}}), Error);
}

TEST(Tensor, BFloat16RoundsToNearestEven) {
    EXPECT_EQ(to_bfloat16(1.0f).bits, 0x3f80);
    EXPECT_EQ(to_bfloat16(1.00390625f).bits, 0x3f80);  // halfway, even below
    EXPECT_EQ(to_bfloat16(1.01171875f).bits, 0x3f82);  // halfway, even above
    EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
    EXPECT_TRUE(std::isnan(to_float(to_bfloat16(std::numeric_limits<float>::quiet_NaN()))));
    EXPECT_TRUE(std::isnan(to_float(to_bfloat16(-std::numeric_limits<float>::signaling_NaN()))));
    EXPECT_EQ(to_float(BFloat16{0xc000}), -2.0f);
}

TEST(Tensor, EveryBFloat16SurvivesItsElementConversion) {
    HostTensor tensor({DType::bf16, {1}});
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const BFloat16 value{static_cast<std::uint16_t>(bits)};
        tensor.as<BFloat16>()[0] = value;
        const double seen = tensor.at(0);
        if (std::isnan(seen)) continue;
        ASSERT_EQ(seen, static_cast<double>(to_float(value)));
        tensor.set(0, seen);
        ASSERT_EQ(tensor.as<BFloat16>()[0].bits, value.bits);
    }
}

TEST(Tensor, ElementAndBulkConversionAgree) {
    HostTensor single({DType::f32, {1000}});
    for (int i = 0; i < 1000; ++i)
        single.set(i, std::exp(0.17 * (i - 500)) * (i % 2 == 0 ? 1 : -1));
    const HostTensor bulk = single.cast(DType::bf16);
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(bulk.at(i), stored(DType::bf16, single.at(i))) << i;
    const HostTensor back = bulk.cast(DType::f32);
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(back.at(i), bulk.at(i));
}

TEST(Tensor, DoublesAreRoundedOnce) {
    // Just above the middle of two bfloat16 values: rounding to float first would land on the middle and go down.
    EXPECT_EQ(stored(DType::bf16, 1.00390625 + 1e-12), 1.0078125);
    EXPECT_EQ(stored(DType::bf16, kInfinity), kInfinity);
    EXPECT_EQ(stored(DType::bf16, -1e300), -kInfinity);
}

TEST(Half, EveryValueComesBack) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const Half value{static_cast<std::uint16_t>(bits)};
        const float wide = to_float(value);
        HostTensor tensor({DType::f16, {1}});
        tensor.as<Half>()[0] = value;
        if (std::isnan(wide)) {
            EXPECT_TRUE((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0) << bits;
            EXPECT_TRUE(std::isnan(tensor.at(0))) << bits;
            EXPECT_TRUE(std::isnan(to_float(to_half(wide)))) << bits;
            continue;
        }
        ASSERT_EQ(to_half(wide).bits, bits);
        ASSERT_EQ(tensor.at(0), static_cast<double>(wide)) << bits;
        ASSERT_EQ(rounded_to(DType::f16, wide), static_cast<double>(wide)) << bits;
    }
}

/// A float halfway between neighbours goes to the even one; the floats next to it go to the nearer one.
TEST(Half, RoundsToNearestEven) {
    for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
        const float low = to_float(Half{static_cast<std::uint16_t>(bits)});
        const float high = bits == 0x7bff ? 65536.0F : to_float(Half{static_cast<std::uint16_t>(bits + 1)});
        const float middle = low + (high - low) / 2;
        const std::uint32_t even = (bits & 1) == 0 ? bits : bits + 1;
        ASSERT_EQ(to_half(middle).bits, even) << bits;
        ASSERT_EQ(to_half(std::nextafter(middle, 0.0F)).bits, bits) << bits;
        ASSERT_EQ(to_half(std::nextafter(middle, 1e6F)).bits, bits + 1) << bits;
        ASSERT_EQ(to_half(-middle).bits, even | 0x8000) << bits;
        ASSERT_EQ(rounded_to(DType::f16, middle), static_cast<double>(to_float(to_half(middle)))) << bits;
    }
    EXPECT_EQ(to_half(std::numeric_limits<float>::infinity()).bits, 0x7c00);
    EXPECT_EQ(to_half(-1e30F).bits, 0xfc00);
    EXPECT_EQ(to_half(std::numeric_limits<float>::denorm_min()).bits, 0);
    EXPECT_EQ(to_half(-0.0F).bits, 0x8000);
    EXPECT_TRUE(std::isnan(to_float(to_half(std::nanf("")))));
}

TEST(Half, CastsOfTensorsRoundAsSingleElements) {
    HostTensor wide({DType::f32, {2000}});
    for (std::int64_t i = 0; i < wide.elements(); ++i)
        wide.set(i, std::ldexp(1 + 0.37 * static_cast<double>(i), static_cast<int>(i % 50) - 35));
    const HostTensor half = wide.cast(DType::f16);
    for (std::int64_t i = 0; i < wide.elements(); ++i)
        ASSERT_EQ(half.at(i), stored(DType::f16, wide.at(i))) << i;
    const HostTensor back = half.cast(DType::f32);
    for (std::int64_t i = 0; i < wide.elements(); ++i)
        ASSERT_EQ(back.at(i), half.at(i)) << i;
}

TEST(RoundedTo, OtherTypesAreStoredValues) {
    EXPECT_EQ(rounded_to(DType::f64, 0.1), 0.1);
    EXPECT_EQ(rounded_to(DType::f32, 0.1), static_cast<double>(0.1F));
    EXPECT_EQ(rounded_to(DType::bf16, 1.00390625 + 1e-12), 1.0078125);
    EXPECT_EQ(rounded_to(DType::u8, 300), 255);
}

TEST(Tensor, HalfPrecision) {
    EXPECT_EQ(stored(DType::f16, 65504), 65504);
    EXPECT_EQ(stored(DType::f16, 65519.9), 65504);
    EXPECT_EQ(stored(DType::f16, 65520), kInfinity);
    EXPECT_EQ(stored(DType::f16, 1 + 0x1p-11), 1);               // halfway to even
    EXPECT_EQ(stored(DType::f16, 1 + 3 * 0x1p-11), 1 + 0x1p-9);  // halfway to even
    EXPECT_EQ(stored(DType::f16, 0x1p-24), 0x1p-24);             // smallest subnormal
    EXPECT_EQ(stored(DType::f16, 0x1p-25), 0);                   // halfway to zero
    EXPECT_EQ(stored(DType::f16, 0x1p-14 - 0x1p-26), 0x1p-14);   // rounds up into the normal numbers
    EXPECT_EQ(stored(DType::f16, -0.333251953125), -0.333251953125);
    EXPECT_TRUE(std::signbit(stored(DType::f16, -0.0)));
    EXPECT_TRUE(std::isnan(stored(DType::f16, std::nan(""))));
}

TEST(Tensor, IntegersAreRoundedAndClamped) {
    EXPECT_EQ(stored(DType::u8, 2.5), 2);
    EXPECT_EQ(stored(DType::u8, 3.5), 4);
    EXPECT_EQ(stored(DType::u8, 300), 255);
    EXPECT_EQ(stored(DType::u8, -1), 0);
    EXPECT_EQ(stored(DType::i32, 1e12), 2147483647.0);
    EXPECT_EQ(stored(DType::i64, 1e30), 0x1p63);
    EXPECT_EQ(stored(DType::i32, std::nan("")), 0);
}

}  // namespace
}  // namespace cnntrain
