#include "dataset_tools/inspection/raw_records.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cnntrain/base/crc32c.h"
#include "data/records/record_frame.h"

namespace cnntrain::dataset_tools {
namespace {

/// Size of a read. Small enough to stay in the second-level cache until its checksum is computed.
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;

bool header_intact(std::span<const std::byte> header) {
    return mask_crc(crc32c(header.first<8>())) == data::load_little_endian<std::uint32_t>(header.subspan<8, 4>());
}

}  // namespace

std::string place_of(const std::string& file, std::int64_t record, std::uint64_t offset) {
    return file + ", record " + std::to_string(record) + " (at byte " + std::to_string(offset) + "): ";
}

bool begins_as_records(const InputFile& file) {
    std::array<std::byte, data::kRecordHeaderBytes> header{};
    if (file.size_bytes() < data::kRecordFrameBytes) return false;
    file.read_at(0, header);
    return header_intact(header);
}

/// The next `size` bytes; the file must have them.
std::span<const std::byte> RawRecords::peek(std::uint64_t size) {
    const std::uint64_t skip = position_ - window_;
    if (skip + size > filled_) {
        const auto keep = static_cast<std::size_t>(filled_ - skip);
        const std::uint64_t left = file_->size_bytes() - position_;
        const auto wanted = static_cast<std::size_t>(std::min(std::max(size, kPieceBytes), left));
        if (wanted > capacity_) {
            auto larger = std::make_unique_for_overwrite<std::byte[]>(wanted);
            if (keep > 0) std::memcpy(larger.get(), buffer_.get() + skip, keep);
            buffer_ = std::move(larger);
            capacity_ = wanted;
        } else if (keep > 0) {
            std::memmove(buffer_.get(), buffer_.get() + skip, keep);
        }
        window_ = position_;
        filled_ = keep;
        file_->read_at(window_ + keep, {buffer_.get() + keep, wanted - keep});
        filled_ = wanted;
    }
    return {buffer_.get() + (position_ - window_), static_cast<std::size_t>(size)};
}

bool RawRecords::stop(std::string what) {
    damage_ = {number_, position_, file_->size_bytes() - position_, std::move(what)};
    return false;
}

bool RawRecords::next(RawRecord& record) {
    const std::uint64_t left = file_->size_bytes() - position_;
    if (left == 0 || damage_) return false;
    if (left < data::kRecordHeaderBytes) {
        return stop(number_ == 0 ? "this is not a TFRecord file: it has " + std::to_string(left) + " bytes only"
                                 : "the file is cut short: " + std::to_string(left) + " bytes are left for a header");
    }
    const std::span<const std::byte> header = peek(data::kRecordHeaderBytes);
    if (!header_intact(header)) {
        return stop(number_ == 0
                        ? "this is not a TFRecord file, or damaged: the checksum of the first record's length is wrong"
                        : "the checksum of the record's length is wrong");
    }
    const auto length = data::load_little_endian<std::uint64_t>(header.first<8>());
    if (length > data::kMostPayloadBytes)
        return stop("a record of " + std::to_string(length) + " bytes; a tf.Example has less than 2 GiB");
    const std::uint64_t whole = data::kRecordFrameBytes + length;
    if (whole > left) {
        return stop("the file is cut short: the record needs " + std::to_string(whole) + " bytes, " +
                    std::to_string(left) + " are left");
    }
    const std::span<const std::byte> bytes = peek(whole);
    record.number = number_++;
    record.offset = position_;
    record.payload = bytes.subspan(data::kRecordHeaderBytes, static_cast<std::size_t>(length));
    record.intact = mask_crc(crc32c(record.payload)) ==
                    data::load_little_endian<std::uint32_t>(bytes.last<data::kRecordFooterBytes>());
    position_ += whole;
    return true;
}

}  // namespace cnntrain::dataset_tools
