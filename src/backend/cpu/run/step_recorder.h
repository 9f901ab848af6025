// Measures the steps of a program and the waits of its lanes. While it is off, it costs a test of a flag for each
// section and wait; while it is on, a reading of the clock for each step.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "backend/cpu/program/program.h"
#include "cnntrain/backend/backend.h"
#include "cnntrain/base/elapsed.h"

namespace cnntrain::cpu {

class StepRecorder {
public:
    using Clock = Timeline::Clock;
    enum class Wait : std::uint8_t { input, ranks };

    /// The program must be complete before set_on(true), and outlive the recorder.
    explicit StepRecorder(const Program& program) : program_(program) {}

    /// Adds a track for each lane.
    void record_on(Timeline& timeline);
    /// True: starts at zero. No lane may run meanwhile.
    void set_on(bool on);
    bool is_on() const { return on_; }

    /// Runs the steps of a section, which is on this thread's lane.
    void run(Section section, const StepContext& context);

    /// Measures a wait of the section's lane while it exists, if the recorder is on.
    class Waiting {
    public:
        Waiting(StepRecorder& recorder, Section section, Wait wait)
            : recorder_(recorder.on_ ? &recorder : nullptr), section_(section), wait_(wait) {
            if (recorder_ != nullptr) begin_ = Clock::now();
        }
        ~Waiting() {
            if (recorder_ != nullptr) recorder_->add_wait(section_, wait_, begin_, Clock::now());
        }
        Waiting(const Waiting&) = delete;
        Waiting& operator=(const Waiting&) = delete;

    private:
        StepRecorder* recorder_;
        Section section_;
        Wait wait_;
        Clock::time_point begin_;
    };

    /// All lanes have been at work since `begin`.
    void lanes_worked_since(Clock::time_point begin);

    std::vector<backend::ProfileRow> rows() const;
    backend::WaitSeconds waits() const;

private:
    /// Times of a lane, or of all lanes together.
    struct Lane {
        Timeline::Track* track = nullptr;
        double steps = 0, input = 0, ranks = 0;  // seconds
    };

    std::size_t lane_count() const { return static_cast<std::size_t>(program_.plan().lanes); }
    /// Work outside of the passes is done by all lanes together.
    Lane& lane_of(Section section);
    void add_wait(Section section, Wait wait, Clock::time_point begin, Clock::time_point end);

    const Program& program_;
    bool on_ = false;
    std::vector<Lane> lanes_;                   // and, if there are several, all together
    std::vector<std::int32_t> first_label_;     // by section: of its steps
    std::vector<std::vector<double>> seconds_;  // by section: total per step
    std::vector<std::int64_t> executions_;      // by section
    double worked_ = 0;                         // seconds in which all lanes were at work
};

/// A row of a profile.
backend::ProfileRow profile_row(Section section, const Step& step, double seconds, std::int64_t runs);

}  // namespace cnntrain::cpu
