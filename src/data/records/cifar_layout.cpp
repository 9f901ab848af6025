#include "data/records/cifar_layout.h"

#include "cnntrain/base/error.h"

namespace cnntrain::data {

const CifarLayout& cifar_layout(DatasetId id) {
    constexpr std::size_t kPixels = 3 * kCifarSide * kCifarSide;
    static const CifarLayout cifar10 = {
        DatasetId::cifar10,
        1,
        1 + kPixels,
        {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
        {"test_batch.bin"}};
    static const CifarLayout cifar100 = {DatasetId::cifar100, 2, 2 + kPixels, {"train.bin"}, {"test.bin"}};
    CNNTRAIN_CHECK(id == cifar10.id || id == cifar100.id, "no CIFAR data set");
    return id == cifar10.id ? cifar10 : cifar100;
}

}  // namespace cnntrain::data
