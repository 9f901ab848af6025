#include "backend/cpu/run/step_recorder.h"

#include <algorithm>
#include <string>

#include "backend/cpu/run/exchange.h"

namespace cnntrain::cpu {

namespace {

// The first labels of a lane's track.
constexpr std::int32_t kInputLabel = 0;
constexpr std::int32_t kRanksLabel = 1;

double seconds_between(StepRecorder::Clock::time_point begin, StepRecorder::Clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
}

graph::Phase phase_of(Section section) {
    if (section.kind == Section::Kind::forward) return graph::Phase::forward;
    return section.kind == Section::Kind::backward ? graph::Phase::backward : graph::Phase::update;
}

std::string category_of(Section section) {
    switch (section.kind) {
        case Section::Kind::prepare:
            return "prepare";
        case Section::Kind::forward:
            return "forward";
        case Section::Kind::backward:
            return "backward";
        case Section::Kind::update:
            break;
    }
    return "update";
}

}  // namespace

backend::ProfileRow profile_row(Section section, const Step& step, double seconds, std::int64_t runs) {
    return {step.name, step.op,          step.implementation,      1e3 * seconds,
            runs,      step.flops / 1e9, step.bytes_moved() / 1e6, phase_of(section),
            step.stage};
}

void StepRecorder::record_on(Timeline& timeline) {
    constexpr std::size_t kSteps = std::size_t{1} << 17;  // 4 MB of intervals
    std::vector<Timeline::Label> labels = {{"wait for input", "", "wait"}, {"wait for ranks", "", "wait"}};
    first_label_.clear();
    for (const Section section : program_.sections()) {
        first_label_.push_back(static_cast<std::int32_t>(labels.size()));
        for (const Step& step : program_.steps(section))
            labels.push_back({step.op, step.name, category_of(section)});
    }
    lanes_.assign(lane_count() == 1 ? 1 : lane_count() + 1, {});
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        const std::string name = i < lane_count() ? "lane " + std::to_string(i) : "all lanes";
        lanes_[i].track = &timeline.add_track(name, labels, Timeline::Order::one_by_one, kSteps);
    }
}

void StepRecorder::set_on(bool on) {
    on_ = on;
    if (!on) return;
    seconds_.clear();
    for (const Section section : program_.sections())
        seconds_.emplace_back(program_.steps(section).size());
    executions_.assign(seconds_.size(), 0);
    worked_ = 0;
    lanes_.resize(lane_count() == 1 ? 1 : lane_count() + 1);
    for (Lane& lane : lanes_)
        lane = {lane.track};
}

StepRecorder::Lane& StepRecorder::lane_of(Section section) {
    if (section.has_site()) return lanes_[static_cast<std::size_t>(program_.lane(section))];
    return lanes_.back();
}

void StepRecorder::run(Section section, const StepContext& context) {
    const std::vector<Step>& steps = program_.steps(section);
    const std::size_t index = program_.position(section);
    Lane& lane = lane_of(section);
    Clock::time_point begin = Clock::now();
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].by_update && context.follows_update) continue;
        steps[i].run(context);
        const Clock::time_point end = Clock::now();
        const double seconds = seconds_between(begin, end);
        seconds_[index][i] += seconds;
        lane.steps += seconds;
        if (lane.track != nullptr)
            lane.track->add(first_label_[index] + static_cast<std::int32_t>(i), begin, end, context.micro_batch);
        begin = end;
        if (context.exchange == nullptr) continue;
        context.exchange->progress();
        begin = Clock::now();
        lane.ranks += seconds_between(end, begin);
    }
    ++executions_[index];
}

void StepRecorder::add_wait(Section section, Wait wait, Clock::time_point begin, Clock::time_point end) {
    Lane& lane = lane_of(section);
    const bool for_input = wait == Wait::input;
    (for_input ? lane.input : lane.ranks) += seconds_between(begin, end);
    if (lane.track != nullptr) lane.track->add(for_input ? kInputLabel : kRanksLabel, begin, end);
}

void StepRecorder::lanes_worked_since(Clock::time_point begin) {
    if (on_) worked_ += seconds_between(begin, Clock::now());
}

std::vector<backend::ProfileRow> StepRecorder::rows() const {
    std::vector<backend::ProfileRow> rows;
    for (std::size_t i = 0; i < executions_.size(); ++i) {
        if (executions_[i] == 0) continue;
        const Section section = program_.sections()[i];
        const std::vector<Step>& steps = program_.steps(section);
        for (std::size_t k = 0; k < steps.size(); ++k) {
            if (seconds_[i][k] == 0) continue;  // it did not run
            const double seconds = seconds_[i][k] / static_cast<double>(executions_[i]);
            rows.push_back(profile_row(section, steps[k], seconds, executions_[i]));
            if (section.has_site()) rows.back().occupied = 1 / static_cast<double>(lane_count());
        }
    }
    return rows;
}

/// A lane waits for others when it neither computes nor waits for anything else.
backend::WaitSeconds StepRecorder::waits() const {
    const auto lanes = static_cast<double>(lane_count());
    backend::WaitSeconds waits;
    double known = 0;
    for (std::size_t i = 0; i < lane_count() && i < lanes_.size(); ++i) {
        waits.input += lanes_[i].input / lanes;
        waits.ranks += lanes_[i].ranks / lanes;
        known += (lanes_[i].steps + lanes_[i].input + lanes_[i].ranks) / lanes;
    }
    if (lane_count() == 1 || lanes_.empty()) return waits;
    waits.lanes = std::max(0.0, worked_ - known);
    waits.input += lanes_.back().input;
    waits.ranks += lanes_.back().ranks;
    return waits;
}

}  // namespace cnntrain::cpu
