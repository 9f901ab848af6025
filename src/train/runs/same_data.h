// Whether the data of a run that goes on are those that it began with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cnntrain/comm/communicator.h"
#include "cnntrain/data/origin.h"

namespace cnntrain::train {

/// What the splits of a run come from.
struct DataOrigin {
    std::optional<data::Origin> training;
    std::optional<data::Origin> validation;  // empty: nothing is validated
};

/// For a checkpoint's metadata, and back, where names of files that are no UTF-8 come out changed. Error(data) for a
/// text that is damaged.
std::string to_text(const DataOrigin& origin);
DataOrigin origin_of(const std::string& text);

/// "" when the splits that both know are the same; else what was expected and what was found, by file.
std::string other_data(const DataOrigin& expected, const DataOrigin& found);

/// The difference of two parts: of their sizes, or, where these are equal, of their checksums.
std::string other_part(const data::OriginPart& expected, const data::OriginPart& found);

/// For comparison between ranks.
std::vector<comm::SharedSetting> shared_settings(const DataOrigin& origin);

}  // namespace cnntrain::train
