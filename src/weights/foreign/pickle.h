// Python pickles as data: a tree of values. Calls of Python's functions are values too; nothing is called.
// Format: CPython's Lib/pickletools.py, protocols 0 to 5 without the opcodes of texts in protocol 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weights/foreign/bytes.h"

namespace cnntrain::weights {

/// Index in a Pickle's values.
using PickleId = std::uint32_t;

enum class PickleKind : std::uint8_t {
    none,
    boolean,  // number
    integer,  // number; of more than 64 bits: opaque
    real,
    text,  // text
    bytes,
    tuple,  // items
    list,
    dict,        // items: key, value, key, value
    global,      // text: "module.name"
    call,        // items: the callable and a tuple of arguments
    persistent,  // items: the identity, a tuple in torch's files
    opaque,      // a value that nobody asks for
};

struct PickleValue {
    PickleKind kind = PickleKind::none;
    std::int64_t number = 0;
    std::string text;
    std::vector<PickleId> items;
};

/// Treatment of a class or function of Python.
enum class PickleGlobal {
    refused,
    named,   // stays a name; calls of it are values
    dict,    // makes a dict: collections.OrderedDict
    tuple,   // is its argument, a tuple or a list: torch.Size
    opaque,  // makes a value that nobody asks for
};

class Pickle {
public:
    using Known = PickleGlobal (*)(std::string_view name);  // "module.name"

    /// Reads up to the pickle's STOP. Error(unsupported) names an opcode or a global that is not known, and its
    /// position; Error(data) says where the bytes are no pickle. `where` names them in errors.
    Pickle(ByteCursor& bytes, Known known);

    const PickleValue& root() const { return values_[root_]; }
    PickleId root_id() const { return root_; }
    const PickleValue& at(PickleId id) const { return values_[id]; }
    std::size_t size() const { return values_.size(); }

private:
    friend class PickleReader;
    std::vector<PickleValue> values_;
    PickleId root_ = 0;
};

}  // namespace cnntrain::weights
