// A tiny BERT with dropout, compiled as its task compiles it: pretraining with LAMB on generated sequences; question
// answering or text classification with AdamW.
#pragma once

#include <memory>
#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/task.h"

namespace cnntrain::run::testing {

class BertNet {
public:
    /// `options`: of pretrain, on top of the network's.
    explicit BertNet(const std::string& options);
    /// `options`: of train, on top of the network's.
    static BertNet answering(const std::string& options);
    /// The same, on twelve texts with such labels.
    static BertNet classifying(nn::LabelKind labels, const std::string& options);

    backend::Executable& executable() { return *executable_; }
    double train();

private:
    explicit BertNet(options::ParseResult arguments);

    std::unique_ptr<backend::Backend> backend_;
    options::ParseResult arguments_;
    std::unique_ptr<Task> task_;
    std::unique_ptr<Samples> samples_;
    graph::Graph graph_{ops::op_table()};
    std::unique_ptr<backend::Executable> executable_;
    std::unique_ptr<data::Stream> stream_;
    std::int64_t steps_ = 0;
};

}  // namespace cnntrain::run::testing
