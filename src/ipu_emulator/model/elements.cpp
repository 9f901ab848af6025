#include "ipu_emulator/model/elements.h"

#include <cstring>

#include "ipu_emulator/model/graph_data.h"

namespace ipu_emulator {

std::size_t type_size(poplar::Type type) {
    return with_element(Access::id(type), [](auto element) { return sizeof element; });
}

std::vector<std::byte> converted(poplar::Type from, const void* values, std::size_t count, poplar::Type to,
                                 std::size_t elements) {
    std::vector<std::byte> result(elements * type_size(to));
    const auto* source = static_cast<const std::byte*>(values);
    const std::size_t step = count == 1 ? 0 : type_size(from);
    with_element(Access::id(from), [&](auto value) {
        with_element(Access::id(to), [&](auto element) {
            for (std::size_t i = 0; i < elements; ++i) {
                std::memcpy(&value, source + i * step, sizeof value);
                element = converted<decltype(element)>(value);
                std::memcpy(result.data() + i * sizeof element, &element, sizeof element);
            }
        });
    });
    return result;
}

}  // namespace ipu_emulator
