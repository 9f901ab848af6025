// Pretraining records: never a crash, every value that is accepted is in its range, and the layout is recognised.
#include <cstring>
#include <span>

#include "data/records/example.h"
#include "data/sequences.h"
#include "fuzz/fuzz_target.h"

namespace cnntrain::fuzz {
namespace {

void check_layout(std::span<const std::byte> record, bool static_mask) {
    const std::vector<data::PretrainingKey> keys = data::pretraining_keys(data::four_tokens(static_mask));
    std::vector<std::vector<std::byte>> fields;
    std::vector<std::span<std::byte>> view;
    for (const data::PretrainingKey& key : keys)
        view.emplace_back(fields.emplace_back(static_cast<std::size_t>(key.length) * 4));
    if (const auto fault = data::parse_pretraining_example(record, keys, view)) {
        require(!fault->what.empty());
        return;
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        for (std::size_t at = 0; at < fields[i].size(); at += 4) {
            std::int32_t number = 0;
            float share = 0;
            std::memcpy(&number, fields[i].data() + at, 4);
            std::memcpy(&share, fields[i].data() + at, 4);
            const bool floats = keys[i].type == data::FeatureType::floats;
            require(floats ? share >= 0 && share <= 1 : number >= keys[i].least && number <= keys[i].most);
        }
    }
    const auto settings = data::settings_of_record(record);
    require(settings && settings->sequence_length == 4 && settings->max_predictions == 2);
}

}  // namespace

std::vector<std::string> seeds() {
    return {data::four_token_record(false).bytes(), data::four_token_record(true).bytes()};
}

std::vector<std::string> words() {
    return {};
}

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    const auto record = std::as_bytes(std::span(data, size));
    for (const bool static_mask : {false, true})
        fuzz::check_layout(record, static_mask);
    data::settings_of_record(record);
    return 0;
}
