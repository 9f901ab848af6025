#include "tasks/teacher.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::tasks {
namespace {

constexpr std::size_t kMostKeptBytes = std::size_t{1} << 30;

/// The teacher's evaluation of a batch with these fields of the student's.
struct Evaluation {
    Evaluation(const Teacher& teacher, const std::vector<data::Field>& fields, const options::Settings& student,
               const backend::Backend& backend)
        : graph(graph::apply_rewrites(teacher.graph(fields), backend.rewrites().evaluation)),
          settings(student),
          fields_(fields) {
        settings.training.micro_batch_size = fields.front().desc.shape.at(0);
    }
    backend::CompileRequest request() const { return run::compile_request(graph, settings, fields_, /*seed=*/0); }

    graph::Graph graph;
    options::Settings settings;

private:
    std::vector<data::Field> fields_;
};

/// Batches that are in use, with the teacher's logits.
class TaughtBatches final : public data::SlotOwner {
public:
    data::Batch keep(std::shared_ptr<TaughtBatches> self, data::Batch batch, HostTensor logits) {
        auto kept = std::make_unique<Kept>(Kept{std::move(batch), std::move(logits), {}});
        kept->fields.assign(kept->batch.fields.begin(), kept->batch.fields.end());
        kept->fields.push_back(std::as_const(kept->logits).bytes());
        const Kept& one = *kept;
        const std::lock_guard lock(mutex_);
        const auto free = std::ranges::find_if(slots_, [](const auto& slot) { return slot == nullptr; });
        const auto slot = static_cast<std::size_t>(free - slots_.begin());
        if (free == slots_.end()) slots_.emplace_back();
        slots_[slot] = std::move(kept);
        return {.fields = one.fields,
                .valid_count = one.batch.valid_count,
                .first_sample = one.batch.first_sample,
                .lease = data::Lease(std::move(self), slot),
                .created = one.batch.created};
    }
    void release(std::size_t slot) noexcept override {
        const std::lock_guard lock(mutex_);
        slots_[slot].reset();
    }

private:
    struct Kept {
        data::Batch batch;
        HostTensor logits;
        std::vector<std::span<const std::byte>> fields;
    };
    std::mutex mutex_;
    std::vector<std::unique_ptr<Kept>> slots_;
};

/// The answers to rows that come again, by their content.
class KeptAnswers {
public:
    /// `width`: numbers in the answer to a row.
    explicit KeptAnswers(std::size_t width) : width_(width) {}

    /// The answers to all rows of a batch; nothing if one of them is unknown.
    std::optional<HostTensor> find(const data::Batch& batch, const TensorDesc& answers) const {
        HostTensor result(answers);
        const std::span<float> values = result.as<float>();
        for (std::size_t row = 0; row < values.size() / width_; ++row) {
            const auto found = answers_.find(key_of(batch, row, values.size() / width_));
            if (found == answers_.end()) return std::nullopt;
            std::ranges::copy(found->second, values.begin() + static_cast<std::ptrdiff_t>(row * width_));
        }
        return result;
    }
    /// Nothing more is kept beyond a limit of memory.
    void add(const data::Batch& batch, const HostTensor& answers) {
        if (answers_.size() * width_ * sizeof(float) >= kMostKeptBytes) return;
        const std::span<const float> values = answers.as<float>();
        const std::size_t rows = values.size() / width_;
        for (std::size_t row = 0; row < rows; ++row) {
            const std::span<const float> own = values.subspan(row * width_, width_);
            answers_.try_emplace(key_of(batch, row, rows), own.begin(), own.end());
        }
    }

private:
    /// Two hashes, so that no two rows of any data set are confused.
    using Key = std::pair<std::uint64_t, std::uint64_t>;

    static Key key_of(const data::Batch& batch, std::size_t row, std::size_t rows) {
        Key key(kHashOfNothing, 0);
        for (const std::span<const std::byte> field : batch.fields) {
            const std::span<const std::byte> own = field.subspan(row * field.size() / rows, field.size() / rows);
            key.first = hash_text({reinterpret_cast<const char*>(own.data()), own.size()}, key.first);
            key.second = key.second << 32 ^ key.second >> 32 ^ crc32c(own);
        }
        return key;
    }

    std::size_t width_;
    std::map<Key, std::vector<float>> answers_;
};

/// The teacher answers before the student computes, on the same cores.
class TaughtStream final : public data::Stream {
public:
    TaughtStream(std::unique_ptr<data::Stream> stream, std::unique_ptr<backend::Executable> executable,
                 const Teacher& teacher)
        : stream_(std::move(stream)),
          executable_(std::move(executable)),
          fields_(stream_->fields()),
          answers_(teacher_field(stream_->micro_batch(), teacher.slots, teacher.classes)) {
        const std::int64_t width = answers_.desc.elements() / stream_->micro_batch();
        if (teacher.repeats) kept_.emplace(static_cast<std::size_t>(width));
    }

    std::vector<data::Field> fields() const override {
        std::vector<data::Field> fields = fields_;
        fields.push_back(answers_);
        return fields;
    }
    data::Batch next() override {
        data::Batch batch = stream_->next();
        const std::lock_guard lock(mutex_);
        std::optional<HostTensor> answers = kept_ ? kept_->find(batch, answers_.desc) : std::nullopt;
        if (!answers) {
            data::FixedBatch source(fields_, {batch.fields.begin(), batch.fields.end()}, batch.valid_count);
            executable_->evaluate(source, 1);
            answers = executable_->output(run::kLogits).cast(DType::f32);
            if (kept_) kept_->add(batch, *answers);
        }
        return batches_->keep(batches_, std::move(batch), std::move(*answers));
    }
    std::int64_t micro_batch() const override { return stream_->micro_batch(); }
    std::int64_t samples() const override { return stream_->samples(); }
    std::int64_t batches_per_sweep() const override { return stream_->batches_per_sweep(); }
    std::int64_t position() const override { return stream_->position(); }
    data::StreamStats stats() const override { return stream_->stats(); }

private:
    std::unique_ptr<data::Stream> stream_;
    std::unique_ptr<backend::Executable> executable_;
    std::vector<data::Field> fields_;  // those that the teacher sees
    data::Field answers_;
    std::optional<KeptAnswers> kept_;
    std::mutex mutex_;
    std::shared_ptr<TaughtBatches> batches_ = std::make_shared<TaughtBatches>();
};

class TaughtSamples final : public data::Samples {
public:
    TaughtSamples(std::unique_ptr<data::Samples> samples, Teacher teacher, const options::Settings& student,
                  const backend::Backend& backend)
        : samples_(std::move(samples)), teacher_(std::move(teacher)), student_(student), backend_(backend) {}

    std::int64_t count() const override { return samples_->count(); }
    std::int64_t rows() const override { return samples_->rows(); }
    data::Origin origin() const override { return samples_->origin(); }
    std::string unused_files() const override { return samples_->unused_files(); }
    std::vector<std::string> names() const override { return samples_->names(); }
    std::string describe(std::int64_t index) const override { return samples_->describe(index); }
    std::vector<data::Field> fields(std::int64_t micro_batch) const override {
        std::vector<data::Field> fields = samples_->fields(micro_batch);
        fields.push_back(teacher_field(micro_batch, teacher_.slots, teacher_.classes));
        return fields;
    }
    std::unique_ptr<data::Stream> stream(const data::LoaderSettings& settings) const override {
        std::unique_ptr<data::Stream> own = samples_->stream(settings);
        const Evaluation evaluation(teacher_, own->fields(), student_, backend_);
        auto executable = backend_.compile(evaluation.request());
        const options::Settings& theirs = teacher_.arguments.settings;
        const std::string& file = *theirs.main.restore_path;
        run::load_model(*executable, evaluation.graph, run::checkpoint_weights(posix_files(), file, theirs), file,
                        student_.run);
        return std::make_unique<TaughtStream>(std::move(own), std::move(executable), teacher_);
    }

private:
    std::unique_ptr<data::Samples> samples_;
    Teacher teacher_;
    options::Settings student_;
    const backend::Backend& backend_;
};

}  // namespace

options::ParseResult teacher_arguments(const options::ParseResult& student, const std::vector<std::string>& data) {
    const std::string flag = "--teacher";
    const std::string& path = student.settings.loss.teacher;
    try {
        const std::string file = weights::best_or_latest(posix_files(), flag, path).path;
        std::vector<std::string> words = {"--restore-path", file};
        words.insert(words.end(), data.begin(), data.end());
        options::ParseResult teacher =
            parse_command_line(options::Command::inference, words, options::process_environment());
        if (teacher.task->name == student.task->name) return teacher;
        throw Error(ErrorKind::usage, path + ": expected a network of the task " + std::string(student.task->name) +
                                          ", got one of " + std::string(teacher.task->name));
    } catch (const Error& error) {
        throw error.within(flag);
    }
}

void check_teacher_classes(const std::string& path, std::int64_t theirs, const std::vector<std::string>& their_names,
                           std::int64_t own, const std::vector<std::string>& own_names) {
    const bool same = their_names.empty() || own_names.empty() || their_names == own_names;
    if (theirs == own && same) return;
    throw Error(ErrorKind::data, "--teacher " + path + ": expected a network with the " + std::to_string(own) +
                                     " classes of this run's data" +
                                     (theirs == own ? ", in the same order" : "; it has " + std::to_string(theirs)));
}

data::Field teacher_field(std::int64_t rows, std::int64_t slots, std::int64_t classes) {
    const Shape shape = slots == 0 ? Shape{rows, classes} : Shape{rows, slots, classes};
    return {std::string(nn::kTeacherLogits), {DType::f32, shape}};
}

std::unique_ptr<data::Samples> taught(std::unique_ptr<data::Samples> samples, Teacher teacher,
                                      const options::Settings& student, const backend::Backend& backend) {
    return std::make_unique<TaughtSamples>(std::move(samples), std::move(teacher), student, backend);
}

std::uint64_t teacher_bytes(const Teacher& teacher, const std::vector<data::Field>& fields, std::int64_t rows,
                            const options::Settings& student, const backend::Backend& backend) {
    std::vector<data::Field> seen = fields;
    std::erase_if(seen, [](const data::Field& field) { return field.name == nn::kTeacherLogits; });
    const auto report = backend.describe(Evaluation(teacher, seen, student, backend).request());
    std::uint64_t bytes = 0;
    if (report) {
        std::uint64_t file = 0;  // in memory while it is loaded, and its largest tensor in another form
        std::uint64_t largest = 0;
        for (const backend::Variable& variable : report->variables) {
            const auto own = static_cast<std::uint64_t>(variable.desc.elements()) * sizeof(float);
            file += own;
            largest = std::max(largest, own);
        }
        bytes = report->parameter_bytes + report->arena_bytes + file + largest;
    }
    if (!teacher.repeats) return bytes;
    const std::uint64_t kept = teacher_field(rows, teacher.slots, teacher.classes).desc.bytes();
    return bytes + std::min<std::uint64_t>(kept, kMostKeptBytes);
}

std::vector<run::LossTerm> taught_loss(const run::LossSettings& settings, double samples) {
    if (settings.teacher.empty()) return {{nn::kLoss, samples}};
    const double share = settings.teacher_share();
    return {{nn::kLoss, samples / (1 - share)}, {nn::kTeacherLoss, samples / share}};
}

options::Violation teaching(const options::Resolution& run) {
    const std::vector<double>& how = run.settings().loss.distill;
    if (!how.empty() && (how.size() != 2 || how[0] > 1 || how[1] <= 0))
        return "--distill needs two numbers A,T: a share from 0 to 1, and a temperature above 0";
    if (run.settings().loss.teacher.empty() || !run.settings().head.solves()) return {};
    return "--teacher does not work with --head-only and --head-first";
}

}  // namespace cnntrain::tasks
