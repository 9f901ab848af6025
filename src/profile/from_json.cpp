// Reads what to_json() has written.
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/json_check.h"
#include "cnntrain/profile/output.h"

namespace cnntrain::profile {

namespace {

using Json = nlohmann::ordered_json;

/// The member's value; that of `value` if there is no such member. Throws nlohmann's exceptions for another type.
template <typename T> void take(const Json& object, const char* key, T& value) {
    if (const auto found = object.find(key); found != object.end()) value = found->get<T>();
}

/// The member; an empty object if there is none.
Json part(const Json& object, const char* key) {
    return object.value(key, Json::object());
}

Waits waits_in(const Json& object) {
    Waits waits;
    take(object, "input", waits.input);
    take(object, "lanes", waits.lanes);
    take(object, "ranks", waits.ranks);
    return waits;
}

void take_run(const Json& run, Profile& profile) {
    take(run, "title", profile.title);
    take(run, "line", profile.line);
    take(run, "version", profile.version);
    take(run, "machine", profile.machine);
    take(run, "unit", profile.unit);
    take(run, "type", profile.type);
    take(run, "faster_in_16_bits", profile.faster_in_16_bits);
    take(run, "trains", profile.trains);
    take(run, "rank", profile.rank);
    take(run, "steps", profile.steps);
    take(run, "samples", profile.samples);
    take(run, "micro_batch", profile.micro_batch);
    take(run, "image_megapixels", profile.image_megapixels);
    take(run, "threads", profile.threads);
    take(run, "lanes", profile.lanes);
    take(run, "cores", profile.cores);
    take(run, "processors", profile.processors);
}

Row row_in(const Json& object) {
    Row row;
    take(object, "name", row.name);
    row.op = object.at("op").get<std::string>();
    take(object, "phase", row.phase);
    take(object, "implementation", row.implementation);
    take(object, "stage", row.stage);
    take(object, "runs", row.runs);
    row.seconds = object.at("seconds").get<double>();
    take(object, "run_seconds", row.run_seconds);
    take(object, "gflop", row.gflop);
    take(object, "megabytes", row.megabytes);
    return row;
}

InputWork input_in(const Json& object) {
    InputWork work;
    take(object, "threads", work.threads);
    take(object, "seconds", work.seconds);
    take(object, "samples", work.samples);
    take(object, "megapixels", work.megapixels);
    const Json stages = part(object, "stages");
    take(stages, "read", work.stages.read);
    take(stages, "parse", work.stages.parse);
    take(stages, "decode", work.stages.decode);
    take(stages, "resize", work.stages.resize);
    take(stages, "augment", work.stages.augment);
    return work;
}

Peaks peaks_in(const Json& object) {
    Peaks peaks;
    take(object, "flops_per_second", peaks.flops_per_second);
    for (const Json& one : object.value("levels", Json::array())) {
        MemoryLevel level{.name = "", .bytes = std::numeric_limits<double>::infinity()};
        take(one, "name", level.name);
        take(one, "bytes", level.bytes);
        take(one, "reading", level.rates.reading);
        take(one, "copying", level.rates.copying);
        peaks.levels.push_back(std::move(level));
    }
    if (!peaks.levels.empty()) return peaks;
    MemoryLevel memory{.name = "memory", .bytes = std::numeric_limits<double>::infinity()};
    take(object, "bytes_per_second", memory.rates.copying);
    if (memory.rates.copying > 0) peaks.levels.push_back(std::move(memory));
    return peaks;
}

Profile profile_in(const Json& document) {
    Profile profile;
    take_run(document.at("run"), profile);
    take(document, "step_seconds", profile.step_seconds);
    profile.waits = waits_in(part(document, "waits"));
    profile.peaks = peaks_in(part(document, "peaks"));
    take(document, "page_loads_per_second", profile.page_loads_per_second);
    take(document, "resident_bytes", profile.resident_bytes);
    take(document, "layout_changes", profile.layout_changes);
    const Json others = part(document, "other_programs");
    take(others, "processors", profile.competition.others);
    take(others, "queued_share", profile.competition.queued_share);
    for (const Json& row : document.at("operations"))
        profile.rows.push_back(row_in(row));
    profile.input = input_in(part(document, "input"));
    for (const Json& one : document.value("ranks", Json::array())) {
        RankTimes rank{.waits = waits_in(part(one, "waits"))};
        take(one, "step_seconds", rank.step);
        profile.ranks.push_back(rank);
    }
    return profile;
}

}  // namespace

std::optional<Profile> from_json(std::string_view text) {
    try {
        check_json(text);
        const Json document = Json::parse(text);
        if (!document.is_object() || !document.contains("cnntrain_profile")) return std::nullopt;
        return profile_in(document);
    } catch (const Error&) {
        return std::nullopt;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

}  // namespace cnntrain::profile
