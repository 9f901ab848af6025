#include "data/sets/cifar.h"

#include <cmath>
#include <cstring>
#include <set>

#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

constexpr std::size_t kImageValues = 3072;

std::vector<float> read_image(const Dataset& data, std::int64_t index, SamplePosition position = {},
                              std::int32_t* label = nullptr) {
    const ReadSample sample = read_sample(data, index, position);
    EXPECT_EQ(sample.state, SampleState::counted);
    if (label != nullptr) *label = sample.label;
    return floats_of(sample.image);
}

class CifarFiles : public testing::Test {
protected:
    Cifar open(DatasetId id, const std::string& bytes, const CifarSettings& settings = {}) {
        write_file(path_, bytes);
        return Cifar(id, {path_}, settings);
    }
    test::TemporaryFolder folder_;
    std::string path_ = folder_ / "data_batch_1.bin";
};

TEST_F(CifarFiles, PlanarPixelsBecomeStandardisedHwc) {
    const std::string bytes = cifar10_records(3, 2);
    const Cifar data = open(DatasetId::cifar10, bytes);
    ASSERT_EQ(data.size(), 2);
    EXPECT_EQ(data.fields(), (std::vector<Field>{{"images", {DType::f32, {32, 32, 3}}}, {"labels", {DType::i32, {}}}}));
    std::int32_t label = -1;
    const std::vector<float> image = read_image(data, 1, {}, &label);
    EXPECT_EQ(label, 4);

    const auto* planes = reinterpret_cast<const std::uint8_t*>(bytes.data()) + 3073 + 1;
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < kImageValues; ++i) {
        sum += planes[i];
        squares += static_cast<double>(planes[i]) * planes[i];
    }
    const double mean = sum / 3072;
    const double deviation = std::sqrt(squares / 3072 - mean * mean);
    for (std::size_t y = 0; y < 32; ++y) {
        for (std::size_t x = 0; x < 32; ++x) {
            for (std::size_t c = 0; c < 3; ++c) {
                ASSERT_NEAR(image[(y * 32 + x) * 3 + c], (planes[c * 1024 + y * 32 + x] - mean) / deviation, 1e-5);
            }
        }
    }
}

TEST_F(CifarFiles, HundredUsesTheFineLabel) {
    std::string record(3074, 'x');
    record[0] = 3;
    record[1] = 99;
    const Cifar data = open(DatasetId::cifar100, record + record);
    std::int32_t label = -1;
    read_image(data, 1, {}, &label);
    EXPECT_EQ(label, 99);
    record[1] = 100;
    EXPECT_THAT(message_of(ErrorKind::data, [&] { open(DatasetId::cifar100, record); }), HasSubstr("0..99"));
}

TEST_F(CifarFiles, TruncatedFileNamesBothSizes) {
    const std::string bytes = cifar10_records(0, 3);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { open(DatasetId::cifar10, bytes.substr(0, bytes.size() - 100)); }),
                AllOf(HasSubstr(path_), HasSubstr("expected 9219 bytes"), HasSubstr("found 9119")));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { open(DatasetId::cifar10, ""); }), HasSubstr("record"));
}

TEST_F(CifarFiles, AFileBeyondAllMemoryIsNone) {
    write_file(path_, "");
    ASSERT_EQ(::truncate(path_.c_str(), off_t{3073} << 30), 0);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { Cifar(DatasetId::cifar10, {path_}, {}); }),
                AllOf(HasSubstr(path_), HasSubstr("10 file")));
}

TEST_F(CifarFiles, AnEmptyFileBesideFullOnesHasLostItsImages) {
    const std::string empty = folder_ / "data_batch_2.bin";
    write_file(empty, "");
    write_file(path_, cifar10_records(0, 3));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { Cifar(DatasetId::cifar10, {path_, empty}, {}); }), HasSubstr(empty));
    write_file(path_, cifar10_records(0, 1));
    EXPECT_EQ(Cifar(DatasetId::cifar10, {path_, empty}, {}).size(), 1) << "fewer images than files";
}

TEST_F(CifarFiles, LabelOutOfRangeNamesFileAndRecord) {
    std::string bytes = cifar10_records(0, 3);
    bytes[2 * 3073] = 10;
    EXPECT_THAT(message_of(ErrorKind::data, [&] { open(DatasetId::cifar10, bytes); }),
                AllOf(HasSubstr(path_), HasSubstr("record 2"), HasSubstr("label 10"), HasSubstr("0..9")));
}

TEST_F(CifarFiles, AugmentationIsAFlipAndAShiftWithZeros) {
    const std::string bytes = cifar10_records(0, 1);
    const std::vector<float> plain = read_image(open(DatasetId::cifar10, bytes), 0);
    const Cifar data = open(DatasetId::cifar10, bytes, {.augment = true, .seed = 11});
    const auto expected = [&](bool flip, int down, int right) {
        std::vector<float> image(kImageValues, 0.0f);
        for (int y = 0; y < 32; ++y) {
            for (int x = 0; x < 32; ++x) {
                const int from_y = y + down;
                const int from_x = flip ? 31 - (x + right) : x + right;
                if (from_y < 0 || from_y > 31 || from_x < 0 || from_x > 31) continue;
                for (int c = 0; c < 3; ++c) {
                    image[static_cast<std::size_t>((y * 32 + x) * 3 + c)] =
                        plain[static_cast<std::size_t>((from_y * 32 + from_x) * 3 + c)];
                }
            }
        }
        return image;
    };
    std::set<std::tuple<bool, int, int>> seen;
    int flips = 0;
    for (std::uint64_t i = 0; i < 1500; ++i) {
        const std::vector<float> image = read_image(data, 0, {2, i});
        bool found = false;
        for (int down = -4; down <= 4 && !found; ++down) {
            for (int right = -4; right <= 4 && !found; ++right) {
                for (const bool flip : {false, true}) {
                    // The centre pixel is compared first: the whole image only where it may match.
                    const int x = flip ? 31 - (16 + right) : 16 + right;
                    if (image[(16 * 32 + 16) * 3] != plain[static_cast<std::size_t>(((16 + down) * 32 + x) * 3)])
                        continue;
                    if (image != expected(flip, down, right)) continue;
                    found = true;
                    flips += flip ? 1 : 0;
                    seen.insert({flip, down, right});
                    break;
                }
            }
        }
        ASSERT_TRUE(found) << i;
    }
    EXPECT_EQ(seen.size(), 162u);  // all 9 x 9 shifts, mirrored or not
    EXPECT_NEAR(flips, 750, 100);
    EXPECT_EQ(read_image(data, 0, {1, 7}), read_image(data, 0, {1, 7}));
}

TEST_F(CifarFiles, Bfloat16IsTheRoundedFloat) {
    const std::string bytes = cifar10_records(0, 1);
    const std::vector<float> wide = read_image(open(DatasetId::cifar10, bytes), 0);
    const Cifar data = open(DatasetId::cifar10, bytes, {.dtype = DType::bf16});
    const std::vector<std::byte> image = read_sample(data, 0).image;
    std::vector<BFloat16> narrow(kImageValues);
    ASSERT_EQ(image.size(), kImageValues * sizeof(BFloat16));
    std::memcpy(narrow.data(), image.data(), image.size());
    for (std::size_t i = 0; i < kImageValues; ++i) {
        ASSERT_EQ(narrow[i].bits, to_bfloat16(wide[i]).bits);
    }
}

}  // namespace
}  // namespace cnntrain::data
