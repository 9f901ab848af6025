#include "data/images/jpeg_memory.h"
// After jpeglib.h: the macros use its names.
#include <jerror.h>

#include <algorithm>
#include <cstring>
#include <new>

/// A whole-image array of a progressive file. libjpeg declares these names and lets the memory manager define them;
/// these arrays are always entirely in memory.
struct jvirt_sarray_control {
    JSAMPARRAY rows;
    JDIMENSION row_count;
    JDIMENSION row_width;  // in samples
    JDIMENSION most_rows;  // in one access
    bool zeroed;
    jvirt_sarray_control* next;
};

struct jvirt_barray_control {
    JBLOCKARRAY rows;
    JDIMENSION row_count;
    JDIMENSION row_width;  // in blocks
    JDIMENSION most_rows;
    bool zeroed;
    jvirt_barray_control* next;
};

namespace cnntrain::data {
namespace {

/// Rows are padded to twice this alignment, because libjpeg-turbo's SIMD code processes whole vectors.
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kFirstBlock = std::size_t{1} << 20;
/// A larger arena, grown by one huge image, is released after that image.
constexpr std::size_t kMostKept = std::size_t{1} << 25;

constexpr std::size_t rounded_up(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
}

std::byte* new_bytes(std::size_t size) {
    return static_cast<std::byte*>(::operator new (size, std::align_val_t{kAlignment}, std::nothrow));
}

void delete_bytes(std::byte* bytes) {
    ::operator delete (bytes, std::align_val_t{kAlignment});
}

}  // namespace

/// The functions that libjpeg calls. Errors go to libjpeg's error handler, which does not return.
struct JpegMemory::Hooks {
    static JpegMemory& memory(j_common_ptr info) { return *static_cast<JpegMemory*>(info->client_data); }

    static void* allocate(j_common_ptr info, std::size_t size) {
        void* bytes = memory(info).allocate(size);
        if (bytes == nullptr) ERREXIT1(info, JERR_OUT_OF_MEMORY, 1);
        return bytes;
    }

    /// Allocates `count` rows of `width` elements contiguously, and the array of pointers to them.
    template <typename Element> static Element** allocate_rows(j_common_ptr info, JDIMENSION width, JDIMENSION count) {
        const std::size_t stride = rounded_up(std::size_t{width} * sizeof(Element), 2 * kAlignment);
        auto** rows = static_cast<Element**>(allocate(info, sizeof(Element*) * std::size_t{count}));
        auto* bytes = static_cast<std::byte*>(allocate(info, stride * std::size_t{count}));
        for (std::size_t i = 0; i < count; ++i)
            rows[i] = reinterpret_cast<Element*>(bytes + i * stride);
        return rows;
    }

    static void* alloc_small(j_common_ptr info, int pool, std::size_t size) {
        return pool == JPOOL_IMAGE ? allocate(info, size) : memory(info).original_.alloc_small(info, pool, size);
    }

    static void* alloc_large(j_common_ptr info, int pool, std::size_t size) {
        return pool == JPOOL_IMAGE ? allocate(info, size) : memory(info).original_.alloc_large(info, pool, size);
    }

    static JSAMPARRAY alloc_sarray(j_common_ptr info, int pool, JDIMENSION width, JDIMENSION count) {
        if (pool != JPOOL_IMAGE) return memory(info).original_.alloc_sarray(info, pool, width, count);
        return allocate_rows<JSAMPLE>(info, width, count);
    }

    static JBLOCKARRAY alloc_barray(j_common_ptr info, int pool, JDIMENSION width, JDIMENSION count) {
        if (pool != JPOOL_IMAGE) return memory(info).original_.alloc_barray(info, pool, width, count);
        return allocate_rows<JBLOCK>(info, width, count);
    }

    template <typename Array> static Array* request(j_common_ptr info, Array*& list, int pool, boolean zeroed,
                                                    JDIMENSION width, JDIMENSION count, JDIMENSION most_rows) {
        if (pool != JPOOL_IMAGE) ERREXIT1(info, JERR_BAD_POOL_ID, pool);
        list = new (allocate(info, sizeof(Array))) Array{nullptr, count, width, most_rows, zeroed != FALSE, list};
        return list;
    }

    static jvirt_sarray_ptr request_virt_sarray(j_common_ptr info, int pool, boolean zeroed, JDIMENSION width,
                                                JDIMENSION count, JDIMENSION most_rows) {
        return request(info, memory(info).sample_arrays_, pool, zeroed, width, count, most_rows);
    }

    static jvirt_barray_ptr request_virt_barray(j_common_ptr info, int pool, boolean zeroed, JDIMENSION width,
                                                JDIMENSION count, JDIMENSION most_rows) {
        return request(info, memory(info).block_arrays_, pool, zeroed, width, count, most_rows);
    }

    template <typename Element, typename Array> static void realize(j_common_ptr info, Array* list) {
        for (Array* array = list; array != nullptr; array = array->next) {
            if (array->rows != nullptr) continue;
            array->rows = allocate_rows<Element>(info, array->row_width, array->row_count);
            for (JDIMENSION row = 0; array->zeroed && row < array->row_count; ++row)
                std::memset(array->rows[row], 0, std::size_t{array->row_width} * sizeof(Element));
        }
    }

    static void realize_virt_arrays(j_common_ptr info) {
        realize<JSAMPLE>(info, memory(info).sample_arrays_);
        realize<JBLOCK>(info, memory(info).block_arrays_);
    }

    template <typename Array> static auto access(j_common_ptr info, Array* array, JDIMENSION first, JDIMENSION count) {
        if (array->rows == nullptr || count > array->most_rows || first > array->row_count ||
            count > array->row_count - first) {
            ERREXIT(info, JERR_BAD_VIRTUAL_ACCESS);
        }
        return array->rows + first;
    }

    static JSAMPARRAY access_virt_sarray(j_common_ptr info, jvirt_sarray_ptr array, JDIMENSION first, JDIMENSION count,
                                         boolean) {
        return access(info, array, first, count);
    }

    static JBLOCKARRAY access_virt_barray(j_common_ptr info, jvirt_barray_ptr array, JDIMENSION first, JDIMENSION count,
                                          boolean) {
        return access(info, array, first, count);
    }

    static void free_pool(j_common_ptr info, int pool) {
        memory(info).original_.free_pool(info, pool);
        if (pool == JPOOL_IMAGE) memory(info).reset();
    }
};

JpegMemory::JpegMemory() = default;

JpegMemory::~JpegMemory() {
    for (const Block& block : blocks_)
        delete_bytes(block.bytes);
}

void JpegMemory::attach(jpeg_decompress_struct& info) {
    info.client_data = this;
    original_ = *info.mem;
    info.mem->alloc_small = Hooks::alloc_small;
    info.mem->alloc_large = Hooks::alloc_large;
    info.mem->alloc_sarray = Hooks::alloc_sarray;
    info.mem->alloc_barray = Hooks::alloc_barray;
    info.mem->request_virt_sarray = Hooks::request_virt_sarray;
    info.mem->request_virt_barray = Hooks::request_virt_barray;
    info.mem->realize_virt_arrays = Hooks::realize_virt_arrays;
    info.mem->access_virt_sarray = Hooks::access_virt_sarray;
    info.mem->access_virt_barray = Hooks::access_virt_barray;
    info.mem->free_pool = Hooks::free_pool;
}

std::size_t JpegMemory::held_bytes() const {
    std::size_t total = 0;
    for (const Block& block : blocks_)
        total += block.size;
    return total;
}

void* JpegMemory::allocate(std::size_t size) {
    const std::size_t padded = rounded_up(std::max<std::size_t>(size, 1), kAlignment);
    if (blocks_.empty() || blocks_.back().size - used_ < padded) {
        const std::size_t grown = std::max({kFirstBlock, padded, blocks_.empty() ? 0 : 2 * blocks_.back().size});
        std::byte* bytes = new_bytes(grown);
        if (bytes == nullptr) return nullptr;
        blocks_.push_back({bytes, grown});
        used_ = 0;
    }
    void* result = blocks_.back().bytes + used_;
    used_ += padded;
    return result;
}

/// Merges several blocks into one, so that the next image of this size fits into a single block.
void JpegMemory::reset() {
    sample_arrays_ = nullptr;
    block_arrays_ = nullptr;
    used_ = 0;
    const std::size_t held = held_bytes();
    if (blocks_.size() <= 1 && held <= kMostKept) return;
    for (const Block& block : blocks_)
        delete_bytes(block.bytes);
    blocks_.clear();
    if (held > kMostKept) return;
    if (std::byte* bytes = new_bytes(held)) blocks_.push_back({bytes, held});
}

}  // namespace cnntrain::data
