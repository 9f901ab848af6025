#include "cnntrain/graph/update_rule.h"

namespace cnntrain::graph {

double trust_ratio(const UpdateAttrs& attrs, double target_norm, double other_norm) {
    // Written so that a norm that is not a number gives 1, too.
    if (!attrs.adapts || !(target_norm > 0) || !(other_norm > 0)) return 1;
    switch (attrs.rule) {
        case UpdateRule::lars:
            return attrs.trust_scale * target_norm /
                   (other_norm + attrs.rule_weight_decay * target_norm + attrs.epsilon);
        case UpdateRule::sgd:
        case UpdateRule::momentum:
        case UpdateRule::rmsprop:
            break;
    }
    return 1;
}

}  // namespace cnntrain::graph
