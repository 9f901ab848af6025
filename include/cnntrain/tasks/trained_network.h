// A trained network, opened to be exported: its graph in 32 bits, its weights, and what it answers on some samples.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/task.h"
#include "cnntrain/tasks/image_network.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/exports.h"

namespace cnntrain::tasks {

struct OpenRequest {
    std::string run;                        // a run's folder, one of its checkpoints, or a file of weights
    std::vector<std::string> options = {};  // of `inference`, that win over the run's
    bool compares = true;                   // false: no sample is read, and outputs() is empty
};

class TrainedNetwork {
public:
    /// Error(usage, data, not_found) as `inference --restore-path` has it.
    TrainedNetwork(const FileSystem& files, const OpenRequest& request);
    ~TrainedNetwork();
    TrainedNetwork(const TrainedNetwork&) = delete;
    TrainedNetwork& operator=(const TrainedNetwork&) = delete;

    /// The network as a value. It refers to this object.
    weights::ExportedNetwork exported(const FileSystem& files);

    /// The network's outputs by name for some samples, with which a written file is compared.
    const weights::Outputs& outputs() const { return outputs_of_samples_; }
    /// "64 samples of the validation set", "64 generated samples"
    std::string samples_text() const;
    /// The outputs of the same network with other weights, in any layout that is read here. `path`: for messages.
    weights::Outputs answers(weights::Checkpoint weights, const std::string& path);

private:
    void parse(const OpenRequest& request, bool made_up);
    void make_task(const std::vector<std::string>& words);
    void parse_pretraining(const std::string& run, const FileSystem& files);
    void open_classifier(const OpenRequest& request);
    /// Error(data) if the samples cannot be read.
    void open_samples();
    void make_up_samples();
    bool image_network_or_none() const;
    void find_ports();
    void find_scores();
    weights::Outputs answers();

    std::unique_ptr<options::ParseResult> arguments_;
    std::unique_ptr<backend::Backend> backend_;
    std::unique_ptr<run::Task> task_;
    std::string checkpoint_;
    std::string samples_text_;
    std::vector<data::Field> fields_;
    std::vector<std::vector<HostTensor>> batches_;  // of the stream, by field
    std::unique_ptr<graph::Graph> graph_;
    std::unique_ptr<backend::Executable> executable_;
    std::map<std::string, HostTensor> variables_;
    std::vector<weights::Port> inputs_;
    std::vector<weights::FixedInput> fixed_;
    std::vector<weights::Port> outputs_;
    std::int64_t sample_count_ = 0;
    weights::Outputs outputs_of_samples_;
};

}  // namespace cnntrain::tasks
