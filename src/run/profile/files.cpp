// JSON, trace and folded stacks. nlohmann's JSON escapes all names; bytes that are not UTF-8 are replaced.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/profile.h"

namespace cnntrain::profile {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// Names of members, for writing and reading.

constexpr std::tuple kWaitsMembers = {std::pair("input", &Waits::input), std::pair("lanes", &Waits::lanes),
                                      std::pair("ranks", &Waits::ranks)};
constexpr std::tuple kRunMembers = {std::pair("title", &Profile::title),
                                    std::pair("line", &Profile::line),
                                    std::pair("version", &Profile::version),
                                    std::pair("machine", &Profile::machine),
                                    std::pair("unit", &Profile::unit),
                                    std::pair("type", &Profile::type),
                                    std::pair("faster_in_16_bits", &Profile::faster_in_16_bits),
                                    std::pair("trains", &Profile::trains),
                                    std::pair("rank", &Profile::rank),
                                    std::pair("steps", &Profile::steps),
                                    std::pair("samples", &Profile::samples),
                                    std::pair("micro_batch", &Profile::micro_batch),
                                    std::pair("image_megapixels", &Profile::image_megapixels),
                                    std::pair("threads", &Profile::threads),
                                    std::pair("lanes", &Profile::lanes),
                                    std::pair("cores", &Profile::cores),
                                    std::pair("processors", &Profile::processors)};
constexpr std::tuple kRowMembers = {
    std::pair("name", &Row::name),       std::pair("op", &Row::op),
    std::pair("phase", &Row::phase),     std::pair("implementation", &Row::implementation),
    std::pair("stage", &Row::stage),     std::pair("runs", &Row::runs),
    std::pair("seconds", &Row::seconds), std::pair("run_seconds", &Row::run_seconds),
    std::pair("gflop", &Row::gflop),     std::pair("megabytes", &Row::megabytes)};

template <typename T, typename Members> Json json_of(const T& object, const Members& members) {
    Json json;
    std::apply([&](const auto&... member) { ((json[member.first] = object.*member.second), ...); }, members);
    return json;
}

Json peaks_json(const Peaks& peaks) {
    Json levels = Json::array();
    for (const MemoryLevel& level : peaks.levels) {
        Json one = {{"name", level.name}, {"reading", level.rates.reading}, {"copying", level.rates.copying}};
        if (std::isfinite(level.bytes)) one["bytes"] = level.bytes;
        levels.push_back(std::move(one));
    }
    return {{"flops_per_second", peaks.flops_per_second},
            {"byte_operations_per_second", peaks.byte_operations_per_second},
            {"bytes_per_second", peaks.memory_bytes_per_second()},
            {"levels", std::move(levels)}};
}

Json row_json(const Row& row, const Peaks& peaks) {
    Json json = json_of(row, kRowMembers);
    const Roofline least = roofline(row, peaks);
    if (least.seconds <= 0) return json;
    json["roofline"] = least.share_of(row.seconds);
    json["bound"] = least.bound;
    return json;
}

Json input_json(const InputWork& work) {
    Json stages;
    for (const auto& [name, seconds] : data::StageSeconds::kAll)
        stages[name] = work.stages.*seconds;
    return {{"threads", work.threads},
            {"seconds", work.seconds},
            {"stages", std::move(stages)},
            {"samples", work.samples},
            {"megapixels", work.megapixels}};
}

Json operations_json(const Profile& profile) {
    Json list = Json::array();
    for (const Row& row : profile.rows)
        list.push_back(row_json(row, profile.peaks));
    return list;
}

double microseconds(Timeline::Clock::time_point from, Timeline::Clock::time_point to) {
    const double exact = std::chrono::duration<double, std::micro>(to - from).count();
    return std::round(1e3 * exact) / 1e3;  // nanoseconds are the clock's unit
}

Json metadata(const char* what, int rank, std::int64_t thread, Json value) {
    Json event = {{"name", what}, {"ph", "M"}, {"pid", rank}};
    if (thread >= 0) event["tid"] = thread;
    event["args"] = std::move(value);
    return event;
}

/// The parts of an event that all kinds have.
Json event_of(const Timeline::Label& label, int rank, std::int64_t thread, double begin) {
    return {{"name", label.title},
            {"cat", label.category.empty() ? "run" : label.category},
            {"pid", rank},
            {"tid", thread},
            {"ts", begin}};
}

Json arguments_of(const Timeline::Label& label, const Timeline::Interval& interval) {
    Json arguments = {{"number", interval.number}};
    if (!label.detail.empty()) arguments["node"] = label.detail;
    return arguments;
}

void append(std::string& text, const Json& event) {
    if (!text.empty()) text += ",\n";
    text += text_of(event);
}

/// Intervals of one thread follow each other: complete events. Overlapping ones are pairs of asynchronous events.
void append_track(std::string& text, const Timeline::Track& track, Timeline::Clock::time_point origin, int rank,
                  std::int64_t thread) {
    append(text, metadata("thread_name", rank, thread, {{"name", track.name()}}));
    append(text, metadata("thread_sort_index", rank, thread, {{"sort_index", thread}}));
    std::int64_t number = 0;
    for (const Timeline::Interval& interval : track.intervals()) {
        if (interval.end < origin) continue;
        const Timeline::Label& label = track.labels()[static_cast<std::size_t>(interval.label)];
        const double begin = std::max(0.0, microseconds(origin, interval.begin));
        Json event = event_of(label, rank, thread, begin);
        if (track.order() == Timeline::Order::one_by_one) {
            event["ph"] = "X";
            event["dur"] = microseconds(origin, interval.end) - begin;
            event["args"] = arguments_of(label, interval);
            append(text, event);
            continue;
        }
        event["id"] = std::to_string(rank) + "." + std::to_string(thread) + "." + std::to_string(number++);
        event["ph"] = "b";
        event["args"] = arguments_of(label, interval);
        append(text, event);
        event.erase("args");
        event["ph"] = "e";
        event["ts"] = microseconds(origin, interval.end);
        append(text, event);
    }
}

/// A frame of a folded stack: without the characters that separate frames and stacks.
std::string frame(std::string text) {
    std::ranges::replace(text, ';', ':');
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    return text.empty() ? "-" : text;
}

/// A row's scopes as frames: "all/stage1/conv" becomes "all;stage1;conv".
std::string frames_of(const std::string& name) {
    std::string frames;
    for (const std::string_view scope : split(name, '/'))
        frames += ";" + frame(std::string(scope));
    return frames;
}

}  // namespace

std::string to_json(const Profile& profile, const Verdict& verdict) {
    Json ranks = Json::array();
    for (const RankTimes& rank : profile.ranks)
        ranks.push_back({{"step_seconds", rank.step}, {"waits", json_of(rank.waits, kWaitsMembers)}});
    Json memory = Json::array();
    for (const Owner& owner : profile.memory)
        memory.push_back({{"owner", owner.name}, {"bytes", owner.bytes}});
    const Json json = {
        {"cnntrain_profile", 1},
        {"run", json_of(profile, kRunMembers)},
        {"step_seconds", profile.step_seconds},
        {"samples_per_second", profile.samples_per_second()},
        {"computed_seconds", profile.computed()},
        {"waits", json_of(profile.waits, kWaitsMembers)},
        {"other_seconds", profile.other()},
        {"peaks", peaks_json(profile.peaks)},
        {"other_programs",
         {{"processors", profile.competition.others}, {"queued_share", profile.competition.queued_share}}},
        {"page_loads_per_second", profile.page_loads_per_second},
        {"operations", operations_json(profile)},
        {"input", input_json(profile.input)},
        {"memory", memory},
        {"resident_bytes", profile.resident_bytes},
        {"layout_changes", profile.layout_changes},
        {"ranks", ranks},
        {"limit", enumerator_name(verdict.limit)},
        {"advice", verdict.sentence},
    };
    return text_of(json, 1) + "\n";
}

std::string trace_events(const Timeline& timeline, Timeline::Clock::time_point origin, int rank,
                         const std::string& process) {
    std::string text;
    append(text, metadata("process_name", rank, -1, {{"name", process}}));
    append(text, metadata("process_sort_index", rank, -1, {{"sort_index", rank}}));
    std::int64_t thread = 0;
    for (const Timeline::Track& track : timeline.tracks())
        append_track(text, track, origin, rank, thread++);
    return text;
}

std::string trace_of(std::span<const std::string> ranks) {
    std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    for (const std::string& events : ranks)
        text += (&events == &ranks.front() ? "" : ",\n") + events;
    return text + "\n]}\n";
}

std::string folded_stacks(const Profile& profile) {
    std::map<std::string, double> stacks;
    const std::string root = "rank " + std::to_string(profile.rank);
    for (const Row& row : profile.rows)
        stacks[root + ";" + frame(row.phase) + frames_of(row.name) + ";" + frame(row.op)] += row.seconds;
    stacks[root + ";wait for input"] += profile.waits.input;
    stacks[root + ";wait for lanes"] += profile.waits.lanes;
    stacks[root + ";wait for ranks"] += profile.waits.ranks;
    stacks[root + ";other"] += profile.other();
    std::string text;
    for (const auto& [stack, seconds] : stacks) {
        const auto count = std::llround(1e6 * seconds);
        if (count > 0) text += stack + " " + std::to_string(count) + "\n";
    }
    return text;
}

// Reads what to_json() has written.

namespace {

/// The member's value; that of `value` if there is no such member. Throws nlohmann's exceptions for another type.
template <typename T> void take(const Json& object, const char* key, T& value) {
    if (const auto found = object.find(key); found != object.end()) value = found->get<T>();
}

/// The member; an empty object if there is none.
Json part(const Json& object, const char* key) {
    return object.value(key, Json::object());
}

template <typename T, typename Members> void take_all(const Json& json, T& object, const Members& members) {
    std::apply([&](const auto&... member) { (take(json, member.first, object.*member.second), ...); }, members);
}

Waits waits_in(const Json& object) {
    Waits waits;
    take_all(object, waits, kWaitsMembers);
    return waits;
}

Row row_in(const Json& object) {
    Row row;
    object.at("op");  // these two are never missing
    object.at("seconds");
    take_all(object, row, kRowMembers);
    return row;
}

InputWork input_in(const Json& object) {
    InputWork work;
    take(object, "threads", work.threads);
    take(object, "seconds", work.seconds);
    take(object, "samples", work.samples);
    take(object, "megapixels", work.megapixels);
    const Json stages = part(object, "stages");
    for (const auto& [name, seconds] : data::StageSeconds::kAll)
        take(stages, name, work.stages.*seconds);
    return work;
}

Peaks peaks_in(const Json& object) {
    Peaks peaks;
    take(object, "flops_per_second", peaks.flops_per_second);
    take(object, "byte_operations_per_second", peaks.byte_operations_per_second);
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
    take_all(document.at("run"), profile, kRunMembers);
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
