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
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/exports/onnx_model.h"
#include "cnntrain/tasks/image_network.h"
#include "cnntrain/train/task.h"

namespace cnntrain::exports {

/// The network's outputs by name for N samples, with which a written file is compared.
struct Replay {
    std::int64_t samples = 0;
    std::map<std::string, HostTensor> outputs;
};

/// Number of samples of a replay, if there are as many.
inline constexpr std::int64_t kReplayedSamples = 64;

struct OpenRequest {
    std::string run;                        // a run's folder, one of its checkpoints, or a file of weights
    std::vector<std::string> options = {};  // of `inference`, that win over the run's
    bool compares = true;                   // false: replay() stays empty, and no sample is read
};

class TrainedNetwork {
public:
    /// Error(usage, data, not_found) as `inference --restore-path` has it.
    TrainedNetwork(const FileSystem& files, const OpenRequest& request);
    ~TrainedNetwork();
    TrainedNetwork(const TrainedNetwork&) = delete;
    TrainedNetwork& operator=(const TrainedNetwork&) = delete;

    const std::string& checkpoint() const { return checkpoint_; }  // path of the file
    NetworkPart part() const { return {*graph_, inputs_, fixed_, outputs_, variables_}; }
    const std::map<std::string, HostTensor>& variables() const { return variables_; }
    const Replay& replay() const { return replay_; }
    /// "samples of the validation set", "generated samples"
    const std::string& samples_text() const { return samples_text_; }
    std::optional<tasks::ImageNetwork> image_network() const { return tasks::image_network(*arguments_); }
    std::vector<std::string> class_names() const;

    /// The tensors of the checkpoint as they are stored, with the optimiser's; with --ema the moving averages.
    checkpoint::Checkpoint stored(const FileSystem& files) const;

    /// The outputs on the replayed samples of the same network with other weights, in any layout that is read here.
    /// `path`: for messages.
    std::map<std::string, HostTensor> answers(checkpoint::Checkpoint weights, const std::string& path);

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
    std::map<std::string, HostTensor> answers();

    std::unique_ptr<config::ParseResult> arguments_;
    std::unique_ptr<backend::Backend> backend_;
    std::unique_ptr<train::Task> task_;
    std::string checkpoint_;
    std::string samples_text_;
    std::vector<data::Field> fields_;
    std::vector<std::vector<HostTensor>> batches_;  // of the stream, by field
    std::unique_ptr<graph::Graph> graph_;
    std::unique_ptr<backend::Executable> executable_;
    std::map<std::string, HostTensor> variables_;
    std::vector<Port> inputs_;
    std::vector<FixedInput> fixed_;
    std::vector<Port> outputs_;
    Replay replay_;
};

}  // namespace cnntrain::exports
