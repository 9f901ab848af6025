#include "dataset_tools/inspection/cifar_records.h"

#include <algorithm>
#include <vector>

namespace cnntrain::dataset_tools {

void for_each_cifar_record(const InputFile& file, const data::CifarLayout& layout, std::int64_t count,
                           const std::function<void(std::int64_t, std::span<const std::byte>)>& visit) {
    constexpr std::int64_t kRecordsAtOnce = 256;
    std::vector<std::byte> buffer;
    for (std::int64_t first = 0; first < count; first += kRecordsAtOnce) {
        const std::int64_t here = std::min(kRecordsAtOnce, count - first);
        buffer.resize(static_cast<std::size_t>(here) * layout.record_bytes);
        file.read_at(static_cast<std::uint64_t>(first) * layout.record_bytes, buffer);
        for (std::int64_t i = 0; i < here; ++i) {
            visit(first + i,
                  std::span(buffer).subspan(static_cast<std::size_t>(i) * layout.record_bytes, layout.record_bytes));
        }
    }
}

}  // namespace cnntrain::dataset_tools
