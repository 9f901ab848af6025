// A steady stream allocates nothing for an image. An executable of its own, because it counts every malloc of the
// process.
#include <gtest/gtest.h>

#include "cnntrain/data/loader.h"
#include "data/sets/encoded_images.h"
#include "fixtures.h"
#include "support/allocation_count.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

constexpr std::int64_t kImages = 40;
constexpr std::int64_t kBatch = 8;

std::vector<std::string> photographs() {
    std::vector<std::string> payloads;
    for (std::int64_t i = 0; i < kImages; ++i) {
        const std::int64_t channels = i % 7 == 0 ? 1 : 3;
        const TestImage photo =
            make_photo(40 + 7 * (i % 9), 60 + 11 * (i % 5), static_cast<std::uint64_t>(i), channels);
        payloads.push_back(make_example(encode_jpeg(photo, {.progressive = i % 4 == 0}), i + 1));
    }
    return payloads;
}

/// libjpeg makes about a dozen blocks for every image; that is its own affair.
bool by_ourselves() {
    return !test::called_from("libjpeg");
}

std::int64_t allocations_of(Stream& stream, std::int64_t batches) {
    by_ourselves();  // loads what backtrace() needs
    test::count_allocations_if(by_ourselves);
    const std::int64_t before = test::allocations();
    for (std::int64_t i = 0; i < batches; ++i)
        stream.next();
    const std::int64_t made = test::allocations() - before;
    test::count_allocations_if(nullptr);
    return made;
}

TEST(Allocation, TheCounterCounts) {
    const std::int64_t before = test::allocations();
    void* volatile block = ::operator new(8);  // volatile: not optimised away
    ::operator delete(block);
    EXPECT_EQ(test::allocations(), before + 1);
}

TEST(Allocation, MixingCoefficientsAreDrawnIntoTheirPlace) {
    const nn::MixingSettings settings{.mixup_alpha = 0.4, .cutmix_lambda = 0.6};
    MixingCoefficients coefficients;
    coefficients.allocate(settings, kBatch);
    const Shape images{kBatch, 4, 4, 3};
    const std::int64_t before = test::allocations();
    coefficients.draw(settings, 1, 0, images);
    EXPECT_EQ(test::allocations(), before);
    EXPECT_EQ(coefficients.mixup().size(), static_cast<std::size_t>(kBatch));
    EXPECT_EQ(coefficients.target_shares().size(), static_cast<std::size_t>(4 * kBatch));
}

TEST(Allocation, AStreamOfImagesAllocatesOncePerEpoch) {
    const test::TemporaryFolder folder;
    write_records(folder / "train-00000-of-00001", photographs());
    const auto data = std::make_shared<Imagenet>(std::vector{folder / "train-00000-of-00001"},
                                                 ImagenetSettings{.images = {.image_size = 24, .augment = true}});
    Loader loader(data, {.micro_batch = kBatch, .threads = 2, .batches_ahead = 3});
    allocations_of(loader, 60 * kImages / kBatch);  // until both workers have met the largest images
    // The order of each epoch is a new vector; that is all, but for a worker that a busy machine kept from the
    // largest crop until now.
    const std::int64_t epochs = 40;
    EXPECT_LE(allocations_of(loader, epochs * kImages / kBatch), epochs + 4);
}

}  // namespace
}  // namespace cnntrain::data
