#include "train/runs/best_result.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/config/names.h"

namespace cnntrain::train {
namespace {

using nlohmann::json;

}  // namespace

bool BestResult::add(double value, std::int64_t iteration) {
    last_ = iteration;
    const bool better =
        std::isfinite(value) && (!best_ || (less_is_better(metric_) ? value < best_->value : value > best_->value));
    if (!better) {
        ++without_better_;
        return false;
    }
    best_ = {value, iteration};
    without_better_ = 0;
    return true;
}

std::string BestResult::state() const {
    json state = {{"last", last_}, {"metric", config::name(metric_)}, {"without_better", without_better_}};
    if (best_) state["best"] = {{"value", best_->value}, {"iteration", best_->iteration}};
    return state.dump();
}

bool BestResult::restore(const std::string& text) {
    try {
        const json state = json::parse(text);
        last_ = state.at("last").get<std::int64_t>();
        if (state.at("metric").get<std::string>() != config::name(metric_)) return false;
        without_better_ = state.at("without_better").get<std::int64_t>();
        best_.reset();
        if (const auto best = state.find("best"); best != state.end())
            best_ = {best->at("value").get<double>(), best->at("iteration").get<std::int64_t>()};
        return true;
    } catch (const json::exception&) {
        throw Error(ErrorKind::data, "the record of validations is damaged: " + text);
    }
}

}  // namespace cnntrain::train
