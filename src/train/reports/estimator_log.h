// The lines that TensorFlow's Estimator prints in an evaluation, for users of the large-batch recipe:
//
//   Evaluation [25/250]
//   Finished evaluation at 2018-04-15-16:27:08
//   Saving dict for global step 14075: Top-1 accuracy = 0.75232, Top-5 accuracy = 0.9241, [in the same line]
//     global_step = 14075, loss = 1.9024274
//   Eval results: {'Top-1 accuracy': 0.75232, 'loss': 1.9024274, 'Top-5 accuracy': 0.9241, 'global_step': 14075}
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/metrics/observer.h"

namespace cnntrain::train {

/// weight_decay / 2 times the sum of squares of all trainable variables, without those of norms.
double weight_loss(const std::map<std::string, HostTensor>& tensors, double weight_decay);

class EstimatorLog final : public metrics::Observer {
public:
    /// `checkpoints`: the evaluated checkpoints, found by the names in rows. `console` must outlive this object.
    EstimatorLog(double weight_decay, std::vector<checkpoint::Found> checkpoints, checkpoint::Edited edited,
                 const FileSystem& files, metrics::Observer& console);

    /// Prints every tenth part of the batches, or every batch if there are fewer than 20.
    void progress(const metrics::Progress& progress) override;
    /// Loads the row's checkpoint to compute the weights' part of the loss.
    void row(const metrics::Record& row) override;

private:
    double weight_decay_;
    std::vector<checkpoint::Found> checkpoints_;
    checkpoint::Edited edited_;
    const FileSystem& files_;
    metrics::Observer& console_;
};

}  // namespace cnntrain::train
