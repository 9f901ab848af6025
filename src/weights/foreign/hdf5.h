// HDF5 files as h5py writes them by default: groups as symbol tables or links in object headers, data sets in one
// piece, attributes that are texts. Compressed, chunked and external data sets are not read. This is not done with the
// HDF5 library, because damaged files make it hang and read beyond its blocks.
// Format: "HDF5 File Format Specification", version 3.0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cnntrain/base/tensor.h"
#include "weights/foreign/bytes.h"

namespace cnntrain::weights {

/// Types of numbers, and whatever else is there.
struct Hdf5Type {
    enum class Kind : std::uint8_t { integer, real, text, opaque, other } kind = Kind::other;
    std::uint64_t bytes = 0;
    bool big_endian = false;
    bool is_signed = false;
    bool is_variable = false;  // text: its bytes lie in a heap
    bool is_plain = true;      // integer, real: every bit has its usual place, as in IEEE 754
    int exponent_bits = 0;     // real
    std::string_view name;
};

struct Hdf5Dataset {
    Hdf5Type type;
    Shape shape;
    std::uint64_t begin = 0;  // within the file
    std::uint64_t bytes = 0;
    std::string refused;  // why it cannot be read; empty: it can
};

/// A group or a data set.
struct Hdf5Object {
    std::optional<Hdf5Dataset> dataset;
    std::map<std::string, std::string> texts;      // the attributes "name" and "dtype"
    std::map<std::string, std::uint64_t> members;  // of a group: addresses of objects by name
};

/// The objects of a file, read when they are asked for.
class Hdf5File {
public:
    /// Error(data), Error(unsupported): of this and all functions.
    explicit Hdf5File(FileSlice file);

    const FileSlice& bytes() const { return file_; }
    std::uint64_t root() const { return root_; }
    Hdf5Object object(std::uint64_t address);

private:
    friend class Hdf5ObjectReader;
    struct HeapObject {
        std::uint64_t address = 0;
        std::uint64_t bytes = 0;
    };
    void read_superblock();

    FileSlice file_;
    std::uint64_t base_ = 0;
    std::uint64_t root_ = 0;           // address of the root group's object header
    std::uint64_t visited_bytes_ = 0;  // of headers, tables and heaps, which no two objects share
    NameBudget names_;                 // of members
    /// Objects of heaps of texts, by the heap's address and the object's number.
    std::map<std::uint64_t, std::map<std::uint16_t, HeapObject>> heaps_;
};

}  // namespace cnntrain::weights
