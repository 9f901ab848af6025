#include "tasks/image_classification/teacher.h"

#include <algorithm>
#include <mutex>
#include <span>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"
#include "tasks/image_classification/network.h"
#include "tasks/image_classification/options.h"

namespace cnntrain::tasks {
namespace {

/// Delivers one batch.
class OneBatch final : public data::BatchSource {
public:
    OneBatch(const std::vector<data::Field>& fields, const data::Batch& batch) : fields_(fields), batch_(batch) {}

    std::vector<data::Field> fields() const override { return fields_; }
    data::Batch next() override { return {.fields = batch_.fields, .valid_count = batch_.valid_count}; }

private:
    const std::vector<data::Field>& fields_;
    const data::Batch& batch_;
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

/// The teacher answers before the student computes, on the same cores.
class TaughtStream final : public data::Stream {
public:
    TaughtStream(std::unique_ptr<data::Stream> stream, std::unique_ptr<backend::Executable> teacher,
                 std::int64_t classes)
        : stream_(std::move(stream)), teacher_(std::move(teacher)), fields_(stream_->fields()), classes_(classes) {}

    std::vector<data::Field> fields() const override {
        std::vector<data::Field> fields = fields_;
        fields.push_back(teacher_field(micro_batch(), classes_));
        return fields;
    }
    data::Batch next() override {
        data::Batch batch = stream_->next();
        const std::lock_guard lock(mutex_);
        OneBatch source(fields_, batch);
        teacher_->evaluate(source, 1);
        return batches_->keep(batches_, std::move(batch), teacher_->output(run::kLogits).cast(DType::f32));
    }
    std::int64_t micro_batch() const override { return stream_->micro_batch(); }
    std::int64_t samples() const override { return stream_->samples(); }
    std::int64_t batches_per_sweep() const override { return stream_->batches_per_sweep(); }
    std::int64_t position() const override { return stream_->position(); }
    data::StreamStats stats() const override { return stream_->stats(); }

private:
    std::unique_ptr<data::Stream> stream_;
    std::unique_ptr<backend::Executable> teacher_;
    std::vector<data::Field> fields_;  // those that the teacher sees
    std::int64_t classes_;
    std::mutex mutex_;
    std::shared_ptr<TaughtBatches> batches_ = std::make_shared<TaughtBatches>();
};

class TaughtSamples final : public data::Samples {
public:
    TaughtSamples(std::unique_ptr<data::Samples> samples, const options::Settings& student,
                  options::ParseResult teacher, const backend::Backend& backend)
        : samples_(std::move(samples)),
          student_(student),
          teacher_(std::move(teacher)),
          backend_(backend),
          file_(*teacher_.settings.main.restore_path) {}

    std::int64_t count() const override { return samples_->count(); }
    std::int64_t rows() const override { return samples_->rows(); }
    data::Origin origin() const override { return samples_->origin(); }
    std::string unused_files() const override { return samples_->unused_files(); }
    std::vector<std::string> names() const override { return samples_->names(); }
    std::string describe(std::int64_t index) const override { return samples_->describe(index); }
    std::vector<data::Field> fields(std::int64_t micro_batch) const override {
        std::vector<data::Field> fields = samples_->fields(micro_batch);
        fields.push_back(teacher_field(micro_batch, network_settings(student_).classes));
        return fields;
    }
    std::unique_ptr<data::Stream> stream(const data::LoaderSettings& settings) const override {
        std::unique_ptr<data::Stream> own = samples_->stream(settings);
        const std::vector<data::Field> fields = own->fields();
        const graph::Graph graph = teacher_graph(data::field_desc(fields, data::kImages));
        options::Settings one = student_;
        one.training.micro_batch_size = own->micro_batch();
        auto executable = backend_.compile(run::compile_request(graph, one, fields, 0));
        run::load_model(*executable, graph, run::checkpoint_weights(posix_files(), file_, teacher_.settings), file_,
                        student_.run);
        return std::make_unique<TaughtStream>(std::move(own), std::move(executable),
                                              network_settings(student_).classes);
    }

private:
    /// The teacher's network on the student's images and in its numbers.
    graph::Graph teacher_graph(const TensorDesc& images) const {
        nn::BuildRequest request = build_request(student_, backend_, images);
        request.model = network_settings(teacher_.settings);
        request.model.image_size = network_settings(student_).image_size;
        request.label_smoothing = 0;
        nn::Model model = nn::build_evaluation(request, ops::op_table());
        model.graph.mark_output(run::kLogits, model.values.logits);
        return graph::apply_rewrites(std::move(model.graph), backend_.rewrites().evaluation);
    }

    std::unique_ptr<data::Samples> samples_;
    options::Settings student_;
    options::ParseResult teacher_;
    const backend::Backend& backend_;
    std::string file_;
};

/// The command line that evaluates the teacher of these settings on the student's data.
options::ParseResult teacher_arguments(const options::Settings& student) {
    const std::string flag = "--teacher";
    const data::DataSettings& images = image_settings(student).data;
    try {
        const std::string file = weights::best_or_latest(posix_files(), flag, image_settings(student).teacher).path;
        std::vector<std::string> words = {"--restore-path", file, "--synthetic-data"};
        if (images.kind == data::DataKind::real) words = {"--restore-path", file, "--data-dir", images.data_dir};
        return parse_command_line(options::Command::inference, words, options::process_environment());
    } catch (const Error& error) {
        throw error.within(flag);
    }
}

/// A teacher must see the pixels with which it was trained.
void check_images(const std::string& teacher, const data::DataSettings& theirs, const data::DataSettings& own) {
    const nn::Normalisation by_them = data::channel_normalisation(theirs);
    const bool by_channel = data::dataset_info(own.dataset).normalised_by_channel;
    if (by_channel != data::dataset_info(theirs.dataset).normalised_by_channel ||
        (by_channel && !(by_them == data::channel_normalisation(own)))) {
        throw Error(ErrorKind::usage,
                    "--teacher " + teacher +
                        ": it was trained with another normalisation of images than this run has; give both "
                        "the same --normalise-mean and --normalise-std");
    }
    if (theirs.image_size != own.image_size) {
        log::warning("--teacher " + teacher + ": it was trained on images of " + std::to_string(theirs.image_size) +
                     " pixels, and sees those of this run, of " + std::to_string(own.image_size));
    }
}

}  // namespace

data::Field teacher_field(std::int64_t samples, std::int64_t classes) {
    return {std::string(nn::kTeacherLogits), {DType::f32, {samples, classes}}};
}

std::unique_ptr<data::Samples> taught(std::unique_ptr<data::Samples> samples, const options::Settings& student,
                                      const std::vector<std::string>& classes, const backend::Backend& backend) {
    options::ParseResult teacher = teacher_arguments(student);
    const std::string& path = image_settings(student).teacher;
    const std::vector<std::string>& theirs = image_settings(teacher.settings).recorded_classes;
    const std::int64_t count = network_settings(teacher.settings).classes;
    const std::int64_t own = network_settings(student).classes;
    const bool same = theirs.empty() || classes.empty() || theirs == classes;
    if (count != own || !same) {
        throw Error(ErrorKind::data, "--teacher " + path + ": expected a network with the " + std::to_string(own) +
                                         " classes of this run's data" +
                                         (count == own ? ", in the same order" : "; it has " + std::to_string(count)));
    }
    check_images(path, image_settings(teacher.settings).data, image_settings(student).data);
    return std::make_unique<TaughtSamples>(std::move(samples), student, std::move(teacher), backend);
}

}  // namespace cnntrain::tasks
