#include "checkpoint/matrix_parts.h"

#include <algorithm>
#include <cstring>

#include "cnntrain/base/error.h"

namespace cnntrain::checkpoint {
namespace {

void check_matrix(const HostTensor& tensor) {
    CNNTRAIN_CHECK(tensor.shape().size() == 2, "not a matrix: " + to_string(tensor.desc()));
}

template <typename Element> void transpose(const HostTensor& from, HostTensor& to) {
    const std::int64_t rows = from.shape()[0];
    const std::int64_t columns = from.shape()[1];
    const std::byte* const in = from.bytes().data();
    std::byte* const out = to.bytes().data();
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) {
            std::memcpy(out + static_cast<std::size_t>(column * rows + row) * sizeof(Element),
                        in + static_cast<std::size_t>(row * columns + column) * sizeof(Element), sizeof(Element));
        }
    }
}

/// Copies `row_bytes` bytes of each row, from byte `from_begin` of it to byte `to_begin`.
void copy_rows(const HostTensor& from, std::size_t from_begin, HostTensor& to, std::size_t to_begin,
               std::size_t row_bytes) {
    const auto rows = static_cast<std::size_t>(from.shape()[0]);
    const std::size_t from_row = from.bytes().size() / rows;
    const std::size_t to_row = to.bytes().size() / rows;
    for (std::size_t row = 0; row < rows; ++row) {
        std::memcpy(to.bytes().data() + row * to_row + to_begin, from.bytes().data() + row * from_row + from_begin,
                    row_bytes);
    }
}

}  // namespace

HostTensor transposed(const HostTensor& matrix) {
    check_matrix(matrix);
    HostTensor result({matrix.dtype(), {matrix.shape()[1], matrix.shape()[0]}});
    switch (size_bytes(matrix.dtype())) {
        case sizeof(std::uint16_t):
            transpose<std::uint16_t>(matrix, result);
            break;
        case sizeof(std::uint32_t):
            transpose<std::uint32_t>(matrix, result);
            break;
        case sizeof(std::uint64_t):
            transpose<std::uint64_t>(matrix, result);
            break;
        default:
            CNNTRAIN_CHECK(false, "a matrix of 8-bit numbers");
    }
    return result;
}

HostTensor columns_of(const HostTensor& matrix, std::int64_t begin, std::int64_t count) {
    check_matrix(matrix);
    CNNTRAIN_CHECK(begin >= 0 && count > 0 && begin + count <= matrix.shape()[1], "columns that are not there");
    HostTensor result({matrix.dtype(), {matrix.shape()[0], count}});
    const std::size_t size = size_bytes(matrix.dtype());
    copy_rows(matrix, static_cast<std::size_t>(begin) * size, result, 0, static_cast<std::size_t>(count) * size);
    return result;
}

HostTensor side_by_side(const std::vector<HostTensor>& matrices) {
    std::int64_t columns = 0;
    for (const HostTensor& matrix : matrices) {
        check_matrix(matrix);
        CNNTRAIN_CHECK(matrix.dtype() == matrices.front().dtype() && matrix.shape()[0] == matrices.front().shape()[0],
                       "matrices that do not fit side by side");
        columns += matrix.shape()[1];
    }
    HostTensor result({matrices.front().dtype(), {matrices.front().shape()[0], columns}});
    std::size_t begin = 0;
    for (const HostTensor& matrix : matrices) {
        const std::size_t row_bytes = static_cast<std::size_t>(matrix.shape()[1]) * size_bytes(matrix.dtype());
        copy_rows(matrix, 0, result, begin, row_bytes);
        begin += row_bytes;
    }
    return result;
}

HostTensor first_rows(const HostTensor& tensor, std::int64_t rows) {
    TensorDesc desc = tensor.desc();
    CNNTRAIN_CHECK(!desc.shape.empty() && rows >= 0 && rows <= desc.shape[0], "rows that are not there");
    desc.shape[0] = rows;
    HostTensor result(desc);
    std::ranges::copy(tensor.bytes().first(result.bytes().size()), result.bytes().begin());
    return result;
}

bool equal(const HostTensor& one, const HostTensor& other) {
    return one.desc() == other.desc() && std::ranges::equal(one.bytes(), other.bytes());
}

bool all_zero(const HostTensor& tensor) {
    return std::ranges::all_of(tensor.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace cnntrain::checkpoint
