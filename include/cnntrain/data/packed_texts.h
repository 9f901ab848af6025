// Texts that share rows, so that short ones cost no padding. A row of S tokens holds one text after the other, at most
// K of them, and each sees itself alone.
//
// Fields of a row:
//
//   name                      type    values
//   fields before input_mask  i32[S]  those of the texts' tokens, then 0; input_mask itself is left out
//   sequence_numbers          i32[S]  1, 2, ...: the text that the token belongs to; 0: padding
//   input_position            i32[S]  the token's place in its text
//   fields behind it, [...]   [K,...] one per text; in slots without a text, those of a padding text
//   first_tokens              i32[K]  place of each text's first token; 0 in slots without a text
//
// With K = 0, any number of texts shares a row, and fields of [K] are missing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cnntrain/data/dataset.h"

namespace cnntrain::data {

/// The place of a text.
struct PackedPlace {
    std::int64_t row = 0;
    std::int64_t slot = 0;   // number of the text in its row
    std::int64_t first = 0;  // place of its first token
    std::int64_t tokens = 0;
};

class PackedTexts : public Dataset {
public:
    /// Places of the texts, by their numbers in the data set that was packed.
    virtual std::span<const PackedPlace> places() const = 0;
};

/// The texts of a data set with the field input_mask, which is 1 for the first tokens and 0 for the others. `slots`: K.
/// Reads all texts with `threads` threads. Which texts share a row depends on their lengths and order alone.
std::shared_ptr<const PackedTexts> pack_texts(std::shared_ptr<const Dataset> texts, std::int64_t slots, int threads);

}  // namespace cnntrain::data
